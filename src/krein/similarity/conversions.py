"""Conversions: what becomes of distances, or of the distances in similarities.

A conversion is a record, like a fix: a form, its width, and for the local form the
number of neighbours. `settle` takes from the distances of training items what the form
needs (a median, the scale of each item, means, a maximum); the result turns rows of
distances to the training items into similarities, those of new items by the same
numbers.

| form | similarity | settled on training items |
|---|---|---|
| exponential | exp(-gamma d) | gamma = 1 / (width median) |
| gaussian | exp(-gamma d^2) | gamma = 1 / (2 (width median)^2) |
| inverse | 1 / (1 + gamma d) | gamma as for exponential |
| negative | -gamma d | gamma as for exponential |
| local | exp(-gamma d_ij^2 / (s_i s_j)) | s_i, the distance to the 7th nearest item |
| centred | gamma times d^2, doubly centred | mean squared distance of each item |
| max | gamma (largest - d) | the largest distance |

References
----------
Zelnik-Manor, Perona (2004), "Self-tuning spectral clustering", for the local form;
Gower (1968), Biometrika 55, for new items in classical scaling.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse

from krein.arrays import Array
from krein.words import did_you_mean

POINTWISE: dict[str, Callable[[Array, float], Array]] = {
    "exponential": lambda D, gamma: np.exp(-gamma * D),
    "gaussian": lambda D, gamma: np.exp(-gamma * D**2),
    "inverse": lambda D, gamma: 1.0 / (1.0 + gamma * D),
    "negative": lambda D, gamma: -gamma * D,
}
# Forms that have a scale of their own; the word "median" is 1 for them.
FITTED = ("centred", "max", "local")
FORMS = (*POINTWISE, *FITTED)
NEIGHBORS = 7  # whose distance is the scale of an item, as in the paper
AS_GIVEN = "as given"  # the name of no conversion at all

_MULTIPLE = re.compile(r"(?:(\d+(?:\.\d*)?|\.\d+) +)?median")
# Squared distances up to this share of their terms are zero to rounding.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
_SAME = 1e-9  # relative difference of entries of a constant diagonal


@dataclass(frozen=True)
class Conversion:
    """How distances become similarities.

    Attributes
    ----------
    similarity : str
        One of `FORMS`.
    gamma : float or str
        Factor of the distance, or a width in medians of the training distances:
        ``"median"`` is a width of one median, ``"3 median"`` of three.
    neighbors : int
        For the local form.

    Examples
    --------
    >>> import numpy as np
    >>> from krein.similarity.conversions import Conversion
    >>> D = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> Conversion("exponential", "2 median").settle(D).similarities(D).round(2)
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    similarity: str = "exponential"
    gamma: float | str = "median"
    neighbors: int = NEIGHBORS

    def __post_init__(self) -> None:
        if self.similarity not in FORMS:
            raise ValueError(
                f"similarity must be one of {', '.join(FORMS)}, got "
                f"{self.similarity!r}{did_you_mean(str(self.similarity), FORMS)}"
            )
        check_gamma(self.gamma, self.similarity)

    @property
    def formula(self) -> str:
        """What becomes of a distance d, in words."""
        width = self.gamma if isinstance(self.gamma, str) else ""
        factor = f"{self.gamma:g} " if isinstance(self.gamma, Real) else ""
        per_width = f"d / ({width})" if " " in width else f"d / {width}"
        scaled = f"{factor}d" if factor else per_width
        squared = f"{factor}d^2" if factor else f"({scaled})^2 / 2"
        return {
            "exponential": f"exp(-{scaled})",
            "gaussian": f"exp(-{squared})",
            "inverse": f"1 / (1 + {scaled})",
            "negative": f"-{scaled}",
            "local": f"exp(-{factor}d^2 / (s s')), s to neighbour {self.neighbors}",
            "centred": "squared distances, doubly centred",
            "max": "largest distance - d",
        }[self.similarity]

    def settle(self, D: Array, median: float | None = None) -> SettledConversion:
        """Take what the form needs from distances (n, n) of training items.

        `median` is their median distance, where it is known already.
        """
        gamma = gamma_of(self.gamma, D, self.similarity, median)
        if self.similarity == "centred":
            means = np.mean(D**2, axis=1)
            return SettledConversion(self.similarity, gamma, squared_means=means)
        if self.similarity == "max":
            return SettledConversion(self.similarity, gamma, largest=float(D.max()))
        if self.similarity == "local":
            distinct = distinct_items(D)
            scales = local_scales(D[:, distinct], self.neighbors)
            return SettledConversion(
                self.similarity,
                gamma,
                distinct=distinct,
                scales=scales,
                neighbors=self.neighbors,
            )
        return SettledConversion(self.similarity, gamma)


