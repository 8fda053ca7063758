"""Figures of learning from tables of hits.

    python benchmarks/hits.py table HITS LABELS    error, CPU seconds, memory by method
    python benchmarks/hits.py simulated N [HITS [CLASSES]]
                                                   reading, training, predicting N items
    python benchmarks/hits.py tiny                 the same in seconds, for a smoke test

HITS is a table as a search program writes it, LABELS a .tsv file with the columns
domain, superfamily and family; superfamilies with 20 or more members are taken. Two
kinds of split: 80/20 at random within superfamilies, and whole families held out (the
hard one). C is chosen on a part of the training items, split in the same way; in the
line "chosen inside" so is the form of the model. Every method runs in a process of its
own, so that its peak memory can be told; "less best hit" is the mean difference to the
first line, split by split, with its standard error.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

CS = (0.3, 1.0, 3.0)
MEMBERS = 20


def clocked(function):
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def peak_megabytes():
    """Of this program: the largest size that the system counts may be the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        found = next(line for line in lines if line.startswith("VmHWM:"))
        return int(found.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -------------------------------------------------------------------------------- table


def read(hits_path, labels_path, members=MEMBERS):
    """Directed hits, superfamilies and families; classes that are large enough."""
    from krein import Named, read_hits

    hits = read_hits(hits_path)
    with open(labels_path, newline="") as handle:
        rows = {row["domain"]: row for row in csv.DictReader(handle, delimiter="\t")}
    y = np.array([rows[name]["superfamily"] for name in hits.names])
    family = np.array([rows[name]["family"] for name in hits.names])
    classes, counts = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, classes[counts >= members]))
    names = [hits.names[k] for k in kept]
    data = scipy.sparse.csr_array(hits.data[kept][:, kept])
    return Named(data, names), y[kept], family[kept]


