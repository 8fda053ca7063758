"""Every threshold of judgement, on both sides of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from krein import diagnose, validation
from krein.comparison.comparison import Comparison
from krein.comparison.problem import Problem
from krein.diagnostics import facts
from krein.diagnostics.advice import advise
from krein.diagnostics.facts import NegativePart, SpectrumFacts, semicircle
from krein.diagnostics.findings import Evidence, find
from krein.spectrum.decomposition import zero_tolerance
from krein.training import Classes
from krein.validation import wrong_direction

EPS = np.finfo(float).eps


def keys(K, y=None, **about):
    return {finding.key: finding for finding in find(Evidence(K, K, y=y, **about))}


@pytest.fixture
def points(rng):
    """Vectors of two classes and a similarity without findings."""
    y = np.repeat(["a", "b"], 40)
    X = rng.standard_normal((80, 4)) + np.where(y == "a", 1.5, -1.5)[:, None]
    return X, y, np.exp(-cdist(X, X) / np.median(cdist(X, X)))


# ------------------------------------------------------------------- diagnose, compare


def near_the_border(seed, decades):
    """A matrix whose smallest eigenvalue is minus the tolerance times 10^decades."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 41))
    values = rng.uniform(0.1, 1.0, n)
    values[0], values[-1] = 0.0, 1.0
    values[0] = -zero_tolerance(values) * 10.0**decades
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    K = (Q * values) @ Q.T
    return 0.5 * (K + K.T) * 10.0 ** rng.integers(-3, 4)


def test_diagnose_and_compare_agree_at_the_border():
    """200 matrices, the smallest eigenvalue within three orders of the tolerance."""
    verdicts = []
    for seed, decades in enumerate(np.linspace(-3.0, 3.0, 200)):
        K = near_the_border(seed, decades)
        n = K.shape[0]
        problem = Problem(K, Classes(np.arange(n) % 2, 2), np.array(["a", "b"]))
        comparison = Comparison((), (), "accuracy", problem, ())
        found = diagnose(K)
        assert (found.verdict == "psd") == (not comparison.indefinite), (seed, decades)
        assert (found.signature[1] > 0) == comparison.indefinite
        if not found.findings:
            says_psd = "there is nothing to fix" in found.advice[0]
            assert says_psd == (not comparison.indefinite)
        verdicts.append(comparison.indefinite)
    assert not any(verdicts[:60])  # far above rounding and far below: known
    assert all(verdicts[-60:])


# ------------------------------------------------------------------------- the spectrum


@pytest.mark.parametrize(
    ("mass", "verdict"), [(0.0099, "nearly psd"), (0.0101, "indefinite")]
)
def test_nearly_psd(mass, verdict, with_spectrum):
    positive = np.full(9, (1.0 - mass) / 9)
    assert diagnose(with_spectrum([-mass, *positive])).verdict == verdict


@pytest.mark.parametrize(("asymmetry", "symmetric"), [(0.9e-8, True), (1.1e-8, False)])
def test_symmetric(asymmetry, symmetric, points):
    K = points[2].copy()
    K[3, 4] += asymmetry  # the largest entry is 1
    assert diagnose(K).symmetric == symmetric


@pytest.mark.parametrize(
    ("asymmetry", "severity"),
    [(0.9e-8, None), (1.1e-8, "note"), (0.9e-6, "note"), (1.1e-6, "warning")],
)
def test_asymmetry_is_worth_a_word(asymmetry, severity, points):
    found = keys(points[2], asymmetry=asymmetry).get("asymmetric")
    assert (found and found.severity) == severity


@pytest.mark.parametrize(("times", "order"), [(4.0, 1), (6.0, None)])
def test_conditionally_definite_to_rounding(times, order, rng):
    """Beside constants the smallest eigenvalue is so many times the tolerance."""
    n = 20
    A = np.column_stack([np.ones(n), rng.standard_normal((n, n - 1))])
    Q = np.linalg.qr(A)[0]
    values = np.r_[-1.0, np.linspace(0.5, 1.0, n - 1)]
    values[1] = -times * n * EPS
    K = (Q * values) @ Q.T
    K = 0.5 * (K + K.T)
    assert facts.cpd_order(K, facts.exact_facts(K)) == order


