"""What a command reads (items, a matrix or hits, labels, groups), prints and writes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from krein.arrays import compressed_rows
from krein.cli import Options, options_of_compare, repeated
from krein.diagnostics.findings import Finding, finding_of_reader
from krein.diagnostics.twins import listed_groups
from krein.files.cells import as_separator
from krein.files.hit_columns import FallingScoreError
from krein.files.hit_table import kind_of_hits, read_hits
from krein.files.matching import read_labels
from krein.files.readers import read_items, read_matrix
from krein.files.sources import FormatError, Named, file_head, readable
from krein.files.writers import write_rows
from krein.items import take
from krein.kernels import Kernel
from krein.similarity import sparse
from krein.sklearn_internals import num_samples
from krein.store.files import atomic_write, check_writable
from krein.validation import both_directions, check_symmetric
from krein.words import few_digits, printable, warn_user

TWINS = "twins"  # --groups: items that are equal to each other
ITEMS_DIAGNOSED = 3000  # of a table of hits too large for a dense matrix
_SEEN_OF_SEPARATOR = 1 << 16  # bytes of a file in which --separator must occur
_SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".gz")  # of files, not of titles


@dataclass(frozen=True)
class Inputs(Named):
    """What a command has read: a matrix (sparse if of hits) or items, and more.

    Attributes
    ----------
    groups : ndarray or None
        Of the items, where there are any.
    task : str
        "classification" or "regression".
    rule : HitSimilarity or None
        What made similarities of hits.
    """

    groups: np.ndarray | None = None
    task: str = "classification"
    rule: Any = None

    def __len__(self) -> int:
        return num_samples(self.data)

    def part(self, kept: np.ndarray) -> Inputs:
        """These items only; a matrix loses rows and columns."""
        data = take(self.data, kept)
        if getattr(self.data, "shape", ()) == (len(self), len(self)):
            data = data[:, kept]
        if scipy.sparse.issparse(data):
            data = compressed_rows(data)
        return replace(
            self,
            data=data,
            names=None if self.names is None else take(self.names, kept),
            target=None if self.target is None else take(self.target, kept),
            groups=None if self.groups is None else take(self.groups, kept),
        )


def read_inputs(args: Options, kernel: Any = None) -> Inputs:
    """Read a matrix, or items that a kernel compares, with labels and groups."""
    title = None if kernel is None else label_title(args)
    if kernel is None:
        read = _read_square(args)
    else:
        read = read_compared(args.file, kernel, args, title)
    print_note(args, *read.notes)
    inputs = Inputs(**vars(read))
    if args.groups not in (None, TWINS):
        inputs = replace(inputs, groups=_read_groups(inputs, args, kernel))
    if args.labels in (None, title):  # labels, if any, stand beside the items
        return replace(inputs, by_name=inputs.target is not None)
    labels = labels_of(inputs, args)
    print_note(args, *labels.notes)
    if labels.labelled is not None:
        inputs = inputs.part(labels.labelled)
    alerts = {**inputs.alerts, **labels.alerts}
    return replace(inputs, target=labels.data, alerts=alerts, by_name=labels.by_name)


def read_compared(
    path: str, kernel: Any, args: Options, label_column: str | None = None
) -> Named:
    """Read items to be compared; refuse those that the kernel cannot compare."""
    wanted = kernel.facts.input if isinstance(kernel, Kernel) else "any"
    is_label = label_column is not None and label_column == label_title(args)
    read = read_items(
        path,
        format=args.format or ("table" if wanted == "tables" else None),
        separator=_separator_of(path, args),
        key=args.key,
        column=args.items,
        label_column=label_column,
        id_column=args.id,
        drop=titles_in(args.drop),
        numbers=titles_in(args.numbers),
        skip_unlabelled=bool(args.skip_unlabelled) and is_label,
    )
    check_comparable(path, kernel, read.data)
    if wanted == "series" and args.format is None and label_column is None:
        _warn_of_classes(read)
    return read


def _warn_of_classes(read: Named) -> None:
    """Warn where a table of series begins with what may be the class of each."""
    values = read.data
    plain = isinstance(values, np.ndarray) and values.ndim == 2
    if not plain or read.target is not None or read.columns is not None:
        return
    first, others = values[:, 0], values[:, 1:]
    different = np.unique(first)
    whole = np.array_equal(different, np.round(different))
    if whole and different.size <= len(first) // 2 and (others % 1.0).any():
        warn_user(
            f"each series begins with one of {different.size} whole numbers, which is "
            "read as its first value; if it is the class, add --format ucr"
        )


def titles_in(listed: str | None) -> list[str]:
    """Titles of columns, which are typed with commas between them."""
    return [title.strip() for title in (listed or "").split(",") if title.strip()]


def check_comparable(path: str, kernel: Any, items: Any) -> None:
    """Refuse rows of numbers for a kernel of strings, and text for one of numbers."""
    wanted = kernel.facts.input if isinstance(kernel, Kernel) else "any"
    are_text = not isinstance(items, np.ndarray) and isinstance(items[0], str)
    what = "text" if are_text else "rows of numbers"
    others = ("vectors", "series") if are_text else ("strings",)
    if wanted not in others:
        return
    instead = "see krein kernel list, and --items COLUMN for a column of text"
    if are_text:
        instead = "rows of numbers are read with --format csv, or ucr (a class first)"
    raise ValueError(
        f"{path} has {what}, but kernel {kernel.name!r} compares {wanted}; {instead}"
    )


def _read_square(args: Options) -> Named:
    """Read similarities or distances of items to each other, or hits."""
    refuse_columns(args)
    distances = args.kind == "distance"
    hits = None if distances else read_if_hits(args.file, args.format)
    if hits is not None:
        return hits
    read = read_matrix(
        args.file,
        format=args.format,
        key=args.key,
        missing="distance" if distances else 0.0,
        separator=_separator_of(args.file, args),
    )
    K = read.data
    n, m = K.shape
    if n != m or (read.names is not None and read.columns is not None):
        raise FormatError(
            args.file,
            f"has {n} rows and {m} columns; expected a square matrix of similarities "
            "or distances of one list of items. A kernel compares rows of numbers: "
            "--kernel NAME",
        )
    if distances and K.min() < 0:
        raise ValueError(
            f"{args.file} has negative numbers (down to {K.min():.3g}), which no "
            "distance is. Leave out --kind distance"
        )
    if args.symmetrize:
        K = both_directions(K, args.file)
    return replace(read, data=K, names=read.names or read.columns, columns=None)


def refuse_columns(args: Options) -> None:
    """Refuse options about columns of a table where a matrix is read."""
    for option in ("id", "drop", "numbers"):
        if getattr(args, option) is not None:
            raise ValueError(
                f"--{option} is for a table of items, which a kernel compares: add "
                "--kernel NAME"
            )


def _separator_of(path: str, args: Options) -> str | None:
    """--separator for the files that it occurs in: labels may have another one."""
    mark = as_separator(args.separator)
    if mark is None or path == "-" or not Path(path).is_file():
        return args.separator
    with readable(path) as file:
        occurs = mark.encode() in file_head(file, _SEEN_OF_SEPARATOR)
    return args.separator if occurs else None


def separator_of(args: Options) -> str | None:
    """--separator as it is meant for the file of the command."""
    return _separator_of(args.file, args)


def read_symmetric(args: Options) -> tuple[np.ndarray, Inputs]:
    """Read a symmetric matrix of all pairs; what was read goes with it."""
    read = read_inputs(args)
    if scipy.sparse.issparse(read.data):
        raise FormatError(args.file, "is a table of hits, not a matrix of all pairs")
    check_symmetry(read, args)
    return 0.5 * (read.data + read.data.T), read


def check_symmetry(read: Inputs, args: Options) -> None:
    """Refuse an asymmetric matrix; note what becomes of rounding."""
    if scipy.sparse.issparse(read.data):
        return  # was made symmetric
    worst = check_symmetric(read.data, name=args.file)
    if worst > 0.0:
        print_note(
            args,
            f"both directions differ by {worst:.1e} of the largest entry: taken for "
            "rounding",
        )


# --------------------------------------------------------------------- labels, groups


def _is_title(word: str) -> bool:
    """Whether --labels (or --groups) means a column of a table and not a file."""
    path = Path(word)
    return word != "-" and path.suffix not in _SUFFIXES and not path.exists()


def label_title(args: Options) -> str | None:
    """Title of the labels' column, if they stand in the table of the items."""
    if args.labels is None:
        return args.label_column
    return args.labels if _is_title(args.labels) else None


