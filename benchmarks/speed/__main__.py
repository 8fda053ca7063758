"""All speed figures by one command, with machine and versions.

    python benchmarks/speed [--quick] [--out FILE] [--only WORD] [--against FILE]

Runs the scripts of this folder's parent one after the other, each in a process of its
own: with the threads that users have, and again with one thread of BLAS. What they
print goes into one file, with the ratio of the two for every line that has a time. A
script that fails stays in the file with its error; beside FILE.txt, FILE.md has the
figures with their goals: those that users get, and those of one thread. `--against`
compares the figures with those of an earlier run and exits with 1 where one got worse.
`--quick` runs the small versions only. What CI guards are counts, not seconds:
tests/test_counted_work.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from ratios import ONE_THREAD, OVER_ONE, compared, sections, table, thread_ratios

from krein.report.data import machine
from krein.store.files import atomic_write

SCRIPTS = Path(__file__).resolve().parents[1]

# What is measured, script, arguments, arguments of the quick version (None: left out).
FIGURES: list[tuple[str, str, list[str], list[str] | None]] = [
    ("Krein SVM over one eigh and one SVC", "spectral.py", [], ["--n", "300"]),
    ("threads", "threads.py", ["fits"], None),
    ("threads beside a busy process", "threads.py", ["fits", "--busy"], None),
    ("TL1 kernel over scipy's distances", "tl1.py", [], []),
    ("start-up over scikit-learn's", "start_up.py", [], []),
    ("a comparison over its single fits", "compare_cost.py", [], None),
    ("what people wait for", "waits.py", [], None),
    ("kernels over bare libraries", "kernels.py", ["overhead", "memory"], None),
    ("elastic distances over compiled ones", "kernels.py", ["elastic"], None),
    ("kernels on two cores", "kernels.py", ["cores"], None),
    ("every method in eigendecompositions", "method_costs.py", [], None),
    ("proxy SVM in eigendecompositions", "proxy.py", ["--large"], ["--quick"]),
    ("logistic regression, DC machines", "logistic.py", [], None),
    ("thin-plate kernel over SciPy", "cpd.py", ["kernel"], ["kernel"]),
    ("thin-plate SVM, memory", "cpd.py", ["memory"], ["memory"]),
    ("thin-plate SVM over SVC, one fit", "cpd.py", ["fit"], None),
    ("thin-plate SVM, 16 alphas over one", "cpd.py", ["path"], None),
    ("thin-plate SVM, nested cross-validation", "cpd.py", ["nested"], None),
    ("thin-plate SVM, USPS digits", "cpd.py", ["usps"], None),
    ("fewer similarities per prediction", "sparse.py", ["--splits", "10"], None),
    ("what one eigh is made of", "eigh.py", ["cost"], None),
    ("choices in single precision", "eigh.py", ["choices"], None),
    ("landmarks and workers", "scale.py", ["million"], ["tiny"]),
    ("one worker over a plain loop", "scale.py", ["dask"], None),
]


# These measure both ways themselves, or limit what they measure to one thread.
ONCE = {"threads.py", "start_up.py", "proxy.py", "kernels.py", "eigh.py"}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


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


def measure(what: str, script: str, arguments: list[str]) -> dict[str, str]:
    """Sections of one figure: as users have it, with one thread, and the ratios."""
    command = " ".join([script, *arguments])
    text, seconds = run(script, arguments)
    parts = {what: text}
    if script not in ONCE:
        alone, more = run(script, arguments, one=True)
        seconds += more
        parts[what + ONE_THREAD] = alone
        parts[what + OVER_ONE] = thread_ratios(text, alone)
    return {
        name: f"== {name} ({command}, {seconds:.0f} s)\n{body}"
        for name, body in parts.items()
    }


def keep(out: Path, head: str, measured: dict[str, str]) -> None:
    """Write what is measured so far, and its ratios with their goals."""
    names = [name + part for name, *_ in FIGURES for part in ("", ONE_THREAD, OVER_ONE)]
    listed = [measured[name] for name in names if name in measured]
    with atomic_write(out, overwrite=True, text=True) as handle:
        handle.write("\n\n".join([head, *listed]) + "\n")
    with atomic_write(out.with_suffix(".md"), overwrite=True, text=True) as handle:
        handle.write(table(measured))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small versions only")
    parser.add_argument("--out", type=Path, help="also write to this file")
    parser.add_argument(
        "--only", metavar="WORD", help="figures that have it; others stay as they are"
    )
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with this earlier run"
    )
    given = parser.parse_args()
    stored = sections(given.against) if given.against else {}
    if given.against and not stored:
        parser.error(f"{given.against} is no file written by --out")
    head = "\n".join(f"{name}: {value}" for name, value in machine().items())
    print(head, flush=True)
    measured = sections(given.out) if given.only and given.out else {}
    fresh = {}
    for what, script, full, quick in FIGURES:
        arguments = quick if given.quick else full
        if arguments is None or (given.only and given.only not in what):
            continue
        parts = measure(what, script, arguments)
        fresh.update(parts)
        print("\n" + "\n\n".join(parts.values()), flush=True)
        if given.out is not None:  # after every figure: an interrupted run is kept
            keep(given.out, head, {**measured, **fresh})
    if stored:
        text, worse = compared(stored, fresh, 0.15)
        print(f"\n{text}")
        sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
