"""``krein kernel``: a similarity matrix of items; what the kernels are."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from krein.cli import Options
from krein.cli.console import check_output, print_note, read_compared
from krein.cli.learning import kernel_defaults, make_kernel
from krein.files.writers import check_format, write_matrix, write_table
from krein.kernels import KERNELS, kernel_matrix, list_kernels
from krein.words import few_digits


def kernel(args: Options) -> dict[str, Any]:
    """Write the matrix, with the names where there are any; or return facts."""
    if args.name == "list":
        return {"kernels": [_facts(name) for name in list_kernels()]}
    made = make_kernel(args.name, args.param)
    if args.input is None:
        return _facts(args.name)
    if args.out is None:
        raise ValueError("name the file to write: -o K.npz")
    out = None if args.out == "-" else check_output(args.out, args.force)
    read = train = read_compared(args.input, made, args)
    print_note(args, *read.notes)
    if args.against:
        train = read_compared(args.against, made, args)
        print_note(args, *train.notes)
    if out is not None:  # refused before anything is computed
        check_format(out, names=bool(read.names or train.names))
    made = made.fit(train.data)
    against, columns = (train.data, train.names) if args.against else (None, None)
    how = {"n_jobs": args.jobs, "progress": not args.quiet}
    K = kernel_matrix(made, read.data, against, **how)
    if out is None:
        write_table(sys.stdout, K, read.names, columns, ",")
    else:
        write_matrix(out, K, names=read.names, columns=columns, overwrite=args.force)
    return {
        "kernel": repr(made),
        "items": len(read.data),
        "against": len(train.data) if args.against else None,
        "out": args.out,
    }


def _facts(name: str) -> dict[str, Any]:
    facts = KERNELS[name]
    defaults = kernel_defaults(name)
    text = inspect.getdoc(facts.function) or "not described"
    return {
        "name": name,
        "items": facts.input,
        "is": facts.definiteness,
        "about": text.partition("\n")[0].replace("``", ""),
        "parameters": {key: shown(default) for key, default in defaults.items()},
        "note": facts.note,
        "extra": facts.extra,
        "text": text.partition("\n\nExamples\n")[0],
    }


def shown(default: Any) -> str:
    """Return a default as it would be typed."""
    return str(default).lower() if isinstance(default, bool | None) else str(default)


def show_kernel(payload: dict[str, Any], args: Options) -> None:
    """Print what was written, or what the kernels are."""
    if "kernels" in payload:
        for facts in payload["kernels"]:
            words = " ".join(map("=".join, facts["parameters"].items()))
            print("{name} ({items}, {is}): {about}".format(**facts))
            print(f"    {words}")
    elif "parameters" in payload:
        _show_page(payload)
    elif args.out != "-":
        against = f" against {payload['against']}" if payload["against"] else ""
        print(f"{payload['out']}: {payload['items']} items{against}")
        print(few_digits(payload["kernel"]))


def _show_page(facts: dict[str, Any]) -> None:
    print(f"usage: krein kernel {facts['name']} INPUT [--param NAME=VALUE] -o K.npz\n")
    print("{text}\n\nitems: {items}; as a matrix: {is}. {note}".format(**facts))
    if facts["extra"]:
        print(f'needs: pip install "krein[{facts["extra"]}]"')
    for key, default in facts["parameters"].items():
        print(f"  --param {key}=VALUE   (default: {default})")
