"""Models saved by a command: with names, labels and range of the training items."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

import krein
from krein.cli import console
from krein.cli.console import Inputs
from krein.comparison.problem import Problem
from krein.words import warn_user


def save_fitted(model: Any, path: Any, read: Inputs, problem: Problem) -> Any:
    """Save with names and labels of the training items; return what was saved."""
    if read.rule is not None:
        model = _with_rule(model, read.rule, problem.labels)
    model.item_labels_ = [str(label) for label in problem.labels]
    if problem.kernel is not None and read.columns:
        model.item_columns_ = list(read.columns)
    if problem.kernel is not None and read.names_from is not None:
        model.item_title_ = [read.names_from]
    if problem.kernel is not None and console.takes_matrix(model):
        warn_user("the model takes rows of krein kernel NAME NEW --against TRAINING")
    save_named(model, path, read.names, problem.K if problem.kernel is None else None)
    return model


def save_named(model: Any, path: Any, names: list[str] | None, K: Any) -> None:
    """Save with names of the training items and the range of a dense matrix."""
    if names is not None:
        model.item_names_ = list(names)
    if isinstance(K, np.ndarray):
        model.item_range_ = np.array([K.min(), K.max()])
    krein.save_model(model, path)


def _with_rule(model: Any, rule: Any, labels: Any) -> Any:
    """Join a model on similarities with the rule that makes them of hits."""
    whole = krein.HitClassifier(clone(model))
    inner = model
    if isinstance(model, krein.HitClassifier):  # its own rule changes nothing
        whole = clone(model)
        inner = model.estimator_
    whole.set_params(similarity=clone(rule)).adopt(rule, inner, labels)
    return whole
