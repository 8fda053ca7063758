"""Kernels of the metrics of SciPy on rows of numbers, by the names they have there.

SciPy computes the distances (`scipy.spatial.distance.cdist`); here stands what is known
of each as a kernel, and what its rows must hold. Not every one of them is a metric in
the strict sense, which a kernel does not ask for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import check_pairwise_arrays

from krein.arrays import Array
from krein.kernels.distances import distance_kernel, same_items
from krein.kernels.registry import register_kernel

_SCIPY = "SciPy, ``scipy.spatial.distance.{name}``."
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
_NEGATIVE_TYPE = "the distance is conditionally negative definite"
METRICS = (
    Metric("euclidean", "Euclidean distance", "||x - y||", note=_NEGATIVE_TYPE),
    Metric(
        "sqeuclidean",
        "squared Euclidean distance",
        "||x - y||^2",
        note="the Gaussian kernel, as `rbf`",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "13."),
    ),
    Metric(
        "cityblock",
        "city block (Manhattan, L1) distance",
        "sum |x_k - y_k|",
        note="the Laplacian kernel, as `laplacian`",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "5."),
    ),
    Metric(
        "chebyshev",
        "Chebyshev (maximum) distance",
        "max |x_k - y_k|",
        definiteness="indefinite",
        witness="the grid {0, 1, 2}^3; gamma=0.3",
        example=("[[0.0, 1.0]]", "[[2.0, 4.0]]", "3."),
    ),
    Metric(
        "canberra",
        "Canberra distance",
        "sum |x_k - y_k| / (|x_k| + |y_k|), 0 / 0 = 0",
        note="1 - d is 2 min(|x|, |y|) / (|x| + |y|) for numbers of one sign, else 0",
        example=("[[6.0, 2.0]]", "[[1.0, 2.0]]", "0.714"),
    ),
    Metric(
        "braycurtis",
        "Bray-Curtis dissimilarity",
        "sum |x_k - y_k| / sum |x_k + y_k|",
        rows="amounts",
        note="1 - d is 2 sum min(x_k, y_k) / (sum x + sum y)",
        example=("[[6.0, 2.0]]", "[[1.0, 4.0]]", "0.538"),
    ),
    Metric(
        "cosine",
        "cosine distance",
        "1 - x'y / (||x|| ||y||)",
        note="1 - d is an inner product; for similarities of any sign take 1 - d",
        example=("[[1.0, 1.0]]", "[[1.0, 0.0]]", "0.293"),
    ),
    Metric(
        "correlation",
        "correlation distance",
        "1 - the correlation of x and y",
        note="1 - d is an inner product of rows that are centred and scaled",
        example=("[[1.0, 2.0, 3.0]]", "[[1.0, 3.0, 2.0]]", "0.5"),
    ),
    Metric(
        "jensenshannon",
        "Jensen-Shannon distance",
        "the root of the Jensen-Shannon divergence of x / sum x and y / sum y",
        rows="amounts",
        note="the square root of a conditionally negative definite divergence",
        example=("[[1.0, 0.0]]", "[[1.0, 1.0]]", "0.465"),
        source="Fuglede, Topsoe (2004), Jensen-Shannon divergence and Hilbert space "
        "embedding, ISIT.",
    ),
    Metric(
        "hamming",
        "Hamming distance",
        "the share of entries in which x and y differ",
        note="a product over the entries of a kernel of two values",
        example=("[[1, 2, 0, 0]]", "[[1, 0, 1, 0]]", "0.5"),
    ),
    Metric(
        "jaccard",
        "Jaccard distance",
        "(b + c) / (a + b + c), 0 / 0 = 0",
        rows="binary",
        note="1 - d is `tanimoto`, which takes counts too",
        example=(*_BINARY, "0.667"),
        source=_GOWER_LEGENDRE,
    ),
    Metric(
        "dice",
        "Dice (Sorensen) dissimilarity",
        "(b + c) / (2a + b + c)",
        rows="binary",
        note="Bray-Curtis on 0 and 1",
        example=(*_BINARY, "0.5"),
        source=_GOWER_LEGENDRE,
    ),
    Metric(
        "rogerstanimoto",
        "Rogers-Tanimoto dissimilarity",
        "2 (b + c) / (a + d + 2 (b + c))",
        rows="binary",
        note="sokalmichener of older SciPy is the same",
        example=(*_BINARY, "0.667"),
        source=_GOWER_LEGENDRE,
    ),
    Metric(
        "sokalsneath",
        "Sokal-Sneath dissimilarity",
        "2 (b + c) / (a + 2 (b + c))",
        rows="binary",
        example=(*_BINARY, "0.8"),
        source=_GOWER_LEGENDRE,
    ),
    Metric(
        "yule",
        "Yule dissimilarity",
        "2 b c / (a d + b c), 0 where b c = 0",
        rows="binary",
        definiteness="indefinite",
        witness="the corners of the cube {0, 1}^4; gamma=0.3",
        example=(*_BINARY, "1."),
    ),
)

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


# ---------------------------------------------------------------- without parameters


def _checked(X: Any, Y: Any, name: str, rows: str = "numbers") -> tuple[Array, Array]:
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


def _distances(X: Array, Y: Array, name: str, **options: Any) -> Array:
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


def _register_metric(metric: Metric) -> Callable:
    """Register the kernel of a metric, with a docstring made of its record."""
    name, rows = metric.name, metric.rows

    def distance(X, Y=None):
        X, Y = _checked(X, Y, name, rows)
        binary = rows == "binary"
        first = X.astype(bool) if binary else X
        second = first if X is Y else Y.astype(bool) if binary else Y
        return _distances(first, second, name)

    first, second, value = metric.example
    counts = f" ({_COUNTS})" if rows == "binary" else ""
    distance.__name__ = distance.__qualname__ = f"{name}_kernel"
    distance.__doc__ = _PAGE.format(
        title=metric.title,
        distance=textwrap.fill(f"The distance is ``{metric.formula}``{counts}.", 80),
        rows=_ROWS[rows],
        source=textwrap.fill(f"{_SCIPY.format(name=name)} {metric.source}".strip(), 80),
        name=name,
        first=first,
        second=second,
        value=value,
    )
    decorate = distance_kernel(
        name,
        input="vectors",
        definiteness=metric.definiteness,
        note=metric.note,
        witness=metric.witness,
    )
    return decorate(distance)


for _metric in METRICS:
    globals()[f"{_metric.name}_kernel"] = _register_metric(_metric)


# --------------------------------------------------------------------- with parameters

_metric_kernel = partial(distance_kernel, input="vectors")


@_metric_kernel(
    "minkowski",
    definiteness="depends",
    note="positive definite for 1 <= p <= 2, indefinite in general beyond",
)
def minkowski_kernel(X, Y=None, *, p=2.0):
    """Kernel of the Minkowski (Lp) distance.

    The distance is ``(sum |x_k - y_k|^p)^(1/p)``: p = 1 is `cityblock`, p = 2
    `euclidean`.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    p : float
        From 1 on.

    References
    ----------
    SciPy, ``scipy.spatial.distance.minkowski``.

    Examples
    --------
    >>> from krein import minkowski_kernel
    >>> minkowski_kernel([[0.0]], [[2.0]], p=3, similarity="negative")
    array([[-2.]])
    """
    if not (isinstance(p, int | float | np.number) and 1 <= p < np.inf):
        raise ValueError(f"p must be a number from 1 on, got {p!r} (inf: chebyshev)")
    return _distances(*_checked(X, Y, "minkowski"), "minkowski", p=float(p))


def _observed_variances(X: Any, params: Mapping[str, Any]) -> tuple[float, ...]:
    """Variance of each feature; 1 for a constant one, which tells nothing apart."""
    variances = np.var(np.asarray(X, dtype=float), axis=0, ddof=1 if len(X) > 1 else 0)
    return tuple(np.where(variances > 0.0, variances, 1.0).tolist())


def _observed_inverse(X: Any, params: Mapping[str, Any]) -> tuple[tuple, ...]:
    """(Pseudo-)inverse of the covariance matrix of the features."""
    X = np.asarray(X, dtype=float)
    if len(X) < 2:
        raise ValueError("a covariance needs two rows or more")
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(X.T)), hermitian=True)
    return tuple(map(tuple, (0.5 * (inverse + inverse.T)).tolist()))


def _settled(given: Any, X: Any, Y: Any, name: str, rule: Callable) -> Array:
    """What was given as an array, or what X alone shows."""
    if not isinstance(given, str):
        return np.asarray(given, dtype=float)
    if given != "observed" or not same_items(X, Y):
        raise ValueError(
            f'the scales of {name} are needed to compare two sets: call krein.Kernel("'
            f'{name}").fit(X_train) (estimators do), or give them; got {given!r}'
        )
    return np.asarray(rule(X, {}))


@_metric_kernel(
    "seuclidean",
    definiteness="pd",
    note=_NEGATIVE_TYPE,
    resolve={"variances": {"observed": _observed_variances}},
)
def seuclidean_kernel(X, Y=None, *, variances="observed"):
    """Kernel of the standardised Euclidean distance.

    The distance is ``sqrt(sum (x_k - y_k)^2 / v_k)`` with the variance v_k of each
    feature.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    variances : "observed" or tuple
        A variance for each feature. "observed", settled by `Kernel.fit` on training
        rows, takes theirs; called directly, the function takes those of X, and refuses
        to compare X with other rows.

    References
    ----------
    SciPy, ``scipy.spatial.distance.seuclidean``.

    Examples
    --------
    >>> from krein import seuclidean_kernel
    >>> a, b = [[0.0, 1.0]], [[2.0, 4.0]]
    >>> seuclidean_kernel(a, b, variances=(1.0, 9.0), similarity="negative").round(3)
    array([[-2.236]])
    """
    V = _settled(variances, X, Y, "seuclidean", _observed_variances)
    X, Y = _checked(X, Y, "seuclidean")
    if V.shape != X.shape[1:] or not (V > 0.0).all():
        raise ValueError(
            f"variances must be {X.shape[1]} positive numbers, one for each feature, "
            f"got {variances!r}"
        )
    return _distances(X, Y, "seuclidean", V=V)


@_metric_kernel(
    "mahalanobis",
    definiteness="pd",
    note=_NEGATIVE_TYPE,
    resolve={"inverse_covariance": {"observed": _observed_inverse}},
)
def mahalanobis_kernel(X, Y=None, *, inverse_covariance="observed"):
    """Kernel of the Mahalanobis distance.

    The distance is ``sqrt((x - y)' S^-1 (x - y))`` with the covariance matrix S of the
    features; its pseudo-inverse where it is singular.

    Parameters
    ----------
    X, Y : array-like of shape (n_X, n_features), (n_Y, n_features)
        Rows of numbers; Y defaults to X.
    inverse_covariance : "observed" or tuple of tuples
        The matrix S^-1. "observed", settled by `Kernel.fit` on training rows, takes
        theirs; called directly, the function takes that of X, and refuses to compare X
        with other rows.

    References
    ----------
    SciPy, ``scipy.spatial.distance.mahalanobis``.

    Examples
    --------
    >>> from krein import mahalanobis_kernel
    >>> a, b, S = [[0.0, 1.0]], [[2.0, 4.0]], ((1.0, 0.5), (0.5, 1.0))
    >>> mahalanobis_kernel(a, b, inverse_covariance=S, similarity="negative").round(3)
    array([[-4.359]])
    """
    VI = _settled(inverse_covariance, X, Y, "mahalanobis", _observed_inverse)
    X, Y = _checked(X, Y, "mahalanobis")
    p = X.shape[1]
    if VI.shape != (p, p) or not np.allclose(VI, VI.T):
        raise ValueError(
            f"inverse_covariance must be a symmetric matrix of shape ({p}, {p}), got "
            f"shape {VI.shape}"
        )
    return _distances(X, Y, "mahalanobis", VI=VI)


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

    Examples
    --------
    >>> from krein import russellrao_kernel
    >>> russellrao_kernel([[1, 1, 0, 0], [1, 0, 1, 0]])
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """
    X, Y = _checked(X, Y, "russellrao", "binary")
    return X @ Y.T / X.shape[1]
