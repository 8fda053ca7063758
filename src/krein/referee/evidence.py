"""The one sum of Fenchel and Young that certifies every machine.

    minimise  s/2 c'Kc + sum_i w_i l(z_i) + s r b,   z = m - y f,   f = K c + P b

over c with P'c = r: signs y, targets m, and a loss l of how far an output falls short.
With the variables a = y c and q = s a / w the terms of

    gap(c, b) = sum_i w_i [l(z_i) + l*(q_i) - q_i z_i]

are never negative, and their sum bounds objective minus minimum where K is positive
semidefinite on P'c = 0. Where K is indefinite it is zero at stationary points alone.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit, rel_entr

Array = np.ndarray
Measured = tuple[float, float]  # a number, and what rounding can make of it
EPS = float(np.finfo(float).eps)
_MEANING = {  # weakest first
    "none": "nothing is certified",
    "stationarity": "stationary point to a residual, others may be better",
    "gap": "global optimum to a gap",
}
_FEASIBLE = 1e-9  # a point counts as feasible if it is to this share of its size


@dataclass
class Evidence:
    """What the referee found for one row.

    Attributes
    ----------
    objective : Measured
        Recomputed.
    gap : Measured or None
        A valid bound; None where the problem is not convex.
    residual : Measured or None
        Violation of the optimality conditions; None where a gap says it all.
    unit, residual_unit : float
        What a relative gap and a relative residual refer to.
    faults : list of str
        What is wrong apart from the numbers: the point is not feasible, the
        attributes that predict are not those of the point that was certified.
    notes : list of str
        What is worth saying although nothing is wrong.
    """

    objective: Measured
    gap: Measured | None = None
    residual: Measured | None = None
    unit: float = 1.0
    residual_unit: float = 1.0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def faults_of(*checks: tuple[bool | np.bool_, str]) -> list[str]:
    """Return the texts of those checks that are not true."""
    return [text for fine, text in checks if not fine]


def norm(v: Array) -> float:
    """Euclidean norm that neither overflows nor underflows."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else 0.0


