"""``krein embed``: coordinates and a map of items from their distances."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from krein.cli.options import (
    add_labels,
    add_output,
    add_reading,
    add_symmetrize,
    check_output,
    repeated,
)

SUMMARY = "place items on a map by their distances or similarities"
EXAMPLES = (
    "krein embed distances.csv --kind distance -o coordinates.csv --html map.html",
    "krein embed distances.csv --kind distance --correction lingoes -o out.csv",
    "krein embed distances.csv --kind distance -o out.csv --model map.krein",
    "krein predict map.krein new_rows.csv -o new_coordinates.csv",
)
_DRAWN = 3000  # items; more are one spot
_FACTS = {
    "stress": "{:.3f}: how far distances on the map are from those given (0: equal)",
    "negative_mass": "{:.1%} of the spectrum is below zero",
    "correction": "{:.4g} was added",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", help="a square matrix; - is stdin")
    add_reading(parser)
    add_labels(parser)
    add_symmetrize(parser)
    parser.add_argument(
        "--kind",
        choices=["similarity", "distance"],
        help="what the numbers mean: distances are placed by principal coordinates "
        "(PCoA), similarities (the default) in pseudo-Euclidean space",
    )
    parser.add_argument(
        "--components",
        type=int,
        default=2,
        metavar="N",
        help="coordinates (default: 2)",
    )
    parser.add_argument(
        "--correction",
        choices=["lingoes", "cailliez"],
        help="remove negative eigenvalues of distances by a constant",
    )
    parser.add_argument(
        "-o", "--out", required=True, metavar="FILE", help="coordinates, as csv"
    )
    parser.add_argument("--html", metavar="FILE", help="one page with the map")
    parser.add_argument(
        "--model", metavar="FILE", help="save the model, to place new items"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Fit, and write coordinates, page and model."""
    out, html, saved = (
        check_output(path, args.force) for path in (args.out, args.html, args.model)
    )
    import numpy as np

    from krein.cli.inputs import read_square
    from krein.items import called

    K, read = read_square(args)
    model, F = _fit(K, args)
    distances = args.kind == "distance"
    eigenvalues = model.eigenvalues_ if distances else np.linalg.eigvalsh(K)
    payload = {
        "file": args.file,
        "out": str(out),
        "items": len(F),
        **_quality(K if distances else None, model, F, eigenvalues),
    }
    rows = places(F, called(K, read.names))
    if read.target is not None:
        for row, label in zip(rows, read.target, strict=True):
            row["label"] = str(label)
    _write(out, rows, args.force)
    if html is not None:
        payload["html"] = str(html)
        _write_page(html, payload, rows, eigenvalues, args)
    if saved is not None:
        payload["model"] = str(saved)
        _save(model, saved, K, read.names)
    return payload


def _fit(K: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    from krein import PCoA, PseudoEuclideanEmbedding
    from krein.validation import looks_like_distances

    if args.kind is None and looks_like_distances(K):
        raise ValueError(
            f"{args.file} looks like distances (zero diagonal, nothing negative): add "
            "--kind distance, or insist with --kind similarity"
        )
    if args.components < 1:
        raise ValueError(f"--components must be 1 or more, got {args.components}")
    if args.kind == "distance":
        model = PCoA(args.components, correction=args.correction or "none")
    elif args.correction:
        raise ValueError("--correction is for --kind distance")
    else:
        model = PseudoEuclideanEmbedding(args.components)
    return model, model.fit_transform(K)


def _quality(D: Any, model: Any, F: Any, eigenvalues: Any) -> dict[str, Any]:
    """How much the coordinates show; the stress for distances D only."""
    import numpy as np
    from scipy.spatial.distance import pdist

    total = float(np.abs(eigenvalues).sum()) or 1.0
    shares = getattr(model, "proportion_explained_", model.eigenvalues_ / total)
    found = {"proportion_explained": shares.tolist()}
    if D is None:
        negative = float(-np.minimum(eigenvalues, 0.0).sum()) / total
        return {**found, "negative_mass": negative}
    d = D[np.triu_indices_from(D, 1)]
    rest = np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0)
    found |= {"stress": float(rest), "correction": model.correction_}
    return {**found, "negative_mass": model.negative_mass_}


def places(F: Any, names: list[str]) -> list[dict[str, Any]]:
    """One row per item: its name and coordinates."""
    head = ["item", *(f"axis{k + 1}" for k in range(F.shape[1]))]
    return [
        dict(zip(head, [name, *values], strict=True))
        for name, values in zip(names, F.tolist(), strict=True)
    ]


def _write(path: Any, rows: list[dict[str, Any]], force: bool) -> None:
    from krein.files import write_rows
    from krein.store.files import atomic_write

    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    with atomic_write(path, overwrite=force, text=True) as file:
        write_rows(file, table, quote_numbers=True)


def _write_page(
    path: Any,
    payload: dict[str, Any],
    rows: list[dict[str, Any]],
    eigenvalues: Any,
    args: argparse.Namespace,
) -> None:
    import numpy as np

    from krein.report.render import render_map
    from krein.store.files import atomic_write

    shown: Any = np.arange(len(rows))
    if len(rows) > _DRAWN:
        shown = np.sort(np.random.default_rng(0).choice(shown, _DRAWN, replace=False))
    options = repeated(args, "components", "correction", "out", "html", "model")
    found = {
        "title": f"map of {Path(args.file).name}",
        "finding": _finding(payload),
        "facts": _facts(payload),
        "kind": args.kind or "similarity",
        "items": [rows[int(i)] for i in shown],
        "shares": payload["proportion_explained"],
        "eigenvalues": [float(value) for value in eigenvalues],
        "hidden": len(rows) - shown.size,
        "command": f"krein embed {args.file} {options}",
    }
    with atomic_write(path, overwrite=args.force, text=True) as file:
        file.write(render_map(found))


def _finding(payload: dict[str, Any]) -> str:
    shown = sum(abs(share) for share in payload["proportion_explained"][:2])
    return f"The map shows {shown:.0%} of what the numbers say"


def _facts(payload: dict[str, Any]) -> dict[str, str]:
    shares = ", ".join(f"{share:.1%}" for share in payload["proportion_explained"])
    facts = {"items": str(payload["items"]), "proportion per axis": shares}
    for name, words in _FACTS.items():
        if payload.get(name):
            facts[name.replace("_", " ")] = words.format(payload[name])
    return facts


def _save(model: Any, path: Any, K: Any, names: list[str] | None) -> None:
    import numpy as np

    from krein import save_model

    if names is not None:
        model.item_names_ = list(names)
    model.item_range_ = np.array([K.min(), K.max()])
    save_model(model, path)


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written and how good it is."""
    from krein.cli.output import print_table

    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {_finding(payload)}.")
    print_table(["fact", "value"], list(_facts(payload).items()))
