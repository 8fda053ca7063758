"""A heat map as a PNG, in the few lines the format needs."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

__all__ = ["heat_png"]

_LOW, _MIDDLE, _HIGH = (178, 24, 43), (247, 247, 247), (33, 102, 172)


def heat_png(cells: list[list[int]]) -> str:
    """Return a data URI: red for -100, white for 0, blue for 100.

    What is drawn decides which of these colours occur; see `heat_map`.

    Parameters
    ----------
    cells : list of list of int
        Rows of equal length, values -100 .. 100.
    """
    indices = (np.asarray(cells) + 100).astype(np.uint8)
    height, width = indices.shape
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), indices])
    body = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            # 8 bits per pixel, colours from a palette.
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", _palette()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(body).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
    )


def _palette() -> bytes:
    share = np.linspace(0, 1, 101)[:, None]
    low = np.array(_LOW) * (1 - share) + np.array(_MIDDLE) * share
    high = np.array(_MIDDLE) * (1 - share) + np.array(_HIGH) * share
    return np.vstack([low[:-1], high]).round().astype(np.uint8).tobytes()
