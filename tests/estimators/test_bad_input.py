"""Bad input: one clear error that names the argument; good input of every kind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone

from krein import (
    KreinSVC,
    PseudoEuclideanEmbedding,
    SpectrumSVC,
    SpectrumTransformer,
    diagnose,
    split_kernel,
)

MODELS = [SpectrumSVC("clip"), SpectrumSVC("shift"), KreinSVC()]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((20, 2))
    K = np.tanh(X @ X.T)
    K.flags.writeable = False
    return K, np.repeat([0, 1], 10)


def spoiled(K, value):
    K = K.copy()
    K[3, 4] = K[4, 3] = value
    return K


BAD = {
    "not square": (lambda K: K[:, :7], ValueError, r"square.*\(20, 7\)"),
    "asymmetric": (
        lambda K: K + np.triu(np.ones_like(K)),
        ValueError,
        "not symmetric.*symmetrize=True",
    ),
    "NaN": (lambda K: spoiled(K, np.nan), ValueError, "X contains NaN"),
    "infinity": (lambda K: spoiled(K, np.inf), ValueError, "X contains infinity"),
    "complex": (lambda K: K + 1j, ValueError, "Complex data not supported"),
    "empty": (lambda K: K[:0, :0], ValueError, "0 sample"),
    "one-dimensional": (lambda K: K[0], ValueError, "Expected 2D array"),
    "three-dimensional": (lambda K: K[None], ValueError, "dim 3"),
    "objects": (lambda K: np.full((20, 20), "x", dtype=object), ValueError, "convert"),
    "sparse": (scipy.sparse.csr_array, TypeError, r"sparse.*toarray\(\)"),
    "masked": (lambda K: np.ma.masked_greater(K, 0.5), TypeError, "masked"),
    "dates": (lambda K: K.astype("datetime64[s]"), TypeError, "datetime64"),
}


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("case", [case for case in BAD if case != "sparse"])
def test_bad_matrix_is_refused_by_name(case, model, data):
    K, y = data
    spoil, error, message = BAD[case]
    bad = spoil(K)
    before = bad.copy()
    model = clone(model)
    with pytest.raises(error, match=message):
        model.fit(bad, y)
    assert not hasattr(model, "dual_coef_")
    np.testing.assert_array_equal(before, bad)


@pytest.mark.parametrize("case", ["not square", "NaN", "infinity", "sparse", "masked"])
@pytest.mark.parametrize(
    "use",
    [SpectrumTransformer().fit, PseudoEuclideanEmbedding().fit],
    ids=["transformer", "embedding"],
)
def test_transformers_refuse_the_same(case, use, data):
    spoil, error, message = BAD[case]
    with pytest.raises(error, match=message):
        use(spoil(data[0]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(20), "at least two classes"),
        (np.repeat([0, 1], 5), "10 labels for 20 samples"),
        (np.linspace(0, 1, 20), "Unknown label type"),
        (None, "y"),
    ],
    ids=["one class", "wrong number", "continuous", "missing"],
)
def test_bad_labels_are_refused(labels, message, data):
    with pytest.raises(ValueError, match=message):
        SpectrumSVC().fit(data[0], labels)


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        SpectrumSVC().fit(np.ones((1, 1)), [1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "'C' parameter of SpectrumSVC"),
        ({"C": -1.0}, "'C'"),
        ({"method": "cut"}, "method='cut' is not known"),
        ({"kernel": "nonsense"}, "kernel must be one of"),
        ({"kernel": 3}, "'kernel'"),
        ({"class_weight": "equal"}, "'class_weight'"),
        ({"solver_options": {"speed": 9}}, "has 'speed', but this solver"),
        ({"kernel": "tl1", "kernel_params": {"width": 1}}, "no parameter 'width'"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(parameters, message, data):
    with pytest.raises(ValueError, match=message):
        SpectrumSVC(**parameters).fit(*data)


def test_new_rows_must_have_one_column_per_training_item(data):
    K, y = data
    model = SpectrumSVC().fit(K, y)
    with pytest.raises(ValueError, match=r"20 features.*columns.*order of fit"):
        model.predict(K[:3, :5])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((2, 20), np.nan))


def test_distances_as_similarities_are_noticed(data):
    X = np.arange(20.0)[:, None]
    with pytest.warns(UserWarning, match=r"looks like a matrix of distances"):
        SpectrumSVC().fit(np.abs(X - X.T), data[1])


def test_a_kernel_of_the_wrong_shape_is_named(data):
    with pytest.raises(ValueError, match=r"shape \(20, 20\).*got \(20, 3\)"):
        SpectrumSVC(kernel=lambda X, Y: np.ones((20, 3))).fit(*data)


def test_probability_needs_two_classes_that_can_be_tested(data):
    y = np.r_[0, np.ones(19)]
    with pytest.raises(ValueError, match="two classes with at least two samples"):
        SpectrumSVC(probability=True).fit(data[0], y)


def test_too_many_items_are_refused_before_the_kernel_is_computed(monkeypatch, rng):
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "10MB")
    X = rng.standard_normal((9000, 2))
    with pytest.raises(MemoryError, match=r"9000 items needs about 3.89 GB.*Nyst"):
        SpectrumSVC("clip", kernel="rbf").fit(X, X[:, 0] > 0)


# -------------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    "convert",
    [
        lambda K: K.astype(np.float32),
        lambda K: np.asfortranarray(K),
        lambda K: np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda K: K.tolist(),
        pd.DataFrame,
        lambda K: pd.DataFrame(K, index=list(NAMES), columns=list(NAMES)),
        lambda K: pl.DataFrame(K, schema=list(NAMES)),
        lambda K: np.ma.masked_array(K, mask=False),
    ],
    ids=[
        "float32", "Fortran", "strided", "lists", "pandas", "named pandas", "polars",
        "unmasked",
    ],
)  # fmt: skip
def test_every_container_of_numbers_is_accepted(convert, data):
    K, y = data
    plain = SpectrumSVC("flip").fit(K, y)
    given = convert(K)
    model = SpectrumSVC("flip").fit(given, y)
    np.testing.assert_allclose(
        model.decision_function(given), plain.decision_function(K), atol=1e-4
    )


NAMES = "abcdefghijklmnopqrst"


def test_integers_are_accepted(data):
    K = np.rint(5 * data[0]).astype(int)
    model = SpectrumSVC().fit(K, data[1])
    assert model.decision_function(K).dtype == np.float64


def test_names_of_items_are_kept_and_checked(data):
    K, y = data
    frame = pd.DataFrame(K, index=list(NAMES), columns=list(NAMES))
    model = SpectrumSVC().fit(frame, y)
    assert list(model.feature_names_in_) == list(NAMES)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_asymmetry_is_averaged_on_request(data):
    K, y = data
    noise = 0.1 * np.triu(np.ones_like(K), 1)
    averaged = SpectrumSVC(symmetrize=True).fit(K + noise, y)
    expected = SpectrumSVC().fit(K + 0.5 * (noise + noise.T), y)
    np.testing.assert_allclose(averaged.dual_coef_, expected.dual_coef_, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("exponent", [-150, -100, 100, 150])
@pytest.mark.parametrize("method", ["clip", "flip", "shift", "square", "diffusion"])
def test_extreme_scales_give_finite_models(exponent, method, data):
    K, y = data
    model = SpectrumSVC(method).fit(K * 10.0**exponent, y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.decision_function(K * 10.0**exponent)).all()


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_split_kernel_cuts_rows_and_columns(container, data):
    K, y = data
    K_train, K_test, _, y_test = split_kernel(
        container(K), y, test_size=0.3, random_state=1
    )
    assert isinstance(K_train, type(container(K)))
    assert np.asarray(K_train).shape == (14, 14)
    assert np.asarray(K_test).shape == (6, 14)
    assert np.mean(y_test) == 0.5
    assert {tuple(row) for row in np.asarray(K_train)} <= {
        tuple(row[columns]) for row in K for columns in [_columns(K, K_train)]
    }


def _columns(K, K_train):
    """Positions of the training items, found by the diagonal."""
    diagonal = np.diagonal(K)
    return [int(np.argmin(np.abs(diagonal - d))) for d in np.diagonal(K_train)]


def test_split_kernel_refuses_what_is_not_square(data):
    K, y = data
    with pytest.raises(ValueError, match="train_test_split"):
        split_kernel(K[:, :3], y)
    with pytest.raises(ValueError, match="3 labels for 20 items"):
        split_kernel(K, y[:3])


def test_diagnose_refuses_bad_input(data):
    K, y = data
    with pytest.raises(ValueError, match="kind"):
        diagnose(K, kind="distances")
    with pytest.raises(ValueError, match="square"):
        diagnose(K[:, :3])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        diagnose(K, y[:3])
    with pytest.raises(ValueError, match="negative entry"):
        diagnose(-np.abs(K), kind="distance")


@pytest.mark.parametrize(
    "items", [["anna", "bea", "cleo", "dora"], np.array([["anna"], ["bea"]] * 2)]
)
def test_text_as_a_matrix_names_the_kernels(items):
    with pytest.raises(ValueError, match=r"X holds text .* kernel='edit'"):
        SpectrumSVC().fit(items, [0, 1, 0, 1])