@dataclass(frozen=True)
class SettledConversion:
    """A conversion, with what training items have settled.

    Attributes
    ----------
    similarity : str
        The form.
    gamma : float
        Factor.
    squared_means : ndarray of shape (n,) or None
        Mean squared distance of each training item.
    largest : float or None
        Largest distance between training items.
    distinct : ndarray of int or None
        Training items that are no copy of an earlier one.
    scales : ndarray of shape (n,) or None
        Scale of each training item.
    neighbors : int
        Whose distance is the scale of a new item.
    """

    similarity: str
    gamma: float
    squared_means: Array | None = None
    largest: float | None = None
    distinct: np.ndarray | None = None
    scales: Array | None = None
    neighbors: int = NEIGHBORS

    def similarities(self, D: Array) -> Array:
        """Turn rows of distances to all training items into similarities.

        Rows of training items become what they were in training, to the last bit.
        """
        if self.similarity in POINTWISE:
            return POINTWISE[self.similarity](D, self.gamma)
        if self.largest is not None:
            return self.gamma * (self.largest - D)
        if self.scales is not None and self.distinct is not None:
            rows = local_scales(D[:, self.distinct], self.neighbors)
            return locally_scaled(D, rows, self.scales, self.gamma)
        assert self.squared_means is not None
        means = self.squared_means
        rows = np.mean(D**2, axis=1)
        return self.gamma * doubly_centred(D, rows, means, float(means.mean()))


def locally_scaled(D: Array, rows: Array, columns: Array, gamma: float) -> Array:
    """Return ``exp(-gamma d_ij^2 / (s_i s_j))`` for the scales of rows and columns."""
    # Two quotients, not one of products: neither can overflow where they do not.
    quotient = D / rows[:, None]
    quotient *= D / columns
    return np.exp(-gamma * quotient)


def doubly_centred(D: Array, rows: Array, columns: Array, mean: float) -> Array:
    """Return ``-1/2 (d_ij^2 - r_i - c_j + mean)``.

    r and c are mean squared distances to the training items, `mean` is that of all
    pairs of these: the Gram matrix of classical scaling, and Gower's extension of it to
    new items, around the centroid of the training items.
    """
    # Row and column means are added first: the sum is symmetric to the last bit.
    return 0.5 * ((rows[:, None] + columns) - D**2 - mean)


# ------------------------------------------------------------------------------ widths


def check_gamma(gamma: object, similarity: str) -> None:
    """Refuse what is neither a positive number nor a width in medians."""
    if isinstance(gamma, Real) and 0.0 < float(gamma) < np.inf:
        return
    width = median_multiple(gamma)
    if width is None:
        raise ValueError(
            f"gamma must be a positive number, 'median' or a multiple of it such as "
            f"'3 median', got {gamma!r}"
        )
    if width != 1.0 and similarity in FITTED:
        raise ValueError(
            f"gamma={gamma!r}: similarity={similarity!r} has a scale of its own, which "
            "the median does not enter; give a number, or leave gamma out"
        )


def median_multiple(word: object) -> float | None:
    """Return the width in medians that a word says, None if it says none."""
    found = _MULTIPLE.fullmatch(word) if isinstance(word, str) else None
    if found is None:
        return None
    width = float(found[1] or 1.0)
    return width if width > 0.0 else None


def gamma_of(
    gamma: float | str, D: Array, similarity: str, median: float | None = None
) -> float:
    """Return gamma as a number, a width settled on training distances D."""
    check_gamma(gamma, similarity)
    width = median_multiple(gamma)
    if width is None:
        return float(gamma)
    if similarity in FITTED:  # a factor does not change the shape of the matrix
        return 1.0
    return median_gamma(D, similarity, width, median)


def median_gamma(
    D: Array,
    similarity: str = "exponential",
    width: float = 1.0,
    median: float | None = None,
) -> float:
    """Return 1 / (width median distance); 1 / (2 (width median)^2) for a Gaussian.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances between training items.
    similarity : str
        The form that gamma is for.
    width : float
        In medians.
    median : float, optional
        Of D, where it is known already.
    """
    middle = width * (median_distance(D) if median is None else median)
    return 0.5 / middle**2 if similarity == "gaussian" else 1.0 / middle


def median_distance(D: Array) -> float:
    """Median of the positive distances between different items; 1 if there are none.

    Copies of an earlier item are left out: where most pairs are at distance 0 the
    others still have a scale, and weights of samples equal repetition.
    """
    new = distinct_items(D)
    if new.size < len(D):
        D = D[np.ix_(new, new)]
    pairs = D[np.tri(len(D), k=-1, dtype=bool)]
    pairs = pairs[pairs > 0]
    return float(np.median(pairs)) if pairs.size else 1.0


def distinct_items(D: Array) -> np.ndarray:
    """Positions of the items that are not at distance 0 from an earlier one."""
    copies = D == 0
    copies &= np.tri(len(D), k=-1, dtype=bool)
    return np.flatnonzero(~copies.any(axis=1))


