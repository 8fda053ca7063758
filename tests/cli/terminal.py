"""Run krein as users do: through a pipe, and on a (pseudo) terminal."""

import os
import pty
import subprocess
import sys
from dataclasses import dataclass

KREIN = [sys.executable, "-m", "krein"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}


@dataclass
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str = ""


def pipe(*words, **options):
    """Run with stdout and stderr in pipes."""
    ended = subprocess.run(
        [*KREIN, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=300,
        **options,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def terminal(*words, program=KREIN, **options):
    """Run with stdout and stderr on a pseudo-terminal, both in ``out``."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*program, *map(str, words)],
            stdout=theirs,
            stderr=theirs,
            stdin=theirs,
            env={**ENVIRONMENT, "TERM": "xterm-256color"},
            **options,
        )
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            shown += part
        return Ended(process.wait(300), shown.decode("utf-8", "replace"))
    finally:
        os.close(ours)