def random_split(y, family, rng):
    """A fifth of every class, at random."""
    test = np.zeros(y.size, dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        test[members[: max(1, round(0.2 * members.size))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def family_split(y, family, rng):
    """Whole families, up to a third of a class; the largest may be too large."""
    test = np.zeros(y.size, dtype=bool)
    for label in np.unique(y):
        inside = y == label
        names, counts = np.unique(family[inside], return_counts=True)
        budget = inside.sum() / 3
        for k in rng.permutation(names.size):
            if counts[k] <= budget:
                test |= inside & (family == names[k])
                budget -= counts[k]
    return np.flatnonzero(~test), np.flatnonzero(test)


SPLITS = {"random": random_split, "families": family_split}


def best_hit(C):
    from krein import SimilarityNeighborsClassifier

    return SimilarityNeighborsClassifier()


def rows(C):
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C)


def both_views(C):
    """Rows as features, of length 1: what an item finds, and what finds it."""
    return recommended(C)


def recommended(C):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer
    from sklearn.svm import LinearSVC

    return make_pipeline(Normalizer(), LinearSVC(C=C))


def raw(C):
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    return OneVsRestClassifier(SVC(kernel="precomputed", C=C))


def spectrum(method):
    def make(C):
        from krein import SpectrumSVC

        return SpectrumSVC(method, C=C, tol=1e-3)

    return make


METHODS = {
    "best hit": (best_hit, (1.0,)),
    "sparse rows": (rows, CS),
    "raw": (raw, (1.0,)),
    "clip": (spectrum("clip"), CS),
    "flip": (spectrum("flip"), CS),
    "square": (spectrum("square"), CS),
    "recommended": (recommended, CS),
    "two views": (both_views, CS),
    # The form itself is chosen inside of the training part, like C.
    "chosen inside": None,
}
FORMS = ("best hit", "sparse rows", "recommended", "two views")


def one_method(hits_path, labels_path, split, name, repeat, members):
    """Error of one method on one split, all choices made inside the training part."""
    from krein import HitSimilarity
    from krein.arrays import compressed_rows

    hits, y, family = read(hits_path, labels_path, members)
    K = HitSimilarity().fit_transform(hits)
    forth = _one_direction(hits)
    rng = np.random.default_rng(repeat)
    train, test = SPLITS[split](y, family, rng)
    inner, valid = SPLITS[split](y[train], family[train], rng)

    def part(form, seen, fit):
        if form == "two views":
            sides = (forth[seen][:, fit], forth.T.tocsr()[seen][:, fit])
            return compressed_rows(scipy.sparse.hstack(sides))
        found = compressed_rows(K[seen][:, fit])
        return found.toarray() if form == "raw" else found

    def error(candidate, fit, seen):
        form, C = candidate
        model = METHODS[form][0](C).fit(part(form, fit, fit), y[fit])
        return float(np.mean(model.predict(part(form, seen, fit)) != y[seen]))

    forms = FORMS if METHODS[name] is None else (name,)
    candidates = [(form, C) for form in forms for C in METHODS[form][1]]
    started = time.process_time()
    best = candidates[0]
    if len(candidates) > 1:
        best = min(candidates, key=lambda c: error(c, train[inner], train[valid]))
    chosen = time.process_time() - started
    wrong, _, cpu = clocked(lambda: error(best, train, test))
    unseen = float(np.mean(np.diff(K[test][:, train].indptr) == 0))
    return {
        "split": split, "method": name, "repeat": repeat, "n": int(train.size),
        "classes": int(np.unique(y).size), "error": wrong, "no hit": unseen,
        "form": best[0], "C": best[1], "cpu": cpu, "choosing": chosen,
        "MB": peak_megabytes(),
    }  # fmt: skip


def _one_direction(hits):
    """Directed scores over the roots of the self scores, as in `HitSimilarity`."""
    from krein import HitSimilarity

    return HitSimilarity().fit(hits).transform(hits, self_scores=hits.data.diagonal())


def in_a_process(*arguments):
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()
        return {"failed": last[-1] if last else "no message"}
    return json.loads(done.stdout.splitlines()[-1])


def table(hits, labels, repeats, names, members):
    """Mean errors with their standard errors, and differences to best hit by split."""
    print(
        "split     method           error   +-     less best hit  +-   no hit"
        "  CPU s  choosing    MB"
    )
    for split in SPLITS:
        yardstick = None
        for name in names:
            found = [
                in_a_process("one", hits, labels, split, name, repeat, members)
                for repeat in range(repeats)
            ]
            bad = [row for row in found if "failed" in row]
            if bad:
                print(f"{split:9} {name:14} failed: {bad[0]['failed']}")
                continue
            errors = np.array([row["error"] for row in found])
            yardstick = errors if yardstick is None else yardstick
            mean = {
                key: np.mean([row[key] for row in found])
                for key in ("no hit", "cpu", "choosing", "MB")
            }
            less = errors - yardstick
            print(
                f"{split:9} {name:14} {errors.mean():7.4f} {_spread(errors):6.4f} "
                f"{less.mean():+13.4f} {_spread(less):6.4f} {mean['no hit']:6.3f} "
                f"{mean['cpu']:6.1f} {mean['choosing']:8.1f} {mean['MB']:6.0f}",
                flush=True,
            )


def _spread(values):
    """Standard error of a mean."""
    return values.std(ddof=1) / values.size**0.5 if values.size > 1 else np.nan


# ---------------------------------------------------------------------------- simulated


def simulated_hits(n, per_item, seed=0):
    """Families of 8 to 64 items, ten of them a superfamily; noise besides."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 65, size=n // 8 + 1)
    family = np.repeat(np.arange(sizes.size), sizes)[:n]
    superfamily = family // 10
    first = np.concatenate([[0], np.cumsum(sizes)])
    query = np.repeat(np.arange(n), per_item - 1)
    start, stop = first[family[query]], np.minimum(first[family[query] + 1], n)
    target = start + (rng.random(query.size) * (stop - start)).astype(np.int64)
    chance = rng.random(query.size)
    cousin = np.minimum(family[query] + rng.integers(-5, 6, query.size), family[-1])
    cousin = np.maximum(cousin, 0)
    other = first[cousin] + (rng.random(query.size) * sizes[cousin]).astype(np.int64)
    target = np.where(chance < 0.3, np.minimum(other, n - 1), target)
    noise = rng.integers(0, n, query.size)
    target = np.where(chance < 0.02, noise, target)
    score = np.where(chance < 0.3, 30.0, 90.0) * rng.uniform(0.6, 1.4, query.size)
    own = np.arange(n)
    return (
        np.concatenate([own, query]).astype(np.int32),
        np.concatenate([own, target]).astype(np.int32),
        np.concatenate([rng.uniform(150, 400, n), score]).round(1),
        superfamily,
    )


def write_simulated(path, n, per_item, classes):
    query, target, score, superfamily = simulated_hits(n, per_item)
    order = np.argsort(query, kind="stable")
    with open(path, "w") as handle:
        for some in np.array_split(order, max(1, order.size // 500_000)):
            columns = (part[some].tolist() for part in (query, target, score))
            handle.writelines(
                f"p{q}\tp{t}\t0.40\t70\t41\t0\t48\t119\t42\t112\t4.0E-14\t{s}\n"
                for q, t, s in zip(*columns, strict=True)
            )
    return superfamily % classes


def simulated(n, per_item=30, classes=50):
    """Read, train and predict; figures of every step."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hits.m8"
        y = write_simulated(path, n, per_item, classes)
        np.save(Path(folder) / "y.npy", y)
        found = in_a_process("read-and-train", path, Path(folder) / "y.npy")
    print(json.dumps(found, indent=1))


def read_and_train(path, labels):
    """A fifth of the items is new: their hits, and hits of training items on them."""
    from krein import HitClassifier, HitSimilarity, read_hits
    from krein.arrays import compressed_rows

    (hits, wall, cpu) = clocked(lambda: read_hits(path))
    found = {
        "items": hits.data.shape[0], "hits": int(hits.data.nnz), "read wall": wall,
        "read cpu": cpu, "read MB": peak_megabytes(),
    }  # fmt: skip
    y = np.load(labels)[[int(name[1:]) for name in hits.names]]
    test = np.random.default_rng(0).random(y.size) < 0.2
    inside, outside = np.flatnonzero(~test), np.flatnonzero(test)
    new = compressed_rows(hits.data[outside][:, inside])
    back = compressed_rows(hits.data[:, outside][inside])
    own = hits.data.diagonal()[outside]
    training = compressed_rows(hits.data[inside][:, inside])
    found["split MB"] = peak_megabytes()
    del hits
    # HitClassifier().fit would keep the hits beside the similarity.
    similarity, started = HitSimilarity(), time.process_time()
    K = similarity.fit_transform(training)
    joined = time.process_time() - started
    found["similarity MB"] = peak_megabytes()
    del training
    model = HitClassifier()
    inner, wall, cpu = clocked(lambda: model._inner().fit(K, y[inside]))
    model.adopt(similarity, inner, y[inside])
    found |= {"train wall": wall, "train cpu": cpu + joined}
    found["train MB"] = peak_megabytes()
    labels, wall, cpu = clocked(lambda: model.predict(new, back, own))
    found |= {
        "predict cpu": cpu, "classes": int(np.unique(y).size),
        "error": float(np.mean(labels != y[outside])), "MB": peak_megabytes(),
    }  # fmt: skip
    return found


# ------------------------------------------------------------------------------ command


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--members", type=int, default=MEMBERS)
    given = parser.parse_args()
    if given.what == "table":
        names = given.methods.split(",")
        table(*given.arguments, given.repeats, names, given.members)
    elif given.what == "one":
        hits, labels, split, name, repeat, members = given.arguments
        found = one_method(hits, labels, split, name, int(repeat), int(members))
        print(json.dumps(found))
    elif given.what == "simulated":
        simulated(*map(int, given.arguments))
    elif given.what == "read-and-train":
        print(json.dumps(read_and_train(*given.arguments)))
    elif given.what == "tiny":
        simulated(2000, 10)
    else:
        parser.error(f"{given.what!r} is not known")


if __name__ == "__main__":
    main()