def local_scales(D: Array, neighbors: int = NEIGHBORS) -> Array:
    """Distance of each row to its nearest item but `neighbors` - 1, and itself.

    Items at distance 0 are the item itself or copies of it, and do not count; where
    fewer are left, the farthest is the scale, and 1 where none is.

    Parameters
    ----------
    D : ndarray of shape (n_new, n_distinct)
        Distances to different training items.
    neighbors : int
        At least 1.
    """
    last = min(neighbors, D.shape[1]) - 1
    positive = np.where(D > 0.0, D, np.inf)
    positive.partition(last, axis=1)
    scale = positive[:, last]
    scale = np.where(np.isfinite(scale), scale, D.max(axis=1))
    return np.where(scale > 0.0, scale, 1.0)


def refuse_no_distances(D: Any, name: str) -> None:
    """Refuse what cannot be distances, of the estimator `name`."""
    if scipy.sparse.issparse(D):
        raise TypeError(
            "kind='distance' needs a dense matrix: in a sparse table it is not known "
            "how far pairs that are absent are from each other"
        )
    smallest = float(D.min())
    if smallest < 0.0:
        # scikit-learn's checks look for its first words.
        raise ValueError(
            f"Negative values in data passed to {name}: the smallest is "
            f"{smallest:.3g}, and no distance is negative. If large means similar, "
            "these are similarities: leave out kind='distance'"
        )


# ------------------------------------------------------------ distances in similarities


def derived_distances(K: Array, rows: Array, columns: Array) -> Array:
    """Distances ``d_ij^2 = k_ii + k_jj - 2 k_ij`` in similarities.

    Negative squares, which an indefinite similarity has, count as 0; so do those that
    are rounding errors of their three terms.

    Parameters
    ----------
    K : ndarray of shape (n_new, n_train)
        Similarities.
    rows, columns : ndarray of shape (n_new,), (n_train,)
        Similarities of the items to themselves.
    """
    squares = rows[:, None] + columns
    squares -= 2.0 * K
    terms = np.abs(rows)[:, None] + np.abs(columns)
    terms += 2.0 * np.abs(K)
    squares[squares <= _ROUNDING * terms] = 0.0
    return np.sqrt(squares, out=squares)


@dataclass(frozen=True)
class Source:
    """The numbers that conversions start from: of one kernel, or one matrix.

    Attributes
    ----------
    name : str
        What it is called in words.
    kernel : callable or None
        Settled on training items; None where the matrix was given.
    is_distance : bool
        Whether the numbers are distances.
    own : ndarray of shape (n,) or None
        Similarities of the training items to themselves, where those of new items can
        be known; None for distances, and where distances cannot be derived.
    """

    name: str
    kernel: Any = None
    is_distance: bool = False
    own: Array | None = None

    @property
    def has_distances(self) -> bool:
        """Whether there are distances, given or derived, of new items too."""
        return self.is_distance or self.own is not None

    @property
    def constant(self) -> float | None:
        """Similarity of every item to itself, where it is the same for all."""
        if self.own is None or not is_constant(self.own):
            return None
        return float(self.own[0])

    def distances(self, numbers: Array, own: Array | None = None) -> Array:
        """Distances of rows to the training items.

        Parameters
        ----------
        numbers : ndarray of shape (n_new, n)
            Similarities or distances.
        own : ndarray of shape (n_new,), optional
            Similarities of the rows to themselves; not needed where they are constant.
        """
        if self.is_distance:
            return numbers
        assert self.own is not None
        if own is None:
            assert self.constant is not None
            own = np.full(len(numbers), self.constant)
        return derived_distances(numbers, own, self.own)


def is_constant(own: Array) -> bool:
    """Whether all items are equally similar to themselves, to rounding."""
    return bool(np.ptp(own) <= _SAME * np.abs(own).max(initial=0.0))


# Conversions by name.
CONVERSIONS: dict[str, Conversion] = {
    "exponential": Conversion(),
    "wide exponential": Conversion(gamma="3 median"),
    "gaussian": Conversion("gaussian"),
    "wide gaussian": Conversion("gaussian", gamma="3 median"),
    "local": Conversion("local"),
    "negative": Conversion("negative"),
    "inverse": Conversion("inverse"),
    "centred": Conversion("centred"),
    "max": Conversion("max"),
}


def as_conversion(given: object) -> Conversion | None:
    """Return the record of a name, or the record itself; None for "as given"."""
    if isinstance(given, Conversion):
        return given
    if given == AS_GIVEN:
        return None
    if isinstance(given, str) and given in CONVERSIONS:
        return CONVERSIONS[given]
    known = (AS_GIVEN, *CONVERSIONS)
    raise ValueError(
        f"conversions must be names ({', '.join(known)}) or records of "
        f"krein.similarity.conversions, got {given!r}{did_you_mean(str(given), known)}"
    )


def name_of(conversion: Conversion | None) -> str:
    """Name of a conversion; its formula where it has none."""
    if conversion is None:
        return AS_GIVEN
    for name, known in CONVERSIONS.items():
        if known == conversion:
            return name
    return conversion.formula