@pytest.mark.parametrize(("excess", "broken"), [(0.2e-10, 0.0), (5e-10, 1.0)])
def test_triangles_are_broken_beyond_rounding(excess, broken):
    D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    D[0, 2] = D[2, 0] = 2.0 * (1.0 + excess)
    assert (facts.triangle_violations(D) > 0) == bool(broken)


# -------------------------------------------------------------------- the negative part


def spectrum_of(negative, n=100):
    """Facts of a spectrum with these negative eigenvalues among n."""
    negative = np.sort(-np.asarray(negative, dtype=float))
    values = np.r_[negative, np.linspace(1.0, 2.0, n - negative.size)]
    signature = (n - negative.size, negative.size, 0)
    return SpectrumFacts(values, np.eye(n), signature, 0.3, True)


@pytest.mark.parametrize(("times", "outside"), [(1.05, 0), (1.15, 1), (1.6, 1)])
def test_an_eigenvalue_beyond_the_edge(times, outside):
    n, negative = 100, np.full(49, 0.404)
    edge = 1.0 * (1.0 + 4.0 * n ** (-2 / 3))
    found = semicircle(spectrum_of([*negative, times * edge]))
    assert found == (pytest.approx(1.0), outside)


@pytest.mark.parametrize(("count", "n", "fitted"), [
    (24, 100, False), (26, 100, True), (7, 20, False), (8, 20, True),
])  # fmt: skip
def test_fewest_eigenvalues_of_noise(count, n, fitted):
    edge, _ = semicircle(spectrum_of(np.full(count, 0.4), n))
    assert (edge is not None) == fitted


@pytest.mark.parametrize(
    ("agreement", "chance", "verdict"),
    [
        (0.58, 0.2, "noise"),
        (0.62, 0.2, "structure"),
        (0.29, 0.05, "noise"),
        (0.31, 0.05, "structure"),
    ],
)
def test_halves_that_agree_are_structure(agreement, chance, verdict, monkeypatch):
    def half_agreement(K, rng):
        return agreement, chance

    monkeypatch.setattr(facts, "half_agreement", half_agreement)
    seen = spectrum_of(np.full(50, 0.4))
    assert facts.examine_negative_part(np.eye(100), seen, None).verdict == verdict


@pytest.mark.parametrize(("p", "verdict"), [(0.01, "structure"), (0.011, "noise")])
def test_a_relation_to_the_labels_is_structure(p, verdict, monkeypatch):
    monkeypatch.setattr(facts, "half_agreement", lambda K, rng: (0.0, 1.0))
    monkeypatch.setattr(facts, "label_alignment", lambda seen, y, rng: p)
    seen, y = spectrum_of(np.full(50, 0.4)), np.arange(100) % 2
    part = facts.examine_negative_part(np.eye(100), seen, y)
    assert part.verdict == verdict
    assert part.related == (verdict == "structure")


@pytest.mark.parametrize(("n", "asked"), [(7, False), (8, True)])
def test_fewest_items_that_are_halved(n, asked, rng):
    K = rng.standard_normal((n, n))
    agreement, _ = facts.half_agreement(K + K.T - 9 * np.eye(n), rng)
    assert (agreement > 0) == asked


@pytest.mark.parametrize(("p", "hint"), [(0.05, True), (0.051, False)])
def test_a_hint_of_a_relation(p, hint):
    part = NegativePart("unclear", label_p_value=p)
    assert ("a hint of" in advise("indefinite", part, None, [])[0]) == hint


def test_what_a_test_notices_is_beyond_nineteen_of_twenty_orders(monkeypatch):
    shares = np.r_[0.5, np.linspace(0.0, 1.0, 101)]  # as they are; in random orders
    orders = np.column_stack([np.zeros_like(shares), shares])
    monkeypatch.setattr(facts, "_over_orders", lambda *asked: orders)
    relation = facts.label_relation(np.eye(6), np.arange(6) % 2)
    assert relation.noticed == pytest.approx(0.95)


def test_one_of_two_small_p_values_is_no_more_than_chance(rng):
    """Of labels without a relation a tenth has p <= 0.1, not a fifth."""
    X = rng.standard_normal((40, 3))
    K = X @ X.T
    orders = [rng.permutation(40) % 2 for _ in range(150)]
    p = [facts.label_relation(K, y, k).p_value for k, y in enumerate(orders)]
    assert 0.03 < np.mean(np.array(p) <= 0.1) < 0.16


