"""All speed figures by one command, with machine and versions.

    python benchmarks/speed [--quick] [--out FILE] [--only WORD] [--resume]
                            [--against FILE]

Runs the scripts of this folder's parent one after the other, each in a process of its
own: with the threads that users have, and again with one thread of BLAS. What they
print goes into one file, with the ratio of the two for every line that has a time. A
script that fails stays in the file with its error; beside FILE.txt, FILE.md has the
figures with their goals: those that users get, and those of one thread.

The file is written after every figure. `--resume` keeps the figures that an
interrupted run has left in it and measures the others. `--against` compares the
figures with those of an earlier run and exits with 1 where one got worse. `--quick`
runs the small versions only. What CI guards are counts, not seconds:
tests/test_counted_work.py. A full run takes about 20 minutes on a quiet machine with
two cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ratios import ONE_THREAD, OVER_ONE, compared, sections, table, thread_ratios

from krein.report.data import machine
from krein.store.files import atomic_write

SCRIPTS = Path(__file__).resolve().parents[1]
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
SAME = "the same"


@dataclass(frozen=True)
class Figure:
    """One run of a script.

    Attributes
    ----------
    title : str
        What is measured.
    script : str
        Name of the script.
    arguments : str
        What it is called with.
    quick : str, optional
        Arguments of the quick version; without it there is none.
    one_thread : str, optional
        Arguments of the second run, which has one thread of BLAS: by default those of
        the first. None where the script measures both ways itself, limits what it
        measures to one thread, or measures what does not depend on threads.
    """

    title: str
    script: str
    arguments: str = ""
    quick: str | None = None
    one_thread: str | None = SAME


# What users wait for and what was promised come first: a run that ends early has them.
FIGURES = [
    Figure(
        "Krein SVM over one eigh and one SVC",
        "spectral.py",
        "--repeat 3",
        quick="--n 300",
    ),
    Figure(
        "memory of a dense fit",
        "spectral.py",
        "--memory 4000",
        quick="--memory 500",
        one_thread=None,
    ),
    Figure("threads", "threads.py", "fits", one_thread=None),
    Figure(
        "threads beside a busy process", "threads.py", "fits --busy", one_thread=None
    ),
    Figure(
        "where threads pay",
        "threads.py",
        "sizes 1000 2000 --only eigh SpectrumSVC SpectrumSVCCV",
        quick="sizes 200 --only eigh SpectrumSVC SpectrumSVCCV",
        one_thread=None,
    ),
    Figure("what people wait for", "waits.py"),
    Figure("small fits", "small_fits.py", quick="", one_thread=None),
    Figure("start-up over scikit-learn's", "start_up.py", quick="", one_thread=None),
    Figure(
        "proxy SVM in eigendecompositions",
        "proxy.py",
        "--only auto grid large",
        quick="--quick",
    ),
    Figure("a comparison over its single fits", "compare_cost.py"),
    Figure(
        "landmarks and workers",
        "scale.py",
        "million",
        quick="tiny",
        one_thread="million 100000 300000",
    ),
    Figure("thin-plate kernel over SciPy", "cpd.py", "kernel", quick="kernel"),
    Figure(
        "thin-plate SVM, memory", "cpd.py", "memory", quick="memory", one_thread=None
    ),
    Figure("thin-plate SVM over SVC, one fit", "cpd.py", "fit"),
    Figure("thin-plate SVM, 16 alphas over one", "cpd.py", "path"),
    Figure("TL1 kernel over scipy's distances", "tl1.py", quick=""),
    Figure("every method in eigendecompositions", "method_costs.py"),
    Figure("logistic regression, DC machines", "logistic.py"),
    Figure("one worker over a plain loop", "scale.py", "dask", one_thread=None),
    Figure(
        "kernels over bare libraries", "kernels.py", "overhead memory", one_thread=None
    ),
    Figure(
        "elastic distances over compiled ones", "kernels.py", "elastic", one_thread=None
    ),
    Figure("kernels on two cores", "kernels.py", "cores", one_thread=None),
    Figure(
        "fewer similarities per prediction",
        "sparse_expansions.py",
        "--splits 10",
        one_thread=None,
    ),
    Figure("thin-plate SVM, nested cross-validation", "cpd.py", "nested --splits 1"),
    Figure("thin-plate SVM, USPS digits", "cpd.py", "usps --alphas 2", one_thread=None),
    Figure(
        "what one eigh is made of", "eigh.py", "cost --n 1000 3000", one_thread=None
    ),
    Figure("choices in single precision", "eigh.py", "choices", one_thread=None),
]


def run(script: str, arguments: list[str], *, one: bool = False) -> tuple[str, float]:
    """What a script prints with the threads of users or with one, and its seconds."""
    env = {name: value for name, value in os.environ.items() if name not in THREADS}
    start = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        capture_output=True,
        text=True,
        env=env | dict.fromkeys(THREADS, "1") if one else env,
        check=False,
    )
    text = ended.stdout.rstrip()
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        text = f"{text}\nfailed with code {ended.returncode}: {last}".strip()
    return text, time.perf_counter() - start


def measure(figure: Figure, arguments: str) -> dict[str, str]:
    """Sections of one figure: as users have it, with one thread, and the ratios."""
    command = f"{figure.script} {arguments}".strip()
    text, seconds = run(figure.script, arguments.split())
    parts = {figure.title: text}
    if figure.one_thread is not None:
        others = arguments
        if figure.one_thread != SAME and arguments == figure.arguments:
            others = figure.one_thread
        alone, more = run(figure.script, others.split(), one=True)
        seconds += more
        parts[figure.title + ONE_THREAD] = alone
        parts[figure.title + OVER_ONE] = thread_ratios(text, alone)
    return {
        name: f"== {name} ({command}, {seconds:.0f} s)\n{body}"
        for name, body in parts.items()
    }


def keep(out: Path, head: str, measured: dict[str, str]) -> None:
    """Write what is measured so far, and its ratios with their goals."""
    names = [
        figure.title + part for figure in FIGURES for part in ("", ONE_THREAD, OVER_ONE)
    ]
    listed = [measured[name] for name in names if name in measured]
    with atomic_write(out, overwrite=True, text=True) as handle:
        handle.write("\n\n".join([head, *listed]) + "\n")
    with atomic_write(out.with_suffix(".md"), overwrite=True, text=True) as handle:
        handle.write(table(measured))


def complete(figure: Figure, measured: dict[str, str]) -> bool:
    """Tell whether a figure has been measured both ways, without a failure."""
    wanted = [figure.title]
    if figure.one_thread is not None:
        wanted.append(figure.title + ONE_THREAD)
    return all(
        name in measured and "failed with code" not in measured[name] for name in wanted
    )


def arguments_given() -> tuple[argparse.Namespace, dict[str, str]]:
    """Options, and the sections of the run that is to be compared with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small versions only")
    parser.add_argument("--out", type=Path, help="also write to this file")
    parser.add_argument(
        "--only", metavar="WORD", help="figures that have it; others stay as they are"
    )
    parser.add_argument(
        "--resume", action="store_true", help="measure what --out does not have yet"
    )
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with this earlier run"
    )
    given = parser.parse_args()
    stored = sections(given.against) if given.against else {}
    if given.against and not stored:
        parser.error(f"{given.against} is no file written by --out")
    if given.resume and given.out is None:
        parser.error("--resume continues the run in a file: name it by --out")
    return given, stored


def main() -> None:
    given, stored = arguments_given()
    head = "\n".join(f"{name}: {value}" for name, value in machine().items())
    print(head, flush=True)
    kept = {}
    if given.out and (given.only or given.resume):
        kept = sections(given.out)
    if given.resume and kept and not given.out.read_text("utf-8").startswith(head):
        print("the run in --out had other versions: all is measured again")
        kept = {}
    fresh = {}
    for figure in FIGURES:
        arguments = figure.quick if given.quick else figure.arguments
        if arguments is None or (given.only and given.only not in figure.title):
            continue
        if given.resume and complete(figure, kept):
            continue
        parts = measure(figure, arguments)
        fresh.update(parts)
        print("\n" + "\n\n".join(parts.values()), flush=True)
        if given.out is not None:  # after every figure: an interrupted run is kept
            keep(given.out, head, {**kept, **fresh})
    if stored:
        text, worse = compared(stored, fresh, 0.15)
        print(f"\n{text}")
        sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
