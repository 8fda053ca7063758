"""The page about new commands, followed to the letter in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import krein

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "command.md"


def test_a_module_and_a_table_are_a_command(tmp_path):
    if not PAGE.exists():
        pytest.skip("this copy of krein has no docs")
    text = PAGE.read_text("utf-8")
    (module,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (table,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    shutil.copytree(Path(krein.__file__).parent, tmp_path / "krein")
    commands = tmp_path / "krein" / "cli"
    (commands / "count.py").write_text(module)
    with (commands / "options.toml").open("a") as file:
        file.write(f"\n{table}")
    (tmp_path / "K.csv").write_text("a,b\n1.0,0.5\n0.5,1.0\n")

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "krein", *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("count", "K.csv", "--quiet").stdout == "2 items\n"
    assert '"items": 2' in run("count", "K.csv", "--json").stdout
    assert "krein count similarities.csv" in run("count", "--help").stdout
    missing = run("count", "missing.csv")
    assert missing.returncode == 2
    assert "missing.csv" in missing.stderr
