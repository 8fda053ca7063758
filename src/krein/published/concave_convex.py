"""The concave-convex procedures of Liu et al., with corrected and printed formulas.

Positive decomposition (below Prop. 1; where it prints rho, tau is meant)

    K = K+ - K-,   K+ = V diag(max(mu, 0) + tau) V',   K- = V diag(max(-mu, 0) + tau) V'

and the sub-problem of an outer step from A_k, eq. (9), up to a constant,

    F_k(A) = loss(KA) + alpha/2 tr(A'K+A) - alpha tr(A'K-A_k),
    grad F_k = alpha K+A - (1/N) K W(T - P(KA)) - alpha K-A_k.

Corrected: eq. (10) prints y * K(beta) for K(y * beta); eq. (11) has beta inside the
exponential for alpha; eq. (12) lacks -alpha K- A_k; line 5 of Algorithm 1 gives the
gradient of h and calls it h~; L_F is alpha ||K+|| + ||K||^2 / (4N), not ||K|| / (4N).

``equations="printed"`` runs (10) and (12) as they stand ((11) with alpha: as printed it
defines beta by itself). What they are, with D = diag(y) and beta = sigmoid(-y * Ka):

- (10), K+a_t - K-a_k - D K beta / (n alpha) up to a factor, descends no function: its
  Jacobian has the term D K S D K, S = diag(beta (1 - beta)), which is not symmetric. At
  a fixed point Ka = y * theta with theta = K sigmoid(-theta) / (n alpha), an equation
  without labels (that of a problem in which all labels are +1). Where K >= 0
  elementwise theta > 0: every training item gets its label, whatever the labels are,
  and a interpolates y * theta. What generalises is the early stop; the first step from
  zero is the density-weighted mean a = eta/(2n) y * K1.
- (12) descends g(a) = loss(Ka) + alpha/2 a'K+a, which is convex: K- does not enter, the
  outer loop restarts eta and nothing else. Its fixed point is the minimiser,
  alpha K+a = K(y * beta) / n, and Ka is logistic regression with the positive definite
  kernel K K+^-1 K.

What is true of them: the objective has no minimum when K has a negative eigenvalue.
Exact CCCP grows by (tau + |mu|) / tau per outer step along a negative eigenvector, so
"cccp-gd" diverges; with the printed settings the inexact ones are gradient descent
stopped early, near the start. The residual that is reported tells.

Everything runs in the basis of eigenvectors of W^1/2 K W^1/2, where K+ and K- are
diagonal: a step costs two products with V, and V costs one eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from krein.arrays import Array
from krein.machines._loop import Iterate
from krein.machines.logistic import IndefiniteLogistic
from krein.published.checks import check
from krein.published.solver import solver
from krein.result import Certificate
from krein.spectrum.decomposition import Spectrum

_DIVERGED = 1e3  # times the largest size that a fixed point can have


@dataclass(frozen=True)
class CCCPSettings:
    """What Algorithm 1 fixes and what it leaves open.

    Parameters
    ----------
    epsilon : float
        The inner loop ends when F_k changes by at most this: 1 for CCICP-GD and SGD-I,
        0.0001 for CCCP-GD and CCICP-SGD.
    stochastic : bool
        Use the gradient of one random sample, eq. (12).
    batch : int
        Random samples per stochastic step. The paper names mini-batches and uses one
        sample; the mean of several takes its place in (12). They are drawn with
        replacement, by weight.
    eta : float
        Step length, 0.02 as printed. On data with large eigenvalues it exceeds
        2 / L_F and overflows.
    decay : float
        The paper's rho: eta is multiplied by it after every inner step.
    reset_eta : bool
        Start every outer step with `eta` again; False is Algorithm 1 as printed,
        where eta only shrinks.
    step : {"printed", "lipschitz"}
        Take `eta` and `decay`, or the constant step 1 / L_F.
    tau : float, optional
        Shift of the decomposition; 1.1 ``|mu_min|`` by default, and at least 1e-6
        ``|mu|``.
    equations : {"corrected", "printed"}
        The gradients that belong to the objective, or eqs. (10) and (12) as printed,
        which are for two classes without weights and intercept. They are no gradients
        of the objective; see the module for what they do.
    max_inner : int
        Largest number of inner steps.
    """

    epsilon: float = 1.0
    stochastic: bool = False
    batch: int = 1
    eta: float = 0.02
    decay: float = 0.8
    reset_eta: bool = True
    step: Literal["printed", "lipschitz"] = "printed"
    tau: float | None = None
    max_inner: int = 1000
    equations: Literal["corrected", "printed"] = "corrected"

    def __post_init__(self) -> None:
        check(epsilon=self.epsilon, batch=self.batch, eta=self.eta, decay=self.decay)
        check(reset_eta=self.reset_eta, step=self.step, tau=self.tau)
        check(max_inner=self.max_inner, equations=self.equations)


CCCP_DEFAULTS = {
    "cccp-gd": CCCPSettings(epsilon=1e-4),
    "ccicp-gd": CCCPSettings(epsilon=1.0),
    "ccicp-sgd": CCCPSettings(epsilon=1e-4, stochastic=True),
}


@solver(tol=1e-9, max_iter=20, keep="last")
def cccp_logistic(
    problem: IndefiniteLogistic,
    spectrum: Spectrum,
    settings: CCCPSettings,
    start: Array | None = None,
    *,
    random_state: np.random.RandomState | None = None,
) -> Iterator[Iterate]:
    """Run Algorithm 1 of Liu et al. and say what came of it.

    Parameters
    ----------
    problem : IndefiniteLogistic
        The problem; the paper's has ``fit_intercept=False``.
    spectrum : Spectrum
        All eigenpairs of W^1/2 K W^1/2.
    settings : CCCPSettings
        Inexactness, steps and decomposition.
    start : ndarray of shape (n, k), optional
        Coefficients to start from, zeros by default.
    random_state : RandomState, optional
        For the stochastic variants.

    Returns
    -------
    Result
        ``x`` (n, k): the last point, as in the paper, after ``max_iter=20`` outer steps
        (its k_max), or at ``tol=1e-9``, krein's, on the stationarity residual. Status
        "diverged" when it left the region of all fixed points a thousandfold, or was no
        longer finite; then the point of smallest residual, which is no model.
        ``info``: "intercept".
        ``history``: "norm" of x, "inner" steps so far.

    References
    ----------
    Liu et al., Algorithm 1, eqs. (8)-(12), Theorem 1.
    """
    _check_settings(settings, problem)
    A = np.zeros(problem.targets.shape) if start is None else start
    random = np.random.RandomState(0) if random_state is None else random_state
    return _Procedure(problem, spectrum, settings, random).iterates(A)


def _check_settings(settings: CCCPSettings, problem: IndefiniteLogistic) -> None:
    """Refuse printed equations beyond the paper's model."""
    weighted = problem.weight is not None
    beyond = problem.n_columns > 1 or weighted or problem.fit_intercept
    if settings.equations == "printed" and beyond:
        raise ValueError(
            "equations='printed' are for two classes without sample weights and "
            "intercept; use equations='corrected', or fit_intercept=False with two "
            "classes"
        )


