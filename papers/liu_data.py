"""Data and kernel settings of Liu et al.: features to [0, 1], TL1 with tau = 0.7 m."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from krein.arrays import Array
from papers.experiments import unit_range, vectors
from papers.runs import Run

__all__ = [
    "LABELS",
    "LARGE",
    "PRINTED_SIZES",
    "READINGS",
    "SETS",
    "SMALL",
    "has_status",
    "liu_vectors",
    "logistic",
    "published",
    "tl1",
    "under",
]

Loaded = tuple[Array, np.ndarray]


def _all(loaded: Any) -> Loaded:
    return loaded.data, loaded.target


def _training_part(loaded: Any) -> Loaded:
    kept = ~loaded.is_test
    return loaded.data[kept], loaded.target[kept]


def _test_part(loaded: Any) -> Loaded:
    return loaded.data[loaded.is_test], loaded.target[loaded.is_test]


def _with_sample_id(loaded: Any) -> Loaded:
    """Ten columns: the paper's m = 10 counts the sample number as a feature."""
    number = np.asarray(loaded.sample_id, dtype=float)[:, None]
    return np.hstack([number, loaded.data]), loaded.target


def _with_study_and_run(loaded: Any) -> Loaded:
    """20 columns: the paper's m counts the two bookkeeping columns."""
    extra = np.column_stack([loaded.study, loaded.run]).astype(float)
    return np.hstack([extra, loaded.data]), loaded.target


def _with_label(loaded: Any) -> Loaded:
    """23 columns: 22 features and, it seems, the class itself."""
    label = (loaded.target == loaded.target[0]).astype(float)[:, None]
    return np.hstack([loaded.data, label]), loaded.target


def _without_first(loaded: Any) -> Loaded:
    kept = ~loaded.is_test
    return loaded.data[kept][:, 1:], loaded.target[kept]


def _without_constant(loaded: Any) -> Loaded:
    varies = np.ptp(loaded.data, axis=0) > 0
    return loaded.data[:, varies], loaded.target


def _training_rows(loaded: Any) -> Loaded:
    kept = ~(loaded.is_test | loaded.is_validation)
    return loaded.data[kept], loaded.target[kept]


# Name in the paper -> file, and what is taken of it.
SETS: dict[str, tuple[str, Callable[[Any], Loaded]]] = {
    "australian": ("australian", _all),
    "breast": ("breast_cancer_wisconsin", _with_sample_id),
    "climate": ("climate_crashes", _with_study_and_run),
    "diabetic": ("diabetic_retinopathy", _all),
    "fertility": ("fertility", _all),
    "haberman": ("haberman", _all),
    "heart": ("heart_statlog", _all),
    "ionosphere": ("ionosphere", _without_constant),
    "monks1": ("monks1", _training_part),
    "monks2": ("monks2", _training_part),
    "monks3": ("monks3", _training_part),
    "parkinsons": ("parkinsons", _all),
    "sonar": ("sonar", _all),
    "SPECT": ("spect", _without_first),
    "splice": ("splice", _training_part),
    "transfusion": ("transfusion", _all),
    "EEG": ("eeg_eye_state", _all),
    "guide1-t": ("svmguide1", _test_part),
    "ijcnn1-tr": ("ijcnn1", _training_rows),
    "madelon": ("madelon", _training_part),
    # not in the paper: explains its accuracy of 1.000
    "parkinsons with label": ("parkinsons", _with_label),
}
# Algorithm 1 can be read in several ways; "" has the corrected gradients and starts eta
# anew in every outer step. Its eta = 0.02 can exceed 2 / L.
READINGS: dict[str, dict[str, Any]] = {
    "printed equations": {"equations": "printed"},
    "": {},
    "to the letter": {"equations": "printed", "reset_eta": False},
    "eta as printed": {"reset_eta": False},
    "steps 1/L": {"step": "lipschitz"},
}
# Name in the paper -> solver and inexact parameter epsilon.
_PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    "CCCP-GD": ("cccp-gd", {"epsilon": 1e-4}),
    "CCICP-GD": ("ccicp-gd", {"epsilon": 1.0}),
    "CCICP-SGD": ("ccicp-sgd", {"epsilon": 1e-4}),
    "CCICP-SGD-I": ("ccicp-sgd", {"epsilon": 1.0}),
    "IKLR certified": ("newton", {}),
}
LABELS = {
    "printed equations": "equations as printed",
    "": "corrected equations",
    "to the letter": "equations as printed, eta never reset",
    "eta as printed": "corrected, eta never reset",
    "steps 1/L": "corrected, steps 1/L",
}
_NAMES = re.compile(r"CCCP-GD|CCICP-SGD-I|CCICP-SGD|CCICP-GD|CCICP")
LARGE = ("EEG", "guide1-t", "ijcnn1-tr", "madelon")
SMALL = tuple(n for n in SETS if n not in LARGE and n != "parkinsons with label")
# Number of points in Table II, of the small sets in this order.
_PRINTED = "690 699 540 1151 100 306 270 351 124 169 122 195 208 80 1000 748"
PRINTED_SIZES = dict(zip(SMALL, map(int, _PRINTED.split()), strict=True))


def liu_vectors(name: str, quick: bool) -> Loaded:
    """Features in [0, 1] and labels of a set of the paper."""
    from krein import load_dataset

    if quick:
        X, y = vectors(name, True)
        return unit_range(X), y
    file, take = SETS[name]
    X, y = take(load_dataset(file))
    return unit_range(np.asarray(X, dtype=float)), np.asarray(y)


def under(method: str, reading: str) -> str:
    """Name of a method, or of what is said about it, under a reading.

    Examples
    --------
    >>> under("CCICP-GD, zeros", "steps 1/L")
    'CCICP-GD, steps 1/L, zeros'
    """
    return _NAMES.sub(rf"\g<0>, {reading}", method, count=1) if reading else method


def published(methods: tuple[str, ...], readings: Iterable[str]) -> tuple[str, ...]:
    """Names of methods under several readings.

    The stochastic ones have their own rule for eta in no reading but the first two.
    """
    return tuple(
        under(method, reading)
        for reading in readings
        for method in methods
        if method == "CCICP-GD" or reading in ("", "printed equations")
    )


def logistic(
    method: str, alpha: float, *, seed: int = 0, init: str = "zeros", **options: Any
) -> Any:
    """Return an estimator for a method of the paper, under the reading in its name."""
    from krein import KreinLogisticRegression

    name, _, reading = method.partition(", ")
    solver, settings = _PUBLISHED[name]
    settings = {"init": init, **settings, **READINGS[reading], **options}
    return KreinLogisticRegression(
        alpha,
        fit_intercept=False,
        solver=solver,
        indefinite="raise-alpha" if solver == "newton" else "allow",
        solver_options=settings,
        random_state=seed,
    )


def has_status(run: Run) -> bool:
    """Tell whether it is known how the solver ended; older runs do not say."""
    return "status" in run.values or not _NAMES.search(run.task.method)


def tl1(X: Array, Y: Array | None = None) -> Array:
    """TL1 kernel with the paper's tau = 0.7 m."""
    from krein import tl1_kernel

    return tl1_kernel(X, Y, tau=0.7 * X.shape[1])
