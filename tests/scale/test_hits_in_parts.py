"""Hits in several files: the same as in one, alone and on real workers."""

import numpy as np
import pytest

import krein
from krein import FormatError, HitClassifier
from krein.scale import predict_hits, read_hits


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip(
        "distributed", reason="dask.distributed (extra 'dask') is not installed"
    )
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def parts(tmp_path):
    """Training hits in three files, and new ones in two."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(90):
        lines.append(f"p{i}\tp{i}\t{rng.integers(100, 300)}")
        for j in rng.choice(np.arange(i % 3, 90, 3), 6):
            lines += [f"p{i}\tp{j}\t{rng.integers(30, 90)}"] * (1 + i % 2)
    new = [f"n{k}\tp{k % 3 + 3 * m}\t{50 + m}" for k in range(12) for m in range(4)]
    new += ["p3\tn2\t70", "n1\tn1\t200", "n3\tstranger\t9"]
    whole = write(tmp_path / "whole.tsv", lines)
    cut = [lines[:200], lines[200:201], lines[201:]]
    training = [write(tmp_path / f"{k}.tsv", part) for k, part in enumerate(cut)]
    asked = write(tmp_path / "new.tsv", new)
    halves = [[x for x in new if x[:2] < "n2"], [x for x in new if x[:2] >= "n2"]]
    pieces = [write(tmp_path / f"new{k}.tsv", part) for k, part in enumerate(halves)]
    return whole, training, asked, pieces


@pytest.mark.parametrize("where", ["alone", "on workers"])
def test_parts_are_the_whole(parts, where, request):
    client = request.getfixturevalue("client") if where == "on workers" else None
    whole, training, asked, pieces = parts
    for several in ("max", "sum"):
        one = krein.read_hits(whole, several=several)
        many = read_hits(training, several=several, client=client)
        assert many.names == one.names
        assert many.columns is None
        assert (many.data != one.data).nnz == 0
        assert many.data.has_sorted_indices
    model = HitClassifier(no_hit_label=-1)
    model.fit(one, [int(name[1:]) % 3 for name in one.names])
    found = predict_hits(model, pieces, client=client)
    expected = model.similarity_.new_items(krein.read_hits(asked))
    labels = dict(
        zip(expected["X"].names, model.predict(**expected).tolist(), strict=True)
    )
    assert dict(zip(found.names, found.data.tolist(), strict=True)) == labels
    assert [labels[f"n{k}"] for k in range(12)] == [k % 3 for k in range(12)]
    assert predict_hits(model, training, client=client).names == []


def test_columns_of_other_items(parts):
    _, _, _, pieces = parts
    targets = [f"p{k}" for k in range(90)] + ["n1", "n2", "stranger"]
    found = read_hits(pieces, against=targets)
    assert found.columns == targets
    assert found.data[found.names.index("n0"), targets.index("p0")] == 50


def test_one_clear_error(parts, tmp_path, client):
    whole, _, asked, pieces = parts
    hits = krein.read_hits(whole)
    model = HitClassifier().fit(hits, [int(name[1:]) % 3 for name in hits.names])
    with pytest.raises(ValueError, match="the item 'n0' has hits in two files"):
        predict_hits(model, [*pieces, asked])
    with pytest.raises(TypeError, match="paths must be a list of one file or more"):
        read_hits(str(whole))
    bad = write(tmp_path / "bad.tsv", ["a\tb\t1", "a\tb\tx"])
    with pytest.raises(FormatError, match="line 2, column 3: expected a number"):
        read_hits([whole, bad], client=client)
