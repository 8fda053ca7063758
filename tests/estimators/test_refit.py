"""A refit replaces everything; a failed or interrupted one changes nothing."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from krein import (
    CPDSVC,
    CPDSVCCV,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    HitSimilarity,
    KreinLogisticRegression,
    KreinLogisticRegressionCV,
    KreinNystroem,
    KreinRidge,
    ProxySVC,
    ProxySVCCV,
    PseudoEuclideanEmbedding,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVCCV,
    SpectrumSVR,
    SpectrumSVRCV,
    SpectrumTransformer,
    save_model,
)

# Classes with pairs of settings: the second fit must know nothing of the first.
REFITS = [
    (SpectrumSVC(), {"method": "clip"}, {"method": "none"}),
    (SpectrumSVC(), {"probability": True}, {"probability": False}),
    (
        SpectrumSVC(),
        {"approximation": KreinNystroem(10, random_state=0)},
        {"approximation": None},
    ),
    (SpectrumSVR(), {"method": "clip"}, {"method": "none"}),
    (SpectrumOneClassSVM(), {"method": "flip"}, {"method": "none"}),
    (KreinRidge(), {"method": "clip"}, {"method": "none"}),
    (SpectrumSVCCV(), {"combine": "best"}, {"combine": "average"}),
    (SpectrumSVRCV(), {"combine": "best"}, {"combine": "average"}),
    (ProxySVC(), {"new_points": "luss"}, {"new_points": "clip"}),
    (DCSVC(), {"solver": "tdca"}, {"solver": "dc-primal"}),
    (KreinLogisticRegression(), {"multi_class": "ovr"}, {"indefinite": "flip"}),
    (CPDSVC(kernel="precomputed"), {"probability": True}, {"loss": "logistic"}),
    (SpectrumTransformer(), {"method": "clip"}, {"method": "none"}),
    (PseudoEuclideanEmbedding(), {"n_components": 5}, {"n_components": None}),
]
# One of every class, to be interrupted.
ALL = [
    *(model for model, _, _ in REFITS),
    CPDRegressor(kernel="precomputed"),
    CPDSVCCV(kernel="precomputed"),
    KreinLogisticRegressionCV(),
    ProxySVCCV(),
    MKLSVC(),
    HitSimilarity(),
    KreinNystroem(5, random_state=0),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X[:, 0] + 0.3 * rng.standard_normal(30)
    return np.tanh(X @ X.T - 0.5), y


def labels(model, y, names=("a", "b")):
    numeric = isinstance(model, (SpectrumSVR, SpectrumSVRCV, KreinRidge, CPDRegressor))
    return y if numeric else np.where(y > np.median(y), *names)


def suited(model, K):
    """The similarity in the form that a class takes."""
    if isinstance(model, CPDSVC | CPDSVCCV | CPDRegressor):  # a kernel that is c.p.d.
        return K @ K.T
    if isinstance(model, MKLSVC):
        return np.stack([K @ K.T, np.eye(len(K))], axis=2)
    return np.abs(K) if isinstance(model, HitSimilarity) else K


def broken(model, K):
    if isinstance(model, HitSimilarity):  # hits have a direction, but no sign
        return -K
    upper = np.triu(np.ones(K.shape[:2]), 1)
    return K + (upper if K.ndim == 2 else upper[:, :, None])


def fit(model, K, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(K, y)


def state(model):
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize(("model", "before", "after"), REFITS, ids=str)
def test_nothing_of_an_earlier_fit_is_left(model, before, after, data, tmp_path):
    K, y = data
    K, y = suited(model, K), labels(model, y)
    again = fit(clone(model).set_params(**before), K, y)
    fit(again.set_params(**{**clone(model).get_params(), **after}), K, y)
    fresh = fit(clone(model).set_params(**after), K, y)
    assert state(again) == state(fresh)
    files = [tmp_path / f"{name}.npz" for name in ("again", "fresh")]
    for one, path in zip((again, fresh), files, strict=True):
        save_model(one, path)
    with np.load(files[0]) as first, np.load(files[1]) as second:
        assert first.files == second.files


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("failure", ["asymmetric", "bad option", "interrupted"])
def test_a_failed_fit_changes_nothing(model, failure, data, monkeypatch):
    K, y = data
    K = suited(model, K)
    model = fit(clone(model), K, labels(model, y))
    before = dict(vars(model))
    if failure == "asymmetric":
        K = broken(model, K)
    elif failure == "bad option":
        model.set_params(**{"tol" if hasattr(model, "tol") else "symmetrize": "no"})
        before = dict(vars(model))
    else:
        monkeypatch.setattr(np.linalg, "norm", _interrupt)
        monkeypatch.setattr(np, "abs", _interrupt)
        monkeypatch.setattr(np, "sqrt", _interrupt)
    expected = (
        KeyboardInterrupt if failure == "interrupted" else (ValueError, TypeError)
    )
    with pytest.raises(expected):
        fit(model, K, labels(model, y, ("c", "d")))
    monkeypatch.undo()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def _interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def test_an_exception_in_the_kernel_changes_nothing(data):
    K, y = data
    X = np.arange(len(y))[:, None].astype(float)
    failing = False

    def kernel(A, B):
        if failing:
            raise RuntimeError("no similarity today")
        return K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

    model = SpectrumSVC("flip", kernel=kernel).fit(X, labels(None, y))
    before = model.predict(X)
    failing = True
    with pytest.raises(RuntimeError, match="no similarity today"):
        model.fit(X, labels(None, y, ("c", "d")))
    failing = False
    np.testing.assert_array_equal(model.predict(X), before)
