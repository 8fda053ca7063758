"""Which columns of a table of hits hold names and scores, and why.

A score has to grow with likeness. Bit scores do; e-values and distances fall, and are
refused, also where no title says what they are: an item is then less like itself than
like others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from krein.files.cells import cut, is_number
from krein.files.line_blocks import Layout, data_lines
from krein.files.sources import FormatError, Line, Place, whole_lines

_LONGEST_LINE = 1 << 26
_SAMPLE = 5000  # lines by which columns without titles are told apart
# BLAST -outfmt 6, MMseqs2 and Foldseek by default.
_TWELVE = (
    "query", "target", "identity", "length", "mismatches", "gaps", "qstart", "qend",
    "tstart", "tend", "evalue", "bitscore",
)  # fmt: skip
_TITLES = {
    "query": ("query", "qseqid", "qaccver", "query acc.ver", "query id", "source",
              "item1", "var1", "from"),
    "target": ("target", "sseqid", "saccver", "subject", "subject acc.ver",
               "subject id", "item2", "var2", "to"),
    "bitscore": ("bitscore", "bits", "bit score", "score"),
    "evalue": ("evalue", "e-value", "eval"),
    "distance": ("distance", "dist", "dissimilarity", "rmsd"),
}  # fmt: skip
_WHY = {"evalue": "small e-values are good ones", "distance": "it holds distances"}
_FEWEST = 2  # items that show which way a column goes
_INSTEAD = (
    "Have the search write bit scores. Distances are read by read_matrix, on the "
    "command line with --kind distance"
)


def table_blocks(path: Path, head: int = 0) -> Iterator[tuple[Place, bytes]]:
    """Yield blocks of lines behind the head, and where they begin."""
    for first, text in whole_lines(path, _LONGEST_LINE):
        line = first.line or 1
        if line <= head:
            dropped = min(head + 1 - line, text.count(b"\n"))
            text, line = text.split(b"\n", dropped)[dropped], line + dropped
        if text:
            yield Place(path, line), text


def find_columns(
    path: Path,
    score: str | int = "bitscore",
    columns: Sequence[str] | None = None,
    *,
    pairs: bool = False,
) -> Layout:
    """Look at the first lines of a table and say where names and scores are.

    Parameters
    ----------
    path : Path
        A table as text.
    score : str or int
        Title of the column of scores, or its number counted from 1.
    columns : list of str, optional
        Titles, for a table without.
    pairs : bool
        Any list of pairs with numbers, which may be negative or distances.
    """
    first, text = next(table_blocks(path), (Place(path), b""))
    lines = data_lines(text, first, most=_SAMPLE)
    if not lines:
        what = "pairs" if pairs else "hits"
        raise FormatError(path, f"there are no {what} in the file")
    separator, rows = _cut(lines)
    titles, head = list(columns or ()) or _commented(text), 0
    if columns is None and _is_title_line(rows, pairs):
        titles, head = rows.pop(0), lines[0][0].line or 1
    width = len(rows[0]) if rows else len(titles)
    if titles and len(titles) != width:
        has = f"has {width} fields for {len(titles)} titles of columns"
        raise lines[min(head, 1)][0].error(has)
    sample = [row for row in rows if len(row) == width]
    titled = bool(titles)
    if not titles:
        titles = _untitled(sample, score, lines[0][0])
    elif pairs and len(titles) == 3 and not _has_names(titles):
        titles = ["query", "target", titles[2]]
    titles = [title.strip() for title in titles]
    wanted = ("query", "target", score)
    query, target, place = (_place(title, titles, path) for title in wanted)
    means = _meaning(titles[place])
    called = f"column {repr(titles[place]) if titled else place + 1}"
    falling = means in _WHY or _falls(sample, place, query, target)
    if falling and (not pairs or means == "evalue"):
        raise _falling(titles, place, called, path)
    named_bits = titled and "bit" in titles[place].lower()
    bits = named_bits or (not titled and width >= len(_TWELVE) and means == "bitscore")
    why = f"scores from {called}" + (" (bit scores)" if bits else "")
    if distances := means == "distance":
        why = f"distances from {called}"
    return Layout(separator, width, query, target, place, pairs, head, why, distances)


def _cut(lines: Sequence[Line]) -> tuple[str, list[list[str]]]:
    """Return the separator of the first line, and the fields of all."""
    mark = next((mark for mark in "\t,;" if mark in lines[0][1]), " ")
    return mark, [row.texts() for row in cut(iter(lines), mark)]


def _is_title_line(rows: list[list[str]], pairs: bool) -> bool:
    below = not pairs or (len(rows) > 1 and is_number(rows[1][-1]))
    return below and not any(map(is_number, rows[0]))


def _commented(text: bytes) -> list[str]:
    """Titles in a comment, as BLAST -outfmt 7 writes them; none if there is none."""
    found = re.search(rb"# Fields:([^\n]*)", text)
    return found[1].decode(errors="replace").split(",") if found else []


def _has_names(titles: Sequence[str]) -> bool:
    """Whether two of the titles are known as those of a query and a target."""
    words = {title.strip().lower() for title in titles}
    return all(words.intersection(_TITLES[side]) for side in ("query", "target"))


def is_pair_list(lines: Sequence[str]) -> bool:
    """Whether lines are pairs with scores: by titles, or two names and numbers."""
    try:
        mark, rows = _cut([(Place(Path()), line) for line in lines[:20]])
    except FormatError:  # a quote that is not closed
        return False
    if len(rows) > 1:
        of_score = len(rows[0]) == 3 and _meaning(rows[0][2]) in _TITLES
        if _has_names(rows[0]) or (of_score and _is_pair(rows[1], "\t")):
            return True
    return mark in "\t " and all(_is_pair(row, mark) for row in rows)


def _is_pair(row: list[str], mark: str) -> bool:
    named = len(row) > 2 and not is_number(row[0]) and not is_number(row[1])
    usual = len(row) in (3, len(_TWELVE)) or mark == "\t"
    return named and usual and all(map(is_number, row[2 : len(_TWELVE)]))


def _untitled(sample: list[list[str]], score: str | int, place: Place) -> list[str]:
    """Titles of a table that has none: BLAST's 12, those of three columns, or none."""
    width = len(sample[0])
    titles = ["query", "target", *(f"column {k}" for k in range(3, width + 1))]
    if width == len(_TWELVE) or (width > len(_TWELVE) and _is_blast(sample)):
        return [*_TWELVE, *titles[len(_TWELVE) :]]
    if width < 3 or (width > 3 and isinstance(score, str)):
        has = f"has {width} fields and no title line; expected 3 (query, target, score)"
        how = "Name the score by a title line, or score=NUMBER"
        raise place.error(f"{has} or the 12 of BLAST. {how}")
    return [*titles[:2], "bitscore"] if width == 3 else titles