class Loss(NamedTuple):
    """A loss l(z), its slope, l(z) + l*(q) - q z without cancellation, ends of q."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    young: Callable[[Array, Array], Array]
    ends: tuple[float, float]


def _over(z: Array) -> Array:
    return np.maximum(z, 0.0)


HINGE = Loss(_over, lambda z: 1.0 * (z > 0.0),
             lambda z, q: (1 - q) * _over(z) + q * _over(-z), (0.0, 1.0))  # fmt: skip
LOSSES = {
    "squared": Loss(lambda z: z**2, lambda z: 2 * z,
                    lambda z, q: (z - q / 2) ** 2, (-np.inf, np.inf)),
    "squared_hinge": Loss(lambda z: _over(z) ** 2, lambda z: 2 * _over(z),
                          lambda z, q: (_over(z) - q / 2) ** 2 + q * _over(-z),
                          (0.0, np.inf)),
    "logistic": Loss(lambda z: np.logaddexp(0.0, z), expit,
                     lambda z, q: rel_entr(q, expit(z)) + rel_entr(1 - q, expit(-z)),
                     (0.0, 1.0)),
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """Loss, signs, targets, weights, s and r of the module's docstring.

    With the hinge: classification has m = 1, w = C; one class y = 1, m = 0; regression
    is two hinges per item, of signs +1 and -1, with m = t - eps and m = -t - eps. Items
    that a row does not see have w = 0.
    """

    loss: Loss
    y: Array
    target: Array
    w: Array
    s: float = 1.0
    total: float = 0.0

    def short(self, f: Array) -> Array:
        """How far outputs fall short: z."""
        return self.target - self.y * f

    def residual(self, c: Array, f: Array) -> Array:
        """Return ``s c / w - y l'(z)``, zero at stationary points of a smooth loss."""
        return self.s * c / self.w - self.y * self.loss.slope(self.short(f))

    def objective(self, c: Array, image: Array, f: Array, error: Array) -> Measured:
        """Return what is minimised, and its rounding; `image` is K c."""
        z = self.short(f)
        value = float(self.w @ self.loss.value(z)) + 0.5 * self.s * float(c @ image)
        slopes = self.w * (np.abs(self.loss.slope(z)) + error) + self.s * np.abs(c)
        return value, float(slopes @ error) + 64 * EPS * abs(value)

    def gap(self, a: Array, f: Array, error: Array) -> Measured:
        """Return the sum for the nearest variables in the domain, and its rounding."""
        z, w = self.short(f), np.maximum(self.w, 1e-300)
        q = np.clip(self.s * a / w, *self.loss.ends)
        slopes = [np.abs(self.loss.slope(z + e) - q) for e in (error, -error)]
        slack = 2 * float(self.w @ (np.maximum(*slopes) * error))
        return float(self.w @ self.loss.young(z, q)), slack

    # --------------------------------------------- the hinge: 0 <= a <= w, y'a = total

    def best_gap(self, a: Array, f: Array, error: Array) -> Measured:
        """Return the sum at the best b, a quantile, for outputs f without b."""
        kinks = self.y * self.short(f)
        order = np.argsort(kinks, kind="stable")
        share = float(self.w[self.y > 0].sum()) - self.total
        k = int(np.searchsorted(np.cumsum(self.w[order]), share))
        b = float(kinks[order[min(k, order.size - 1)]])
        error = error + 4 * EPS * (np.abs(self.target) + abs(b))
        gap, slack = self.gap(a, f + b, error)
        return gap, slack + abs(b * (float(self.y @ a) - self.total))

    def _ends(self, a: Array, f: Array, near: Array) -> tuple[float, float]:
        """Largest lower and smallest upper end that the variables leave for b."""
        kinks, plus = self.y * self.short(f), self.y > 0
        grows, falls = a < self.w - near, a > near
        at_least = kinks[np.where(plus, grows, falls)]
        at_most = kinks[np.where(plus, falls, grows)]
        return float(at_least.max(initial=-np.inf)), float(at_most.min(initial=np.inf))

    def violation(self, a: Array, f: Array) -> float:
        """Maximal violating pair (Keerthi et al., 2001)."""
        low, high = self._ends(a, f, 1e-9 * self.w)
        return max(0.0, low - high)

    def intercept_faults(
        self, b: float, a: Array, f: Array, error: Array, floor: float = -np.inf
    ) -> list[str]:
        """Check b against the interval that optimality leaves for it, above `floor`.

        Where the interval has one end only, that end is taken.
        """
        near = 1e-7 * np.minimum(self.w, float(np.abs(a).max(initial=0.0)))
        ends = [end for end in self._ends(a, f, near) if np.isfinite(end)]
        size = max(np.abs(f).max(), np.abs(self.target).max(), *np.abs(ends))
        slack = self.violation(a, f) + float(error.max()) + 1e-7 * float(size)
        low = max(min(ends, default=np.nan), floor) - slack
        high = max([*ends, floor]) + slack
        text = f"intercept_ is {b:.9g}, outside [{low:.9g}, {high:.9g}]"
        return faults_of((low <= b <= high, text))

    def infeasible(self, a: Array) -> list[str]:
        """Say where variables leave 0 <= a <= w, y'a = total."""
        outside, total = float(np.max(np.maximum(-a, a - self.w))), self.total
        inside = np.all(np.maximum(-a, a - self.w) <= _FEASIBLE * self.w)
        excess = abs(float(self.y @ a) - total)
        balanced = excess <= _FEASIBLE * max(float(np.abs(a).sum()), abs(total))
        return faults_of(
            (inside, f"alpha_ leaves its bounds by up to {outside:.3g}"),
            (balanced, f"alpha_ is not feasible: |y'a - {total:g}| = {excess:.3g}"),
        )

    def dual_evidence(self, a: Array, f: Array, error: Array, convex: bool) -> Evidence:
        """Judge variables in the box by the outputs f = K c without b."""
        value = float(self.target @ a) - 0.5 * float((self.y * a) @ f)
        slack = float(np.abs(a) @ error)
        slack += 8 * (a.size + 8) * EPS * float(np.abs(self.target) @ np.abs(a))
        off = self.violation(a, f), 2 * float(error.max())
        evidence = Evidence((value, slack), residual=off, faults=self.infeasible(a))
        # Where all variables are 0 the loss stands for the value.
        floor = 0.0 if a.any() else 1e-6 * float(self.w @ np.abs(self.target))
        evidence.unit = max(abs(value), floor)
        if convex:
            gap, gap_slack = self.best_gap(a, f, error)
            evidence.gap = gap, gap_slack + slack
        return evidence


# --------------------------------------------------- claims compared with evidence

# Kind and value of a certificate, objective and status of a row, and its tolerance.
Claim = tuple[str, float, float, str, float]


