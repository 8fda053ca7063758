"""SVM on a weighted sum of kernels, the weights learned with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from krein.arrays import Array, real_numbers
from krein.declarations import CONSTRAINTS, NOT_NEGATIVE, Fitted, declares_parameters
from krein.estimators._tasks import KernelClassifier
from krein.kernels.registry import Kernel, as_kernel
from krein.machines.box import BalancedBox
from krein.machines.mkl import MKLWeights, check_psd, kernel_weights, svm_at
from krein.similarity.matrix import Similarities, Views, as_views
from krein.sklearn_internals import StrOptions
from krein.spectrum.fixed_kernel import FixedKernel
from krein.training import Classes, FittedRows, Row, Training, positive_part
from krein.validation import check_similarity


@dataclass(frozen=True)
class ViewsTraining(Training):
    """Training samples seen through several kernels."""

    K: Views

    def scores(self, fitted: FittedRows, test: np.ndarray, train: np.ndarray) -> Array:
        """Decision values (n_test, n_rows) by a model of the samples `train`."""
        seen = mapped(self.K.cut(test, train), fitted.facts["maps_"])
        return seen.values(fitted.coef, fitted.facts["weights_"]) + fitted.intercept


def mapped(rows: Views, maps: Sequence[FixedKernel]) -> Views:
    """Rows of raw similarities as the fixed kernels see them; no maps: as they are."""
    if not maps:
        return rows
    parts = zip(maps, rows.parts, strict=True)
    return Views(tuple(fixed.rows(K) for fixed, K in parts))


@declares_parameters
class MKLSVC(KernelClassifier):
    """Multiple kernel learning: an SVM on ``sum_i w_i K_i``, w on the simplex.

    Minimises ``SVM(sum_i w_i K_i) + rho sum_i w_i ||K_i - K0||_F^2`` over the weights
    (eq. 27 of Chen and Ye, 2008), by cutting planes with LIBSVM as oracle. Without a
    target K0 the second term is absent. Kernels of larger trace are favoured: bring
    them to the same scale first. The dual is ``max over a of sum_j a_j - max over i of
    (v'K_i v / 2 - rho ||K_i - K0||_F^2)`` over the box of `SpectrumSVC`, with the link
    v = y * a; w are the multipliers of the inner maximum.

    Parameters
    ----------
    C : float
        Upper bound of the dual variables.
    rho : float
        Price of the distance of a kernel from the target.
    target : array-like of shape (n, n) or int, optional
        K0: a similarity, not necessarily PSD, or the index of a kernel.
    fix : {"clip", "flip", "square"}, optional
        What is done to each kernel first, so that they may be indefinite; new rows
        are mapped as in `SpectrumSVC`. Without it they have to be positive
        semidefinite.
    kernels : list of str, Kernel or callable, optional
        Kernels of feature vectors; X is then (n, n_features). Without it X holds the
        kernel matrices: shape (n, n, n_kernels), or a list of n x n matrices.
    tol : float
        Relative gap between the bounds to reach.
    max_iter : int
        Largest number of cutting planes.
    class_weight, probability, random_state, verbose
        As in `SpectrumSVC`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_rows, n_kernels)
        Kernel weights, of sum 1, per one-vs-rest row.
    alpha_ : ndarray of shape (n_rows, n_train)
        Variables in the box.
    dual_coef_, intercept_ : ndarray
        Coefficients on the weighted sum of the (fixed) kernels, and intercepts.
    maps_ : list of FixedKernel
        What becomes of rows of each raw kernel; empty without a fix.
    objective_, duality_gap_, n_iter_ : ndarray of shape (n_rows,)
        Objective, gap between its bounds, cutting planes used.
    result_ : Result or list of Result
        Full account of the fit.
    classes_ : ndarray
        Class labels.

    References
    ----------
    Chen, Ye (2008), ICML, Theorem 5.1; Lanckriet et al. (2004), JMLR 5.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import MKLSVC
    >>> X = np.random.default_rng(0).standard_normal((40, 2))
    >>> y = X[:, 0] > 0
    >>> signal, noise = np.outer(X[:, 0], X[:, 0]), np.outer(X[:, 1], X[:, 1])
    >>> model = MKLSVC().fit([signal, noise], y)
    >>> bool(model.weights_[0, 0] > 0.9)
    True
    """

    # Several kernels take the place of the one that other models have.
    kernel: ClassVar[Any]  # type: ignore[misc]
    kernel_params: ClassVar[Any]  # type: ignore[misc]
    symmetrize: ClassVar[bool]  # type: ignore[misc]
    C: float = 1.0
    _: KW_ONLY
    rho: float = 1.0
    target: Any = None
    fix: Any = None
    kernels: Any = None
    probability: bool = False
    tol: float = 1e-5
    max_iter: Any = 500

    _fitted_state = Fitted.state(
        Fitted("support_", "integers", "s"),
        Fitted("kernel_", "kernel", needed=False),
        Fitted("weights_", "numbers", "rk"),
        Fitted("kernels_", "kernels", needed=False),
        Fitted("n_kernels_in_", "integer", needed=False),
        Fitted("kept_", "integers", needed=False),
        Fitted("maps_", "anything", needed=lambda model: model.fix is not None),
    )

    _parameter_constraints = CONSTRAINTS | {
        "rho": [NOT_NEGATIVE],
        "target": ["array-like", Integral, None],
        "kernels": [list, tuple, None],
        "fix": [StrOptions({"clip", "flip", "square"}), None],
    }

    # ------------------------------------------------------------------------- input

    @property
    def _precomputed(self) -> bool:
        return self.kernels is None

    def __sklearn_tags__(self):
        """Splitters cut rows and columns of a stack of matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.three_d_array = self._precomputed
        return tags

    def _takes_vectors(self, X: Any) -> bool:
        return True

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        """Validate vectors, or make views of kernel matrices."""
        if not self._precomputed:
            return super()._check_items(X, reset=reset)
        views = as_views(X)
        if reset:
            return views
        n = self.dual_coef_.shape[1]
        if len(views.parts) != self.n_kernels_in_ or views.shape[1] != n:
            raise ValueError(
                f"X must have shape (n_new, {n}, {self.n_kernels_in_}), got "
                f"{len(views.parts)} matrices of shape {views.shape}"
            )
        return views

    def _prepared(self, items: Any, dtype: Any, weight: Array | None) -> ViewsTraining:
        """Kernels of the samples of positive weight, with the target."""
        weight, kept = positive_part(weight)
        views, facts = self._training_views(items, kept)
        n = views.n
        if kept is not None:
            views = views.subset(kept)
        if self.fix is None:
            for i, K in enumerate(views.parts):
                check_psd(K, f"kernel {i}")
        elif kept is not None:
            facts["kept_"] = kept
        return ViewsTraining(views, weight, kept, n, facts=facts)

    def _training_views(
        self, items: Any, kept: np.ndarray | None
    ) -> tuple[Views, dict[str, Any]]:
        facts: dict[str, Any] = {"X_fit_": None}
        if not self._precomputed:
            kernels = self._settled_kernels(items if kept is None else items[kept])
            facts = {"X_fit_": items, "kernels_": kernels}
            items = Views(tuple(real_numbers(k(items, items)) for k in kernels))
        checked = tuple(
            check_similarity(K, name=f"kernel {i}", symmetrize=None)
            for i, K in enumerate(items.parts)
        )
        if self._precomputed:
            facts["n_kernels_in_"] = len(checked)
        return Views(checked, self._target_matrix(checked)), facts

    def _settled_kernels(self, X: Any) -> list[Any]:
        kernels = [as_kernel(kernel, None) for kernel in self.kernels]
        if not kernels:
            raise ValueError("kernels is an empty list; give at least one kernel")
        return [k.fit(X) if isinstance(k, Kernel) else k for k in kernels]

    def _target_matrix(self, matrices: tuple[Array, ...]) -> Array | None:
        if self.target is None:
            return None
        if isinstance(self.target, Integral):
            if not 0 <= int(self.target) < len(matrices):
                raise ValueError(
                    f"target must be the index of one of {len(matrices)} kernels, got "
                    f"{self.target}"
                )
            return matrices[int(self.target)]
        n = matrices[0].shape[0]
        K0 = check_similarity(self.target, name="target", symmetrize=None)
        if K0.shape[0] != n:
            raise ValueError(f"target must have shape ({n}, {n}), got {K0.shape}")
        return K0

    # ------------------------------------------------------------------------- model

    def fit_rows(self, training: Training, target: Classes) -> FittedRows:
        """Fit the kernel weights and a machine per one-vs-rest row."""
        assert isinstance(training, ViewsTraining)
        fixed = self._fixed(training)
        parts = tuple(one.kernel() for one in fixed) or training.K.parts
        costs = self._costs(training, parts)
        rows = []
        for signs in target.signs():
            box = BalancedBox(training.upper(self.C), signs)
            problem = MKLWeights(parts, costs, box)
            result = kernel_weights(problem, tol=self.tol, max_iter=self.max_iter)
            _, alpha, _ = svm_at(problem, result.x)
            coef = signs * alpha
            intercept = box.intercept(alpha, problem.combined(result.x) @ coef)
            # The first cut is made before the first step.
            counted = replace(result, n_iter=result.n_iter + 1)
            rows.append(Row(coef, intercept, counted, alpha))
        weights = np.array([row.result.x for row in rows if row.result is not None])
        maps = [one.stored() for one in fixed]
        return FittedRows(rows, {"weights_": weights, "maps_": maps})

    def _fixed(self, training: ViewsTraining) -> list[FixedKernel]:
        """What the fix makes of each kernel; nothing without one."""
        if self.fix is None:
            return []
        weight = training.weight
        return [
            Similarities(K).fixed_kernel(self.fix, weight=weight)
            for K in training.K.parts
        ]

    def _costs(self, training: ViewsTraining, parts: Sequence[Array]) -> Array:
        """Costs rho ||K_i - K0||^2 in the weighted Frobenius norm."""
        views = training.K
        if views.target is None:
            return np.zeros(len(parts))
        w = training.upper(1.0)
        return self.rho * np.array([w @ (K - views.target) ** 2 @ w for K in parts])

    def _no_expansion(self) -> str:
        return "it predicts from several kernels, with weights of their own"

    def _outputs(self, X: Any, **further: Any) -> Array:
        """Return ``sum_i w_i K_i(X, X_train) @ dual_coef_.T``."""
        items = self._check_items(X, reset=False)
        if not self._precomputed:
            known = self.X_fit_
            items = Views(tuple(real_numbers(k(items, known)) for k in self.kernels_))
        kept = getattr(self, "kept_", None)
        if kept is None:
            return mapped(items, self.maps_).values(self.dual_coef_, self.weights_)
        # The maps are of the samples of positive weight.
        some = Views(tuple(K[:, kept] for K in items.parts))
        coef = self.dual_coef_[:, kept]
        return mapped(some, self.maps_).values(coef, self.weights_)
