"""The Makefile says clearly what is wrong with the python3 it finds."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None, reason="make is not installed"
)

OLD = 'case "$*" in *version_info*) exit 1 ;; -V) echo Python 3.9.2 ;; esac'
NO_VENV = 'case "$*" in *ensurepip*) exit 1 ;; esac'


# What `make test PYTHON=python3.12` hands down to a make inside of the tests.
OUTER = ("PYTHON", "VENV", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")


def make(folder, *arguments, **environment):
    plain = {name: text for name, text in os.environ.items() if name not in OUTER}
    return subprocess.run(
        ["make", "--no-print-directory", f"VENV={folder}/venv", *arguments],
        cwd=REPOSITORY,
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (OLD, "Python 3.11 or newer is needed, but 'python3' is Python 3.9.2"),
        (NO_VENV, "'python3' lacks the modules venv and ensurepip"),
    ],
)
def test_unfit_python_is_explained(script, message, tmp_path):
    fake = tmp_path / "python3"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    ended = make(tmp_path, "demo", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / "venv").exists()


def test_missing_python_is_explained(tmp_path):
    ended = make(tmp_path, "demo", "PYTHON=no-such-python")
    assert ended.returncode == 2
    assert "'no-such-python' was not found" in ended.stderr


def test_every_target_is_explained(tmp_path):
    shown = make(tmp_path, "help").stdout
    targets = "demo test test-all test-oldest test-versions coverage fuzz mutants lint"
    targets += " lines docs bench bench-check papers dist clean"
    assert [line.split()[1] for line in shown.splitlines()] == targets.split()
