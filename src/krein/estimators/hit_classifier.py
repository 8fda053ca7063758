"""A classifier on hits, with an answer for items that hit nothing."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from krein.declarations import (
    CONSTRAINTS,
    Documented,
    Fitted,
    available_when,
    declares_parameters,
    replaces_state,
)
from krein.estimators._tasks import check_classes
from krein.estimators.hits import HitSimilarity
from krein.sklearn_internals import HasMethods


def _has_probabilities(model: HitClassifier) -> bool:
    inner = getattr(model, "estimator_", None) or model._inner()
    if hasattr(inner, "predict_proba"):
        return True
    raise AttributeError(
        "predict_proba needs an estimator with probabilities: fit "
        "HitClassifier(SpectrumSVCCV()) or another one that has them instead"
    )


@declares_parameters
class HitClassifier(ClassifierMixin, Documented):
    """A classifier on hits: similarity, model, and an answer for "no hit at all".

    Parameters
    ----------
    estimator : classifier, optional
        Trained on the rows of a sparse similarity, e.g. `SpectrumSVC`. By default a
        linear SVM on the rows as features, each of length 1: a new item has no hit of
        itself and often fewer hits, and only their proportions are compared. It
        minimises ``(|w|^2 + b^2) / 2 + C sum max(0, 1 - y (w'x + b))^2`` for each class
        against the rest.
    C : float
        Inverse strength of the penalty of the default estimator.
    similarity : HitSimilarity, optional
        How hits become similarities.
    no_hit_label : label, optional
        What `predict` returns for a new item without any hit among the training
        items, of the type of the labels (text or a number); None: what the model says
        where all similarities are 0. Probabilities of such an item are the shares of
        the classes among the training items.

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
    Fan, Chang, Hsieh, Wang, Lin (2008), Journal of Machine Learning Research 9
    (LIBLINEAR, which is used).

    Examples
    --------
    >>> import scipy.sparse
    >>> from krein import HitClassifier
    >>> hits = scipy.sparse.csr_array([[9.0, 5.0, 0], [5.0, 9.0, 0], [0, 0, 9.0]])
    >>> model = HitClassifier(no_hit_label="?").fit(hits, ["a", "a", "b"])
    >>> model.predict(scipy.sparse.csr_array([[4.0, 0, 0], [0, 0, 0]]))
    array(['a', '?'], dtype='<U1')
    """

    estimator: Any = None
    _: KW_ONLY
    C: float = 1.0
    similarity: Any = None
    no_hit_label: Any = None

    _fitted_state = Fitted.state(
        Fitted("similarity_", "model"),
        Fitted("estimator_", "model"),
        Fitted("classes_", "labels", "c"),
        Fitted("class_prior_", "numbers", "c"),
        Fitted("objective_", "numbers", "r", needed=False),  # in files of 0.2
        Fitted("duality_gap_", "numbers", "r", needed=False),
    )

    _parameter_constraints = CONSTRAINTS | {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "similarity": [HitSimilarity, None],
        "no_hit_label": "no_validation",
    }

    def __sklearn_tags__(self):
        """Declare a square matrix to splitters, sparse or not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of training items."""
        if "similarity_" not in vars(self):
            raise AttributeError("n_features_in_ is known after fit")
        return self.similarity_.n_features_in_

    def _inner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # The similarity was made here: it may be scaled in place.
        return make_pipeline(Normalizer(copy=False), LinearSVC(C=self.C))

    @replaces_state
    def fit(self, X: Any, y: Any) -> Self:
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
        similarity = clone(self.similarity or HitSimilarity())
        K = similarity.fit_transform(X)
        classes, codes = check_classes(y, K.shape[0], self)
        _check_no_hit_label(self.no_hit_label, classes)
        y = classes[codes]
        self.adopt(similarity, clone(self._inner()).fit(K, y), y)
        return self

    def adopt(self, similarity, estimator, y):
        """Take over a similarity and an estimator that were fitted elsewhere.

        Parameters
        ----------
        similarity : HitSimilarity
            Fitted on the hits of the training items.
        estimator : classifier
            Fitted on the similarities that it returned.
        y : array-like of shape (n,)
            Class labels of the training items.
        """
        classes, counts = np.unique(np.asarray(y), return_counts=True)
        _check_no_hit_label(self.no_hit_label, classes)
        self.similarity_ = similarity
        self.estimator_ = estimator
        self.classes_ = classes
        self.class_prior_ = counts / counts.sum()

    def has_hits(self, X: Any, back: Any = None, self_scores: Any = None) -> np.ndarray:
        """Whether each new item has a hit among the training items.

        Parameters
        ----------
        X : Named, or sparse array of shape (n_new, n_train)
            Hits of new items among the training items.
        back, self_scores
            As in `HitSimilarity.transform`.

        Returns
        -------
        ndarray of bool of shape (n_new,)
        """
        return np.diff(self._similarity(X, back, self_scores).indptr) > 0

    def _similarity(self, X: Any, back: Any, self_scores: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return self.similarity_.transform(X, back, self_scores)

    def decision_function(
        self, X: Any, back: Any = None, self_scores: Any = None
    ) -> np.ndarray:
        """Scores of the model.

        Parameters
        ----------
        X, back, self_scores
            As in `has_hits`.

        Returns
        -------
        ndarray of shape (n_new,) or (n_new, n_classes)
        """
        K = self._similarity(X, back, self_scores)
        return self.estimator_.decision_function(K)

    def predict(self, X: Any, back: Any = None, self_scores: Any = None) -> np.ndarray:
        """Class labels, or `no_hit_label` for items without a hit.

        Parameters
        ----------
        X, back, self_scores
            As in `has_hits`.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        K = self._similarity(X, back, self_scores)
        labels = self.estimator_.predict(K)
        if self.no_hit_label is None:
            return labels
        return np.where(np.diff(K.indptr) > 0, labels, self.no_hit_label)

    @available_when(_has_probabilities)
    def predict_proba(
        self, X: Any, back: Any = None, self_scores: Any = None
    ) -> np.ndarray:
        """Class probabilities; the shares of the classes for items without a hit.

        Parameters
        ----------
        X, back, self_scores
            As in `has_hits`.

        Returns
        -------
        ndarray of shape (n_new, n_classes)
        """
        K = self._similarity(X, back, self_scores)
        probabilities = self.estimator_.predict_proba(K)
        probabilities[np.diff(K.indptr) == 0] = self.class_prior_
        return probabilities


def _check_no_hit_label(label: Any, classes: np.ndarray) -> None:
    """Refuse a label that is a class, or that would change the type of the others."""
    if label is None:
        return
    kinds = np.asarray(label).dtype.kind, np.asarray(classes.tolist()).dtype.kind
    fits = kinds[0] == kinds[1] or kinds == ("i", "f")
    if not fits or label in classes.tolist():
        raise ValueError(
            f"no_hit_label={label!r} must be of the type of the labels, which are like "
            f"{classes.tolist()[0]!r}, and stand for nothing else: it is a class of y, "
            "or predictions would be of another type than y"
        )
