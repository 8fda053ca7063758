"""Findings: each is seen where it is, and not seen on good data."""

import json
import re

import numpy as np
import pytest
import sklearn.preprocessing
from scipy.spatial.distance import cdist

import krein
from krein import diagnose, load_dataset, rbf_kernel, sigmoid_kernel
from krein.diagnostics.twins import listed_groups


@pytest.fixture
def blobs(rng):
    """Vectors, labels and a good similarity."""
    y = np.repeat(["a", "b"], 40)
    X = rng.standard_normal((80, 4)) + np.where(y == "a", 1.5, -1.5)[:, None]
    return X, y, np.exp(-cdist(X, X) / np.median(cdist(X, X)))


def keys(found):
    return [finding.key for finding in found.findings]


def test_good_data_have_no_findings(blobs):
    _, y, K = blobs
    assert diagnose(K, y).findings == []
    assert diagnose(K).findings == []


@pytest.mark.parametrize("half", ["upper", "lower"])
def test_one_triangle_is_told_from_two_directions(blobs, half):
    _, y, K = blobs
    one = np.tril(K) if half == "upper" else np.triu(K)
    found = diagnose(one, y).findings
    assert found[0].key == "empty-half"
    assert found[0].text.startswith(f"The {half} half of the matrix is zero")
    assert "asymmetric" not in [finding.key for finding in found]
    repaired = eval(found[0].python.removeprefix("K = "), {"np": np, "K": one})
    np.testing.assert_array_equal(repaired, K)
    one[3, 7] = one[7, 3] = 0.2  # now there is something in both halves
    assert "asymmetric" in keys(diagnose(one, y))


def test_near_duplicates_of_hits(rng):
    K = np.kron(np.eye(40), [[1.0, 0.95], [0.95, 1.0]])
    far = rng.random((80, 80)) < 0.05
    K = np.maximum(K, np.where(far | far.T, 0.3, 0.0))
    found = diagnose(K, np.arange(80) % 2)
    near = next(f for f in found.findings if f.key == "near-duplicates")
    assert near.text.startswith("100% of the items")
    assert "--split-by-similarity 0.5" in near.command
    K[K == 0.95] = 0.6
    assert "near-duplicates" not in keys(diagnose(K, np.arange(80) % 2))


def test_distances_come_first_and_stop_all_other_advice(blobs):
    X, y, _ = blobs
    D = cdist(X, X)
    found = diagnose(D, np.where(np.arange(80) < 78, "a", "b"))
    assert keys(found)[0] == "looks-like-distances"
    assert found.findings[0].severity == "error"
    assert "--kind distance" in found.findings[0].command
    assert len(found.advice) == 1
    assert "distances" in found.advice[0]
    assert "looks-like-distances" not in keys(diagnose(D, y, kind="distance"))
    assert "looks-like-distances" not in keys(diagnose(-D, y))


def test_similarities_called_distances_are_noticed(blobs):
    _, y, K = blobs
    assert keys(diagnose(K, y, kind="distance"))[0] == "looks-like-similarities"


def test_a_graph_with_zero_diagonal_is_no_distance(rng):
    A = (rng.random((40, 40)) < 0.1).astype(float)
    A = np.triu(A, 1) + np.triu(A, 1).T
    assert "looks-like-distances" not in keys(diagnose(A))


@pytest.mark.parametrize("gamma", [10.0, 100.0, 1000.0])
def test_too_large_a_gamma_is_nearly_diagonal(gamma, blobs):
    X, y, _ = blobs
    found = diagnose(np.exp(-gamma * cdist(X, X)), y)
    assert "nearly-diagonal" in keys(found)
    assert "gamma='median'" in found.advice[0]
    assert "no fix" not in str(found.advice)


