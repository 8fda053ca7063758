"""Keep what a measurement printed, so that pages can quote it.

    python benchmarks/record.py method_costs.py 2000
    python benchmarks/record.py algorithm_1.py factors --name algorithm_1_factors

runs the script of this folder and writes what it printed to
benchmarks/recorded/<name>.txt, with the command in the first line. The numbers of the
documentation are looked up there by tests/test_numbers.py.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"


def main(words: list[str]) -> int:
    """Run one script and keep its output."""
    name = Path(words[0]).stem
    if "--name" in words:
        at = words.index("--name")
        name = words[at + 1]
        words = words[:at] + words[at + 2 :]
    command = [sys.executable, str(HERE / words[0]), *words[1:]]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    if run.returncode:
        print(f"nothing is recorded: {words[0]} failed", file=sys.stderr)
        return run.returncode
    RECORDED.mkdir(exist_ok=True)
    shown = shlex.join(["python", f"benchmarks/{words[0]}", *words[1:]])
    text = f"# {shown}\n\n{run.stdout}"
    (RECORDED / f"{name}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
