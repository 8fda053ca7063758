"""Ratios in what a run printed: a table with goals, and what got worse since another.

    python benchmarks/speed/ratios.py RESULTS           table with goals, for the docs
    python benchmarks/speed/ratios.py STORED RESULTS    compare; exit 1 where worse

Figures are those that users get, with the threads that BLAS starts by itself; beside
them stand those with one thread, and the ratio of the times of the two. Only what both
runs measured is compared. Ratios are of processor time in one process, but for those on
two cores, and still differ between runs: what is worse by less than the tolerance
(15 %) is not counted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
TIME = re.compile(r"(?<![\w.])([\d.]+(?:e[-+]?\d+)?) (ms|s|processor s)\b")
# What is added to the title of a figure for the same lines with one thread of BLAS, and
# for what the threads of users take over that.
ONE_THREAD, OVER_ONE = ", one thread", ", default over one thread"


@dataclass(frozen=True)
class Ratio:
    """One figure: where it is printed, and what it should be.

    `pattern` has one group, the number; of several matches the worst counts. `reason`
    says why the goal is missed, where it is and somebody has looked.
    """

    name: str
    section: str
    pattern: str
    goal: float | None = None
    at_least: bool = False
    reason: str = ""

    @property
    def worst(self) -> Callable:
        return min if self.at_least else max

    def matches(self, sections: dict[str, str], part: str = "") -> list[re.Match[str]]:
        pattern = self.pattern.replace("#", NUMBER)
        text = sections.get(self.section + part, "")
        return list(re.finditer(pattern, text, re.MULTILINE))

    def read(self, sections: dict[str, str], part: str = "") -> float | None:
        found = [float(match[1]) for match in self.matches(sections, part)]
        return self.worst(found) if found else None

    def over_one(self, sections: dict[str, str]) -> float | None:
        """Largest ratio of the times of users to those of one thread, of its lines."""
        pairs = zip(
            self.matches(sections), self.matches(sections, ONE_THREAD), strict=False
        )
        times = [(first_time(a[0]), first_time(b[0])) for a, b in pairs]
        ratios = [default / one for default, one in times if default and one]
        return max(ratios, default=None)

    def reached(self, value: float) -> bool:
        return self.goal is None or self.worst(value, self.goal) == self.goal

    def worse(self, before: float, now: float, tolerance: float) -> bool:
        if self.at_least:
            return now * (1 + tolerance) < before
        return now > before * (1 + tolerance)


def first_time(line: str) -> float | None:
    """Seconds of the first time that a line prints."""
    found = TIME.search(line)
    if found is None:
        return None
    return float(found[1]) * (1e-3 if found[2] == "ms" else 1.0)


def thread_ratios(default: str, one: str) -> str:
    """Ratio of default threads to one thread for every line with a time."""
    shape = re.compile(NUMBER)
    alone: dict[str, list[str]] = {}
    for line in one.splitlines():
        alone.setdefault(shape.sub("#", line), []).append(line)
    lines = []
    for line in default.splitlines():
        same = alone.get(shape.sub("#", line))
        if not same:
            continue
        times = first_time(line), first_time(same.pop(0))
        if times[0] and times[1]:
            head = TIME.split(line)[0].strip(" :,=")
            lines.append(f"{times[0] / times[1]:.2f} x: {head}")
    return "\n".join(lines) or "no times"


_EIGH = "Krein SVM over one eigh and one SVC"
_KERNELS = "kernels over bare libraries"
_WAITS = "what people wait for"
_PROXY = "proxy SVM in eigendecompositions"
_SCALE = "landmarks and workers"
_FITS = (
    "SpectrumSVC",
    "SpectrumSVCCV",
    "ProxySVC",
    "KreinLogisticRegression",
    "KreinRidge",
    "CPDSVC",
)


def thread_rows(section: str, beside: str, fit: float, compare: float) -> list[Ratio]:
    """What the threads of users take over one thread; of three sizes the worst."""
    rows = [
        Ratio(
            f"default threads / one thread, compare of 400{beside}",
            section,
            r"^compare, n = 400: .* = # x",
            compare,
        )
    ]
    rows += [
        Ratio(
            f"default threads / one thread, {name} of 100 to 1000{beside}",
            section,
            rf"^{name}, n = (?:100|300|1000): .* = # x",
            fit,
        )
        for name in _FITS
    ]
    return rows


RATIOS = [
    *(
        Ratio(
            f"{name} / (eigh + SVC), n = 2000, worst C",
            _EIGH,
            rf"^{name}.* # x",
            1.1,
            reason="forming the kernel takes 5 to 9 % of an eigendecomposition, checks "
            "and the certificate the rest",
        )
        for name in ("KreinSVC", "SpectrumSVC")
    ),
    Ratio(
        "SpectrumSVC, n = 4000, n x n arrays beside the similarity",
        "memory of a dense fit",
        r"# n x n arrays beside it",
        3.0,
        reason="three arrays, and about 25 MB whatever the number of items",
    ),
    *thread_rows("threads", "", fit=1.2, compare=1.1),
    *thread_rows(
        "threads beside a busy process", ", beside a busy process", fit=2.0, compare=1.5
    ),
    *(
        Ratio(
            f"threads without a limit / one thread, {name} of {n}",
            "where threads pay",
            rf"^{name}, n = {n}: .* = # x",
            1.0,
            at_least=at_least,
        )
        for name, n, at_least in (
            ("SpectrumSVCCV", 1000, True),
            ("SpectrumSVC", 2000, False),
            ("SpectrumSVCCV", 2000, False),
        )
    ),
    *(
        Ratio(
            f"{name}, n = 100, besides its arithmetic, ms",
            "small fits",
            rf"^{name}, .*besides its arithmetic # ms",
            1.0,
            reason="two thirds are scikit-learn's checks of parameters, arrays and "
            "targets",
        )
        for name in (
            "SpectrumSVC",
            "KreinSVC",
            "KreinRidge",
            "KreinLogisticRegression",
            "CPDSVC",
        )
    ),
    Ratio("TL1 kernel / cdist", "TL1 kernel over scipy's distances", r"ratio #$", 1.0),
    Ratio(
        "import of an estimator / import of sklearn.svm",
        "start-up over scikit-learn's",
        r"^from krein.* # x",
        1.1,
        reason="krein's own modules, after those of scikit-learn",
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
            reason="at 500 items LIBSVM takes as long as the eigendecompositions",
        )
        for n, goal in ((500, 2.0), (1000, 1.5))
        for kernel in ("sigmoid", "tl1")
    ),
    *(
        Ratio(
            f"one-vs-rest, 40 classes / (eigh + SVC), {kind}, tol {tol}",
            _WAITS,
            rf"^one-vs-rest.* {kind}.* tol {tol}: .* = # x",
            1.3,
            reason="with half of the items on a bound every row needs a factor of its "
            "own free items beyond LIBSVM's single precision",
        )
        for kind in ("no bound", "few bounds", "half on bounds", "many bounds")
        for tol in ("1e-6", "1e-3")
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
            reason="starting and collecting takes 30 to 60 ms, a tenth of the work",
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
            reason="one eigendecomposition is the fit's own; of the rest half are 20 "
            "to 50 steps of 40 calls of NumPy each, half the curvature and its factors",
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
        "thin-plate kernel / (cdist + power), 1000 x 3000",
        "thin-plate kernel over SciPy",
        r"^thin_plate_kernel.* ratio #$",
        1.5,
    ),
    *(
        Ratio(
            f"thin-plate SVM, {loss}, n x n arrays",
            "thin-plate SVM, memory",
            rf"^{loss}, n = 2500: # n x n",
            goal,
        )
        for loss, goal in (("hinge", 1.0), ("logistic", 1.8), ("regression", 2.1))
    ),
    Ratio(
        "thin-plate SVM / SVC, n = 5000",
        "thin-plate SVM over SVC, one fit",
        r"^(?:ida_|moons)\S* +[\d.]+ +[\d.]+ +#  ",
        2.0,
        reason="kernel columns, at the speed of memory",
    ),
    Ratio(
        "thin-plate SVM, 16 alphas / the tuned fit",
        "thin-plate SVM, 16 alphas over one",
        r"tuned .*ratio #$",
        4.0,
        reason="most of a path goes into the largest alphas, where many samples are "
        "violators; the tuned fit has few",
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
    Ratio(
        "landmarks, exponent 1e5 to 1e6",
        _SCALE,
        r"^time \(cpu\) ~ n\^#;",
        1.05,
        reason="with memory='1GB' the features of up to 300 000 items stay in memory, "
        "of a million a part is read from disk in every step",
    ),
    Ratio(
        "one dask worker / plain loop",
        "one worker over a plain loop",
        r"^1 worker / plain loop: #",
        1.1,
        reason="a task costs dask 1.5 ms in the worker and 2.6 ms in the driver, and "
        "its threads 4 % of the time that passes",
    ),
    Ratio(
        "a fifth of the similarities: points of accuracy lost, mean of ten sets",
        "fewer similarities per prediction",
        r"^5 times fewer: mean loss # points",
        0.5,
        reason="on alignments a fifth of the items does not carry the decision values",
    ),
    Ratio(
        "a fifth of the similarities: sets that lose at most 0.5 points, of ten",
        "fewer similarities per prediction",
        r"^5 times fewer: .*at most 0.5 on # of 10",
        10.0,
        at_least=True,
        reason="on alignments a fifth of the items does not carry the decision values",
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


def verdict_on(ratio: Ratio, value: float | None) -> str:
    """What the table says beside the goal."""
    if value is None:
        return "not measured"
    if ratio.goal is None:
        return ""
    return "reached" if ratio.reached(value) else "missed"


def goal_of(ratio: Ratio) -> str:
    """The goal with its direction; nothing where there is none."""
    if ratio.goal is None:
        return ""
    return f"{'≥' if ratio.at_least else '≤'} {shown(ratio.goal)}"


def table(measured: dict[str, str]) -> str:
    """Goals and figures of one run, in Markdown; below, why goals were missed."""
    lines = [
        "| work | measured | goal | | one thread | default over one thread, time |",
        "|---|---|---|---|---|---|",
    ]
    missed = []
    for ratio in RATIOS:
        value = ratio.read(measured)
        verdict = verdict_on(ratio, value)
        if verdict == "missed":
            missed.append(ratio)
        lines.append(
            f"| {ratio.name} | {shown(value)} | {goal_of(ratio)} | {verdict} "
            f"| {shown(ratio.read(measured, ONE_THREAD))} "
            f"| {shown(ratio.over_one(measured))} |"
        )
    lines += [
        "",
        "Goals that were missed, and why:" if missed else "No goal is missed.",
    ]
    if missed:
        lines.append("")
    for ratio in missed:
        reason = ratio.reason or "the reason has not been looked for"
        lines.append(f"- {ratio.name}: {reason}.")
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
