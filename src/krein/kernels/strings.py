"""Kernels on strings: names, words, short texts. rapidfuzz does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.kernels import distances
from krein.kernels.registry import register_kernel
from krein.words import import_optional

_FACTS: dict[str, Any] = {
    "input": "strings",
    "definiteness": "indefinite",
    "extra": "strings",
    "witness": "all words of length 1 to 4 over {a, b}; gamma=0.1 for distances",
}


def check_text(item: Any) -> str:
    """Return a string that is not empty."""
    if not isinstance(item, str):
        raise TypeError(f"must be a string, got {type(item).__name__}: {item!r}")
    if not item:
        raise ValueError("is an empty string; leave such items out or give them a text")
    return item


def _all_pairs(scorer: str, X: Any, Y: Any) -> tuple[np.ndarray, ...]:
    """Scores of all pairs and the lengths of the strings, as doubles."""
    first, second = distances.check_both(X, Y, check_text)
    library = import_optional("rapidfuzz", extra="strings", needed_for="string kernels")
    algorithm, score = scorer.split(".")
    function = getattr(getattr(library.distance, algorithm), score)
    # workers=2 would do nothing for the scorers that hold the interpreter lock.
    scores = library.process.cdist(first, second, scorer=function, dtype=np.float64)
    rows = np.array([len(x) for x in first], dtype=float)
    columns = np.array([len(x) for x in second], dtype=float)
    return scores, rows, columns


def _edit_distances(scorer: str, X: Any, Y: Any, normalize: bool) -> np.ndarray:
    D, rows, columns = _all_pairs(scorer, X, Y)
    return D / np.maximum.outer(rows, columns) if normalize else D


@distances.distance_kernel("edit", **_FACTS)
def edit_kernel(X, Y=None, *, normalize=False):
    """Kernel of the Levenshtein distance.

    This edit distance counts insertions, deletions and substitutions of letters.

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.
    normalize : bool
        Divide the distance by the length of the longer string.

    References
    ----------
    Levenshtein (1966), "Binary codes capable of correcting deletions, insertions and
    reversals", Soviet Physics Doklady 10.

    Examples
    --------
    >>> from krein import edit_kernel
    >>> edit_kernel(["kitten"], ["sitting", "kitten"], similarity="negative") + 0.0
    array([[-3.,  0.]])
    """
    return _edit_distances("Levenshtein.distance", X, Y, normalize)


@distances.distance_kernel("damerau", **_FACTS)
def damerau_kernel(X, Y=None, *, normalize=False):
    """Kernel of the Damerau-Levenshtein distance (swaps of neighbours cost one).

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.
    normalize : bool
        Divide the distance by the length of the longer string.

    References
    ----------
    Damerau (1964), "A technique for computer detection and correction of spelling
    errors", Communications of the ACM 7.

    Examples
    --------
    >>> from krein import damerau_kernel
    >>> damerau_kernel(["form"], ["from"], similarity="negative")
    array([[-1.]])
    """
    return _edit_distances("DamerauLevenshtein.distance", X, Y, normalize)


@register_kernel("jaro_winkler", **_FACTS)
def jaro_winkler_kernel(X, Y=None):
    """Jaro-Winkler similarity of names, between 0 and 1 (prefix weight 0.1).

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Winkler (1990), "String comparator metrics and enhanced decision rules in the
    Fellegi-Sunter model of record linkage", Proceedings of the Section on Survey
    Research Methods.

    Examples
    --------
    >>> from krein import jaro_winkler_kernel
    >>> jaro_winkler_kernel(["martha"], ["marhta"]).round(4)
    array([[0.9611]])
    """
    return _all_pairs("JaroWinkler.similarity", X, Y)[0]


@register_kernel("lcs", **_FACTS)
def lcs_kernel(X, Y=None, *, normalize=False):
    """Length of the longest common subsequence (LCS; gaps are free).

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.
    normalize : bool
        Divide by the geometric mean of the two lengths.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Hirschberg (1975), "A linear space algorithm for computing maximal common
    subsequences", Communications of the ACM 18.

    Examples
    --------
    >>> from krein import lcs_kernel
    >>> lcs_kernel(["krein"], ["kernel", "hilbert"])
    array([[3., 1.]])
    """
    scores, rows, columns = _all_pairs("LCSseq.similarity", X, Y)
    return distances.normalize_scores(scores, rows, columns) if normalize else scores
