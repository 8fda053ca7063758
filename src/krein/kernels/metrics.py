"""Kernels of the metrics of SciPy on rows of numbers, by the names they have there.

SciPy computes the distances (`scipy.spatial.distance.cdist`); here stands what is known
of each as a kernel, and what its rows must hold. Not every one of them is a metric in
the strict sense, which a kernel does not ask for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import check_pairwise_arrays

from krein.arrays import Array
from krein.kernels.distances import distance_kernel, same_items
from krein.kernels.registry import register_kernel

_DEZA = "Deza, Deza (2016), Encyclopedia of Distances, chapter 17."
_SCHOENBERG = (
    "Schoenberg (1938), Metric spaces and positive definite functions, Transactions of "
    "the AMS 44."
)
_ON_SPHERES = (
    "Schoenberg (1942), Positive definite functions on spheres, Duke Mathematical "
    "Journal 9."
)
_GOWER_LEGENDRE = (
    "Gower, Legendre (1986), Metric and Euclidean properties of dissimilarity "
    "coefficients, Journal of Classification 3."
)


class Metric(NamedTuple):
    """One metric: what it is, and what its kernel exp(-gamma d) is.

    Attributes
    ----------
    name, title, formula : str
        SciPy's name, the usual name, the distance of rows x and y.
    rows : {"numbers", "amounts", "binary"}
        What a row holds: any numbers, numbers from 0 on, or 0 and 1.
    definiteness, note, witness : str
        As in `krein.kernels.KernelFacts`.
    example : tuple of str
        Two rows, and their distance as the example of the docstring prints it.
    source : str
        Of the definiteness, beside SciPy's page.
    """

    name: str
    title: str
    formula: str
    rows: str = "numbers"
    definiteness: str = "pd"
    note: str = ""
    witness: str = ""
    example: tuple[str, str, str] = ("[[0.0, 1.0]]", "[[2.0, 4.0]]", "3.606")
    source: str = ""


_BINARY = ("[[1, 1, 0, 0]]", "[[1, 0, 1, 0]]")
_COUNTS = "a: both are 1; b, c: only x, only y; d: none is; n: all"
NEGATIVE_TYPE = "the distance is conditionally negative definite"

_PAGE = """Kernel of the {title}.

{distance}

Parameters
----------
X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
    {rows}; Y defaults to X.

References
----------
{source}

Examples
--------
>>> from krein import {name}_kernel
>>> {name}_kernel({first}, {second}, similarity="negative").round(3)
array([[-{value}]])
"""
_ROWS = {
    "numbers": "Rows of numbers",
    "amounts": "Rows of numbers from 0 on: counts, abundances, shares",
    "binary": "Rows of 0 and 1 (or booleans), such as fingerprints",
}


def checked_rows(
    X: Any, Y: Any, name: str, rows: str = "numbers"
) -> tuple[Array, Array]:
    """Both sets of rows as numbers that the metric is meant for."""
    same = same_items(X, Y)
    X, Y = check_pairwise_arrays(X, None if same else Y, dtype=np.float64)
    for part in (X,) if same else (X, Y):
        _check_rows(part, name, rows)
    return X, X if same else Y


def _check_rows(X: Array, name: str, rows: str) -> None:
    if rows == "amounts" and X.min() < 0.0:
        i, k = np.argwhere(X < 0.0)[0]
        raise ValueError(
            f"{name} compares numbers from 0 on (counts, abundances), got {X[i, k]:g} "
            f"in row {i}, column {k}; canberra and cityblock take any numbers"
        )
    binary = (X == 0.0) | (X == 1.0)
    if rows == "binary" and not binary.all():
        i, k = np.argwhere(~binary)[0]
        raise ValueError(
            f"{name} compares rows of 0 and 1, got {X[i, k]:g} in row {i}, column {k}. "
            "For counts: tanimoto (Jaccard with inner products) or braycurtis; to "
            "compare what is present: X > 0"
        )


def scipy_distances(X: Array, Y: Array, name: str, **options: Any) -> Array:
    """Distances by SciPy; 0 between equal rows, also where it divides 0 by 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        D: Array = cdist(X, Y, name, **options)
    if X is Y:
        np.fill_diagonal(D, 0.0)
    for i, j in np.argwhere(~np.isfinite(D)):
        if not np.array_equal(X[i], Y[j]):
            raise ValueError(
                f"there is no {name} distance between row {i} of X and row {j} of Y: "
                "one of them has only zeros, or is constant; leave such rows out"
            )
        D[i, j] = 0.0
    return np.maximum(D, 0.0)


