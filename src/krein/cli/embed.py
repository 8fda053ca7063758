"""``krein embed``: a map of the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

import krein
from krein.cli import Options, console, learning, repeated
from krein.cli.console import check_output, places
from krein.cli.saving import save_named
from krein.diagnostics.facts import negative_mass
from krein.items import called
from krein.report.map import render_map
from krein.store.files import atomic_write

_DRAWN = 3000  # items; more are one spot


def embed(args: Options) -> dict[str, Any]:
    """Fit, and write coordinates, page and model."""
    paths = args.out, args.html, args.model
    out, html, saved = (check_output(path, args.force) for path in paths)
    K, read = console.read_symmetric(args)
    model = _unfitted(K, args)
    F = model.fit_transform(K)
    payload = {"file": args.file, "out": str(out), "items": len(F)}
    if args.kind == "distance":
        eigenvalues, d = model.eigenvalues_, squareform(K, checks=False)
        rest = np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0)
        shares = model.proportion_explained_
        payload |= {"stress": float(rest), "correction": model.correction_}
    else:
        eigenvalues = np.linalg.eigvalsh(K)
        shares = model.eigenvalues_ / (np.abs(eigenvalues).sum() or 1.0)
    payload["negative_mass"] = negative_mass(eigenvalues)
    payload["proportion_explained"] = shares.tolist()
    seen = np.abs(shares[:2]).sum()
    payload["text"] = f"The map shows {seen:.0%} of what the numbers say"
    columns = places(F, called(K, read.names))
    if read.target is not None:
        columns["label"] = [str(label) for label in read.target]
    rows = console.as_rows(columns)
    console.write_csv(out, rows, args.force, quote_numbers=True)
    if html is not None:
        payload["html"] = str(html)
        _write_page(html, payload, rows, eigenvalues, args)
    if saved is not None:
        payload["model"] = str(saved)
        save_named(model, saved, read.names, K)
    return payload


def _unfitted(K: Any, args: Options) -> Any:
    learning.check_direction(args, K)
    if args.kind == "distance":
        return krein.PCoA(args.components, correction=args.correction or "none")
    if args.correction:
        raise ValueError("--correction is for --kind distance")
    return krein.PseudoEuclideanEmbedding(args.components)


def _write_page(
    path: Any, payload: dict, rows: list[dict], eigenvalues: Any, args: Any
) -> None:
    shown = np.sort(np.random.default_rng(0).permutation(len(rows))[:_DRAWN])
    options = repeated(args, "components", "correction", "out", "html", "model")
    page = {
        "title": f"map of {Path(args.file).name}",
        "finding": payload["text"],
        "facts": _facts(payload),
        "kind": args.kind or "similarity",
        "items": [rows[int(i)] for i in shown],
        "shares": payload["proportion_explained"],
        "eigenvalues": [float(value) for value in eigenvalues],
        "hidden": len(rows) - shown.size,
        "command": f"krein embed {args.file} {options}",
    }
    with atomic_write(path, overwrite=args.force, text=True) as file:
        file.write(render_map(page))


def _facts(payload: dict[str, Any]) -> dict[str, str]:
    shares = ", ".join(f"{share:.1%}" for share in payload["proportion_explained"])
    facts = {"items": str(payload["items"]), "proportion per axis": shares}
    for name in ("stress", "correction", "negative_mass"):
        if payload.get(name):
            facts[name.replace("_", " ")] = f"{payload[name]:.4g}"
    return facts


def show_embed(payload: dict[str, Any], args: Options) -> None:
    """Print what was written and how good it is."""
    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {payload['text']}.")
    console.print_table(["fact", "value"], list(_facts(payload).items()))
