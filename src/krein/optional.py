"""Optional packages are imported when used; a missing one is named with its extra."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_optional(module: str, *, extra: str | None, needed_for: str) -> ModuleType:
    """Import `module`, or raise an ImportError that names the extra to install.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"rapidfuzz.distance"``.
    extra : str or None
        Name of the extra in ``pip install "krein[extra]"``; None: no extra has it.
    needed_for : str
        The feature, as the subject of the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        install = package if extra is None else f'"krein[{extra}]"'
        raise ImportError(
            f"{needed_for} needs the package {package!r}: pip install {install}"
        ) from error
