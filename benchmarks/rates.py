"""How many fits of ordinary similarities do not converge, by estimator at its defaults.

    python benchmarks/rates.py                     1000 fits of every estimator
    python benchmarks/rates.py --scales 1e-6 1e-3 1e3 1e6   of similarities times these
    python benchmarks/rates.py --only CPDSVC --first 17 --fits 1    one of them again
    python benchmarks/rates.py --judge             and check_certificate of every fit

Ordinary: entries of order one, 10 to 200 items, two to four classes, C and alpha over
six orders, half of the fits with sample weights over six digits, every fourth with
class weights. Fits that fail are printed one a line, with the command's --only and
--first that repeat them; the table comes last, the worst estimator first. "rounding"
counts those among them that are solved and say that only counted rounding keeps their
claim above the tolerance. A fit that takes SECONDS of the processor is one that fails.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np

from krein import (
    CPDSVC,
    DCSVC,
    MKLSVC,
    CPDRegressor,
    KreinLogisticRegression,
    KreinRidge,
    KreinSVC,
    ProxySVC,
    SpectrumOneClassSVM,
    SpectrumSVC,
    SpectrumSVR,
    check_certificate,
)

SECONDS = 60
LEAST, MOST = 10, 200
Generator = np.random.Generator


# ------------------------------------------------------------------------ similarities


def items(rng: Generator, n: int) -> np.ndarray:
    """Two groups in a few dimensions; every third set has equal items among them."""
    X = rng.standard_normal((n, int(rng.integers(1, 9))))
    X[: n // 2, 0] += rng.uniform(0, 3)
    if rng.integers(3) == 0:
        X[rng.integers(0, n, n // 5)] = X[rng.integers(0, n, n // 5)]
    return X


def distances(X: np.ndarray) -> np.ndarray:
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


def symmetric(rng: Generator, n: int) -> np.ndarray:
    A = rng.standard_normal((n, n))
    return A + A.T


def low_rank(rng: Generator, n: int) -> np.ndarray:
    F = rng.standard_normal((n, int(rng.integers(1, 6))))
    return (F * rng.choice([-1.0, 1.0], F.shape[1])) @ F.T


def negative_distances(rng: Generator, n: int) -> np.ndarray:
    D = distances(items(rng, n))
    return -((D / D.mean()) ** rng.choice([0.5, 1.0, 2.0, 3.0]))


def sigmoid(rng: Generator, n: int) -> np.ndarray:
    X = items(rng, n)
    return np.tanh(X @ X.T / X.shape[1] - rng.uniform(0, 2))


def neighbours(rng: Generator, n: int) -> np.ndarray:
    """A graph of nearest neighbours, with or without loops."""
    near = np.argsort(distances(items(rng, n)), axis=1)[:, 1 : int(rng.integers(3, 9))]
    K = np.zeros((n, n))
    K[np.arange(n)[:, None], near] = 1.0
    return np.maximum(K, K.T) + rng.integers(2) * np.eye(n)


def tied(rng: Generator, n: int) -> np.ndarray:
    """Values of one digit, as people answer."""
    return np.round(symmetric(rng, n) * rng.choice([1.0, 3.0])) / rng.choice([1.0, 5.0])


def matches(rng: Generator, n: int) -> np.ndarray:
    """Shares of yes-or-no columns that agree."""
    B = (rng.random((n, int(rng.integers(2, 30)))) < rng.uniform(0.1, 0.9)).astype(
        float
    )
    return (B @ B.T + (1 - B) @ (1 - B).T) / B.shape[1]


def correlations(rng: Generator, n: int) -> np.ndarray:
    X = (
        rng.standard_normal((n, int(rng.integers(3, 50))))
        + rng.standard_normal(n)[:, None]
    )
    return np.corrcoef(X)


def noisy_exponential(rng: Generator, n: int) -> np.ndarray:
    return np.exp(-distances(items(rng, n))) + rng.choice([0.0, 0.1]) * symmetric(
        rng, n
    )


def truncated(rng: Generator, n: int) -> np.ndarray:
    """The kernel TL1."""
    X = items(rng, n)
    L = np.abs(X[:, None] - X).sum(axis=2)
    return np.maximum(1.0 - L / (rng.uniform(0.3, 3) * np.median(L) + 1e-3), 0.0)


SIMILARITIES = (
    symmetric, low_rank, negative_distances, sigmoid, neighbours, tied, matches,
    correlations, noisy_exponential, truncated,
)  # fmt: skip


def similarity(rng: Generator, n: int) -> np.ndarray:
    K = SIMILARITIES[rng.integers(len(SIMILARITIES))](rng, n)
    return 0.5 * (K + K.T)


def definite(rng: Generator, n: int) -> np.ndarray:
    X = items(rng, n)
    if rng.integers(2):
        return np.exp(-distances(X) / rng.uniform(0.1, 3))
    return X @ X.T


# -------------------------------------------------------------------------- estimators


def six_orders(rng: Generator) -> float:
    return float(10.0 ** rng.uniform(-3, 3))


def fixed(method: str, cls: type = SpectrumSVC) -> Callable:
    return lambda rng, **known: cls(method, C=six_orders(rng), **known)


def one_class(rng: Generator) -> SpectrumOneClassSVM:
    method = str(rng.choice(["clip", "flip", "shift", "square", "diffusion"]))
    return SpectrumOneClassSVM(method, nu=float(rng.uniform(0.05, 0.95)))


def ridge(method: str) -> Callable:
    return lambda rng: KreinRidge(six_orders(rng), method=method)


def thin_plate(cls: type, **options) -> Callable:
    """On vectors; exponent 1 has the constant as its polynomial, 2 and 3 are linear."""

    def make(rng, **known):
        return cls(
            alpha=six_orders(rng),
            exponent=int(rng.integers(1, 4)),
            polynomial=str(rng.choice(["free", "zero"])),
            **options,
            **known,
        )

    return make


def given(cls: type, **options) -> Callable:
    """On a matrix of negative distances, which is c.p.d."""
    return lambda rng, **known: cls(
        alpha=six_orders(rng), kernel="precomputed", **options, **known
    )


METHODS = ("clip", "flip", "shift", "square", "diffusion", "none")
# What makes the model, on which data: similarity, targets, alone, vectors, ...
ESTIMATORS: dict[str, tuple[Callable, str]] = {
    **{f"SpectrumSVC {m}": (fixed(m), "classes") for m in METHODS},
    **{f"SpectrumSVR {m}": (fixed(m, SpectrumSVR), "targets") for m in METHODS},
    "SpectrumOneClassSVM": (one_class, "alone"),
    "KreinSVC": (lambda rng, **known: KreinSVC(six_orders(rng), **known), "classes"),
    "ProxySVC": (
        lambda rng, **known: ProxySVC(six_orders(rng), rho=six_orders(rng), **known),
        "classes",
    ),
    "DCSVC": (lambda rng, **known: DCSVC(six_orders(rng), **known), "classes"),
    **{
        f"KreinRidge {m}": (ridge(m), "targets")
        for m in ("stabilised", "clip", "flip", "square")
    },
    "KreinLogisticRegression": (
        lambda rng, **known: KreinLogisticRegression(six_orders(rng), **known),
        "classes",
    ),
    "KreinLogisticRegression flip": (
        lambda rng, **known: KreinLogisticRegression(
            six_orders(rng), indefinite="flip", **known
        ),
        "classes",
    ),
    "MKLSVC": (lambda rng, **known: MKLSVC(six_orders(rng), **known), "kernels"),
    "CPDSVC": (thin_plate(CPDSVC), "vectors"),
    "CPDSVC logistic": (thin_plate(CPDSVC, loss="logistic"), "vectors"),
    "CPDSVC squared": (thin_plate(CPDSVC, loss="squared"), "vectors"),
    "CPDRegressor": (thin_plate(CPDRegressor), "vectors of targets"),
    "CPDSVC of distances": (given(CPDSVC), "distances"),
    "CPDSVC logistic of distances": (given(CPDSVC, loss="logistic"), "distances"),
    "CPDRegressor of distances": (given(CPDRegressor), "distances of targets"),
}


# ------------------------------------------------------------------------------ trials


def classes(rng: Generator, z: np.ndarray) -> np.ndarray:
    k = int(rng.choice([2, 2, 3, 4]))
    shares = np.sort(rng.uniform(0.1, 0.9, k - 1)) if rng.integers(2) else None
    cuts = np.arange(1, k) / k if shares is None else shares
    y = np.searchsorted(np.quantile(z, cuts), z)
    y[rng.permutation(z.size)[:k]] = np.arange(k)
    return y


def direction(rng: Generator, F: np.ndarray) -> np.ndarray:
    """What labels and targets are made of: a place in the similarity, and noise."""
    z = F @ rng.standard_normal(F.shape[1])
    return z / (z.std() or 1.0) + rng.choice([0.0, 0.3, 3.0]) * rng.standard_normal(
        z.size
    )


def data(rng: Generator, n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """What is fitted on, and the directions of labels."""
    if kind.startswith("vectors"):
        X = items(rng, n)
        return X, direction(rng, np.hstack([X, X**2]))
    if kind.startswith("distances"):
        D = distances(items(rng, n)) ** rng.choice([0.5, 1.0])
        return -D, direction(rng, D)
    if kind == "kernels":
        stack = np.stack([definite(rng, n) for _ in range(rng.integers(2, 5))], axis=2)
        return stack, direction(rng, stack[..., 0])
    K = similarity(rng, n)
    return K, direction(rng, K)


def trial(name: str, seed: int, scale: float):
    """The unfitted model, the data, the answers, and the weights."""
    place = list(ESTIMATORS).index(name)
    rng = np.random.default_rng([seed, place, 43])
    make, kind = ESTIMATORS[name]
    n = int(rng.integers(LEAST, MOST + 1))
    X, z = data(rng, n, kind)
    weight = 10.0 ** rng.uniform(-3, 3, n) if rng.integers(2) else None
    known = {}
    if kind == "alone":
        y = None
    elif "targets" in kind:
        y = z
    else:
        y = classes(rng, z)
        if rng.integers(4) == 0:
            known["class_weight"] = {
                k: float(10.0 ** rng.uniform(-1, 1)) for k in set(y)
            }
    return make(rng, **known), scale * X, y, weight


class TooLongError(Exception):
    pass


def too_long(*_):
    raise TooLongError(f"more than {SECONDS} s")


def fit(model, X, y, weight):
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, sample_weight=weight)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def failure(name: str, seed: int, scale: float, judge: bool) -> tuple[str, str]:
    """Its kind and a sentence; empty if there is none."""
    model, X, y, weight = trial(name, seed, scale)
    try:
        fit(model, X, y, weight)
    except TooLongError as error:
        return "time", str(error)
    except ValueError as error:
        return "refused", " ".join(str(error).split())
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    missed = [result for result in results if not result.converged]
    if judge:
        report = check_certificate(model, X, y, weight)
        if report.holds is not True:
            return "claim", " ".join(str(report).split())
    if not missed:
        return "", ""
    text = f"{missed[0].sentence}, of rounding {missed[0].certificate.rounding:.2g}"
    if all(result.is_solved_to_rounding(model.tol) for result in missed):
        return "rounding", text
    return "open", text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first fit")
    parser.add_argument("--scales", type=float, nargs="*", default=[1.0])
    parser.add_argument("--only", nargs="*", help="estimators, by their whole names")
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="begin no fit later"
    )
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, too_long)
    end = time.monotonic() + 60 * options.minutes
    names = options.only or list(ESTIMATORS)
    counts = {(name, scale): Counter() for name in names for scale in options.scales}
    for seed in range(options.first, options.first + options.fits):
        for (name, scale), count in counts.items():
            if time.monotonic() > end:
                break
            start = time.process_time()
            kind, text = failure(name, seed, scale, options.judge)
            count["seconds"] += time.process_time() - start
            count["fits"] += 1
            count[kind] += 1
            if kind:
                repeat = f'--only "{name}" --first {seed} --scales {scale:g}'
                print(f"{repeat}: {kind}: {text}", flush=True)
    print(table(counts))


COLUMNS = ("fits", "open", "rounding", "time", "refused", "claim")


def table(counts: dict[tuple[str, float], Counter]) -> str:
    """Markdown; the largest share that did not converge first."""

    def missed(count):
        return count["open"] + count["rounding"] + count["time"]

    def share(item):
        return missed(item[1]) / max(1, item[1]["fits"])

    lines = [
        f"| estimator | scale | {' | '.join(COLUMNS)} | of 1000 | seconds a fit |",
        "|" + "---|" * (len(COLUMNS) + 4),
    ]
    for (name, scale), count in sorted(counts.items(), key=share, reverse=True):
        cells = " | ".join(str(count[column]) for column in COLUMNS)
        each = count["seconds"] / max(1, count["fits"])
        lines.append(
            f"| {name} | {scale:g} | {cells} | {1000 * share((name, count)):.1f} | "
            f"{each:.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
