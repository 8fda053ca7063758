"""`compare`: every method on the same splits, in parallel, resumable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import joblib
import numpy as np
import scipy.sparse

import krein
from krein.comparison.comparison import Comparison
from krein.comparison.evaluation import evaluate_split
from krein.comparison.kernels import KernelComparison
from krein.comparison.methods import SPARSE, TASKS, Method, select_methods
from krein.comparison.problem import Problem, Split, make_problem, outer_splits
from krein.kernels.registry import Kernel, as_kernel
from krein.store.files import RecordStore
from krein.store.sharing import fingerprint, shared_work
from krein.validation import is_continuous
from krein.words import did_you_mean

__all__ = ["Options", "compare"]

Progress = Callable[[int, int, str], None]


class Options(TypedDict, total=False):
    """Further keyword arguments of `compare`, which few calls need."""

    kernel_params: Any
    symmetrize: bool
    conversion: Any
    cache: str | Path | None
    progress: Progress | None
    random_state: int


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
    **options: Unpack[Options],
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
        if name not in Options.__annotations__:
            near = did_you_mean(name, Options.__annotations__)
            raise TypeError(f"compare has no argument {name!r}{near}")
    settings: dict[str, Any] = {"cv": cv, "scoring": scoring, "n_jobs": n_jobs}
    data: dict[str, Any] = {"groups": groups}
    for name, value in options.items():
        part = settings if name in ("cache", "progress", "random_state") else data
        part[name] = value
    data["task"] = "regression" if is_continuous(y) else "classification"
    params = data.get("kernel_params")
    if not isinstance(kernel, list | tuple) and not isinstance(params, list | tuple):
        return compare_problem(make_problem(X, y, kernel, **data), methods, **settings)
    kernels = _all_kernels(kernel, data.pop("kernel_params", None))
    with shared_work():  # one distance may serve several kernels
        problems = {_kernel_name(k): make_problem(X, y, k, **data) for k in kernels}
    return KernelComparison(
        {k: compare_problem(made, methods, **settings) for k, made in problems.items()}
    )


def _all_kernels(kernels: Any, kernel_params: Any) -> list[Any]:
    """Kernels of a list, or one kernel with several sets of parameters."""
    if isinstance(kernels, list | tuple):
        if not kernels:
            raise ValueError("kernel is an empty list; give one kernel or more")
        if kernel_params:
            raise ValueError(
                "kernel_params belongs to one kernel; in a list write "
                "krein.Kernel(name, **parameters) for a kernel with parameters"
            )
        found = list(kernels)
    else:
        if not kernel_params:
            raise ValueError("kernel_params is an empty list; give one dict or more")
        found = [as_kernel(kernels, params) for params in kernel_params]
    names = [_kernel_name(kernel) for kernel in found]
    if len(set(names)) < len(names):
        raise ValueError(f"the list of kernels names one twice: {', '.join(names)}")
    return found


def _kernel_name(kernel: Any) -> str:
    if isinstance(kernel, str):
        return kernel
    if isinstance(kernel, Kernel):
        return repr(kernel)
    return getattr(kernel, "__name__", type(kernel).__name__)


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
        raise ValueError(
            f"scoring must be one of {', '.join(scorings)}, got {scoring!r}"
        )
    if methods is None and scipy.sparse.issparse(problem.K):
        methods = SPARSE
    chosen = select_methods(
        methods,
        has_vectors=problem.vectors is not None,
        task=problem.task,
        counts=np.bincount(problem.codes) if problem.classes.size else (),
    )
    similarities = None if problem.conversion is not None else problem.K
    splits = outer_splits(problem.codes, cv, problem.groups, random_state, similarities)
    kept = _Cache(cache, problem, scoring)
    records = _run(problem, chosen, splits, scoring, kept, n_jobs, progress)
    return Comparison(
        records=tuple(records),
        methods=tuple(method.name for method in chosen),
        scoring=scoring,
        problem=problem,
        splits=tuple(splits),
        random_state=random_state,
    )


# ----------------------------------------------------------------- running, resuming


def _run(
    problem: Problem,
    methods: Sequence[Method],
    splits: Sequence[Split],
    scoring: str,
    kept: _Cache,
    n_jobs: int | None,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Return all records, in the order of splits and methods."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    open_tasks = []
    for s, split in enumerate(splits):
        missing = []
        for method in methods:
            record = kept.read(method, split)
            if record is None:
                missing.append(method)
            else:
                found[s, method.name] = record
        if missing:
            open_tasks.append((s, missing))
    total = len(splits) * len(methods)
    # One split is one task: its eigendecompositions serve all of its methods.
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    tasks = (
        joblib.delayed(_one_split)(problem, missing, splits[s], scoring)
        for s, missing in open_tasks
    )
    for (s, missing), records in zip(open_tasks, parallel(tasks), strict=True):
        for method, record in zip(missing, records, strict=True):
            found[s, method.name] = kept.write(method, splits[s], record)
        if progress is not None:
            progress(len(found), total, f"{s + 1} of {len(splits)} splits done")
    return [
        {**found[s, method.name], "split": s}
        for s in range(len(splits))
        for method in methods
    ]


def _one_split(
    problem: Problem, methods: Sequence[Method], split: Split, scoring: str
) -> list[dict[str, Any]]:
    return list(evaluate_split(problem, methods, split, scoring))


class _Cache:
    """Finished records on disk, one per method and split, or nowhere.

    The key of a record has all that it was computed from: the version, the data, the
    split and the method.
    """

    def __init__(
        self, folder: str | Path | None, problem: Problem, scoring: str
    ) -> None:
        self._store = None if folder is None else RecordStore(folder)
        if self._store is None:
            return
        matrix = problem.K
        if matrix is None:
            matrix = problem.on(problem.everything)
        self._inputs: dict[str, Any] = {
            "similarity": matrix,
            "vectors": problem.vectors,
        }
        self._data = fingerprint(
            krein.__version__, problem.task, scoring,
            matrix, problem.codes, problem.vectors,
            None if problem.groups is None else [str(g) for g in problem.groups],
            repr(problem.conversion),
            repr(problem.kernel) if isinstance(problem.kernel, Kernel) else None,
        )  # fmt: skip
        self._methods: dict[str, str] = {}

    def _key(self, method: Method, split: Split) -> str:
        if method.name not in self._methods:
            self._methods[method.name] = fingerprint(
                method.name,
                method.estimator,
                method.params,
                None
                if method.grid is None
                else method.grid(self._inputs[method.needs]),
            )
        return fingerprint(self._data, self._methods[method.name], *split)

    def read(self, method: Method, split: Split) -> dict[str, Any] | None:
        """Return the record, or None if it is not there, not whole or edited."""
        if self._store is None:
            return None
        key = self._key(method, split)
        return self._store.read(f"{method.name}-{key}", key)

    def write(self, method: Method, split: Split, record: dict[str, Any]) -> dict:
        """Keep the record and return it."""
        if self._store is not None:
            key = self._key(method, split)
            self._store.write(f"{method.name}-{key}", key, record)
        return record
