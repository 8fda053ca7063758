"""What every solver returns: the point, how good it is, and how it got there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from krein.arrays import Array
from krein.plotting import NEGATIVE, POSITIVE, new_axes

# How a run ended; `Result` says what each of them means.
Status = Literal["converged", "stalled", "max_iter", "diverged", "interrupted"]


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
    rounding : float
        The share of `relative` that is not left by the solver but counted for rounding
        errors, of the sums and of the eigendecomposition: at the same point exact
        arithmetic would claim ``relative - rounding``. Zero where a solver does not
        tell the two apart.

    Examples
    --------
    >>> from krein import Certificate
    >>> Certificate("gap", value=2e-6, relative=1e-7).relative
    1e-07
    """

    kind: Literal["gap", "stationarity"]
    value: float
    relative: float
    rounding: float = 0.0

    def status(self, tol: float, *, out_of_steps: bool) -> Status:
        """How a run ended that ended here, and neither diverged nor was interrupted.

        Parameters
        ----------
        tol : float
            Largest `relative` that counts as converged.
        out_of_steps : bool
            The largest number of steps was taken.
        """
        if self.relative <= tol:
            return "converged"
        return "max_iter" if out_of_steps else "stalled"


@dataclass(eq=False, repr=False)
class History(Mapping[str, Array]):
    """One row of facts per iteration, read by column.

    Row 0 is the starting point. Columns that every solver records are ``value``,
    ``bound``, ``gap`` or ``residual`` (by the kind of certificate), ``relative`` and
    ``seconds``; solvers add their own, such as ``size`` of a localisation set.

    Parameters
    ----------
    rows : list of dict, optional
        Facts of each iteration by name.

    Examples
    --------
    >>> from krein import History
    >>> history = History()
    >>> history.record(value=1.0, gap=0.5)
    >>> history.record(value=1.4, gap=0.1)
    >>> history["gap"]
    array([0.5, 0.1])
    """

    rows: list[dict[str, float]] = field(default_factory=list)

    def record(self, **facts: float) -> None:
        """Append one row; a fact missing from other rows reads as NaN there."""
        self.rows.append({name: float(fact) for name, fact in facts.items()})

    def __getitem__(self, name: str) -> Array:
        if not any(name in row for row in self.rows):
            raise KeyError(f"{name!r} was not recorded; recorded: {', '.join(self)}")
        return np.array([row.get(name, math.nan) for row in self.rows])

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        for row in self.rows:
            names.update(dict.fromkeys(row))
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def n_rows(self) -> int:
        """Number of recorded iterations, the starting point included."""
        return len(self.rows)

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
    status : {"converged", "stalled", "max_iter", "diverged", "interrupted"}
        Why the run ended. ``"converged"``: the certificate is within the tolerance.
        ``"stalled"``: it is not, and the method could take no further step, or
        counting the rounding errors put it above: more steps do not help, but a
        similarity divided by its size, a larger alpha (smaller C) or a larger tol do;
        ``certificate.rounding`` says how much is rounding. ``"max_iter"``: as many
        steps as allowed were taken, more may help. ``"diverged"``: the point is no
        model. ``"interrupted"``: a callback ended it.
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

    def certified(self, certificate: Certificate, tol: float) -> Result:
        """Return it with another certificate, which may be above the tolerance.

        The difference is rounding that the solver did not count: then the status of a
        run that had converged is ``"stalled"``.

        Parameters
        ----------
        certificate : Certificate
            Of the same point, with more counted.
        tol : float
            Largest relative value that counts as converged.
        """
        status = self.status
        before = self.certificate.relative
        if np.isfinite(certificate.relative) and np.isfinite(before):
            counted = certificate.relative - before
            rounding = max(0.0, counted) + self.certificate.rounding
            certificate = replace(certificate, rounding=rounding)
        if status == "converged" and not certificate.relative <= tol:
            status = "stalled"
        return replace(self, certificate=certificate, status=status)

    def is_solved_to_rounding(self, tol: float) -> bool:
        """Whether only counted rounding errors keep the certificate above `tol`."""
        if not np.isfinite(self.certificate.relative):
            return False
        own = self.certificate.relative - self.certificate.rounding
        return self.status == "stalled" and own <= tol

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
        if x not in ("iteration", "seconds"):
            raise ValueError(f"x must be 'iteration' or 'seconds', got {x!r}")
        history = self.history
        if history.n_rows == 0:
            raise ValueError("this result has no history: its solver recorded no steps")
        axes = new_axes(2, figsize=(9, 3)) if ax is None else ax
        at = np.arange(history.n_rows) if x == "iteration" else history["seconds"]
        for column, colour in (("value", POSITIVE), ("bound", NEGATIVE)):
            if column in history:
                axes[0].plot(at, history[column], color=colour, label=column)
        axes[0].set(xlabel=x, title="objective")
        axes[0].legend(frameon=False)
        axes[1].plot(at, history["relative"], color=POSITIVE)
        axes[1].set(xlabel=x, title=f"relative {self.certificate.kind}", yscale="log")
        return axes
