"""The first seeds of the campaign of damaged files; the rest is run by hand."""

import pytest

from .damaged import KINDS, try_file

# Seeds that failed once, with what they found.
PAST = [("csv", 449), ("npy", 426)]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_damaged_files_are_read_or_refused_in_one_way(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1GB")
    seeds = [*range(150), *(seed for past, seed in PAST if past == kind)]
    failures = {seed: try_file(kind, seed, tmp_path) for seed in seeds}
    assert {seed: problem for seed, problem in failures.items() if problem} == {}
