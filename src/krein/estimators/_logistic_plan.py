"""What kernel logistic regression is about to solve, settled before it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from krein.arrays import Array
from krein.declarations import Fitted
from krein.machines.logistic import uniqueness_ratio
from krein.published.concave_convex import CCCPSettings
from krein.result import Result
from krein.similarity.matrix import Matrix
from krein.spectrum.decomposition import Spectrum
from krein.spectrum.fixed_kernel import FixedKernel
from krein.training import Row, Training, starting_rows
from krein.words import warn_user

PAPER = ("cccp-gd", "ccicp-gd", "ccicp-sgd")
MAX_ITER = {"newton": 100, "krein-gd": 100_000, **dict.fromkeys(PAPER, 20)}
_OPTIONS: dict[str, tuple[str, ...]] = {
    "newton": ("init",),
    "krein-gd": ("init",),
    **dict.fromkeys(PAPER, ("init", *(f.name for f in fields(CCCPSettings)))),
}
_MARGIN = 1.05  # above the floor of alpha, so that the solution is safely unique


# What a fitted model says about its plan.
PLAN_STATE = Fitted.state(
    Fitted("alpha_used_", "number"),
    Fitted("unique_", "flag"),
    Fitted("flipped_", "flag"),
    Fitted("ratio_", "numbers", "r"),
)


@dataclass(frozen=True)
class Plan:
    """What is solved: the kernel, the penalty used and how unique the solution is."""

    K: Matrix
    alpha: float
    ratio: float
    fixed_kernel: FixedKernel | None = None
    spectrum: Spectrum | None = None
    flipped: bool = False

    @property
    def unique(self) -> bool:
        """True if the stationarity equation has one solution."""
        return self.flipped or self.ratio < 1.0


def check_options(solver: str, given: dict[str, Any] | None) -> None:
    """Refuse options that a solver does not know."""
    for name in given or {}:
        if name not in _OPTIONS[solver]:
            raise ValueError(
                f"solver_options has {name!r}, which solver={solver!r} does not know; "
                f"it knows {', '.join(_OPTIONS[solver])}"
            )


def least_alpha(smallest: float, total: float, columns: int) -> float:
    """Smallest penalty with which the solution is safely unique."""
    return _MARGIN * uniqueness_ratio(smallest, 1.0, total, columns)


def penalty(
    alpha: float, indefinite: str, smallest: float, total: float, columns: int
) -> tuple[float, float]:
    """Alpha and ratio after `indefinite` was applied; says what was done."""
    ratio = uniqueness_ratio(smallest, alpha, total, columns)
    if ratio >= 1.0:
        given = (
            f"the kernel's smallest eigenvalue {smallest:.4g} is {ratio:.3g} times "
            f"what alpha={alpha:.4g} allows for a unique solution"
        )
        if indefinite == "raise-alpha":
            alpha = least_alpha(smallest, total, columns)
            ratio = 1.0 / _MARGIN
            told = f"alpha was raised to {alpha:.6g}"
        elif indefinite == "flip":
            told = "the flipped kernel was used"
        else:
            told = "several solutions may exist, and they generalise badly"
        warn_user(f"{given}: {told} (indefinite=)")
    return alpha, ratio


def initial(init: Any, training: Training, n_rows: int, random_state: Any) -> Array:
    """Starting coefficients (n, n_rows); weights act as repetition here too."""
    if not isinstance(init, str):
        return np.asarray(starting_rows(init, training, n_rows), dtype=float).T
    shape = training.size, n_rows
    starts = {"zeros": np.zeros(shape), "ones": np.ones(shape)}
    starts["minus-ones"] = -starts["ones"]
    starts["uniform"] = check_random_state(random_state).uniform(size=shape)
    if init not in starts:
        raise ValueError(
            "solver_options['init'] must be 'zeros', 'ones', 'minus-ones', "
            f"'uniform' or an array (n_rows, n_train), got {init!r}"
        )
    weight = 1.0 if training.weight is None else training.weight[:, None]
    return weight * starts[init]


def split_rows(result: Result, to_raw: Callable[[Array], Array] | None) -> list[Row]:
    """One Row per column of a joint result, on the raw kernel."""
    coef = result.x if to_raw is None else to_raw(result.x)
    intercept = result.info["intercept"]
    return [
        Row(column, float(b), replace(result, x=x))
        for column, b, x in zip(coef.T, intercept, result.x.T, strict=True)
    ]
