"""Ratios in what a run printed: a table with goals, and what got worse since another.

    python benchmarks/speed/ratios.py RESULTS           table with goals, for the docs
    python benchmarks/speed/ratios.py STORED RESULTS    compare; exit 1 where worse

Only what both runs measured is compared. Ratios are of processor time in one process,
but for those on two cores, and still differ between runs: what is worse by less than
the tolerance (15 %) is not counted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"


@dataclass(frozen=True)
class Ratio:
    """One figure: where it is printed, and what it should be.

    `pattern` has one group, the number; of several matches the worst counts.
    """

    name: str
    section: str
    pattern: str
    goal: float | None = None
    at_least: bool = False

    @property
    def worst(self) -> Callable:
        return min if self.at_least else max

    def read(self, sections: dict[str, str]) -> float | None:
        pattern = self.pattern.replace("#", NUMBER)
        found = re.findall(pattern, sections.get(self.section, ""), re.MULTILINE)
        return self.worst(map(float, found)) if found else None

    def reached(self, value: float) -> bool:
        return self.goal is None or self.worst(value, self.goal) == self.goal

    def worse(self, before: float, now: float, tolerance: float) -> bool:
        if self.at_least:
            return now * (1 + tolerance) < before
        return now > before * (1 + tolerance)


_EIGH, _KERNELS = "Krein SVM over one eigh and one SVC", "kernels over bare libraries"
_WAITS = "what people wait for"
_PROXY, _SCALE = "proxy SVM in eigendecompositions", "landmarks and workers"

RATIOS = [
    Ratio("KreinSVC / (eigh + SVC), n = 2000, worst C", _EIGH, r"^KreinSVC.* # x", 1.1),
    Ratio(
        "SpectrumSVC / (eigh + SVC), n = 2000, worst C",
        _EIGH,
        r"^SpectrumSVC.* # x",
        1.1,
    ),
    Ratio("TL1 kernel / cdist", "TL1 kernel over scipy's distances", r"ratio #$", 1.0),
    Ratio(
        "import of an estimator / import of sklearn.svm",
        "start-up over scikit-learn's",
        r"^from krein.* # x",
        1.25,
    ),
    Ratio(
        "compare / by hand, n = 800",
        "a comparison over its single fits",
        r"^n = 800.*by hand .*ratio #\)",
    ),
    *(
        Ratio(
            f"SpectrumSVCCV / (folds + 1) eigh, {kernel}, n = {n}",
            "a comparison over its single fits",
            rf"^SpectrumSVCCV, {kernel}, n = {n}: .* # x",
            goal,
        )
        for n, goal in ((500, 2.0), (1000, 1.5))
        for kernel in ("sigmoid", "tl1")
    ),
    *(
        Ratio(
            f"one-vs-rest, 40 classes / (eigh + SVC), tol {tol}",
            _WAITS,
            rf"^one-vs-rest.* tol {tol}: .* = # x",
            goal,
        )
        for tol, goal in (("1e-6", 1.3), ("1e-3", 1.1))
    ),
    Ratio(
        "compare, 1000 names by edit distance, processor seconds",
        _WAITS,
        r"^compare, 1000 names.*: # processor s",
        30.0,
    ),
    Ratio("krein demo, two processes, seconds", _WAITS, r"^krein demo.* s, # s", 8.0),
    Ratio("kernels / bare libraries", _KERNELS, r" = # \(at most 1.10\)", 1.1),
    *(
        Ratio(
            f"{name.upper()} / aeon, {'no window' if window == 'None' else '5 %'}",
            "elastic distances over compiled ones",
            rf"^{name} / aeon, window {window}:.* = # ",
            1.0,
        )
        for name in ("msm", "twe", "erp")
        for window in ("None", "0.05")
    ),
    *(
        Ratio(
            f"{name}, two cores",
            "kernels on two cores",
            rf"^{name} \(.*on two, # times",
            1.8,
            at_least=True,
        )
        for name in ("dtw", "msm", "smith_waterman", "affine_invariant")
    ),
    *(
        Ratio(
            f"{name}, two cores, seconds of work",
            "kernels on two cores",
            rf"^more: {name} \(.*on two, # times",
            1.8,
            at_least=True,
        )
        for name in ("smith_waterman", "affine_invariant")
    ),
    *(
        Ratio(
            f"proxy SVM, n = {n}, eigh, {what}",
            _PROXY,
            rf"^n = {n}: eigh(?:\n|.)*?{what} #,?",
            goal,
        )
        for n, what, goal in (
            (208, "median", 2.0),
            (1200, "median", 1.25),
            (1200, "worst", 1.5),
            (5000, "median", 1.15),
        )
    ),
    Ratio("proxy SVM, 5 x 5 grid in 5 folds, eigh", _PROXY, r"folds: # eigh", 42.5),
    Ratio(
        "thin-plate SVM / SVC, n = 5000",
        "thin-plate SVM over SVC, one fit",
        r"^(?:ida_|moons)\S* +[\d.]+ +[\d.]+ +#  ",
        2.0,
    ),
    Ratio(
        "thin-plate SVM, 16 alphas / the tuned fit",
        "thin-plate SVM, 16 alphas over one",
        r"tuned .*ratio #$",
        2.0,
    ),
    Ratio(
        "SVC grid / thin-plate SVM, nested",
        "thin-plate SVM, nested cross-validation",
        r"ratio #;",
        5.0,
        at_least=True,
    ),
    Ratio(
        "single precision: sets with the same choice, of 12",
        "choices in single precision",
        r"same choice on # of 12",
        12.0,
        at_least=True,
    ),
    Ratio("landmarks, exponent 1e5 to 1e6", _SCALE, r"^time \(cpu\) ~ n\^#;", 1.05),
    Ratio(
        "one dask worker / plain loop",
        "one worker over a plain loop",
        r"^1 worker / plain loop: #",
        1.1,
    ),
    Ratio(
        "a fifth of the similarities: points of accuracy lost, mean of ten sets",
        "fewer similarities per prediction",
        r"^5 times fewer: mean loss # points",
        0.5,
    ),
    Ratio(
        "a fifth of the similarities: sets that lose at most 0.5 points, of ten",
        "fewer similarities per prediction",
        r"^5 times fewer: .*at most 0.5 on # of 10",
        10.0,
        at_least=True,
    ),
]


def sections(path: Path) -> dict[str, str]:
    """What a run measured, by figure; nothing where there is no such file."""
    if not path.is_file():
        return {}
    _, *parts = path.read_text(encoding="utf-8").split("\n== ")
    return {part.split(" (", 1)[0]: f"== {part.strip()}" for part in parts}


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def table(measured: dict[str, str]) -> str:
    """Goals and figures of one run, in Markdown."""
    lines = ["| work | measured | goal | |", "|---|---|---|---|"]
    for ratio in RATIOS:
        value = ratio.read(measured)
        bound = "" if ratio.goal is None else "≥ " if ratio.at_least else "≤ "
        missed = value is not None and not ratio.reached(value)
        verdict = "missed" if missed else "" if ratio.goal is None else "reached"
        verdict = verdict if value is not None else "not measured"
        lines.append(
            f"| {ratio.name} | {shown(value)} | {bound}{shown(ratio.goal)} "
            f"| {verdict} |"
        )
    return "\n".join(lines) + "\n"


def compared(
    stored: dict[str, str], new: dict[str, str], tolerance: float
) -> tuple[str, int]:
    """Lines for every figure of both runs, and how many got worse."""
    lines, count = [], 0
    for ratio in RATIOS:
        before, now = ratio.read(stored), ratio.read(new)
        if before is None or now is None:
            continue
        worse = ratio.worse(before, now, tolerance)
        count += worse
        better = ratio.worse(now, before, tolerance)
        word = "WORSE" if worse else "better" if better else ""
        lines.append(
            f"{ratio.name:50s} {shown(before):>8s} -> {shown(now):>8s}  "
            f"goal {shown(ratio.goal):>6s}  {word}".rstrip()
        )
    lines.append(f"{len(lines)} figures compared, {count} worse than {tolerance:.0%}")
    return "\n".join(lines), count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--tolerance", type=float, default=0.15)
    given = parser.parse_args()
    runs = [sections(path) for path in given.runs]
    if len(runs) > 2 or not all(runs):
        parser.error("expected one or two files written by benchmarks/speed --out")
    if len(runs) == 1:
        print(table(runs[0]), end="")
        return
    text, worse = compared(*runs, given.tolerance)
    print(text)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
