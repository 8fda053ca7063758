"""Landmarks and an exact fit on a sample: offered of many items, either may win."""

from dataclasses import replace

import numpy as np
import pytest

from krein import KreinNystroem, SpectrumSVC, compare, list_methods, rbf_kernel
from krein.comparison.contenders import TASKS, select_contenders
from krein.comparison.large import sample_of
from krein.report.data import recipe
from krein.training import Classes, Values

BOTH = ["landmarks", "sample"]


@pytest.fixture
def few(monkeypatch):
    """Twelve landmarks against a sample of 50 items, for tests that end soon."""
    nystroem = KreinNystroem(12, random_state=0)
    for task in TASKS.values():
        known = task.methods
        params = {**known["landmarks"].params, "approximation": nystroem}
        for name, changed in (
            ("landmarks", replace(known["landmarks"], params=params, rough=None)),
            ("sample", replace(known["sample"], sample=50)),
        ):
            monkeypatch.setitem(known, name, changed)


def plane(rng, n=420):
    """A noisy plane in eight dimensions: more items help."""
    X = rng.uniform(-1, 1, (n, 8))
    y = X.sum(axis=1) + 0.8 * rng.standard_normal(n) > 0
    return rbf_kernel(X, gamma=0.02), y


def chess_board(rng, n=420):
    """Sixteen fields without noise: more directions help."""
    X = rng.uniform(0, 4, (n, 2))
    return rbf_kernel(X, gamma=4.0), np.floor(X).sum(axis=1) % 2 > 0


@pytest.mark.parametrize(
    ("made", "winner", "loser"),
    [(plane, "landmarks", "sample"), (chess_board, "sample", "landmarks")],
)
def test_compare_finds_which_of_both_is_better(made, winner, loser, few, rng):
    found = compare(*made(rng), methods=BOTH, cv=3)
    scores = {row["method"]: row["accuracy"] for row in found.table()}
    assert found.ranking[0] == winner
    assert scores[winner] > scores[loser] + 0.01


def test_numbers_are_learnt_by_both(few, rng):
    X = rng.uniform(-1, 1, (300, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    found = compare(rbf_kernel(X), y, methods=["mean", *BOTH], cv=3)
    scores = {row["method"]: row["r2"] for row in found.table()}
    assert min(scores["landmarks"], scores["sample"]) > 0.8
    assert np.count_nonzero(found.fit_best("sample").dual_coef_) <= 50


@pytest.mark.parametrize(("n", "offered"), [(5000, False), (5001, True)])
@pytest.mark.parametrize("task", list(TASKS))
def test_both_are_offered_of_many_items(n, offered, task):
    names = [one.name for one in select_contenders(None, task=task, n=n)]
    assert [name in names for name in BOTH] == [offered, offered]
    assert set(BOTH) <= set(list_methods())


def test_a_sample_has_all_classes_and_is_the_same_each_time():
    codes = np.array([0] * 900 + [1] * 99 + [2])
    some = sample_of(Classes(codes, 3), 20)
    assert some.size == 20
    assert set(codes[some]) == {0, 1, 2}
    np.testing.assert_array_equal(some, sample_of(Classes(codes, 3), 20))
    assert sample_of(Values(np.zeros(20)), 20) is None
    assert sample_of(Values(np.zeros(21)), 20).size == 20


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_the_model_of_a_sample_takes_rows_of_all_items(kind, few, rng, capsys):
    K, y = chess_board(rng, 200)
    X = K if kind == "similarity" else 1.0 - K
    found = compare(X, y, methods=["sample"], cv=2, kind=kind)
    model = found.fit_best("sample")
    last = model if kind == "similarity" else model.steps[-1][1]
    assert isinstance(last, SpectrumSVC)
    assert last.support_.size <= 50
    by_hand = sample_of(found.problem.target, 50)
    if kind == "similarity":
        exact = SpectrumSVC("flip", C=last.C, multi_class=last.multi_class)
        exact.fit(K[np.ix_(by_hand, by_hand)], y[by_hand])
        np.testing.assert_allclose(
            model.decision_function(X),
            exact.decision_function(K[:, by_hand]),
            atol=1e-6,
        )
    python = recipe(found, None)["python"]
    exec(compile(python, "report", "exec"), {"K": X, "y": y, "K_new": X[:3]})
    assert capsys.readouterr().out.startswith("[")
