"""validate -> kernel matrix -> problem -> solver -> coefficients; one predict.

The sentence the library rests on: a fitted model is
``K(x, X_train) @ dual_coef_.T + intercept_`` on the raw, untouched kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from krein.arrays import Array, is_condensed
from krein.declarations import (
    Documented,
    Fitted,
    WideRows,
    declares_parameters,
    without_state,
)
from krein.estimators._sparse import Sparsifiable
from krein.items import LazyRows, columns_of_rows, take
from krein.kernels.blocks import kernel_matrix
from krein.kernels.registry import Kernel, as_kernel, items_for
from krein.machines.compact_rows import LandmarkRows
from krein.memory import require_for_spectral_fit
from krein.result import DivergedError, Result
from krein.similarity.matrix import Matrix, Similarities
from krein.similarity.sparse import (
    SparseSimilarity,
    check_sparse_rows,
    check_sparse_similarity,
)
from krein.sklearn_internals import (
    check_feature_names,
    check_n_features,
    num_samples,
    says_not_a_number,
    says_other_width,
)
from krein.threads import rows_of, threads_for
from krein.training import FittedRows, Training, positive_part
from krein.validation import (
    check_similarity,
    check_targets,
    numbers_that_fit,
    refuse_odd_arrays,
    warn_if_distances,
)
from krein.words import warn_user


@declares_parameters
class KernelModel(Sparsifiable, Documented):
    """Shared by classifiers and regressors: kernel, validation, decision values.

    A subclass has a pure function ``fit_rows(training, target) -> FittedRows`` that
    reads the constructor's parameters and nothing else; only `fit` writes to the
    estimator. Folds, searches and `krein.scale` call the same function.
    """

    _: KW_ONLY
    kernel: Any = "precomputed"
    kernel_params: dict[str, Any] | None = None
    symmetrize: bool = False
    tol: float = 1e-6
    max_iter: Any = 1_000_000
    random_state: Any = None
    verbose: int = 0

    # Whether `fit_rows` and `fit_path` fit candidates; False in a class that searches.
    fits_rows: ClassVar[bool] = True

    _fitted_state = Fitted.state(
        Fitted("n_features_in_", "integer", needed=False),
        Fitted("feature_names_in_", "labels", needed=False),
        Fitted("kernel_", "kernel", needed=lambda model: not model._precomputed),
    )

    dual_coef_ = WideRows()
    alpha_ = WideRows()

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _items_kernel(self) -> Any:
        """The kernel that says what form items have."""
        return getattr(self, "kernel", "precomputed")

    def __sklearn_tags__(self):
        """Declare a square precomputed matrix to splitters, and object input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self._precomputed
        return tags

    def _takes_vectors(self, X: Any) -> bool:
        """Tell rows of numbers from lists of strings, series, graphs, matrices."""
        kernel = self._items_kernel
        if not self._precomputed:
            kernel = as_kernel(kernel, None)
        if isinstance(kernel, Kernel):
            return kernel.facts.input == "vectors"
        if self._precomputed or hasattr(X, "columns"):
            return True
        first = X[0] if isinstance(X, list | tuple) and len(X) else X
        if isinstance(X, list | tuple) and isinstance(first, str | bytes | dict):
            return False
        try:
            array = np.asarray(X)
        except ValueError:  # ragged
            return False
        return array.dtype.kind in "biufc" and array.ndim <= 2

    def _check_items(self, X: Any, *, reset: bool) -> Any:
        """Validate rows of numbers as scikit-learn does; keep objects as they are."""
        if isinstance(X, LazyRows):  # checked where they are computed
            check_n_features(self, X, reset=reset)
            return X
        given = X
        if not self._precomputed:  # several kernels take their items as they are
            X = items_for(self._items_kernel, X)
        if isinstance(X, list) and X and isinstance(X[0], tuple):  # rows of a table
            check_feature_names(self, given, reset=reset)
        if scipy.sparse.issparse(X) and self._precomputed:
            return self._check_sparse(X, reset=reset)
        if self._precomputed and hasattr(X, "columns"):
            known = None if reset else getattr(self, "feature_names_in_", ())
            X = columns_of_rows(X, known)
        refuse_odd_arrays(X)
        if self._takes_vectors(X):
            try:
                with numbers_that_fit("X"):
                    return validate_data(self, X, reset=reset, dtype=np.float64)
            except ValueError as error:
                if self._precomputed and says_other_width(error):
                    raise ValueError(
                        f"{error}: with kernel='precomputed' pass similarities of new "
                        "items (rows) to the training items (columns), in the order "
                        "of fit"
                    ) from None
                if self._precomputed and is_condensed(X):
                    raise ValueError(
                        f"{str(error).partition(':')[0]}: a list of distances, as "
                        "pdist returns it, is no matrix of similarities; pass it with "
                        "kind='distance' (SimilarityClassifier, SpectrumSVCCV), or "
                        "DistanceTransformer().fit_transform(X) as the similarity"
                    ) from None
                if self._precomputed and says_not_a_number(error):
                    raise ValueError(
                        f"X holds text ({error}), but kernel='precomputed' expects a "
                        "matrix of similarities: for strings choose a kernel by name, "
                        "e.g. kernel='edit' (krein.list_kernels() has them all)"
                    ) from None
                raise
        if num_samples(X) < 1:
            raise ValueError("X has no items; at least one is required")
        return X

    def _check_sparse(self, X: Any, *, reset: bool) -> Any:
        """Validate sparse similarities; absent ones are 0."""
        rows = check_sparse_rows(X)
        check_n_features(self, rows, reset=reset)
        return rows

    def _check_y(self, y: Any, *, numeric: bool = False) -> np.ndarray:
        """Validate targets alone: X was checked already, its names included."""
        return check_targets(y, self, numeric=numeric)

    def _training_kernel(
        self, X: Any, dtype: Any = None, kept: np.ndarray | None = None
    ) -> tuple[Matrix, dict]:
        """Similarities of checked training items, with `kernel_` and `X_fit_`."""
        if scipy.sparse.issparse(X):
            sparse = check_sparse_similarity(X, symmetrize=self.symmetrize)
            return SparseSimilarity(sparse), {"X_fit_": None}
        if self._precomputed:
            K = check_similarity(X, name="X", symmetrize=self.symmetrize, given=dtype)
            warn_if_distances(K, "X")
            return Similarities(K), {"X_fit_": None}
        require_for_spectral_fit(num_samples(X), self)
        kernel = self._settled_kernel(X, kept)
        K = kernel_matrix(kernel, X, X)
        K = check_similarity(K, name="kernel(X, X)", symmetrize=self.symmetrize)
        return Similarities(K), {"kernel_": kernel, "X_fit_": X}

    def _settled_kernel(self, X: Any, kept: np.ndarray | None = None) -> Any:
        """Return the kernel, its data-dependent settings taken from training items.

        Items that are not `kept`, of weight zero, have no part in them.
        """
        kernel = as_kernel(self.kernel, self.kernel_params)
        if not isinstance(kernel, Kernel):
            return kernel
        return kernel.fit(X if kept is None else take(X, kept))

    def _similarities(self, X: Any) -> Array:
        """Similarities of items to those training items that matter (`support_`)."""
        if self._precomputed and self._approximation is not None:
            return landmark_columns(self, X, self.support_)
        X = self._check_items(X, reset=False)
        if self._precomputed:
            return X if self.support_.size == X.shape[1] else X[:, self.support_]
        if self.support_.size == 0:
            return np.empty((num_samples(X), 0))
        return kernel_matrix(self.kernel_, X, self._support_items())

    def _support_items(self) -> Any:
        """Training items that matter (`support_`); landmarks are kept alone."""
        if self.support_.size == num_samples(self.X_fit_):
            return self.X_fit_
        return take(self.X_fit_, self.support_)

    # ------------------------------------------------------------------ coefficients

    def fit_rows(self, training: Training, target: Any) -> FittedRows:
        """Fit all rows of the model; a pure function of parameters and data.

        Parameters
        ----------
        training : Training
            The samples.
        target : Target
            What they are to be mapped to.

        Returns
        -------
        FittedRows
        """
        raise NotImplementedError("a subclass fits its rows")

    def grid(self, training: Training, target: Any) -> list[dict[str, Any]]:
        """Candidates of a search, as dicts of constructor parameters.

        In units of the similarity, the most regularised first.
        """
        raise NotImplementedError(f"{type(self).__name__} declares no grid")

    def fit_path(
        self, training: Training, target: Any, grid: Sequence[dict[str, Any]]
    ) -> list[FittedRows]:
        """Fit all candidates of a grid, in its order; for ranking them.

        Each by itself; subclasses share work between candidates, and solve them as
        loosely as their order allows.
        """
        return [self.candidate(c).fit_rows(training, target) for c in grid]

    def candidate(self, params: dict[str, Any]) -> Any:
        """Return a copy with other parameters, without what was fitted."""
        other = object.__new__(type(self))
        other.__dict__ = {**without_state(self), **params}
        return other

    def held_values(
        self, fitted: FittedRows, training: Training, test: np.ndarray, train: Any
    ) -> Array:
        """Decision values of the samples `test` by a model of the samples `train`."""
        return training.scores(fitted, test, train)

    def _store(self, fitted: FittedRows, training: Training) -> None:
        """Set the fitted attributes: the one place that does."""
        for name, fact in {**training.facts, **fitted.facts}.items():
            setattr(self, name, fact)
        self.dual_coef_ = training.expand_coef(fitted.coef)
        self.intercept_ = fitted.intercept
        if training.landmarks is None:
            self.support_ = np.flatnonzero(np.any(self.dual_coef_ != 0.0, axis=0))
        else:
            self.support_ = training.landmarks
        if fitted.poly is not None:
            self.poly_coef_ = fitted.poly
        if fitted.alpha is not None:
            self.alpha_ = training.expand(fitted.alpha)
        if fitted.results:
            self._store_results(fitted.results)

    def _store_results(self, results: list[Result]) -> None:
        self.result_ = results[0] if len(results) == 1 else results
        self.n_iter_ = np.array([result.n_iter for result in results])
        self.objective_ = np.array([result.value for result in results])
        certificates = np.array([result.certificate.value for result in results])
        if results[0].certificate.kind == "gap":
            self.duality_gap_ = certificates
        else:
            self.residual_ = certificates
        if self.verbose:
            for row, result in enumerate(results):
                place = f"machine {row + 1} of {len(results)}"
                sys.stderr.write(f"{type(self).__name__}, {place}: {result.sentence}\n")
        complaints = self._complaints(results)
        for message in complaints:
            warn_user(message, ConvergenceWarning)
        rounded = [r for r in results if r.is_solved_to_rounding(self.tol)]
        if rounded and not complaints:
            warn_user(self._remark(_worst(rounded)))

    def _complaints(self, results: Sequence[Result]) -> list[str]:
        """What to say about results that did not reach the tolerance."""
        unfinished = ("stalled", "max_iter", "diverged")
        bad = [
            result
            for result in results
            if result.status in unfinished
            and not result.is_solved_to_rounding(self.tol)
        ]
        if not bad:
            return []
        worst = _worst(bad)
        advice = "Raise max_iter or tol"
        if worst.status == "stalled":
            advice = f"More iterations do not help. {self._advice()}"
        return [
            f"{type(self).__name__} did not reach tol={self.tol:g}: status "
            f"{worst.status!r} after {worst.n_iter} iterations, relative "
            f"{worst.certificate.kind} {worst.certificate.relative:.2g}. {advice}"
        ]

    def _remark(self, result: Result) -> str:
        """What to say of a result that is solved, but for the rounding that counts."""
        certificate = result.certificate
        own = certificate.relative - certificate.rounding
        return (
            f"{type(self).__name__} is solved to rounding: the solver's own relative "
            f"{certificate.kind} is {own:.1g}, but with the rounding errors of this "
            f"similarity only {certificate.relative:.2g} can be claimed, above "
            f"tol={self.tol:g}. {self._advice()}"
        )

    def _advice(self) -> str:
        """What helps where rounding allows no further step."""
        solver = signature(type(self)).parameters.get("solver")
        if solver is not None and self.get_params()["solver"] != solver.default:
            return f"Use solver={solver.default!r}, which goes on"
        softer = "lower C" if hasattr(self, "C") else "raise alpha"
        return (
            f"Divide the similarity by its size, or remove outliers from it, {softer} "
            "or raise tol"
        )

    def _decision_rows(self, X: Any, **further: Any) -> Array:
        """Decision values (n_new, n_rows): the one predict of the library."""
        check_is_fitted(self, "dual_coef_")
        self._refuse_changed_kernel()
        self._refuse_diverged()
        with threads_for(rows_of(X), self.support_.size):
            values = self._outputs(X, **further)
            values += self.intercept_
            return self._add_polynomial(values, X, **further)

    def _outputs(self, X: Any, **further: Any) -> Array:
        """Return the part that the coefficients make; rules not linear override it."""
        return self.row_values(self._support_coef, self._similarities(X))

    @property
    def _support_coef(self) -> Array:
        rows = self._dual_coef
        if isinstance(rows, LandmarkRows):
            return rows.values
        return rows[:, self.support_]

    def row_values(self, coef: Array, K: Array) -> Array:
        """Return what coefficients (n_rows, m) make of raw similarities (n_new, m)."""
        return K @ coef.T

    def _refuse_changed_kernel(self) -> None:
        """Refuse a model whose kernel takes another kind of input than in its fit."""
        fitted = not (hasattr(self, "kernel_") or hasattr(self, "kernels_"))
        if fitted == self._precomputed:
            return
        had = "kernel='precomputed'" if fitted else "a kernel of items"
        raise ValueError(
            f"this {type(self).__name__} was fitted with {had}, and its parameters "
            "were changed since: fit it again, or set the kernel back"
        )

    def _refuse_diverged(self) -> None:
        results = getattr(self, "result_", [])
        for result in results if isinstance(results, list) else [results]:
            if result.status == "diverged":
                raise DivergedError(
                    f"this {type(self).__name__} diverged after {result.n_iter} steps "
                    "and is not a model: result_ has its history. Choose another "
                    "solver or other parameters and fit again"
                )

    def _add_polynomial(self, values: Array, X: Any, **further: Any) -> Array:
        """Add the part that is not on the kernel; models that have one override it."""
        return values

    # ----------------------------------------------------------------- approximation

    @property
    def _approximation(self) -> Any:
        return getattr(self, "approximation", None)

    @property
    def _on_one_thread(self) -> bool:  # type: ignore[override]
        return self._approximation is not None

    def _prepared(self, items: Any, dtype: Any, weight: Array | None) -> Training:
        """Similarities of checked items of positive weight, or an approximation."""
        weight, kept = positive_part(weight)
        if self._approximation is not None:
            return self._approximated(items, dtype, weight, kept)
        K, facts = self._training_kernel(items, dtype, kept)
        n = K.shape[0]
        return Training(
            K if kept is None else K.subset(kept), weight, kept, n, facts=facts
        )

    def _approximated(
        self, items: Any, dtype: Any, weight: Array | None, kept: np.ndarray | None
    ) -> Training:
        """Train at low rank; only the landmarks are kept for prediction."""
        nystroem = clone(self._approximation)
        if nystroem.kernel not in ("precomputed", self.kernel):
            raise ValueError(
                f"approximation has kernel={nystroem.kernel!r}, the estimator has "
                f"kernel={self.kernel!r}: give the kernel to the estimator only"
            )
        nystroem.set_params(kernel=self.kernel, symmetrize=self.symmetrize)
        facts: dict[str, Any]
        if self._precomputed:
            source, facts = self._training_kernel(items, dtype)
        else:
            kernel = self._settled_kernel(items, kept)
            source = Similarities(items, kernel)
            facts = {"kernel_": kernel}
        used = source if kept is None else source.subset(kept)
        found = nystroem.approximate(used, weight=weight)
        positions = found.landmarks if kept is None else kept[found.landmarks]
        facts["approximation_error_"] = found.error
        facts["X_fit_"] = None if self._precomputed else take(items, positions)
        return Training(found.low_rank, weight, kept, source.shape[0], positions, facts)


def _worst(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.certificate.relative)


def landmark_columns(estimator: Any, X: Any, landmarks: np.ndarray) -> Array:
    """Columns of the landmarks in precomputed rows, of all items or landmarks only."""
    if estimator.n_features_in_ != landmarks.size:
        given = check_array(X, dtype=np.float64, input_name="X", accept_sparse="csr")
        if given.shape[1] == landmarks.size:
            return given
    X = estimator._check_items(X, reset=False)
    return X if X.shape[1] == landmarks.size else X[:, landmarks]