def labels_of(read: Named, args: Options) -> Named:
    """Read the labels from a file of their own."""
    if args.labels is None:
        raise ValueError("--label-column is a column of the labels; add --labels FILE")
    return _read_column(
        read,
        args,
        args.labels,
        args.label_column,
        skip_unlabelled=bool(args.skip_unlabelled),
    )


def _read_column(
    read: Named,
    args: Options,
    path: str,
    column: str | None = None,
    skip_unlabelled: bool = False,
) -> Named:
    """Read labels or groups of the items that were read."""
    return read_labels(
        path,
        names=read.names,
        n_items=num_samples(read.data),
        column=column,
        separator=_separator_of(path, args),
        ignore_names=bool(args.ignore_names),
        skip_unlabelled=skip_unlabelled,
    )


def _read_groups(read: Inputs, args: Options, kernel: Any) -> Any:
    """Groups of a file, or of a column of the table of labels or of items."""
    is_title = _is_title(args.groups)
    if is_title and args.labels is not None and not _is_title(args.labels):
        return _read_column(read, args, args.labels, args.groups).data
    if not is_title or kernel is None:
        return _read_column(read, args, args.groups).data
    table = read_compared(args.file, kernel, args, args.groups)
    if read.labelled is None:
        return table.target
    return take(table.target, read.labelled)