def test_too_small_a_gamma_is_nearly_constant(blobs):
    X, y, _ = blobs
    found = diagnose(np.exp(-1e-3 * cdist(X, X)), y)
    assert "nearly-constant" in keys(found)
    assert "gamma is too small" in found.advice[0]


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_scale_is_named_and_changes_nothing_else(scale, blobs):
    _, y, K = blobs
    found = diagnose(scale * K, y)
    assert keys(found) == ["scale"]
    assert found.advice == diagnose(K, y).advice


def test_twins_are_counted_and_their_labels_compared(blobs):
    X, y, _ = blobs
    twice = np.r_[X, X[:5]]
    K = rbf_kernel(twice)
    found = {f.key: f for f in diagnose(K, np.r_[y, y[:5]]).findings}
    assert "10 items have an exact twin" in found["duplicates"].text
    assert "groups=groups" in found["duplicates"].python
    assert "different labels" not in found["duplicates"].text
    (finding,) = diagnose(K, np.r_[y, np.repeat("b", 5)]).findings
    assert "different labels" in finding.text
    scope = {"np": np, "K": K, "y": np.r_[y, y[:5]], "compare": lambda *a, **k: k}
    assert np.unique(eval(finding.python.split("; ")[0][9:], scope)).size == 80


def test_labels_that_cannot_be_learnt(blobs, rng):
    _, y, K = blobs
    assert keys(diagnose(K, np.repeat("a", 80))) == ["constant-labels"]
    assert keys(diagnose(K, np.arange(80)))[0] == "labels-all-different"
    assert "labels-unrelated" in keys(diagnose(K, rng.permutation(y)))


def test_unrelated_labels_are_seldom_found_by_chance(blobs, rng):
    _, y, K = blobs
    seen = [
        "labels-unrelated" in keys(diagnose(K, rng.permutation(y))) for _ in "1" * 20
    ]
    assert sum(seen) >= 12


def test_rare_classes_and_imbalance(blobs):
    _, _, K = blobs
    found = {f.key: f for f in diagnose(K, ["rare"] * 3 + ["x"] * 77).findings}
    assert "rare (3)" in found["small-class"].text
    assert "96%" in found["imbalance"].text
    alone = {f.key: f for f in diagnose(K, ["one"] + ["x"] * 79).findings}
    assert alone["small-class"].severity == "error"


def test_missing_entries_are_taken_from_the_mirror(blobs):
    _, y, K = blobs
    holes = K.copy()
    holes[3, 5] = np.nan
    found = diagnose(holes, y)
    assert "1 missing entry" in found.findings[0].text
    assert found.negative_mass == diagnose(K, y).negative_mass
    holes[5, 3] = np.nan
    with pytest.raises(ValueError, match="2 missing entries without a mirror entry"):
        diagnose(holes, y)


def test_findings_are_plain_data(blobs):
    X, _, _ = blobs
    (first, *_) = json.loads(json.dumps(diagnose(cdist(X, X)).to_dict()))["findings"]
    assert set(first) == {"severity", "key", "text", "python", "command", "items"}


def test_items_of_a_finding_are_named_in_groups(blobs):
    """Twins, relatives and members of rare classes, not only how many there are."""
    X, y, _ = blobs
    X = X.copy()
    X[[7, 30]] = X[3]
    X[50] = X[41]
    labels = y.astype("<U4")
    labels[[5, 9]] = "rare"
    found = diagnose(np.exp(-cdist(X, X)), labels)
    items = {finding.key: finding.items for finding in found.findings}
    assert items["duplicates"] == ((3, 7, 30), (41, 50))
    assert items["small-class"] == ((5, 9),)
    assert "items: 3, 7, 30; 41, 50" in str(found)


def test_near_duplicates_of_hits_are_grouped_by_chains():
    K = np.eye(40)
    K[0, 1] = K[1, 0] = K[1, 2] = K[2, 1] = 0.95
    K[10, 11] = K[11, 10] = 0.9
    found = {f.key: f for f in diagnose(K, np.arange(40) % 2).findings}
    assert found["near-duplicates"].items == ((0, 1, 2), (10, 11))


