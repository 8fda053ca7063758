"""``krein fit``, ``repair`` and ``embed``: what is made of a matrix and saved."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone, is_outlier_detector

import krein
from krein.cli import console, learning, repeated
from krein.cli.console import Inputs, check_output, last_step, print_note
from krein.comparison.evaluation import fit_method
from krein.comparison.methods import select_methods
from krein.comparison.problem import Problem
from krein.diagnostics.findings import Evidence, find
from krein.files.writers import check_format, write_matrix
from krein.items import called
from krein.report.map import render_map
from krein.store.files import atomic_write
from krein.validation import looks_like_distances
from krein.words import progress_bar, warn_user

_DRAWN = 3000  # items; more are one spot
_FACTS = {
    "stress": "{:.3f}: how far distances on the map are from those given (0: equal)",
    "negative_mass": "{:.1%} of the spectrum is below zero",
    "correction": "{:.4g} was added",
}


def fit(args: argparse.Namespace) -> dict[str, Any]:
    """Fit and save."""
    out = check_output(args.out, args.force)
    task = args.task or "any"
    for known in learning.check_methods(args.method, task) or []:  # before a long read
        _read_settings(known, args.set, task)
    (kernel,) = learning.make_kernels(args).values()
    read = learning.read_problem(args, kernel)
    problem = learning.problem_of(args, read, kernel)
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
        "estimator": console.describe_model(model),
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
    (name,) = learning.check_methods(args.method, task) or [usual]
    if task == "classification":
        select_methods([name], has_vectors=problem.vectors is not None)
    return name


def _read_settings(name: str, pairs: list[str], task: str) -> dict[str, Any]:
    """Read hyperparameters; the estimator checks them."""
    if not pairs:
        return {}
    method = learning.methods_of(task)[name]
    if not method.estimator:
        raise ValueError(f"--set is not for method {name!r}")
    fixed = {"kernel", "symmetrize", *method.params}
    if method.needs == "similarity":  # --kernel and --param say it
        fixed.add("kernel_params")
    every = inspect.signature(getattr(krein, method.estimator)).parameters
    known = [key for key in every if key not in fixed]
    owner = f"method {name!r}"
    values = learning.parse_pairs(pairs, known, option="--set", owner=owner)
    learning.check_settings(method.build(**values), "--set")
    return values


def _warn_if_diagonal(args: argparse.Namespace, problem: Problem) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    K = problem.on(problem.everything)
    dense = isinstance(K, np.ndarray)  # of hits most pairs are absent, as they should
    for finding in find(Evidence(K, K)) if dense else ():
        if finding.key.startswith("nearly-"):
            print_note(args, finding.text)


def with_probabilities(model: Any, problem: Problem) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    if hasattr(model, "predict_proba"):
        return model
    again = clone(model)
    last = last_step(again)
    if "probability" not in last.get_params():
        what = f"{type(last).__name__} has no probabilities"
        raise ValueError(f"{what}; choose another --method")
    last.set_params(probability=True)
    return again.fit(_training_data(problem), problem.labels)


def _training_data(problem: Problem) -> Any:
    return problem.K if problem.kernel is None else problem.items


def _checked(model: Any, problem: Problem) -> dict[str, Any]:
    """Have the referee judge the model before it is saved."""
    report = krein.check_certificate(model, _training_data(problem), problem.labels)
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
        found = f"{right:.3f} of the training items are recognised, and the largest"
        warn_user(f"nothing was learnt: {found} class has {largest:.3f} of them")
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
    if problem.kernel is not None and read.columns:
        model.item_columns_ = list(read.columns)
    save_named(model, path, names, problem.K if problem.kernel is None else None)
    return model


def save_named(model: Any, path: Any, names: list[str] | None, K: Any) -> None:
    """Save with names of the training items and the range of a dense matrix."""
    if names is not None:
        model.item_names_ = list(names)
    if isinstance(K, np.ndarray):
        model.item_range_ = np.array([K.min(), K.max()])
    krein.save_model(model, path)


def _with_rule(model: Any, rule: Any, labels: Any) -> Any:
    """Join a model on similarities with the rule that makes them of hits."""
    whole, inner = krein.HitClassifier(clone(model)), model
    if isinstance(model, krein.HitClassifier):  # its own rule changes nothing
        whole, inner = clone(model), model.estimator_
    whole.set_params(similarity=clone(rule)).adopt(rule, inner, labels)
    return whole


def show_fit(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    facts = [f"{payload['items']} items"]
    if "training_accuracy" in payload:
        facts.append(f"classes {', '.join(payload['classes'])}")
        facts.append(f"training accuracy {payload['training_accuracy']:.3f}")
    if "training_r2" in payload:
        facts.append(f"R^2 on them {payload['training_r2']:.3f}")
    print(", ".join(facts))
    if "certificate" in payload:
        print(payload["certificate"]["text"])


# ------------------------------------------------------------------- repair, embed


def repair(args: argparse.Namespace) -> dict[str, Any]:
    """Write the nearest positive semidefinite matrix, names kept."""
    out = check_output(args.out, args.force)
    K, read = console.read_symmetric(args)
    check_format(args.out, names=read.names is not None)
    if looks_like_distances(K):
        other = "turn them into similarities first, or see krein embed --kind distance"
        has = f"{args.file} holds distances, which are not repaired"
        raise ValueError(f"{has}; {other}")
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    how = {"diagonal": args.diagonal, "min_eigenvalue": args.min_eigenvalue}
    repaired = krein.nearest_psd(K, **how)
    report = krein.check_certificate(repaired, K)
    if not report.holds:
        raise ArithmeticError(report.text)
    write_matrix(args.out, repaired.matrix, names=read.names, overwrite=args.force)
    facts = ("text", "status", "distance", "duality_gap")
    return {
        "file": args.file,
        "out": str(out),
        "items": len(K),
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(repaired.matrix)[0]),
        **{name: getattr(repaired, name) for name in facts},
        "relative_distance": repaired.distance / (float(np.linalg.norm(K)) or 1.0),
        "largest_change": float(np.abs(repaired.matrix - K).max()),
    }


def show_repair(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what changed."""
    print(f"{payload['out']}: {payload['text']}")
    console.print_facts(payload)