# ------------------------------------------------------------------- wrong directions


@pytest.mark.parametrize(("asymmetry", "kept"), [(0.9e-8, True), (1.1e-8, False)])
def test_asymmetry_of_rounding_is_left_as_it_is(asymmetry, kept, points):
    """In an estimator, which otherwise takes the mean of both directions."""
    K = points[2].copy()
    K[3, 4] += asymmetry  # the largest entry is 1
    checked = validation.check_similarity(K, symmetrize=None)
    assert np.array_equal(checked, K) == kept


@pytest.mark.parametrize(
    ("near", "far", "n", "turned"),
    [
        (0.19, 0.9, 100, True),
        (0.21, 0.9, 100, False),
        (0.1, 0.81, 100, True),
        (0.1, 0.79, 100, False),
        (0.01, 0.99, 10, False),  # 6 standard errors are more than there is
        (-1.0, 2.0, 10, True),
        (-1.0, 2.0, 9, False),
    ],
)
def test_neighbours_far_from_chance(near, far, n, turned, monkeypatch):
    """Six standard errors of 0.05 below chance, and as many above."""
    shares = near, far, 0.5
    monkeypatch.setattr(validation, "same_label_shares", lambda K, y: shares)
    found = wrong_direction(np.eye(n) + 1.0, y=np.arange(n) % 2)
    assert (found is not None) == turned


@pytest.mark.parametrize(("zeros", "distances"), [(0.4, True), (0.6, False)])
def test_share_of_zeros_in_distances(zeros, distances, rng):
    D = np.triu((rng.random((60, 60)) > zeros).astype(float), 1)
    assert validation.looks_like_distances(D + D.T) == distances


@pytest.mark.parametrize(("items", "similarities"), [(18, True), (17, False)])
def test_share_of_items_nearest_to_themselves(items, similarities):
    K = np.full((20, 20), 0.5) + 0.5 * np.eye(20)
    K[items:, 0] = 2.0  # these rows have a larger number elsewhere
    assert validation.looks_like_similarities(K) == similarities


@pytest.mark.parametrize(("share", "refused"), [(0.9e-6, False), (1.1e-6, True)])
def test_asymmetry_that_is_no_rounding(share, refused):
    K = np.eye(4)
    K[0, 1] = share
    if not refused:
        assert validation.check_similarity(K)[0, 1] == share / 2
        return
    with pytest.raises(ValueError, match="is not symmetric"):
        validation.check_similarity(K)


# ---------------------------------------------------------------------------- findings


@pytest.mark.parametrize(("size", "severity"), [
    (0.9e-4, "warning"), (1.1e-4, "note"), (0.9e-2, "note"), (1.1e-2, None),
    (99.0, None), (101.0, "note"), (0.99e4, "note"), (1.01e4, "warning"),
])  # fmt: skip
def test_odd_units(size, severity, points):
    found = keys(size * points[2]).get("scale")
    assert (found and found.severity) == severity


@pytest.mark.parametrize(("others", "seen"), [(0.009, True), (0.014, False)])
def test_nearly_diagonal(others, seen):
    """Typical similarity to another item; the sum over others is above the own one."""
    n = 300
    K = np.full((n, n), others) + (1.0 - others) * np.eye(n)
    assert ("nearly-diagonal" in keys(K)) == seen


@pytest.mark.parametrize(("others", "seen"), [(0.03, True), (0.06, False)])
def test_alike_only_to_itself(others, seen):
    """The sum over 20 others is below or above the similarity to itself."""
    K = np.full((21, 21), others) + (1.0 - others) * np.eye(21)
    assert ("nearly-diagonal" in keys(K)) == seen


@pytest.mark.parametrize(("others", "seen"), [(0.09, True), (0.11, False)])
def test_few_items_are_alike_only_to_themselves(others, seen):
    """The mean over 4 others is below or above a tenth."""
    K = np.full((5, 5), others) + (1.0 - others) * np.eye(5)
    assert ("nearly-diagonal" in keys(K)) == seen


