"""A classifier on hits, with an answer for items that hit nothing."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    _fit_context,
    clone,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from krein.estimators.hits import HitSimilarity
from krein.store.state import Fitted, State

__all__ = ["HitClassifier"]


def _has_probabilities(model: HitClassifier) -> bool:
    inner = getattr(model, "estimator_", None) or model._inner()
    inner.predict_proba  # noqa: B018  raises as the estimator itself does
    return True


class HitClassifier(ClassifierMixin, BaseEstimator):
    """A classifier on hits: similarity, model, and an answer for "no hit at all".

    Parameters
    ----------
    estimator : classifier, optional
        Trained on the rows of a sparse similarity, e.g. `SpectrumSVC`. By default a
        linear SVM on the rows as features, each of length 1: a new item has no hit of
        itself and often fewer hits, and only their proportions are compared.
    C : float
        Inverse strength of the penalty of the default estimator.
    similarity : HitSimilarity, optional
        How hits become similarities.
    no_hit_label : label, optional
        What `predict` returns for a new item without any hit among the training
        items; None: what the model says where all similarities are 0. Probabilities
        of such an item are the shares of the classes among the training items.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, without `no_hit_label`.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes among the training items.
    estimator_, similarity_
        The fitted parts.

    References
    ----------
    Liao, Noble (2003), Journal of Computational Biology 10, on scores as features.

    Examples
    --------
    >>> import scipy.sparse
    >>> from krein import HitClassifier
    >>> hits = scipy.sparse.csr_array([[9.0, 5.0, 0], [5.0, 9.0, 0], [0, 0, 9.0]])
    >>> model = HitClassifier(no_hit_label="?").fit(hits, ["a", "a", "b"])
    >>> model.predict(scipy.sparse.csr_array([[4.0, 0, 0], [0, 0, 0]]))
    array(['a', '?'], dtype='<U1')
    """

    _fitted_state: State = (
        Fitted("similarity_", "model"),
        Fitted("estimator_", "model"),
        Fitted("classes_", "labels", "c"),
        Fitted("class_prior_", "numbers", "c"),
    )

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "similarity": [HitSimilarity, None],
        "no_hit_label": "no_validation",
    }

    def __init__(self, estimator=None, *, C=1.0, similarity=None, no_hit_label=None):
        self.estimator = estimator
        self.C = C
        self.similarity = similarity
        self.no_hit_label = no_hit_label

    def __sklearn_tags__(self):
        """Declare a square matrix to splitters, sparse or not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        return tags

    def _inner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return make_pipeline(Normalizer(), LinearSVC(C=self.C))

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Fit similarity and model.

        Parameters
        ----------
        X : Named, or sparse array of shape (n, n)
            Hits of training items among themselves.
        y : array-like of shape (n,)
            Class labels.

        Returns
        -------
        self
        """
        self.similarity_ = clone(self.similarity or HitSimilarity())
        K = self.similarity_.fit_transform(X)
        self.estimator_ = clone(self._inner()).fit(K, y)
        self.classes_, counts = np.unique(np.asarray(y), return_counts=True)
        self.class_prior_ = counts / counts.sum()
        if self.no_hit_label is not None and self.no_hit_label in self.classes_:
            raise ValueError(
                f"no_hit_label={self.no_hit_label!r} is a class of y; choose a label "
                "that stands for nothing else"
            )
        return self

    def has_hits(self, X):
        """Whether each new item has a hit among the training items.

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)

        Returns
        -------
        ndarray of bool of shape (n_new,)
        """
        check_is_fitted(self, "estimator_")
        return np.diff(self.similarity_.transform(X).indptr) > 0

    def decision_function(self, X):
        """Scores of the model.

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)

        Returns
        -------
        ndarray of shape (n_new,) or (n_new, n_classes)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(self.similarity_.transform(X))

    def predict(self, X):
        """Class labels, or `no_hit_label` for items without a hit.

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)

        Returns
        -------
        ndarray of shape (n_new,)
        """
        check_is_fitted(self, "estimator_")
        K = self.similarity_.transform(X)
        labels = self.estimator_.predict(K)
        if self.no_hit_label is None:
            return labels
        return np.where(np.diff(K.indptr) > 0, labels, self.no_hit_label)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Class probabilities; the shares of the classes for items without a hit.

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        check_is_fitted(self, "estimator_")
        K = self.similarity_.transform(X)
        probabilities = self.estimator_.predict_proba(K)
        probabilities[np.diff(K.indptr) == 0] = self.class_prior_
        return probabilities
