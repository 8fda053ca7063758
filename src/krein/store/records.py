"""Finished pieces of work as small JSON files, each with its key and a checksum."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from krein.store.files import replace_file, sweep
from krein.store.fingerprint import checksum


class RecordStore:
    """Records in a folder: what is finished stays, what is damaged counts as missing.

    Any number of processes may read and write at the same time: a record is written
    whole, and two runs that compute the same piece write the same record.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist. What killed runs left half written is removed.

    Examples
    --------
    >>> import tempfile
    >>> from krein.store.records import RecordStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RecordStore(folder)
    ...     store.write("first", "what it was computed from", {"score": 0.5})
    ...     store.read("first", "something else") is None
    ...     store.read("first", "what it was computed from")
    True
    {'score': 0.5}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        sweep(self.folder)

    def path(self, name: str) -> Path:
        """File of a record."""
        return self.folder / f"{name}.json"

    def read(self, name: str, key: str) -> dict[str, Any] | None:
        """Return the record, or None if it is missing, not whole, edited or another's.

        Parameters
        ----------
        name : str
            Which piece of work.
        key : str
            What it is computed from (see `krein.store.fingerprint`).
        """
        return read_record(self.path(name), key)

    def write(self, name: str, key: str, record: dict[str, Any]) -> None:
        """Keep a record of plain values."""
        content = {"key": key, "checksum": _sum(key, record), "record": record}
        replace_file(self.path(name), json.dumps(content).encode())


def read_record(path: Path, key: str | None = None) -> dict[str, Any] | None:
    """Return the record in a file if it is sound (and, with a key, of that key)."""
    try:
        content = json.loads(path.read_bytes())
        found, record = content["key"], content["record"]
        sound = content["checksum"] == _sum(found, record)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if sound and key in (None, found) else None


def _sum(key: str, record: dict[str, Any]) -> str:
    return checksum(json.dumps([key, record], sort_keys=True).encode())
