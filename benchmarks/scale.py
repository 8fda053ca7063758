"""Figures of training with landmarks: accuracy, growth with n, speed of a cluster.

    python benchmarks/scale.py million [N ...]    1e5, 3e5, 1e6 vectors, 200 landmarks
    python benchmarks/scale.py models [N ...]     every model on 100 landmarks, by n
    python benchmarks/scale.py memory             peak memory for 2, 10 and 40 classes
    python benchmarks/scale.py rivals [N]         Nystroem and SVC by scikit-learn
    python benchmarks/scale.py ijcnn1 [--data DATA]  35 000 rows, TL1, 500 landmarks
    python benchmarks/scale.py page PAGE [TABLE ...] [--data DATA]
                                                  all of these, as tables of a page
    python benchmarks/scale.py dask               1 and 2 workers, and a plain loop
    python benchmarks/scale.py tiny               all of it in seconds, for a smoke test

DATA is a folder with ijcnn1.npz (X, y, is_test, is_validation), by default KREIN_DATA.
PAGE has marks ``<!-- scale: MILLION --> <!-- end -->``, between which the tables are
put, each as soon as it is there: by default those that are missing. Every size
runs in a process of its own, so that its peak memory can be told. Times are wall and
processor seconds; on a busy machine only the latter compare.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np


def clocked(function):
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    return value, time.perf_counter() - wall, time.process_time() - cpu


# ------------------------------------------------------------------------------ million


def vectors(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 10))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2 + 0.2 * rng.standard_normal(n)
    return X, score > np.median(score)


def one_size(n, m, memory):
    from krein import KreinNystroem, SpectrumSVC
    from krein.scale import fit, predict

    X, y = vectors(n)
    X_new, y_new = vectors(n, seed=1)
    nystroem = KreinNystroem(m, random_state=0)
    model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    with tempfile.TemporaryDirectory() as folder:
        model, wall, cpu = clocked(
            lambda: fit(model, X, y, store=f"{folder}/tiles", memory=memory)
        )
    labels, predict_wall, predict_cpu = clocked(lambda: predict(model, X_new))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "n": n,
        "m": m,
        "wall": wall + predict_wall,
        "cpu": cpu + predict_cpu,
        "predict": predict_wall,
        "peak_GB": peak / 1e6,
        "steps": int(model.n_iter_[0]),
        "relative_gap": model.result_.certificate.relative,
        "approximation_error": model.approximation_error_,
        "accuracy": float(np.mean(labels == y_new)),
    }


def million(sizes=(100_000, 300_000, 1_000_000), m=200, memory="1GB"):
    rows = []
    for n in sizes:
        command = [sys.executable, __file__, "size", str(n), str(m), memory]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
        print(json.dumps(rows[-1]), flush=True)
        print(f"{m} landmarks, n = {n}: {rows[-1]['wall']:.2f} s", flush=True)
    for clock in ("wall", "cpu"):
        slope = np.polyfit(
            np.log([row["n"] for row in rows]), np.log([row[clock] for row in rows]), 1
        )[0]
        per_step = np.polyfit(
            np.log([row["n"] for row in rows]),
            np.log([row[clock] / row["steps"] for row in rows]),
            1,
        )[0]
        print(f"time ({clock}) ~ n^{slope:.3f}; per Newton step n^{per_step:.3f}")
    print(f"peak resident memory at n = {rows[-1]['n']}: {rows[-1]['peak_GB']:.2f} GB")
    return [
        {
            "items": f"{row['n']:,}".replace(",", " "),
            "processor seconds": f"{row['cpu']:.1f}",
            "peak memory": f"{row['peak_GB']:.2f} GB",
        }
        for row in rows
    ]


# ------------------------------------------------------------------------------- models


def tasks(n, seed=0):
    """Vectors, and what is to be learnt of them: two classes, ten, numbers."""
    X, _ = vectors(n, seed)
    rng = np.random.default_rng(seed + 100)
    values = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2
    values = values + 0.2 * rng.standard_normal(n)
    return X, {
        "two": values > 0.2,
        "ten": sectors(X, 10, rng),
        "values": values,
        "none": None,
    }


def sectors(X, n_classes, rng):
    """Classes side by side around the middle of two features, with some noise."""
    angle = np.arctan2(X[:, 1] - 0.5, X[:, 0] - 0.5)
    angle = angle + 0.1 * rng.standard_normal(len(X))
    return np.floor(angle / (2 * np.pi) * n_classes).astype(int) % n_classes


def models_on_landmarks(m):
    """Name -> (model, task)."""
    from krein import (
        KreinLogisticRegression,
        KreinNystroem,
        KreinRidge,
        SpectrumOneClassSVM,
        SpectrumSVC,
        SpectrumSVR,
    )

    nystroem = KreinNystroem(m, random_state=0)
    common = {"kernel": "tl1", "approximation": nystroem}
    return {
        "SVM, two classes": (SpectrumSVC("flip", **common), "two"),
        "SVM, ten classes": (SpectrumSVC("flip", **common), "ten"),
        "logistic, two classes": (
            KreinLogisticRegression(1e-3, indefinite="flip", **common),
            "two",
        ),
        "logistic, ten classes": (
            KreinLogisticRegression(1e-3, indefinite="flip", **common),
            "ten",
        ),
        "ridge": (KreinRidge("auto", method="flip", **common), "values"),
        "SVR": (SpectrumSVR("flip", **common), "values"),
        "one class": (SpectrumOneClassSVM("flip", nu=0.1, **common), "none"),
    }


def one_model(n, m, name, memory="1GB"):
    """Seconds, peak memory and quality of one model, in this process."""
    import warnings

    from krein.scale import fit

    warnings.simplefilter("ignore", UserWarning)
    X, y = tasks(n)
    X_new, y_new = tasks(10_000, seed=1)
    model, task = models_on_landmarks(m)[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        if task == "none":
            _, wall, cpu = clocked(lambda: model.fit(X))
        else:
            _, wall, cpu = clocked(
                lambda: fit(model, X, y[task], store=f"{folder}/s", memory=memory)
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    return {
        "model": name,
        "n": n,
        "wall": wall,
        "cpu": cpu,
        "grown_MB": (peak - before) / 1e3,
        "worst_certificate": max(one.certificate.relative for one in results),
        "statuses": sorted({one.status for one in results}),
        "score": None if task == "none" else model.score(X_new, y_new[task]),
    }


THREADS = "OPENBLAS_NUM_THREADS"


def runs_of_model(name, sizes, m, threads):
    """What `one_model` finds for each size; None: as many threads as by default."""
    environment = {key: value for key, value in os.environ.items() if key != THREADS}
    environment.pop("OMP_NUM_THREADS", None)
    if threads is not None:
        environment[THREADS] = str(threads)
    for n in sizes:
        command = [sys.executable, __file__, "model", str(n), str(m), name]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        )
        print(done.stdout.strip(), flush=True)
        yield json.loads(done.stdout)


def exponent(sizes, times):
    """Slope of the times over the sizes, both as logarithms."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def models(sizes=(10_000, 30_000, 100_000), m=100, names=None):
    """Seconds of every model, each size in a process of its own, and exponents."""
    table = []
    for name in names or models_on_landmarks(m):
        one = list(runs_of_model(name, sizes, m, threads=1))
        default = list(runs_of_model(name, sizes, m, threads=None))
        slopes = [
            exponent(sizes, [row["cpu"] for row in rows]) for rows in (one, default)
        ]
        worst = max(row["worst_certificate"] for row in (*one, *default))
        score = one[-1]["score"]
        table.append(
            {
                "model": name,
                "processor seconds, one thread": f"{one[-1]['cpu']:.1f}",
                "default threads": f"{default[-1]['cpu']:.1f}",
                "exponent": f"{slopes[0]:.2f}",
                "exponent, default": f"{slopes[1]:.2f}",
                "worst certificate": f"{worst:.0e}",
                "score": "" if score is None else f"{score:.3f}",
            }
        )
        print(table[-1], flush=True)
    return table


