"""``krein fit``: fit one method and save the model."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone, is_outlier_detector

import krein
from krein import check_certificate, save_model
from krein.cli.hits import with_rule
from krein.cli.options import (
    check_output,
)
from krein.cli.output import describe_model, print_note
from krein.cli.parameters import declared, parse_pairs
from krein.cli.problem import check_methods, load_problem, methods_of
from krein.comparison.evaluation import fit_method
from krein.comparison.methods import select_methods
from krein.diagnostics.findings import Evidence, find
from krein.notices import warn_user
from krein.progress import progress_bar


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Fit and save."""
    out = check_output(args.out, args.force)

    check_methods(args.method, args.task or "any")  # fails before a long read
    read_settings(args.method, args.set, args.task or "any")
    problem, read = load_problem(args)
    name = _method(args, problem)
    settings = read_settings(name, args.set, args.task)
    _warn_if_diagonal(args, problem)
    label = f"fitting {name} on {problem.codes.size} items"
    with progress_bar(label, 0, unit="", show=not args.quiet):
        model = fit_method(problem, name, params=settings or None)
        model = with_probabilities(model, problem) if args.proba else model
    checked = _checked(model, problem) if args.check else {}
    score = _training_score(model, problem, args.task)
    model = save_named(model, out, read, problem)
    return {
        "model": str(out),
        "method": name,
        "estimator": describe_model(model),
        "items": int(problem.codes.size),
        "classes": [str(label) for label in problem.classes],
        **score,
        **checked,
    }


def _method(args: argparse.Namespace, problem: Any) -> str:
    """The method asked for, or the one that `compare` recommends by default."""
    usual = "profiles" if _is_sparse(problem) else "average"
    if args.task == "novelty":
        usual = "clip"
    elif args.set and args.task is None:
        usual = "krein"  # the average chooses its settings by itself
    (name,) = check_methods(args.method or usual, args.task) or [usual]
    if args.task not in ("regression", "novelty"):
        select_methods([name], has_vectors=problem.vectors is not None)
    return name


def _is_sparse(problem: Any) -> bool:
    return scipy.sparse.issparse(problem.K)


def _training_score(model: Any, problem: Any, task: str | None) -> dict[str, Any]:
    """How well the training items are recognised, beside what costs nothing."""
    if task == "novelty":
        return {}
    said = model.predict(training_data(problem))
    if task == "regression":
        residual = float(np.mean((said - problem.codes) ** 2))
        return {"training_r2": 1.0 - residual / float(np.var(problem.codes))}
    right = float(np.mean(said == labels_of(problem)))
    largest = float(np.bincount(problem.codes).max() / problem.codes.size)
    if right <= largest:
        warn_user(
            f"nothing was learnt: {right:.3f} of the training items are recognised, "
            f"and the largest class has {largest:.3f} of them"
        )
    return {"training_accuracy": right}


def _checked(model: Any, problem: Any) -> dict[str, Any]:
    """Have the referee judge the model before it is saved."""
    report = check_certificate(model, training_data(problem), labels_of(problem))
    if report.holds is False:
        raise ArithmeticError(report.text)
    facts = {
        "holds": report.holds,
        "kind": report.kind,
        "claimed": report.claimed.tolist(),
        "recomputed": report.recomputed.tolist(),
        "text": report.text,
    }
    return {"certificate": facts}


def read_settings(
    name: str | None, pairs: list[str], task: str | None
) -> dict[str, Any]:
    """Read hyperparameters by the types that the estimator declares."""
    if not pairs or name is None:
        return {}
    method = methods_of(task)[name]
    if not method.estimator:
        raise ValueError(f"--set is not for method {name!r}")
    fixed = {"kernel", "symmetrize", *method.params}
    if method.needs == "similarity":  # --kernel and --param say it
        fixed.add("kernel_params")
    known = declared(getattr(krein, method.estimator))
    known = {key: p for key, p in known.items() if key not in fixed}
    return parse_pairs(pairs, known, option="--set", owner=f"method {name!r}")


def _warn_if_diagonal(args: argparse.Namespace, problem: Any) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    K = problem.on(np.arange(problem.codes.size))
    if not isinstance(K, np.ndarray):
        return  # sparse: most pairs are absent, as they should be
    for finding in find(Evidence(K, K)):
        if finding.key in ("nearly-diagonal", "nearly-constant"):
            print_note(args, finding.text)


def training_data(problem: Any) -> Any:
    """Return what the model was fitted on."""
    return problem.K if problem.kernel is None else problem.items


def labels_of(problem: Any) -> Any:
    """Return the labels (or numbers) of the training items."""
    return problem.labels


def with_probabilities(model: Any, problem: Any) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    if hasattr(model, "predict_proba"):
        return model
    again = clone(model)
    last = again[-1] if hasattr(again, "steps") else again
    if "probability" not in last.get_params():
        raise ValueError(
            f"{type(last).__name__} has no probabilities; choose another --method"
        )
    last.set_params(probability=True)
    return again.fit(training_data(problem), labels_of(problem))


def save_named(model: Any, path: Any, read: Any, problem: Any) -> Any:
    """Save with names and labels of the training items; return what was saved."""
    kept = np.arange(problem.codes.size)
    if is_outlier_detector(model[-1] if hasattr(model, "steps") else model):
        kept = np.flatnonzero(problem.codes == 0)  # novelty is learnt from the normal
    if read.rule is not None:
        model = with_rule(model, read.rule, labels_of(problem))
    if read.names is not None:
        model.item_names_ = [read.names[k] for k in kept]
    model.item_labels_ = [str(label) for label in labels_of(problem)[kept]]
    if problem.kernel is None and isinstance(problem.K, np.ndarray):
        model.item_range_ = np.array([problem.K.min(), problem.K.max()])
    save_model(model, path)
    return model


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    said = f"{payload['items']} items"
    if "training_accuracy" in payload:
        said += f", classes {', '.join(payload['classes'])}, training accuracy "
        said += f"{payload['training_accuracy']:.3f}"
    if "training_r2" in payload:
        said += f", R^2 on them {payload['training_r2']:.3f}"
    print(said)
    if "certificate" in payload:
        print(payload["certificate"]["text"])