def judge(evidence: Evidence, claim: Claim) -> tuple[str, float, list[str]]:
    """Say what holds of a claim and what does not, rounding counted."""
    (claimed, bound, objective, status, tol), (value, slack) = claim, evidence.objective
    known = {"gap": (evidence.gap, evidence.unit)} if evidence.gap is not None else {}
    if evidence.residual is not None:
        known["stationarity"] = (evidence.residual, evidence.residual_unit)
    kind = claimed if claimed in known else next(iter(known))
    measure, rounding = known[kind][0]
    solved = [m <= tol * (1 + 1e-6) * unit + s for (m, s), unit in known.values()]
    fine = kind != claimed or measure <= bound * (1 + 1e-9) + rounding
    recomputed = f"recomputed {measure:.6g} (rounding accounts for {rounding:.1g})"
    faults = evidence.faults + faults_of(
        (abs(objective - value) <= slack,
         f"objective_ says {objective:.9g}, recomputed {value:.9g}"),
        (claimed != "gap" or evidence.gap is not None,
         "a gap is claimed for a problem that is not convex"),
        (fine, f"{kind} claimed {bound:.6g}, {recomputed}"),
        (status != "converged" or any(solved),
         f"says converged with tol={tol:g}, but {recomputed}"),
    )  # fmt: skip
    kind = "none" if evidence.faults or status == "diverged" else kind
    return kind, measure, faults


def _some(values: Array) -> str:
    return np.array2string(values, precision=6, threshold=4)


@dataclass(frozen=True)
class CertificateReport:
    """What `check_certificate` found.

    Attributes
    ----------
    holds : bool or None
        True if every claim of the model is confirmed, False if one is not, None where
        the referee cannot check (the text says why).
    kind : {"gap", "stationarity", "none"}
        The statement that holds: the global optimum lies within `recomputed` of the
        objective; the point is stationary to `recomputed`; or neither.
    claimed : ndarray of shape (n_rows,)
        Gaps or residuals that the model claims.
    recomputed : ndarray of shape (n_rows,)
        The same by the referee.
    objective : ndarray of shape (n_rows,)
        The objective by the referee.
    text : str
        The findings in words, also ``str(report)``.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import KreinSVC, check_certificate
    >>> K = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]])
    >>> y = ["a", "a", "b"]
    >>> report = check_certificate(KreinSVC(C=10.0).fit(K, y), K, y)
    >>> report.holds, report.kind
    (True, 'gap')
    """

    holds: bool | None
    kind: str
    claimed: np.ndarray
    recomputed: np.ndarray
    objective: np.ndarray
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        holds = {True: "yes", False: "no", None: "not checked"}[self.holds]
        rows = {"holds": holds, "statement": _MEANING[self.kind],
                "claimed": _some(self.claimed),
                "recomputed": _some(self.recomputed)}  # fmt: skip
        cells = [f"<tr><th>{k}</th><td>{html.escape(v)}</td>" for k, v in rows.items()]
        table = f"<table><caption>krein certificate</caption>{''.join(cells)}</table>"
        return f"{table}<pre>{html.escape(self.text)}</pre>"


def report_on(
    name: str, rows: Iterable[tuple[Evidence, Claim]], faults: list[str]
) -> CertificateReport:
    """One report from evidence and claims of all rows, and faults of the whole."""
    kinds, numbers, wrong, notes = [], [], [*faults], dict[str, None]()
    for i, (evidence, claim) in enumerate(rows):
        kind, measure, own = judge(evidence, claim)
        kinds.append(kind)
        numbers.append((claim[1], measure, evidence.objective[0]))
        wrong += [f"row {i}: {fault}" for fault in own]
        notes |= dict.fromkeys(f"note: {note}" for note in evidence.notes)
    kind = next((k for k in _MEANING if k in kinds), "none")
    claimed, recomputed, objective = np.array(numbers).reshape(-1, 3).T
    head = "does not hold" if wrong else "holds"
    lines = [f"{name}: the certificate {head} ({_MEANING[kind]})"]
    lines.append(f"claimed {_some(claimed)}, recomputed {_some(recomputed)}")
    text = "\n".join([*lines, *(f"- {fault}" for fault in wrong), *notes])
    return CertificateReport(not wrong, kind, claimed, recomputed, objective, text)


def unchecked(name: str, reason: str) -> CertificateReport:
    """Report that nothing can be said, and why."""
    text = f"{name}: the certificate cannot be checked: {reason}"
    nothing = np.empty(0)
    return CertificateReport(None, "none", nothing, nothing, nothing, text)
