"""Speed that CI can guard: counted work, not seconds.

``RECORDED`` holds what the methods need now, on fixed problems. A change that makes one
of them do more than twice as much fails; one that saves work is welcome to lower the
number. Eigendecompositions are counted exactly: one more is a bug.
"""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.datasets import make_classification

from krein import (
    CPDSVC,
    CPDSVCCV,
    KreinLogisticRegression,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
    SpectrumSVC,
    SpectrumSVCCV,
    compare,
    diagnose,
    sigmoid_kernel,
)
from krein.diagnostics.diagnosis import find_in
from krein.estimators import spectral
from krein.machines import cpd_columns, libsvm, quadratic_model
from krein.machines.proxy import ProxySVM
from krein.store import shared_work as sharing
from krein.store.fingerprint import fingerprint
from krein.store.shared_work import shared_work

N = 120
RECORDED = {
    "proxy oracle calls": 5,
    "proxy Hessians": 1,
    "proxy Cholesky": 3,
    "logistic steps": 3,
    "cpd Cholesky": 6,
    "cpd path Cholesky": 61,
    "cpd products": 35,
}


class Counter:
    """Counts calls of functions on matrices of at least `size` rows."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.counts = {}

    def watch(self, owner, name, size=0):
        original = getattr(owner, name)
        self.counts[name] = 0

        def counting(*args, **options):
            first = next((a for a in args if isinstance(a, np.ndarray)), None)
            if first is None or len(first) >= size:
                self.counts[name] += 1
            return original(*args, **options)

        self.monkeypatch.setattr(owner, name, counting)

    def __getitem__(self, name):
        return self.counts[name]


@pytest.fixture
def counter(monkeypatch):
    counter = Counter(monkeypatch)
    counter.watch(scipy.linalg, "eigh", size=N // 3)
    counter.watch(scipy.linalg, "cho_factor")
    return counter


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(
        N, 10, n_informative=6, n_classes=2, flip_y=0.1, random_state=0
    )
    return X, sigmoid_kernel(X, gamma=0.1), y


def within_twice(name, count):
    """Fail if a count is zero (nothing was watched) or more than doubled."""
    assert 0 < count <= 2 * RECORDED[name], f"{name}: {count}, was {RECORDED[name]}"


@pytest.mark.parametrize(
    "model",
    [SpectrumSVC("clip"), SpectrumSVC("flip"), KreinSVC(), ProxySVC(C=1.0, rho=1.0)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_eigendecomposition_per_fit(model, n_classes, problem, counter):
    _, K, _ = problem
    model.fit(K, np.arange(N) % n_classes)
    assert counter["eigh"] == 1


def test_no_eigendecomposition_for_the_raw_svm(problem, counter):
    _, K, y = problem
    SpectrumSVC("none").fit(K, y)
    assert counter["eigh"] == 0


def test_a_grid_of_C_shares_one_eigendecomposition(problem, counter):
    _, K, y = problem
    with shared_work():
        for C in (0.1, 1.0, 10.0):
            SpectrumSVC("flip", C=C).fit(K, y)
            KreinSVC(C=C).fit(K, y)
    assert counter["eigh"] == 1


def test_proxy_search_has_one_eigendecomposition_per_fold(problem, counter):
    _, K, y = problem
    ProxySVCCV(Cs=[0.1, 1.0], rhos=[0.1, 1.0, 10.0], cv=4).fit(K, y)
    assert counter["eigh"] == 4 + 1


def test_oracle_calls_of_the_proxy_svm(problem, counter):
    _, K, y = problem
    counter.watch(ProxySVM, "rise_grad")
    counter.watch(ProxySVM, "hessian_block")
    counter.watch(quadratic_model, "dpotrf")
    ProxySVC(C=1.0, rho=1.0).fit(K, y)
    within_twice("proxy oracle calls", counter["rise_grad"])
    within_twice("proxy Hessians", counter["hessian_block"])
    within_twice("proxy Cholesky", counter["dpotrf"])


def test_published_method_costs_one_eigendecomposition_a_step(problem, counter):
    _, K, y = problem
    model = ProxySVC(
        C=1.0,
        rho=1.0,
        solver="smm",
        solver_options={"oracle": "eigh", "stop": "change"},
    ).fit(K, y)
    evaluations = model.result_.history["evaluations"][-1]
    assert evaluations <= counter["eigh"] <= evaluations + 3


def test_steps_of_logistic_regression(problem, counter):
    _, K, y = problem
    model = KreinLogisticRegression(alpha=0.1, fit_intercept=False).fit(K, y)
    within_twice("logistic steps", int(model.n_iter_[0]))
    assert counter["cho_factor"] == 0


def test_cholesky_factorisations_of_the_thin_plate_svm(problem, counter):
    X, _, y = problem
    counter.watch(cpd_columns, "cho_factor")
    CPDSVC(alpha=0.01).fit(X, y)
    within_twice("cpd Cholesky", counter["cho_factor"])


def test_warm_starts_along_a_path_of_alphas(problem, counter):
    X, _, y = problem
    counter.watch(cpd_columns, "cho_factor")
    CPDSVCCV(alphas=np.logspace(1, -4, 11), cv=3).fit(X, y)
    within_twice("cpd path Cholesky", counter["cho_factor"])


def test_products_of_the_thin_plate_svm_with_many_violators(counter, rng):
    """By conjugate gradients: a few products a step, no factor of so many."""
    X = rng.standard_normal((1200, 2))
    y = X[:, 0] + rng.standard_normal(1200) > 0
    counter.watch(cpd_columns, "cho_factor", size=700)
    counter.watch(cpd_columns, "dsymv")
    model = CPDSVC(alpha=1.0).fit(X, y)
    assert model.support_.size >= 700
    assert counter["cho_factor"] == 0
    within_twice("cpd products", counter["dsymv"])


def test_a_search_of_the_spectrum_decomposes_once_per_fold(counter, problem):
    _, K, y = problem
    SpectrumSVCCV(cv=3).fit(K, y)
    assert counter["eigh"] == 4


def test_members_with_one_solution_are_solved_once(counter, problem):
    """Next to a diagonal no variable reaches a large C."""
    _, K, y = problem
    counter.watch(libsvm, "_loosely")
    model = SpectrumSVCCV([30.0, 100.0, 300.0, 1e3], fixes=["flip"], cv=3)
    model.fit(K + 3.0 * np.eye(N), y)
    assert len(model.members_) == 2
    assert counter["_loosely"] == 1


def test_a_search_never_reads_the_matrix_of_a_fold_to_know_it(problem, monkeypatch):
    _, K, y = problem
    seen = []

    def counted(value):
        seen.append(np.shape(value))
        return fingerprint(value)

    monkeypatch.setattr(sharing, "fingerprint", counted)
    ProxySVCCV(Cs=[0.1, 1.0], rhos=[0.1, 1.0, 10.0], cv=4).fit(K, y)
    assert seen.count((90, 90)) == 0


def test_the_average_of_a_comparison_screens_its_settings(problem, counter):
    """compare judges the model that SpectrumSVCCV is by itself: 18 of 72 settings."""
    _, K, y = problem
    counter.watch(spectral, "svm_path")
    compare(K, y, methods=["average"], cv=2)
    assert counter["svm_path"] <= 2 * 5 * 5  # splits, folds, methods
    compare(K, y, methods=["average"], cv=2, groups=np.arange(N) // 2)
    assert counter["svm_path"] > 2 * 5 * 10  # all methods where folds are not random


def test_the_average_of_a_comparison_shares_the_folds_of_the_others(problem, counter):
    """Per split one eigendecomposition of each inner fold, and one of all of it."""
    _, K, y = problem
    compare(K, y, methods=["clip", "krein", "average"], cv=2)
    assert counter["eigh"] == 2 * (5 + 1)


def test_a_search_on_hits_forms_no_kernel(monkeypatch):
    y = np.arange(480) % 8
    near = scipy.sparse.diags_array(
        [0.4, 0.7, 0.4], offsets=[8, 16, 24], shape=(480,) * 2
    )
    K = scipy.sparse.csr_array(near + near.T + scipy.sparse.eye_array(480))
    counter = Counter(monkeypatch)
    counter.watch(spectral, "svm_path")
    compare(K, y, methods=["clip"], cv=2)
    assert counter["svm_path"] == 0


def test_no_second_spectrum_where_too_many_eigenvalues_are_negative(
    problem, monkeypatch
):
    _, K, _ = problem
    counter = Counter(monkeypatch)
    counter.watch(np.linalg, "eigvalsh", size=N)
    assert diagnose(K).cpd_order is None
    assert counter["eigvalsh"] == 0


def test_findings_alone_need_no_spectrum(problem, monkeypatch):
    _, K, y = problem
    counter = Counter(monkeypatch)
    counter.watch(scipy.linalg, "eigh", size=N)
    found = find_in(K, y)
    assert counter["eigh"] == 0
    assert found == diagnose(K, y).findings


def test_a_report_decomposes_once(monkeypatch, problem, tmp_path):
    _, K, y = problem
    comparison = compare(K, y, methods=["svc", "clip"], cv=2)
    counter = Counter(monkeypatch)
    counter.watch(scipy.linalg, "eigh", size=N)
    comparison.to_html(tmp_path / "page.html")
    assert counter["eigh"] == 1


def test_rows_with_few_bounds_share_one_inverse(monkeypatch):
    """Nearly diagonal kernels: LIBSVM solves the first row, one inverse the others."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 6)), np.arange(80) % 4
    K = np.eye(80) + 0.05 * sigmoid_kernel(X)
    counter = Counter(monkeypatch)
    counter.watch(libsvm, "_loosely")
    bounded = {}
    for C, solved in ((100.0, 1), (1.5, 1), (0.6, 4)):
        before = counter["_loosely"]
        model = SpectrumSVC("clip", C=C).fit(K, y)
        assert counter["_loosely"] == before + solved
        a = np.abs(model.alpha_)
        bounded[C] = np.mean((a <= 0.0) | (a >= C))
        for k in range(4):
            alone = SpectrumSVC("clip", C=C).fit(K, y == k)
            np.testing.assert_allclose(
                model.dual_coef_[k], alone.dual_coef_[0], atol=1e-8
            )
            np.testing.assert_allclose(
                model.intercept_[k], alone.intercept_[0], atol=1e-8
            )
    assert bounded[100.0] == 0.0 < bounded[1.5] < 0.2 < bounded[0.6]


def test_rows_with_half_of_their_items_on_a_bound_need_one_factor_each(monkeypatch):
    """Few items change sides in the polish: their factor gets a border."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 20
    X = rng.standard_normal((20, 20))[y] + 0.9 * rng.standard_normal((400, 20))
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    K = np.maximum(np.quantile(D[np.triu_indices(400, 1)], 0.1) - D, 0.0)
    counter = Counter(monkeypatch)
    counter.watch(quadratic_model, "dpotrf")
    model = SpectrumSVC("clip", C=1.0, tol=1e-6).fit(K, y)
    a = np.abs(model.alpha_)
    assert 0.3 < np.mean((a <= 0.0) | (a >= 1.0)) < 0.7
    assert np.max([result.certificate.relative for result in model.result_]) <= 1e-6
    assert counter["dpotrf"] <= 1.2 * len(model.result_)
