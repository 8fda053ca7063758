"""Every pair of settings occurs in some fit: sampled, not written by hand."""

import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from krein import (
    DCSVC,
    KreinLogisticRegression,
    KreinNystroem,
    KreinSVC,
    ProxySVC,
    SpectrumSVC,
    check_certificate,
    load_model,
    save_model,
    sigmoid_kernel,
)

FACTORS = {
    "model": [
        "clip", "flip", "square", "shift", "diffusion", "none", "krein", "proxy-clip",
        "proxy-project", "proxy-raw", "dc", "logistic", "logistic-ovr",
    ],
    "weights": ["none", "integer", "zeros", "balanced"],
    "classes": [2, 3],
    "landmarks": [False, True],
    "probability": [False, True],
    "data": ["float64", "float32", "pandas", "vectors"],
}  # fmt: skip
NO_LANDMARKS = {"shift", "diffusion", "none", "dc", "logistic", "logistic-ovr"}


def allowed(setting):
    if setting.get("landmarks") and setting.get("model") in NO_LANDMARKS:
        return False
    logistic = str(setting.get("model")).startswith("logistic")
    return not (logistic and setting.get("probability"))


def pairwise(factors, allowed):
    """Rows such that every allowed pair of values occurs; greedy."""
    names = list(factors)
    rows = [dict(zip(names, row, strict=True)) for row in product(*factors.values())]
    rows = [row for row in rows if allowed(row)]
    pairs = [
        {(a, row[a], b, row[b]) for a, b in combinations(names, 2)} for row in rows
    ]
    missing, chosen = set().union(*pairs), []
    while missing:
        best = max(range(len(rows)), key=lambda i: len(pairs[i] & missing))
        chosen.append(rows[best])
        missing -= pairs[best]
    return chosen


ROWS = pairwise(FACTORS, allowed)


def build(setting):
    name = setting["model"]
    common = {"kernel": "sigmoid" if setting["data"] == "vectors" else "precomputed"}
    if setting["landmarks"]:
        common["approximation"] = KreinNystroem(n_components=12, random_state=0)
    if setting["weights"] == "balanced":
        common["class_weight"] = "balanced"
    if not name.startswith("logistic"):
        common["probability"] = setting["probability"]
    if name.startswith("proxy"):
        return ProxySVC(new_points=name[6:], **common)
    if name.startswith("logistic"):
        kind = "ovr" if name.endswith("ovr") else "multinomial"
        return KreinLogisticRegression(0.1, multi_class=kind, **common)
    if name in ("krein", "dc"):
        return (KreinSVC if name == "krein" else DCSVC)(**common)
    return SpectrumSVC(name, **common)


def data_of(setting, rng):
    X = rng.standard_normal((30, 3))
    y = np.array(["ant", "bee", "cat"])[np.arange(30) % setting["classes"]]
    X += 1.5 * (y == "bee")[:, None]
    K = sigmoid_kernel(X)
    given = {
        "float64": K,
        "float32": K.astype(np.float32),
        "pandas": pd.DataFrame(K),
        "vectors": X,
    }[setting["data"]]
    weight = {
        "integer": rng.integers(1, 4, 30),
        "zeros": rng.integers(0, 3, 30) + (np.arange(30) < 12),
    }.get(setting["weights"])
    return given, y, weight


def as_id(setting):
    return "-".join(str(value) for value in setting.values())


def test_every_pair_occurs():
    assert len(ROWS) < 80
    for (a, many), (b, more) in combinations(FACTORS.items(), 2):
        for pair in product(many, more):
            setting = dict(zip((a, b), pair, strict=True))
            if allowed(setting):
                assert any(setting.items() <= row.items() for row in ROWS), setting


@pytest.mark.parametrize("setting", ROWS, ids=as_id)
def test_settings_go_together(setting, rng, tmp_path):
    X, y, weight = data_of(setting, rng)
    model = build(setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y, sample_weight=weight)
    predicted = model.predict(X)
    assert set(predicted) <= set(y)
    values = model.decision_function(X)
    assert values.shape == ((30,) if setting["classes"] == 2 else (30, 3))
    assert np.isfinite(values).all()
    if setting["data"] == "float64" and not setting["landmarks"]:
        raw = X @ model.dual_coef_.T + model.intercept_
        np.testing.assert_allclose(values, raw.squeeze(), atol=1e-9)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert proba.min() >= 0.0
    report = check_certificate(model, X, y, weight)
    assert report.holds is (None if setting["landmarks"] else True), report
    save_model(model, tmp_path / "m.krein")
    again = load_model(tmp_path / "m.krein")
    np.testing.assert_array_equal(again.decision_function(X), values)