def memory_of_classes(n=60_000, m=50):
    """Peak memory of a fit against what was allowed, by the number of classes."""
    table = []
    for n_classes, allowed in ((2, 25), (10, 30), (40, 45)):
        numbers = [str(k) for k in (n, m, n_classes, allowed)]
        command = [sys.executable, __file__, "classes", *numbers]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        table.append(json.loads(done.stdout))
        print(table[-1], flush=True)
    return table


def one_number_of_classes(n, m, n_classes, allowed):
    from krein import KreinNystroem, SpectrumSVC
    from krein.scale import fit

    X, _ = vectors(n)
    labels = sectors(X, n_classes, np.random.default_rng(0))
    nystroem = KreinNystroem(m, random_state=0)
    model = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    fit(model, X[:2000], labels[:2000] >= n_classes // 2)  # imports, thread pools
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fit(model, X, labels, memory=allowed * 10**6)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "classes": n_classes,
        "`memory=`": f"{allowed} MB",
        "peak": f"{(peak - before) / 1e3:.0f} MB",
        "pickle of the model": f"{len(pickle.dumps(model)) / 1e3:.0f} kB",
    }


# ------------------------------------------------------------------------------- rivals


def rivals(n=100_000, m=200, samples=(2000, 5000, 20_000)):
    """Accuracy and processor seconds beside scikit-learn, one thread, default settings.

    C of each is the best of three on 5000 further items.
    """
    from sklearn.base import clone
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC, LinearSVC

    from krein import KreinNystroem, SpectrumSVC

    X, y = tasks(n)
    held, y_held = tasks(5000, seed=2)
    new, y_new = tasks(50_000, seed=1)
    features = Nystroem(gamma=1.0, n_components=m, random_state=0)
    nystroem = KreinNystroem(m, random_state=0)
    spectrum = SpectrumSVC("flip", kernel="tl1", approximation=nystroem)
    linear = make_pipeline(features, LinearSVC(dual=False, tol=1e-3))
    sgd = make_pipeline(features, SGDClassifier(random_state=0))
    exact = SpectrumSVC("flip", kernel="tl1")
    found = {
        f"TL1, flip, {m} landmarks": (spectrum, "C", (0.1, 1.0, 10.0), n),
        "TL1, flip, exact on 2000 items": (exact, "C", (0.1, 1.0, 10.0), 2000),
        f"RBF Nystroem {m}, LinearSVC": (linear, "linearsvc__C", (1.0, 10.0, 100.0), n),
        f"RBF Nystroem {m}, SGD": (sgd, "sgdclassifier__alpha", (1e-6, 1e-5, 1e-4), n),
    }
    for size in samples:
        if size <= n:
            name = f"RBF SVC on {size} items"
            found[name] = (SVC(gamma=1.0), "C", (1.0, 10.0, 100.0), size)
    table = {name: {"": name} for name in found}
    for task in ("two", "ten"):
        for name, (model, parameter, grid, size) in found.items():
            few = slice(0, min(size, 5000))
            best = max(
                grid,
                key=lambda value, model=model, parameter=parameter, few=few: (
                    clone(model)
                    .set_params(**{parameter: value})
                    .fit(X[few], y[task][few])
                    .score(held, y_held[task])
                ),
            )
            fitted = clone(model).set_params(**{parameter: best})
            _, _, cpu = clocked(lambda f=fitted, k=size, t=task: f.fit(X[:k], y[t][:k]))
            score, _, cpu_new = clocked(lambda f=fitted, t=task: f.score(new, y_new[t]))
            print(
                f"{task:4s} {name:30s} accuracy {100 * score:.2f} %  fit {cpu:7.1f} s  "
                f"50 000 new items {cpu_new:6.1f} s  {parameter}={best:g}",
                flush=True,
            )
            table[name] |= {
                f"{task} classes": f"{100 * score:.1f} %",
                f"fit, {task} classes": f"{cpu:.1f}",
                f"50 000 new items, {task} classes": f"{cpu_new:.1f}",
            }
    return list(table.values())


