"""The command that a report prints repeats the run: every option that matters."""

import shlex

import pytest

from krein.cli import build_parser, compare

# What does not change the result, or is where it goes.
OUTPUT = {"html", "model", "json", "force", "cache", "quiet", "jobs"}
VALUES = {"int": "3", "float": "0.5", "str": "name"}


def compare_actions():
    parser = build_parser()
    commands = next(a for a in parser._actions if a.dest == "command")
    actions = commands.choices["compare"]._actions
    return [a for a in actions if a.option_strings and a.dest != "help"]


def typed(action):
    """The option as somebody would type it, with a value that is not the default."""
    word = action.option_strings[-1]
    if action.nargs == 0:
        return [word]
    if action.choices:
        choice = next(c for c in action.choices if c != action.default)
        return [word, str(choice)]
    kind = getattr(action.type, "__name__", "str")
    return [word, {"param": "gamma=1"}.get(action.dest, VALUES.get(kind, "name"))]


@pytest.mark.parametrize(
    "action",
    [a for a in compare_actions() if a.dest not in OUTPUT],
    ids=lambda action: action.dest,
)
def test_every_option_is_repeated(action):
    parser = build_parser()
    labels = [] if action.dest == "labels" else ["--labels", "labels.csv"]
    words = ["compare", "K.csv", *labels, *typed(action)]
    args = parser.parse_args(words)
    again = parser.parse_args(shlex.split(compare._command(args))[1:])
    assert getattr(again, action.dest) == getattr(args, action.dest)


def test_symmetrize_is_repeated():
    words = ["compare", "K.csv", "--labels", "l.csv", "--symmetrize"]
    args = build_parser().parse_args(words)
    assert "--symmetrize" in compare._command(args)
