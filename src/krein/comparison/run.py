"""`compare`: every method on the same splits, in parallel, resumable.

Several kernels are compared on the same splits, each as if it were alone: the choice of
the similarity often decides more than what is done about its spectrum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import scipy.sparse

import krein
from krein.arrays import as_square
from krein.comparison.comparison import Comparison
from krein.comparison.contender import Contender
from krein.comparison.contenders import TASKS, select_contenders
from krein.comparison.estimate import Progress, watched
from krein.comparison.evaluation import evaluate_split
from krein.comparison.kernel_comparison import KernelComparison
from krein.comparison.problem import Problem, make_problem
from krein.kernels.registry import Kernel, as_kernel
from krein.numbers_or_classes import is_continuous
from krein.selection.folds import Fold, outer_splits
from krein.store.files import RecordStore
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import shared_work
from krein.threads import in_job, threads_of_job

__all__ = ["KernelComparison", "compare"]


def compare(
    X: Any,
    y: Any,
    kernel: Any = "precomputed",
    methods: str | Sequence[str] | None = None,
    *,
    kind: Literal["similarity", "distance"] = "similarity",
    cv: Any = None,
    scoring: str | None = None,
    groups: Any = None,
    n_jobs: int | None = None,
    kernel_params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    symmetrize: bool = False,
    conversion: Any = None,
    cache: str | Path | None = None,
    progress: Progress | bool | None = None,
    random_state: int = 0,
) -> Comparison | KernelComparison:
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
        Class labels; numbers of many different values are a regression, judged by R²
        against k nearest neighbours, KernelRidge and the mean.
    kernel : "precomputed", str, Kernel or callable, or a list of them
        The similarity to be judged, or several on the same splits. Settings that
        depend on data (such as ``gamma="median"``) are computed on each training part.
    methods : list of str, optional
        Names of `krein.list_methods`; by default all that apply.
    kind : {"similarity", "distance"}
        What a precomputed matrix holds. Distances are turned into similarities by
        ``DistanceTransformer()``, settled on each training part.
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
    kernel_params : dict, or list of dicts, optional
        Parameters of a kernel given by name. Several, such as
        ``list(sklearn.model_selection.ParameterGrid({"window": [0.05, 0.1]}))``, are
        compared as several kernels; a distance that they share is computed once.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric matrix.
    conversion : DistanceTransformer, optional
        X holds distances, which this turns into similarities, settled on each
        training part: another conversion than that of ``kind="distance"``.
    cache : path, optional
        Folder for finished results, one file per method and split; a comparison that
        was interrupted goes on from there.
    progress : callable or bool, optional
        Called as ``progress(done, total, what)``. By default a line with the time left
        on a terminal and in notebooks, nothing in a pipe; what takes more than half a
        minute says so after the first split. False: silent.
    random_state : int
        Seed of the splits.

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
    if kind == "distance":
        X = as_square(X)
    problem_of = partial(
        make_problem,
        X,
        y,
        groups=groups,
        symmetrize=symmetrize,
        conversion=_conversion_of(kind, conversion, kernel),
        task="regression" if is_continuous(y) else "classification",
    )

    def run(problem: Problem) -> Comparison:
        return compare_problem(
            problem,
            methods,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            cache=cache,
            progress=progress,
            random_state=random_state,
        )

    if not isinstance(kernel, list | tuple):
        if kernel_params is None or isinstance(kernel_params, Mapping):
            return run(problem_of(kernel=kernel, kernel_params=kernel_params))
    problems = {}
    with shared_work():  # one distance may serve several kernels
        for name, one in _all_kernels(kernel, kernel_params).items():
            problems[name] = problem_of(kernel=one)
    return KernelComparison({name: run(problem) for name, problem in problems.items()})


def _conversion_of(kind: str, conversion: Any, kernel: Any) -> Any:
    """What turns distances into similarities; None where X has none."""
    if kind not in ("similarity", "distance"):
        raise ValueError(f"kind must be 'similarity' or 'distance', got {kind!r}")
    if kind == "similarity" or conversion is not None:
        return conversion
    if not (isinstance(kernel, str) and kernel == "precomputed"):
        raise ValueError(
            "kind='distance' is for a matrix of distances (kernel='precomputed'), but "
            f"kernel={kernel!r} was given; leave kind out: a kernel computes "
            "similarities of items"
        )
    return krein.DistanceTransformer()


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
    progress: Progress | bool | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare on data that are checked already; arguments as in `compare`."""
    scorings = TASKS[problem.task].scorings
    scoring = scoring or scorings[0]
    if scoring not in scorings:
        known = ", ".join(scorings)
        raise ValueError(f"scoring must be one of {known}, got {scoring!r}")
    chosen = select_contenders(
        methods,
        task=problem.task,
        counts=np.bincount(problem.codes) if problem.classes.size else (),
        sparse=scipy.sparse.issparse(problem.K),
        n=problem.target.size,
    )
    similarities = None if problem.conversion is not None else problem.K
    splits = outer_splits(
        problem.target, cv, problem.groups, random_state, similarities
    )
    with watched(
        progress,
        n=problem.codes.size,
        n_splits=len(splits),
        n_contenders=len(chosen),
        n_jobs=n_jobs,
        dense=not scipy.sparse.issparse(problem.K),
    ) as tell:
        records = _run(problem, chosen, splits, scoring, cache, n_jobs, tell)
    names = tuple(method.name for method in chosen)
    return Comparison(
        tuple(records), names, scoring, problem, tuple(splits), random_state
    )


