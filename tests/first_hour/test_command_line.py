"""The command line people expect: help, suggestions, pipes, progress, notes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from krein import __version__
from tests.cli.terminal import ENVIRONMENT, KREIN, pipe, terminal

ONLY_STANDARD_LIBRARY = """
import sys
from krein.cli import main
assert main({words!r}) == 0
heavy = {{"numpy", "scipy", "sklearn"}} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("words", [["--help"], ["compare", "--help"], ["-V"]])
def test_help_needs_only_the_standard_library(words):
    code = ONLY_STANDARD_LIBRARY.format(words=words)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert ended.returncode == 0, ended.stderr
    assert __version__ in ended.stdout if words == ["-V"] else "usage:" in ended.stdout


def test_help_of_a_kernel(krein):
    shown = krein("kernel", "edit", "--help").out
    assert "Kernel of the Levenshtein distance." in shown
    assert "--param normalize=VALUE   (default: false)" in shown
    assert "--param gamma=VALUE   (default: median)" in shown


def test_list_of_kernels_has_a_line_and_the_parameters(krein):
    lines = krein("kernel", "list").out.splitlines()
    (k,) = (k for k, line in enumerate(lines) if line.startswith("edit ("))
    assert lines[k].startswith("edit (strings, ")
    assert "Levenshtein" in lines[k]
    assert "normalize=false" in lines[k + 1]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("comapre", "x.csv"), "'compare'"),
        (("compare", "x.csv", "--lables", "y"), "'--labels'"),
        (("kernel", "smith_watermann", "x", "-o", "K.npz"), "'smith_waterman'"),
        (("compare", "x.csv", "--methods", "flop"), "'flip'"),
        (("fit", "x", "--kind", "distanc", "-o", "m"), "'distance'"),
    ],
)
def test_did_you_mean(words, meant, krein):
    ended = krein(*words, code=2)
    assert ended.out == ""
    assert f"id you mean {meant}" in ended.err


def test_errors_show_the_usage_of_the_command(krein):
    ended = krein("predict", "--nosuch", "a", "b", code=2)
    assert ended.err.startswith("usage: krein predict ")
    assert "krein predict: error: " in ended.err


