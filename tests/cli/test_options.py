"""Options: each command has its own and None for those of others; no other name."""

import importlib

import pytest

from krein.cli import COMMANDS, Options, build_parser, option_names, parse

NEEDED = {
    "demo": [],
    "datasets": [],
    "kernel": ["list"],
    "inspect": ["K.csv"],
    "compare": ["K.csv"],
    "fit": ["K.csv", "-o", "m.krein"],
    "repair": ["K.csv", "-o", "out.csv"],
    "embed": ["K.csv", "-o", "out.csv"],
    "predict": ["m.krein", "rows.csv"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_module_of_its_name(command):
    module = importlib.import_module(f"krein.cli.{command}")
    for function in (command, f"show_{command}"):
        assert getattr(module, function).__module__ == module.__name__


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_other_commands_are_none_and_misspelt_ones_raise(command):
    args = parse([command, *NEEDED[command]])
    own = vars(build_parser().parse_args([command, *NEEDED[command]]))
    assert {name: getattr(args, name) for name in own if name != "parser"} == {
        name: value for name, value in own.items() if name != "parser"
    }
    assert all(getattr(args, name) is None for name in option_names() - set(own))
    with pytest.raises(AttributeError, match="symmetrise"):
        _ = args.symmetrise


def test_every_declared_option_is_known_under_its_own_name():
    commands = next(a for a in build_parser()._actions if a.dest == "command")
    parsers = commands.choices.values()
    typed = {action.dest for parser in parsers for action in parser._actions}
    assert option_names() == typed - {"help"}
    with pytest.raises(AttributeError):
        _ = Options(command="fit").out_file
