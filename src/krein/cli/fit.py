"""``krein fit``, ``repair`` and ``embed``: what is made of a matrix and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

import krein
from krein.cli import Options, console, learning, repeated
from krein.cli.console import Inputs, check_output, last_step, print_note
from krein.comparison.contenders import TASKS
from krein.comparison.evaluation import fit_method
from krein.comparison.problem import Problem
from krein.diagnostics.facts import negative_mass
from krein.diagnostics.findings import Evidence, spread
from krein.files.writers import check_format, write_matrix
from krein.items import called
from krein.report.map import render_map
from krein.store.files import atomic_write
from krein.validation import looks_like_distances
from krein.words import progress_bar, warn_user

_DRAWN = 3000  # items; more are one spot


def fit(args: Options) -> dict[str, Any]:
    """Fit and save."""
    out = check_output(args.out, args.force)
    learning.check_methods(args.method, args.task or "any")  # before a long read
    (kernel,) = learning.make_kernels(args).values()
    read = learning.read_problem(args, kernel)
    name = _method(args, read)
    settings = _read_settings(name, args.set, read.task)
    problem = learning.problem_of(args, read, kernel)
    _warn_if_diagonal(args, problem)
    label = f"fitting {name} on {problem.codes.size} items"
    with progress_bar(label, show=not args.quiet):
        model = fit_method(problem, name, params=settings or None)
        model = _with_probabilities(model, problem) if args.proba else model
    score = _training_score(model, problem)
    model = save_fitted(model, out, read, problem)
    return {
        "model": str(out),
        "method": name,
        "estimator": console.describe_model(model),
        "items": int(problem.codes.size),
        "classes": [str(label) for label in problem.classes],
        **score,
    }


def _method(args: Options, read: Inputs) -> str:
    """The method asked for, or the one that `compare` recommends by default."""
    usual = "profiles" if read.rule is not None else "average"
    if args.set and read.task == "classification":
        usual = "krein"  # the average chooses its settings by itself
    (name,) = learning.check_methods(args.method, read.task) or [usual]
    return name


def _read_settings(name: str, pairs: list[str], task: str) -> dict[str, Any]:
    """Read hyperparameters; the estimator checks them."""
    if not pairs:
        return {}
    method = TASKS[task].methods[name]
    if not method.estimator:
        raise ValueError(f"--set is not for method {name!r}")
    # --kernel and --param say the first two.
    fixed = {"kernel", "kernel_params", "symmetrize", *method.params}
    known = [key for key in method.build().get_params(deep=False) if key not in fixed]
    return learning.parse_pairs(pairs, known, option="--set", owner=f"method {name!r}")


def _warn_if_diagonal(args: Options, problem: Problem) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    K = problem.on(problem.everything)
    # Of hits most pairs are absent, as they should.
    found = spread(Evidence(K, K)) if isinstance(K, np.ndarray) else []
    print_note(args, *(f.text for f in found if f.key.startswith("nearly-")))


def _with_probabilities(model: Any, problem: Problem) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    if hasattr(model, "predict_proba"):
        return model
    again = clone(model)
    last = last_step(again)
    if "probability" not in last.get_params():
        raise ValueError(f"no --proba for {type(last).__name__}: try another --method")
    last.set_params(probability=True)
    return again.fit(_training_data(model, problem), problem.labels)


def _training_data(model: Any, problem: Problem) -> Any:
    if not console.takes_matrix(model):
        return problem.items
    return problem.K if problem.kernel is None else problem.on(problem.everything)


def _training_score(model: Any, problem: Problem) -> dict[str, Any]:
    """How well the training items are recognised, beside what costs nothing."""
    score = float(model.score(_training_data(model, problem), problem.labels))
    if problem.task == "regression":
        return {"training_r2": score}
    largest = float(np.bincount(problem.codes).max() / problem.codes.size)
    if score <= largest:
        found = f"{score:.3f} of the training items are recognised, and the largest"
        warn_user(f"nothing was learnt: {found} class has {largest:.3f} of them")
    return {"training_accuracy": score}


def save_fitted(model: Any, path: Any, read: Inputs, problem: Problem) -> Any:
    """Save with names and labels of the training items; return what was saved."""
    if read.rule is not None:
        model = _with_rule(model, read.rule, problem.labels)
    model.item_labels_ = [str(label) for label in problem.labels]
    if problem.kernel is not None and read.columns:
        model.item_columns_ = list(read.columns)
    if problem.kernel is not None and console.takes_matrix(model):
        warn_user("the model takes rows of krein kernel NAME NEW --against TRAINING")
    save_named(model, path, read.names, problem.K if problem.kernel is None else None)
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


def show_fit(payload: dict[str, Any], args: Options) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    facts = [f"{payload['items']} items"]
    if payload["classes"]:
        facts.append(f"classes {', '.join(payload['classes'])}")
    scores = {k: v for k, v in payload.items() if k.startswith("training_")}
    facts += [f"{name.replace('_', ' ')} {v:.3f}" for name, v in scores.items()]
    print(", ".join(facts))


# ------------------------------------------------------------------- repair, embed


def repair(args: Options) -> dict[str, Any]:
    """Write the nearest positive semidefinite matrix, names kept."""
    out = check_output(args.out, args.force)
    K, read = console.read_symmetric(args)
    check_format(args.out, names=read.names is not None)
    if looks_like_distances(K):
        has = f"{args.file} holds distances, which are not repaired"
        raise ValueError(f"{has}; see krein embed --kind distance")
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    how = {"diagonal": args.diagonal, "min_eigenvalue": args.min_eigenvalue}
    repaired = krein.nearest_psd(K, **how)
    write_matrix(args.out, repaired.matrix, names=read.names, overwrite=args.force)
    facts = ("text", "status", "distance", "duality_gap")
    return {
        "file": args.file,
        "out": str(out),
        "items": len(K),
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(repaired.matrix)[0]),
        **{name: getattr(repaired, name) for name in facts},
        "largest_change": float(np.abs(repaired.matrix - K).max()),
    }


def show_repair(payload: dict[str, Any], args: Options) -> None:
    """Print what changed."""
    print(f"{payload['out']}: {payload['text']}")
    numbers = {k: v for k, v in payload.items() if isinstance(v, int | float)}
    rows = [[name.replace("_", " "), f"{v:.4g}"] for name, v in numbers.items()]
    console.print_table(["fact", "value"], rows)


def embed(args: Options) -> dict[str, Any]:
    """Fit, and write coordinates, page and model."""
    paths = args.out, args.html, args.model
    out, html, saved = (check_output(path, args.force) for path in paths)
    K, read = console.read_symmetric(args)
    model = _unfitted(K, args)
    F = model.fit_transform(K)
    payload = {"file": args.file, "out": str(out), "items": len(F)}
    if args.kind == "distance":
        eigenvalues, d = model.eigenvalues_, squareform(K, checks=False)
        rest = np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0)
        shares = model.proportion_explained_
        payload |= {"stress": float(rest), "correction": model.correction_}
    else:
        eigenvalues = np.linalg.eigvalsh(K)
        shares = model.eigenvalues_ / (np.abs(eigenvalues).sum() or 1.0)
    payload["negative_mass"] = negative_mass(eigenvalues)
    payload["proportion_explained"] = shares.tolist()
    seen = np.abs(shares[:2]).sum()
    payload["text"] = f"The map shows {seen:.0%} of what the numbers say"
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


def _unfitted(K: Any, args: Options) -> Any:
    learning.check_direction(args, K)
    if args.kind == "distance":
        return krein.PCoA(args.components, correction=args.correction or "none")
    if args.correction:
        raise ValueError("--correction is for --kind distance")
    return krein.PseudoEuclideanEmbedding(args.components)


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
        "finding": payload["text"],
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


def _facts(payload: dict[str, Any]) -> dict[str, str]:
    shares = ", ".join(f"{share:.1%}" for share in payload["proportion_explained"])
    facts = {"items": str(payload["items"]), "proportion per axis": shares}
    for name in ("stress", "correction", "negative_mass"):
        if payload.get(name):
            facts[name.replace("_", " ")] = f"{payload[name]:.4g}"
    return facts


def show_embed(payload: dict[str, Any], args: Options) -> None:
    """Print what was written and how good it is."""
    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {payload['text']}.")
    console.print_table(["fact", "value"], list(_facts(payload).items()))
