"""What `nearest_psd` costs and how near it comes.

    KREIN_DATA=... python benchmarks/repair.py CACHE [--large 2000] [--fix SPLITS]

Prints, for noisy correlations, kernels of a simulated quantum computer (finitely many
shots) and every similarity of `regret_matrices.py` with a unit diagonal: the number of
eigendecompositions to a relative gap of 1e-12, the distance, and how much farther
statsmodels' `corr_nearest` and `corr_clipped` end (made positive semidefinite with a
unit diagonal to rounding, which the former is not); then the seconds at n = 2000 in
units of one `eigh`. `--fix` compares the repair as a fix of a classifier's kernel
with clip and flip on held-out items.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg
from regret_matrices import cases
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.svm import SVC

from krein import SpectrumTransformer, check_certificate, nearest_psd

TOL = 1e-12
CS = 10.0 ** np.arange(-1, 4)


def noisy_correlations(n, noise, seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, 12))
    C = F @ F.T + np.diag(rng.uniform(0.1, 1.0, n))
    C /= np.sqrt(np.outer(C.diagonal(), C.diagonal()))
    E = noise * rng.standard_normal((n, n))
    C += np.triu(E, 1) + np.triu(E, 1).T
    np.fill_diagonal(C, 1.0)
    return C


def quantum_kernel(n, qubits, shots, seed):
    """Fidelities of random product states, each counted in finitely many shots."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0.0, np.pi, (n, qubits))
    fidelity = np.cos(0.5 * (angles[:, None] - angles[None])) ** 2
    K = rng.binomial(shots, np.clip(fidelity.prod(axis=2), 0.0, 1.0)) / shots
    K = np.triu(K, 1) + np.triu(K, 1).T
    np.fill_diagonal(K, 1.0)
    return K


def matrices(cache):
    for seed, (n, noise) in enumerate(
        (n, noise) for n in (50, 100, 200, 300) for noise in (0.02, 0.1, 0.3)
    ):
        yield (
            f"correlations, n = {n}, noise {noise}",
            noisy_correlations(n, noise, seed),
        )
    for seed, (n, shots) in enumerate(
        (n, s) for n in (60, 150, 300) for s in (50, 1000)
    ):
        yield (
            f"quantum kernel, n = {n}, {shots} shots",
            quantum_kernel(n, 5, shots, seed),
        )
    for case in cases(cache):
        K = unit_diagonal(case)
        if K is not None:
            yield case.name, K


def unit_diagonal(case):
    items, y = case.items()
    K = case.matrix(items, np.arange(len(y)))
    K = 0.5 * (K + K.T)
    return K if np.allclose(K.diagonal(), 1.0, atol=1e-12) else None


def yardsticks(K):
    """Distances of statsmodels' two repairs (with a unit diagonal)."""
    from statsmodels.stats.correlation_tools import corr_clipped, corr_nearest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Its limit of iterations is in units of n; the default of 100 n takes hours.
        found = corr_nearest(K, threshold=1e-15, n_fact=1), corr_clipped(K, 1e-15)
    return [float(np.linalg.norm(feasible(X) - K)) for X in found]


def feasible(X):
    """Clip and rescale: what statsmodels returns is not quite feasible."""
    w, V = np.linalg.eigh(0.5 * (X + X.T))
    X = (V * np.maximum(w, 0.0)) @ V.T
    return X / np.sqrt(np.outer(X.diagonal(), X.diagonal()))