# ------------------------------------------------------------------------------- ijcnn1


def ijcnn1(folder, m=500, n_train=35_000, n_choice=5000, subset=5000):
    """Accuracy on the published test part; parameters chosen on the validation part."""
    from sklearn.preprocessing import MinMaxScaler

    with np.load(Path(folder) / "ijcnn1.npz") as data:
        X, y = data["X"], data["y"]
        test, validation = data["is_test"], data["is_validation"]
    train = np.flatnonzero(~test & ~validation)[:n_train]
    scaler = MinMaxScaler().fit(X[train])
    A, b = scaler.transform(X[train]), y[train]
    held, b_held = scaler.transform(X[validation]), y[validation]
    A_test, b_test = scaler.transform(X[test]), y[test]
    some = np.random.default_rng(0).permutation(len(A))
    share = max(np.mean(b_test == label) for label in np.unique(b_test))
    print(f"train {len(A)}, validation {len(held)}, test {len(A_test)}", flush=True)
    print(f"largest class of the test part {share:.4f}", flush=True)
    table = []
    for name, (model, grid, rows) in contestants(A, m, subset).items():
        few = some[: min(rows, n_choice)]
        best = chosen(model, grid, (A[few], b[few]), (held, b_held))
        part = some[:rows]
        _, wall, cpu = clocked(lambda f=best, p=part: f.fit(A[p], b[p]))
        score, predict_wall, _ = clocked(lambda f=best: f.score(A_test, b_test))
        error = getattr(best, "approximation_error_", float("nan"))
        settings = {key: short(best.get_params()[key]) for key in grid}
        print(
            f"{name:28s} accuracy {score:.4f}  fit {wall:6.1f} s ({cpu:6.1f} cpu)  "
            f"predict {predict_wall:5.1f} s  approximation error {error:.3f}  "
            f"{settings}",
            flush=True,
        )
        table.append(
            {
                "": name,
                "accuracy": f"{100 * score:.1f} %",
                "processor seconds of the fit": f"{cpu:.1f}",
            }
        )
    return table


