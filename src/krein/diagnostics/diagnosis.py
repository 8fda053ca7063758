"""One call that says how indefinite a similarity is and what to use."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from krein.arrays import Array
from krein.diagnostics.distances import (
    median_distance,
    similarity_forms,
    triangle_violations,
)
from krein.diagnostics.negative_part import NegativePart, examine_negative_part
from krein.diagnostics.spectrum_facts import (
    SpectrumFacts,
    estimated_facts,
    exact_facts,
)
from krein.matrices.memory import require_memory
from krein.validation import asymmetry, check_square, refuse_odd_arrays

__all__ = ["Diagnosis", "diagnose"]

_EXACT_UP_TO = 5000
_NEARLY_PSD = 0.01
_FORMS_UP_TO = 2000


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found; prints as text, shows as HTML, draws itself.

    Attributes
    ----------
    n : int
        Number of items.
    kind : {"similarity", "distance"}
        What the matrix was said to be. Spectral facts of a distance are those of
        exp(-d / median).
    symmetric : bool
        Symmetric to rounding; otherwise the facts are of (K + K') / 2.
    asymmetry : float
        Largest ``|K_ij - K_ji|`` over largest ``|K_ij|``.
    eigenvalues : ndarray
        Ascending; all of them, or both ends when n is large (``exact=False``).
    signature : tuple of int
        Number of positive, negative and zero eigenvalues.
    negative_mass : float
        Sum of the magnitudes of negative eigenvalues over that of all.
    exact : bool
        False: signature and negative mass are estimates by stochastic Lanczos.
    negative_part : NegativePart
        Noise or structure, and whether it knows the labels.
    cpd_order : int or None
        0 positive semidefinite; m: conditionally so on the complement of polynomials
        of degree m - 1 (degree 1 and 2 need X); None: of no order tried.
    triangle_violations : float or None
        Share of triples that break the triangle inequality (distances only).
    forms : dict
        Negative mass of other similarities made from a distance.
    verdict : {"psd", "nearly psd", "indefinite"}
        In two words.
    advice : list of str
        What to use and why.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import diagnose
    >>> found = diagnose(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> found.signature, found.negative_mass
    ((1, 1, 0), 0.25)
    """

    n: int
    kind: str
    symmetric: bool
    asymmetry: float
    eigenvalues: Array = field(repr=False)
    signature: tuple[int, int, int]
    negative_mass: float
    exact: bool
    negative_part: NegativePart
    cpd_order: int | None
    triangle_violations: float | None = None
    forms: dict[str, float] = field(default_factory=dict)
    verdict: Literal["psd", "nearly psd", "indefinite"] = "indefinite"
    advice: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, str]:
        """The findings as words, in the order they are shown."""
        p, q, z = self.signature
        about = "" if self.exact else "about "
        rows = {
            "items": f"{self.n} ({self.kind})",
            "symmetric": "yes"
            if self.symmetric
            else f"no: relative asymmetry {self.asymmetry:.2g}",
            "signature": f"{about}{p} positive, {q} negative, {z} zero",
            "eigenvalues": f"{self.eigenvalues[0]:.4g} to {self.eigenvalues[-1]:.4g}",
            "negative mass": f"{about}{self.negative_mass:.2g}",
        }
        if self.cpd_order:
            rows["conditionally PSD"] = f"order {self.cpd_order}"
        if self.verdict != "psd":
            rows["negative part"] = _describe(self.negative_part)
        if self.triangle_violations is not None:
            share = self.triangle_violations
            rows["triangle inequality"] = (
                "holds" if share == 0 else f"broken by {share:.2%} of the triples"
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        part = self.negative_part
        return {
            "n": self.n,
            "kind": self.kind,
            "symmetric": self.symmetric,
            "asymmetry": self.asymmetry,
            "signature": list(self.signature),
            "smallest_eigenvalue": float(self.eigenvalues[0]),
            "largest_eigenvalue": float(self.eigenvalues[-1]),
            "negative_mass": self.negative_mass,
            "exact": self.exact,
            "negative_part": {**part.__dict__},
            "cpd_order": self.cpd_order,
            "triangle_violations": self.triangle_violations,
            "forms": dict(self.forms),
            "verdict": self.verdict,
            "advice": list(self.advice),
        }

    def __str__(self) -> str:
        rows = self.facts()
        width = max(map(len, rows))
        lines = [f"{name:<{width}}  {value}" for name, value in rows.items()]
        if self.forms:
            lines.append("negative mass of other similarities of this distance:")
            lines += [f"  {name:<18} {mass:.2g}" for name, mass in self.forms.items()]
        lines.append("advice:")
        lines += [f"  - {line}" for line in self.advice]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>"
            for k, v in self.facts().items()
        )
        advice = "".join(f"<li>{html.escape(line)}</li>" for line in self.advice)
        return (
            f"<table><caption>krein diagnosis: {self.verdict}</caption>{cells}</table>"
            f"<ul>{advice}</ul>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the eigenvalues, the negative ones marked, with the noise band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; made when not given.

        Returns
        -------
        matplotlib Axes
        """
        from krein.plotting import plot_spectrum

        return plot_spectrum(self.eigenvalues, self.negative_part.noise_edge, ax=ax)


def diagnose(
    K: Any,
    y: Any = None,
    X: Any = None,
    kind: Literal["similarity", "distance"] = "similarity",
) -> Diagnosis:
    """Say how indefinite a similarity is, whether it matters, and what to use.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarities or distances between items. Beyond 5000 items the spectrum is
        examined by Lanczos: both ends exactly, the rest estimated.
    y : array-like of shape (n,), optional
        Labels; tells whether the negative part carries label information.
    X : array-like of shape (n, d), optional
        Coordinates of the items; lets conditional positive definiteness be tried up
        to degree 2.
    kind : {"similarity", "distance"}
        A distance is examined as exp(-d / median), beside other forms.

    Returns
    -------
    Diagnosis

    References
    ----------
    Wigner (1958) for the semicircle; Pekalska, Duin (2005) for negative mass.

    Examples
    --------
    >>> from krein import diagnose, load_dataset, sigmoid_kernel
    >>> sonar = load_dataset("sonar")
    >>> X = (sonar.data - sonar.data.mean(0)) / sonar.data.std(0)
    >>> found = diagnose(sigmoid_kernel(X), sonar.target)
    >>> found.verdict, round(found.negative_mass, 2)
    ('indefinite', 0.15)
    """
    if kind not in ("similarity", "distance"):
        raise ValueError(f"kind must be 'similarity' or 'distance', got {kind!r}")
    K = _check_matrix(K)
    y = None if y is None else column_or_1d(y)
    check_consistent_length(K, y, X)
    largest = max(float(np.abs(K).max()), np.finfo(float).tiny)
    relative = asymmetry(K) / largest
    symmetric = relative <= 1e-8
    S = K if symmetric else 0.5 * (K + K.T)
    triangles, forms = None, {}
    if kind == "distance":
        _check_distances(S)
        triangles = triangle_violations(S)
        forms = similarity_forms(S) if S.shape[0] <= _FORMS_UP_TO else {}
        S = np.exp(-S / median_distance(S))
    facts = exact_facts(S) if S.shape[0] <= _EXACT_UP_TO else estimated_facts(S)
    part = examine_negative_part(S, facts, y)
    order = cpd_order(S, facts, X)
    verdict = _verdict(facts)
    return Diagnosis(
        n=K.shape[0],
        kind=kind,
        symmetric=bool(symmetric),
        asymmetry=relative,
        eigenvalues=facts.eigenvalues,
        signature=facts.signature,
        negative_mass=facts.negative_mass,
        exact=facts.exact,
        negative_part=part,
        cpd_order=order,
        triangle_violations=triangles,
        forms=forms,
        verdict=verdict,
        advice=_advice(verdict, part, order, bool(symmetric), kind, forms),
    )


def _check_matrix(K: Any) -> Array:
    refuse_odd_arrays(K, "K")
    K = check_array(K, dtype=np.float64, input_name="K", ensure_min_samples=2)
    check_square(K, "K")
    n = K.shape[0]
    need = 5 * 8 * n * n if n <= _EXACT_UP_TO else 3 * 8 * n * n
    require_memory(need, f"the diagnosis of {n} items", "Diagnose a random subset.")
    return K


def _check_distances(D: Array) -> None:
    if float(D.min()) < 0:
        raise ValueError(
            f"K has a negative entry ({float(D.min()):.3g}), which no distance has; "
            "pass kind='similarity'"
        )


def cpd_order(K: Array, facts: SpectrumFacts, X: Any = None) -> int | None:
    """Smallest order m <= 3 at which K is PSD beside polynomials of degree m - 1.

    Order 1 needs constants only; orders 2 and 3 need coordinates X for the linear and
    the quadratic polynomials.
    """
    if facts.signature[1] == 0:
        return 0
    if K.shape[0] > _EXACT_UP_TO:
        return None
    for order, P in enumerate(_polynomials(K.shape[0], X), start=1):
        Q = np.linalg.qr(P)[0]
        KQ = K @ Q
        projected = K - KQ @ Q.T - Q @ (KQ.T - (Q.T @ KQ) @ Q.T)
        values = np.linalg.eigvalsh(0.5 * (projected + projected.T))
        if values[0] >= -K.shape[0] * 1e-15 * float(np.abs(facts.eigenvalues).max()):
            return order
    return None


def _polynomials(n: int, X: Any) -> list[Array]:
    """Columns of degree 0, then up to 1, then up to 2, where X is given."""
    ones = np.ones((n, 1))
    if X is None:
        return [ones]
    X = check_array(X, dtype=np.float64, input_name="X")
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + np.finfo(float).tiny)
    i, j = np.triu_indices(X.shape[1])
    spaces = [ones, np.hstack([ones, X]), np.hstack([ones, X, X[:, i] * X[:, j]])]
    return [P for P in spaces if P.shape[1] < n]


def _verdict(facts: SpectrumFacts) -> Literal["psd", "nearly psd", "indefinite"]:
    if facts.signature[1] == 0:
        return "psd"
    return "nearly psd" if facts.negative_mass < _NEARLY_PSD else "indefinite"


def _describe(part: NegativePart) -> str:
    words = {
        "none": "none",
        "noise": "looks like symmetric noise",
        "structure": "has structure",
        "unclear": "noise or structure: not clear",
    }[part.verdict]
    details = []
    if part.noise_edge is not None:
        details.append(f"{part.outside} beyond the noise edge {part.noise_edge:.3g}")
    if part.agreement is not None:
        details.append(
            f"halves agree to {part.agreement:.2f}, by chance "
            f"{part.agreement_by_chance:.2f}"
        )
    if part.label_p_value is not None:
        details.append(f"label alignment p = {part.label_p_value:.3f}")
    return f"{words} ({'; '.join(details)})" if details else words


def _advice(
    verdict: str,
    part: NegativePart,
    order: int | None,
    symmetric: bool,
    kind: str,
    forms: dict[str, float],
) -> list[str]:
    """What to use and why, most important first."""
    lines = []
    if not symmetric:
        lines.append(
            "The matrix is not symmetric: pass symmetrize=True, or find out why the "
            "two directions differ."
        )
    if verdict == "psd":
        lines.append(
            "Positive semidefinite to rounding: a plain SVC(kernel='precomputed') is "
            "right, no fix is needed."
        )
    elif verdict == "nearly psd":
        lines.append(
            "Nearly positive semidefinite: a plain SVC will do; SpectrumSVC('clip') "
            "removes the doubt at the cost of one eigendecomposition."
        )
    elif order is not None:
        lines.append(
            f"Conditionally positive definite of order {order}: CPDSVC uses it as it "
            "is, without any fix."
        )
    elif part.verdict == "noise":
        lines.append(
            "The negative part looks like noise: SpectrumSVC('clip') or ProxySVC, "
            "which remove it."
        )
    elif part.verdict == "structure":
        lines.append(
            "The negative part carries structure: KreinSVC or SpectrumSVC('flip'), "
            "which keep it; clip would throw it away."
        )
    else:
        lines.append(
            "Not clear whether the negative part helps: compare clip, flip and the "
            "proxy SVM on your data with krein.compare."
        )
    if verdict == "indefinite" and not order:
        lines.append(
            "Whatever the fix, map new rows by the one fitted on training data "
            "(krein's estimators do); raw test rows on a fixed model are wrong."
        )
    if kind == "distance" and forms and verdict != "psd":
        best = min(forms, key=lambda name: forms[name])
        lines.append(
            f"Of the similarities of this distance {best} has the least negative mass "
            f"({forms[best]:.2g}); changing the form comes before spectrum surgery."
        )
    return lines
