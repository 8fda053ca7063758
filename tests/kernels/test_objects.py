"""Kernels on objects: the library's own answer, conventions, and bad input."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krein import (
    Kernel,
    dtw_kernel,
    edit_kernel,
    haversine_kernel,
    kernel_matrix,
    lcs_kernel,
    needleman_wunsch_kernel,
    optimal_assignment_kernel,
    smith_waterman_kernel,
    wasserstein_1d_kernel,
    wl_kernel,
)
from krein.kernels import KERNELS
from tests.kernels.examples import GRAPHS, SERIES, WORDS
from tests.reference import series as reference
from tests.reference import strings

# ------------------------------------------------------------------------- series

aeon = pytest.mark.skipif(
    importlib.util.find_spec("aeon") is None, reason="aeon is the referee here"
)


@pytest.fixture(scope="module")
def equal_series():
    return np.random.default_rng(2).standard_normal((6, 14))


def distance(name, X, Y=None, **params):
    return KERNELS[name].distance(X, Y, **params)


def test_dtw_equals_dtaidistance(equal_series):
    dtw = pytest.importorskip("dtaidistance", reason="extra 'series'").dtw
    X = equal_series
    for window, theirs in ((None, None), (3, 4), (0.25, 4)):
        expected = [[dtw.distance(x, y, window=theirs) for y in X] for x in X]
        found = distance("dtw", X, window=window)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    euclidean = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_allclose(distance("dtw", X, window=0), euclidean)


@pytest.mark.slow
@aeon
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("window", [None, 0.3])
def test_msm_and_twe_equal_aeon(equal_series, window):
    from aeon.distances import msm_pairwise_distance, twe_pairwise_distance

    X = equal_series
    np.testing.assert_allclose(
        distance("msm", X, c=0.5, window=window),
        msm_pairwise_distance(X, c=0.5, window=window),
    )
    np.testing.assert_allclose(
        distance("twe", X, nu=0.05, lmbda=0.7, window=window),
        twe_pairwise_distance(X, nu=0.05, lmbda=0.7, window=window),
    )


@pytest.mark.parametrize("name", ["dtw", "msm", "twe", "erp"])
def test_channels(name):
    rng = np.random.default_rng(4)
    X = [rng.standard_normal((2, n)) for n in (5, 7, 4)]
    function = getattr(reference, name)
    expected = [[function(x, y) for y in X] for x in X]
    np.testing.assert_allclose(distance(name, X), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["dtw", "msm", "twe", "erp"])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=8),
    st.lists(st.integers(-9, 9), min_size=1, max_size=8),
    st.one_of(st.none(), st.integers(0, 3), st.floats(0, 0.5)),
)
def test_every_window_and_length(name, x, y, window):
    expected = getattr(reference, name)(x, y, window=window)
    found = distance(name, [x], [y], window=window)[0, 0]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["dtw", "msm", "twe", "erp"])
def test_bad_series_are_named(name):
    kernel = Kernel(name)
    with pytest.raises(ValueError, match=r"X\[1\] contains NaN or infinity"):
        kernel([[1.0, 2.0], [1.0, np.nan, 2.0]])
    with pytest.raises(ValueError, match=r"Y\[0\] has shape \(0,\)"):
        kernel([[1.0]], [[]])
    with pytest.raises(ValueError, match=r"one shape .*channels.*, got \[1, 2\]"):
        kernel([[1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]])
    with pytest.raises(ValueError, match=r"one shape .*channels.*, got \[1, 2\]"):
        kernel([[1.0, 2.0]], [[[1.0, 2.0], [3.0, 4.0]]])
    with pytest.raises(ValueError, match=r"X\[0\] must be a series of numbers"):
        kernel(["abc"])
    for window in (-1, 2.5, True, "wide"):
        with pytest.raises((ValueError, TypeError), match="window"):
            Kernel(name, window=window)(SERIES)


def test_negative_costs_are_refused():
    with pytest.raises(ValueError, match="c must not be negative"):
        Kernel("msm", c=-1.0)(SERIES)
    with pytest.raises(ValueError, match="nu and lmbda"):
        Kernel("twe", nu=-1.0)(SERIES)


# ------------------------------------------------------------------------ strings


def test_edit_equals_rapidfuzz_and_normalises():
    rapidfuzz = pytest.importorskip("rapidfuzz", reason="extra 'strings'")
    score = rapidfuzz.distance.Levenshtein
    D = distance("edit", WORDS, WORDS[:3])
    expected = [[score.distance(a, b) for b in WORDS[:3]] for a in WORDS]
    np.testing.assert_array_equal(D, expected)
    D = distance("edit", WORDS, WORDS[:3], normalize=True)
    expected = [[score.normalized_distance(a, b) for b in WORDS[:3]] for a in WORDS]
    np.testing.assert_allclose(D, expected)
    np.testing.assert_allclose(np.diagonal(lcs_kernel(WORDS, normalize=True)), 1)


def test_strings_may_come_as_an_array():
    np.testing.assert_array_equal(edit_kernel(np.array(WORDS)), edit_kernel(WORDS))


def test_bad_strings_are_named():
    with pytest.raises(TypeError, match=r"X\[1\] must be a string, got float: nan"):
        edit_kernel(["a", float("nan")])
    with pytest.raises(ValueError, match=r"X\[1\] is an empty string"):
        edit_kernel(["a", ""])
    with pytest.raises(TypeError, match="got one str"):
        edit_kernel("abc")


# ---------------------------------------------------------------------- alignment

PROTEINS = ["HEAGAWGHEE", "PAWHEAE", "MKVLAAGIVGL", "MKVLSAGIAGLKK", "WWWWPPAW"]


@pytest.mark.parametrize("gap_open", [11, 0])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_alignment_equals_biopython_counted_as_blast_does(mode, gap_open):
    align = pytest.importorskip("Bio.Align", reason="extra 'bio'")
    aligner = align.PairwiseAligner(mode=mode)
    aligner.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    aligner.open_gap_score, aligner.extend_gap_score = -(gap_open + 1), -1
    expected = [[aligner.score(a, b) for b in PROTEINS] for a in PROTEINS]
    kernel = smith_waterman_kernel if mode == "local" else needleman_wunsch_kernel
    np.testing.assert_array_equal(kernel(PROTEINS, gap_open=gap_open), expected)


SEQUENCES = st.lists(st.text("ACG", min_size=1, max_size=9), min_size=1, max_size=3)


@settings(max_examples=100, deadline=None)
@given(SEQUENCES, SEQUENCES, st.integers(0, 2), st.integers(0, 2))
def test_alignment_equals_its_definition(X, Y, gap_open, gap_extend):
    pytest.importorskip("parasail", reason="extra 'bio'")
    params = {"matrix": (2, -1), "gap_open": gap_open, "gap_extend": gap_extend}
    for kernel, score in (
        (smith_waterman_kernel, strings.smith_waterman),
        (needleman_wunsch_kernel, strings.needleman_wunsch),
    ):
        expected = [[score(x, y, **params) for y in Y] for x in X]
        np.testing.assert_array_equal(kernel(X, Y, **params), expected)


def test_alignment_normalised():
    K = smith_waterman_kernel(PROTEINS)
    own = np.sqrt(np.diagonal(K))
    expected = K / np.outer(own, own)
    normal = smith_waterman_kernel(PROTEINS, normalize=True)
    np.testing.assert_allclose(normal, expected)
    np.testing.assert_allclose(
        smith_waterman_kernel(PROTEINS, PROTEINS[:2], normalize=True), expected[:, :2]
    )


def test_scores_beyond_16_bits():
    long = "W" * 4000  # 11 a letter
    assert smith_waterman_kernel([long])[0, 0] == 44000
    assert needleman_wunsch_kernel([long], ["W"])[0, 0] == 11 - 11 - 3999
    assert needleman_wunsch_kernel([long], ["A"], gap_extend=12)[0, 0] < -40000


def test_bad_sequences_are_named():
    with pytest.raises(ValueError, match=r"X\[1\] has the letter '\*' at position 2"):
        smith_waterman_kernel(["ACD", "AC*"])
    with pytest.raises(ValueError, match=r"X\[0\] has the letter 'J'"):
        smith_waterman_kernel(["J"])
    with pytest.raises(ValueError, match="the letter 'E'"):
        needleman_wunsch_kernel(["ACE"], matrix="dnafull")
    with pytest.raises(ValueError, match=r"Y\[0\] is an empty string"):
        smith_waterman_kernel(["A"], [""])
    with pytest.raises(TypeError, match="must be a string"):
        smith_waterman_kernel([3])
    with pytest.raises(ValueError, match="name of a substitution matrix"):
        smith_waterman_kernel(["A"], matrix="blosum63")
    with pytest.raises(ValueError, match=r"a pair \(match, mismatch\)"):
        smith_waterman_kernel(["A"], matrix=3)
    with pytest.raises(ValueError, match="gap_open == -11"):
        smith_waterman_kernel(["A"], gap_open=-11)
    with pytest.raises(TypeError, match="gap_extend must be an instance"):
        smith_waterman_kernel(["A"], gap_extend=0.5)
    with pytest.raises(ValueError, match=r"has s\(a, a\) = -1"):
        needleman_wunsch_kernel(["A"], matrix=(-1, -1), normalize=True)


# ------------------------------------------------------------------------- graphs


def test_wl_equals_grakel():
    grakel = pytest.importorskip("grakel", reason="extra 'graphs'")
    theirs = []
    for n, edges, labels in GRAPHS[:4]:
        adjacency = np.zeros((n, n))
        for u, v in edges:
            adjacency[u, v] = adjacency[v, u] = 1
        theirs.append(grakel.Graph(adjacency, node_labels=dict(enumerate(labels))))
    kernel = grakel.WeisfeilerLehman(n_iter=2, base_graph_kernel=grakel.VertexHistogram)
    np.testing.assert_allclose(
        wl_kernel(GRAPHS[:4], n_iter=2), kernel.fit_transform(theirs)
    )


def test_networkx_graphs_are_accepted():
    networkx = pytest.importorskip("networkx", reason="only this test needs it")
    theirs = []
    for n, edges, labels in GRAPHS:
        graph = networkx.Graph(edges)
        graph.add_nodes_from(range(n))
        networkx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        theirs.append(graph)
    for kernel in (wl_kernel, optimal_assignment_kernel):
        np.testing.assert_allclose(kernel(theirs), kernel(GRAPHS), rtol=1e-12)


def test_both_directions_of_an_edge_are_one_edge():
    one = (2, [(0, 1)], None)
    both = (np.arange(2), np.array([[0, 1], [1, 0]]), None)
    np.testing.assert_array_equal(wl_kernel([one], [both]), wl_kernel([one]))


def test_graph_kernels_normalised():
    for kernel in (wl_kernel, optimal_assignment_kernel):
        K = kernel(GRAPHS, normalize=True)
        np.testing.assert_allclose(np.diagonal(K), 1)
        np.testing.assert_allclose(kernel(GRAPHS[:3], GRAPHS[2:], normalize=True),
                                   K[:3, 2:])  # fmt: skip


def test_bad_graphs_are_named():
    good = GRAPHS[0]
    cases = {
        r"X\[1\] has the edge \(0, 7\)": (2, [(0, 7)], None),
        r"X\[1\] has 1 labels for 2 nodes": (2, [], ["a"]),
        r"X\[1\] has no nodes": (0, [], []),
        r"X\[1\] has no nodes, or a name twice": (["a", "a"], [], None),
        r"X\[1\] has 1 labels for 2": (2, [], {0: "a"}),
    }
    for message, graph in cases.items():
        with pytest.raises(ValueError, match=message):
            wl_kernel([good, graph])
    with pytest.raises(TypeError, match=r"X\[1\] must be \(nodes, edges, labels\)"):
        wl_kernel([good, "abc"])
    with pytest.raises(ValueError, match="n_iter == -1"):
        wl_kernel([good], n_iter=-1)
    with pytest.raises(ValueError, match="decay == 2"):
        optimal_assignment_kernel([good], decay=2.0)


# ------------------------------------------------------- places and distributions


def test_wasserstein_equals_scipy(rng):
    from scipy.stats import wasserstein_distance

    X = [rng.standard_normal(n) for n in (4, 6, 4)]
    expected = [[-wasserstein_distance(x, y) for y in X] for x in X]
    K = wasserstein_1d_kernel(X, similarity="negative")
    np.testing.assert_allclose(K, expected, atol=1e-14)
    rows = rng.standard_normal((5, 7))
    K = wasserstein_1d_kernel(rows, rows[:2], similarity="negative")
    expected = [[-wasserstein_distance(x, y) for y in rows[:2]] for x in rows]
    np.testing.assert_allclose(K, expected, atol=1e-14)
    with pytest.raises(ValueError, match=r"X\[0\] contains NaN"):
        wasserstein_1d_kernel([[np.nan]])
    with pytest.raises(ValueError, match=r"X\[1\] has shape \(0,\)"):
        wasserstein_1d_kernel([[1.0], []])


def test_places_of_a_frame():
    places = pd.DataFrame({"lat": [48.9, 52.5], "lon": [2.4, 13.4]})
    expected = haversine_kernel(places.to_numpy())
    np.testing.assert_array_equal(haversine_kernel(places), expected)


def test_bad_places_are_named():
    with pytest.raises(ValueError, match="latitude and longitude"):
        haversine_kernel([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"X\[0\] is \[120.0, 30.0\]"):
        haversine_kernel([[120.0, 30.0]])


# --------------------------------------------------------------- data-dependent


def test_twins_have_no_scale():
    fitted = Kernel("edit", gamma="median").fit(["a", "a", "a", "abcde"])
    assert fitted.params == {"gamma": 0.25}
    assert Kernel("edit", gamma="median").fit(["a", "a"]).params == {"gamma": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dtw", "smith_waterman", "edit"])
def test_two_jobs_equal_one(name):
    items = {"dtw": SERIES, "smith_waterman": PROTEINS, "edit": WORDS}[name]
    np.testing.assert_array_equal(
        kernel_matrix(name, items, n_jobs=2), Kernel(name)(items)
    )


def test_dtw_of_one_series():
    assert dtw_kernel([[1.0, 2.0]]).tolist() == [[1.0]]