# ----------------------------------------------------------------- what is diagnosed


def few_enough(K: Any, args: Options) -> tuple[Any, np.ndarray]:
    """Similarities, of many hits those of some random items; and which items."""
    n = K.shape[0]
    if not is_large(K):
        return K, np.arange(n)
    shuffled = np.random.default_rng(0).permutation(n)
    items = np.sort(shuffled[:ITEMS_DIAGNOSED])
    print_note(args, f"the diagnosis is about {items.size} items, taken at random")
    return K[items][:, items], items


def is_large(K: Any) -> bool:
    """Whether it is sparse and of too many items for a dense matrix."""
    return scipy.sparse.issparse(K) and K.shape[0] > sparse.LARGEST_DENSE


# -------------------------------------------------------------------- tables of hits


def read_if_hits(path: str, format: str | None) -> Named | None:
    """Read a table of hits as a sparse array of scores; None if it is none."""
    if path == "-" or not Path(path).is_file() or format not in (None, "pairs"):
        return None
    try:
        with readable(path) as file:
            kind = kind_of_hits(file)
        if kind == "none":
            return None
        hits = read_hits(path)
    except FallingScoreError:
        raise
    except FormatError:
        return None  # the reader of matrices says what is wrong
    if kind == "pairs" and _is_whole(hits.data):
        return None  # a matrix written as pairs
    note = f"read {hits.data.nnz} hits of {hits.data.shape[0]} items"
    return replace(hits, notes=[note, *hits.notes])


def _is_whole(hits: Any) -> bool:
    """Whether every pair is there: in both directions, or in one."""
    n = hits.shape[0]
    either = (hits != 0) + (hits != 0).T
    beside_diagonal = either.nnz - np.count_nonzero(either.diagonal())
    return beside_diagonal >= n * (n - 1)


# ------------------------------------------------------------------- printed, written


