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

_LONGEST_LINE = 1 << 26  # bytes
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
_NO_SCORES = ("", "query", "target")  # what the titles of other columns mean
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
            text = text.split(b"\n", dropped)[dropped]
            line += dropped
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
    first_place, _ = lines[0]
    separator, rows = _cut(lines)
    head = 0  # lines above the rows
    titles = list(columns or ()) or _commented(text)
    if columns is None and _is_title_line(rows, pairs):
        head = first_place.line or 1
        titles = rows.pop(0)
    width = len(rows[0]) if rows else len(titles)
    if titles and len(titles) != width:
        first_row, _ = lines[min(head, 1)]
        raise first_row.error(f"has {width} fields for {len(titles)} titles of columns")
    sample = [row for row in rows if len(row) == width]
    titled = bool(titles)
    if not titled:
        titles = _untitled(sample, score, first_place)
    elif pairs and len(titles) == 3 and not _has_names(titles):
        titles = ["query", "target", titles[2]]
    titles = [title.strip() for title in titles]
    query = _place("query", titles, path)
    target = _place("target", titles, path)
    place = _place(score, titles, path)
    meaning = _meaning(titles[place])
    called = f"column {titles[place]!r}" if titled else f"column {place + 1}"
    falling = meaning in _WHY or _falls(sample, place, query, target)
    if falling and (not pairs or meaning == "evalue"):
        raise _falling(titles, place, called, path)
    if titled:
        bits = "bit" in titles[place].lower()
    else:
        bits = width >= len(_TWELVE) and meaning == "bitscore"
    if meaning == "distance":
        why = f"distances from {called}"
    elif bits:
        why = f"scores from {called} (bit scores)"
    else:
        why = f"scores from {called}"
    return Layout(
        separator=separator,
        width=width,
        query=query,
        target=target,
        score=place,
        signed=pairs,
        head=head,
        why=why,
        distances=meaning == "distance",
    )


def _cut(lines: Sequence[Line]) -> tuple[str, list[list[str]]]:
    """Return the separator of the first line, and the fields of all."""
    mark = " "
    for candidate in "\t,;":
        if candidate in lines[0][1]:
            mark = candidate
            break
    return mark, [row.texts() for row in cut(iter(lines), mark)]


def _is_title_line(rows: list[list[str]], pairs: bool) -> bool:
    """Whether the first row has no numbers, and of pairs the second one has."""
    if any(map(is_number, rows[0])):
        return False
    if pairs:
        return len(rows) > 1 and is_number(rows[1][-1])
    return True


def _commented(text: bytes) -> list[str]:
    """Titles in a comment, as BLAST -outfmt 7 writes them; none if there is none."""
    found = re.search(rb"# Fields:([^\n]*)", text)
    if found is None:
        return []
    return found[1].decode(errors="replace").split(",")


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
        titles = rows[0]
        if _has_names(titles):
            return True
        has_score = len(titles) == 3 and _meaning(titles[2]) in _TITLES
        if has_score and _is_pair(rows[1], "\t"):
            return True
    return mark in "\t " and all(_is_pair(row, mark) for row in rows)


def _is_pair(row: list[str], mark: str) -> bool:
    """Whether a row is two names and numbers; only tabs allow any count of these."""
    if len(row) < 3 or is_number(row[0]) or is_number(row[1]):
        return False
    if mark != "\t" and len(row) not in (3, len(_TWELVE)):
        return False
    return all(map(is_number, row[2 : len(_TWELVE)]))


def _untitled(sample: list[list[str]], score: str | int, place: Place) -> list[str]:
    """Titles of a table that has none: BLAST's 12, those of three columns, or none."""
    width = len(sample[0])
    titles = ["query", "target", *(f"column {k}" for k in range(3, width + 1))]
    if width == len(_TWELVE) or (width > len(_TWELVE) and _is_blast(sample)):
        return [*_TWELVE, *titles[len(_TWELVE) :]]
    if width < 3 or (width > 3 and isinstance(score, str)):
        raise place.error(
            f"has {width} fields and no title line; expected 3 (query, target, score) "
            "or the 12 of BLAST. Name the score by a title line, or score=NUMBER"
        )
    if width == 3:
        return ["query", "target", "bitscore"]
    return titles


def _is_blast(sample: list[list[str]]) -> bool:
    """Whether the first twelve columns are BLAST's: whole numbers, e-value, score."""
    for row in sample:
        identity = row[2]
        counts = row[3:10]
        evalue = row[10]
        bitscore = row[11]
        if not all(field.isdigit() for field in counts):
            return False
        if not all(map(is_number, (identity, evalue, bitscore))):
            return False
    return True


def _falls(sample: list[list[str]], column: int, query: int, target: int) -> bool:
    """Whether a column is smallest for items with themselves."""
    own: dict[str, list[float]] = {}
    others: dict[str, list[float]] = {}
    for row in sample:
        if not is_number(row[column]):
            continue
        value = float(row[column])
        if row[query] == row[target]:
            own.setdefault(row[query], []).append(value)
        else:
            others.setdefault(row[query], []).append(value)
            others.setdefault(row[target], []).append(value)
    both = own.keys() & others.keys()
    falls = sum(min(own[name]) < min(others[name]) for name in both)
    rises = sum(max(own[name]) > max(others[name]) for name in both)
    return falls >= _FEWEST and falls > 4 * rises


def _meaning(title: str) -> str:
    """What a title stands for; one that is not known stands for itself."""
    word = title.strip().lower()
    for meaning, words in _TITLES.items():
        if word in words:
            return meaning
    return word


def _place(title: str | int, titles: list[str], path: Path) -> int:
    """Place of a column by its number from 1, its title, or another word for it.

    The score can also be the only column that is left.
    """
    if not isinstance(title, str):
        if isinstance(title, bool) or not 1 <= title <= len(titles):
            raise ValueError(
                f"score={title!r} must be a title or the number of a column from 1 to "
                f"{len(titles)}"
            )
        return int(title) - 1
    word = title.strip().lower()
    words = [title.lower() for title in titles]
    if word in words:
        return words.index(word)
    meaning = _meaning(title)
    meanings = [_meaning(title) for title in titles]
    if meaning in meanings:
        return meanings.index(meaning)
    left = [k for k, other in enumerate(meanings) if other not in _NO_SCORES]
    growing = [k for k in left if meanings[k] not in _WHY] or left
    if meaning == "bitscore" and len(growing) == 1:
        return growing[0]
    raise FormatError(
        path, f"has no column {title!r}; its columns are {', '.join(titles)}"
    )


def _falling(titles: list[str], place: int, called: str, path: Path) -> FormatError:
    """Say why a column is no score, and name a better one."""
    less = "items have less of it with themselves than with others"
    why = _WHY.get(_meaning(titles[place]), less)
    repair = _INSTEAD
    meanings = [_meaning(title) for title in titles]
    if "bitscore" in meanings:
        k = meanings.index("bitscore")
        repair = f"Take column {k + 1} ({titles[k]}): score={k + 1}"
    return FallingScoreError(path, f"{called} is no score: {why}. {repair}")


class FallingScoreError(FormatError):
    """The numbers of a table of hits fall with likeness: e-values, or distances."""