def contestants(A, m, subset):
    """Name -> (model, grid of parameters, rows to train on)."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import SVC, LinearSVC

    from krein import KreinNystroem, SpectrumSVC, tl1_kernel

    landmarks = A[np.random.default_rng(0).choice(len(A), m, replace=False)]
    taus = [share * A.shape[1] for share in (0.1, 0.3, 0.7)]
    nystroem = KreinNystroem(m, random_state=0)
    grid = {"C": [1.0, 10.0], "kernel_params": [{"tau": tau} for tau in taus]}
    models = {
        f"TL1 {method}, {m} landmarks": (
            SpectrumSVC(method, kernel="tl1", approximation=nystroem),
            grid,
            len(A),
        )
        for method in ("flip", "clip")
    }
    raw = make_pipeline(
        FunctionTransformer(tl1_kernel), LinearSVC(dual=False, tol=1e-3)
    )
    raw_grid = {
        "linearsvc__C": [1e-2, 1.0],
        "functiontransformer__kw_args": [{"Y": landmarks, "tau": tau} for tau in taus],
    }
    rbf_grid = {"C": [10.0, 100.0, 1000.0], "gamma": [0.1, 0.5, 2.0]}
    models[f"raw columns, {m} landmarks"] = raw, raw_grid, len(A)
    models[f"RBF SVC on {subset} rows"] = SVC(), rbf_grid, min(subset, len(A))
    return models


def short(value):
    """Numbers of a setting, without the landmarks."""
    return value.get("tau") if isinstance(value, dict) else value


def chosen(model, grid, part, held):
    """Best parameters by accuracy on held-out items."""
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    def accuracy(parameters):
        return clone(model).set_params(**parameters).fit(*part).score(*held)

    return clone(model).set_params(**max(ParameterGrid(grid), key=accuracy))


# --------------------------------------------------------------------------------- dask


def dtw(X, Y):
    """Dynamic time warping by the book, slow on purpose: an expensive similarity."""
    D = np.empty((len(X), len(Y)))
    for i, a in enumerate(X):
        for j, b in enumerate(Y):
            cost = np.abs(a[:, None] - b[None])
            total = np.full((len(a) + 1, len(b) + 1), np.inf)
            total[0, 0] = 0.0
            for s in range(1, len(a) + 1):
                row, above = total[s], total[s - 1]
                for t in range(1, len(b) + 1):
                    row[t] = cost[s - 1, t - 1] + min(
                        above[t], above[t - 1], row[t - 1]
                    )
            D[i, j] = total[-1, -1]
    return np.exp(-D)


@contextmanager
def workers(n_workers):
    """A cluster as dask starts it."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def on_workers(client, folder, source, landmarks):
    """Seconds of the wall, of the workers and of the driver; imports are done."""
    from krein.scale.tiles import stored_columns
    from krein.similarity.matrix import evaluate

    client.run(evaluate, source.kernel, source.items[:2], source.items[:2])
    columns_of = stored_columns(folder, 10**9, client)
    before = sum(client.run(time.process_time).values())
    with client.as_current():
        _, wall, cpu = clocked(lambda: columns_of(source, landmarks))
    return wall, sum(client.run(time.process_time).values()) - before, cpu


