"""Files of earlier versions: what stood there under other names."""

from __future__ import annotations

from typing import Any

import numpy as np

from krein.machines.new_points import Proxy
from krein.models.registry import state_of
from krein.similarity.treated import TreatedKernel

# Fitted attributes that krein 0.2 stored and that no longer mean anything.
RETIRED = {
    "stage_coef_", "stage_intercept_", "stage_threshold_", "expected_share_",
    "expected_change_", "coef_", "alphas_", "Cs_", "rhos_", "scores_", "C_", "rho_",
    "best_alpha_",
}  # fmt: skip
_CHOSEN = {"C_": "C", "rho_": "rho", "best_alpha_": "alpha"}  # names in best_params_


def without_retired(state: dict[str, Any], known: Any) -> dict[str, Any]:
    """Return the state of a file up to format 2 without what is no longer kept."""
    chosen = {new: state[old] for old, new in _CHOSEN.items() if old in state}
    kept = {k: v for k, v in state.items() if k in known or k not in RETIRED}
    if "best_params_" in known and chosen:
        kept.setdefault("best_params_", chosen)
    return kept


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


def old_transform(
    method: str,
    spectrum: Any,
    gain: Any,
    eta: float = 0.0,
    weight: Any = None,
    target: Any = None,
    psd: bool = False,
) -> TreatedKernel:
    """Return the map of a SpectrumTransformer as krein up to 0.2 stored it."""
    if spectrum is None or gain is None:
        return TreatedKernel(None, shift=eta, weight=weight, psd=psd)
    return TreatedKernel(
        None, 0.0, keep=0.0, vectors=spectrum.eigenvectors, gain=gain, weight=weight,
        psd=psd,
    )  # fmt: skip
