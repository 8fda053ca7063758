"""The SVM that learns a positive semidefinite proxy of the given similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from krein.arrays import Array
from krein.declarations import CONSTRAINTS, Fitted, declares_parameters
from krein.estimators._proxy_options import SOLVERS, default_grid, split_options
from krein.estimators._tasks import KernelClassifier
from krein.machines._loop import report
from krein.machines.box import BalancedBox
from krein.machines.new_points import RULES, Proxy, checked_batch, linear_coef
from krein.machines.proxy import ProxySVM
from krein.machines.second_order import DENSE
from krein.memory import require_memory
from krein.selection.search import RANKED
from krein.sklearn_internals import StrOptions, num_samples
from krein.training import Classes, FittedRows, Row, Training, ravel_rows, starting_rows

_MOST_ON_LANDMARKS = 100_000  # items; of more hardly any gap could be claimed
# Numbers that are held for each item and n_components at the peak of a fit.
_ARRAYS_ON_LANDMARKS = 3  # eigenvectors, factors of the curvature, and a copy
_NODES_ON_LANDMARKS = 250  # columns of these factors beside the landmarks
_DENSE_ON_LANDMARKS = 2  # squares of the variables of a model that is not of low rank


def numbers_on_landmarks(n: int, m: int) -> int:
    """Numbers in memory at the peak of a fit of n items on m landmarks."""
    dense = min(n, DENSE * m)
    factors = _ARRAYS_ON_LANDMARKS * n * (m + _NODES_ON_LANDMARKS)
    return factors + _DENSE_ON_LANDMARKS * dense**2


@declares_parameters
class ProxySVC(KernelClassifier):
    """SVM with an indefinite similarity, learning a PSD proxy kernel with it.

    Solves (Luss and d'Aspremont, 2007)

        max over 0 <= a <= C, y'a = 0  of  min over K >= 0 of
        e'a - a'YKYa / 2 + rho ||K - K0||_F^2

    to a certified duality gap in about the time of one eigendecomposition of K0. As
    rho grows the proxy tends to the clipped K0 and the model to
    ``SpectrumSVC("clip")``; for small rho the proxy bends towards the labels. The
    primal is ``min over K >= 0, v, b of v'Kv / 2 + C sum_i max(0, 1 - y_i (Kv + b)_i) +
    rho ||K - K0||_F^2``, the link v = y * a and ``K = (K0 + vv' / (4 rho))_+``.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables.
    rho : float
        Price of the distance between proxy and K0. What is small depends on K0 (scaling
        K0 by t has the effect of C / t and rho / t^3); `ProxySVCCV` proposes a grid.
    solver : {"auto", "spgm", "smm", "accpm", "siqclp"}
        ``auto``: the second-order method of krein. The others are the published
        methods, slow and faithful: projected gradient and Nesterov's method of Ying et
        al. (2009), analytic centre cutting planes of Luss and d'Aspremont (2007), the
        semi-infinite program of Chen and Ye (2008).
    new_points : {"clip", "raw", "project", "luss"}
        What a new row of similarities is multiplied by, as the proxy is known on
        training points only. ``clip``: the map on the positive eigenspace of K0.
        ``raw``: nothing. ``project``: the positive eigenspace of K0 + vv'/(4 rho).
        ``luss``: the published rule, which projects training and new points together;
        `decision_function` then needs ``K_new_new`` or ``k_diag``. On three real sets
        clip had the lowest error (9.7 % on yeast proteins against 15.9 for project and
        23.8 for raw).
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
    approximation : KreinNystroem, optional
        Use landmarks: K0 is replaced by its approximation of low rank, prediction
        needs similarities to the landmarks only, and n eigenvectors of the rank are
        held in memory. `duality_gap_` then bounds the error of the solver on the
        approximated similarity; what the approximation itself leaves out is not in
        it, `approximation_error_` estimates that on a sample. Not with
        ``new_points="luss"``, and for at most 100 000 items: with their number grows
        what rounding adds to the gap (about 1e-6 at 20 000, 1e-5 at 100 000). A fit
        holds about 24 n (m + 250) bytes and says beforehand if they do not fit.
    solver_options : dict, optional
        ``init`` (alpha to start from), ``oracle`` (``"quadrature"`` or ``"eigh"``: one
        eigendecomposition per step, as published); options of the published solvers,
        such as ``stop``, ``domain``, ``line_search``, ``prune`` (see
        `krein.published`).
    tol : float
        Certified gap to reach, relative to f(alpha) - f(0).
    max_iter : int
        Largest number of steps of the solver.
    random_state : int, RandomState or None
        Seed of the folds of `probability`.
    verbose : int
        Report every step on standard error.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box.
    objective_ : ndarray of shape (n_rows,)
        f(alpha), the constant rho ||(K0)_-||^2 included.
    duality_gap_ : ndarray of shape (n_rows,)
        Bound on max f - f(alpha).
    spectrum_ : Spectrum
        Of the (weighted) training similarity, shared by all rows; with landmarks of
        its approximation.
    proxy_ : Proxy
        What the learned kernel is made of; see `proxy_kernel`.
    approximation_error_ : float
        Only with landmarks: relative error of the similarities, on a sample.
    classes_, dual_coef_, intercept_, support_, n_iter_, result_
        As in `SpectrumSVC`. For ``new_points="luss"`` the coefficients are those of
        the raw kernel; the decision function is not linear in it.

    Notes
    -----
    Where f(0) = rho ||(K0)_-||^2 exceeds about 1e6 times f(alpha) - f(0), as for a
    large negative part with large rho and C, the objective is a plane that ends in a
    wall, along which steps are small. The fit may end before `tol`. It says so: a
    ConvergenceWarning, the status ``"stalled"`` in `result_`, a feasible `alpha_`, and
    in `duality_gap_` the bound that was reached.

    References
    ----------
    Luss, d'Aspremont (2007), NIPS; Chen, Ye (2008), ICML; Ying, Campbell, Girolami
    (2009), NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import ProxySVC
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> model = ProxySVC(C=10.0).fit(K, ["a", "a", "b"])
    >>> model.predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    >>> bool(np.linalg.eigvalsh(model.proxy_kernel())[0] > -1e-9)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    rho: float = 1.0
    solver: str = "auto"
    new_points: str = "clip"
    probability: bool = False
    approximation: Any = None
    solver_options: dict | None = None
    max_iter: Any = 10_000

    _fitted_state = Fitted.state(
        Fitted("spectrum_", "spectrum"), Fitted("proxy_", "proxy")
    )

    _parameter_constraints = CONSTRAINTS | {
        "solver": [StrOptions(set(SOLVERS))],
        "new_points": [StrOptions(set(RULES))],
    }

    # --------------------------------------------------------------------------- fit

    def _approximated(
        self, items: Any, dtype: Any, weight: Array | None, kept: np.ndarray | None
    ) -> Training:
        """Refuse what is too large, before anything is computed."""
        n = num_samples(items) if kept is None else kept.size
        if n > _MOST_ON_LANDMARKS:
            raise ValueError(
                f"ProxySVC takes at most {_MOST_ON_LANDMARKS} items with landmarks, as "
                f"rounding grows with their number, not {n}. Use fewer, or its limit "
                "for large rho, SpectrumSVC('clip', approximation=...)"
            )
        m = getattr(self._approximation, "n_components", None)
        if isinstance(m, Integral):  # others are refused where landmarks are chosen
            require_memory(
                8.0 * numbers_on_landmarks(n, int(m)),
                f"ProxySVC on {n} items and {m} landmarks",
                "Use fewer items or landmarks, or its limit for large rho, "
                "SpectrumSVC('clip', approximation=...)",
            )
        return super()._approximated(items, dtype, weight, kept)

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit all rows on one spectrum; see `KernelModel.fit_rows`."""
        self._check_combination(training)
        own, options = split_options(self.solver, self.solver_options)
        spectrum = training.K.spectrum(training.weight)
        starts = starting_rows(own["init"], training, target.n_rows)
        rows = []
        for signs, start in zip(target.signs(), starts, strict=True):
            box = BalancedBox(training.upper(self.C), signs)
            problem = ProxySVM(spectrum, box, self.rho, oracle=own["oracle"])
            rows.append(self._row(problem, training, start, options))
        raw = training.K.dense() if self.new_points == "luss" else None
        signed = np.vstack(list(target.signs()))
        proxy = Proxy(spectrum, signed, float(self.rho), training.kept, raw)
        return FittedRows(rows, {"proxy_": proxy, "spectrum_": spectrum})

    def grid(self, training: Training, target: Classes) -> list[dict]:
        """C and rho in units of the similarity; see `KernelModel.grid`."""
        spectrum = training.K.spectrum(training.weight)
        Cs, rhos = default_grid(spectrum, target, training.weight)
        return [{"C": C, "rho": rho} for C in Cs for rho in rhos[::-1]]

    def fit_path(
        self, training: Training, target: Classes, grid: Sequence[dict]
    ) -> list[FittedRows]:
        """Fit from the largest rho down and from the smallest C up, each from another.

        See `KernelModel.fit_path`.
        """
        found: dict[int, FittedRows] = {}
        below: dict[float, Array | None] = {}  # solutions for the C before, by rho
        near = None
        order = sorted((c["C"], -c["rho"], i) for i, c in enumerate(grid))
        for C, minus, i in order:
            rho = -minus
            start = below.get(rho, near)
            options = dict(self.solver_options or {})
            if start is not None:
                options["init"] = start
            given = {"C": C, "rho": rho, "solver_options": options}
            model = self.candidate({**given, "tol": max(self.tol, RANKED)})
            found[i] = model.fit_rows(training, target)
            alpha = [np.asarray(row.alpha) for row in found[i].rows]
            below[rho] = near = np.vstack(alpha)
        return [found[i] for i in range(len(grid))]

    def _check_combination(self, training: Training) -> None:
        if self.new_points != "luss":
            return
        if training.landmarks is not None or getattr(self, "probability", False):
            raise ValueError(
                "new_points='luss' goes with neither approximation= nor "
                "probability=True: it projects all training similarities together "
                "with a batch of new ones, on which the decision values depend; choose "
                "new_points='clip', 'project' or 'raw'"
            )

    def _row(
        self,
        problem: ProxySVM,
        training: Training,
        start: Array | None,
        options: dict[str, Any],
    ) -> Row:
        result = SOLVERS[self.solver](
            problem,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=report if self.verbose else None,
            **options,
        )
        alpha = np.minimum(np.maximum(result.x, 0.0), problem.box.upper)
        coef = linear_coef(problem, alpha, self.new_points)
        luss = self.new_points == "luss"
        outputs = problem.outputs(alpha) if luss else training.K @ coef
        intercept = problem.box.intercept(alpha, outputs)
        return Row(training.K.to_raw(coef), intercept, result, alpha)

    # ----------------------------------------------------------------------- predict

    def decision_function(
        self, X: Any, K_new_new: Any = None, k_diag: Any = None
    ) -> Array:
        """Signed scores: ``K(X, X_train) @ dual_coef_.T + intercept_``.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
            Raw similarities of new items to the training items, or new items.
        K_new_new : array-like of shape (n_new, n_new), optional
            Only for ``new_points="luss"`` on precomputed similarities: those among the
            new items, projected together with the training items.
        k_diag : array-like of shape (n_new,), optional
            Only for ``new_points="luss"``: similarities of the new items to themselves;
            every item is then a batch of its own.

        Returns
        -------
        ndarray of shape (n_new,) for two classes, (n_new, n_classes) otherwise
        """
        return ravel_rows(self._decision_rows(X, K_new_new=K_new_new, k_diag=k_diag))

    def predict(self, X: Any, K_new_new: Any = None, k_diag: Any = None) -> np.ndarray:
        """Class labels of new items.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train) or items as in fit
        K_new_new, k_diag : array-like, optional
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._labels(self._decision_rows(X, K_new_new=K_new_new, k_diag=k_diag))

    def _no_expansion(self) -> str | None:
        if self.new_points == "luss":
            return "with new_points='luss' its outputs are not linear in the rows"
        return super()._no_expansion()

    def _outputs(self, X: Any, **further: Any) -> Array:
        if self.new_points == "luss":
            given = (further.get("K_new_new"), further.get("k_diag"))
            rows = self._luss_input(X, *given)
            return self.proxy_.outputs(self.alpha_, *rows)
        if any(value is not None for value in further.values()):
            raise ValueError(
                f"K_new_new and k_diag are for new_points='luss', this model has "
                f"new_points={self.new_points!r}"
            )
        return super()._outputs(X)

    def _luss_input(
        self, X: Any, K_new_new: Any, k_diag: Any
    ) -> tuple[Array, Any, Array | None]:
        """Rows to the kept training items, and how the new items relate."""
        items = self._check_items(X, reset=False)
        if self._precomputed:
            K_new = items
        else:
            K_new = np.asarray(self.kernel_(items, self.X_fit_), dtype=np.float64)
            if K_new_new is None and k_diag is None:
                K_new_new = self.kernel_(items, items)
        return (K_new, *checked_batch(K_new.shape[0], K_new_new, k_diag))

    # ------------------------------------------------------------------------- proxy

    def proxy_kernel(self, row: int = 0) -> Array:
        """Return the learned kernel on the training items, without another `eigh`.

        Parameters
        ----------
        row : int
            Which one-vs-rest row; 0 for two classes.

        Returns
        -------
        ndarray of shape (n_train, n_train)
            Positive semidefinite, on the items of positive weight.
        """
        check_is_fitted(self, "dual_coef_")
        self._refuse_diverged()
        n_rows = self.proxy_.signs.shape[0]
        if not 0 <= row < n_rows:
            raise ValueError(f"row must be between 0 and {n_rows - 1}, got {row}")
        return self.proxy_.kernel(self.alpha_, row)
