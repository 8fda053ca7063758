"""Training out of core: the same model, bounded memory, work done once."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from krein import DCSVC, KreinNystroem, KreinSVC, SpectrumSVC, tl1_kernel
from krein.machines import tall_svm
from krein.scale import decision_function, fit, predict
from krein.scale.tiles import rows_that_fit
from krein.similarity.tiles import DenseTiles
from krein.store.files import StoreInUseError
from tests.scale import kernels


@pytest.fixture
def problem(rng):
    X = rng.random((3000, 4))
    y = np.digitize(X[:, 0] + 0.1 * rng.standard_normal(3000), [0.3, 0.6])
    return X, np.array(["low", "middle", "high"])[y]


def model(m=40, kernel="tl1", **params):
    nystroem = KreinNystroem(m, random_state=0)
    return SpectrumSVC("flip", kernel=kernel, approximation=nystroem, **params)


@pytest.mark.parametrize("estimator", [model(), clone(model()).set_params(C=10.0)])
def test_same_model_as_in_memory(estimator, problem, tmp_path):
    X, y = problem
    inside = clone(estimator).fit(X, y)
    outside = fit(estimator, X, y, store=tmp_path / "s", memory="30MB")
    np.testing.assert_allclose(
        outside.decision_function(X), inside.decision_function(X), atol=1e-6
    )
    assert outside is estimator
    np.testing.assert_array_equal(predict(outside, X), outside.predict(X))
    np.testing.assert_allclose(
        decision_function(inside, X), inside.decision_function(X), atol=1e-12
    )


def test_weights_and_krein_svm(problem, tmp_path, rng):
    X, y = problem
    weight = rng.integers(0, 3, y.size).astype(float)
    estimator = KreinSVC(kernel="tl1", approximation=KreinNystroem(30, random_state=0))
    inside = clone(estimator).fit(X, y, sample_weight=weight)
    outside = fit(estimator, X, y, store=tmp_path / "s", sample_weight=weight)
    np.testing.assert_allclose(
        outside.decision_function(X), inside.decision_function(X), atol=1e-6
    )


def test_passes_over_tiles_equal_the_matrix(rng):
    A = rng.standard_normal((700, 6))
    tiles = DenseTiles(A)
    tiles.tiles = lambda: (
        (slice(i, i + 100), A[i : i + 100]) for i in range(0, 700, 100)
    )
    weight = rng.random(700)
    target = rng.standard_normal(700)
    bordered = np.column_stack([A, np.ones(700), target])
    np.testing.assert_allclose(
        tiles.gram(weight, target),
        bordered.T @ (weight[:, None] * bordered),
        atol=1e-10,
    )
    T = tiles.triangle(weight)
    np.testing.assert_allclose(T.T @ T, A.T @ (weight[:, None] ** 2 * A), atol=1e-10)
    np.testing.assert_allclose(tiles.transpose_dot(weight), A.T @ weight, atol=1e-10)
    np.testing.assert_allclose(tiles @ np.ones(6), A.sum(axis=1), atol=1e-12)


def calls(path):
    return path.read_text().splitlines() if path.exists() else []


def test_second_run_computes_nothing_again(problem, tmp_path, monkeypatch):
    X, y = problem
    counted = tmp_path / "calls"
    monkeypatch.setenv("KREIN_TEST_CALLS", str(counted))
    estimator = model(kernel=kernels.counted_tl1)
    first = fit(estimator, X, y, store=tmp_path / "s")
    n_tiles = len(list((tmp_path / "s" / "block" / "blocks").iterdir()))
    assert n_tiles > 10
    done = len(calls(counted))
    second = fit(estimator, X, y, store=tmp_path / "s")
    # What remains are the similarities of sampled rows, which are not tiles.
    assert len(calls(counted)) - done == done - n_tiles
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


def test_damaged_tile_is_computed_again(problem, tmp_path):
    X, y = problem
    first = fit(model(), X, y, store=tmp_path / "s").dual_coef_
    tile = tmp_path / "s" / "block" / "blocks" / "00000003"
    sound = tile.read_bytes()
    tile.write_bytes(bytes([sound[0] ^ 255]) + sound[1:])
    second = fit(model(), X, y, store=tmp_path / "s").dual_coef_
    np.testing.assert_array_equal(first, second)
    assert tile.read_bytes() == sound


def test_other_data_is_refused(problem, tmp_path):
    X, y = problem
    first = fit(model(), X, y, store=tmp_path / "s")
    other = X[:, ::-1].copy()
    for changed in [(model(), other), (model(20), X), (model(kernel="rbf"), X)]:
        with pytest.raises(ValueError, match="belongs to other work"):
            fit(*changed, y, store=tmp_path / "s")
    # Another model on the same similarities is welcome.
    second = fit(model(C=10.0), X, y, store=tmp_path / "s")
    again = fit(model(), X, y, store=tmp_path / "s")
    assert not np.array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)


def test_functions_are_told_apart_by_their_code(problem, tmp_path):
    X, y = problem
    fit(model(kernel=lambda X, Y: X @ Y.T), X, y, store=tmp_path / "s")
    with pytest.raises(ValueError, match="belongs to other work"):
        fit(model(kernel=lambda X, Y: 2 * X @ Y.T), X, y, store=tmp_path / "s")


def test_two_runs_at_the_same_time_never_mix(problem, tmp_path):
    """The second is refused; on 0.1.0 one of the two was silently wrong."""
    X, y = problem
    data = [X, X[:, ::-1].copy()]
    together = threading.Barrier(2)
    found: list = [None, None]

    def work(i):
        together.wait()
        try:
            found[i] = fit(model(), data[i], y, store=tmp_path / "s")
        except (StoreInUseError, ValueError) as error:
            found[i] = error

    threads = [threading.Thread(target=work, args=[i]) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    models = [m for m in found if not isinstance(m, Exception)]
    assert len(models) == 1
    i = found.index(models[0])
    np.testing.assert_allclose(
        models[0].decision_function(data[i]),
        model().fit(data[i], y).decision_function(data[i]),
        atol=1e-6,
    )


def test_precomputed_similarity(problem, tmp_path):
    X, y = problem
    K = tl1_kernel(X[:400])
    square = model(kernel="precomputed")
    outside = fit(square, K, y[:400], store=tmp_path / "s")
    inside = model(kernel="precomputed").fit(K, y[:400])
    np.testing.assert_allclose(
        decision_function(outside, K), inside.decision_function(K), atol=1e-4
    )


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (SpectrumSVC(kernel="tl1"), {}, "has no approximation"),
        (DCSVC(kernel="tl1"), {}, "DCSVC takes no landmarks.* KreinRidge and .* do"),
        (
            SpectrumSVC(kernel="tl1", approximation=KreinNystroem(5)),
            {},
            "random_state=None: fit at scale needs an int",
        ),
        (model(probability=True), {}, "calibrate"),
        (model(), {"memory": "1MB"}, "at least .* MB are needed"),
        (model(), {"memory": "lots"}, "memory limit must be bytes"),
    ],
)
def test_bad_use_is_refused(estimator, options, message, problem, tmp_path):
    X, y = problem
    with pytest.raises(ValueError, match=message):
        fit(estimator, X, y, store=tmp_path / "s", **options)


def test_tile_size_follows_memory():
    assert rows_that_fit(100_000, 100, 10**9) == 1563
    small = rows_that_fit(100_000, 500, 60_000_000)
    assert 500 <= small < 1563


def test_memory_counts_classes():
    """Forty classes of 60 000 items took 88 MB where 25 were asked for."""
    assert rows_that_fit(60_000, 50, 25_000_000) == 938
    text = (
        r"memory=25 MB is too little .* 50 landmarks and 40 classes: at least 3\d.*MB"
    )
    with pytest.raises(ValueError, match=text):
        rows_that_fit(60_000, 50, 25_000_000, 40)


def test_too_little_memory_is_told_in_fitting_units(problem, tmp_path):
    X, y = problem
    text = r"memory=300 kB is too little for 3000 items, .*: at least 1\.\d+ MB"
    with pytest.raises(ValueError, match=text):
        fit(model(), X, y, store=tmp_path / "s", memory="300KB")
    fit(model(), X, y, store=tmp_path / "s", memory="4MiB")


def files_beside(folder, name):
    return list((folder / f"block-{name}" / "blocks").glob("0*"))


def test_tiles_that_fit_into_memory_are_not_written(problem, tmp_path, monkeypatch):
    """The same numbers, wherever they lie: nowhere, partly or wholly on disk."""
    monkeypatch.setattr(tall_svm, "_MANY", 2000)
    X, y = problem
    y = y == "high"
    needed = least_memory(3000, 40)
    found, written = [], []
    for share in (0.0, 0.7, 2.0):
        folder = tmp_path / str(share)
        budget = round(needed + share * 8 * 3000 * 40)
        found.append(fit(model(), X, y, store=folder, memory=budget))
        tiles = len(list((folder / "block" / "blocks").iterdir()))
        written.append(len(files_beside(folder, "features")) / tiles)
    assert written[0] > 0.8
    assert 0.1 < written[1] < 0.8
    assert written[2] == 0.0
    for other in found[1:]:
        np.testing.assert_array_equal(other.dual_coef_, found[0].dual_coef_)


def least_memory(n, m):
    """Bytes for tiles of the size that more memory would have, and none to spare."""
    least, most = 1, 10**9
    while most - least > 1000:
        middle = (least + most) // 2
        try:
            fits = rows_that_fit(n, m, middle) == rows_that_fit(n, m, 10**9)
        except ValueError:
            fits = False
        least, most = (least, middle) if fits else (middle, most)
    return most


def test_a_disk_that_is_too_small_is_refused_beforehand(problem, tmp_path, monkeypatch):
    X, y = problem
    usage = shutil.disk_usage(tmp_path)
    small = usage._replace(free=8 * 3000 * 40 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: small)
    text = "training on 3000 items and 40 landmarks needs up to .* on disk"
    with pytest.raises(OSError, match=text) as told:
        fit(model(), X, y, store=tmp_path / "s")
    assert told.value.filename == str(tmp_path / "s")
    assert not (tmp_path / "s" / "block").exists()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    fit(model(), X, y, store=tmp_path / "s")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=0))
    fit(model(), X, y, store=tmp_path / "s")  # what is there needs no room


PEAK = """
import resource, sys
import numpy as np
from krein import KreinNystroem, SpectrumSVC
from krein.scale import fit
folder, n, m, n_classes, memory = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.random((n, 4))
noisy = X[:, 0] + 0.2 * rng.standard_normal(n)
y = np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy)
model = SpectrumSVC("flip", kernel="tl1",
                    approximation=KreinNystroem(m, random_state=0))
fit(model, X[:500], y[:500] >= n_classes // 2, store=folder + "/warm")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fit(model, X, y, store=folder + "/s", memory=memory)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "n_classes", "megabytes"),
    [(150_000, 150, 2, 80), (60_000, 50, 10, 30), (60_000, 50, 40, 45)],
)
def test_peak_memory_stays_within_the_parameter(tmp_path, n, m, n_classes, megabytes):
    """For two classes the block alone has 180 MB; training may use 80."""
    pytest.importorskip("resource", reason="peak memory needs POSIX")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    numbers = [str(k) for k in (n, m, n_classes, megabytes * 10**6)]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path), *numbers],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert float(done.stdout) < megabytes
    blocks = (tmp_path / "s/block/blocks").iterdir()
    assert sum(p.stat().st_size for p in blocks) > 8 * n * m


def test_paths_of_all_kinds(problem, tmp_path):
    X, y = problem
    found = fit(model(10), X[:300], y[:300], store=str(tmp_path / "a" / "b"))
    assert found.support_.size == 10
    assert Path(tmp_path / "a" / "b" / "block" / "store.json").exists()
