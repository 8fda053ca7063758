"""What ever failed, replayed: seeds of the campaign and findings of 0.1.0 by hand."""

import contextlib
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import krein
from krein import (
    DCSVC,
    KreinRidge,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
    compare,
    diagnose,
)
from krein.files.sources import FormatError

from .__main__ import SHARES, one

CORPUS = (Path(__file__).parent / "corpus.txt").read_text("utf-8").split()


@pytest.fixture(autouse=True)
def limited_memory(monkeypatch):
    """Set the limit that trials of files set themselves, but for one test only."""
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1GB")


@pytest.mark.parametrize("trial", CORPUS)
def test_trials_that_failed_once(trial):
    kind, seed = trial.split(":")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert one(kind, int(seed)) is None


@pytest.mark.parametrize("kind", SHARES)
def test_some_new_trials(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for seed in range(10**6 + 10, 10**6 + 25):
            assert one(kind, seed) is None, f"{kind}:{seed}"


def linear():
    """100 X X' of 60 items: large beside C, which starved LIBSVM."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return 100 * X @ X.T, X[:, 0] + 0.5 * rng.standard_normal(60)


def holds(model, K, y=None, weight=None):
    report = check_certificate(model, K, y, weight)
    assert report.holds, report
    return report


def test_a_spent_budget_keeps_the_best_point():
    K, t = linear()
    model = SpectrumSVR(C=10).fit(K, t)
    holds(model, K, t)
    assert model.score(K, t) > 0.75
    machine = SpectrumSVC("clip", C=100).fit(K, t > 0)
    holds(machine, K, t > 0)
    assert machine.objective_[0] > 1500


def test_diffusion_is_certified_truly():
    K = np.array([[-6.0, -4.0, 2.0], [-4.0, -6.0, -2.0], [2.0, -2.0, 0.0]])
    model = SpectrumSVC("diffusion", C=202.48, t=3).fit(K, [0, 1, 0])
    holds(model, K, [0, 1, 0])


# In a child: LIBSVM wrote beyond its arrays here.
ONE_CLASS = """
import warnings
import numpy as np
from krein import SpectrumOneClassSVM, check_certificate
rng = np.random.default_rng({seed})
X = rng.standard_normal((12, 3))
K = np.exp(-((X[:, None] - X) ** 2).sum(2))
for nu, weight in [
    (1.0, None),
    (1.0, rng.uniform(0.1, 2.0, 12)),
    (1.0, np.full(12, 1 / 3)),
    (0.5, rng.uniform(0.1, 2.0, 12)),
]:
    model = SpectrumOneClassSVM(nu=nu).fit(K, sample_weight=weight)
    assert check_certificate(model, K, None, weight).holds
"""


@pytest.mark.parametrize("seed", range(3))
def test_one_class_never_corrupts_memory(seed):
    code = textwrap.dedent(ONE_CLASS).format(seed=seed)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_weights_whose_sum_overflows_are_refused_or_solved():
    K = np.eye(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with contextlib.suppress(ValueError):
            model = SpectrumOneClassSVM().fit(K, sample_weight=np.full(4, 1e308))
            assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-8, 1e-100, 1e100])
def test_nu_bounds_outliers_at_every_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2)) * scale
    model = SpectrumOneClassSVM(nu=0.3).fit(K)
    holds(model, K)
    assert np.sum(model.predict(K) == -1) <= 18


@pytest.mark.parametrize("method", ["clip", "flip", "square", "shift", "diffusion"])
def test_nu_bounds_outliers_whatever_the_method(method):
    """Also where new rows are blind, and where no decision differs from 0."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, nu = int(rng.integers(4, 20)), float(rng.uniform(0.05, 0.9))
        A = rng.standard_normal((n, n))
        weight = 10.0 ** rng.uniform(-2, 2, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SpectrumOneClassSVM(method, nu=nu)
            model.fit(A + A.T, sample_weight=weight)
        outside = weight[model.predict(A + A.T) == -1].sum()
        assert outside <= nu * weight.sum()


def test_max_iter_is_said():
    K, t = linear()
    for model, y in [
        (SpectrumSVR(max_iter=1), t),
        (SpectrumOneClassSVM(max_iter=1), None),
    ]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(K, y)
        said = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        assert said == (model.result_.status != "converged")
        holds(model, K, y)


def test_ridge_counts_its_residual():
    K, t = linear()
    for alpha in (1e-12, 1e-3, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KreinRidge(alpha).fit(K, t)
        holds(model, K, t)


@pytest.mark.parametrize("scale", [3e38, 1e60, 1e99, 1e-60, 1e-100])
@pytest.mark.filterwarnings("ignore:.* is solved to rounding")
def test_far_scales(scale):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((8, 8))
    K, y = (A + A.T) * scale, [0, 1] * 4
    for model in (SpectrumSVC("flip"), ProxySVC(), DCSVC()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            holds(model.fit(K, y), K, y)


def test_the_gap_of_the_proxy_counts_rounding():
    rng = np.random.default_rng(2)
    for _ in range(20):
        A = rng.standard_normal((9, 9))
        K, y = A + A.T, rng.permutation([0, 1] * 4 + [1])
        rho = 10.0 ** rng.uniform(-5, 5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            holds(ProxySVC(100.0, rho=rho).fit(K, y), K, y)


def test_integer_weights_are_repetition_at_the_bounds():
    K = np.array([[0.0, -1.0, 4.0], [-1.0, -4.0, 1.0], [4.0, 1.0, -2.0]])
    y, w = np.array([1, 0, 0]), np.array([3, 1, 2])
    again = np.repeat(np.arange(3), w)
    weighted = SpectrumSVC("flip", C=0.01).fit(K, y, sample_weight=w)
    repeated = SpectrumSVC("flip", C=0.01).fit(K[np.ix_(again, again)], y[again])
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-9)


# ---------------------------------------------------------------------------- bad input


K, Y = np.eye(4), [0, 1, 0, 1]
BAD_CALLS = {
    "no labels": (lambda: compare(K, []), "y"),
    "NaN as a class": (lambda: compare(K, [0.0, 1.0, np.nan, 1.0]), "NaN|nan"),
    "huge integers": (
        lambda: SpectrumSVC().fit(np.full((4, 4), 10**400, dtype=object), Y),
        "X",
    ),
    "huge parameter": (lambda: KreinRidge(10**400).fit(K, Y), "alpha is an integer"),
    "masked y": (
        lambda: SpectrumSVC().fit(K, np.ma.masked_array(Y, [1, 0, 0, 0])),
        "mask",
    ),
    "masked X": (lambda: SpectrumSVC().fit(np.ma.masked_array(K, K > 0), Y), "mask"),
    "complex matrix": (lambda: krein.write_matrix("K.npz", K + 1j), "complex"),
    "no model": (lambda: krein.save_model(None, "m.krein"), "None"),
    "a list of models": (lambda: krein.save_model([SpectrumSVC()], "m"), "list"),
    "no folds": (lambda: krein.CPDSVCCV(cv=[]).fit(K[:, :2], Y), "cv"),
    "wrapping penalty": (
        lambda: krein.smith_waterman_kernel(["AC", "GT"], gap_open=2**40),
        "gap_open",
    ),
    "NaN as a gap": (lambda: krein.erp_kernel([[1.0], [2.0]], g=np.nan), "g"),
    "unknown oracle": (
        lambda: ProxySVC(solver_options={"oracle": "nope"}).fit(K, Y),
        "oracle",
    ),
    "unfitted transformer": (
        lambda: krein.SpectrumTransformer().transform(K),
        "not fitted",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_input_has_one_clear_error(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, text = BAD_CALLS[name]
    with pytest.raises((ValueError, TypeError), match=text):
        call()
    assert not list(tmp_path.iterdir())


# -------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "labels",
    [
        ["007", "7", "a"],
        ["1_0", "10", "b"],
        [str(2**53 + 1), str(2**53), "3"],
        ["12345678901234567890", "12345678901234567891", "1"],
    ],
)
def test_labels_are_not_merged(labels, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("\n".join(labels) + "\n")
    assert len(set(krein.read_labels(path).data)) == 3


def test_what_was_read_as_a_header_is_said(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("y\nn\ny\n")
    read = krein.read_labels(path)
    assert len(read.data) == 3 or "header: 'y'" in str(read.notes)


# In a child: SciPy read beyond its arrays here.
MARKET = """
from krein import read_matrix
from krein.files.sources import FormatError
try:
    read_matrix({path!r})
except FormatError as error:
    print("refused", error)
"""


@pytest.mark.parametrize(
    "text",
    [
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 3 1.0\n",
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n0 0 1.0\n",
        "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1 1.0\n",
    ],
)
def test_matrix_market_files_are_checked(text, tmp_path):
    path = tmp_path / "K.mtx"
    path.write_text(text)
    code = textwrap.dedent(MARKET).format(path=str(path))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "refused" in ended.stdout


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_own_tables_come_back(suffix, tmp_path):
    names = ["1", "#a", 'with "quotes"', "two\nlines", "=1+1"]
    K = np.arange(25.0).reshape(5, 5)
    K = K + K.T
    krein.write_matrix(tmp_path / f"K{suffix}", K, names=names)
    read = krein.read_matrix(tmp_path / f"K{suffix}")
    np.testing.assert_array_equal(read.data, K)
    assert list(read.names) == names


def test_packed_text_obeys_the_memory_limit(tmp_path, monkeypatch):
    import gzip

    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "10MB")
    path = tmp_path / "K.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"1," * 20_000_000)
    with pytest.raises(FormatError, match=r"K\.csv\.gz"):
        krein.read_matrix(path)


def test_damaged_models_are_refused(tmp_path):
    path = tmp_path / "m.krein"
    krein.save_model(SpectrumSVC("flip").fit(np.eye(4), [0, 1, 0, 1]), path)
    data = path.read_bytes()
    for cut in range(0, len(data), 97):
        path.write_bytes(data[:cut])
        with pytest.raises(krein.ModelFileError, match=r"m\.krein"):
            krein.load_model(path)


def test_diagnose_refuses_nan():
    K = np.eye(3)
    K[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        diagnose(K)
