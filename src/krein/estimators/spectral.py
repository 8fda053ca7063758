"""The SVM on a similarity whose spectrum is made positive, row by row.

`svm_rows` solves the rows of every SVM on a fixed kernel; `SpectrumSVC` is the plain
one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from krein.arrays import Array
from krein.declarations import declares_parameters
from krein.estimators._tasks import KernelClassifier
from krein.machines.box import BalancedBox
from krein.machines.compact_rows import BoxRows
from krein.machines.libsvm import loosely_after, refuse_options, solve_dual
from krein.machines.sparse_svm import sparse_svm_dual, sparse_svm_path
from krein.machines.svm_dual import SVMDual, svm_path, width_of
from krein.machines.svm_rows import MOST_BOUNDED, rows_with_few_bounds
from krein.machines.tall_svm import linear_svm
from krein.result import Result
from krein.selection.search import CS, along
from krein.similarity.tiles import TiledMatrix
from krein.spectrum.fixed_kernel import FixedKernel, unit_of
from krein.training import Classes, FittedRows, Row, Training

# A search forms no kernel of a similarity that stores fewer of its entries than this:
# 52 classes of 1600 items take an eighth of the time, and are nearer to their optimum.
_SPARSE = 0.02


class Loosely(NamedTuple):
    """How well LIBSVM solves machines that are only ranked."""

    tol: float  # units of the margin
    steps: int  # per sample


# For the C of one method, whose error it leaves as it is on 57 similarities.
ONE_METHOD = Loosely(tol=1e-2, steps=30)
# For many settings, of which several are averaged.
MANY_SETTINGS = Loosely(tol=1e-1, steps=1)
REGRESSION = Loosely(tol=1e-1, steps=3)


def votes_in_pairs(model: Any, target: Classes) -> bool:
    """Whether a model asks for one machine per pair of classes."""
    if model.multi_class == "ovr" or target.n == 2:
        return False
    if model.probability:
        raise ValueError(
            "multi_class='ovo' has no probabilities: its rows are not about one class. "
            "Use multi_class='ovr' with probability=True"
        )
    return True


def svm_rows(
    trained: FixedKernel,
    upper: Array,
    target: Classes,
    *,
    tol: float,
    max_iter: int,
    pairs: bool = False,
    starts: Sequence[Array | None] = (),
) -> list[Row]:
    """Solve all rows, in the way that suits the form of the kernel.

    `pairs` asks for one row per pair of classes, on their items. `starts` are
    solutions of these rows for a smaller C, where they are known.
    """
    if trained.features is not None:
        if pairs:
            raise ValueError(
                "multi_class='ovo' and approximation= exclude each other; use 'ovr'"
            )
        return _landmark_rows(trained, upper, target, tol=tol, max_iter=max_iter)
    machines = list(target.machines(pairs))
    if trained.is_only_multiplied() and not pairs:
        Y = np.column_stack([signs for _, signs in machines])
        solved = sparse_svm_dual(
            trained, trained.norm(), upper, Y, tol=tol, max_iter=max_iter
        )
    else:
        width = 1.0
        if trained.features is None:  # once for all rows
            K, width = in_place(trained)
            trained = replace(trained, ready=K)
        solved = []
        for k, (items, signs) in enumerate(machines):
            plain = not pairs and trained.features is None and trained.psd
            if k == 1 and plain and _mostly_free(solved[0][0].x, upper):
                Y = np.column_stack([signs for _, signs in machines])
                found = rows_with_few_bounds(trained.kernel(), Y, upper * width)
                starts = [a if a is None else a / width for a in found]
            given: dict[str, Any] = {"n_rows": len(machines)}
            if k > 0 and plain:
                first = solved[0][0]
                given["loosely"] = loosely_after(first, upper, tol, len(machines))
            start = starts[k] if len(starts) else None
            if start is not None and _is_inside(start[items], upper[items]):
                given["start"] = start[items]
            box = BalancedBox(upper[items], signs)
            solve = _solver(_part(trained, items), box, given, items, width)
            solved.append(solve(tol=tol, max_iter=max_iter))
    V, alphas = np.zeros((2, upper.size, len(machines)))
    for k, ((items, signs), (result, _)) in enumerate(
        zip(machines, solved, strict=True)
    ):
        alphas[items, k] = result.x
        V[items, k] = signs * result.x
    coef = trained.to_raw(V)
    return [
        Row(
            coef[:, k], b,
            replace(with_slack(result, trained.slack, tol), x=alphas[:, k]),
            alphas[:, k],
        )
        for k, (result, b) in enumerate(solved)
    ]  # fmt: skip


def in_place(trained: FixedKernel) -> tuple[Array, float]:
    """Kernel, divided by a power of two where that needs no second one; the divisor."""
    own = trained.is_own and trained.psd
    K = trained.kernel()
    width = width_of(float(np.diagonal(K).max(initial=0.0))) if own else 1.0
    if width != 1.0:
        K /= width
    return K, width


def _landmark_rows(
    trained: FixedKernel, upper: Array, target: Classes, *, tol: float, max_iter: int
) -> list[Row]:
    """Solve row by row, and keep of each what is not on its bounds.

    ``result.x`` holds the coefficients on the landmarks: n numbers for each class would
    be more than all else.
    """
    rows = []
    for signs in target.signs():
        box = BalancedBox(upper, signs)
        result, b = _solver(trained, box, {"n_rows": target.n_rows}, slice(None))(
            tol=tol, max_iter=max_iter
        )
        coef = trained.to_raw(signs * result.x)
        alpha = BoxRows.of(result.x, upper)
        rows.append(Row(coef, b, replace(result, x=coef), alpha))
    return rows


def _is_inside(a: Array, upper: Array) -> bool:
    return bool(np.all((a >= 0.0) & (a <= upper)))


def _mostly_free(a: Array, upper: Array) -> bool:
    return float(np.mean((a <= 0.0) | (a >= upper))) <= MOST_BOUNDED


def _part(trained: FixedKernel, items: np.ndarray | slice) -> FixedKernel:
    if isinstance(items, slice):
        return trained
    return replace(trained, ready=trained.kernel()[np.ix_(items, items)])


def _solver(
    trained: FixedKernel,
    domain: BalancedBox,
    options: dict[str, Any],
    items: np.ndarray | slice,
    width: float = 1.0,
) -> Callable[..., tuple[Result, float]]:
    """Solver of one row: LIBSVM where the kernel is formed, else on its features.

    `width` is what the formed kernel has been divided by.
    """
    if trained.features is None or trained.ready is not None:
        noise = trained.noise()
        if noise is not None:
            noise = noise[items]
        problem = SVMDual.classification(
            trained.kernel(), domain, psd=trained.psd, noise=noise
        )
        problem = replace(problem, divided=width)
        if isinstance(items, slice):
            problem = replace(problem, precise=trained.precise())
        return partial(solve_dual, problem, **options)
    return partial(linear_svm, cast(TiledMatrix, trained.features), domain)


def with_slack(result: Result, slack: float, tol: float) -> Result:
    """Gap for the kernel with `slack` added to its diagonal, which is psd for sure.

    The dual value falls by ``slack |a|^2 / 2``; the penalty of the primal grows by as
    much, and its losses do not grow, since every margin y f grows by slack a. For
    regression and one class alike.

    Parameters
    ----------
    result : Result
        Of a machine on a kernel with no eigenvalue below -slack.
    slack : float
    tol : float
        Relative gap that counts as solved.
    """
    if slack == 0.0:
        return result
    certificate = result.certificate
    more = slack * float(result.x @ result.x)
    relative = certificate.relative + more / max(abs(result.value), 1e-300)
    wider = replace(certificate, value=certificate.value + more, relative=relative)
    return result.certified(wider, tol)


def svm_grid(trained: FixedKernel, weight: Array | None) -> list[dict[str, float]]:
    """Candidates of C for a kernel, ascending."""
    unit = unit_of(trained, weight)
    return [{"C": C / unit} for C in CS]


def loosely(n: int, limits: Loosely = MANY_SETTINGS) -> dict[str, Any]:
    """Options of `svm_path` for n samples, for ranking settings only."""
    return {"tol": limits.tol, "max_iter": limits.steps * n}


def loose_machines(
    kernel: Array,
    target: Classes,
    Cs: Array,
    weight: Array | None,
    pairs: bool = False,
    limits: dict[str, Any] | None = None,
) -> tuple[Array, Array]:
    """Coefficients (n_C, n_rows, n) and intercepts (n_C, n_rows) for ascending C.

    For ranking candidates only, unless `limits`, as in `svm_path`, say more. The
    kernel has entries of order one.
    """
    rows = []
    limits = loosely(kernel.shape[0]) if limits is None else limits
    for items, signs in target.machines(pairs):
        part = kernel if isinstance(items, slice) else kernel[np.ix_(items, items)]
        w = None if weight is None else weight[items]
        coef, b = svm_path(part, signs, Cs, w, **limits)
        full = np.zeros((len(Cs), target.codes.size))
        full[:, items] = coef
        rows.append((full, b))
    coefs, intercepts = zip(*rows, strict=True)
    return np.stack(coefs, axis=1), np.stack(intercepts, axis=1)


def svm_candidates(
    trained: FixedKernel,
    training: Training,
    target: Classes,
    Cs: Sequence[float],
    pairs: bool = False,
) -> list[FittedRows]:
    """Models for several C on one kernel, in their order, for ranking only."""
    order = np.argsort(Cs, kind="stable")
    ascending = np.asarray(Cs, dtype=float)[order]
    if trained.is_only_multiplied(_SPARSE) and not pairs:
        Y = np.column_stack([signs for _, signs in target.machines()])
        uppers = [training.upper(C) for C in ascending]
        blocks, b = sparse_svm_path(trained, trained.norm(), uppers, Y)
        coef = [trained.to_raw(V) for V in blocks]
    else:
        unit = unit_of(trained, training.weight)
        V, b = loose_machines(  # type: ignore[assignment]
            trained.kernel() / unit, target, unit * ascending, training.weight, pairs,
            loosely(training.size, ONE_METHOD),
        )  # fmt: skip
        raw = trained.to_raw(V.reshape(-1, V.shape[-1]).T) / unit
        coef = np.split(raw, len(ascending), axis=1)
    found = [
        FittedRows([Row(c, float(one)) for c, one in zip(block.T, bs, strict=True)])
        for block, bs in zip(coef, b, strict=True)
    ]
    place = np.argsort(order)
    return [found[place[c]] for c in range(len(Cs))]


@declares_parameters
class FixedKernelSVC(KernelClassifier):
    """An SVM on a fixed kernel; a subclass says which, as `fixed_kernel`."""

    _: KW_ONLY
    C: float = 1.0
    probability: bool = False
    multi_class: str = "ovr"
    approximation: Any = None
    solver_options: dict | None = None

    def fixed_kernel(self, training: Training) -> FixedKernel:
        """Return the kernel to train on."""
        raise NotImplementedError("a subclass treats the kernel")

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit all rows on one fixed kernel; see `KernelModel.fit_rows`."""
        refuse_options(self.solver_options)
        rows = svm_rows(
            self.fixed_kernel(training),
            training.upper(self.C),
            target,
            tol=self.tol,
            max_iter=self.max_iter,
            pairs=votes_in_pairs(self, target),
        )
        return FittedRows(rows)

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """Values of C in units of the fixed kernel; see `KernelModel.grid`."""
        return svm_grid(self.fixed_kernel(training), training.weight)

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit all C on one fixed kernel; see `KernelModel.fit_path`."""

        def fit(others: dict, Cs: list[float]) -> list[FittedRows]:
            model = self.candidate(others)
            kernel = model.fixed_kernel(training)
            pairs = votes_in_pairs(model, target)
            return svm_candidates(kernel, training, target, Cs, pairs)

        return along(grid, "C", fit)


@declares_parameters
class SpectrumSVC(FixedKernelSVC):
    """SVM on a similarity whose spectrum is made positive, with mapped new rows.

    The training similarity is decomposed once, ``K0 = U diag(l) U'``; its eigenvalues
    are changed by `method`, LIBSVM is trained on the result, and the coefficients are
    moved back to the raw kernel, ``dual_coef_ = P (y * alpha)``. A new row of raw
    similarities is thereby mapped by the same linear map as the training rows; without
    it (raw test rows on a clipped model) the error on the protein similarities of Chen
    et al. (2009) is 39 % instead of 4 %.

    Parameters
    ----------
    method : {"clip", "flip", "shift", "square", "diffusion", "none"} \
