"""``krein embed``: a map of the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

import krein
from krein.cli import Options, console, learning, repeated
from krein.cli.console import check_output, places, print_note
from krein.cli.saving import save_named
from krein.diagnostics.facts import negative_mass
from krein.files.sources import Named
from krein.items import called
from krein.kernels import kernel_matrix
from krein.report.map import render_map
from krein.store.files import atomic_write, written_together

_DRAWN = 3000  # items; more are one spot


class Map(NamedTuple):
    """Coordinates of the items, with what is said about them."""

    model: Any
    coordinates: np.ndarray
    eigenvalues: np.ndarray
    facts: dict[str, Any]


def embed(args: Options) -> dict[str, Any]:
    """Fit, and write coordinates, page and model: all of them or none."""
    out = None if args.out == "-" else check_output(args.out, args.force)
    html, saved = (check_output(path, args.force) for path in (args.html, args.model))
    K, read, kind = _numbers(args)
    found = _placed(K, kind, args)
    columns = places(found.coordinates, called(read.data, read.names))
    if read.target is not None:
        columns["label"] = [str(label) for label in read.target]
    rows = console.as_rows(columns)
    payload: dict[str, Any] = {"file": args.file, "out": args.out, **found.facts}
    paths = [path for path in (out, html, saved) if path is not None]
    with written_together(paths, overwrite=args.force) as temporary:
        place = dict(zip(paths, temporary, strict=True))
        if html is not None:
            payload["html"] = str(html)
            _write_page(place[html], payload, rows, found.eigenvalues, kind, args)
        if saved is not None:
            payload["model"] = str(saved)
            save_named(found.model, place[saved], read.names, K)
        if out is not None:
            console.write_csv(place[out], rows, False, quote_numbers=True)
    if out is None:
        console.write_csv(None, rows, False, quote_numbers=True)
    return payload


def _numbers(args: Options) -> tuple[np.ndarray, Named, str]:
    """A matrix, what was read with it, and whether it holds distances."""
    (kernel,) = learning.make_kernels(args).values()
    if kernel is None:
        K, read = console.read_symmetric(args)
        learning.check_direction(args, K)
        return K, read, args.kind or "similarity"
    if args.model is not None:
        raise ValueError(
            "--model is for a matrix, whose rows for new items it will be given: write "
            f"one by krein kernel {kernel.name} {args.file} -o K.npz"
        )
    items = console.read_inputs(args, kernel)
    kernel = kernel.fit(items.data)
    own = {k: v for k, v in kernel.params.items() if k not in ("gamma", "similarity")}
    asked = any(pair.startswith("similarity=") for pair in args.param)
    if kernel.facts.distance is not None and not asked:
        print_note(args, f"the distances of {kernel.name} are placed")
        return kernel.facts.distance(items.data, **own), items, "distance"
    K = kernel_matrix(kernel, items.data, progress=not args.quiet)
    return 0.5 * (K + K.T), items, "similarity"


def _placed(K: np.ndarray, kind: str, args: Options) -> Map:
    """Fit the axes; say how much of the spectrum they hold."""
    if kind == "distance":
        model: Any = krein.PCoA(args.components, correction=args.correction or "none")
        F = model.fit_transform(K)
        eigenvalues = model.eigenvalues_
        d = squareform(K, checks=False)
        stress = float(np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0))
        facts = {"stress": stress, "correction": model.correction_}
    else:
        if args.correction:
            raise ValueError("--correction is for distances (--kind distance)")
        model = krein.PseudoEuclideanEmbedding(args.components, center=True)
        F = model.fit_transform(K)
        facts = {}
        means = K.mean(axis=1)
        eigenvalues = np.linalg.eigvalsh((K + means.mean()) - (means[:, None] + means))
    shares = model.proportion_explained_
    facts = {
        "items": len(F),
        "kind": kind,
        **facts,
        "negative_mass": negative_mass(eigenvalues),
        "proportion_explained": shares.tolist(),
        "text": _in_words(shares),
    }
    return Map(model, F, eigenvalues, facts)


def _in_words(shares: np.ndarray) -> str:
    drawn = f"The map shows {shares[:2].sum():.0%} of what the numbers say"
    if len(shares) < 3:
        return drawn
    return f"{drawn}, the {len(shares)} axes together {shares.sum():.0%}"


def _write_page(
    path: Path,
    payload: dict,
    rows: list[dict],
    eigenvalues: np.ndarray,
    kind: str,
    args: Options,
) -> None:
    shown = np.sort(np.random.default_rng(0).permutation(len(rows))[:_DRAWN])
    options = repeated(args, "components", "correction", "out", "html", "model")
    page = {
        "title": f"map of {Path(args.file).name}",
        "finding": payload["text"],
        "facts": _facts(payload),
        "kind": kind,
        "items": [rows[int(i)] for i in shown],
        "shares": payload["proportion_explained"],
        "eigenvalues": [float(value) for value in eigenvalues],
        "hidden": len(rows) - shown.size,
        "command": f"krein embed {args.file} {options}",
    }
    with atomic_write(path, text=True) as file:
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
    if payload["out"] == "-":
        print_note(args, payload["text"])
        return
    written = [payload[key] for key in ("out", "html", "model") if key in payload]
    print(f"{', '.join(written)}: {payload['text']}.")
    console.print_table(["fact", "value"], list(_facts(payload).items()))
