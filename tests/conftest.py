"""Fixtures shared by all tests: seeds, real data, kernels with a chosen spectrum."""

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# `make test` gives the same answer every time: the examples follow from the tests
# alone, and no example has a time limit. `make test-all` and `make fuzz` explore.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None
)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def shared_data():
    """Load a data set of the KREIN_DATA folder, or skip with the reason."""

    def load(name):
        folder = os.environ.get("KREIN_DATA")
        if not folder:
            pytest.skip("KREIN_DATA is not set: the benchmark data are not here")
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path.name} is not in the KREIN_DATA folder")
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}

    return load


@pytest.fixture
def with_spectrum(rng):
    """Make a symmetric matrix with prescribed eigenvalues."""

    def make(eigenvalues):
        n = len(eigenvalues)
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        K = (Q * np.asarray(eigenvalues, dtype=float)) @ Q.T
        return 0.5 * (K + K.T)

    return make
