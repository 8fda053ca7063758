"""One call that says how indefinite a similarity is and what to use."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from krein import validation
from krein.arrays import Array, as_square
from krein.diagnostics import facts as looks
from krein.diagnostics.advice import advise
from krein.diagnostics.findings import Evidence, Finding, find
from krein.diagnostics.twins import listed_groups
from krein.memory import require_for
from krein.similarity.conversions import median_distance
from krein.similarity.sparse import SparseSimilarity, check_sparse_rows
from krein.threads import threads_by_size

_NEARLY_PSD = 0.01
_ROUNDING = 1e-8
_SPECTRAL = ("eigenvalues", "signature", "negative_mass", "exact")
Verdict = Literal["psd", "nearly psd", "indefinite"]


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
    verdict : {"psd", "nearly psd", "indefinite"}
        In two words.
    advice : list of str
        What to use and why.
    findings : list of Finding
        What is wrong or worth knowing, the worst first, each with its repair.

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
    negative_part: looks.NegativePart
    cpd_order: int | None
    triangle_violations: float | None = None
    verdict: Verdict = "indefinite"
    advice: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def facts(self) -> dict[str, str]:
        """The findings as words, in the order they are shown."""
        p, q, z = self.signature
        about = "" if self.exact else "about "
        broken = self.triangle_violations
        part = self.negative_part
        uneven = f"no: relative asymmetry {self.asymmetry:.2g}"
        rows = {
            "items": f"{self.n} ({self.kind})",
            "symmetric": "yes" if self.symmetric else uneven,
            "signature": f"{about}{p} positive, {q} negative, {z} zero",
            "eigenvalues": f"{self.eigenvalues[0]:.4g} to {self.eigenvalues[-1]:.4g}",
            "negative mass": f"{about}{self.negative_mass:.2g}",
            "conditionally PSD": f"order {self.cpd_order}" if self.cpd_order else "",
            "negative part": "" if self.verdict == "psd" else _describe(part),
        }
        if broken is not None:
            share = f"broken by {broken:.2%} of the triples"
            rows["triangle inequality"] = share if broken else "holds"
        return {name: fact for name, fact in rows.items() if fact}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        plain = asdict(self)
        values = plain.pop("eigenvalues")
        ends = {"smallest_eigenvalue": values[0], "largest_eigenvalue": values[-1]}
        return plain | {name: float(value) for name, value in ends.items()}

    def __str__(self) -> str:
        rows = self.facts()
        width = max(map(len, rows))
        lines = []
        for finding in self.findings:
            lines.append(f"{finding.severity}: {finding.text}")
            if finding.items:
                lines.append(f"  items: {listed_groups(finding.items)}")
        lines += [f"{name:<{width}}  {value}" for name, value in rows.items()]
        lines.append("advice:")
        lines += [f"  - {line}" for line in self.advice]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

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


@threads_by_size
def diagnose(
    K: Any,
    y: Any = None,
    X: Any = None,
    kind: Literal["similarity", "distance"] = "similarity",
    *,
    task: Literal["classification", "regression"] | None = None,
) -> Diagnosis:
    """Say how indefinite a similarity is, whether it matters, and what to use.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Similarities or distances between items. Beyond 5000 items the spectrum is
        examined by Lanczos: both ends exactly, the rest estimated.
    y : array-like of shape (n,), optional
        Labels, to test whether the negative part carries information about them.
    X : array-like of shape (n, d), optional
        Coordinates of the items, to test conditional positive definiteness up to
        degree 2.
    kind : {"similarity", "distance"}
        A distance is examined as exp(-d / median); it may also be a condensed vector
        of ``pdist`` or a ``DistanceMatrix`` of scikit-bio.
    task : {"classification", "regression"}, optional
        What `y` is; found by its numbers when not given.

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
    seen = _look_at(K, y, X, kind, task)
    S = seen.similarity
    spectrum = seen.spectrum
    order = seen.cpd_order
    part = looks.examine_negative_part(S, spectrum, seen.classes)
    verdict = _verdict(spectrum)
    findings = find(seen)
    broken = None
    if kind == "distance":
        broken = looks.triangle_violations(0.5 * (seen.given + seen.given.T))
    return Diagnosis(
        S.shape[0],
        kind,
        bool(seen.asymmetry <= _ROUNDING),
        seen.asymmetry,
        **{name: getattr(spectrum, name) for name in _SPECTRAL},
        negative_part=part,
        cpd_order=order,
        triangle_violations=broken,
        verdict=verdict,
        advice=advise(
            verdict, part, order, findings, kind=kind, numbers=seen.are_numbers
        ),
        findings=findings,
    )