def _is_blast(sample: list[list[str]]) -> bool:
    """Whether the first twelve columns are BLAST's: whole numbers, e-value, score."""
    whole = all(field.isdigit() for row in sample for field in row[3:10])
    return whole and all(is_number(row[k]) for row in sample for k in (2, 10, 11))


def _falls(sample: list[list[str]], column: int, query: int, target: int) -> bool:
    """Whether a column is smallest for items with themselves."""
    own: dict[str, list[float]] = {}
    others: dict[str, list[float]] = {}
    for row in sample:
        if is_number(row[column]):
            value, same = float(row[column]), row[query] == row[target]
            for name in {row[query], row[target]}:
                (own if same else others).setdefault(name, []).append(value)
    both = [name for name in own if name in others]
    falls = sum(min(own[name]) < min(others[name]) for name in both)
    rises = sum(max(own[name]) > max(others[name]) for name in both)
    return falls >= _FEWEST and falls > 4 * rises


def _meaning(title: str) -> str:
    """What a title stands for; one that is not known stands for itself."""
    word = title.strip().lower()
    return next((k for k, words in _TITLES.items() if word in words), word)


def _place(title: str | int, titles: list[str], path: Path) -> int:
    """Place of a column by its number from 1, its title, or another word for it.

    The score can also be the only column that is left.
    """
    if not isinstance(title, str):
        if isinstance(title, bool) or not 1 <= title <= len(titles):
            right = f"the number of a column from 1 to {len(titles)}"
            raise ValueError(f"score={title!r} must be a title or {right}")
        return int(title) - 1
    lower, meanings = [t.lower() for t in titles], list(map(_meaning, titles))
    word, meaning = title.strip().lower(), _meaning(title)
    if word in lower:
        return lower.index(word)
    if meaning in meanings:
        return meanings.index(meaning)
    named = ("", "query", "target")
    left = [k for k, means in enumerate(meanings) if means not in named]
    growing = [k for k in left if meanings[k] not in _WHY] or left
    if meaning == "bitscore" and len(growing) == 1:
        return growing[0]
    known = f"its columns are {', '.join(titles)}"
    raise FormatError(path, f"has no column {title!r}; {known}")


def _falling(titles: list[str], place: int, called: str, path: Path) -> FormatError:
    """Say why a column is no score, and name a better one."""
    less = "items have less of it with themselves than with others"
    why, repair = _WHY.get(_meaning(titles[place]), less), _INSTEAD
    for k in [k for k, title in enumerate(titles) if _meaning(title) == "bitscore"][:1]:
        repair = f"Take column {k + 1} ({titles[k]}): score={k + 1}"
    return FallingScoreError(path, f"{called} is no score: {why}. {repair}")


class FallingScoreError(FormatError):
    """The numbers of a table of hits fall with likeness: e-values, or distances."""
