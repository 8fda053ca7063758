"""
Logistic regression without a minimum
=====================================

With a negative eigenvalue, the objective of kernel logistic regression has no minimum:
what exists is a stationary point, a saddle, and it is unique below a threshold. Two
items and K = diag(10, -1) show it all: the published concave-convex procedure runs away
along the negative eigenvector although its condition for convergence holds, Newton's
method ends at the saddle.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from krein import KreinLogisticRegression

K, y, penalty = np.diag([10.0, -1.0]), np.array([1, -1]), 5.0


def objective(a, b):
    """L(a) of two coefficients, arrays allowed."""
    loss = np.logaddexp(0, -10 * a) + np.logaddexp(0, -b)
    return loss / 2 + penalty / 2 * (10 * a**2 - b**2)


def fitted(solver, steps):
    model = KreinLogisticRegression(
        penalty,
        fit_intercept=False,
        solver=solver,
        indefinite="allow",
        max_iter=steps,
        solver_options={"epsilon": 1e-12, "tau": 1.1} if solver == "cccp-gd" else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(K, y)


newton = fitted("newton", 100)
procedure = fitted("cccp-gd", 12).result_
print(
    f"Newton: residual {newton.residual_[0]:.1e}, ratio {newton.ratio_[0]:.2f}, "
    f"unique: {newton.unique_}"
)
print(f"concave-convex procedure: {procedure}")
residuals = procedure.history["residual"]

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
a, b = np.meshgrid(np.linspace(-0.1, 0.2, 200), np.linspace(-0.6, 0.6, 200))
L = objective(a, b)
axes[0].contourf(a, b, L, 40, cmap="viridis")
axes[0].contour(a, b, L, 25, colors="white", linewidths=0.3)
saddle = newton.dual_coef_[0]
axes[0].plot(*saddle, "*", color="#ffd60a", ms=18, label="Newton: the stationary point")
axes[0].set(
    title="objective, no minimum",
    xlabel="first coefficient",
    ylabel="second coefficient",
    xlim=(-0.1, 0.2),
    ylim=(-0.6, 0.6),
)
axes[0].legend(loc="upper left")
axes[1].semilogy(residuals, "o-", color="#c1121f", label="concave-convex procedure")
axes[1].axhline(
    max(newton.residual_[0], 1e-17), color="#2a6f97", label="Newton's residual"
)
axes[1].set(title="violation of the stationarity equation", xlabel="outer step")
axes[1].legend()
plt.show()