def _kernel_of(metric: Metric) -> Callable:
    """Register the kernel of a metric, and return it."""
    name = metric.name
    rows = metric.rows

    def distance(X, Y=None):
        X, Y = checked_rows(X, Y, name, rows)
        if rows != "binary":
            return scipy_distances(X, Y, name)
        first = X.astype(bool)
        second = first if X is Y else Y.astype(bool)
        return scipy_distances(first, second, name)

    distance.__name__ = f"{name}_kernel"
    distance.__qualname__ = distance.__name__
    distance.__doc__ = _docstring_of(metric)
    decorate = distance_kernel(
        name,
        input="vectors",
        definiteness=metric.definiteness,
        note=metric.note,
        witness=metric.witness,
    )
    return decorate(distance)


def _docstring_of(metric: Metric) -> str:
    first, second, value = metric.example
    counts = f" ({_COUNTS})" if metric.rows == "binary" else ""
    source = f"SciPy, ``scipy.spatial.distance.{metric.name}``. {metric.source}"
    return _PAGE.format(
        title=metric.title,
        distance=textwrap.fill(f"The distance is ``{metric.formula}``{counts}.", 80),
        rows=_ROWS[metric.rows],
        source=textwrap.fill(source.strip(), 80),
        name=metric.name,
        first=first,
        second=second,
        value=value,
    )


# ------------------------------------------------------------------------ the metrics