@pytest.mark.parametrize(("others", "seen"), [(0.96, True), (0.94, False)])
def test_nearly_constant(others, seen):
    n = 1000
    K = np.full((n, n), others) + (1.0 - others) * np.eye(n)
    assert ("nearly-constant" in keys(K)) == seen


@pytest.mark.parametrize(("p", "seen"), [(0.1, False), (0.11, True)])
def test_unrelated_labels(p, seen, points, monkeypatch):
    relation = facts.LabelRelation(p, 0.5, 0.5, 0.6, 40)
    monkeypatch.setattr(facts, "label_relation", lambda K, y: relation)
    found = keys(points[2], points[1])
    assert ("labels-unrelated" in found) == seen


@pytest.mark.parametrize(
    ("rare", "severity"), [(1, "error"), (2, "warning"), (4, "warning"), (5, None)]
)
def test_small_classes(rare, severity, points):
    y = np.array(["a"] * 40 + ["b"] * (40 - rare) + ["c"] * rare)
    found = keys(points[2], y).get("small-class")
    assert (found and found.severity) == severity


@pytest.mark.parametrize(
    ("classes", "named"), [(2, "r0 (2), r1 (2)"), (4, "r0 (2), r1 (2), r2 (2)")]
)
def test_three_small_classes_are_named(classes, named, points):
    rare = np.repeat([f"r{k}" for k in range(classes)], 2)
    y = np.array(["a"] * 30 + ["b"] * (50 - rare.size) + rare.tolist())
    text = keys(points[2], y)["small-class"].text
    assert f"{classes} ({named})" in text


@pytest.mark.parametrize(("largest", "seen"), [(71, False), (72, True)])
def test_imbalance(largest, seen, points):
    y = np.array(["a"] * largest + ["b"] * (80 - largest))
    assert ("imbalance" in keys(points[2], y)) == seen  # of 80 items 72 are nine tenths


@pytest.mark.parametrize(("twins", "severity"), [(2, "note"), (4, "warning")])
def test_few_twins_are_a_note(twins, severity, points):
    X = points[0].copy()
    X[:twins] = X[0]
    found = keys(np.exp(-cdist(X, X)))
    assert found["duplicates"].severity == severity  # of 80 items 4 are a twentieth


@pytest.mark.parametrize(
    ("change", "pairs", "seen"),
    [(0.89, 20, False), (0.91, 20, True), (0.91, 1, False), (0.91, 2, True)],
)
def test_near_duplicates_of_hits(change, pairs, seen, rng):
    """At nine tenths of the self-similarity; from a twentieth of the items on."""
    K = np.eye(80)
    i = np.arange(80)
    K[i, (i + 40) % 80] = 0.3  # hits that are no near-duplicates
    for k in range(0, 2 * pairs, 2):
        K[k, k + 1] = K[k + 1, k] = change
    assert ("near-duplicates" in keys(K)) == seen


@pytest.mark.parametrize(("present", "hits"), [(0.47, True), (0.55, False)])
def test_a_table_of_hits_is_mostly_empty(present, hits):
    n = 100
    K = np.where(np.abs(np.subtract.outer(range(n), range(n))) % n < 1, 1.0, 0.0)
    width = round(present * n / 2)
    for k in range(1, width + 1):
        K += 0.5 * (np.eye(n, k=k) + np.eye(n, k=k - n))
        K += 0.5 * (np.eye(n, k=-k) + np.eye(n, k=n - k))
    assert Evidence(K, K).of_hits == hits


@pytest.mark.parametrize(("different", "classes"), [(40, True), (41, False)])
def test_classes_have_two_items_on_average(different, classes, points):
    y = np.array([f"c{k}" for k in np.arange(80) % different])
    assert (Evidence(points[2], points[2], y=y).classes is not None) == classes


def test_a_spectrum_is_estimated_beyond_the_limit(monkeypatch, points):
    monkeypatch.setattr(facts, "EXACT_UP_TO", 80)
    assert Evidence(points[2], points[2]).spectrum.exact
    monkeypatch.setattr(facts, "EXACT_UP_TO", 79)
    estimate = SimpleNamespace(exact=False)
    monkeypatch.setattr(facts, "estimated_facts", lambda K: estimate)
    assert not Evidence(points[2], points[2]).spectrum.exact
