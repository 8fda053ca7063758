"""One small comparison with hostile names, and its report."""

import numpy as np
import pytest

from krein import compare

HOSTILE = "<script>alert(1)</script>&\"'<img src=x>"


@pytest.fixture(scope="session")
def comparison():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 4)) + np.repeat([[1.0], [-1.0]], 30, axis=0)
    y = np.repeat(["good", HOSTILE], 30)
    K = np.tanh(X @ X.T / 2 - 0.5)
    return compare(K, y, methods=["svc", "clip", "flip", "neighbors"], cv=4)


@pytest.fixture(scope="session")
def page(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    names = [f"{HOSTILE} {i}" for i in range(60)]
    context = {"title": HOSTILE, "about": HOSTILE, "command": f"krein {HOSTILE}"}
    return comparison.to_html(path, names=names, **context)
