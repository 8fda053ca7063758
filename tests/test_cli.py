"""The command line: exit codes, one-line errors, JSON."""

import json
import subprocess
import sys

import pytest

import krein
from krein.cli import COMMANDS, main


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"krein {krein.__version__}\n"


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in COMMANDS:
        assert command in shown


@pytest.mark.parametrize("argv", [[], ["nosuch"], ["datasets", "--nosuch"]])
def test_bad_usage_is_2(argv, capsys):
    assert main(argv) == 2
    assert "krein" in capsys.readouterr().err


def test_bad_input_is_2_and_one_line(capsys):
    assert main(["kernel", "nosuch"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("krein kernel: error: there is no kernel 'nosuch'")


def test_failure_is_1(monkeypatch, capsys):
    def fails(args):
        raise ConnectionError("no network\nat all")

    monkeypatch.setattr("krein.cli.datasets.datasets", fails)
    assert main(["datasets"]) == 1
    assert capsys.readouterr().err == "krein datasets: error: no network at all\n"


def test_datasets(capsys):
    assert main(["datasets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["datasets"]
    assert {"name": "sonar", "kind": "vectors", "source": "bundled"} in listed
    assert [row["name"] for row in listed] == krein.list_datasets()
    assert main(["datasets"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(listed) + 2


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m krein datasets | head -n 1"
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert ended.stdout.split()[0] == krein.list_datasets()[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    ended = subprocess.run(
        [sys.executable, "-m", "krein", "demo", "--json", "--output", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout), (folder / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_demo_begins_with_what_it_found(demo):
    report, page = demo
    digits, promoters = report["cases"]
    recommended = digits["recommended"]
    wrong = {row["method"]: 1 - row["accuracy"] for row in digits["table"]}
    assert recommended == "similarity"
    assert wrong[recommended] == pytest.approx(0.033, abs=0.012)
    assert wrong[recommended] + 0.01 < wrong["features"]  # a simple baseline
    assert wrong[recommended] + 0.05 < min(wrong["svc"], wrong["neighbors"])
    assert f"on {100 * wrong[recommended]:.1f} %" in digits["finding"]
    assert page.count("splits Similarity model was fed the similarity") == 4
    assert "About 50 similarities" in page
    headline = page.split("<h1>")[1].split("</h1>")[0].split("</span>")[1]
    assert digits["title"] in headline
    assert len(headline.removeprefix(f" {digits['title']}:").split()) <= 15
    assert "SVM on raw matrix is wrong on" in page
    assert "Nothing has to be done" in promoters["finding"]


@pytest.mark.slow
def test_demo_tells_how_indefinite_both_are(demo):
    digits, promoters = demo[0]["cases"]
    assert digits["diagnosis"]["negative_mass"] == pytest.approx(0.042, abs=0.001)
    assert promoters["diagnosis"]["verdict"] == "psd"
    assert "there is nothing to fix" in promoters["diagnosis"]["advice"][0]


@pytest.mark.slow
def test_the_report_is_one_file_without_network(demo):
    report, page = demo
    for case in report["cases"]:
        assert case["title"] in page
    assert page.count('role="img"') == 3 * len(report["cases"])
    assert len(page) < 3_000_000
    for outside in ("http:", "https:", "src=x", "@import", "url("):
        assert outside not in page
