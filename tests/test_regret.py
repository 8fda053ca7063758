"""What is measured for the page of results is what its text says."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from krein.estimators._pool_candidates import OF_DISTANCES

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
if not BENCHMARKS.is_dir():
    pytest.skip("this copy of krein has no benchmarks", allow_module_level=True)
NAMES = ("regret", "regret_matrices", "results_page", "yardsticks", "several_kernels")


@pytest.fixture(scope="module")
def benchmarks():
    """The scripts by name; nothing of them stays behind."""
    sys.path.insert(0, str(BENCHMARKS))
    clock = __import__("krein").store.shared_work.perf_counter
    try:
        yield {name: __import__(name) for name in NAMES}
    finally:
        sys.path.remove(str(BENCHMARKS))
        __import__("krein").store.shared_work.perf_counter = clock
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + 1.5 * y[:, None]
    return X, np.abs(X[:, None] - X).sum(axis=2), y


@pytest.fixture(scope="module")
def found(benchmarks, points, tmp_path_factory):
    """All that is measured for one case and split: its case, folder and record."""
    _, D, y = points
    matrices = benchmarks["regret_matrices"]
    case = matrices.Case("made, exp", lambda: (D, y), matrices.exponential)
    folder = tmp_path_factory.mktemp("regret")
    benchmarks["regret"].run(case, 0, folder)
    record = json.loads((folder / "made,exp-0.json").read_text())
    return case, folder, record


def test_every_strategy_is_measured_once(benchmarks, found):
    case, folder, record = found
    columns = benchmarks["results_page"].COLUMNS
    assert set(columns) <= set(record)
    assert all(0.0 <= record[column]["error"] <= 0.6 for column in columns)
    without_items = replace(case, items=None)  # nothing is computed again
    benchmarks["regret"].run(without_items, 0, folder)


def test_the_model_is_given_distances_where_there_are_some(found):
    chosen = found[2]["similarity"]["conversions"]
    assert len(chosen) == 3
    assert set(chosen) <= set(OF_DISTANCES)


def test_svc_alike_has_the_conversion_that_the_model_ranks_first(found):
    record = found[2]
    first = record["similarity"]["conversions"][0]
    views = record["svc_converted"]["by_view"]
    assert record["svc_alike"] == views[first]
    assert record["svc_given"] == views["as given"]
    chosen = record["svc_converted"]["conversion"]
    assert views[chosen]["score"] == max(view["score"] for view in views.values())


def test_what_is_recommended_is_an_error_that_was_measured(benchmarks, found):
    record = found[2]
    answer = record["recommended"]
    assert set(answer["scores"]) == set(benchmarks["regret"].CANDIDATES)
    assert answer["error"] == record[answer["method"]]["error"]


def test_compare_gets_what_a_user_has(benchmarks, points):
    regret, matrices = benchmarks["regret"], benchmarks["regret_matrices"]
    X, D, y = points
    train = np.arange(20)

    def problem(matrix, items):
        case = matrices.Case("made, up", lambda: (items, y), matrix)
        K = matrix(items, train)
        return regret.problem_of(case, items, K, y, train), K

    part, K = problem(matrices.exponential, D)
    every = np.arange(train.size)
    np.testing.assert_array_equal(part.distances(every), D[np.ix_(train, train)])
    np.testing.assert_allclose(part.on(every), K[np.ix_(train, train)])
    part, K = problem(matrices.standardised(lambda X: np.tanh(X @ X.T)), X)
    assert part.known_items(every) is not None
    np.testing.assert_array_equal(part.on(every), K[np.ix_(train, train)])
    part, K = problem(matrices.as_it_is, np.exp(-D))
    assert part.known_items(every) is None
    assert part.distances(every) is None


def test_a_row_has_means_in_percent(benchmarks, found, monkeypatch, tmp_path):
    case, folder, record = found
    regret, page = benchmarks["regret"], benchmarks["results_page"]
    monkeypatch.setattr(regret, "cases", lambda _: [case])
    regret.write_csv(folder, tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] == case.name
    for column in page.COLUMNS:
        assert float(row[column]) == pytest.approx(100 * record[column]["error"], 1e-5)


def test_kernels_of_a_data_set_are_pooled_once_each(benchmarks, tmp_path):
    several = benchmarks["several_kernels"].data_sets(tmp_path)
    counts = {data: len(found) for data, found in several.items()}
    assert counts["ts_coffee"] == 3  # time warping is there in two forms
    assert counts["str_promoters"] == 4
    assert counts["sonar"] == 2
    assert not [data for data in counts if data.startswith(("dis_", "sim_"))]


def test_a_row_of_several_kernels(benchmarks):
    def run(pooled, *alone):
        each = [{"error": error, "score": score} for error, score in alone]
        return {"pooled": {"error": pooled}, "alone": each}

    runs = [run(0.1, (0.2, -1.0), (0.3, -0.5)), run(0.2, (0.1, -1.0), (0.4, -2.0))]
    # Pooled; the better score of each split; the kernel that is best over both.
    assert benchmarks["several_kernels"].row_of(runs) == ["15", "20", "15"]
