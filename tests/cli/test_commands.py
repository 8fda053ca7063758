"""Every command through a pipe and on a terminal; bad input; interruptions."""

import csv
import json
import os

import numpy as np
import pytest

from krein import load_model, sigmoid_kernel
from krein.cli import COMMANDS, main
from krein.comparison import run as comparison_run
from tests.cli.terminal import Ended, pipe, terminal

ESCAPE = "\x1b["


@pytest.fixture
def krein(capsys):
    """Run a command in this process, which starts in no time."""

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def refused(krein):
    """The one line on stderr of a command that must fail."""

    def run(*words, code=2):
        ended = krein(*words)
        assert ended.code == code, (ended.out, ended.err)
        assert ended.out == ""
        *notes, error = ended.err.splitlines()
        assert only_notes(notes)
        assert error.startswith(f"krein {words[0]}: error: ")
        return error

    return run


def only_notes(lines):
    """Beside errors, standard error says what was read, in one line each."""
    return all(": note: " in line for line in lines)


def write_table(path, head, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A similarity with names, its labels, new rows, and vectors."""
    folder = tmp_path_factory.mktemp("input")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3)) + np.repeat([[1.0], [-1.0]], 20, axis=0)
    K = sigmoid_kernel(X)
    names = [f"item {i}" for i in range(40)]
    labels = np.repeat(["rock", "metal"], 20)
    found = {"folder": folder}
    found["K"] = write_table(
        folder / "K.csv",
        ["", *names],
        [[n, *row] for n, row in zip(names, K.tolist(), strict=True)],
    )
    found["labels"] = write_table(
        folder / "labels.csv", ["name", "label"], zip(names, labels, strict=True)
    )
    found["groups"] = write_table(
        folder / "groups.csv",
        ["name", "label"],
        zip(names, np.arange(40) // 4, strict=True),
    )
    found["new"] = write_table(
        folder / "new.csv",
        ["", *names],
        [[f"new {i}", *K[i].tolist()] for i in (0, 25, 39)],
    )
    found["vectors"] = folder / "X.npy"
    np.save(found["vectors"], X)
    return found


def quick(files, *more):
    """A comparison of two methods in two folds."""
    chosen = ("--methods", "clip,neighbors", "--folds", "2")
    return ("compare", files["K"], "--labels", files["labels"], *chosen, *more)


# -------------------------------------------------------------- what every command does


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    examples = shown.split("examples:\n")[1]
    assert f"krein {command}" in examples
    assert "--json" in shown


def commands(files, folder):
    """One run of each command that takes files, with the word its output must have."""
    labels = ("--labels", files["labels"])
    model = folder / "model.krein"
    return [
        (("inspect", files["K"], *labels), "negative mass"),
        (quick(files), "SVM with clip"),
        (("kernel", "tl1", files["vectors"], "-o", folder / "K.npy"), "40 items"),
        (("kernel", "list"), "sigmoid"),
        (("fit", files["K"], *labels, "--set", "C=1", "-o", model), "40 items"),
        (("predict", model, files["new"]), "new 0"),
        (("datasets",), "sonar"),
    ]


def test_quiet_and_plain_in_a_pipe(files):
    ended = pipe(*quick(files))
    assert ended.code == 0
    assert only_notes(ended.err.splitlines())
    assert ESCAPE not in ended.out + ended.err
    assert pipe(*quick(files), "--quiet").err == ""
    assert "\nmethod\taccuracy\t" in ended.out


@pytest.mark.slow
def test_every_command_in_a_pipe(files, tmp_path):
    for words, expected in commands(files, tmp_path):
        ended = pipe(*words)
        assert ended.code == 0, words
        assert only_notes(ended.err.splitlines()), words
        assert expected in ended.out
        assert ESCAPE not in ended.out


def test_progress_on_a_terminal(files):
    compared = terminal(*quick(files))
    assert compared.code == 0
    assert ESCAPE in compared.out  # its progress
    assert "SVM with clip" in compared.out


@pytest.mark.slow
def test_every_command_on_a_terminal(files, tmp_path):
    for words, expected in commands(files, tmp_path):
        ended = terminal(*words)
        assert ended.code == 0, ended.out
        assert expected in ended.out


@pytest.mark.slow
def test_the_demo_on_a_terminal(tmp_path):
    """It draws its progress and names the report; the pipe is tested in test_cli."""
    ended = terminal("demo", "--output", tmp_path / "new")
    assert ended.code == 0, ended.out
    assert (tmp_path / "new" / "index.html").is_file()
    assert "index.html" in ended.out
    assert "digits" in ended.out.lower()


def test_every_command_in_this_process(files, tmp_path, krein):
    for words, expected in commands(files, tmp_path):
        ended = krein(*words)
        assert ended.code == 0, words
        assert only_notes(ended.err.splitlines()), words
        assert expected in ended.out


def test_json_is_json(files, tmp_path, krein):
    for words, _ in commands(files, tmp_path):
        ended = krein(*words, "--json")
        assert ended.code == 0, words
        assert only_notes(ended.err.splitlines()), words
        assert isinstance(json.loads(ended.out), dict)


# ------------------------------------------------------------------------------ results


def test_compare_writes_report_and_model(files, tmp_path, krein):
    page, model = tmp_path / "report.html", tmp_path / "best.krein"
    ended = krein(*quick(files, "--html", page, "--model", model, "--json"))
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["recommended"] in ("clip", "neighbors")
    assert {row["method"] for row in found["table"]} == {"clip", "neighbors"}
    assert found["splits"] == 2
    text = page.read_text("utf-8")
    assert "krein compare" in text  # how to repeat it
    assert "item 7: rock" in text  # names at the points
    assert load_model(model).item_names_[:2] == ["item 0", "item 1"]


def test_compare_with_groups_and_a_kernel(files, krein):
    words = ("compare", files["vectors"], "--labels", files["labels"], "--json")
    words = (*words, "--ignore-names")
    options = ("--kernel", "tl1", "--param", "tau=3.0", "--methods", "clip,square")
    ended = krein(*words, *options, "--groups", files["groups"], "--folds", "2")
    assert ended.code == 0, ended.err
    assert {row["method"] for row in json.loads(ended.out)["table"]} == {
        "clip",
        "square",
    }


def test_compare_takes_several_kernels(files, tmp_path, krein, refused):
    words = ("compare", files["vectors"], "--labels", files["labels"], "--folds", "3")
    several = (*words, "--ignore-names", "--methods", "clip,svc", "--kernel")
    page, saved = tmp_path / "page.html", tmp_path / "m.krein"
    told = krein(*several, "tl1,sigmoid", "--html", page, "--model", saved, "--json")
    payload = json.loads(told.out)
    assert sorted(payload["kernels"]) == ["sigmoid", "tl1"]
    assert payload["kernel"] == payload["kernels"][0]
    assert {row["kernel"] for row in payload["table"]} == {"sigmoid", "tl1"}
    assert load_model(saved).kernel_.name == payload["kernel"]
    assert f"--kernel {payload['kernel']} " in page.read_text()
    assert "kernel\tmethod" in krein(*several, "tl1, sigmoid").out
    assert "there is no kernel 'tl2'" in refused(*several, "sigmoid,tl2")
    assert "--param is for one kernel" in refused(
        *several, "tl1,sigmoid", "--param", "tau=1"
    )


def test_fit_then_predict(files, tmp_path, krein):
    model, out = tmp_path / "m.krein", tmp_path / "labels.csv"
    words = ("fit", files["K"], "--labels", files["labels"], "-o", model)
    assert krein(*words, "--method", "flip").code == 0
    assert krein("predict", model, files["new"], "-o", out).code == 0
    assert out.read_text() == ("item,label\nnew 0,rock\nnew 25,metal\nnew 39,metal\n")


def test_predict_by_a_model_with_a_kernel(files, tmp_path, krein):
    model = tmp_path / "m.krein"
    words = ("fit", files["vectors"], "--labels", files["labels"], "-o", model)
    words = (*words, "--ignore-names")
    assert krein(*words, "--kernel", "rbf", "--set", "C=1").code == 0
    ended = krein("predict", model, files["vectors"], "--json")
    assert len(json.loads(ended.out)["items"]) == 40


def test_inspect_agrees_with_diagnose(files, krein):
    from krein import diagnose, read_matrix

    found = json.loads(krein("inspect", files["K"], "--json").out)
    expected = diagnose(read_matrix(files["K"]).data)
    assert found["signature"] == list(expected.signature)
    assert found["negative_mass"] == pytest.approx(expected.negative_mass)


# ---------------------------------------------------------------------------- bad input


@pytest.fixture
def model(files, tmp_path, krein):
    path = tmp_path / "m.krein"
    words = ("fit", files["K"], "--labels", files["labels"], "--set", "C=1")
    assert krein(*words, "-o", path).code == 0
    return path


def test_predict_finds_columns_by_name(files, model, tmp_path, krein, refused):
    with files["new"].open(newline="") as file:
        head, *rows = csv.reader(file)
    renamed = write_table(tmp_path / "a.csv", ["", "x", *head[2:]], rows)
    assert "missing 'item 0'; unknown 'x'" in refused("predict", model, renamed)
    order = [0, 2, 1, *range(3, 41)]
    swapped = write_table(
        tmp_path / "b.csv",
        [head[i] for i in order],
        [[row[i] for i in order] for row in rows],
    )
    assert (
        krein("predict", model, swapped).out
        == krein("predict", model, files["new"]).out
    )
    fewer = write_table(tmp_path / "c.csv", head[:-1], [row[:-1] for row in rows])
    assert "missing 'item 39'" in refused("predict", model, fewer)


def test_predict_refuses_what_is_no_model(files, model, refused):
    assert "not a krein model" in refused("predict", files["vectors"], files["new"])
    model.write_bytes(model.read_bytes()[:-100])
    assert "damaged" in refused("predict", model, files["new"])


def test_bad_files_and_labels(files, tmp_path, refused):
    labels = ("--labels", files["labels"])
    assert "not a file" in refused("inspect", tmp_path / "none.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,x\n")
    assert "bad.csv" in refused("inspect", bad)
    short = write_table(tmp_path / "short.csv", ["name", "label"], [["item 0", "rock"]])
    assert "no label for 'item 1'" in refused("compare", files["K"], "--labels", short)
    assert "no labels" in refused("compare", files["K"])
    assert "there is no method 'magic'" in refused(
        "compare", files["K"], *labels, "--methods", "magic"
    )
    assert "there is no kernel 'magic'" in refused(
        "kernel", "magic", files["vectors"], "-o", tmp_path / "K.npy"
    )
    assert "--param must look like" in refused(
        "kernel", "tl1", files["vectors"], "-o", tmp_path / "K.npy", "--param", "tau"
    )
    one = write_table(
        tmp_path / "one.csv", ["name", "label"], [[f"item {i}", "x"] for i in range(40)]
    )
    assert "at least two classes" in refused("compare", files["K"], "--labels", one)


def test_outputs_are_not_overwritten(files, model, tmp_path, krein, refused):
    before = model.read_bytes()
    fit = ("fit", files["K"], "--labels", files["labels"], "--set", "C=2")
    assert "--force" in refused(*fit, "-o", model)
    assert "--force" in refused(*quick(files, "--model", model))
    assert "--force" in refused(*quick(files, "--html", model))
    assert "--force" in refused("predict", model, files["new"], "-o", model)
    taken = tmp_path / "K.npz"
    taken.write_bytes(b"")
    assert "--force" in refused("kernel", "tl1", files["vectors"], "-o", taken)
    assert model.read_bytes() == before
    assert krein(*fit, "-o", model, "--force").code == 0
    assert model.read_bytes() != before
    assert "folder" in refused(*fit, "-o", tmp_path / "none" / "m.krein")
    assert "folder" in refused(*fit, "-o", tmp_path)


def test_a_read_only_folder_is_a_failure(files, tmp_path, refused):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write to read-only folders")
    err = refused(*quick(files, "--html", locked / "r.html"), code=1)
    assert "Permission denied" in err
    assert list(locked.iterdir()) == []


def test_a_failure_at_the_last_moment_leaves_nothing(
    files, tmp_path, refused, monkeypatch
):
    def denied(*args):
        raise PermissionError("Permission denied")

    monkeypatch.setattr("krein.store.files.os.replace", denied)
    fit = ("fit", files["K"], "--labels", files["labels"], "--set", "C=2")
    assert "Permission denied" in refused(*fit, "-o", tmp_path / "m.krein", code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(files, tmp_path, monkeypatch, capsys):
    def no_extra(*args, **kwargs):
        raise ImportError('pip install "krein[bio]"')

    monkeypatch.setattr("krein.cli.kernel.kernel_matrix", no_extra)
    out = str(tmp_path / "K.npy")
    assert main(["kernel", "tl1", str(files["vectors"]), "-o", out]) == 1
    assert 'pip install "krein[bio]"' in capsys.readouterr().err


# ------------------------------------------------------------------------ interruptions


def test_an_interrupted_comparison_leaves_nothing_half_written(
    krein, files, tmp_path, monkeypatch
):
    cache, page = tmp_path / "cache", tmp_path / "report.html"
    one_split = comparison_run.evaluate_split

    def interrupted_later(*arguments):
        if list(cache.glob("*.json")):
            raise KeyboardInterrupt
        return one_split(*arguments)

    monkeypatch.setattr(comparison_run, "evaluate_split", interrupted_later)
    ended = krein(
        "compare", files["K"], "--labels", files["labels"], "--cache", cache,
        "--html", page, "--model", tmp_path / "m.krein",
    )  # fmt: skip
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == "krein compare: error: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    kept = list(cache.iterdir())
    assert kept
    assert all(isinstance(json.loads(path.read_text()), dict) for path in kept)
