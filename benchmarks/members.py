"""Whether other machines help as members of the similarity model.

    KREIN_DATA=... python benchmarks/members.py CONVERSIONS RESULTS [--table]

On the three conversions that the screen prefers (CONVERSIONS has the scores and the
probabilities of SVMs: run `conversions.py` first) logistic regression on the flipped
similarity is fitted as well, its penalty chosen by inner log-loss, and the machine of
the screen itself, least squares, with the setting that the screen likes best. Compared
are averages of probabilities of three or more members.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from conversions import GIVEN, SIX
from regret import distances, split_of
from regret_matrices import cases
from similarity_model import flip_logistic

from krein.selection.calibration import probabilities, temperatures
from krein.selection.scores import setting_scores, with_threshold
from krein.selection.search import CS
from krein.selection.spectra import SEARCHED_FIXES, all_settings, left_out
from krein.similarity.conversions import CONVERSIONS
from krein.similarity.matrix import Similarities
from krein.training import Classes

TOP = 3


def least_squares(K, new, codes):
    """Probabilities by the setting of the lowest leave-one-out log-loss."""
    n, n_classes = codes.size, int(codes.max()) + 1
    target = Classes(codes, n_classes)
    signs = np.column_stack(list(target.signs()))
    spectrum = Similarities(K).spectrum(None)
    settings = all_settings(spectrum, SEARCHED_FIXES, np.array(CS))
    best = None
    values = left_out(spectrum, settings.methods, settings.Cs, signs)
    for fix, left in zip(settings.methods, values, strict=True):
        seen = with_threshold(left, codes, np.ones(n))
        given = target, np.ones(n), np.arange(n_classes)
        scores = setting_scores([seen], [np.arange(n)], *given)[:, 0]
        c = int(scores.argmax())
        if best is None or scores[c] > best[0]:
            best = scores[c], fix, settings.Cs[c], seen[c], left[c] - seen[c]
    _, fix, C, seen, shift = best
    kernel, gain = fix.apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
    height = np.maximum(kernel, 0.0)
    unit = float(height.sum()) / n or 1.0
    V = spectrum.eigenvectors
    inverse = (V / (height / unit + 1.0 / C)) @ V.T
    intercept = inverse.sum(axis=0) @ signs / inverse.sum()
    coef = inverse @ (signs - intercept)
    outputs = ((new @ V) * gain) @ (V.T @ coef) / unit + intercept - shift[:1]
    temperature = temperatures(seen[None], codes, np.ones(n))[0]
    return probabilities(outputs, temperature)


def run(case, split, known, folder):
    name = f"{case.name.replace(' ', '')}-{split}"
    path, scores = folder / f"{name}.json", known / f"{name}.npz"
    if path.exists() or not scores.exists():
        return
    with np.load(scores) as file:
        z = {key: file[key] for key in file.files}
    items, y = case.items()
    codes = np.unique(y, return_inverse=True)[1]
    train, test = split_of(codes, split)
    K = case.matrix(items, train)
    K = 0.5 * (K + K.T)
    D = distances(case, items, K)
    chosen = sorted(SIX, key=lambda c: -float(z[f"{c}|screen"]))[:TOP]
    found = defaultdict(list)
    for conversion in chosen:
        S = K[:, train]
        if conversion != GIVEN:
            settled = CONVERSIONS[conversion].settle(D[np.ix_(train, train)])
            S = settled.similarities(D[:, train])
        found["SVM"].append(z[f"{conversion}|proba"])
        found["logistic"].append(flip_logistic(S[train], S[test], codes[train])[1])
        found["least squares"].append(least_squares(S[train], S[test], codes[train]))
    found["SVM and logistic"] = found["SVM"] + found["logistic"]
    found["SVM and least squares"] = found["SVM"] + found["least squares"]
    errors = {
        kind: 100.0 * float(np.mean(np.mean(p, axis=0).argmax(axis=1) != codes[test]))
        for kind, p in found.items()
    }
    path.write_text(json.dumps({"half": case.half, **errors}))


def print_table(folder):
    found = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        errors = json.loads(path.read_text())
        half = errors.pop("half")
        for kind, error in errors.items():
            found[kind, half].append(error)
    print("members | design | report | runs")
    for kind in dict.fromkeys(kind for kind, _ in found):
        halves = [found[kind, half] for half in ("design", "report")]
        means = " | ".join(f"{np.mean(errors):.2f}" for errors in halves)
        print(f"{kind} | {means} | {sum(map(len, halves))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conversions", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    if args.table:
        print_table(args.results)
        return
    warnings.simplefilter("ignore")
    for split in range(args.splits):
        for case in cases(args.conversions / "distances"):
            run(case, split, args.conversions, args.results)


if __name__ == "__main__":
    main()
