"""A folder with a similarity, distances, labels, numbers and new rows."""

import numpy as np
import pytest

from krein.cli import main
from tests.first_hour.conftest import write_table

N = 60
NAMES = [f"i{k}" for k in range(N)]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, 3)) + np.repeat([[1.2], [-1.2]], N // 2, axis=0)


@pytest.fixture(scope="module")
def similarity(points):
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 4)


def square(path, K, rows=NAMES, columns=NAMES):
    body = [[name, *map(repr, row)] for name, row in zip(rows, K.tolist(), strict=True)]
    return write_table(path, ["", *columns], body)


@pytest.fixture
def here(tmp_path, monkeypatch, points, similarity):
    """A folder with a similarity, distances, labels, numbers and new rows."""
    monkeypatch.chdir(tmp_path)
    labels = np.repeat(["a", "b"], N // 2)
    square(tmp_path / "K.csv", similarity)
    square(tmp_path / "D.csv", -np.log(similarity))
    square(tmp_path / "new.csv", similarity[:5], [f"n{k}" for k in range(5)])
    pairs = zip(NAMES, labels, strict=True)
    write_table(tmp_path / "y.csv", ["name", "label"], pairs)
    numbers = np.round(3 * points[:, 0] + 10, 4)
    pairs = zip(NAMES, numbers.tolist(), strict=True)
    write_table(tmp_path / "numbers.csv", ["name", "value"], pairs)
    new = [[f"n{k}", numbers[k]] for k in range(5)]
    write_table(tmp_path / "new_numbers.csv", ["name", "value"], new)
    write_table(tmp_path / "new_y.csv", ["name", "label"], [[n, "a"] for n, _ in new])
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Run a command in the folder; return what it printed."""

    def call(*words, code=0):
        ended = main([*map(str, words)])
        printed = capsys.readouterr()
        assert ended == code, printed
        return printed

    return call
