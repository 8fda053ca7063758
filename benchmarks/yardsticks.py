"""What a careful user gets of scikit-learn alone: yardsticks of `regret.py`.

Each is given views of the items: similarities of all items to the training items by
the name of what was made of them, as given or one of the five conversions that
`SimilarityClassifier` chooses among. C, and the view where several are offered, are
chosen on the same inner folds of the training part.

flip and logistic regression: ``Nystroem(kernel="precomputed", n_components=n)`` gives
the features whose products are the flipped similarity.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from krein.estimators._pool_candidates import OF_DISTANCES
from krein.selection.folds import inner_folds
from krein.similarity.conversions import AS_GIVEN, CONVERSIONS

VIEWS = (AS_GIVEN, *OF_DISTANCES)
# Candidates: the first of equals is taken, so that the usual ones come first.
CS = 10.0 ** np.array([0, 0.5, 1, -0.5, 1.5, -1, 2, -1.5, 2.5, -2, 3])  # times 1 / unit
LOGISTIC_CS = 10.0 ** np.arange(-1, 7)  # times 1 / unit
ROW_CS = (1.0, 10.0, 0.1, 100.0, 1000.0)
GAMMAS = (1.0, 0.3, 3.0, 0.1)  # times 1 / (items variance), as "scale"
_NUDGE = 1e-10  # of the mean self-similarity
LIMIT = 200_000  # an indefinite problem may keep LIBSVM busy for ever


def views_of(K, D, train):
    """Similarities of all items to the training items, by the name of the view."""
    found = {AS_GIVEN: K[:, train]}
    for name in OF_DISTANCES:
        settled = CONVERSIONS[name].settle(D[np.ix_(train, train)])
        found[name] = settled.similarities(D[:, train])
    return found


def unit(S):
    """Mean self-similarity, in absolute value, of the training items."""
    return float(np.abs(np.diagonal(S)).mean()) or 1.0


def searched(model, grid, S, codes, train, test, folds):
    """Inner accuracy of the best candidate, and its error on the test part."""
    search = GridSearchCV(model, grid, cv=folds).fit(S[train], codes[train])
    return search.best_score_, 1.0 - search.score(S[test], codes[test])


def svc(S, codes, train, test, folds):
    """`SVC` on a similarity, C chosen by accuracy."""
    model = SVC(kernel="precomputed", max_iter=LIMIT)
    return searched(model, {"C": CS / unit(S[train])}, S, codes, train, test, folds)


def rbf_rows(S, codes, train, test, folds):
    """`SVC` with an RBF kernel on the rows, its width and C chosen by accuracy."""
    scale = 1.0 / (S.shape[1] * S[train].var() or 1.0)
    grid = {"C": ROW_CS, "gamma": [scale * gamma for gamma in GAMMAS]}
    return searched(SVC(max_iter=LIMIT), grid, S, codes, train, test, folds)


def logistic_probabilities(K, new, codes, Cs):
    """Class probabilities of new items for each C, each fit from the last one."""
    flip = Nystroem(kernel="precomputed", n_components=len(K), random_state=0)
    try:
        flip.fit(K)
    except np.linalg.LinAlgError:  # LAPACK's SVD may not converge; a nudge helps
        flip.fit(K + _NUDGE * unit(K) * np.eye(len(K)))
    model = LogisticRegression(warm_start=True, max_iter=1000, tol=1e-3)
    features, new = flip.transform(K), flip.transform(new)
    return [model.set_params(C=C).fit(features, codes).predict_proba(new) for C in Cs]


def flip_logistic(S, codes, train, test, folds):
    """Logistic regression on flip features, its penalty chosen by log-loss."""
    Cs = LOGISTIC_CS / unit(S[train])
    losses = []
    classes = np.unique(codes)
    for known, held in folds:
        K = S[np.ix_(train[known], known)]
        new = S[np.ix_(train[held], known)]
        probabilities = logistic_probabilities(K, new, codes[train[known]], Cs)
        truth = codes[train[held]]
        losses.append([log_loss(truth, p, labels=classes) for p in probabilities])
    means = np.mean(losses, axis=0)
    best = int(means.argmin())
    Cs = Cs[: best + 1]  # those before it, from which it starts
    proba = logistic_probabilities(S[train], S[test], codes[train], Cs)[-1]
    return -means[best], float(np.mean(proba.argmax(axis=1) != codes[test]))


def measured(learn, views, codes, train, test):
    """Score, error and seconds of a yardstick on every view."""
    folds = inner_folds(codes[train], 0, "the yardsticks")
    found = {}
    for name, S in views.items():
        start = time.process_time()
        score, error = learn(S, codes, train, test, folds)
        seconds = time.process_time() - start
        found[name] = {"score": score, "error": error, "seconds": seconds}
    return found


def chosen(found):
    """The view of the best inner score; all of them took time."""
    best = max(found, key=lambda name: found[name]["score"])
    seconds = sum(one["seconds"] for one in found.values())
    return {"error": found[best]["error"], "seconds": seconds, "conversion": best}
