"""One path for bad input: what was given, what was expected, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array, validate_data

from krein.arrays import is_distance_matrix
from krein.sklearn_internals import check_sample_weight, check_y
from krein.words import warn_user

_BLOCK = 128  # rows compared at once: their differences stay in the cache
ROUNDING = 1e-6  # asymmetry, relative to the largest entry, that is no more than that
LARGEST = 1e150  # numbers whose squares and their sums stay in the range of float64
SMALLEST = 1e-290  # largest entry of a matrix whose rounding errors are numbers
_LABELLED = 5000  # items among which nearest neighbours are looked for
_FAITHFUL = 1e-8  # asymmetry that is left as it is
_FILLED = 0.5  # share of pairs from which on one half of a matrix is filled
_FEWEST_LABELLED = 10  # items among which nearest neighbours say anything
_TURNED_ROUND = 6.0  # standard errors from chance, of the nearest and of the farthest


def refuse_odd_arrays(X: Any, name: str = "X", *, missing: bool = False) -> None:
    """Refuse what would be converted silently: sparse, masked, dates, ragged.

    With ``missing=True`` NaN is left to the caller.
    """
    if scipy.sparse.issparse(X):
        raise TypeError(
            f"{name} is a sparse matrix, which only estimators with "
            f"kernel='precomputed' take: pass {name}.toarray()"
        )
    refuse_mask(X, name)
    if is_distance_matrix(X):
        raise TypeError(
            f"{name} is a DistanceMatrix, and similarities are expected: pass "
            "kind='distance' (compare, diagnose, SimilarityClassifier, SpectrumSVCCV), "
            f"or DistanceTransformer().fit_transform({name}) as the similarity"
        )
    if getattr(X, "dtype", None) is not None and getattr(X.dtype, "kind", "") in "mM":
        raise TypeError(
            f"{name} has dtype {X.dtype}; expected numbers. Convert times first"
        )
    if not missing:
        _refuse_missing(X, name)


def refuse_mask(values: Any, name: str) -> None:
    """Refuse masked entries, which a conversion would uncover silently."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TypeError(
            f"{name} is a masked array with masked entries; fill them first "
            f"({name}.filled(...)): a mask would be dropped silently"
        )


@contextmanager
def numbers_that_fit(name: str) -> Iterator[None]:
    """Name the argument whose integers are too large for float64."""
    try:
        yield
    except OverflowError:
        raise ValueError(
            f"{name} holds an integer beyond the range of float64 (about 1e308); "
            "divide it by a common factor first"
        ) from None


def _refuse_missing(X: Any, name: str) -> None:
    """Refuse NaN in a matrix or a frame, and say what can be done about it."""
    values = np.asarray(X) if hasattr(X, "columns") else X
    if not (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        return
    # A sum is cheap and NaN if any entry is (or where infinities of both signs are).
    with np.errstate(over="ignore", invalid="ignore"):
        if values.ndim != 2 or not np.isnan(np.sum(values)):
            return
    gaps = np.isnan(values)
    if not gaps.any():
        return
    i, j = np.argwhere(gaps)[0]
    place = f"{name}[{i}, {j}]{_names_at(X, i, j)}"
    square = gaps.shape[0] == gaps.shape[1]
    hint = "leave these items out or fill the gaps (sklearn.impute) first"
    if square and not (gaps & gaps.T).any():
        hint = (
            "the entries across are known: "
            f"np.where(np.isnan({name}), {name}.T, {name}) takes them, if both "
            "directions measure the same thing"
        )
    raise ValueError(
        f"{name} contains NaN: {gaps.sum()} of its {gaps.size} entries are missing, "
        f"the first is {place}; {hint}"
    )


def _names_at(X: Any, i: int, j: int) -> str:
    """Names of row and column, where a frame has them."""
    if not hasattr(X, "columns"):
        return ""
    column = list(X.columns)[j]
    row = list(X.index)[i] if hasattr(X, "index") else None
    return f" (row {row!r}, column {column!r})" if row is not None else f" ({column!r})"


def check_similarity(
    K: Any, *, name: str = "K", symmetrize: bool | None = False, given: Any = None
) -> np.ndarray:
    """Return a square, finite, symmetric float64 matrix; the input is not changed.

    Of both directions that differ by rounding (a millionth of the largest entry) the
    mean is taken.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Numbers of any real dtype, frames included.
    name : str
        What the caller calls it, for messages.
    symmetrize : bool or None
        Replace K by (K + K') / 2 instead of refusing asymmetry; None where the caller
        has no such option, which the error then does not advise.
    given : dtype, optional
        What K was converted from, so that float32 rounding is judged as such.
    """
    refuse_odd_arrays(K, name)
    single = np.float32 in (given, getattr(K, "dtype", None))
    if not _is_checked(K):
        with numbers_that_fit(name):
            K = check_array(K, dtype=np.float64, input_name=name, ensure_min_samples=1)
    check_square(K, name)
    check_size(float(max(K.max(), -K.min())), name)
    if symmetrize:
        return both_directions(K, name)
    rtol = 1e-5 if single else ROUNDING
    worst = check_symmetric(K, name=name, rtol=rtol, option=symmetrize is not None)
    return K if worst <= _FAITHFUL else 0.5 * (K + K.T)


def _is_checked(K: Any) -> bool:
    """Whether K is an array of finite numbers in float64, as estimators pass it.

    To look at everything that it could be otherwise takes as long as a small fit.
    """
    if type(K) is not np.ndarray or K.dtype != np.float64 or K.ndim != 2 or not K.size:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(K.sum()))


