"""Model files of krein 0.2 (format 2), turned into the tree that is read today.

Only names and places differ: the numbers of a model are the same. The tree is changed
before anything is made of it, so that the reader knows one format. What a file of 0.2
holds and krein no longer has is left out where prediction does not need it.
"""

from __future__ import annotations

from typing import Any

from krein.files.model_contents import known_class

OLDEST = 2  # the first format that is read

# Records by their former names.
_RECORDS = {"TreatedKernel": "FixedKernel", "Method": "Fix"}
# Parameters that are gone, with the value that changes nothing: a model that was fitted
# with another one is refused by the reader, which names the parameter.
_GONE_PARAMS: dict[str, Any] = {
    "approximation": None,  # of logistic regression
    "basis": "random",
    "floor": 0.0,
    "signature": None,
    "sparse": False,
}
# Fitted state, and fields of a record, that nothing asks for any more.
_GONE_STATE = {"labels_changed_", "C_", "rho_", "best_alpha_"}
_GONE_FIELDS = {"Result": {"history", "info"}, "Spectrum": {"truncation"}}
# The setting that a search chose stood in attributes of its own.
_CHOSEN = {"C_": "C", "rho_": "rho", "best_alpha_": "alpha"}


def upgraded(node: Any) -> Any:
    """Return a part of a tree of format 2 as the present format has it.

    Parameters
    ----------
    node : plain value
        A part of ``model.json``.

    Returns
    -------
    plain value
    """
    if isinstance(node, list):
        return [upgraded(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {name: upgraded(value) for name, value in node.items()}
    if node.get("~") in ("record", "rebuilt"):
        return _record(node)
    if node.get("~") == "estimator":
        return _estimator(node)
    return node


def _record(node: dict[str, Any]) -> dict[str, Any]:
    name = _RECORDS.get(node["class"], node["class"])
    gone = _GONE_FIELDS.get(name, set())
    fields = {key: value for key, value in node["fields"].items() if key not in gone}
    return {"~": "record", "class": name, "fields": fields}


def _estimator(node: dict[str, Any]) -> dict[str, Any]:
    state = dict(node["state"])
    chosen = {new: state[old] for old, new in _CHOSEN.items() if old in state}
    if chosen:
        items = [[name, value] for name, value in chosen.items()]
        state.setdefault("best_params_", {"~": "dict", "items": items})
    return {
        **node,
        "params": _without_gone(node["class"], node["params"]),
        "state": {key: v for key, v in state.items() if key not in _GONE_STATE},
    }


def _without_gone(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Leave out parameters that the class no longer has, at their neutral value."""
    today = set(known_class(name)._get_param_names()) if known_class(name) else set()
    return {
        key: value
        for key, value in params.items()
        if key in today or key not in _GONE_PARAMS or value != _GONE_PARAMS[key]
    }
