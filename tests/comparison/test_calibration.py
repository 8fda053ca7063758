"""The probabilities of `compare` come from the out-of-fold scores of the chosen one."""

from dataclasses import replace

import numpy as np
import pytest

from krein import compare
from krein.comparison import contenders as methods


def log_losses(K, y, grid, monkeypatch):
    one = replace(methods.CONTENDERS["clip"], grid=lambda K: grid)
    with monkeypatch.context() as patch:
        patch.setitem(methods.CONTENDERS, "clip", one)
        found = compare(K, y, methods=["clip"], cv=3, scoring="neg_log_loss")
    return [
        (record["params"], record["scores"]["neg_log_loss"]) for record in found.records
    ]


def test_candidates_that_lose_do_not_calibrate(rng, monkeypatch):
    X = rng.standard_normal((60, 2)) + np.repeat([[0.0], [1.5]], 30, axis=0)
    y = np.repeat([0, 1], 30)
    K = X @ X.T
    poor, good, other = {"C": 1e-7}, {"C": 1.0}, {"C": 1e-8}
    alone = log_losses(K, y, (good,), monkeypatch)
    for grid in [(poor, good), (good, poor), (poor, other, good)]:
        among = log_losses(K, y, grid, monkeypatch)
        kept = [pair for pair in zip(among, alone, strict=True) if pair[0][0] == good]
        assert kept  # the good one is chosen in some splits at least
        for (_, loss), (_, wanted) in kept:
            assert loss == pytest.approx(wanted, rel=1e-9)