def both_directions(K: np.ndarray, name: str) -> np.ndarray:
    """The mean of both directions, (K + K') / 2; of one triangle its mirror image.

    A half that is zero throughout, beside one that is filled, was left out by the
    program that wrote it: a mean with it would halve all other entries.
    """
    empty = empty_half(K)
    if empty is None:
        return 0.5 * (K + K.T)
    warn_user(
        f"the {empty} half of {name} is zero throughout: the other half is taken for "
        "both directions, not the mean of the two"
    )
    return K + K.T - np.diag(np.diagonal(K))


def empty_half(K: np.ndarray) -> str | None:
    """Which half ("upper", "lower") holds nothing, where the other one is filled."""
    pairs = K.shape[0] * (K.shape[0] - 1) // 2
    counts = {"upper": np.triu(K, 1), "lower": np.tril(K, -1)}
    filled = {half: int(np.count_nonzero(part)) for half, part in counts.items()}
    for half, other in (("upper", "lower"), ("lower", "upper")):
        if filled[half] == 0 and pairs > 1 and filled[other] > _FILLED * pairs:
            return half
    return None


def check_square(K: np.ndarray, name: str) -> None:
    """Raise if K is not square."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} must be a square matrix of similarities between training items, "
            f"got shape {K.shape}. For feature vectors choose a kernel by name "
            "(kernel='rbf'); to split a matrix use krein.split_kernel"
        )


def check_size(largest: float, name: str) -> None:
    """Raise if the largest entry of a matrix leaves no room to compute with it."""
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise ValueError(
            f"{name} has entries up to {largest:.3g}, from which float64 cannot go on; "
            f"multiply it by a common factor, so that its largest entry is about 1 "
            f"(it must be between {SMALLEST:g} and {LARGEST:g})"
        )


def asymmetry(K: np.ndarray) -> float:
    """Largest |K_ij - K_ji|, in blocks: no n x n temporary."""
    worst = 0.0
    for i in range(0, K.shape[0], _BLOCK):
        rows = slice(i, i + _BLOCK)
        difference = K[rows, i:] - K[i:, rows].T
        worst = max(worst, float(np.abs(difference).max()))
    return worst


def check_symmetric(
    K: np.ndarray, *, name: str, rtol: float = ROUNDING, option: bool = True
) -> float:
    """Raise if K differs from its transpose by more than rounding; else by how much.

    `option`: the caller has ``symmetrize=True``, which the error then advises.
    """
    largest = float(max(K.max(), -K.min()))
    worst = asymmetry(K)
    if worst > rtol * largest:
        empty = empty_half(K)
        if empty and option:
            repair = (
                f"the {empty} half is zero; symmetrize=True (--symmetrize) mirrors it"
            )
        elif empty:
            repair = (
                f"the {empty} half is zero; pass ({name} + {name}.T) / 2 of a full "
                "matrix, or mirror the other half"
            )
        elif option:
            repair = (
                "pass symmetrize=True (--symmetrize) to use their mean, (K + K.T) / 2"
            )
        else:
            repair = f"pass their mean, ({name} + {name}.T) / 2"
        raise ValueError(
            f"{name} is not symmetric: the two directions of a pair differ by up to "
            f"{worst:.3g}, with entries up to {largest:.3g}. If both directions "
            f"measure the same thing, {repair}"
        )
    return worst / largest if largest else 0.0


def looks_like_distances(K: np.ndarray) -> bool:
    """Zero diagonal, nothing negative, and hardly any other zero."""
    if scipy.sparse.issparse(K):  # absent pairs are the least alike
        return False
    if K.shape[0] < 2 or not K.any() or float(K.min()) < 0.0:
        return False
    rounding = 1e-12 * float(K.max())
    zeros = np.count_nonzero(K <= rounding) - K.shape[0]
    return bool(
        float(np.diagonal(K).max()) <= rounding
        and zeros <= 0.5 * K.shape[0] * (K.shape[0] - 1)
    )


def looks_like_similarities(D: np.ndarray) -> bool:
    """Items have the largest number with themselves, where a distance is zero."""
    diagonal = np.diagonal(D)
    return bool(diagonal.all() and np.mean(diagonal >= D.max(axis=1)) >= 0.9)


def same_label_shares(K: np.ndarray, y: Any) -> tuple[float, float, float]:
    """Share of items whose most similar other has their label; least; by chance."""
    codes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    n = codes.size
    counts = np.bincount(codes)
    near = np.empty(n, dtype=int)
    far = np.empty(n, dtype=int)
    for i, row in enumerate(K):
        others = row.astype(float)
        others[i] = -np.inf
        near[i] = np.argmax(others)
        others[i] = np.inf
        far[i] = np.argmin(others)
    chance = float(counts @ (counts - 1)) / (n * (n - 1))
    same = [float(np.mean(codes == codes[other])) for other in (near, far)]
    return same[0], same[1], chance


class Direction(NamedTuple):
    """What the numbers seem to be instead of what they were said to be."""

    key: str
    seems: str
    reason: str
    repair: str


def wrong_direction(
    K: Any, kind: str = "similarity", y: Any = None
) -> Direction | None:
    """Tell where large and small are mixed up; None where all is well.

    The one check of this kind, for everything that takes similarities or distances.

    Parameters
    ----------
    K : ndarray or sparse array of shape (n, n)
        Symmetric numbers.
    kind : {"similarity", "distance"}
        What they are said to be.
    y : array-like of shape (n,), optional
        Class labels: nearest neighbours far below chance mean that the numbers are
        turned round.
    """
    if scipy.sparse.issparse(K) or K.shape[0] < 2:  # absent pairs are the least alike
        return None
    if kind == "similarity" and looks_like_distances(K):
        return Direction(
            "looks-like-distances",
            "distances",
            "the diagonal is zero and nothing is negative, but similarities are "
            "expected: large must mean alike",
            "put krein.DistanceTransformer() in front (or conversion= in compare); "
            "krein.diagnose(D, kind='distance') looks at distances",
        )
    if kind == "distance" and looks_like_similarities(K):
        return Direction(
            "looks-like-similarities",
            "similarities",
            "items have the largest number with themselves, where a distance is zero",
            "use them as they are, without a conversion",
        )
    if y is None or len(y) != K.shape[0] or not _FEWEST_LABELLED <= len(y) <= _LABELLED:
        return None
    near, far, chance = same_label_shares(K if kind == "similarity" else -K, y)
    error = _TURNED_ROUND * (chance * (1.0 - chance) / len(y)) ** 0.5
    if near >= chance - error or far <= chance + error:
        return None
    other = "distances" if kind == "similarity" else "similarities"
    return Direction(
        f"inverted-{kind}",
        f"an inverted {kind}",
        f"the most similar other item has the same label for {near:.0%} of the items "
        f"(by chance {chance:.0%}), the least similar one for {far:.0%}",
        f"use the numbers as {other}",
    )


def warn_if_distances(
    X: np.ndarray, name: str, kind: str = "similarity", y: Any = None
) -> None:
    """Warn where the numbers of an argument have the wrong direction."""
    found = wrong_direction(X, kind, y)
    if found is not None:
        warn_user(
            f"{name} looks like a matrix of {found.seems}: {found.reason}. Repair: "
            f"{found.repair}"
        )


def is_nearly_diagonal(K: np.ndarray) -> bool:
    """Whether most items are more similar to themselves than to all others together."""
    own = np.abs(np.diagonal(K))
    others = np.abs(K).sum(axis=1) - own
    return bool(np.mean(others < own) > 0.5)


def warn_if_nearly_diagonal(
    K: np.ndarray, proba: np.ndarray, tests: list[np.ndarray], name: str
) -> None:
    """Warn where items like only themselves, and all of each fold get one class.

    `proba` has the probabilities of the classes (n, n_classes), `tests` the items that
    each fold held out. Which class a fold gets depends on its training part; folds of
    one item say nothing, so that these must all get the same class.
    """
    parts = [test for test in tests if np.size(test) > 1] or [np.concatenate(tests)]
    same = all(np.unique(proba[part].argmax(axis=1)).size == 1 for part in parts)
    if same and is_nearly_diagonal(K):
        warn_user(
            f"{name}: all items of a fold were given the same class, because the "
            "similarity is nearly diagonal: items are similar only to themselves. In "
            "exp(-gamma d) gamma is too large; try gamma='median', or pass the "
            "distances to SimilarityClassifier(kind='distance')"
        )


def check_order(X: Any, y: Any = None) -> None:
    """Compare names in frames: numbers and labels are taken by position.

    Rows and columns with the same names in another order are refused. Labels with the
    names of the rows in another order are warned of, since scikit-learn takes them so.
    """
    if _in_other_order(getattr(X, "columns", None), getattr(X, "index", None)):
        raise ValueError(
            "the rows of X have the names of its columns, in another order, so that "
            "row and column i are not the same item: pass X.loc[X.columns], and y in "
            "that order"
        )
    if _in_other_order(getattr(X, "index", None), getattr(y, "index", None)):
        warn_user(
            "y has the names of X's rows in its index, in another order, but labels "
            "are taken by position, as in scikit-learn: pass y.loc[X.index]"
        )


def _in_other_order(names: Any, others: Any) -> bool:
    if names is None or others is None or callable(names) or callable(others):
        return False
    names = list(names)
    others = list(others)
    if len(names) != len(others) or not all(isinstance(name, str) for name in names):
        return False
    return names != others and set(names) == set(others)


def have_same_names(X: Any, y: Any) -> bool:
    """Whether items and labels have an index of the same names, in the same order."""
    names = getattr(X, "index", None)
    others = getattr(y, "index", None)
    if names is None or others is None or callable(names) or callable(others):
        return False
    names = list(names)
    return all(isinstance(name, str) for name in names) and names == list(others)


def check_targets(y: Any, estimator: Any, *, numeric: bool = False) -> np.ndarray:
    """Return targets as an array of one dimension, without missing ones."""
    if y is None:
        validate_data(estimator, X="no_validation", y=None, reset=False)
    refuse_mask(y, "y")
    refuse_missing_targets(y)
    refuse_several_targets(y, type(estimator).__name__)
    with numbers_that_fit("y"):
        return check_y(y, y_numeric=numeric, estimator=estimator)


def refuse_several_targets(y: Any, learner: str) -> None:
    """Refuse several targets for each item, and name what takes them."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has shape {shape}: {shape[1]} targets for each item, and {learner} "
            "learns one. Fit one model for each, e.g. by "
            "sklearn.multioutput.MultiOutputRegressor (or MultiOutputClassifier)"
        )


