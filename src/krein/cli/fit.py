"""``krein fit``: fit one method and save the model."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import (
    add_input,
    add_kernel,
    add_labels,
    add_output,
    check_output,
)
from krein.cli.output import describe_model, print_note

SUMMARY = "fit one method on all items and save the model"
EXAMPLES = (
    "krein fit similarities.csv --labels labels.csv --method flip -o model.krein",
    "krein fit distances.csv --kind distance --labels labels.csv -o model.krein",
    "krein fit proteins.fasta --labels table.tsv --kernel smith_waterman -o m.krein",
    "krein fit similarities.csv --labels labels.csv --set C=10 --proba -o model.krein",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_input(parser)
    add_labels(parser)
    add_kernel(parser)
    parser.add_argument(
        "--method", default="krein", help="as in krein compare (default: krein)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="hyperparameter, e.g. C=10; chosen by cross-validation when none is given",
    )
    parser.add_argument("--proba", action="store_true", help="learn probabilities too")
    parser.add_argument(
        "--check",
        action="store_true",
        help="have the certificate recomputed by an independent referee; a model whose "
        "claim does not hold is not saved (exit code 1)",
    )
    parser.add_argument("-o", "--out", required=True, metavar="MODEL")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Fit and save."""
    import numpy as np

    out = check_output(args.out, args.force)
    from krein.cli.problem import check_methods, load_problem
    from krein.comparison.evaluation import fit_method
    from krein.comparison.methods import select_methods
    from krein.progress import progress_bar

    check_methods(args.method)
    settings = read_settings(args.method, args.set)
    problem, read = load_problem(args)
    select_methods([args.method], has_vectors=problem.vectors is not None)
    _warn_if_diagonal(args, problem)
    label = f"fitting {args.method} on {problem.codes.size} items"
    with progress_bar(label, 0, unit="", show=not args.quiet):
        model = fit_method(problem, args.method, params=settings or None)
        model = with_probabilities(model, problem) if args.proba else model
    checked = _checked(model, problem) if args.check else {}
    right = model.predict(training_data(problem)) == labels_of(problem)
    model = save_named(model, out, read, problem)
    return {
        "model": str(out),
        "estimator": describe_model(model),
        "items": int(problem.codes.size),
        "classes": [str(label) for label in problem.classes],
        "training_accuracy": float(np.mean(right)),
        **checked,
    }


def _checked(model: Any, problem: Any) -> dict[str, Any]:
    """Have the referee judge the model before it is saved."""
    from krein import check_certificate

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


def read_settings(method: str, pairs: list[str]) -> dict[str, Any]:
    """Read hyperparameters by the types that the estimator declares."""
    import krein
    from krein.cli.parameters import declared, parse_pairs
    from krein.comparison.methods import METHODS

    known = declared(getattr(krein, METHODS[method].estimator))
    fixed = {"kernel", "symmetrize", *METHODS[method].params}
    if METHODS[method].needs == "similarity":  # --kernel and --param say it
        fixed.add("kernel_params")
    known = {name: p for name, p in known.items() if name not in fixed}
    return parse_pairs(pairs, known, option="--set", owner=f"method {method!r}")


def _warn_if_diagonal(args: argparse.Namespace, problem: Any) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    import numpy as np

    from krein.diagnostics.findings import Evidence, find

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
    """Return the labels of the training items."""
    return problem.classes[problem.codes]


def with_probabilities(model: Any, problem: Any) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    from sklearn.base import clone

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
    import numpy as np

    from krein import save_model
    from krein.cli.hits import with_rule

    if read.rule is not None:
        model = with_rule(model, read.rule, labels_of(problem))
    if read.names is not None:
        model.item_names_ = list(read.names)
    model.item_labels_ = [str(label) for label in labels_of(problem)]
    if problem.kernel is None and isinstance(problem.K, np.ndarray):
        model.item_range_ = np.array([problem.K.min(), problem.K.max()])
    save_model(model, path)
    return model


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    print(
        f"{payload['items']} items, classes {', '.join(payload['classes'])}, "
        f"training accuracy {payload['training_accuracy']:.3f}"
    )
    if "certificate" in payload:
        print(payload["certificate"]["text"])
