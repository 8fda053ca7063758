"""Kernels on strings: names, words, short texts. rapidfuzz does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.kernels.distances import (
    check_both,
    check_items,
    distance_facts,
    normalize_scores,
    similarity_of,
)
from krein.kernels.registry import register_kernel
from krein.optional import import_optional


def check_strings(X: Any, name: str = "X") -> list[str]:
    """Return a list of strings that are not empty, or name the one at fault."""
    check_items(X, name)
    strings = list(X)
    for i, item in enumerate(strings):
        if not isinstance(item, str):
            raise TypeError(
                f"{name}[{i}] must be a string, got {type(item).__name__}: {item!r}"
            )
        if not item:
            raise ValueError(
                f"{name}[{i}] is an empty string; leave such items out or give them a "
                "text"
            )
    return strings


def _all_pairs(scorer: str, X: Any, Y: Any) -> np.ndarray:
    """Scores of all pairs as doubles (rapidfuzz would return single precision)."""
    first, second, _ = check_both(X, Y, check_strings)
    library = import_optional(
        "rapidfuzz", extra="strings", needed_for="a kernel on strings"
    )
    algorithm, score = scorer.split(".")
    function = getattr(getattr(library.distance, algorithm), score)
    # workers=2 would do nothing for the scorers that hold the interpreter lock.
    return library.process.cdist(first, second, scorer=function, dtype=np.float64)


def _lengths(X: Any) -> np.ndarray:
    return np.array([len(x) for x in X], dtype=float)


def _edit_distances(
    scorer: str, X: Any, Y: Any = None, *, normalize: bool = False
) -> np.ndarray:
    D = _all_pairs(scorer, X, Y)
    if not normalize:
        return D
    columns = _lengths(X if Y is None else Y)
    return D / np.maximum(_lengths(X)[:, None], columns[None, :])


def edit_distance(X: Any, Y: Any = None, *, normalize: bool = False) -> np.ndarray:
    """Levenshtein distance: insertions, deletions and substitutions."""
    return _edit_distances("Levenshtein.distance", X, Y, normalize=normalize)


def damerau_distance(X: Any, Y: Any = None, *, normalize: bool = False) -> np.ndarray:
    """Damerau-Levenshtein distance: also swaps of neighbours, unrestricted."""
    return _edit_distances("DamerauLevenshtein.distance", X, Y, normalize=normalize)


_INDEFINITE: dict[str, Any] = {
    "input": "strings",
    "definiteness": "indefinite",
    "extra": "strings",
}


@register_kernel(
    "edit",
    **_INDEFINITE,
    reference="Levenshtein (1966), Soviet Physics Doklady 10",
    witness="all words of length 1 to 4 over {a, b}; gamma=0.1",
    **distance_facts(edit_distance),
)
def edit_kernel(X, Y=None, *, normalize=False, gamma=1.0, similarity="exponential"):
    """Kernel of the Levenshtein distance.

    This edit distance counts insertions, deletions and substitutions of letters.

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.
    normalize : bool
        Divide the distance by the length of the longer string.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        ``"exponential"`` exp(-gamma d), ``"gaussian"`` exp(-gamma d^2),
        ``"inverse"`` 1 / (1 + gamma d), ``"negative"`` -gamma d; by `Kernel.fit` also
        ``"max"`` and ``"centred"``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Levenshtein (1966), "Binary codes capable of correcting deletions, insertions and
    reversals".

    Examples
    --------
    >>> from krein import edit_kernel
    >>> edit_kernel(["kitten"], ["sitting", "kitten"], similarity="negative") + 0.0
    array([[-3.,  0.]])
    """
    return similarity_of(edit_distance, X, Y, gamma, similarity, normalize=normalize)


@register_kernel(
    "damerau",
    **_INDEFINITE,
    reference="Damerau (1964), Communications of the ACM 7",
    witness="all words of length 1 to 4 over {a, b}; gamma=0.1",
    **distance_facts(damerau_distance),
)
def damerau_kernel(X, Y=None, *, normalize=False, gamma=1.0, similarity="exponential"):
    """Kernel of the Damerau-Levenshtein distance (swaps of neighbours cost one).

    Parameters
    ----------
    X, Y : lists of str
        Strings, not empty; Y defaults to X.
    normalize : bool
        Divide the distance by the length of the longer string.
    gamma : float or "median"
        Factor of the distance; the word is settled by `Kernel.fit`.
    similarity : str
        As in `edit_kernel`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Damerau (1964), "A technique for computer detection and correction of spelling
    errors".

    Examples
    --------
    >>> from krein import damerau_kernel
    >>> damerau_kernel(["form"], ["from"], similarity="negative")
    array([[-1.]])
    """
    return similarity_of(damerau_distance, X, Y, gamma, similarity, normalize=normalize)


@register_kernel(
    "jaro_winkler",
    **_INDEFINITE,
    reference="Winkler (1990), Proceedings of the Section on Survey Research Methods",
    witness="all words of length 1 to 4 over {a, b}",
)
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
    Fellegi-Sunter model of record linkage".

    Examples
    --------
    >>> from krein import jaro_winkler_kernel
    >>> jaro_winkler_kernel(["martha"], ["marhta"]).round(4)
    array([[0.9611]])
    """
    return _all_pairs("JaroWinkler.similarity", X, Y)


@register_kernel(
    "lcs",
    **_INDEFINITE,
    reference="Hirschberg (1975), Communications of the ACM 18",
    witness="all words of length 1 to 4 over {a, b}",
)
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
    subsequences".

    Examples
    --------
    >>> from krein import lcs_kernel
    >>> lcs_kernel(["krein"], ["kernel", "hilbert"])
    array([[3., 1.]])
    """
    scores = _all_pairs("LCSseq.similarity", X, Y)
    if not normalize:
        return scores
    return normalize_scores(scores, _lengths(X), _lengths(X if Y is None else Y))
