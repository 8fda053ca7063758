"""``krein fit``: one method on all items, saved as a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from krein.cli import Options, console, learning
from krein.cli.console import Inputs, check_output, last_step, print_note
from krein.cli.saving import save_fitted
from krein.comparison.contenders import TASKS
from krein.comparison.evaluation import fit_method
from krein.comparison.problem import Problem
from krein.diagnostics.findings import Evidence, spread
from krein.words import progress_bar, warn_user


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
        if args.proba:
            model = _with_probabilities(model, problem, name)
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
    usual = "profiles" if read.rule is not None else "similarity"
    if args.set and read.task == "classification":
        usual = "krein"  # the similarity model chooses its settings by itself
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
    parameters = method.build().get_params(deep=False)
    free = [parameter for parameter in parameters if parameter not in fixed]
    return learning.parse_pairs(pairs, free, option="--set", owner=f"method {name!r}")


def _warn_if_diagonal(args: Options, problem: Problem) -> None:
    """Say before the fit that a kernel is nearly the identity."""
    K = problem.on(problem.everything)
    if not isinstance(K, np.ndarray):
        return  # of hits most pairs are absent, as they should
    for finding in spread(Evidence(K, K)):
        if finding.key.startswith("nearly-"):
            print_note(args, finding.text)


def _with_probabilities(model: Any, problem: Problem, name: str) -> Any:
    """Fit again with the same hyperparameters, and probabilities."""
    if hasattr(model, "predict_proba"):
        return model
    again = clone(model)
    last = last_step(again)
    if "probability" not in last.get_params():
        raise ValueError(f"no --proba for {type(last).__name__}: try another --method")
    last.set_params(probability=True)
    contender = TASKS[problem.task].methods[name]
    data = _training_data(model, problem)
    return contender.fit(again, data, problem.labels, problem.target)


def _training_data(model: Any, problem: Problem) -> Any:
    if not console.takes_matrix(model):
        return problem.items
    if problem.kernel is None:
        return problem.K
    return problem.on(problem.everything)


def _training_score(model: Any, problem: Problem) -> dict[str, Any]:
    """How well the training items are recognised, beside what costs nothing."""
    score = float(model.score(_training_data(model, problem), problem.labels))
    if problem.task == "regression":
        return {"training_r2": score}
    largest = float(np.bincount(problem.codes).max() / problem.codes.size)
    if score <= largest:
        warn_user(
            f"nothing was learnt: {score:.3f} of the training items are recognised, "
            f"and the largest class has {largest:.3f} of them"
        )
    return {"training_accuracy": score}


def show_fit(payload: dict[str, Any], args: Options) -> None:
    """Print what was fitted."""
    print(f"{payload['model']}: {payload['estimator']}")
    facts = [f"{payload['items']} items"]
    if payload["classes"]:
        facts.append(f"classes {', '.join(payload['classes'])}")
    for name, value in payload.items():
        if name.startswith("training_"):
            facts.append(f"{name.replace('_', ' ')} {value:.3f}")
    print(", ".join(facts))
