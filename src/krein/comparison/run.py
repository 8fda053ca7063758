"""`compare`: every method on the same splits, in parallel, resumable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse

import krein
from krein.comparison.columns import SCORES
from krein.comparison.comparison import Comparison
from krein.comparison.evaluation import evaluate_split
from krein.comparison.kernels import KernelComparison
from krein.comparison.methods import SPARSE, Method, select_methods
from krein.comparison.problem import Problem, make_problem
from krein.comparison.splits import Split, outer_splits
from krein.comparison.tasks import compare_task, task_problem
from krein.kernels.registry import Kernel, as_kernel
from krein.store.fingerprint import fingerprint
from krein.store.records import RecordStore
from krein.store.sharing import shared_work
from krein.validation import is_continuous

__all__ = ["compare"]

Progress = Callable[[int, int, str], None]


def compare(
    X: Any,
    y: Any,
    kernel: Any = "precomputed",
    methods: Any = None,
    *,
    cv: Any = None,
    scoring: str = "accuracy",
    groups: Any = None,
    n_jobs: int | None = None,
    kernel_params: Any = None,
    symmetrize: bool = False,
    conversion: Any = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> Any:
    """Try all applicable methods on the same splits and say which to use.

    Every method gets its hyperparameters by cross-validation inside of each training
    part; one eigendecomposition per fold serves all methods and all their candidates.
    Differences are judged by the corrected resampled t-test, and "no clear winner" is
    a possible answer.

    Parameters
    ----------
    X : array-like of shape (n, n), or items
        Similarities for ``kernel="precomputed"``, otherwise vectors or objects.
    y : array-like of shape (n,)
        Class labels; numbers of many different values are a regression, judged by R^2
        against k nearest neighbours, KernelRidge and the mean.
    kernel : "precomputed", str, Kernel or callable, or a list of them
        The similarity to be judged, or several on the same splits. Settings that
        depend on data (such as ``gamma="median"``) are settled on each training part.
    methods : list of str, optional
        Names of `krein.list_methods`; by default all that apply.
    cv : int, splitter or iterable of (train, test), optional
        Default: two times five stratified folds.
    scoring : {"accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc"}
        What chooses hyperparameters and decides; all four are reported.
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
        training part.
    cache : str or Path, optional
        Folder for finished results, one file per method and split; a comparison that
        was interrupted goes on from there.
    progress : callable, optional
        Called as ``progress(done, total, what)``.
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
    if isinstance(kernel, list | tuple) or isinstance(kernel_params, list | tuple):
        return _compare_kernels(
            X,
            y,
            kernel,
            kernel_params,
            methods=methods,
            cv=cv,
            scoring=scoring,
            groups=groups,
            n_jobs=n_jobs,
            symmetrize=symmetrize,
            cache=cache,
            progress=progress,
            random_state=random_state,
        )
    if is_continuous(y):
        how = {"kernel": kernel, "kernel_params": kernel_params, "groups": groups}
        how |= {"symmetrize": symmetrize, "conversion": conversion}
        numbers = task_problem(X, y, "regression", **how)
        given = {"cv": cv, "scoring": scoring, "progress": progress}
        return compare_task(
            numbers, "regression", methods, **given, random_state=random_state
        )
    problem = make_problem(X, y, kernel, kernel_params, groups, symmetrize, conversion)
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


def _compare_kernels(
    X: Any, y: Any, kernels: Any, kernel_params: Any, **settings: Any
) -> KernelComparison:
    """Compare each kernel as if it were alone, on the same splits."""
    kernels = _all_kernels(kernels, kernel_params)
    with shared_work():  # one distance may serve several kernels
        problems = {
            _kernel_name(kernel): make_problem(
                X,
                y,
                kernel,
                groups=settings["groups"],
                symmetrize=settings["symmetrize"],
            )
            for kernel in kernels
        }
    rest = {k: v for k, v in settings.items() if k not in ("groups", "symmetrize")}
    return compare_kernels(problems, **rest)


def compare_kernels(problems: Mapping[str, Problem], **settings: Any) -> Any:
    """Compare problems of the same items, by the name of their kernel."""
    return KernelComparison(
        {
            name: compare_problem(problem, **settings)
            for name, problem in problems.items()
        }
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
    scoring: str = "accuracy",
    n_jobs: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare on data that are checked already; arguments as in `compare`."""
    if scoring not in SCORES:
        raise ValueError(f"scoring must be one of {', '.join(SCORES)}, got {scoring!r}")
    if methods is None and scipy.sparse.issparse(problem.K):
        methods = SPARSE
    chosen = select_methods(methods, has_vectors=problem.vectors is not None)
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
            matrix = problem.on(np.arange(problem.codes.size))
        self._inputs: dict[str, Any] = {
            "similarity": matrix,
            "vectors": problem.vectors,
        }
        self._data = fingerprint(
            krein.__version__, scoring, matrix, problem.codes, problem.vectors,
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
