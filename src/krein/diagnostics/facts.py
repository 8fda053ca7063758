"""Facts about the matrix: its spectrum, its order, its distances, its labels.

The negative part is looked at in three ways: the semicircle of symmetric noise
(Wigner), agreement of the negative eigenvectors between random halves of the items, and
alignment with the labels against permutations. Structure is a reason to keep the
negative part only where it has to do with the labels: a repeatable direction that says
nothing about the classes is as useless to a classifier as noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from sklearn.preprocessing import KernelCenterer, PolynomialFeatures, StandardScaler
from sklearn.utils.validation import check_array

from krein.arrays import Array
from krein.spectrum.decomposition import Spectrum, zero_tolerance
from krein.spectrum.nonpositive import quadrature

EXACT_UP_TO = 5000  # items; of more the spectrum is estimated
_ENDS = 20  # eigenpairs from either end when the matrix is large
_PROBED = 10_000  # items of all probes together: more items need fewer probes
# |x| <= 0.404 R holds for half of a semicircle distribution of radius R.
_SEMICIRCLE_MEDIAN = 0.4040
_BULK = 0.25  # share of negative eigenvalues from which on they may be noise
_FEWEST_NEGATIVE = 8  # eigenvalues to which a semicircle is fitted
_EDGE_WIDTH = 4.0  # of the fluctuation R n^-2/3 of the edge
_EDGE_SLACK = 1.1  # times the fitted edge: the fit is not exact
_HALVES = 5  # cuts into halves at random
_LARGEST_HALF = 1000  # items
_FEWEST_HALVED = 8  # items that can be cut into halves
_REPEATED = 3.0  # times the agreement of halves by chance
_REPEATED_AT_LEAST = 0.3  # agreement of halves, whatever chance is
RELATED = 0.01  # p-value of a relation between the negative part and the labels


@dataclass(frozen=True)
class SpectrumFacts:
    """Eigenvalues (all, or both ends), signature and negative mass.

    `eigenvectors` belong to `eigenvalues`, ascending. With ``exact=False`` the
    signature and the negative mass are stochastic estimates.
    """

    eigenvalues: Array
    eigenvectors: Array
    signature: tuple[int, int, int]
    negative_mass: float
    exact: bool


def negative_mass(eigenvalues: Array) -> float:
    """Sum of |negative eigenvalues| over that of all; rounding errors left out."""
    scale = float(np.abs(eigenvalues).max(initial=0.0)) or 1.0
    scaled = eigenvalues / scale
    sizes = np.abs(scaled)
    sizes[sizes <= zero_tolerance(scaled)] = 0.0
    return float(sizes[scaled < 0].sum() / (sizes.sum() or 1.0))


def exact_facts(K: Array) -> SpectrumFacts:
    """Decompose the whole matrix; eigenvalues within rounding of 0 count as 0."""
    spectrum = Spectrum.exact(K)
    zero = np.abs(spectrum.eigenvalues) <= spectrum.tolerance
    values = np.where(zero, 0.0, spectrum.eigenvalues)
    vectors = spectrum.eigenvectors
    mass = negative_mass(values)
    return SpectrumFacts(values, vectors, spectrum.signature, mass, exact=True)


def estimated_facts(K: Array, seed: int = 0) -> SpectrumFacts:
    """Both ends by Lanczos; mass and signature by stochastic Lanczos quadrature."""
    n = K.shape[0]
    rng = np.random.default_rng(seed)
    start = rng.standard_normal(n)
    values, vectors = scipy.sparse.linalg.eigsh(K, 2 * _ENDS, which="BE", v0=start)
    order = np.argsort(values)
    values = values[order]
    vectors = vectors[:, order]
    # The known ends are taken out of the probes: they would dominate the variance.
    signs = rng.choice([-1.0, 1.0], (n, max(4, _PROBED // n)))
    signs -= vectors @ (vectors.T @ signs)
    nodes, weights = quadrature(
        lambda v: K @ v - vectors @ (values * (vectors.T @ v)), signs
    )
    nodes = np.concatenate([nodes, values])
    weights = np.concatenate([weights, np.ones_like(values)])
    tolerance = zero_tolerance(values, n)
    mass = 0.0
    negative = 0
    if values[0] < -tolerance:
        mass = float(weights @ np.maximum(-nodes, 0.0) / (weights @ np.abs(nodes)))
        negative = round(float(weights[nodes < -tolerance].sum()))
    zero = round(float(weights[np.abs(nodes) <= tolerance].sum()))
    signature = (n - negative - zero, negative, zero)
    return SpectrumFacts(values, vectors, signature, mass, exact=False)


# --------------------------------------------------- conditional positive definiteness


# Projecting a kernel against polynomials rounds about so many times more than
# decomposing it.
CPD_ROUNDING = 5.0


def cpd_order(K: Array, facts: SpectrumFacts, X: Any = None) -> int | None:
    """Smallest order m <= 3 at which K is PSD beside polynomials of degree m - 1.

    Order 1 needs constants only; orders 2 and 3 need coordinates X for the linear and
    the quadratic polynomials.
    """
    if facts.signature[1] == 0:
        return 0
    if not facts.exact:
        return None
    least = -CPD_ROUNDING * zero_tolerance(facts.eigenvalues, K.shape[0])
    for order, P in enumerate(_polynomials(K.shape[0], X), start=1):
        # Beside p columns at most p negative eigenvalues can go (Cauchy's interlacing).
        if facts.eigenvalues[P.shape[1]] < least:
            continue
        Q = np.linalg.qr(P)[0]
        KQ = K @ Q
        projected = K - KQ @ Q.T - Q @ (KQ.T - (Q.T @ KQ) @ Q.T)
        values = np.linalg.eigvalsh(0.5 * (projected + projected.T))
        if values[0] >= least:
            return order
    return None


def _polynomials(n: int, X: Any) -> list[Array]:
    """Columns of degree 0, then up to 1, then up to 2, where X is given."""
    if X is None:
        return [np.ones((n, 1))]
    X = check_array(X, dtype=np.float64, input_name="X")
    X = StandardScaler().fit_transform(X)
    spaces = [PolynomialFeatures(degree).fit_transform(X) for degree in range(3)]
    return [P for P in spaces if P.shape[1] < n]


# --------------------------------------------------------------------------- distances


_MAX_ITEMS = 400  # triples of a random subset beyond that: 64 million checks


def triangle_violations(D: Array, seed: int = 0) -> float:
    """Share of triples with D_ij > D_ik + D_kj, over all or a subset of items."""
    items = np.random.default_rng(seed).permutation(D.shape[0])[:_MAX_ITEMS]
    D = D[np.ix_(items, items)]
    n = items.size
    slack = 1e-10 * float(D.max())  # for rounding
    count = 0
    for k in range(n):
        way_over_k = D[:, [k]] + D[[k], :]
        count += int(np.sum(way_over_k + slack < D))
    return count / max(n * (n - 1) * (n - 2), 1)


# ------------------------------------------------------------------- the negative part


Verdict = Literal["none", "noise", "structure", "unclear"]


@dataclass(frozen=True)
class NegativePart:
    """What the negative part of the spectrum looks like.

    Attributes
    ----------
    verdict : {"none", "noise", "structure", "unclear"}
        The summary of the views below.
    noise_edge : float or None
        Radius of the semicircle fitted to the negative eigenvalues (their bulk);
        None where fewer than a quarter of the eigenvalues are negative, which
        symmetric noise on all entries cannot produce.
    outside : int
        Negative eigenvalues beyond the edge by more than its fluctuation.
    agreement : float or None
        Mean |cosine| between the leading negative eigenvector of one half of the
        items and that of the other half carried over by the similarities.
    agreement_by_chance : float or None
        What independent vectors of that length would give.
    label_p_value : float or None
        Share of label permutations whose alignment with the negative eigenspace is
        at least as large; None without labels.
    """

    verdict: Verdict
    noise_edge: float | None = None
    outside: int = 0
    agreement: float | None = None
    agreement_by_chance: float | None = None
    label_p_value: float | None = None

    @property
    def related(self) -> bool | None:
        """Whether the negative part knows the labels; None without labels."""
        if self.label_p_value is None:
            return None
        return self.label_p_value <= RELATED


def examine_negative_part(
    K: Array, facts: SpectrumFacts, y: np.ndarray | None, seed: int = 0
) -> NegativePart:
    """Judge the negative part of a symmetric similarity."""
    if facts.signature[1] == 0:
        return NegativePart("none")
    rng = np.random.default_rng(seed)
    edge, outside = semicircle(facts)
    agreement, chance = half_agreement(K, rng)
    p_value = None if y is None else label_alignment(facts, y, rng)
    repeatable = agreement > max(_REPEATED * chance, _REPEATED_AT_LEAST)
    verdict: Verdict = "unclear"
    if repeatable or (p_value is not None and p_value <= RELATED):
        verdict = "structure"
    elif edge is not None and outside == 0:
        verdict = "noise"
    return NegativePart(verdict, edge, outside, agreement, chance, p_value)


def semicircle(facts: SpectrumFacts) -> tuple[float | None, int]:
    """Fit Wigner's semicircle to the negative eigenvalues; count those outside.

    Symmetric noise of deviation s on n items has its eigenvalues within 2 s sqrt(n),
    half of them negative; the edge fluctuates by about R n^-2/3.
    """
    n = sum(facts.signature)
    negative = -facts.eigenvalues[facts.eigenvalues < 0]
    if not facts.exact or negative.size < _FEWEST_NEGATIVE:
        return None, 0
    if facts.signature[1] < _BULK * n:
        return None, 0
    edge = float(np.median(negative)) / _SEMICIRCLE_MEDIAN
    farthest = edge * (1.0 + _EDGE_WIDTH * n ** (-2 / 3)) * _EDGE_SLACK
    return edge, int(np.sum(negative > farthest))


def half_agreement(K: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Carry the leading negative eigenvector of one half to the other and compare."""
    n = K.shape[0]
    if n < _FEWEST_HALVED:
        return 0.0, 1.0
    half = min(n // 2, _LARGEST_HALF)
    cosines = np.zeros(_HALVES)
    for k in range(_HALVES):
        a, b = np.split(rng.permutation(n)[: 2 * half], 2)
        lowest_a, u_a = _lowest(K[np.ix_(a, a)])
        lowest_b, u_b = _lowest(K[np.ix_(b, b)])
        carried = K[np.ix_(b, a)] @ u_a
        norm = float(np.linalg.norm(carried))
        if lowest_a < 0.0 and lowest_b < 0.0 and norm > 0.0:
            cosines[k] = abs(float(carried @ u_b)) / norm
    # Mean |cosine| of a random unit vector with a fixed one in `half` dimensions.
    by_chance = float(np.sqrt(2.0 / (np.pi * half)))
    return float(cosines.mean()), by_chance


def _lowest(A: Array) -> tuple[float, Array]:
    values, vectors = scipy.linalg.eigh(A, subset_by_index=[0, 0])
    return float(values[0]), vectors[:, 0]


# ------------------------------------------------------------------------------ labels

_ITEMS = 1000  # a random subset beyond that: a relation shows in fewer
_USUAL_ORDERS = 0.95  # share of random orders that count as usual


def centred_indicators(y: np.ndarray) -> Array:
    """Class indicators (n, n_classes) with column means taken out."""
    codes = np.unique(y, return_inverse=True)[1]
    Z = np.eye(codes.max() + 1)[codes]
    return Z - Z.mean(axis=0)


def _over_orders(
    statistics: Callable[[np.ndarray], Any],
    n: int,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Statistics of the labels as they are (row 0), and in random orders (the rest)."""
    found = [np.atleast_1d(statistics(np.arange(n)))]
    for _ in range(count):
        found.append(np.atleast_1d(statistics(rng.permutation(n))))
    return np.array(found)


def _permutation_p_value(values: Array) -> float:
    """P-value of the largest of some statistics, a column each, of an order of labels.

    Of several statistics the smallest p-value is taken, and compared with the smallest
    p-value of every other order (Westfall and Young, 1993): the smaller of two p-values
    alone would be small too often.
    """
    smallest = np.min([_ranks(column) for column in values.T], axis=0)
    return float(np.mean(smallest <= smallest[0]))


def _ranks(values: Array) -> Array:
    """For each value, how many are at least as large, up to rounding."""
    least = values - 1e-12 * np.abs(values)
    return np.sum(values >= least[:, None], axis=1)


def label_alignment(
    facts: SpectrumFacts, y: np.ndarray, rng: np.random.Generator
) -> float:
    """Permutation p-value of the labels' energy in the negative eigenspace.

    The statistic is sum_i |l_i| |u_i' Z|^2 over negative eigenpairs, with Z the
    centred class indicators.
    """
    Z = centred_indicators(y)
    negative = facts.eigenvalues < 0
    U = facts.eigenvectors[:, negative] * np.sqrt(-facts.eigenvalues[negative])

    def energy(order: np.ndarray) -> Any:
        return np.sum((U.T @ Z[order]) ** 2)

    return _permutation_p_value(_over_orders(energy, y.size, 200, rng))


@dataclass(frozen=True)
class LabelRelation:
    """Whether similar items share labels, and how strong the test of it is.

    Attributes
    ----------
    p_value : float
        Permutation test of a relation.
    shared : float
        Share of items whose most similar other item has the same label.
    by_chance : float
        Mean of that share over random orders of the labels.
    noticed : float
        The share that 19 of 20 random orders do not exceed: from about there on the
        test notices a relation.
    items : int
        Number of items looked at.
    """

    p_value: float
    shared: float
    by_chance: float
    noticed: float
    items: int


def label_relation(K: Array, y: np.ndarray, seed: int = 0) -> LabelRelation:
    """Test a relation between K and y, which may be seen in one of two ways.

    One statistic is the energy ``|J K J Z|^2`` of the centred class indicators Z, to
    which positive and negative eigenvalues contribute alike; the other the share of
    items whose most similar other item has the same label.
    """
    rng = np.random.default_rng(seed)
    items = rng.permutation(K.shape[0])[:_ITEMS]
    K = K[np.ix_(items, items)]
    codes = np.unique(y[items], return_inverse=True)[1]
    Z = centred_indicators(codes)
    centred = KernelCenterer().fit_transform(K) / (float(np.abs(K).max()) or 1.0)
    others = np.where(np.eye(K.shape[0], dtype=bool), -np.inf, K)
    nearest = np.argmax(others, axis=1)

    def statistics(order: np.ndarray) -> tuple[float, float]:
        energy = float(np.sum((centred @ Z[order]) ** 2))
        return energy, float(np.mean(codes[order] == codes[order][nearest]))

    values = _over_orders(statistics, codes.size, 99, rng)
    shares = values[1:, 1]
    return LabelRelation(
        p_value=_permutation_p_value(values),
        shared=float(values[0, 1]),
        by_chance=float(shares.mean()),
        noticed=float(np.quantile(shares, _USUAL_ORDERS)),
        items=codes.size,
    )
