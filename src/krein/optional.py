"""Optional packages are imported when used; a missing one is named with its extra."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["import_optional"]


def import_optional(module: str, *, extra: str, needed_for: str) -> ModuleType:
    """Import `module`, or raise an ImportError that names the extra to install.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"rapidfuzz.distance"``.
    extra : str
        Name of the extra in ``pip install "krein[extra]"``.
    needed_for : str
        The feature, as the subject of the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{needed_for} needs the package {module.split('.')[0]!r}: "
            f'pip install "krein[{extra}]"'
        ) from error
