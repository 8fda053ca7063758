"""Steps and searches of scikit-learn: in model files, or through skops."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import krein
from krein import (
    KreinNystroem,
    KreinSVC,
    SpectrumSVC,
    SpectrumSVCCV,
    load_model,
    save_model,
)


@pytest.fixture
def problem(rng):
    X = rng.random((60, 4))
    return X, np.where(X[:, 0] + X[:, 1] > 1.0, "yes", "no")


PIPELINES = {
    "imputed": make_pipeline(SimpleImputer(), SpectrumSVC("flip", kernel="tl1")),
    "searched": GridSearchCV(
        make_pipeline(MinMaxScaler(), KreinSVC(kernel="tl1")), {"kreinsvc__C": [1, 10]}
    ),
    "calibrated": CalibratedClassifierCV(SpectrumSVC("clip", kernel="rbf"), cv=3),
    "landmarks": make_pipeline(
        SimpleImputer(),
        SpectrumSVC("flip", kernel="tl1", approximation=KreinNystroem(10)),
    ),
    "bagged": BaggingClassifier(SpectrumSVCCV(kernel="tl1", Cs=[1.0]), 2),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_come_back_through_skops(name, problem):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = problem
    model = PIPELINES[name].fit(X, y)
    content = skops.dumps(model)
    known = set(krein.trusted_types())
    untrusted = set(skops.get_untrusted_types(data=content))
    assert {kind for kind in untrusted if kind.startswith("krein")} <= known
    again = skops.loads(content, trusted=[*known, *untrusted])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_a_model_file_cannot_hold_is_sent_to_skops(problem, tmp_path):
    model = PIPELINES["calibrated"].fit(*problem)
    with pytest.raises(TypeError, match=r"skops\.io\.dump.*krein\.trusted_types\(\)"):
        save_model(model, tmp_path / "m.krein")


def test_of_a_search_a_model_file_holds_the_best_estimator(problem, tmp_path):
    X, y = problem
    for best in (
        make_pipeline(StandardScaler(), KreinSVC(kernel="tl1", probability=True)),
        KreinSVC(kernel="tl1", probability=True),
    ):
        name = "C" if isinstance(best, KreinSVC) else "kreinsvc__C"
        search = GridSearchCV(best, {name: [0.01, 10.0]}, cv=3).fit(X, y)
        again = load_model(save_model(search, tmp_path / "m.krein"))
        assert type(again) is type(best)
        assert again.get_params()[name] == search.best_params_[name]
        for ask in ("predict", "decision_function", "predict_proba"):
            one, other = getattr(again, ask)(X), getattr(search, ask)(X)
            np.testing.assert_array_equal(one, other)


def test_a_search_inside_a_pipeline_is_its_best_estimator(problem, tmp_path):
    X, y = problem
    search = GridSearchCV(KreinSVC(kernel="tl1"), {"C": [0.01, 10.0]}, cv=3)
    model = make_pipeline(StandardScaler(), search).fit(X, y)
    again = load_model(save_model(model, tmp_path / "m.krein"))
    assert isinstance(again[-1], KreinSVC)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("fit", [False, True])
def test_a_search_without_a_best_estimator_is_refused(problem, tmp_path, fit):
    search = GridSearchCV(KreinSVC(kernel="tl1"), {"C": [1.0]}, cv=3, refit=not fit)
    with pytest.raises(NotFittedError, match=r"GridSearchCV \(with refit=True\)"):
        save_model(search.fit(*problem) if fit else search, tmp_path / "m.krein")