def test_long_lists_of_items_are_cut():
    groups = [tuple(range(k, k + 6)) for k in range(0, 50, 10)]
    assert listed_groups(groups) == (
        "0, 1, 2, 3, 2 more; 10, 11, 12, 13, 2 more; 20, 21, 22, 23, 2 more; "
        "2 more groups"
    )


def test_unrelated_labels_say_what_would_have_been_noticed(rng):
    """What was found, what chance gives, and how strong the test is."""
    X = rng.standard_normal((60, 3))
    (found,) = diagnose(X @ X.T, rng.permutation(np.repeat(["a", "b"], 30))).findings
    assert found.key == "labels-unrelated"
    shared, chance, noticed = (
        int(share) for share in re.findall(r"(\d+)%", found.text)
    )
    assert abs(chance - 50) < 5
    assert shared < noticed
    assert 55 <= noticed <= 70  # 50 % and about two standard errors of 60 items
    assert "60 items" in found.text


def test_structure_unrelated_to_the_labels_is_no_reason_to_keep_it():
    """The demo's own data: label alignment p = 0.37, and clip scores higher."""
    sonar = load_dataset("sonar")
    X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    found = diagnose(sigmoid_kernel(X), sonar.target)
    assert found.negative_part.verdict == "structure"
    assert not found.negative_part.related
    assert "clip" in found.advice[0]
    assert "flip" not in found.advice[0]


def test_structure_without_labels_is_left_open():
    sonar = load_dataset("sonar")
    X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    found = diagnose(sigmoid_kernel(X))
    assert "labels, which were not given" in found.advice[0]


def test_definite_matrices_are_never_blamed(blobs):
    _, y, K = blobs
    words = " ".join(diagnose(K, y).advice)
    assert "negative" not in words
    assert "there is nothing to fix" in words


def damaged():
    """Matrices and labels with one thing wrong each, by the key of the finding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    D = cdist(X, X, "chebyshev")
    y = np.repeat(["a", "b"], 20)
    K = np.exp(-D)
    asymmetric, missing = K.copy(), K.copy()
    asymmetric[3, 4] *= 2
    missing[3, 4] = np.nan
    twins = np.exp(-cdist(np.tile(X[:20], (2, 1)), np.tile(X[:20], (2, 1))))
    return {
        "looks-like-distances": (D, y),
        "constant-labels": (K, np.full(40, "a")),
        "labels-all-different": (K, np.arange(40).astype(str)),
        "labels-unrelated": (K, y),
        "small-class": (K, np.array(["a"] * 20 + ["b"] * 17 + ["c"] * 3)),
        "imbalance": (K, np.array(["a"] * 37 + ["b"] * 3)),
        "duplicates": (twins, y),
        "scale": (1e6 * K, y),
        "nearly-diagonal": (np.exp(-100 * D), y),
        "nearly-constant": (np.exp(-1e-3 * D), y),
        "asymmetric": (asymmetric, y),
        "missing-filled": (missing, y),
    }


@pytest.mark.parametrize("key", damaged())
def test_what_is_found_can_be_repaired_as_printed(key, tmp_path):
    """The line of Python runs, with the names that it mentions."""
    K, y = damaged()[key]
    (finding,) = (f for f in diagnose(K, y).findings if f.key == key)
    assert finding.python
    path, names = tmp_path / "labels.csv", [f"i{k}" for k in range(40)]
    rows = [f"{name},{'ab'[k % 2]}" for k, name in enumerate(names)]
    path.write_text("\n".join(["name,kind", *rows]))
    known = {
        "K": K.copy(),
        "y": y.copy(),
        "np": np,
        "pd": pytest.importorskip("pandas"),
    }
    known |= {"path": path, "names": names, "title": "kind", "krein": krein}
    known |= {"sklearn": sklearn, "diagnose": diagnose, "compare": lambda *a, **k: None}
    exec(finding.python, known | {"SpectrumSVC": krein.SpectrumSVC})
