"""``krein fit``: fit one method and save the model."""

from __future__ import annotations

import argparse
from typing import Any

from krein.cli.options import (
    add_input,
    add_kernel,
    add_output,
    check_output,
    load_problem,
    read_params,
)

SUMMARY = "fit one method on all items and save the model"
EXAMPLE = "krein fit similarities.csv --labels labels.csv --method flip -o model.krein"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_input(parser, labels=True)
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
    parser.add_argument("-o", "--out", required=True, metavar="MODEL")
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Fit and save."""
    import numpy as np

    out = check_output(args.out, args.force)
    from krein.comparison.evaluation import fit_method
    from krein.comparison.methods import select_methods

    problem, names = load_problem(args)
    select_methods([args.method], has_vectors=problem.vectors is not None)
    model = fit_method(problem, args.method, params=read_params(args.set) or None)
    save_named(model, out, names)
    data = problem.K if problem.kernel is None else problem.items
    right = model.predict(data) == problem.classes[problem.codes]
    return {
        "model": str(out),
        "estimator": repr(model),
        "items": int(problem.codes.size),
        "classes": [str(label) for label in problem.classes],
        "training_accuracy": float(np.mean(right)),
    }


def save_named(model: Any, path: Any, names: list[str] | None) -> None:
    """Save the model with the names of its training items, for `krein predict`."""
    from krein import save_model

    if names is not None:
        model.item_names_ = list(names)
    save_model(model, path)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    print(
        f"{payload['items']} items, classes {', '.join(payload['classes'])}, "
        f"training accuracy {payload['training_accuracy']:.3f}"
    )
