"""The referee agrees with every estimator, and finds every planted lie."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import krein.referee
from krein import (
    KreinNystroem,
    KreinSVC,
    SimilarityNeighborsClassifier,
    SpectrumSVC,
    check_certificate,
    load_model,
    save_model,
)

from .registry import CASES

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def fitted(case, seed, **options):
    rng = np.random.default_rng(seed)
    problem = case.problem(rng, **options)
    return case.fit(rng, problem), problem


def check(model, problem):
    return check_certificate(model, problem.X, problem.y, problem.weight)


def agrees(case, seed):
    rng = np.random.default_rng(seed)
    options = {
        "n": int(rng.integers(6, 13)),
        "weighted": bool(rng.integers(2)),
        "n_classes": int(rng.integers(2, 4)),
    }
    model, problem = fitted(case, seed, **options)
    report = check(model, problem)
    assert report.holds, f"seed {seed}: {report}"
    assert report.kind in ("none" if diverged(model) else case.kind)


def diverged(model):
    model = getattr(model, "best_estimator_", model)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    return any(result.status == "diverged" for result in results)


@by_name
@pytest.mark.parametrize("seed", range(3))
def test_the_referee_agrees(case, seed):
    agrees(case, seed)


@pytest.mark.slow
@by_name
def test_the_referee_agrees_on_many_problems(case):
    for seed in range(100, 160):
        agrees(case, seed)


# ------------------------------------------------------------------------- planted lies


def claim(model, certificate, objective):
    """Let the model claim these numbers, everywhere it says them."""
    several = isinstance(model.result_, list)
    results = model.result_ if several else [model.result_]
    new = [
        replace(
            result,
            value=float(objective[i]),
            certificate=replace(result.certificate, value=float(certificate[i])),
            status="max_iter",
        )
        for i, result in enumerate(results)
    ]
    model.result_ = new if several else new[0]
    model.objective_ = np.array([result.value for result in new])
    for name in ("duality_gap_", "residual_", "kkt_gap_"):
        if hasattr(model, name):
            setattr(model, name, np.array([r.certificate.value for r in new]))


def worsened(case, seed):
    """Scale the point of a fitted model: feasible (or close), but no optimum."""
    model, problem = fitted(case, seed, n=10)
    model = getattr(model, "best_estimator_", model)
    for name in ("alpha_", "dual_coef_", "poly_coef_", "coef_"):
        if hasattr(model, name):
            setattr(model, name, 0.9 * getattr(model, name))
    result = model.result_
    info = {k: 0.9 * v if k in ("alpha", "c") else v for k, v in result.info.items()}
    model.result_ = replace(result, x=_scaled(case, result.x), info=info)
    return model, problem


def take_over_intercept(model, report):
    """Give a worsened point the intercept that belongs to it."""
    for row, b in re.findall(r"row (\d+): intercept_ is .*, not (.*)", str(report)):
        model.intercept_ = np.array(model.intercept_)
        model.intercept_[int(row)] = float(b)


def _scaled(case, x):
    return x if case.data == "kernels" else 0.9 * x


# A one-class machine has a fixed sum, and the map "project" follows the point.
RIGID = {"one-class", "proxy-project"}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name not in RIGID], ids=lambda c: c.name
)
def test_planted_lies_are_found(case):
    model, problem = worsened(case, 1)
    take_over_intercept(model, check(model, problem))
    report = check(model, problem)
    gap, objective = report.recomputed, report.objective
    assert gap[0] > 1e-6 * abs(objective[0])

    claim(model, gap, objective)
    assert check(model, problem).holds, check(model, problem)
    claim(model, 0.5 * gap, objective)
    assert check(model, problem).holds is False
    better = objective + 1e-3 * np.abs(objective)
    claim(model, gap, better)
    assert check(model, problem).holds is False


@by_name
def test_tampered_coefficients_are_found(case):
    model, problem = fitted(case, 2, n=10)
    model = getattr(model, "best_estimator_", model)
    largest = np.argmax(np.abs(model.dual_coef_[0]))
    model.dual_coef_[0, largest] *= 1.01
    assert check(model, problem).holds is False


@by_name
def test_infeasible_points_are_found(case):
    model, problem = fitted(case, 3, n=10)
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "alpha_"):
        model.alpha_ = model.alpha_ - 1e-3 * np.abs(model.alpha_).max()
    else:
        model.result_ = replace(model.result_, x=np.asarray(model.result_.x) + 1e-3)
        model.dual_coef_ = model.dual_coef_ + 1e-3
    report = check(model, problem)
    assert report.holds is False


@pytest.mark.parametrize("off", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("which", ["feasible", "bounds"])
def test_a_point_a_little_outside_is_infeasible(which, off):
    """Value and gap are claimed as they are there: only the place is wrong."""
    K, y = np.eye(6), np.array([1, 1, 1, 0, 0, 0])
    signs = np.where(y == 1, 1.0, -1.0)
    model = SpectrumSVC("clip", C=0.5 if which == "bounds" else 10.0).fit(K, y)
    best = float(model.objective_[0])
    alpha = model.alpha_[0] * (1 + off)
    if which == "feasible":  # one class only: y'alpha = 0 is broken
        alpha = np.where(y == 1, model.alpha_[0], alpha)
    value = float(alpha.sum() - 0.5 * alpha @ alpha)
    assert which == "feasible" or value > best  # which nothing feasible has
    model.alpha_, model.dual_coef_ = alpha[None], (signs * alpha)[None]
    claim(model, [1.0], [value])
    assert which in check_certificate(model, K, y).text


def test_a_gap_on_an_indefinite_kernel_is_a_lie():
    # 0.1.0: converged with gap 0, and a feasible point that is 3000 times better.
    K = np.array([[-6.0, -4.0, 2.0], [-4.0, -6.0, -2.0], [2.0, -2.0, 0.0]])
    y = [0, 1, 0]
    model = SpectrumSVC("none", C=202.48, t=3).fit(K, y)
    certificate = replace(model.result_.certificate, kind="gap")
    model.result_ = replace(model.result_, certificate=certificate)
    report = check_certificate(model, K, y)
    assert report.holds is False
    assert report.kind != "gap"
    assert "not convex" in report.text


def test_an_intercept_of_another_model_is_found():
    K = np.diag([2.0, 1.0, 1.0]) + 0.5
    model = KreinSVC(C=10.0).fit(K, [0, 1, 1])
    assert check_certificate(model, K, [0, 1, 1]).holds
    model.intercept_ = model.intercept_ + 0.1
    assert "intercept_" in check_certificate(model, K, [0, 1, 1]).text


# ---------------------------------------------------------------------------- the rest


# Functions of the user, and the mixture of cuts, are not in model files.
NOT_IN_FILES = {"mkl", "mkl-target", "svc-tanh", "svc-square_root", "svc-record"}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name not in NOT_IN_FILES], ids=lambda c: c.name
)
def test_model_files_are_judged_like_models(case, tmp_path):
    model, problem = fitted(case, 4, n=9)
    save_model(model, tmp_path / "model.krein")
    report = check(load_model(tmp_path / "model.krein"), problem)
    assert report.holds, report
    assert str(report) == str(check(model, problem))


def test_reports_are_readable():
    case = CASES[0]
    model, problem = fitted(case, 0)
    report = check(model, problem)
    assert str(report).startswith("SpectrumSVC: the certificate holds (global optimum")
    assert repr(report) == str(report) == report.text


def test_what_cannot_be_checked_is_said(rng):
    X = rng.standard_normal((30, 3))
    y = X[:, 0] > 0
    landmarks = KreinNystroem(n_components=10, random_state=0)
    model = SpectrumSVC("flip", kernel="rbf", approximation=landmarks).fit(X, y)
    report = check_certificate(model, X, y)
    assert (report.holds, report.kind) == (None, "none")
    assert "landmarks" in report.text
    report = check_certificate(SimilarityNeighborsClassifier(), X, y)
    assert report.holds is None
    assert "no certificate" in report.text
    with pytest.raises(ValueError, match="KreinSVC is not fitted"):
        check_certificate(KreinSVC(), X, y)


def test_other_data_do_not_pass(rng):
    A = rng.standard_normal((8, 8))
    K, y = A + A.T, [0, 1] * 4
    model = SpectrumSVC("flip").fit(K, y)
    assert check_certificate(model, K, y).holds
    assert check_certificate(model, 1.01 * K, y).holds is False
    assert check_certificate(model, K, y[::-1]).holds is False
    assert check_certificate(model, K, y, np.full(8, 2.0)).holds is False
    with pytest.raises(ValueError, match="labels that the model was not fitted on"):
        check_certificate(model, K, ["a"] * 8)
    with pytest.raises(ValueError, match="X and y must be the 8 samples"):
        check_certificate(model, K[:, :3], y)


def test_the_referee_shares_no_code_with_what_it_judges():
    folder = Path(krein.referee.__file__).parent
    imported = re.findall(
        r"^from (\S+) import|^import (\S+)",
        "\n".join(path.read_text("utf-8") for path in folder.glob("*.py")),
        re.MULTILINE,
    )
    modules = {name for pair in imported for name in pair if name}
    foreign = {name for name in modules if not name.startswith("krein.referee")}
    # The records say what a fix is; nothing of what computes with them is shared. And
    # scikit-learn's check of weights has one home.
    shared = {"krein.spectrum.fixes", "krein.sklearn_internals"}
    roots = {name.split(".")[0] for name in foreign - shared}
    assert roots - sys.stdlib_module_names <= {"numpy", "scipy", "sklearn"}
