"""`compare`: every method on the same splits, in parallel, resumable.

Several kernels are compared on the same splits, each as if it were alone: the choice of
the similarity often decides more than what is done about its spectrum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse

import krein
from krein.comparison.comparison import Comparison
from krein.comparison.contenders import SPARSE, TASKS, Contender, select_contenders
from krein.comparison.evaluation import evaluate_split
from krein.comparison.problem import Problem, Split, make_problem, outer_splits
from krein.comparison.recommendation import LEVEL, Recommendation, holm
from krein.kernels.registry import Kernel, as_kernel
from krein.store.files import RecordStore
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import shared_work
from krein.threads import in_job, threads_of_job
from krein.validation import is_continuous
from krein.words import did_you_mean, import_optional

__all__ = ["KernelComparison", "compare"]

Progress = Callable[[int, int, str], None]
# Further keyword arguments of `compare`, which few calls need.
_OF_DATA = ("kernel_params", "symmetrize", "conversion")
_OF_RUN = ("cache", "progress", "random_state")


def compare(
    X: Any,
    y: Any,
    kernel: Any = "precomputed",
    methods: Any = None,
    *,
    cv: Any = None,
    scoring: str | None = None,
    groups: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Any:
    """Try all applicable methods on the same splits and say which to use.

    The hyperparameters of every method are chosen by cross-validation inside each
    training part; one eigendecomposition per fold serves all methods and all their
    candidates. Differences are judged by tests that allow for overlapping training sets
    and for the number of methods, and "no clear winner" is a possible answer.

    Parameters
    ----------
    X : array-like of shape (n, n), or items
        Similarities for ``kernel="precomputed"``, otherwise vectors or objects.
    y : array-like of shape (n,)
        Class labels; numbers of many different values are a regression, judged by R^2
        against k nearest neighbours, KernelRidge and the mean.
    kernel : "precomputed", str, Kernel or callable, or a list of them
        The similarity to be judged, or several on the same splits. Settings that
        depend on data (such as ``gamma="median"``) are computed on each training part.
    methods : list of str, optional
        Names of `krein.list_methods`; by default all that apply.
    cv : int, splitter or iterable of (train, test), optional
        Default: two times five stratified folds.
    scoring : {"accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc"}, optional
        The score that chooses hyperparameters and decides (default: accuracy); all
        four are reported. For a regression "r2" (default) or
        "neg_mean_absolute_error".
    groups : array-like of shape (n,), optional
        Items of a group stay on one side of every split.
    n_jobs : int, optional
        Splits that run at the same time.
    **options
        ``kernel_params`` (dict, or list of dicts): parameters of a kernel given by
        name. Several, such as
        ``list(sklearn.model_selection.ParameterGrid({"window": [0.05, 0.1]}))``, are
        compared as several kernels; a distance that they share is computed once.
        ``symmetrize`` (bool): use (K + K') / 2 instead of refusing an asymmetric
        matrix. ``conversion`` (DistanceTransformer): X holds distances, which this
        turns into similarities, settled on each training part. ``cache`` (path):
        folder for finished results, one file per method and split; a comparison that
        was interrupted goes on from there. ``progress`` (callable): called as
        ``progress(done, total, what)``. ``random_state`` (int): seed of the splits.

    Returns
    -------
    Comparison
        For a list of kernels a `KernelComparison`.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import compare, sigmoid_kernel
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> comparison = compare(sigmoid_kernel(X), X[:, 0] > 0, methods=["svc", "flip"])
    >>> sorted(comparison.methods)
    ['flip', 'svc']
    """
    for name in options:
        if name not in _OF_DATA + _OF_RUN:
            near = did_you_mean(name, _OF_DATA + _OF_RUN)
            raise TypeError(f"compare has no argument {name!r}{near}")
    data = {name: options.pop(name) for name in _OF_DATA if name in options}
    settings = options | {"cv": cv, "scoring": scoring, "n_jobs": n_jobs}
    task = "regression" if is_continuous(y) else "classification"
    data |= {"groups": groups, "task": task}
    params = data.get("kernel_params")
    if not isinstance(kernel, list | tuple) and not isinstance(params, list | tuple):
        return compare_problem(make_problem(X, y, kernel, **data), methods, **settings)
    kernels = _all_kernels(kernel, data.pop("kernel_params", None))
    with shared_work():  # one distance may serve several kernels
        problems = {name: make_problem(X, y, k, **data) for name, k in kernels.items()}
    return KernelComparison(
        {k: compare_problem(made, methods, **settings) for k, made in problems.items()}
    )


def _all_kernels(kernels: Any, kernel_params: Any) -> dict[str, Any]:
    """Kernels of a list, or one kernel with several sets of parameters, by name."""
    if isinstance(kernels, list | tuple) and kernel_params:
        raise ValueError(
            "kernel_params belongs to one kernel; in a list write "
            "krein.Kernel(name, **parameters) for a kernel with parameters"
        )
    if not isinstance(kernels, list | tuple):
        kernels = [as_kernel(kernels, params) for params in kernel_params]
    if not kernels:
        raise ValueError("kernel or kernel_params is an empty list; give one or more")
    names = [
        k if isinstance(k, str) else getattr(k, "__name__", repr(k)) for k in kernels
    ]
    if len(set(names)) < len(names):
        raise ValueError(f"the list of kernels names one twice: {', '.join(names)}")
    return dict(zip(names, kernels, strict=True))


def compare_problem(
    problem: Problem,
    methods: Any = None,
    *,
    cv: Any = None,
    scoring: str | None = None,
    n_jobs: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare on data that are checked already; arguments as in `compare`."""
    scorings = TASKS[problem.task].scorings
    scoring = scoring or scorings[0]
    if scoring not in scorings:
        known = ", ".join(scorings)
        raise ValueError(f"scoring must be one of {known}, got {scoring!r}")
    if methods is None and scipy.sparse.issparse(problem.K):
        methods = SPARSE
    counts = np.bincount(problem.codes) if problem.classes.size else ()
    chosen = select_contenders(methods, task=problem.task, counts=counts)
    similarities = None if problem.conversion is not None else problem.K
    splits = outer_splits(problem.codes, cv, problem.groups, random_state, similarities)
    records = _run(problem, chosen, splits, scoring, cache, n_jobs, progress)
    names = tuple(method.name for method in chosen)
    return Comparison(
        tuple(records), names, scoring, problem, tuple(splits), random_state
    )


# ----------------------------------------------------------------- running, resuming


def _run(
    problem: Problem,
    methods: Sequence[Contender],
    splits: Sequence[Split],
    scoring: str,
    cache: str | Path | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Return all records, in the order of splits and methods.

    Those of an earlier run are taken from the cache, where there is one.
    """
    pairs = [(s, method) for s in range(len(splits)) for method in methods]
    found: dict[tuple[int, str], dict[str, Any]] = {}
    if cache is not None:
        store, data = RecordStore(cache), _fingerprint(problem, scoring)
        keys = {(s, m.name): fingerprint(data, m, *splits[s]) for s, m in pairs}
        kept = {at: store.read(f"{at[1]}-{key}", key) for at, key in keys.items()}
        found = {at: record for at, record in kept.items() if record is not None}
    # One split is one task: its eigendecompositions serve all of its methods.
    left = dict.fromkeys(s for s, m in pairs if (s, m.name) not in found)
    missing = {s: [m for m in methods if (s, m.name) not in found] for s in left}
    limit = threads_of_job(n_jobs, problem.codes.size)
    tasks = (
        joblib.delayed(in_job)(limit, evaluate_split, problem, some, splits[s], scoring)
        for s, some in missing.items()
    )
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    for (s, some), records in zip(missing.items(), parallel(tasks), strict=True):
        for method, record in zip(some, records, strict=True):
            found[s, method.name] = record
            if cache is not None:
                key = keys[s, method.name]
                store.write(f"{method.name}-{key}", key, record)
        if progress is not None:
            progress(len(found), len(pairs), f"{s + 1} of {len(splits)} splits done")
    return [{**found[s, m.name], "split": s} for s, m in pairs]


def _fingerprint(problem: Problem, scoring: str) -> str:
    """Of all that a record is computed from, beside the method and the split."""
    matrix = problem.on(problem.everything) if problem.K is None else problem.K
    groups = None if problem.groups is None else [str(g) for g in problem.groups]
    kernel = repr(problem.kernel) if isinstance(problem.kernel, Kernel) else None
    about = (krein.__version__, problem.task, scoring, groups, kernel)
    return fingerprint(*about, matrix, problem.codes, repr(problem.conversion))


# ---------------------------------------------------------------------- several kernels


@dataclass(frozen=True)
class KernelComparison:
    """Comparisons of several kernels on the same splits.

    Attributes
    ----------
    comparisons : dict of str to Comparison
        By kernel, in the order given.

    Examples
    --------
    >>> from krein import compare
    >>> words = ["kernel", "kernels", "colonel", "krein", "krien", "kreins"] * 2
    >>> y = ["k", "k", "k", "r", "r", "r"] * 2
    >>> found = compare(words, y, ["edit", "jaro_winkler"], ["clip"], cv=2)
    >>> sorted(found.comparisons), len(found.table())
    (['edit', 'jaro_winkler'], 2)
    """

    comparisons: dict[str, Comparison]

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The method that is recommended for each kernel."""
        return {k: found.recommendation.method for k, found in self.comparisons.items()}

    @cached_property
    def ranking(self) -> list[str]:
        """Kernels, the highest mean of their recommended methods first."""
        mean = {k: self.comparisons[k].mean(m) for k, m in self.chosen.items()}
        return sorted(mean, key=lambda kernel: -mean[kernel])

    @property
    def best(self) -> tuple[str, str]:
        """Kernel and method of the highest mean among the recommended ones."""
        return self.ranking[0], self.chosen[self.ranking[0]]

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of all comparisons, each with its kernel, best first."""
        rows = [
            {"kernel": kernel, **row}
            for kernel, comparison in self.comparisons.items()
            for row in comparison.table()
        ]
        column = self.comparisons[self.ranking[0]].deciding
        return sorted(rows, key=lambda row: -column.sign * row[column.key])

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which kernel and method to use, in words."""
        kernel, method = self.best
        comparison, others = self.comparisons[kernel], self.ranking[1:]
        if not others or not comparison.recommendation.useful:
            return comparison.recommendation
        compared = {o: (self.chosen[o], self.comparisons[o]) for o in others}
        adjusted = holm([comparison.p_value(method, *o) for o in compared.values()])
        p_values = dict(zip(others, adjusted, strict=True))
        against = ", ".join(
            f"{other} {found.shown(m)} (p = {p_values[other]:.2g})"
            for other, (m, found) in compared.items()
        )
        text = (
            f"Use {kernel} with {comparison.title(method)}: "
            f"{comparison.shown_mean(method)} over {len(comparison.splits)} splits, "
            f"against {against}."
        )
        equals = [other for other in others if p_values[other] > LEVEL]
        if equals:
            text += f" These data cannot tell it from {', '.join(equals)}."
        return Recommendation(method, not equals, (kernel, *equals), text)

    def fit_best(self) -> Any:
        """Fit the recommended method with the recommended kernel on all items.

        Returns
        -------
        estimator
        """
        kernel, method = self.best
        return self.comparisons[kernel].fit_best(method)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by kernel and method.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = import_optional("pandas", extra=None, needed_for="to_frame()")
        return pandas.DataFrame(self.table()).set_index(["kernel", "method"])

    def __str__(self) -> str:
        parts = [f"{name}:\n{found}" for name, found in self.comparisons.items()]
        return "\n\n".join([*parts, self.recommendation.text])
