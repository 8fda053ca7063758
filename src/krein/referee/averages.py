"""Averages: every machine is judged as if it stood alone, and the means are recomputed.

`SpectrumSVCCV` and `SpectrumSVRCV` keep the parameters and the results of each machine,
and predict by means over the machines, of the coefficients on the raw kernel and of the
intercepts:

    dual_coef_ = mean of c_m,   intercept_ = mean of b_m

c_m is the map of the variables v_m (see `kernel`) and b_m the intercept that belongs to
them (see `box`), both recomputed here. `SimilarityClassifier` and `SimilarityRegressor`
average such models, each on the similarities that a conversion of its own makes.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.utils.class_weight import compute_sample_weight

from krein.referee.claims import Evidence, faults_of
from krein.referee.digits import EPS, Array
from krein.referee.fitted import Fitted, Row
from krein.referee.kernel import Decomposed, Image, eigenpairs, weighted
from krein.referee.report import CertificateReport, report_on, report_on_parts
from krein.referee.svm import judge_row, problem_of
from krein.sklearn_internals import check_sample_weight
from krein.spectrum.fixes import as_fix


def is_average(model: Any) -> bool:
    """Whether a model is the mean of machines on one kernel, and no single one."""
    return bool(getattr(model, "members_", ())) and not hasattr(model, "result_")


# --------------------------------------------------------------- machines on one kernel


def fitted_average(model: Any, X: Any, y: Any, sample_weight: Any) -> Fitted:
    """Return the training problem that all machines of an average share."""
    return Fitted(_alone(model, model.members_[0]), X, y, sample_weight, None)


def report_on_average(fitted: Fitted, model: Any) -> CertificateReport:
    """Judge all machines, and whether what predicts is their mean."""
    A = weighted(fitted)
    pairs = eigenpairs(A)
    judged = []
    for member in model.members_:
        one = fitted.of(_alone(model, member))
        kernel = Decomposed(one, A, as_fix(member["method"]), pairs)
        judged.append(_Machine(one, kernel, member["C"]))
    faults = _gap_faults(model)
    for k in range(len(fitted.results)):
        faults += _coefficient_faults(fitted, kernel, judged, k)
        faults += _intercept_faults(model, judged, k)
    parts = {
        f"machine {m}": report_on(machine.text, machine.rows, [], model.tol)
        for m, machine in enumerate(judged)
    }
    return report_on_parts(type(model).__name__, parts, faults)


def _alone(model: Any, member: dict[str, Any]) -> Any:
    """Return the model as if one of its machines stood alone."""
    one = copy(model)
    one.best_params_ = {k: value for k, value in member.items() if k != "results"}
    one.result_ = member["results"]
    vars(one).pop("duality_gap_", None)  # the largest of all machines
    return one


class _Machine:
    """What is found of one machine, row by row.

    Attributes
    ----------
    text : str
        Its fix and C.
    rows : list of (Evidence, Result)
        What is found and what is claimed.
    images : list of Image
        Coefficients on the raw kernel.
    intercepts : list of (float, float)
        Intercepts, and how far doubles may be off.
    """

    def __init__(self, fitted: Fitted, kernel: Decomposed, C: float):
        self.text = f"{kernel.record.name}, C = {C:.3g}"
        self.rows: list[tuple[Evidence, Any]] = []
        self.images: list[Image] = []
        self.intercepts: list[tuple[float, float]] = []
        for y, result in zip(fitted.signs(), fitted.results, strict=True):
            row = _row(y, result)
            readings = kernel.readings(row.v, row.c)
            evidence = judge_row(fitted, kernel, row, readings, result.certificate)
            box, a, outputs = problem_of(fitted, row, readings[0])
            self.rows.append((evidence, result))
            self.images.append(kernel.image(row.v))
            self.intercepts.append(box.settled_intercept(a, outputs))


def _row(y: Array, result: Any) -> Row:
    """Variables of a row among all items; nothing else is known of one machine."""
    unknown = np.full(y.size, np.nan)
    x = result.x if np.shape(result.x) == y.shape else unknown
    return Row(y, np.where(y < 0.0, -1.0, 1.0) * x, unknown, np.nan)


def _gap_faults(model: Any) -> list[str]:
    gaps = [[row.certificate.value for row in one["results"]] for one in model.members_]
    largest = np.max(gaps, axis=0)
    claimed = getattr(model, "duality_gap_", largest)
    same = np.array_equal(claimed, largest, equal_nan=True)
    return faults_of((same, "duality_gap_ is not the largest of all machines"))


def _coefficient_faults(
    fitted: Fitted, kernel: Decomposed, judged: list[_Machine], k: int
) -> list[str]:
    """Compare coefficients with the mean of the maps, along the eigenvectors."""
    c = fitted.model.dual_coef_[k, fitted.kept]
    images = [machine.images[k] for machine in judged]
    mean = sum((image.coordinates for image in images[1:]), images[0].coordinates)
    off = (kernel.coordinates(c) - mean * (1.0 / len(images))).high
    low = np.mean([image.low for image in images], axis=0)
    high = np.mean([image.high for image in images], axis=0)
    fine = bool(np.all((low <= off) & (off <= high)))
    text = f"row {k}: dual_coef_ is not the mean of all machines: off by"
    return faults_of((fine, f"{text} {np.abs(off).max():.3g}"))


def _intercept_faults(model: Any, judged: list[_Machine], k: int) -> list[str]:
    own, allowed = np.mean([machine.intercepts[k] for machine in judged], axis=0)
    b = float(model.intercept_[k])
    fine = abs(b - own) <= allowed + 4 * EPS * abs(own)
    text = f"row {k}: intercept_ is {b:.9g}, the mean of all machines is {own:.9g}"
    return faults_of((fine, text))


# ------------------------------------------------------------ models on several kernels


def report_on_pool(
    model: Any, X: Any, y: Any, sample_weight: Any, check: Callable[..., Any]
) -> CertificateReport:
    """Judge the models of a pool, each on the similarities that it was trained on.

    These are made by the conversions of the model, as those of new items are.
    """
    X = _square(X)
    if model.symmetrize and getattr(X, "ndim", 0) == 2:
        X = 0.5 * X + 0.5 * X.T
    y = np.asarray(y)
    weight = compute_sample_weight(getattr(model, "class_weight", None), y)
    weight = weight * check_sample_weight(sample_weight, y, dtype=float)
    kept = np.flatnonzero(weight > 0)
    parts = {}
    for place, fitted in enumerate(model.models_):
        one = copy(fitted)
        one.class_weight = None  # in the weights already
        K = model.converted(X, place)[kept]
        parts[f"model {place}"] = check(one, K, y[kept], weight[kept])
    return report_on_parts(type(model).__name__, parts, _pool_faults(model))


def _square(X: Any) -> Any:
    """Return distances in another form as a square matrix."""
    if hasattr(X, "to_data_frame"):  # of scikit-bio
        return X.to_data_frame().to_numpy()
    return squareform(X) if np.ndim(X) == 1 and isinstance(X, np.ndarray) else X


def _pool_faults(model: Any) -> list[str]:
    """Compare the machines that are listed with those of the models."""
    of_models = [result for one in model.models_ for result in _results(one)]
    equal = np.array_equal(model.weights_, [one["weight"] for one in model.members_])
    return faults_of(
        (_results(model) == of_models, "members_ does not list what predicts"),
        (equal, "weights_ are not those of members_"),
    )


def _results(model: Any) -> list[int]:
    return [id(result) for one in model.members_ for result in one["results"]]
