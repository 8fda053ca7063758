"""Several targets are refused with the name of what fits a model for each."""

import numpy as np
import pytest
from sklearn.multioutput import MultiOutputRegressor

from krein import KreinRidge, SpectrumSVC, SpectrumSVR, compare

K = np.eye(6) + 0.1
Y = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    "model", [KreinRidge(method="clip"), SpectrumSVR(), SpectrumSVC()]
)
def test_several_targets_name_the_way_out(model):
    with pytest.raises(
        ValueError, match=r"2 targets for each item.*MultiOutputRegressor"
    ):
        model.fit(K, Y.astype(int) if isinstance(model, SpectrumSVC) else Y)


def test_a_comparison_learns_one_target_too():
    with pytest.raises(ValueError, match=r"compare learns one.*MultiOutputRegressor"):
        compare(K, Y)


def test_the_way_out_works():
    model = MultiOutputRegressor(KreinRidge(method="clip"))
    assert model.fit(K, Y).predict(K).shape == (6, 2)
