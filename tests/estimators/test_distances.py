"""DistanceTransformer: forms, new rows, pipelines, scikit-learn's checks."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from krein import DistanceTransformer, Kernel, SpectrumSVC, load_model, save_model
from krein.kernels import KERNELS

FORMS = ["exponential", "gaussian", "inverse", "negative", "centred", "max"]
WORDS = ["kitten", "sitting", "mitten", "bitten", "witty", "city", "pity", "kitty"]


@pytest.mark.filterwarnings("ignore:X looks like a matrix of similarities")
@parametrize_with_checks([DistanceTransformer(), DistanceTransformer("centred")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", FORMS)
def test_agrees_with_the_kernel_of_the_distance(form):
    """The same conversion as Kernel("edit") makes of items it sees."""
    pytest.importorskip("rapidfuzz")
    edit_distance = KERNELS["edit"].distance
    train, new = WORDS[:6], WORDS[6:]
    # A factor of "centred" and "max" is free; the others settle it by the median.
    gamma = 1.0 if form in ("centred", "max") else "median"
    kernel = Kernel("edit", similarity=form, gamma=gamma).fit(train)
    ours = DistanceTransformer(form, gamma=gamma).fit(edit_distance(train))
    np.testing.assert_allclose(
        ours.transform(edit_distance(train)), kernel(train), atol=1e-12
    )
    np.testing.assert_allclose(
        ours.transform(edit_distance(new, train)), kernel(new, train), atol=1e-12
    )


def test_the_scale_of_a_distance_does_not_matter(rng):
    X = rng.standard_normal((20, 2))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    expected = DistanceTransformer().fit_transform(D)
    for scale in (1e-100, 1e100):
        found = DistanceTransformer().fit_transform(scale * D)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_in_a_pipeline_through_a_file(rng, tmp_path):
    X = rng.standard_normal((60, 2)) + np.repeat([[2.0], [-2.0]], 30, axis=0)
    y = np.repeat(["a", "b"], 30)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = make_pipeline(DistanceTransformer(), SpectrumSVC("flip"))
    assert cross_val_score(model, D, y, cv=3).mean() > 0.9
    path = save_model(model.fit(D, y), tmp_path / "m.krein")
    np.testing.assert_array_equal(
        load_model(path).decision_function(D[:5]), model.decision_function(D[:5])
    )


def test_what_is_no_distance_is_refused():
    with pytest.raises(ValueError, match="these are similarities"):
        DistanceTransformer().fit([[0.0, -1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="not symmetric"):
        DistanceTransformer().fit([[0.0, 1.0], [2.0, 0.0]])