@threads_by_size
def find_in(
    K: Any, y: Any = None, X: Any = None, *, task: str | None = None
) -> list[Finding]:
    """Return the findings of `diagnose` alone, which seldom need the spectrum."""
    return find(_look_at(K, y, X, "similarity", task))


def _look_at(K: Any, y: Any, X: Any, kind: str, task: str | None) -> Evidence:
    """Check what was given."""
    if kind not in ("similarity", "distance"):
        raise ValueError(f"kind must be 'similarity' or 'distance', got {kind!r}")
    if task not in (None, "classification", "regression"):
        raise ValueError(
            f"task must be 'classification', 'regression' or None, got {task!r}"
        )
    K = as_square(K, "K") if kind == "distance" else K
    validation.check_order(K, y)
    sparse = scipy.sparse.issparse(K)
    K, filled = _check_matrix(K)
    if y is not None:
        validation.refuse_missing_targets(y)
        y = column_or_1d(y)
    check_consistent_length(K, y, X)
    largest = max(float(np.abs(K).max()), np.finfo(float).tiny)
    relative = validation.asymmetry(K) / largest
    S = K if relative <= _ROUNDING else 0.5 * (K + K.T)
    S = _as_similarity(S) if kind == "distance" else S
    return Evidence(K, S, kind, y, relative, filled, X, task, sparse)


def _as_similarity(D: Array) -> Array:
    """Similarities exp(-d / median) of distances."""
    if float(D.min()) < 0:
        raise ValueError(
            f"K has a negative entry ({float(D.min()):.3g}), which no distance has; "
            "pass kind='similarity'"
        )
    return np.exp(-D / median_distance(D))


def _verdict(facts: Any) -> Verdict:
    if facts.signature[1] == 0:
        return "psd"
    return "nearly psd" if facts.negative_mass < _NEARLY_PSD else "indefinite"


def _check_matrix(K: Any) -> tuple[Array, int]:
    """Return finite numbers and how many missing ones were taken from the mirror."""
    if scipy.sparse.issparse(K):
        rows = check_sparse_rows(K, "K")
        K = SparseSimilarity(rows).dense("the diagnosis")
    validation.refuse_odd_arrays(K, "K", missing=True)
    with validation.numbers_that_fit("K"):
        how = {"ensure_min_samples": 2, "ensure_all_finite": "allow-nan"}
        K = check_array(K, dtype=np.float64, input_name="K", **how)
    validation.check_square(K, "K")
    n = K.shape[0]
    kind = "exact" if n <= looks.EXACT_UP_TO else "estimated"
    require_for(f"the {kind} diagnosis", n, "Diagnose a random subset.")
    missing = np.isnan(K)
    K = np.where(missing, K.T, K) if missing.any() else K
    left = np.argwhere(np.isnan(K))
    if left.size:
        i, j = left[0]
        raise ValueError(
            f"K has {len(left)} missing entries without a mirror entry, the first at "
            f"row {i}, column {j}; measure them, or leave out the items"
        )
    return K, int(missing.sum())


_NEGATIVE_PART = {
    "none": "none",
    "noise": "looks like symmetric noise",
    "structure": "has structure",
    "unclear": "noise or structure: not clear",
}


def _describe(part: looks.NegativePart) -> str:
    words = _NEGATIVE_PART[part.verdict]
    details = []
    if part.noise_edge is not None:
        details.append(f"{part.outside} beyond the noise edge {part.noise_edge:.3g}")
    if part.agreement is not None:
        chance = f"{part.agreement_by_chance:.2f}"
        details.append(f"halves agree to {part.agreement:.2f}, by chance {chance}")
    if part.label_p_value is not None:
        details.append(f"label alignment p = {part.label_p_value:.3f}")
    return f"{words} ({'; '.join(details)})" if details else words
