"""Defaults of kernels given by name: neither nearly diagonal nor nearly constant."""

import numpy as np
import pytest

from krein import (
    Kernel,
    SpectrumSVC,
    compare,
    edit_kernel,
    kernel_matrix,
    laplacian_kernel,
    load_model,
    save_model,
    sigmoid_kernel,
)
from krein.diagnostics.findings import Evidence, find
from krein.kernels import KERNELS, as_kernel
from krein.similarity.conversions import median_distance
from tests.kernels.examples import EXAMPLES, VECTORS, WORDS

NAMES = ["ab-12 grey", "ab-13 gray", "ab-17 grey", "zx tall lamp", "zx low lamp"] * 2
DEGENERATE = {"nearly-diagonal", "nearly-constant"}


def degenerate(K):
    return DEGENERATE & {finding.key for finding in find(Evidence(K, K))}


def named(name):
    """Return the kernel as an estimator makes it from its name."""
    needed = {k: v for k, v in EXAMPLES[name].params.items() if k == "distance"}
    return as_kernel(name, needed)


@pytest.mark.filterwarnings("ignore:the sequences are DNA")
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_defaults_suit_the_example(name):
    items = EXAMPLES[name].items
    assert not degenerate(named(name).fit(items)(items))


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("name", ["tl1", "sigmoid"])
def test_units_of_vectors_do_not_matter(name, factor):
    X = VECTORS - VECTORS.mean(axis=0)
    K = named(name).fit(X)(X)
    scaled = named(name).fit(factor * X)(factor * X)
    assert not degenerate(scaled)
    np.testing.assert_allclose(scaled / scaled.max(), K / K.max(), rtol=1e-9)


def test_every_kernel_of_a_distance_settles_gamma():
    for facts in KERNELS.values():
        if facts.distance is not None:
            assert facts.by_name == {"gamma": "median"}
        assert set(facts.by_name) <= set(facts.resolve)


def test_plain_functions_and_kernel_objects_keep_their_defaults():
    assert Kernel("edit").params == {}
    np.testing.assert_array_equal(kernel_matrix("edit", WORDS), edit_kernel(WORDS))
    np.testing.assert_array_equal(Kernel("edit")(WORDS), edit_kernel(WORDS))
    assert as_kernel(Kernel("edit"), None).params == {}
    assert as_kernel("edit", {"gamma": 0.3}).params == {"gamma": 0.3}


def test_an_estimator_learns_from_names_that_are_far_apart(tmp_path):
    y = ["ab", "ab", "ab", "zx", "zx"] * 2
    assert degenerate(edit_kernel(NAMES[:5]))
    model = SpectrumSVC(kernel="edit").fit(NAMES, y)
    assert model.kernel_.params["gamma"] < 0.2
    assert not degenerate(model.kernel_(NAMES[:5]))
    assert model.predict(["ab-99 green", "zx wide lamp"]).tolist() == ["ab", "zx"]
    save_model(model, tmp_path / "m.krein")
    again = load_model(tmp_path / "m.krein")
    assert again.kernel_.params == model.kernel_.params
    assert again.predict(NAMES).tolist() == model.predict(NAMES).tolist()


def test_compare_settles_gamma_on_the_training_part():
    y = np.array(["ab", "ab", "ab", "zx", "zx"] * 2)
    found = compare(NAMES, y, kernel="edit", methods=["clip"], cv=2)
    assert found.problem.kernel.params == {"gamma": "median"}
    assert found.scores("clip").mean() == 1.0


def test_median_leaves_twins_out():
    D = np.zeros((4, 4))
    D[0, 1:] = D[1:, 0] = 3.0
    assert median_distance(D) == 3.0
    assert median_distance(np.zeros((3, 3))) == 1.0


def test_median_of_many_items_is_that_of_some():
    X = np.random.default_rng(0).standard_normal((2000, 3))
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    gamma = Kernel("laplacian", gamma="median").fit(X).params["gamma"]
    assert gamma == pytest.approx(1.0 / median_distance(D), rel=0.05)
    assert laplacian_kernel(X[:2], gamma=gamma).shape == (2, 2)


def test_sigmoid_by_name_is_the_plain_one_on_standardised_vectors():
    X = (VECTORS - VECTORS.mean(axis=0)) / VECTORS.std(axis=0)
    K = as_kernel("sigmoid", None).fit(X)(X)
    np.testing.assert_allclose(K, sigmoid_kernel(X), rtol=1e-12)