def refuse_missing_targets(y: Any) -> None:
    """Refuse None, NaN and pandas.NA, which are no targets, by their position."""
    # NumPy would turn ["a", nan] into text.
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind not in "fO":
        return
    if values.dtype.kind == "f" and not np.isnan(values).any():
        return
    for i, value in enumerate(values.ravel()):
        if is_missing(value):
            raise ValueError(
                f"y contains NaN or another missing value: y[{i}] is {value}. Leave "
                "out items without a label or target"
            )


def is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for missing entries."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def check_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the code of each label; two or more classes."""
    if y.size == 0:
        raise ValueError("y is empty; one label per item is expected")
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y must contain samples of at least two classes, got one class: "
            f"{classes.tolist()[0]!r}; for one class alone use SpectrumOneClassSVM"
        )
    return classes, codes


def check_weights(
    n: int, sample_weight: Any, class_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """Sample weight times class weight of n samples; None when all are 1."""
    weight = class_weight
    if sample_weight is not None:
        refuse_odd_arrays(sample_weight, "sample_weight")
        weight = check_sample_weight(
            sample_weight, np.empty((n, 1)), dtype=float, ensure_non_negative=True
        )
        weight = weight if class_weight is None else weight * class_weight
    if weight is None or np.all(weight == 1.0):
        return None
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not 1e-290 < total < 1e300:
        raise ValueError(
            f"sample_weight sums to {total:g}; divide the weights by a common factor "
            "(and multiply C by it), and leave some of them above zero"
        )
    return weight