def write_npz(path, n=30):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) + np.repeat([[1.5], [-1.5]], n // 2, axis=0)
    np.savez(path, K=np.tanh(X @ X.T), y=np.repeat(["a", "b"], n // 2))
    return path


def test_standard_input_and_output(tmp_path):
    pytest.importorskip("rapidfuzz")
    words = ["kernel", "edit", "-", "-o", "-", "--param", "gamma=0.1", "--quiet"]
    made = subprocess.run(
        [*KREIN, *words],
        input="abcd\nabce\nxyz\n",
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert made.returncode == 0, made.stderr
    first = [float(cell) for cell in made.stdout.splitlines()[0].split(",")]
    assert first == pytest.approx(np.exp([-0.0, -0.1, -0.4]))
    seen = subprocess.run(
        [*KREIN, "inspect", "-", "--json"],
        input=made.stdout,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert json.loads(seen.stdout)["n"] == 3


def test_quiet_has_no_notes(tmp_path):
    K = tmp_path / "K.csv"
    np.savetxt(K, np.load(write_npz(tmp_path / "K.npz"))["K"], delimiter=",")
    y = tmp_path / "y.txt"
    y.write_text("a\n" * 15 + "b\n" * 15)
    fit = ("fit", K, "--labels", y, "--method", "flip", "--set", "C=1", "--force")
    loud = pipe(*fit, "-o", tmp_path / "m.krein")
    assert (loud.code, "read 30 x 30" in loud.err) == (0, True), loud.err
    quiet = pipe(*fit, "-o", tmp_path / "m.krein", "--quiet")
    assert (quiet.code, quiet.err) == (0, "")


def test_numbers_have_sensible_digits(tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    shown = krein("fit", K, "--set", "C=0.05439183", "-o", tmp_path / "m.krein").out
    assert "C=0.0544" in shown


SLOW_WORK = """
import time
import krein.words
with krein.words.progress_bar("counting", 10, show={show}) as advance:
    for step in range(8):
        time.sleep(0.2)
        advance.to(step + 1, 10, f"step {{step + 1}} of 10")
        krein.words.say("flip")
"""


@pytest.mark.parametrize("show", [True, False])
def test_progress_is_for_terminals(show):
    program = [sys.executable, "-c", SLOW_WORK.format(show=show)]
    shown = terminal(program=program).out
    assert ("counting " in shown) is show
    said = " so far, about ", " s left, step ", " of 10, flip"
    assert all((words in shown) is show for words in said)
    ended = subprocess.run(program, capture_output=True, text=True, env=ENVIRONMENT)
    assert ended.stdout == ended.stderr == ""


WARNS = """
import sys, warnings
import krein.cli.datasets as command
def run(args):
    warnings.warn("look out\\nhere")
    warnings.warn("look out\\nhere")
    return {"datasets": [], "folder": ""}
command.datasets = run
from krein.cli import main
sys.exit(main(["datasets", *sys.argv[1:]]))
"""


def test_a_warning_is_one_line():
    def err(*words):
        return subprocess.run(
            [sys.executable, "-c", WARNS, *words],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        ).stderr

    assert err() == "krein datasets: warning: look out here\n"
    assert err("--quiet") == ""


@pytest.mark.parametrize(
    ("out", "words"), [("K.docx", "K.docx"), ("none/K.npz", "does not exist")]
)
def test_kernel_checks_the_output_before_it_computes(out, words, tmp_path, krein):
    (tmp_path / "items.txt").write_text("a\nb\n")
    ended = krein("kernel", "lcs", "items.txt", "-o", out, cwd=tmp_path, code=2)
    assert words in ended.err
    assert os.listdir(tmp_path) == ["items.txt"]


def test_what_cannot_predict_says_so(tmp_path, krein):
    from krein import SpectrumTransformer, save_model

    model = SpectrumTransformer().fit(np.eye(3))
    path = save_model(model, tmp_path / "t.krein")
    ended = krein("predict", path, tmp_path / "rows.csv", code=2)
    assert "SpectrumTransformer, which transforms and does not predict" in ended.err


def test_probabilities_must_have_been_learnt(tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    model = tmp_path / "m.krein"
    krein("fit", K, "--set", "C=1", "-o", model)
    ended = krein("predict", model, K, "--proba", code=2)
    assert "krein fit --proba" in ended.err


def test_nothing_typed_shows_the_help(krein):
    ended = krein(code=2)
    assert ended.out == ""
    assert "try all methods on the same splits" in ended.err


def test_standard_input_may_hold_the_labels_too(products):
    pytest.importorskip("rapidfuzz")
    words = ["compare", "-", "--items", "name", "--labels", "category"]
    words += ["--kernel", "edit", "--methods", "flip", "--folds", "5", "--quiet"]
    with (products / "products.csv").open() as table:
        ended = subprocess.run(
            [*KREIN, *words],
            stdin=table,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
    assert ended.returncode == 0, ended.stderr
    assert "flip\t1.000" in ended.stdout


@pytest.mark.parametrize("option", ["--html", "--model"])
def test_a_dash_is_no_name_of_a_file(option, tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    ended = krein("compare", K, option, "-", cwd=tmp_path, code=2)
    assert "cannot go to standard output" in ended.err
    assert os.listdir(tmp_path) == ["K.npz"]


def test_p_values_only_where_they_can_be_small(tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    words = ("compare", K, "--methods", "svc,flip", "--scoring", "roc_auc", "--folds")
    few, enough = krein(*words, "4"), krein(*words, "5")
    assert "\tp\t" not in few.out
    assert "\tp\t" in enough.out
    assert "note: p: the probability" in enough.err
    assert "p: the prob" not in few.err
    by_items = krein("compare", K, "--methods", "svc,flip", "--folds", "2")
    assert "\tp\t" in by_items.out


def test_too_few_and_too_many_folds(tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    for folds in ("1", "16"):
        said = f"(--folds) must be from 2 to 15 (items of a class), got {folds}"
        assert said in krein("compare", K, "--folds", folds, code=2).err


def test_defaults_are_those_that_are_used(krein):
    """A kernel given by name settles its scale; the help says so."""
    assert "(default: median)" in krein("kernel", "edit", "--help").out
    listed = krein("kernel", "list").out
    assert "normalize=false gamma=median similarity=exponential" in listed
    wide = terminal("kernel", "list").out
    assert "\naffine_invariant (" in f"\n{wide}"  # nothing is cut
    assert "…" not in wide


def test_nothing_to_recommend_is_said(tmp_path, krein):
    K = write_npz(tmp_path / "K.npz")
    ended = krein("compare", K, "--methods", "profiles", "--folds", "3", code=2)
    assert "no method completed every split: profiles: " in ended.err
