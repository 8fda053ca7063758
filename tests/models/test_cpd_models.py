"""Model files of the c.p.d. estimators, with every way to give a kernel."""

import numpy as np
import pytest
from sklearn.base import is_regressor

from krein import (
    CPDSVC,
    CPDSVCCV,
    CPDRegressor,
    Kernel,
    load_model,
    save_model,
    thin_plate_kernel,
)

MODELS = [
    (CPDSVC, {"alpha": 0.1}),
    (CPDSVCCV, {"alphas": [1.0, 0.1], "cv": 2}),
    (CPDRegressor, {"alpha": 0.1}),
]
OPTIONS = [
    {"exponent": 1},
    {"exponent": 2},
    {"exponent": 3, "scale": False},
    {"exponent": 2.5, "degree": 2},
    {"polynomial": "zero"},
    {"n_basis": 15, "random_state": 0},
    {"kernel": "multiquadric", "kernel_params": {"c": 0.5}},
    {"kernel": "rbf"},
    {"kernel": "rbf", "degree": 0},
    {"kernel": Kernel("thin_plate", exponent=1)},
]


def data(n=40):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2))
    return X, np.array(["b", "a", "c"])[np.arange(n) % 3]


def fitted(cls, params, X, y, **fit_params):
    model = cls(**params)
    if is_regressor(model):
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return model.fit(X, y, **fit_params)


def assert_same(loaded, model, X, **params):
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert set(vars(loaded)) == set(vars(model))
    np.testing.assert_array_equal(loaded.poly_coef_, model.poly_coef_)
    name = "predict" if is_regressor(model) else "decision_function"
    np.testing.assert_array_equal(
        getattr(loaded, name)(X, **params), getattr(model, name)(X, **params)
    )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("cls", "params"), MODELS)
def test_kernel_options_survive_the_file(cls, params, options, tmp_path):
    X, y = data()
    model = fitted(cls, {**params, **options}, X, y)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    assert_same(loaded, model, np.random.default_rng(6).standard_normal((9, 2)))


@pytest.mark.parametrize(("cls", "params"), MODELS)
def test_precomputed_with_polynomials_survives_the_file(cls, params, tmp_path):
    X, y = data()
    new = np.random.default_rng(6).standard_normal((9, 2))
    params = {**params, "kernel": "precomputed"}
    P = np.c_[np.ones(len(X)), X]
    model = fitted(cls, params, thin_plate_kernel(X), y, P=P)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    P_new = np.c_[np.ones(9), new]
    assert_same(loaded, model, thin_plate_kernel(new, X), P=P_new)


def negative_distance(X, Y):
    return thin_plate_kernel(X, Y, exponent=1)


negative_distance.order = 1


@pytest.mark.parametrize(("cls", "params"), MODELS)
def test_function_of_declared_order_survives_the_file(cls, params, tmp_path):
    X, y = data()
    model = fitted(cls, {**params, "kernel": negative_distance}, X, y)
    path = save_model(model, tmp_path / "m.krein")
    assert_same(load_model(path, kernel=negative_distance), model, X)
