"""Tables of hits on the command line: read, made a similarity, taken up by a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from krein import HitClassifier, HitSimilarity
from krein.files import (
    FallingScoreError,
    FormatError,
    Named,
    kind_of_hits,
    read_hits,
)
from krein.splitting import near_duplicate_share

_MEMBERS = (10, 5)  # classes with fewer items are left out of a table of hits


def read_if_hits(path: str, format: str | None) -> Named | None:
    """Read a table of hits as a sparse array of scores; None if it is none."""
    if path == "-" or not Path(path).is_file() or format not in (None, "pairs"):
        return None
    try:
        kind = kind_of_hits(Path(path))
        if kind == "none":
            return None
        hits = read_hits(path)
    except FallingScoreError:
        raise
    except FormatError:
        return None  # the reader of matrices says what is wrong
    n = hits.data.shape[0]
    if kind == "pairs" and _is_whole(hits.data):
        return None  # a matrix, written as pairs
    if hits.columns is not None:
        raise ValueError(f"{path} has hits of {n} items on others, not on each other")
    share = hits.data.nnz / n**2
    note = f"read {hits.data.nnz} hits of {n} items ({share:.2%} of the pairs)"
    return replace(hits, notes=[note, *hits.notes])


def _is_whole(hits: Any) -> bool:
    """Whether every pair is there: in both directions, or in one."""
    n = hits.shape[0]
    both = (hits != 0) + (hits != 0).T
    return both.nnz - np.count_nonzero(both.diagonal()) >= n * (n - 1)


def as_similarity(read: Any) -> tuple[Any, list[str]]:
    """Make a similarity of hits; how that was done stays with it, for new items."""
    own = bool((read.data.diagonal() > 0).any())
    rule = HitSimilarity(normalize=own)
    K = rule.fit_transform(Named(read.data, read.names))
    said = "scores as they are: there are no self scores"
    if own:
        said = (
            f"scores over the roots of self scores, {rule.n_imputed_} of them missing"
        )
    note = f"the better direction of a pair counts; {said}"
    return replace(read, data=K, rule=rule), [note]


def with_rule(model: Any, rule: Any, labels: Any) -> Any:
    """Join a model on similarities with the rule that makes them of hits."""
    if isinstance(
        model, HitClassifier
    ):  # on similarities: its own rule changes nothing
        whole, inner = (
            HitClassifier(C=model.C, similarity=clone(rule)),
            model.estimator_,
        )
        whole.objective_, whole.duality_gap_ = model.objective_, model.duality_gap_
    else:
        whole, inner = HitClassifier(clone(model), similarity=clone(rule)), model
    whole.adopt(rule, inner, labels)
    return whole


def new_hits(model: Any, path: str, names: str | None, label: str) -> tuple[Any, list]:
    """Read hits of new items for a model of hits; say how many have none."""
    hits = read_hits(path)
    if label in [str(c) for c in model.classes_]:
        raise ValueError(f"--no-hit {label!r} is a class; choose another word")
    model.no_hit_label = label
    listed = None if names is None else list(dict.fromkeys(_names_in(names)))
    parts = model.similarity_.new_items(hits, listed)
    found = model.has_hits(**parts)
    note = (
        f"{int((~found).sum())} of {found.size} items have no hit among the "
        f"{model.similarity_.n_features_in_} training items: {label!r}"
    )
    return parts, [note]


def _names_in(path: str) -> list[str]:
    """Names of a FASTA file, or one a line."""
    lines = Path(path).read_text().splitlines()
    heads = [line[1:] for line in lines if line.startswith(">")]
    return [line.split()[0] for line in heads or lines if line.strip()]


def leave_out_rare(read: Any, members: int | None) -> tuple[Any, list[str]]:
    """Leave out items of classes that are too small to train and test on.

    Without a number of members that of tables of hits: 10, or 5 where 10 would leave
    out most items.
    """
    classes, codes = np.unique(read.target, return_inverse=True)
    counts = np.bincount(codes)
    tried = _MEMBERS if members is None else (members,)
    for least in tried:
        kept = np.flatnonzero(counts[codes] >= least)
        if 2 * kept.size > codes.size:
            break
    if kept.size == codes.size:
        return read, []
    large = int((counts >= least).sum())
    if large < 2:
        raise ValueError(
            f"{large} classes have {least} items or more; at least two are needed. "
            "Choose a smaller --min-members"
        )
    note = (
        f"{codes.size - kept.size} items of {classes.size - large} classes with fewer "
        f"than {least} members are left out (--min-members); {kept.size} items of "
        f"{large} classes remain"
    )
    return read.part(kept, len(codes)), [note]


def near_duplicates(K: Any) -> list[str]:
    """Say how many items have a near-duplicate, which may lie on the other side."""
    share = near_duplicate_share(K)
    if share < 0.05:
        return []
    return [
        f"{share:.0%} of the items have a near-duplicate (similarity of 0.9 or "
        "more): random folds put them on both sides, and errors will look too small. "
        "--split-by-similarity 0.5 keeps relatives together"
    ]