def dask(n=2048, m=16, length=20):
    from krein.scale.tiles import stored_columns
    from krein.similarity.matrix import Similarities, evaluate

    X = np.random.default_rng(0).standard_normal((n, length)).cumsum(axis=1)
    landmarks = np.arange(0, n, n // m)[:m]
    source = Similarities(X, sys.modules["scale"].dtw)
    plain, times = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for store in ("local", "1", "2"):
            (Path(folder) / store).mkdir()

        def plain_loop():
            _, *spent = clocked(lambda: evaluate(dtw, X, X[landmarks]))
            plain.append(show("plain loop", *spent))

        plain_loop()
        _, *spent = clocked(
            lambda: stored_columns(f"{folder}/local", 10**9)(source, landmarks)
        )
        show("store, this process", *spent)
        for k in (1, 2):
            with workers(k) as client:
                spent = on_workers(client, f"{folder}/{k}", source, landmarks)
            times[k] = show(f"{k} worker(s)", *spent)
            plain_loop()  # in turns: the speed of a machine changes
    wall, cpu = np.mean(plain, axis=0)
    print(f"2 workers against 1: {times[1][0] / times[2][0]:.2f} times")
    print(
        f"1 worker / plain loop: {times[1][1] / cpu:.2f} in processor time, "
        f"{times[1][0] / wall:.2f} in wall time"
    )


def show(label, wall, cpu, driver=None):
    """Print seconds; return those of the wall and of all processes."""
    where = "" if driver is None else f" of workers {driver:6.2f} s of the driver"
    print(f"{label:28s} {wall:6.2f} s wall {cpu:6.2f} s cpu{where}", flush=True)
    return wall, cpu + (driver or 0.0)


# -------------------------------------------------------------------------------- page


def markdown(rows):
    """Lines of a table."""
    yield f"| {' | '.join(rows[0])} |"
    yield f"|{'---|' * len(rows[0])}"
    for row in rows:
        yield f"| {' | '.join(map(str, row.values()))} |"


def write_page(path, name, rows):
    """Put a table between its marks."""
    mark = f"<!-- scale: {name} -->"
    text = path.read_text("utf-8")
    found = re.compile(f"{re.escape(mark)}.*?<!-- end -->", re.DOTALL)
    if not found.search(text):
        raise SystemExit(f"{path} has no place for {name}: write {mark} <!-- end -->")
    body = "\n".join(markdown(rows))
    replaced = found.sub(lambda _: f"{mark}\n\n{body}\n\n<!-- end -->", text)
    path.write_text(replaced, "utf-8")


def is_missing(path, name):
    """Nothing stands between the marks of a table."""
    text = path.read_text("utf-8")
    return bool(re.search(f"<!-- scale: {name} -->\\s*<!-- end -->", text))


def page(path, names=(), data=None):
    """Measure the tables of a page, and write each when it is there."""
    tables = {
        "MEMORY": memory_of_classes,
        "RIVALS": lambda: rivals(30_000),
        "MODELS": models,
        "MILLION": million,
        "IJCNN1": lambda: ijcnn1(data),
    }
    for name in names or [name for name in tables if is_missing(path, name)]:
        write_page(path, name, tables[name]())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    inner = ["size", "model", "classes"]  # one process each
    known = ["million", "models", "memory", "rivals", "ijcnn1", "page", "dask", "tiny"]
    parser.add_argument("what", choices=[*known, *inner])
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--data", default=os.environ.get("KREIN_DATA"))
    given = parser.parse_args()
    if given.what == "model":
        n, m, name = given.arguments
        print(json.dumps(one_model(int(n), int(m), name)))
    elif given.what == "classes":
        print(json.dumps(one_number_of_classes(*map(int, given.arguments))))
    elif given.what == "models":
        models(*([tuple(map(int, given.arguments))] if given.arguments else []))
    elif given.what == "memory":
        memory_of_classes()
    elif given.what == "rivals":
        rivals(*map(int, given.arguments))
    elif given.what == "size":
        n, m, memory = given.arguments
        print(json.dumps(one_size(int(n), int(m), memory)))
    elif given.what == "million":
        million(*([tuple(map(int, given.arguments))] if given.arguments else []))
    elif given.what == "ijcnn1":
        ijcnn1(given.data)
    elif given.what == "page":
        path, *names = given.arguments
        page(Path(path), names, given.data)
    elif given.what == "dask":
        dask()
    else:
        million((2500, 5000), m=20, memory="200MB")
        models((2100, 3000), m=20, names=["SVM, ten classes", "ridge"])
        rivals(2100, m=20, samples=(500,))
        dask(n=64, m=4, length=10)


if __name__ == "__main__":
    # Workers must find the kernel by the name of this module.
    sys.path.insert(0, str(Path(__file__).parent))
    import scale

    scale.main()
