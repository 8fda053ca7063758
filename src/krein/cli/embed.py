"""``krein embed``: coordinates and a map of items from their distances."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from krein.cli.options import add_labels, add_output, add_reading, check_output
from krein.cli.output import print_note

SUMMARY = "place items on a map by their distances or similarities"
EXAMPLES = (
    "krein embed distances.csv --kind distance -o coordinates.csv --html map.html",
    "krein embed distances.csv --kind distance --correction lingoes -o out.csv",
    "krein embed distances.csv --kind distance -o out.csv --model map.krein",
    "krein predict map.krein new_rows.csv -o new_coordinates.csv",
)
_DRAWN = 3000  # items; more are one spot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", help="a square matrix; - is stdin")
    add_reading(parser)
    add_labels(parser)
    parser.add_argument(
        "--kind",
        choices=["similarity", "distance"],
        help="what the numbers mean: distances are placed by principal coordinates "
        "(PCoA), similarities (the default) in pseudo-Euclidean space",
    )
    parser.add_argument(
        "--symmetrize",
        action="store_true",
        help="use the mean of both directions of an asymmetric matrix",
    )
    parser.add_argument(
        "--components",
        type=int,
        default=2,
        metavar="N",
        help="number of coordinates (default: 2)",
    )
    parser.add_argument(
        "--correction",
        choices=["none", "lingoes", "cailliez"],
        default="none",
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
    from krein.cli.inputs import check_symmetry, read_inputs
    from krein.items import called

    read = read_inputs(args)
    print_note(args, *read.notes, *check_symmetry(read, args))
    K = _matrix(read, args)
    model, F = _fit(K, args)
    names = called(K, read.names)
    _write_coordinates(out, names, F, read.target, args.force)
    eigenvalues = _eigenvalues(K, model, args)
    payload = {
        "file": args.file,
        "out": str(out),
        "items": len(F),
        **_quality(K, model, F, eigenvalues),
    }
    if html is not None:
        payload["html"] = str(html)
        found = _page_of(payload, eigenvalues, F, names, read.target)
        _write_page(html, {**found, **_words(args)}, args.force)
    if saved is not None:
        payload["model"] = str(saved)
        _save(model, saved, K, read)
    return payload


def _matrix(read: Any, args: argparse.Namespace) -> Any:
    import numpy as np
    import scipy.sparse

    from krein.validation import looks_like_distances

    if scipy.sparse.issparse(read.data):
        raise ValueError(
            f"{args.file} is a table of hits; krein embed needs all pairs of a matrix"
        )
    K = np.asarray(read.data, dtype=float)
    if args.symmetrize:
        K = 0.5 * (K + K.T)
    if args.kind is None and looks_like_distances(K):
        raise ValueError(
            f"{args.file} looks like distances (zero diagonal, nothing negative): add "
            "--kind distance, or insist with --kind similarity"
        )
    if args.kind != "distance" and args.correction != "none":
        raise ValueError("--correction is for --kind distance")
    return K


def _fit(K: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    from krein import PCoA, PseudoEuclideanEmbedding

    if args.components < 1:
        raise ValueError(f"--components must be 1 or more, got {args.components}")
    if args.kind == "distance":
        model = PCoA(args.components, correction=args.correction)
    else:
        model = PseudoEuclideanEmbedding(args.components)
    return model, model.fit_transform(K)


def _eigenvalues(K: Any, model: Any, args: argparse.Namespace) -> Any:
    """Return all eigenvalues, also those without a coordinate."""
    import numpy as np

    return model.eigenvalues_ if args.kind == "distance" else np.linalg.eigvalsh(K)


def _quality(K: Any, model: Any, F: Any, eigenvalues: Any) -> dict[str, Any]:
    """How much of the matrix the coordinates show."""
    import numpy as np
    from scipy.spatial.distance import pdist

    if hasattr(model, "signature_"):
        rest = K - (F * model.signature_) @ F.T
        share = model.eigenvalues_ / (np.abs(eigenvalues).sum() or 1.0)
        misfit = float(np.linalg.norm(rest) / (np.linalg.norm(K) or 1.0))
        return {"proportion_explained": share.tolist(), "misfit": misfit}
    d = K[np.triu_indices_from(K, 1)]
    stress = float(np.linalg.norm(d - pdist(F)) / (np.linalg.norm(d) or 1.0))
    return {
        "proportion_explained": model.proportion_explained_.tolist(),
        "negative_mass": model.negative_mass_,
        "correction": model.correction_,
        "stress": stress,
    }


def _write_coordinates(
    out: Any, names: list[str], F: Any, target: Any, force: bool
) -> None:
    from krein.formats import write_rows
    from krein.store.files import atomic_write

    head = ["item", *_axes(F.shape[1])] + ([] if target is None else ["label"])
    rows: list[list[Any]] = [
        [name, *values] for name, values in zip(names, F.tolist(), strict=True)
    ]
    if target is not None:
        rows = [[*row, str(t)] for row, t in zip(rows, target, strict=True)]
    with atomic_write(out, overwrite=force, text=True) as file:
        write_rows(file, [head, *rows], quote_numbers=True)


def _axes(n: int) -> list[str]:
    return [f"axis{k + 1}" for k in range(n)]


def _page_of(
    payload: dict[str, Any], eigenvalues: Any, F: Any, names: list[str], target: Any
) -> dict[str, Any]:
    """Return the numbers of the page."""
    import numpy as np

    labels, codes = [], np.zeros(len(F), dtype=int)
    if target is not None:
        classes, codes = np.unique(target, return_inverse=True)
        labels = [str(label) for label in classes]
    points = np.column_stack([F, np.zeros(len(F))])[:, :2]
    shown = np.arange(len(F))
    if len(F) > _DRAWN:
        shown = np.sort(np.random.default_rng(0).choice(len(F), _DRAWN, replace=False))
    shares = [*payload["proportion_explained"], 0.0]
    axes = [f"axis {k + 1}: {abs(shares[k]):.1%}" for k in range(2)]
    return {
        "finding": _finding(payload),
        "facts": _facts(payload),
        "map": {
            "points": np.round(points[shown], 9).tolist(),
            "classes": codes[shown].tolist(),
            "names": [names[int(i)] for i in shown],
            "axes": [
                axis + (" (negative)" if shares[k] < 0 else "")
                for k, axis in enumerate(axes)
            ],
        },
        "labels": labels,
        "eigenvalues": [float(value) for value in eigenvalues],
        "hidden": len(F) - shown.size,
    }


def _words(args: argparse.Namespace) -> dict[str, str]:
    intro = "Principal coordinates of the distances between the items."
    meaning = "no points have exactly these distances"
    if args.kind != "distance":
        intro = "Pseudo-Euclidean coordinates of the similarities between the items."
        meaning = "the similarities are not inner products of points"
    return {
        "title": f"map of {Path(args.file).name}",
        "intro": intro,
        "meaning": meaning,
        "command": shlex.join(["krein", "embed", *_typed(args)]),
    }


def _typed(args: argparse.Namespace) -> list[str]:
    words = [args.file]
    for option in ("kind", "labels", "label_column", "components", "correction", "out"):
        value = getattr(args, option)
        if value not in (None, "none"):
            words += ["--" + option.replace("_", "-"), str(value)]
    return [*words, "--symmetrize"] if args.symmetrize else words


def _finding(payload: dict[str, Any]) -> str:
    shown = sum(abs(share) for share in payload["proportion_explained"][:2])
    return f"The map shows {shown:.0%} of what the numbers say"


def _facts(payload: dict[str, Any]) -> dict[str, str]:
    shares = payload["proportion_explained"]
    facts = {
        "items": str(payload["items"]),
        "proportion per axis": ", ".join(f"{share:.1%}" for share in shares),
    }
    if "misfit" in payload:
        facts["misfit"] = (
            f"{payload['misfit']:.3f}: norm of what the coordinates leave of the matrix"
        )
        return facts
    facts["stress"] = (
        f"{payload['stress']:.3f}: how far distances on the map are from those given "
        "(0 is perfect)"
    )
    facts["negative part"] = (
        f"{payload['negative_mass']:.1%} of the spectrum is below zero"
    )
    if payload["correction"]:
        facts["correction"] = f"{payload['correction']:.4g} was added"
    return facts


def _write_page(path: Any, found: dict[str, Any], force: bool) -> None:
    from krein.report.map import render_map
    from krein.store.files import atomic_write

    with atomic_write(path, overwrite=force, text=True) as file:
        file.write(render_map(found))


def _save(model: Any, path: Any, K: Any, read: Any) -> None:
    import numpy as np

    from krein import save_model

    if read.names is not None:
        model.item_names_ = list(read.names)
    model.item_range_ = np.array([K.min(), K.max()])
    save_model(model, path)


def places(model: Any, X: Any, names: list[str]) -> list[dict[str, Any]]:
    """Rows of coordinates of new items, for ``krein predict``."""
    F = model.transform(X)
    head = ["item", *_axes(F.shape[1])]
    return [
        dict(zip(head, [name, *values], strict=True))
        for name, values in zip(names, F.tolist(), strict=True)
    ]


def show(payload: dict[str, Any], args: argparse.Namespace) -> None:
    """Print what was written and how good it is."""
    from krein.cli.output import print_table

    print(f"{payload['out']}: {payload['items']} items. {_finding(payload)}.")
    for key in ("html", "model"):
        if key in payload:
            print(f"{payload[key]}: {'the page' if key == 'html' else 'the model'}")
    print_table(["fact", "value"], list(_facts(payload).items()))