euclidean_kernel = _kernel_of(
    Metric(
        "euclidean",
        title="Euclidean distance",
        formula="||x - y||",
        note=NEGATIVE_TYPE,
        source=_SCHOENBERG,
    )
)
sqeuclidean_kernel = _kernel_of(
    Metric(
        "sqeuclidean",
        title="squared Euclidean distance",
        formula="||x - y||^2",
        note="the Gaussian kernel, as `rbf`",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "13."),
        source=_SCHOENBERG,
    )
)
cityblock_kernel = _kernel_of(
    Metric(
        "cityblock",
        title="city block (Manhattan, L1) distance",
        formula="sum |x_k - y_k|",
        note="the Laplacian kernel, as `laplacian`",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "5."),
        source=_SCHOENBERG,
    )
)
chebyshev_kernel = _kernel_of(
    Metric(
        "chebyshev",
        title="Chebyshev (maximum) distance",
        formula="max |x_k - y_k|",
        definiteness="indefinite",
        witness="the grid {0, 1, 2}^3; gamma=0.3",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "3."),
        source=_DEZA,
    )
)
canberra_kernel = _kernel_of(
    Metric(
        "canberra",
        title="Canberra distance",
        formula="sum |x_k - y_k| / (|x_k| + |y_k|), 0 / 0 = 0",
        note="1 - d is 2 min(|x|, |y|) / (|x| + |y|) for numbers of one sign, else 0",
        example=("[[6.0, 2.0]]", "[[1.0, 2.0]]", "0.714"),
        source="Lance, Williams (1967), Mixed-data classificatory programs I, "
        "Australian Computer Journal 1.",
    )
)
braycurtis_kernel = _kernel_of(
    Metric(
        "braycurtis",
        title="Bray-Curtis dissimilarity",
        formula="sum |x_k - y_k| / sum |x_k + y_k|",
        rows="amounts",
        note="1 - d is 2 sum min(x_k, y_k) / (sum x + sum y)",
        example=("[[6.0, 2.0]]", "[[1.0, 4.0]]", "0.538"),
        source="Bray, Curtis (1957), An ordination of the upland forest communities of "
        "southern Wisconsin, Ecological Monographs 27.",
    )
)
cosine_kernel = _kernel_of(
    Metric(
        "cosine",
        title="cosine distance",
        formula="1 - x'y / (||x|| ||y||)",
        note="1 - d is an inner product; for similarities of any sign take 1 - d",
        example=("[[1.0, 1.0]]", "[[1.0, 0.0]]", "0.293"),
        source=_ON_SPHERES,
    )
)
correlation_kernel = _kernel_of(
    Metric(
        "correlation",
        title="correlation distance",
        formula="1 - the correlation of x and y",
        note="1 - d is an inner product of rows that are centred and scaled",
        example=("[[1.0, 2.0, 3.0]]", "[[1.0, 3.0, 2.0]]", "0.5"),
        source=_ON_SPHERES,
    )
)
jensenshannon_kernel = _kernel_of(
    Metric(
        "jensenshannon",
        title="Jensen-Shannon distance",
        formula="the root of the Jensen-Shannon divergence of x / sum x and y / sum y",
        rows="amounts",
        note="the square root of a conditionally negative definite divergence",
        example=("[[1.0, 0.0]]", "[[1.0, 1.0]]", "0.465"),
        source="Fuglede, Topsoe (2004), Jensen-Shannon divergence and Hilbert space "
        "embedding, ISIT.",
    )
)
hamming_kernel = _kernel_of(
    Metric(
        "hamming",
        title="Hamming distance",
        formula="the share of entries in which x and y differ",
        note="a product over the entries of a kernel of two values",
        example=("[[1, 2, 0, 0]]", "[[1, 0, 1, 0]]", "0.5"),
        source="Hamming (1950), Error detecting and error correcting codes, Bell "
        "System Technical Journal 29.",
    )
)
jaccard_kernel = _kernel_of(
    Metric(
        "jaccard",
        title="Jaccard distance",
        formula="(b + c) / (a + b + c), 0 / 0 = 0",
        rows="binary",
        note="1 - d is `tanimoto`, which takes counts too",
        example=(*_BINARY, "0.667"),
        source=_GOWER_LEGENDRE,
    )
)
dice_kernel = _kernel_of(
    Metric(
        "dice",
        title="Dice (Sorensen) dissimilarity",
        formula="(b + c) / (2a + b + c)",
        rows="binary",
        note="Bray-Curtis on 0 and 1",
        example=(*_BINARY, "0.5"),
        source=_GOWER_LEGENDRE,
    )
)
rogerstanimoto_kernel = _kernel_of(
    Metric(
        "rogerstanimoto",
        title="Rogers-Tanimoto dissimilarity",
        formula="2 (b + c) / (a + d + 2 (b + c))",
        rows="binary",
        note="sokalmichener of older SciPy is the same",
        example=(*_BINARY, "0.667"),
        source=_GOWER_LEGENDRE,
    )
)
sokalsneath_kernel = _kernel_of(
    Metric(
        "sokalsneath",
        title="Sokal-Sneath dissimilarity",
        formula="2 (b + c) / (a + 2 (b + c))",
        rows="binary",
        example=(*_BINARY, "0.8"),
        source=_GOWER_LEGENDRE,
    )
)
yule_kernel = _kernel_of(
    Metric(
        "yule",
        title="Yule dissimilarity",
        formula="2 b c / (a d + b c), 0 where b c = 0",
        rows="binary",
        definiteness="indefinite",
        witness="the corners of the cube {0, 1}^4; gamma=0.3",
        example=(*_BINARY, "1."),
        source=_GOWER_LEGENDRE,
    )
)


@register_kernel(
    "russellrao",
    input="vectors",
    definiteness="pd",
    note="an inner product over n; no kernel of a distance, since d(x, x) is not 0",
)
def russellrao_kernel(X, Y=None):
    """Russell-Rao similarity: the share of entries that both rows have.

    ``a / n``, one minus the dissimilarity of SciPy. A row is not the most similar one
    to itself in general.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of 0 and 1 (or booleans), such as fingerprints; Y defaults to X.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    SciPy, ``scipy.spatial.distance.russellrao``.
    Gower, Legendre (1986), Metric and Euclidean properties of dissimilarity
    coefficients, Journal of Classification 3.

    Examples
    --------
    >>> from krein import russellrao_kernel
    >>> russellrao_kernel([[1, 1, 0, 0], [1, 0, 1, 0]])
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """
    X, Y = checked_rows(X, Y, "russellrao", "binary")
    return X @ Y.T / X.shape[1]
