"""A fitted model of every kind, and what each is asked about."""

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
    sigmoid_kernel,
)

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
