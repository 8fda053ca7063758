"""Which of scikit-learn's meta-estimators take a precomputed matrix: the table of
docs/guide/recipes.md, a test for each of its cells."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.semi_supervised import SelfTrainingClassifier

from krein import KreinRidge, SpectrumSVC, SpectrumSVR, sigmoid_kernel

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(60) > 0).astype(int)
K = sigmoid_kernel(X)
K_TRAIN, K_NEW = K[:45, :45], K[45:, :45]
BASE = SpectrumSVC("flip")
TWO = [("flip", BASE), ("clip", SpectrumSVC("clip"))]
UNLABELLED = np.r_[-np.ones(15, int), Y[15:45]]
RIDGE = KreinRidge(method="flip")

# Fitted on K_train; inside of cross_val_score on K.
BOTH = [
    OneVsRestClassifier(BASE),
    OneVsOneClassifier(BASE),
    GridSearchCV(BASE, {"C": [1.0, 10.0]}, cv=3),
]
FITTED_ONLY = [
    VotingClassifier(TWO),
    StackingClassifier(TWO, LogisticRegression()),
    BaggingClassifier(BASE, 3, random_state=0),
    AdaBoostClassifier(BASE, n_estimators=3, random_state=0),
    FixedThresholdClassifier(BASE),
    CalibratedClassifierCV(BASE, ensemble=False, cv=3),
]
NEITHER = [
    CalibratedClassifierCV(BASE, cv=3),
    TunedThresholdClassifierCV(BASE, cv=3),
    SelfTrainingClassifier(SpectrumSVC("flip", probability=True)),
]


def name(model):
    return type(model).__name__


def fits(model):
    y = UNLABELLED if isinstance(model, SelfTrainingClassifier) else Y[:45]
    return clone(model).fit(K_TRAIN, y).predict(K_NEW)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [*BOTH, *FITTED_ONLY], ids=name)
def test_fitted_on_a_training_matrix(model):
    assert np.mean(fits(model) == Y[45:]) > 0.6


@pytest.mark.parametrize("model", BOTH, ids=name)
def test_cross_validated_on_a_matrix(model):
    assert cross_val_score(model, K, Y, cv=3).mean() > 0.6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [*FITTED_ONLY, *NEITHER], ids=name)
def test_refused_by_cross_validation(model):
    with pytest.raises(ValueError, match="square"):
        cross_val_score(model, K, Y, cv=3, error_score="raise")


@pytest.mark.parametrize("model", NEITHER, ids=name)
def test_refused_on_a_training_matrix(model):
    with pytest.raises(ValueError, match="square matrix"):
        fits(model)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (VotingRegressor([("svr", SpectrumSVR()), ("ridge", RIDGE)]), X[:45, 0]),
        (MultiOutputRegressor(RIDGE), X[:45, :2]),
    ],
)
def test_regressors_of_regressors(model, y):
    assert model.fit(K_TRAIN, y).predict(K_NEW).shape == (15, *y.shape[1:])


def test_the_guide_names_them_all():
    page = Path(__file__).parents[2] / "docs" / "guide" / "recipes.md"
    text = page.read_text(encoding="utf-8")
    for model in (*BOTH, *FITTED_ONLY, *NEITHER):
        assert f"`{name(model)}" in text
