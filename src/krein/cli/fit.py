"""``krein fit``: fit one method and save the model."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone, is_outlier_detector

import krein
from krein import HitClassifier, check_certificate, save_model
from krein.cli.inputs import Inputs
from krein.cli.output import check_output, describe_model, print_note
from krein.cli.problem import (
    check_methods,
    make_kernels,
    methods_of,
    problem_of,
    read_problem,
)
from krein.cli.values import check_settings, last_step, parse_pairs
from krein.comparison.evaluation import fit_method
from krein.comparison.methods import select_methods
from krein.comparison.problem import Problem
from krein.diagnostics.findings import Evidence, find
from krein.notices import warn_user
from krein.progress import progress_bar


def fit(args: argparse.Namespace) -> dict[str, Any]:
    """Fit and save."""
    out = check_output(args.out, args.force)
    known = check_methods(args.method, args.task or "any")  # before a long read
    if known:
        _read_settings(known[0], args.set, args.task or "any")
    (kernel,) = make_kernels(args).values()
    read = read_problem(args, kernel)
    problem = problem_of(args, read, kernel)
    name = _method(args, problem, read.task)
    settings = _read_settings(name, args.set, read.task)
    _warn_if_diagonal(args, problem)
    label = f"fitting {name} on {problem.codes.size} items"
    with progress_bar(label, 0, unit="", show=not args.quiet):
        model = fit_method(problem, name, params=settings or None)
        model = with_probabilities(model, problem) if args.proba else model
    checked = _checked(model, problem) if args.check else {}
    score = _training_score(model, problem, read.task)
    model = save_fitted(model, out, read, problem)
    return {
        "model": str(out),
        "method": name,
        "estimator": describe_model(model),
        "items": int(problem.codes.size),
        "classes": [str(label) for label in problem.classes],
        **score,
        **checked,
    }


def _method(args: argparse.Namespace, problem: Problem, task: str) -> str:
    """The method asked for, or the one that `compare` recommends by default."""
    usual = "profiles" if scipy.sparse.issparse(problem.K) else "average"
    if task == "novelty":
        usual = "clip"
    elif args.set and task == "classification":
        usual = "krein"  # the average chooses its settings by itself
    (name,) = check_methods(args.method, task) or [usual]
    if task == "classification":
        select_methods([name], has_vectors=problem.vectors is not None)
    return name


def _read_settings(name: str, pairs: list[str], task: str) -> dict[str, Any]:
    """Read hyperparameters; the estimator checks them."""
    if not pairs:
        return {}
    method = methods_of(task)[name]
    if not method.estimator:
        raise ValueError(f"--set is not for method {name!r}")
    fixed = {"kernel", "symmetrize", *method.params}
    if method.needs == "similarity":  # --kernel and --param say it
        fixed.add("kernel_params")
    every = inspect.signature(getattr(krein, method.estimator)).parameters
    known = [key for key in every if key not in fixed]
    owner = f"method {name!r}"
    values = parse_pairs(pairs, known, option="--set", owner=owner)
    check_settings(method.build(**values), "--set")
    return values


def _warn_if_diagonal(args: argparse.Namespace, problem: Problem) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    K = problem.on(np.arange(problem.codes.size))
    if not isinstance(K, np.ndarray):
        return  # sparse: most pairs are absent, as they should be
    for finding in find(Evidence(K, K)):
        if finding.key in ("nearly-diagonal", "nearly-constant"):
            print_note(args, finding.text)


def with_probabilities(model: Any, problem: Problem) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    if hasattr(model, "predict_proba"):
        return model
    again = clone(model)
    last = last_step(again)
    if "probability" not in last.get_params():
        raise ValueError(
            f"{type(last).__name__} has no probabilities; choose another --method"
        )
    last.set_params(probability=True)
    return again.fit(_training_data(problem), problem.labels)


def _training_data(problem: Problem) -> Any:
    return problem.K if problem.kernel is None else problem.items


def _checked(model: Any, problem: Problem) -> dict[str, Any]:
    """Have the referee judge the model before it is saved."""
    report = check_certificate(model, _training_data(problem), problem.labels)
    if report.holds is False:
        raise ArithmeticError(report.text)
    facts = {key: getattr(report, key) for key in ("holds", "kind", "text")}
    gaps = {key: getattr(report, key).tolist() for key in ("claimed", "recomputed")}
    return {"certificate": {**facts, **gaps}}


def _training_score(model: Any, problem: Problem, task: str) -> dict[str, Any]:
    """How well the training items are recognised, beside what costs nothing."""
    if task == "novelty":
        return {}
    predicted = model.predict(_training_data(problem))
    if task == "regression":
        residual = float(np.mean((predicted - problem.codes) ** 2))
        return {"training_r2": 1.0 - residual / float(np.var(problem.codes))}
    right = float(np.mean(predicted == problem.labels))
    largest = float(np.bincount(problem.codes).max() / problem.codes.size)
    if right <= largest:
        warn_user(
            f"nothing was learnt: {right:.3f} of the training items are recognised, "
            f"and the largest class has {largest:.3f} of them"
        )
    return {"training_accuracy": right}


def save_fitted(model: Any, path: Any, read: Inputs, problem: Problem) -> Any:
    """Save with names and labels of the training items; return what was saved."""
    kept = np.arange(problem.codes.size)
    if is_outlier_detector(last_step(model)):
        kept = np.flatnonzero(problem.codes == 0)  # novelty is learnt from the normal
    if read.rule is not None:
        model = _with_rule(model, read.rule, problem.labels)
    names = None if read.names is None else [read.names[k] for k in kept]
    model.item_labels_ = [str(label) for label in problem.labels[kept]]
    save_named(model, path, names, problem.K if problem.kernel is None else None)
    return model


def save_named(model: Any, path: Any, names: list[str] | None, K: Any) -> None:
    """Save with names of the training items and the range of a dense matrix."""
    if names is not None:
        model.item_names_ = list(names)
    if isinstance(K, np.ndarray):
        model.item_range_ = np.array([K.min(), K.max()])
    save_model(model, path)


def _with_rule(model: Any, rule: Any, labels: Any) -> Any:
    """Join a model on similarities with the rule that makes them of hits."""
    whole, inner = HitClassifier(clone(model), similarity=clone(rule)), model
    if isinstance(model, HitClassifier):  # on similarities: its own changes nothing
        whole, inner = clone(model).set_params(similarity=clone(rule)), model.estimator_
        whole.objective_, whole.duality_gap_ = model.objective_, model.duality_gap_
    whole.adopt(rule, inner, labels)
    return whole


def show_fit(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    line = f"{payload['items']} items"
    if "training_accuracy" in payload:
        line += f", classes {', '.join(payload['classes'])}, training accuracy "
        line += f"{payload['training_accuracy']:.3f}"
    if "training_r2" in payload:
        line += f", R^2 on them {payload['training_r2']:.3f}"
    print(line)
    if "certificate" in payload:
        print(payload["certificate"]["text"])