def repairs(cache):
    print(
        "| matrix | n | eigh | relative gap | distance | corr_nearest | corr_clipped |"
    )
    print("|---|---|---|---|---|---|---|")
    most, worst, nearer, count = 0, 0.0, 0.0, 0
    for name, K in matrices(cache):
        found = nearest_psd(K, diagonal="unit", tol=TOL)
        assert check_certificate(found, K).holds, name
        theirs = yardsticks(K) if found.distance > 0 else [0.0, 0.0]
        more = [
            f"{d / found.distance - 1:+.1e}" if found.distance else "" for d in theirs
        ]
        print(
            f"| {name} | {len(K)} | {found.n_iter} | {found.relative_gap:.1e} | "
            f"{found.distance:.4g} | {more[0]} | {more[1]} |"
        )
        most, count = max(most, found.n_iter), count + 1
        worst = max(worst, found.relative_gap)
        nearer = max(
            nearer, 1.0 - theirs[0] / found.distance if found.distance else 0.0
        )
    print(
        f"\n{count} matrices: at most {most} eigendecompositions, relative gap at most "
        f"{worst:.1e}; corr_nearest is nowhere nearer by more than {nearer:.1e}, "
        "relative"
    )


def large(n):
    K = noisy_correlations(n, 0.1, 0)
    start = time.process_time()
    scipy.linalg.eigh(K, driver="evd")
    one = time.process_time() - start
    start = time.process_time()
    found = nearest_psd(K, diagonal="unit", tol=TOL)
    seconds = time.process_time() - start
    print(
        f"n = {n}: one eigh {one:.1f} s, nearest_psd {seconds:.1f} s = "
        f"{seconds / one:.1f} eigh ({found.n_iter} of them), relative gap "
        f"{found.relative_gap:.1e}"
    )


# ------------------------------------------------------------------------------- fixes


def repaired_rows(K, new):
    """Treated kernel of training items, and rows mapped by the positive eigenspace."""
    found = nearest_psd(K, diagonal="unit")
    w, V = np.linalg.eigh(K + found.multipliers.toarray())
    P = V[:, w > 0.0]
    return found.matrix, (new @ P) @ P.T


def treated_rows(method):
    def rows(K, new):
        transformer = SpectrumTransformer(method)
        return transformer.fit_transform(K), transformer.transform(new)

    return rows


FIXES = {
    "clip": treated_rows("clip"),
    "flip": treated_rows("flip"),
    "unit-diagonal repair": repaired_rows,
}


def error(rows, K, y, train, test):
    """Error on test items, C chosen by inner folds on the fixed training kernel."""
    trained, new = rows(K[np.ix_(train, train)], K[np.ix_(test, train)])
    search = GridSearchCV(SVC(kernel="precomputed", tol=1e-4), {"C": CS}, cv=4)
    return 1.0 - search.fit(trained, y[train]).score(new, y[test])


def compare_fixes(cache, splits):
    print(f"| similarity | {' | '.join(FIXES)} |")
    print("|---|---|---|---|")
    means = []
    for case in cases(cache):
        K = unit_diagonal(case)
        if K is None or np.linalg.eigvalsh(K)[0] > -1e-10:
            continue
        y = np.unique(case.items()[1], return_inverse=True)[1]
        cut = StratifiedShuffleSplit(splits, train_size=0.6, random_state=0)
        found = [
            [error(rows, K, y, train, test) for rows in FIXES.values()]
            for train, test in cut.split(y, y)
        ]
        means.append(100 * np.mean(found, axis=0))
        print(f"| {case.name} | {' | '.join(f'{e:.2f}' for e in means[-1])} |")
    means = np.round(means, 9)
    mean = " | ".join(f"{e:.2f}" for e in means.mean(axis=0))
    print(f"| **mean of {len(means)}** | {mean} |")
    for k, name in enumerate(FIXES):
        if k < 2:
            better = int((means[:, 2] < means[:, k]).sum())
            worse = int((means[:, 2] > means[:, k]).sum())
            ties = len(means) - better - worse
            print(
                f"\nrepair against {name}: {better} better, {ties} ties, {worse} worse"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for computed distances")
    parser.add_argument("--large", type=int, default=2000)
    parser.add_argument("--fix", type=int, default=0, metavar="SPLITS")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.fix:
        compare_fixes(args.cache, args.fix)
        return
    repairs(args.cache)
    large(args.large)


if __name__ == "__main__":
    main()
