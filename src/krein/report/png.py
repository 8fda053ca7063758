"""The heat map: a PNG in the few lines the format needs, with names at its edges."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np

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


def heat_chart(heat: dict[str, Any], classes: list[dict[str, Any]]) -> str:
    """The heat map with the names of the classes at its edges."""
    lines = "".join(
        f'<i style="left:{100 * b:.2f}%;top:0;width:1px;height:100%"></i>'
        f'<i style="top:{100 * b:.2f}%;left:0;height:1px;width:100%"></i>'
        for b in heat["boundaries"]
    )
    ends = [0.0, *heat["boundaries"], 1.0]
    names = ""
    for c, start, end in zip(classes, ends, ends[1:], strict=False):
        if end - start >= 0.04:  # else there is no room
            place = f"{100 * start:.2f}%;{{}}:{100 * (end - start):.2f}%"
            text = escape(c["label"])
            names += f'<b class="row" style="top:{place.format("height")}">{text}</b>'
            names += f'<b class="col" style="left:{place.format("width")}">{text}</b>'
    order = ", ".join(c["label"] for c in classes)
    alt = f"Similarities as colours, items ordered by class: {order}"
    return (
        f'<figure><div class="heat"><img alt="{escape(alt)}" '
        f'src="{heat_png(heat["cells"])}">{lines}{names}</div>'
        f'<span class="scale{" positive" if heat["low"] >= 0 else ""}"></span>'
        f'<div class="ends"><span>{heat["low"]:.3g} and less</span>'
        f"<span>{0.5 * (heat['low'] + heat['high']):.3g}</span>"
        f"<span>{heat['high']:.3g} and more</span></div></figure>"
    )