or Fix
        What becomes of an eigenvalue l: ``clip`` max(l, 0); ``flip``
        abs(l); ``shift`` l - min(l), new rows stay raw; ``square`` l^2, a linear model
        on the similarities as features; ``diffusion`` ``exp(t l / max|l|)``, where new
        rows are mapped along the eigenvectors with ``|l| > max|l| / 100``;
        ``none`` l, LIBSVM on the raw matrix as everybody does it. A record of
        `krein.spectrum.fixes` is taken too; the certificate is a gap if no
        eigenvalue it gives is negative.
    C : float
        Upper bound of the dual variables.
    t : float
        Time of the diffusion.
    kernel : "precomputed", str, Kernel or callable
        See `krein.list_kernels`.
    kernel_params : dict, optional
        Parameters of a kernel given by name.
    symmetrize : bool
        Use (K + K') / 2 instead of refusing an asymmetric similarity.
    class_weight : dict or "balanced", optional
        Weights by class; they multiply the sample weights.
    probability : bool
        Offer `predict_proba`: a sigmoid on out-of-fold scores (five more fits).
    multi_class : {"ovr", "ovo"}
        With three or more classes: one row per class against the rest, or one per pair
        of classes (``decision_function`` has a column per pair, (0, 1), (0, 2), ...,
        positive for the second; the majority decides). Not with `probability` or
        `approximation`.
    solver_options : dict, optional
        None here: LIBSVM has no options that matter.
    tol : float
        Certified gap to reach, relative to the objective; where the kernel trained on
        is indefinite, the largest violation of the KKT conditions.
    max_iter : int
        Largest number of iterations, LIBSVM's and those that follow.
    approximation : KreinNystroem, optional
        Train on landmarks: time n m^2, memory n m, and prediction needs similarities
        to the m landmarks only. The kernel is that of the estimator.
    random_state : int, RandomState or None
        Seed of the folds of `probability`.
    verbose : int
        Report every row on standard error.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    dual_coef_ : ndarray of shape (n_rows, n_train)
        Coefficients on the raw kernel.
    intercept_ : ndarray of shape (n_rows,)
        Intercepts.
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box.
    support_ : ndarray
        Training items with a coefficient that is not zero.
    duality_gap_ : ndarray of shape (n_rows,)
        Certified gap of the SVM (``residual_``, the maximal violating pair, where the
        kernel trained on has a negative eigenvalue, as for ``method="none"``: that
        problem is not convex).
    result_ : Result or list of Result
        Full account of the fit.
    approximation_error_ : float
        With `approximation`: estimated relative error of the similarity.

    Notes
    -----
    With K~ the fixed kernel, w the sample weights and f = K~ v + b, each row solves::

        primal  min over v, b of  v'K~v / 2 + C sum_i w_i max(0, 1 - y_i f_i)
        dual    max over a of  sum_i a_i - v'K~v / 2,  0 <= a_i <= C w_i,  y'a = 0

    with the link v = y * a. `duality_gap_` is their difference at (v, b), rounding
    counted; prediction uses ``dual_coef_ = P v`` on the raw kernel.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi, Cazzanti (2009), JMLR 10; Wu, Chang, Zhang (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import SpectrumSVC, load_dataset, sigmoid_kernel
    >>> sonar = load_dataset("sonar")
    >>> X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    >>> K = sigmoid_kernel(X)
    >>> model = SpectrumSVC(method="flip", C=10.0).fit(K, sonar.target)
    >>> bool(model.score(K, sonar.target) > 0.9)
    True
    """

    method: Any = "clip"
    _: KW_ONLY
    t: float = 1.0

    def fixed_kernel(self, training: Training) -> FixedKernel:
        """Return what the method makes of the similarity."""
        return training.K.fixed_kernel(self.method, self.t, training.weight)
