"""Writes tests/models/old: model files of an older krein, and what they predicted.

Run with that version of krein, not with the present one::

    git worktree add OLD v0.1.0
    PYTHONPATH=OLD/src python tests/models/make_old_models.py

`tests/models/test_old_files.py` loads them with the present version.
"""

from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import krein
from krein import (
    CPDSVC,
    CPDSVCCV,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    Kernel,
    KreinLogisticRegression,
    KreinLogisticRegressionCV,
    KreinNystroem,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    ProxySVCCV,
    PseudoEuclideanEmbedding,
    SimilarityFeaturesClassifier,
    SimilarityNeighborsClassifier,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    SpectrumTransformer,
    save_model,
    sigmoid_kernel,
)

FOLDER = Path(__file__).with_name("old")
N = 15


def data():
    """Vectors, two classes, three classes, a target, new vectors."""
    rng = np.random.default_rng(11)
    X, new = rng.standard_normal((N, 2)), rng.standard_normal((4, 2))
    two = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    return X, two, np.arange(N) % 3, X[:, 0] + X[:, 1], new


def models():
    """Name -> (fitted model, what it is asked about)."""
    X, two, three, target, new = data()
    K, K_new = sigmoid_kernel(X), sigmoid_kernel(new, X)
    landmarks = KreinNystroem(6, kernel="tl1", random_state=0)
    few = {"approximation": KreinNystroem(6, random_state=0), "kernel": "tl1"}
    pipeline = make_pipeline(
        StandardScaler(), KreinSVC(kernel=Kernel("rbf", gamma=0.3))
    )
    stack = [krein.rbf_kernel(X), X @ X.T]
    new_stack = np.stack([krein.rbf_kernel(new, X), new @ X.T], axis=-1)
    words = ["".join("abcd"[(i * j) % 4] for j in range(1, 6)) for i in range(N)]
    return {
        "clip": (SpectrumSVC("clip").fit(K, two), K_new),
        "diffusion": (SpectrumSVC("diffusion", t=2.0).fit(K, three), K_new),
        "flip_proba": (SpectrumSVC("flip", kernel="tl1", probability=True,
                                   random_state=0).fit(X, two), new),
        "landmarks": (SpectrumSVC("flip", **few).fit(X, three), new),
        "svr": (SpectrumSVR("clip").fit(K, target), K_new),
        "one_class": (SpectrumOneClassSVM("clip", nu=0.4).fit(K), K_new),
        "krein": (KreinSVC(lam_neg=2.0).fit(K, three), K_new),
        "words": (KreinSVC(kernel="edit").fit(words, two), words[:4]),
        "proxy": (ProxySVC(C=2.0).fit(K, two), K_new),
        "proxy_project": (ProxySVC(new_points="project").fit(K, two), K_new),
        "proxy_luss": (ProxySVC(new_points="luss", kernel="tl1").fit(X, two), new),
        "proxy_landmarks": (ProxySVC(**few).fit(X, two), new),
        "proxy_cv": (ProxySVCCV(Cs=[0.1, 1.0], rhos=[1.0], cv=2).fit(K, two), K_new),
        "dc": (DCSVC().fit(K, two), K_new),
        "logistic": (KreinLogisticRegression(0.1).fit(K, three), K_new),
        "logistic_cv": (KreinLogisticRegressionCV([0.1, 1.0], cv=2).fit(K, two), K_new),
        "ridge": (KreinRidge(0.5).fit(K, target), K_new),
        "cpd": (CPDSVC(0.1).fit(X, three), new),
        "cpd_cv": (CPDSVCCV(alphas=[1.0, 0.1], cv=2).fit(X, two), new),
        "cpd_regressor": (CPDRegressor(0.1).fit(X, target), new),
        "mkl": (MKLSVC().fit(stack, two), new_stack),
        "transformer": (SpectrumTransformer("flip").fit(K), K_new),
        "embedding": (PseudoEuclideanEmbedding(3).fit(K), K_new),
        "nystroem": (landmarks.fit(X), new),
        "neighbors": (SimilarityNeighborsClassifier(3).fit(K, two), K_new),
        "features": (SimilarityFeaturesClassifier().fit(K, two), K_new),
        "pipeline": (pipeline.fit(X, two), new),
    }  # fmt: skip


def answers(model, asked):
    """What a model says, as arrays of numbers."""
    for name in ("decision_function", "transform", "predict_proba", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(asked), dtype=float)
    raise TypeError(f"{type(model).__name__} answers nothing")


def asked_about(name):
    """What the model of this name is asked about, without fitting anything."""
    X, _, _, _, new = data()
    if name == "words":
        return ["".join("abcd"[(i * j) % 4] for j in range(1, 6)) for i in range(4)]
    if name == "mkl":
        pair = [krein.rbf_kernel(new, X), new @ X.T]
        return np.stack(pair, axis=-1)
    vectors = {"flip_proba", "landmarks", "proxy_luss", "proxy_landmarks", "cpd",
               "cpd_cv", "cpd_regressor", "nystroem", "pipeline"}  # fmt: skip
    return new if name in vectors else sigmoid_kernel(new, X)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    said = {}
    for name, (model, asked) in models().items():
        said[name] = answers(model, asked)
        np.testing.assert_array_equal(said[name], answers(model, asked_about(name)))
        save_model(model, FOLDER / f"{name}.krein")
    np.savez_compressed(FOLDER / "answers.npz", **said)
