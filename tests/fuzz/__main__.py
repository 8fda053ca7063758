# ruff: noqa: T201
"""Run the campaign, or repeat trials: ``python -m tests.fuzz [kind:seed ...]``.

Trials run in a child process: a crash costs one trial, and is one line. The state is a
file in the folder ``--out``, so that a campaign goes on where it stopped.
"""

import argparse
import importlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

BATCH = 500  # a child needs two seconds to begin
SECONDS = 60  # of the processor: a trial that needs more is ended (code -27)
SILENCE = 3600  # seconds without a word from the child: the trial waits for ever
# Trials of each kind in one round; a damaged file costs a tenth of a fit.
SHARES = {
    "certificates": 2,
    "invariants": 1,
    "ordinary": 1,
    "regimes": 2,
    "calls": 2,
    "files": 4,
    "refits": 1,
    "forms": 1,
    "storages": 1,
    "stores": 4,
    "edits": 1,
    "parameters": 1,
    "scores": 1,
}
# Kinds that are not in a module of their own name.
MODULES = {
    "certificates": "fits",
    "invariants": "fits",
    "storages": "forms",
    "ordinary": "regimes",
}


def trial_of(kind):
    name = MODULES.get(kind, kind)
    return getattr(importlib.import_module(f"tests.fuzz.{name}"), kind)


def one(kind, seed):
    """Return the line of a failure, or None."""
    from . import TrialError

    try:
        trial_of(kind)(seed)
    except TrialError as failure:
        return " ".join(str(failure).split())
    return None


def child(kind, start, count):
    """Say which seed is tried, and what failed."""
    for seed in range(start, start + count):
        print(f"@{seed}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        line = one(kind, seed)
        if line is not None:
            print(f"!{line}", flush=True)
    print("done", flush=True)


def batch(kind, start, count):
    """Run seeds in a child; returns failures (seed, line) and the next seed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", "--child", kind, str(start), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    failures, seed, ended = [], start - 1, False
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    for line in process.stdout:
        signal.alarm(SILENCE)
        if line.startswith("@"):
            seed = int(line[1:])
        elif line.startswith("!"):
            failures.append((seed, line[1:].strip()))
        ended = line.strip() == "done"
    signal.alarm(0)
    code = process.wait()
    if ended:
        return failures, start + count
    failures.append((seed, f"the process ended with code {code}"))
    return failures, max(seed, start) + 1


class Campaign:
    """Next seeds, counts and failures, in files."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = self.folder / "state.json"
        self.next = json.loads(self.state.read_text()) if self.state.exists() else {}

    def run(self, kind, count):
        start = self.next.get(kind, 0)
        failures, self.next[kind] = batch(kind, start, count)
        with (self.folder / "failures.txt").open("a") as file:
            for seed, line in failures:
                print(f"{kind}:{seed}  {line}", file=file)
                print(f"{kind}:{seed}  {line}", flush=True)
        self.state.write_text(json.dumps(self.next))


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("trials", nargs="*", help="kind:seed, to repeat")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kinds", nargs="*", default=list(SHARES), choices=SHARES)
    parser.add_argument("--out", default=".fuzz")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        kind, start, count = args.child
        return child(kind, int(start), int(count))
    if args.trials:
        lines = [(t, one(*_parsed(t))) for t in args.trials]
        for trial, line in lines:
            print(f"{trial}  {line or 'passes'}")
        return sys.exit(any(line for _, line in lines))
    campaign = Campaign(args.out)
    end = time.monotonic() + 60 * args.minutes
    while time.monotonic() < end:
        for kind in args.kinds:
            campaign.run(kind, BATCH * SHARES[kind])
    print(f"trials so far: {campaign.next}; failures: {args.out}/failures.txt")
    return None


def _parsed(trial):
    kind, seed = trial.split(":")
    return kind, int(seed)


if __name__ == "__main__":
    main()
