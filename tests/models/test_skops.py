"""What model files do not hold goes through skops, with krein's own list of types."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import krein
from krein import (
    KreinLogisticRegression,
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
        KreinLogisticRegression(
            kernel="tl1", approximation=KreinNystroem(10, random_state=0)
        ),
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


@pytest.mark.parametrize("step", [MinMaxScaler(clip=True), PCA(2, whiten=True), PCA()])
def test_steps_of_plain_arrays_are_in_model_files(step, problem, tmp_path):
    X, y = problem
    model = make_pipeline(step, SpectrumSVC("flip", kernel="tl1")).fit(X, y)
    again = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )
