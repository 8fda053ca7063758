"""What every solver returns: the point, how good it is, and how it got there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from krein.arrays import Array

Status = Literal["converged", "max_iter", "diverged", "interrupted"]


class DivergedError(ValueError):
    """A model is asked for an answer although its fit diverged.

    Parameters
    ----------
    message : str
        What happened, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import DivergedError
    >>> issubclass(DivergedError, ValueError)
    True
    """


@dataclass(frozen=True)
class Certificate:
    """How far a point is from a solution, in numbers that can be recomputed.

    Parameters
    ----------
    kind : {"gap", "stationarity"}
        ``"gap"``: the optimal objective lies within `value` of the objective at this
        point (a true bound). ``"stationarity"``: `value` is the norm of the
        optimality residual; on a non-convex problem nothing stronger is claimed.
    value : float
        The certificate in the units of the problem, not negative.
    relative : float
        The scale-free form of `value`; this is what ``tol`` is compared with.

    Examples
    --------
    >>> from krein import Certificate
    >>> Certificate("gap", value=2e-6, relative=1e-7).relative
    1e-07
    """

    kind: Literal["gap", "stationarity"]
    value: float
    relative: float


class History(Mapping[str, Array]):
    """One row of facts per iteration, read by column.

    Row 0 is the starting point. Columns that every solver records are ``value``,
    ``bound``, ``gap`` or ``residual`` (by the kind of certificate), ``relative`` and
    ``seconds``; solvers add their own, such as ``size`` of a localisation set.

    Attributes
    ----------
    n_rows : int
        Number of recorded iterations, the starting point included.

    Examples
    --------
    >>> from krein import History
    >>> history = History()
    >>> history.record(value=1.0, gap=0.5)
    >>> history.record(value=1.4, gap=0.1)
    >>> history["gap"]
    array([0.5, 0.1])
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, float]] = []

    def record(self, **facts: float) -> None:
        """Append one row; a fact missing from other rows reads as NaN there."""
        self._rows.append({name: float(fact) for name, fact in facts.items()})

    def __getitem__(self, name: str) -> Array:
        if not any(name in row for row in self._rows):
            raise KeyError(f"{name!r} was not recorded; recorded: {', '.join(self)}")
        return np.array([row.get(name, math.nan) for row in self._rows])

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def n_rows(self) -> int:
        """Number of recorded iterations, the starting point included."""
        return len(self._rows)

    def __repr__(self) -> str:
        return f"History({self.n_rows} rows: {', '.join(self)})"


@dataclass(frozen=True)
class Result:
    """The outcome of one solver run.

    Attributes
    ----------
    x : ndarray
        The point returned: the best one by certificate.
    value : float
        Objective at `x`.
    certificate : Certificate
        How good `x` is.
    status : {"converged", "max_iter", "diverged", "interrupted"}
        Why the run ended.
    n_iter : int
        Number of steps taken.
    history : History
        Facts per iteration.
    info : dict
        What only one solver has to say (e.g. the final localisation set).

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinSVC
    >>> model = KreinSVC().fit(np.array([[1.0, -2.0], [-2.0, 1.0]]), [0, 1])
    >>> model.result_.status, model.result_.certificate.kind
    ('converged', 'gap')
    """

    x: Array
    value: float
    certificate: Certificate
    status: Status
    n_iter: int
    history: History = field(default_factory=History)
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def converged(self) -> bool:
        """True if the tolerance asked for was reached."""
        return self.status == "converged"

    def __repr__(self) -> str:
        return (
            f"Result({self.status} after {self.n_iter} iterations, "
            f"value={self.value:.6g}, {self.certificate.kind}="
            f"{self.certificate.value:.2g})"
        )

    @property
    def sentence(self) -> str:
        """How the solver ended, in words: what ``verbose=1`` prints."""
        words = {"gap": "duality gap", "stationarity": "stationarity residual"}
        kind = words.get(self.certificate.kind, self.certificate.kind)
        return (
            f"{self.status} after {self.n_iter} iterations, objective "
            f"{self.value:.6g}, {kind} {self.certificate.value:.2g} (compared with "
            f"tol: {self.certificate.relative:.2g})"
        )

    def _repr_html_(self) -> str:
        rows = {
            "status": self.status,
            "iterations": str(self.n_iter),
            "objective": f"{self.value:.8g}",
            self.certificate.kind: f"{self.certificate.value:.3g}",
            "relative": f"{self.certificate.relative:.3g}",
        }
        cells = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in rows.items())
        return f"<table><caption>krein Result</caption>{cells}</table>"

    def plot(
        self, x: Literal["iteration", "seconds"] = "iteration", ax: Any = None
    ) -> Any:
        """Draw objective and bound, and the certificate on a logarithmic axis.

        Parameters
        ----------
        x : {"iteration", "seconds"}
            What the horizontal axis counts.
        ax : sequence of two matplotlib Axes, optional
            Where to draw; made when not given.

        Returns
        -------
        ndarray of two matplotlib Axes
        """
        from krein.plotting import plot_history

        return plot_history(self, x=x, axes=ax)
