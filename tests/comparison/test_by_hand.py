"""`compare` gives the numbers of the same experiment written with scikit-learn only."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krein import compare, load_dataset, smith_waterman_kernel

CS = 10.0 ** np.array([-1.0, -0.25, 0.5, 1.25, 2.0, 2.75])


def one_vs_rest(make, train, y, test):
    """Predictions of one classifier per class, by hand."""
    classes = np.unique(y)
    if classes.size == 2:
        return make().fit(train, y).predict(test)
    values = [make().fit(train, y == k).decision_function(test) for k in classes]
    return classes[np.argmax(values, axis=0)]


def spectral(method):
    """(K_train, K_test) -> transformed pair; new rows by the same linear map."""

    def transform(K, K_new):
        values, U = np.linalg.eigh(K)
        tiny = K.shape[0] * np.finfo(float).eps * np.abs(values).max()
        zero = np.abs(values) <= tiny
        if method == "shift":
            return K + max(0.0, -values[0]) * np.eye(len(K)), K_new
        if method == "diffusion":
            grown = np.exp(values / np.abs(values).max())
            seen = np.abs(values) > 0.01 * np.abs(values).max()
            gain = np.where(seen, grown / np.where(seen, values, 1.0), 0.0)
            return (U * grown) @ U.T, K_new @ ((U * gain) @ U.T)
        else:
            gain = {
                "clip": (values > tiny) * 1.0,
                "flip": np.where(zero, 0.0, np.sign(values)),
                "square": values,
            }[method]
        P = (U * gain) @ U.T
        made = K @ P
        return 0.5 * (made + made.T), K_new @ P

    return transform


def svm(method):
    transform = spectral(method) if method != "svc" else (lambda K, new: (K, new))
    tol = 1e-3 if method == "svc" else 1e-6

    def grid(K):
        return CS / np.abs(np.diag(transform(K, K)[0])).mean()

    def predict(K, y, K_new, C):
        train, new = transform(K, K_new)
        if method == "svc":  # one machine per pair of classes, as everybody does it
            machine = SVC(kernel="precomputed", C=C, tol=tol)
            return machine.fit(train, y).predict(new)
        return one_vs_rest(
            lambda: SVC(kernel="precomputed", C=C, tol=tol), train, y, new
        )

    return grid, predict


def neighbors():
    def predict(K, y, K_new, k):
        # Of equally similar items the first counts: a tiny slope settles ties.
        slope = 1e-9 * np.arange(len(K))
        top = max(K.max(), K_new.max())
        model = KNeighborsClassifier(k, metric="precomputed").fit(top - K + slope, y)
        return model.predict(top - K_new + slope)

    return lambda K: [k for k in (1, 3, 5, 9, 15) if k <= len(K)], predict


def features():
    def predict(K, y, K_new, C):
        def make():
            logistic = LogisticRegression(C=C, tol=1e-8, max_iter=5000)
            return make_pipeline(StandardScaler(), logistic)

        return one_vs_rest(make, K, y, K_new)

    return lambda K: (0.001, 0.01, 0.1, 1.0, 10.0), predict


def by_hand(K, y, method, cv):
    """Accuracy per outer fold; the candidate of best mean inner accuracy is used."""
    grid, predict = {"neighbors": neighbors, "features": features}.get(
        method, lambda: svm(method)
    )()
    accuracies = []
    outer = StratifiedKFold(cv, shuffle=True, random_state=0)
    for train, test in outer.split(K, y):
        inner = StratifiedKFold(5, shuffle=True, random_state=0)
        L, labels = K[np.ix_(train, train)], y[train]
        candidates = grid(L)
        means = np.zeros(len(candidates))
        for a, b in inner.split(L, labels):
            for c, candidate in enumerate(candidates):
                out = predict(L[np.ix_(a, a)], labels[a], L[np.ix_(b, a)], candidate)
                means[c] += np.mean(out == labels[b]) / 5
        best = candidates[int(np.argmax(np.round(means, 12)))]
        out = predict(L, labels, K[np.ix_(test, train)], best)
        accuracies.append(np.mean(out == y[test]))
    return np.array(accuracies)


def check(K, y, methods, cv, slack=0):
    """Compare per split; `slack` items may differ (solvers stop at a tolerance)."""
    comparison = compare(K, y, methods=methods, cv=cv)
    assert comparison.failed == {}
    for method in methods:
        expected = by_hand(K, y, method, cv)
        found = comparison.scores(method)
        n_test = np.array([test.size for _, test in comparison.splits])
        items = np.abs(found - expected) * n_test
        assert items.max() <= slack + 1e-9, (method, found, expected)


ALL = ["svc", "clip", "flip", "shift", "square", "diffusion", "neighbors", "features"]


def test_aural_sonar(shared_data):
    data = shared_data("sim_aural_sonar")
    check(data["X"], data["y"], ["svc", "clip", "flip", "features"], cv=2)


def test_several_classes(shared_data):
    data = shared_data("sim_protein")
    check(data["X"], data["y"], ["flip", "neighbors"], cv=2)


# A decision value within LIBSVM's tolerance of zero may fall on either side: hence one
# item per split may differ, and where that makes inner folds choose another C, two.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["sim_aural_sonar", "sim_voting", "sim_protein"])
def test_similarities_all_methods(shared_data, name):
    data = shared_data(name)
    check(data["X"], data["y"], ALL, cv=5, slack=2)


@pytest.mark.slow
def test_gunpoint_with_dtw(shared_data):
    pytest.importorskip("dtaidistance", reason="DTW needs the extra krein[series]")
    from krein import dtw_kernel

    data = shared_data("ts_gunpoint")
    X, y = data["X"][:100], data["y"][:100]
    gamma = {"gamma": 0.1}  # by name it would be settled on each training part
    methods = ["flip", "neighbors"]
    direct = compare(X, y, kernel="dtw", kernel_params=gamma, methods=methods, cv=3)
    K = dtw_kernel(X, **gamma)
    for method in direct.methods:
        np.testing.assert_array_equal(
            direct.scores(method), compare(K, y, methods=[method], cv=3).scores(method)
        )
    check(K, y, ALL, cv=3, slack=1)


@pytest.mark.slow
def test_promoters_with_smith_waterman():
    pytest.importorskip("parasail", reason="alignment needs the extra krein[bio]")
    promoters = load_dataset("promoters")
    K = smith_waterman_kernel(
        promoters.data, matrix=(2, -1), gap_open=2, gap_extend=1, normalize=True
    )
    check(K, promoters.target, ALL, cv=3, slack=1)
