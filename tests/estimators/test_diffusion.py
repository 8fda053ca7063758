"""How much of a diffusion new rows do not get: said, and warned about."""

import warnings

import numpy as np
import pytest

from krein import SpectrumTransformer


@pytest.mark.parametrize("t", [0.5, 1.0, 3.0])
def test_the_share_left_out_is_the_difference(t, with_spectrum):
    K = with_spectrum(np.r_[4.0, 2.0, 1.0, -1.0, np.linspace(-0.03, 0.03, 2)])
    model = SpectrumTransformer("diffusion", t=t)
    trained = model.fit_transform(K)
    missing = np.linalg.norm(trained - model.transform(K)) / np.linalg.norm(trained)
    assert 0.05 < missing < 0.5
    assert model.left_out_ == pytest.approx(missing, rel=1e-9)
    for method in ("clip", "flip", "square", "none"):
        other = SpectrumTransformer(method).fit(K)
        np.testing.assert_allclose(other.transform(K), other.fit_transform(K))
        assert other.left_out_ == 0.0


def test_a_warning_where_it_is_more_than_half(with_spectrum):
    def fit(small):
        K = with_spectrum(np.r_[np.full(6, 1.0), np.full(small, 0.005)])
        return SpectrumTransformer("diffusion").fit(K)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(14).left_out_ == pytest.approx(0.49, abs=0.02)
    with pytest.warns(UserWarning, match=r"leaves out 52% .* 16 of 22 eigenvectors"):
        fit(16)
