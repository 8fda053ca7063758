"""The similarities of `regret.py`: what a user would make of the data of KREIN_DATA.

A case is a data set and a conversion. Distances between all items are computed once
and kept in a folder; what depends on the items (the median distance, means, scales of
vectors) is settled on the training part of every split.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from krein.kernels import KERNELS
from krein.kernels.vectors import sigmoid_kernel, tl1_kernel

DATA = Path(os.environ.get("KREIN_DATA", "data"))


@dataclass(frozen=True)
class Case:
    """A named similarity: `items()` once, `matrix(items, train)` for every split."""

    name: str
    items: Callable[[], tuple[np.ndarray, np.ndarray]]
    matrix: Callable[[np.ndarray, np.ndarray], np.ndarray]

    @property
    def half(self) -> str:
        """Design choices are made on one half, the other is for reporting."""
        digest = hashlib.blake2b(self.name.split(",")[0].encode()).digest()
        return "design" if digest[0] % 2 else "report"


# --------------------------------------------------------- distance -> similarity


def median(D, train):
    part = D[np.ix_(train, train)]
    return float(np.median(part[np.triu_indices_from(part, 1)]))


def exponential(D, train):
    return np.exp(-D / median(D, train))


def gaussian(D, train):
    return np.exp(-0.5 * (D / median(D, train)) ** 2)


def centred(D, train):
    squares = D**2
    means = squares[:, train].mean(axis=1)
    total = means[train].mean()
    return 0.5 * (means[:, None] + means[None, :] - squares - total)


def as_it_is(K, train):
    return K


def standardised(kernel):
    def matrix(X, train):
        scale = X[train].std(axis=0)
        X = (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        return kernel(X)

    return matrix


# ------------------------------------------------------------------------- loading


def arrays(name):
    with np.load(DATA / f"{name}.npz") as z:
        return {key: z[key] for key in z.files}


def given(name):
    def load():
        z = arrays(name)
        return 0.5 * (z["X"] + z["X"].T), z["y"]

    return load


def given_squares():
    """The evolutionary distance itself, whose square root the file has."""
    D, y = given("dis_protein226")()
    return D**2, y


def table(name):
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    return [row["sequence"] for row in rows], np.array([row["y"] for row in rows])


def vectors(name):
    def load():
        z = arrays(name)
        return z["X"].astype(float), z["y"]

    return load


def graphs(name):
    z = arrays(name)
    found = []
    for g in range(len(z["y"])):
        nodes = np.flatnonzero(z["graph_of_node"] == g)
        edges = z["edges"]
        inside = np.isin(edges[:, 0], nodes)
        pairs = edges[inside] - nodes[0]
        labels = [str(label) for label in z["node_label"][nodes]]
        found.append((len(nodes), [(a, b) for a, b in pairs.tolist() if a < b], labels))
    return found, z["y"]


def raw_items(name):
    if name.startswith("str_"):
        return table(name)
    if name.startswith("graph_"):
        return graphs(name)
    z = arrays(name)
    X = z["X"]
    if name.startswith("spd_"):  # some are singular: shrunk towards the identity
        p = X.shape[1]
        size = np.trace(X, axis1=1, axis2=2)[:, None, None] / p
        X = 0.99 * X + 0.01 * size * np.eye(p)
    return X, z["y"]


def computed(folder, name, kernel, **params):
    """Distances (or similarities) between all items, kept as a file."""

    def load():
        path = Path(folder) / f"{name}-{kernel}.npz"
        if not path.exists():
            items, y = raw_items(name)
            facts = KERNELS[kernel]
            function = facts.distance or facts.function
            M = np.asarray(function(list(items), **params), dtype=float)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, M=0.5 * (M + M.T), y=y)
        with np.load(path) as z:
            return z["M"], z["y"]

    return load


FORMS = {"exp": exponential, "gaussian": gaussian, "centred": centred}
ALIGNMENT = {"matrix": (2, -1), "gap_open": 2, "gap_extend": 1, "normalize": True}


def cases(folder):
    """All cases, the small ones first."""
    found = [
        Case(f"{name}, {form}", given(name), FORMS[form])
        for name in ("dis_catcortex", "dis_coilyork_2class", "dis_mirna",
                     "dis_protein226", "dis_chickenpieces_20_60")
        for form in FORMS
    ]  # fmt: skip
    found.append(Case("dis_protein226, squared centred", given_squares, centred))
    found += [
        Case(f"{name}, given", given(name), as_it_is)
        for name in ("sim_aural_sonar", "sim_protein", "sim_voting")
    ]
    found += [
        Case(f"{name}, {kernel} {form}", computed(folder, name, kernel), FORMS[form])
        for name in ("ts_coffee", "ts_ecg200", "ts_gunpoint", "ts_trace")
        for kernel, form in (("dtw", "exp"), ("dtw", "centred"), ("msm", "exp"),
                             ("twe", "gaussian"))
    ]  # fmt: skip
    found += [
        Case(f"{name}, {kernel}", computed(folder, name, kernel), exponential)
        for name in ("str_promoters", "str_mirna")
        for kernel in ("edit", "damerau")
    ]
    found += [
        Case(
            "str_promoters, smith_waterman",
            computed(folder, "str_promoters", "smith_waterman", **ALIGNMENT),
            as_it_is,
        ),
        Case(
            "str_promoters, lcs",
            computed(folder, "str_promoters", "lcs", normalize=True),
            as_it_is,
        ),
    ]
    found += [
        Case(
            f"{name}, optimal_assignment",
            computed(folder, name, "optimal_assignment", normalize=True),
            as_it_is,
        )
        for name in ("graph_mutag", "graph_ptc_mr")
    ]
    found += [
        Case(f"spd_eeg_alcoholism, {kernel}",
             computed(folder, "spd_eeg_alcoholism", kernel), exponential)
        for kernel in ("affine_invariant", "bures")
    ]  # fmt: skip
    found += [
        Case(f"{name}, {kernel}", vectors(name), standardised(function))
        for name in ("sonar", "ionosphere", "heart_statlog", "parkinsons", "monks1",
                     "ida_breast_cancer")
        for kernel, function in (("tl1", tl1_kernel), ("sigmoid", sigmoid_kernel))
    ]  # fmt: skip
    return found
