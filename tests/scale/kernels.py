"""Kernels that workers can import by name."""

import os
import time
from pathlib import Path

import numpy as np


def slow_tl1(X, Y):
    """TL1 that takes its time, so that something can happen meanwhile."""
    time.sleep(0.15)
    return fast_tl1(X, Y)


def fast_tl1(X, Y):
    distance = np.abs(X[:, None] - Y[None]).sum(axis=-1)
    return np.maximum(2.0 - distance, 0.0)


def counted_tl1(X, Y):
    """TL1 that leaves a line for each call in the file that the environment names."""
    with Path(os.environ["KREIN_TEST_CALLS"]).open("a") as file:
        file.write(f"{len(X)} {len(Y)}\n")
    return np.maximum(2.0 - np.abs(X[:, None] - Y[None]).sum(axis=-1), 0.0)


def needs_a_package(X, Y):
    """Work on the driver, fail on workers that lack a package."""
    if os.environ.get("KREIN_TEST_ON_WORKER"):
        from krein.words import import_optional

        import_optional("nosuchpackage", extra="bio", needed_for="this kernel")
    return X @ Y.T


def kills_its_worker(X, Y):
    if os.environ.get("KREIN_TEST_ON_WORKER"):
        os._exit(1)
    return X @ Y.T


def shared_letters(left, right):
    """Similarity of strings: indefinite, and cheap."""
    return np.array(
        [[len(set(a) & set(b)) - abs(len(a) - len(b)) for b in right] for a in left],
        dtype=float,
    )


def same_letter(left, right):
    """Similarity of records: objects that are neither numbers nor strings."""
    letters = [
        np.array([ord(item["letter"]) for item in part]) for part in (left, right)
    ]
    return np.where(letters[0][:, None] == letters[1][None], 1.0, -0.3)
