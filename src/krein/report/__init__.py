"""The HTML report of a comparison: data in `data`, the page in `render`.

A comparison is known here by its attributes only; `krein.comparison` asks for a page.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any


def write_report(
    comparison: Any, path: str | Path, *, force: bool = False, **context: Any
) -> Path:
    """Write the report of one comparison.

    Parameters
    ----------
    comparison : Comparison or KernelComparison
        What was found.
    path : str or Path
        Where to write.
    force : bool
        Replace an existing file.
    **context
        Of `krein.report.data.case`.

    Returns
    -------
    Path
    """
    from krein.report.data import case
    from krein.report.render import render
    from krein.store.files import atomic_write, check_writable
    from krein.store.sharing import is_sharing, shared_work

    path = check_writable(path, overwrite=force)
    with nullcontext() if is_sharing() else shared_work():
        found = case(comparison, **context)
    page = render(
        {
            "title": f"krein: {found['title']}",
            "intro": "",
            "footer": f"Made by krein {found['run']['krein']}.",
            "cases": [found],
        }
    )
    with atomic_write(path, overwrite=force, text=True) as file:
        file.write(page)
    return path