def embed(args: argparse.Namespace) -> dict[str, Any]:
    """Fit, and write coordinates, page and model."""
    out, html, saved = (
        check_output(path, args.force) for path in (args.out, args.html, args.model)
    )
    K, read = console.read_symmetric(args)
    model = _unfitted(K, args)
    F = model.fit_transform(K)
    distances = args.kind == "distance"
    eigenvalues = model.eigenvalues_ if distances else np.linalg.eigvalsh(K)
    payload = {"file": args.file, "out": str(out), "items": len(F)}
    payload |= _quality(K if distances else None, model, F, eigenvalues)
    columns = places(F, called(K, read.names))
    if read.target is not None:
        columns["label"] = [str(label) for label in read.target]
    rows = console.as_rows(columns)
    console.write_csv(out, rows, args.force, quote_numbers=True)
    if html is not None:
        payload["html"] = str(html)
        _write_page(html, payload, rows, eigenvalues, args)
    if saved is not None:
        payload["model"] = str(saved)
        save_named(model, saved, read.names, K)
    return payload


def _unfitted(K: Any, args: argparse.Namespace) -> Any:
    if args.components < 1:
        raise ValueError(f"--components must be 1 or more, got {args.components}")
    if learning.check_direction(args, K):
        return krein.PCoA(args.components, correction=args.correction or "none")
    if args.correction:
        raise ValueError("--correction is for --kind distance")
    return krein.PseudoEuclideanEmbedding(args.components)


def _quality(D: Any, model: Any, F: Any, eigenvalues: Any) -> dict[str, Any]:
    """How much the coordinates show; the stress for distances D only."""
    total = float(np.abs(eigenvalues).sum()) or 1.0
    shares = getattr(model, "proportion_explained_", model.eigenvalues_ / total)
    facts = {"proportion_explained": shares.tolist()}
    if D is None:
        negative = float(-np.minimum(eigenvalues, 0.0).sum()) / total
        return {**facts, "negative_mass": negative}
    d = D[np.triu_indices_from(D, 1)]
    rest = np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0)
    facts |= {"stress": float(rest), "correction": model.correction_}
    return {**facts, "negative_mass": model.negative_mass_}


def places(F: Any, names: list[str]) -> dict[str, list[Any]]:
    """Names and coordinates, by the title of their column."""
    return {"item": names, **{f"axis{k + 1}": a.tolist() for k, a in enumerate(F.T)}}


def _write_page(
    path: Any, payload: dict, rows: list[dict], eigenvalues: Any, args: Any
) -> None:
    shown = np.sort(np.random.default_rng(0).permutation(len(rows))[:_DRAWN])
    options = repeated(args, "components", "correction", "out", "html", "model")
    page = {
        "title": f"map of {Path(args.file).name}",
        "finding": _finding(payload),
        "facts": _facts(payload),
        "kind": args.kind or "similarity",
        "items": [rows[int(i)] for i in shown],
        "shares": payload["proportion_explained"],
        "eigenvalues": [float(value) for value in eigenvalues],
        "hidden": len(rows) - shown.size,
        "command": f"krein embed {args.file} {options}",
    }
    with atomic_write(path, overwrite=args.force, text=True) as file:
        file.write(render_map(page))


def _finding(payload: dict[str, Any]) -> str:
    shown = sum(abs(share) for share in payload["proportion_explained"][:2])
    return f"The map shows {shown:.0%} of what the numbers say"


def _facts(payload: dict[str, Any]) -> dict[str, str]:
    shares = ", ".join(f"{share:.1%}" for share in payload["proportion_explained"])
    facts = {"items": str(payload["items"]), "proportion per axis": shares}
    for name, words in _FACTS.items():
        if payload.get(name):
            facts[name.replace("_", " ")] = words.format(payload[name])
    return facts


def show_embed(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written and how good it is."""
    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {_finding(payload)}.")
    console.print_table(["fact", "value"], list(_facts(payload).items()))
