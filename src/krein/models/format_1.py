"""Files of krein 0.1: names in a state were those of attributes, private ones too."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.models.registry import state_of
from krein.problems.new_points import Proxy

__all__ = ["from_format_1"]


def from_format_1(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state as the class declares it today."""
    if "_signs" in state:
        state = _with_proxy(state)
    names = {entry.place: entry.name for entry in state_of(cls).values()}
    return {names.get(place, place): value for place, value in state.items()}


def _with_proxy(state: dict[str, Any]) -> dict[str, Any]:
    """What the learned kernel of a ProxySVC is made of stood in several parts."""
    state = dict(state)
    parts = ("_signs", "_rho", "_kept", "_K_fit")
    signs, rho, kept, raw = (state.pop(name) for name in parts)
    state["proxy_"] = Proxy(state["spectrum_"], np.vstack(signs), rho, kept, raw)
    return state
