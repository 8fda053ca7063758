"""``krein completion``: a script that lets the shell complete krein's words."""

from __future__ import annotations

import argparse
from typing import Any

SUMMARY = "print a completion script for bash, zsh or fish"
EXAMPLES = (
    'eval "$(krein completion bash)"        in ~/.bashrc',
    'eval "$(krein completion zsh)"         in ~/.zshrc',
    "krein completion fish > ~/.config/fish/completions/krein.fish",
)

_BASH = """_krein() {
    local word=${COMP_WORDS[COMP_CWORD]} words=""
    case ${COMP_WORDS[1]} in
%(cases)s
    *) words="%(commands)s --help --version" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="%(commands)s --help --version"
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _krein krein
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the script from the parser itself."""
    from krein.cli import build_parser

    (commands,) = (a for a in build_parser()._actions if a.dest == "command")
    parsers: Any = commands.choices
    words = {name: _words(name, sub) for name, sub in parsers.items()}
    script = _fish(words) if args.shell == "fish" else _bash(words, args.shell)
    return {"shell": args.shell, "script": script}


def _words(name: str, parser: Any) -> list[str]:
    """Options of a command, and the words its positional arguments may be."""
    words = list(parser.options)
    for action in parser._actions:
        if not action.option_strings and action.choices:
            words += map(str, action.choices)
    if name == "kernel":
        from krein.kernels import list_kernels

        words += ["list", *list_kernels()]
    return words


def _bash(words: dict[str, list[str]], shell: str) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(w)}" ;;' for name, w in words.items()
    )
    script = _BASH % {"cases": cases, "commands": " ".join(words)}
    if shell == "zsh":  # zsh runs bash's functions
        script = "autoload -U +X bashcompinit && bashcompinit\n" + script
    return script


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c krein -n __fish_use_subcommand -a '{' '.join(words)}'"]
    for name, known in words.items():
        lines.append(
            f"complete -c krein -n '__fish_seen_subcommand_from {name}' "
            f"-a '{' '.join(known)}'"
        )
    return "\n".join(lines) + "\n"


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print the script."""
    print(payload["script"], end="")