def least_shift(eigenvalues: Array) -> float:
    """Tau of the decomposition unless it is given: 1.1 |mu_min|, and not zero."""
    size = float(np.abs(eigenvalues).max())
    return max(1.1 * -float(eigenvalues.min()), 1e-6 * size)


class _Procedure:
    """Algorithm 1 in eigenvector coordinates Z = V'W^-1/2 A."""

    def __init__(
        self,
        problem: IndefiniteLogistic,
        spectrum: Spectrum,
        settings: CCCPSettings,
        random: np.random.RandomState,
    ) -> None:
        self.problem = problem
        self.settings = settings
        self.random = random
        mu = spectrum.eigenvalues[:, None]
        self.mu = mu
        self.V = spectrum.eigenvectors
        self.root = np.sqrt(problem.column_weight)
        size = float(np.abs(mu).max())
        tau = least_shift(mu) if settings.tau is None else settings.tau
        self.inner = 0  # inner steps so far
        self.plus = np.maximum(mu, 0.0) + tau
        self.minus = np.maximum(-mu, 0.0) + tau
        bend = (0.25 if problem.n_columns == 1 else 0.5) * size**2 / problem.total
        self.lipschitz = problem.alpha * float(self.plus.max()) + bend

    def outputs(self, Z: Array) -> Array:
        """KA."""
        return (self.V @ (self.mu * Z)) / self.root

    def iterates(self, A: Array) -> Iterator[Iterate]:
        Z = self.V.T @ (A / self.root)
        eta = self.settings.eta
        limit = _DIVERGED * max(self._reach(), self._size(A, self.outputs(Z)))
        while True:
            with np.errstate(over="ignore", invalid="ignore"):
                A = self.root * (self.V @ Z)
                H = self.outputs(Z)
            if not (np.abs(A).max() < 1e150 and np.abs(H).max() < 1e150):
                # The loop ends with status diverged.
                yield Iterate(A, np.nan, Certificate("stationarity", np.inf, np.inf))
            yield self._iterate(A, H, limit)
            if self.settings.reset_eta:
                eta = self.settings.eta
            with np.errstate(over="ignore", invalid="ignore"):
                Z, eta = self._outer_step(Z, eta)

    def _size(self, A: Array, H: Array) -> float:
        """What `_reach` bounds: outputs for (10) as printed, otherwise coefficients."""
        settings = self.settings
        outputs = settings.equations == "printed" and not settings.stochastic
        return float(np.abs(H if outputs else A).max())

    def _reach(self) -> float:
        """Largest size of a fixed point."""
        problem = self.problem
        if self.settings.equations == "corrected":
            return float(problem.bound.max())  # A = c W (T - P)
        if self.settings.stochastic:  # g(a) <= g(0) = ln 2
            floor = problem.alpha * float(self.plus.min())
            return float(np.sqrt(2.0 * np.log(2.0) / floor))
        rows = float(np.abs(problem.K).sum(axis=1).max())
        return float(problem.bound.max()) * rows  # theta = c K sigmoid(-theta)

    def _iterate(self, A: Array, H: Array, limit: float) -> Iterate:
        b = self.problem.intercept(H)
        escaped = self._size(A, H) > limit
        return Iterate(
            x=A,
            value=self.problem.value(A, H, b),
            certificate=self.problem.certificate(A, b, H),
            stop="diverged" if escaped else None,
            facts={"norm": float(np.linalg.norm(A)), "inner": self.inner},
            info={"intercept": b},
        )

    def _outer_step(self, Z: Array, eta: float) -> tuple[Array, float]:
        """Inexact minimiser of F_k, lines 6 to 14 of Algorithm 1."""
        settings = self.settings
        constant = settings.step == "lipschitz"
        # (12) as printed lacks the term of K-.
        forgets = settings.equations == "printed" and settings.stochastic
        linear = self.problem.alpha * self.minus * Z
        value = self._majoriser(Z, linear)
        for _ in range(settings.max_inner):
            gradient = self._gradient(Z) - (0.0 if forgets else linear)
            Z = Z - (1.0 / self.lipschitz if constant else eta) * gradient
            eta *= settings.decay
            self.inner += 1
            new = self._majoriser(Z, linear)
            if not abs(new - value) > settings.epsilon:  # also when not a number
                break
            value = new
        return Z, eta

    def _gradient(self, Z: Array) -> Array:
        """Gradient of g, of all samples or of few drawn by weight."""
        problem = self.problem
        ridge = problem.alpha * self.plus * Z
        if self.settings.stochastic:
            return ridge - self._few_samples(Z)
        H = self.outputs(Z)
        G = problem.scores(H + problem.intercept(H))
        if self.settings.equations == "printed":
            y = 2.0 * problem.targets - 1.0  # G = y * beta, and (10) has y * K(beta)
            return ridge - self.V.T @ (y * (problem.K @ (y * G))) / problem.total
        return ridge - self.mu * (self.V.T @ (self.root * G)) / problem.total

    def _few_samples(self, Z: Array) -> Array:
        """Mean of K_j (t_j - p_j) over random j, in O(n) each without intercept."""
        problem = self.problem
        j = self._draw()
        outputs = (self.V[j] @ (self.mu * Z)) / self.root[j]
        if problem.fit_intercept:
            outputs = outputs + problem.intercept(self.outputs(Z))
        G = problem.targets[j] - problem.probabilities(outputs)
        return self.mu * (self.V[j].T @ (G / self.root[j])) / j.size

    def _draw(self) -> np.ndarray:
        weight = self.problem.weight
        share = None if weight is None else weight / self.problem.total
        return self.random.choice(self.V.shape[0], size=self.settings.batch, p=share)

    def _majoriser(self, Z: Array, linear: Array) -> float:
        """F_k up to a constant."""
        problem = self.problem
        H = self.outputs(Z)
        if not np.isfinite(H).all():
            return float("nan")
        losses = problem.losses(H + problem.intercept(H))
        loss = float(problem.column_weight[:, 0] @ losses) / problem.total
        ridge = 0.5 * problem.alpha * float(np.sum(self.plus * Z * Z))
        return loss + ridge - float(np.sum(linear * Z))