def last_step(model: Any) -> Any:
    """Return the model itself, or the last step of a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def takes_matrix(model: Any) -> bool:
    """Whether it takes similarities or distances, not items that a kernel compares."""
    kernel = getattr(last_step(model), "kernel", "precomputed")
    return isinstance(kernel, str) and kernel == "precomputed"


def print_note(args: Options, *texts: str) -> None:
    """Print remarks on standard error, unless --quiet."""
    if not args.quiet:
        for text in texts:
            print(f"krein {args.command}: note: {printable(text)}", file=sys.stderr)


def print_alerts(findings: Sequence[dict[str, Any]]) -> None:
    """Print findings, the worst first, each with its repair."""
    for finding in findings:
        print(f"{finding['severity'].upper()}: {finding['text']}")
        if finding.get("items"):
            print(f"    items: {listed_groups(finding['items'])}")
        if finding.get("command"):
            print(f"    repair: {finding['command']}")
        elif finding.get("python"):
            print(f"    in Python: {finding['python']}")
    if findings:
        print()


def own_findings(
    findings: list[Finding], args: Options, read: Inputs, looked_at: np.ndarray
) -> list[dict[str, Any]]:
    """Return the findings with the user's own files, and names of items.

    What the reader found stands behind errors of the numbers, before their warnings.
    `looked_at` are the positions of the items that were diagnosed.
    """
    of_reader = [finding_of_reader(key, text) for key, text in read.alerts.items()]
    if args.task is not None:  # what was said needs no finding
        findings = [one for one in findings if one.key != "regression-target"]
    found = sorted([*of_reader, *findings], key=lambda one: one.severity != "error")
    return [_own_finding(finding, args, read, looked_at) for finding in found]


def _own_finding(
    finding: Finding, args: Options, read: Inputs, looked_at: np.ndarray
) -> dict[str, Any]:
    own = finding.to_dict()
    own["command"] = _own_command(finding, args, beside=read.target is not None)
    names = read.names or [f"no. {k + 1}" for k in range(len(read))]
    own["items"] = [[names[looked_at[k]] for k in group] for group in finding.items]
    if finding.key == "labels-unrelated" and read.by_name:
        own["python"] = ""  # which would match them by name
    return own


def _own_command(finding: Finding, args: Options, *, beside: bool) -> str:
    """The command of a finding with the user's files and options.

    `beside`: there are labels, which stand in the file itself if no other is named.
    """
    if not finding.command:
        return ""
    template = finding.command
    if args.kernel == "precomputed" and "KERNEL" in template:
        # It is made outside: krein can only choose gamma for the distances.
        if getattr(args, "kind", "similarity") == "distance":
            return ""
        labels = shlex.quote(args.labels or "labels.csv")
        return f"krein compare distances.csv --kind distance --labels {labels}"
    if beside and args.labels is None:
        template = template.replace(" --labels LABELS", "")
    own = {
        "FILE": args.file,
        "ITEMS": args.file,
        "LABELS": args.labels or "labels.csv",
        "KERNEL": args.kernel,
    }
    words = [own.get(word, word) for word in template.split()]
    skipped = [word[2:].replace("-", "_") for word in words if word.startswith("--")]
    if finding.key == "names-ignored":
        skipped.append("ignore_names")
    more = options_of_compare(args) if "compare" in words else []
    again = repeated(args, *more, skip=skipped)
    return f"{shlex.join(words)} {again}".strip()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: columns one below the other, tab-separated in a pipe."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        if not sys.stdout.isatty():
            print("\t".join(row))
            continue
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(padded).rstrip())


def describe_model(model: Any) -> str:
    """Return class and changed parameters, numbers with few digits."""
    if hasattr(model, "steps"):
        return " after ".join(describe_model(step) for _, step in model.steps[::-1])
    return few_digits(" ".join(repr(model).split()))


def check_output(path: str | None, force: bool) -> Path | None:
    """Refuse a file that cannot be written, before anything is computed.

    Parameters
    ----------
    path : str or None
        As typed; None if the option was not given.
    force : bool
        Whether an existing file may be replaced.
    """
    if path is None:
        return None
    if path == "-":
        raise ValueError("this cannot go to standard output; name a file")
    return check_writable(path, overwrite=force)


def places(F: Any, names: list[str]) -> dict[str, list[Any]]:
    """Names and coordinates, by the title of their column."""
    columns: dict[str, list[Any]] = {"item": names}
    for k, axis in enumerate(F.T, start=1):
        columns[f"axis{k}"] = axis.tolist()
    return columns


def as_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns of the same length as one dict per item."""
    values = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def write_csv(
    path: Path | None, rows: list[dict], force: bool, *, quote_numbers: bool = False
) -> None:
    """Write rows as csv, to standard output without a path; see `write_rows`."""
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    if path is None:
        return write_rows(sys.stdout, table, quote_numbers=quote_numbers)
    with atomic_write(path, overwrite=force, text=True) as file:
        write_rows(file, table, quote_numbers=quote_numbers)