# ----------------------------------------------------------------- running, resuming


def _run(
    problem: Problem,
    methods: Sequence[Contender],
    splits: Sequence[Fold],
    scoring: str,
    cache: str | Path | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Return all records, in the order of splits and methods.

    Those of an earlier run are taken from the cache, where there is one.
    """
    pairs = [(s, method) for s in range(len(splits)) for method in methods]
    kept = None if cache is None else _Cache(cache, problem, scoring, splits)
    found: dict[tuple[int, str], dict[str, Any]] = {}
    # One split is one task: its eigendecompositions serve all of its methods.
    missing: dict[int, list[Contender]] = {}
    for s, method in pairs:
        record = None if kept is None else kept.read(s, method)
        if record is None:
            missing.setdefault(s, []).append(method)
        else:
            found[s, method.name] = record
    limit = threads_of_job(n_jobs, problem.codes.size)
    tasks = (
        joblib.delayed(in_job)(limit, evaluate_split, problem, some, splits[s], scoring)
        for s, some in missing.items()
    )
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    for (s, some), records in zip(missing.items(), parallel(tasks), strict=True):
        for method, record in zip(some, records, strict=True):
            found[s, method.name] = record
            if kept is not None:
                kept.write(s, method, record)
        if progress is not None:
            progress(len(found), len(pairs), f"{s + 1} of {len(splits)} splits done")
    return [{**found[s, method.name], "split": s} for s, method in pairs]


class _Cache:
    """Records of earlier runs, by a fingerprint of all that they are computed from."""

    def __init__(
        self, folder: str | Path, problem: Problem, scoring: str, splits: Sequence[Fold]
    ) -> None:
        self.store = RecordStore(folder)
        self.data = _fingerprint(problem, scoring)
        self.splits = splits

    def _key(self, split: int, method: Contender) -> str:
        return fingerprint(self.data, method, *self.splits[split])

    def read(self, split: int, method: Contender) -> dict[str, Any] | None:
        """Return the record of a method on a split, None where there is none."""
        key = self._key(split, method)
        return self.store.read(f"{method.name}-{key}", key)

    def write(self, split: int, method: Contender, record: dict[str, Any]) -> None:
        """Keep a record."""
        key = self._key(split, method)
        self.store.write(f"{method.name}-{key}", key, record)


def _fingerprint(problem: Problem, scoring: str) -> str:
    """Of all that a record is computed from, beside the method and the split."""
    matrix = problem.on(problem.everything) if problem.K is None else problem.K
    groups = None if problem.groups is None else [str(g) for g in problem.groups]
    kernel = repr(problem.kernel) if isinstance(problem.kernel, Kernel) else None
    about = (krein.__version__, problem.task, scoring, groups, kernel)
    return fingerprint(*about, matrix, problem.codes, repr(problem.conversion))
