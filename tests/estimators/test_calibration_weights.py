"""Sample weights reach the sigmoid, not only the machine."""

import numpy as np
import pytest

from krein import CPDSVC, SpectrumSVC
from krein.selection.calibration import fit_sigmoid


def test_weights_of_the_sigmoid_are_repetition(rng):
    scores = rng.standard_normal(30)
    positive = scores + rng.standard_normal(30) > 0
    weight = rng.integers(1, 5, 30)
    given = fit_sigmoid(scores, positive, weight.astype(float))
    again = np.repeat(np.arange(30), weight)
    repeated = fit_sigmoid(scores[again], positive[again])
    np.testing.assert_allclose(given, repeated, rtol=1e-4)
    assert abs(given[1] - fit_sigmoid(scores, positive)[1]) > 1e-3


@pytest.mark.parametrize("kind", ["kernel", "landmarks", "spline"])
def test_weights_of_a_class_move_its_probabilities(kind, rng):
    """The machine fits separable data alike whatever the weights; the sigmoid not."""
    from krein import KreinNystroem, rbf_kernel

    X = np.concatenate([rng.normal(-2, 0.5, (20, 2)), rng.normal(2, 0.5, (20, 2))])
    y = np.repeat([0, 1], 20)
    landmarks = KreinNystroem(n_components=12, random_state=0)
    model = {
        "kernel": SpectrumSVC("flip", C=1e4, probability=True),
        "landmarks": SpectrumSVC(
            "flip", C=1e4, kernel="rbf", approximation=landmarks, probability=True
        ),
        "spline": CPDSVC(alpha=1e-6, exponent=1, probability=True),
    }[kind]
    given = rbf_kernel(X, gamma=0.5) if kind == "kernel" else X
    weight = np.where(y == 1, 50.0, 1.0)
    plain = model.fit(given, y).predict_proba(given)[:, 1]
    heavy = model.fit(given, y, sample_weight=weight).predict_proba(given)[:, 1]
    assert np.all(heavy[y == 1] > plain[y == 1] + 1e-3)
