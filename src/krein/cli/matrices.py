"""``krein repair`` and ``krein embed``: what is made of one symmetric matrix."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from krein import PCoA, PseudoEuclideanEmbedding, check_certificate, nearest_psd
from krein.cli.fit import save_named
from krein.cli.inputs import read_symmetric
from krein.cli.output import (
    as_rows,
    check_output,
    print_facts,
    print_note,
    print_table,
    write_csv,
)
from krein.cli.parser import repeated
from krein.cli.problem import check_direction
from krein.files import check_format, write_matrix
from krein.items import called
from krein.report.render import render_map
from krein.store.files import atomic_write

_DRAWN = 3000  # items; more are one spot
_FACTS = {
    "stress": "{:.3f}: how far distances on the map are from those given (0: equal)",
    "negative_mass": "{:.1%} of the spectrum is below zero",
    "correction": "{:.4g} was added",
}


def repair(args: argparse.Namespace) -> dict[str, Any]:
    """Write the nearest positive semidefinite matrix, names kept."""
    out = check_output(args.out, args.force)
    K, read = read_symmetric(args)
    check_format(args.out, names=read.names is not None)
    if args.diagonal == "free" and np.all(K.diagonal() == 1.0):
        print_note(args, "the diagonal is 1 and may change; --diagonal unit keeps it")
    repaired = nearest_psd(
        K, diagonal=args.diagonal, min_eigenvalue=args.min_eigenvalue
    )
    report = check_certificate(repaired, K)
    if not report.holds:
        raise ArithmeticError(report.text)
    write_matrix(args.out, repaired.matrix, names=read.names, overwrite=args.force)
    return {
        "file": args.file,
        "out": str(out),
        "text": repaired.text,
        "status": repaired.status,
        "items": len(K),
        "smallest_eigenvalue_before": float(np.linalg.eigvalsh(K)[0]),
        "smallest_eigenvalue": float(np.linalg.eigvalsh(repaired.matrix)[0]),
        "distance": repaired.distance,
        "relative_distance": repaired.distance / (float(np.linalg.norm(K)) or 1.0),
        "duality_gap": repaired.duality_gap,
        "largest_change": float(np.abs(repaired.matrix - K).max()),
    }


def show_repair(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what changed."""
    print(f"{payload['out']}: {payload['text']}")
    print_facts(payload)


def embed(args: argparse.Namespace) -> dict[str, Any]:
    """Fit, and write coordinates, page and model."""
    out, html, saved = (
        check_output(path, args.force) for path in (args.out, args.html, args.model)
    )
    K, read = read_symmetric(args)
    model = _unfitted(K, args)
    F = model.fit_transform(K)
    distances = args.kind == "distance"
    eigenvalues = model.eigenvalues_ if distances else np.linalg.eigvalsh(K)
    payload = {
        "file": args.file,
        "out": str(out),
        "items": len(F),
        **_quality(K if distances else None, model, F, eigenvalues),
    }
    columns = places(F, called(K, read.names))
    if read.target is not None:
        columns["label"] = [str(label) for label in read.target]
    rows = as_rows(columns)
    write_csv(out, rows, args.force, quote_numbers=True)
    if html is not None:
        payload["html"] = str(html)
        _write_page(html, payload, rows, eigenvalues, args)
    if saved is not None:
        payload["model"] = str(saved)
        save_named(model, saved, read.names, K)
    return payload


def _unfitted(K: Any, args: argparse.Namespace) -> Any:
    if args.components < 1:
        raise ValueError(f"--components must be 1 or more, got {args.components}")
    if check_direction(args, K):
        return PCoA(args.components, correction=args.correction or "none")
    if args.correction:
        raise ValueError("--correction is for --kind distance")
    return PseudoEuclideanEmbedding(args.components)


def _quality(D: Any, model: Any, F: Any, eigenvalues: Any) -> dict[str, Any]:
    """How much the coordinates show; the stress for distances D only."""
    total = float(np.abs(eigenvalues).sum()) or 1.0
    shares = getattr(model, "proportion_explained_", model.eigenvalues_ / total)
    facts = {"proportion_explained": shares.tolist()}
    if D is None:
        negative = float(-np.minimum(eigenvalues, 0.0).sum()) / total
        return {**facts, "negative_mass": negative}
    d = D[np.triu_indices_from(D, 1)]
    rest = np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0)
    facts |= {"stress": float(rest), "correction": model.correction_}
    return {**facts, "negative_mass": model.negative_mass_}


def places(F: Any, names: list[str]) -> dict[str, list[Any]]:
    """Names and coordinates, by the title of their column."""
    return {"item": names, **{f"axis{k + 1}": a.tolist() for k, a in enumerate(F.T)}}


def _write_page(
    path: Any, payload: dict, rows: list[dict], eigenvalues: Any, args: Any
) -> None:
    shown: Any = np.arange(len(rows))
    if len(rows) > _DRAWN:
        shown = np.sort(np.random.default_rng(0).choice(shown, _DRAWN, replace=False))
    options = repeated(args, "components", "correction", "out", "html", "model")
    page = {
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
        file.write(render_map(page))


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


def show_embed(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written and how good it is."""
    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {_finding(payload)}.")
    print_table(["fact", "value"], list(_facts(payload).items()))
