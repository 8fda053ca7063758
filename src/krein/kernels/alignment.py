"""Kernels on biological sequences, by alignment scores. parasail does the work.

A gap of k residues costs ``gap_open + k * gap_extend``, as BLAST counts (11 and 1 mean
12 for the first residue); parasail itself counts the first residue as `gap_open`.

``matrix="auto"`` looks at the letters of the training items: DNA and RNA are scored by
DNAfull (EDNAFULL: match 5, mismatch -4, IUPAC codes), anything else by BLOSUM62. It is
settled by `krein.Kernel.fit`, so that all blocks of a matrix have the same scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from krein.kernels import distances
from krein.kernels.registry import register_kernel
from krein.kernels.strings import check_text
from krein.words import import_optional, warn_user

_LARGEST_16_BIT = 2**15 - 1
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BASES = "ACGTUN"
_AMBIGUOUS_BASES = "RYKMSWBDHV"
_LEAST_BASES = 0.9  # share of plain bases among the letters of DNA and RNA
_LEAST_LETTERS = 10  # one protein in 10^6 begins with so many bases


def _parasail() -> Any:
    return import_optional("parasail", extra="bio", needed_for="sequence alignment")


def _is_nucleic(X: Any) -> bool:
    """Whether sequences are DNA or RNA: plain bases, and few codes for several."""
    counts: Counter[str] = Counter()
    for item in X:
        counts.update(item.upper() if isinstance(item, str) else "?")
    few = counts.total() < _LEAST_LETTERS
    if few or not counts.keys() <= {*_BASES, *_AMBIGUOUS_BASES}:
        return False
    return sum(counts[letter] for letter in _BASES) >= _LEAST_BASES * counts.total()


def _choose_matrix(X: Any, params: Mapping[str, Any] | None) -> str:
    """Return the matrix for the training items; without parameters, BLOSUM62.

    Of DNA and RNA it is said what they are aligned with.
    """
    if not _is_nucleic(X):
        return "blosum62"
    if params is None:
        used = "blosum62, a matrix for proteins: pass matrix='dnafull', or 'blosum62'"
    else:
        used = "matrix='dnafull' (match 5, mismatch -4); matrix= chooses another"
    warn_user(f"the sequences are DNA or RNA and are aligned with {used}")
    return "blosum62" if params is None else "dnafull"


def _substitution_matrix(matrix: Any) -> tuple[Any, str]:
    """The matrix of parasail and the letters it knows."""
    library = _parasail()
    found = None
    if isinstance(matrix, str):
        found = getattr(library, matrix.lower(), None)
    elif isinstance(matrix, tuple) and len(matrix) == 2:
        found = library.matrix_create(_LETTERS, *(int(score) for score in matrix))
    if not isinstance(found, library.Matrix):
        raise ValueError(
            f"matrix={matrix!r} is no name of a substitution matrix (blosum62, pam250, "
            "dnafull, ...) nor a pair (match, mismatch); 'auto' needs a krein.Kernel "
            "that is fitted"
        )
    codes = np.asarray(found.mapper)
    # parasail scores a letter it does not know as '*', without a word.
    unknown = codes[ord("!")]
    letters = "".join(letter for letter in _LETTERS if codes[ord(letter)] != unknown)
    if found is library.dnafull:  # U, which is scored as T, is its last letter
        letters += "U"
    return found, letters


def _check_one(letters: str, item: Any) -> str:
    """Return an upper-case sequence over `letters`, or name position and letter."""
    sequence = check_text(item).upper()
    unknown = set(sequence).difference(letters)
    if unknown:
        position = min(sequence.index(letter) for letter in unknown)
        raise ValueError(
            f"has the letter {item[position]!r} at position {position}; the "
            f"substitution matrix knows {letters}. Leave out gaps and stops"
        )
    return sequence


def _check_gaps(gap_open: Any, gap_extend: Any) -> tuple[int, int]:
    for name, cost in (("gap_open", gap_open), ("gap_extend", gap_extend)):
        # parasail counts in 32 bits.
        check_scalar(cost, name, Integral, min_val=0, max_val=2**24)
    return int(gap_open) + int(gap_extend), int(gap_extend)


def _row_scores(
    algorithm: str, matrix: Any, gaps: tuple[int, int]
) -> Callable[[str, list[str]], list[int]]:
    """A function that aligns one sequence to many, by a profile of the one."""
    library = _parasail()
    # Stripes leave out gaps where opening one costs nothing: 40 % of global scores.
    layout = "striped" if gaps[0] > gaps[1] else "scan"
    # No score can be larger in size than this times the residues of both sequences.
    per_residue = max(abs(matrix.max), abs(matrix.min)) + gaps[1]

    def scores(query: str, subjects: list[str]) -> list[int]:
        most = per_residue * (len(query) + max(map(len, subjects))) + 2 * gaps[0]
        bits = "sat" if most < _LARGEST_16_BIT else "32"
        align = getattr(library, f"{algorithm}_{layout}_profile_{bits}")
        profile = getattr(library, f"profile_create_{bits}")(query, matrix)
        return [align(profile, subject, *gaps).score for subject in subjects]

    return scores


def _alignment_scores(
    algorithm: str, X: Any, Y: Any, matrix: Any, costs: tuple[Any, Any], normalize: bool
) -> np.ndarray:
    gaps = _check_gaps(*costs)
    distances.check_items(X, "X")
    matrix = _choose_matrix(X, None) if matrix is None else matrix
    found, letters = _substitution_matrix(matrix)
    first, second = distances.check_both(X, Y, partial(_check_one, letters))
    scores = _row_scores(algorithm, found, gaps)
    K = distances.fill_pairs(first, second, lambda i, k: scores(first[i], second[k:]))
    if not normalize:
        return K
    own_first = np.ravel([scores(x, [x]) for x in first])
    own_second = np.ravel([scores(x, [x]) for x in second])
    return distances.normalize_scores(K, own_first, own_second)


_FACTS: dict[str, Any] = {
    "input": "strings",
    "definiteness": "indefinite",
    "extra": "bio",
    "parallel": "processes",
    "resolve": {"matrix": {"auto": _choose_matrix}},
    "by_name": {"matrix": "auto"},
    "once": ("matrix",),
    "witness": "all DNA words of length 2 and 3; matrix=(1, -1), gaps 1 and 1",
}


@register_kernel("smith_waterman", **_FACTS)
def smith_waterman_kernel(
    X, Y=None, *, matrix=None, gap_open=11, gap_extend=1, normalize=False
):
    """Score of the best local alignment (Smith-Waterman).

    Parameters
    ----------
    X, Y : lists of str
        Sequences in upper or lower case; Y defaults to X.
    matrix : "auto", str or tuple, optional
        Substitution matrix by name ("blosum62", "pam250", "dnafull", ...), or
        ``(match, mismatch)`` scores for letters A to Z; "blosum62" when not given.
        "auto", settled by `Kernel.fit`, is "dnafull" for DNA and RNA and "blosum62"
        for proteins, and the default of a kernel given by name.
    gap_open, gap_extend : int
        A gap of k residues costs ``gap_open + k * gap_extend``, as in BLAST.
    normalize : bool
        Return ``s(a, b) / sqrt(s(a, a) s(b, b))``.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Smith, Waterman (1981), "Identification of common molecular subsequences", Journal
    of Molecular Biology 147; Daily (2016), "Parasail".

    Examples
    --------
    >>> from krein import smith_waterman_kernel
    >>> smith_waterman_kernel(["HEAGAWGHEE"], ["PAWHEAE"])
    array([[17.]])
    """
    return _alignment_scores("sw", X, Y, matrix, (gap_open, gap_extend), normalize)


@register_kernel("needleman_wunsch", **_FACTS)
def needleman_wunsch_kernel(
    X, Y=None, *, matrix=None, gap_open=11, gap_extend=1, normalize=False
):
    """Score of the best global alignment (Needleman-Wunsch; end gaps cost as others).

    Parameters
    ----------
    X, Y : lists of str
        Sequences in upper or lower case; Y defaults to X.
    matrix, gap_open, gap_extend, normalize
        As in `smith_waterman_kernel`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Needleman, Wunsch (1970), "A general method applicable to the search for
    similarities in the amino acid sequence of two proteins", Journal of Molecular
    Biology 48; Daily (2016), "Parasail".

    Examples
    --------
    >>> from krein import needleman_wunsch_kernel
    >>> needleman_wunsch_kernel(["ACGT"], ["ACGT", "AC"], matrix=(2, -1), gap_open=1)
    array([[8., 1.]])
    """
    return _alignment_scores("nw", X, Y, matrix, (gap_open, gap_extend), normalize)
