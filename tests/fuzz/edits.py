"""Sound models pass, and the referee notices what moves an output or is a lie.

One trial is one model of `models.draw_model`: it is judged as it is, with every edit of
`tests.referee.edits` by a random amount, and with claims that are not true of it.
"""

import numpy as np

from krein import check_certificate
from tests.referee.edits import EDITS, applied, called, claiming, movement, outputs
from tests.referee.edits import judged as judged_by_referee

from . import TrialError
from .models import draw_model

LEAST = 1e-6  # change of an output, as a share of the largest of its row
LIE = 0.9  # share of the recomputed gap that is claimed
TINY = 1e-12  # share of the objective that is no gap, but its last digits
# Refused with a reason, which is an answer: nothing else may be raised.
POLITE = (
    "makes K + alpha I singular",
    "take up all dimensions",
    "the polynomials reach every function",
    "not conditionally positive definite",
    "alpha",
)


def edits(seed):
    """Judge one model, edits of it and lies about it."""
    drawn = draw_model(seed)
    model = fitted(drawn)
    if model is None:
        return
    report = check_certificate(model, drawn.X, drawn.y, drawn.weight, P=drawn.P)
    what = f"{drawn.family} ({drawn.regime})"
    if not report.holds:
        raise TrialError(f"{what}: refused: {report}")
    unnoticed = [
        f"{name} by {amount:.3g} moves outputs by {share:.3g}"
        for name, amount, share in missed(drawn, model, seed)
    ]
    unnoticed += [f"lie: {lie}" for lie in believed(drawn, model, report)]
    if unnoticed:
        raise TrialError(f"{what}: not noticed: {'; '.join(unnoticed)}")


def fitted(drawn):
    """Return the fitted model; None if the problem was refused for a stated reason."""
    try:
        return drawn.fit()
    except ValueError as error:
        if any(text in str(error) for text in POLITE):
            return None
        raise TrialError(f"{drawn.family}: {error}") from error


def missed(drawn, model, seed):
    """Edits that move an output and are not noticed: name, amount, share moved."""
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    if any(result.status == "diverged" for result in results):
        return []
    rng = np.random.default_rng([seed, 12])
    before = outputs(model, drawn.X, drawn.P)
    rounded = rounding(drawn, model, before)
    found = []
    for name in EDITS:
        amount = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-6, 3))
        edited = applied(name, model, rng, amount)
        if edited is None:
            continue
        share = movement(before, edited, drawn)
        if (
            share > max(LEAST, rounded)
            and judged_by_referee(edited, drawn) is not False
        ):
            found.append((name, amount, share))
    return found


def _is_exact(drawn):
    """Whether nothing is granted: a given matrix, and a fix that only multiplies."""
    if drawn.regime == "items" or getattr(drawn.model, "kernel", "") == "thin_plate":
        return False
    if drawn.family in ("KreinSVC", "DCSVC primal", "KreinRidge", "MKLSVC"):
        return False
    if drawn.family.startswith("CPD"):
        return drawn.model.kernel == "precomputed"
    return getattr(drawn.model, "method", "clip") in ("clip", "flip", "shift", "none")


def rounding(drawn, model, before):
    """Share of the outputs that is rounding of them: no edit of that size is one.

    That of a product with the kernel, and of a decomposition of it.
    """
    if not isinstance(drawn.X, np.ndarray) or drawn.X.shape[0] != drawn.X.shape[1]:
        return 0.0
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    coefs = [np.linalg.norm(model.dual_coef_, axis=1).max()]
    coefs += [np.linalg.norm(result.x) for result in results]
    terms = np.linalg.norm(drawn.X, 2) * max(coefs)
    sizes = np.abs(before.reshape(len(before), -1)).max(axis=0)
    smallest = float(sizes.min()) or np.inf
    return 8 * len(drawn.X) * np.finfo(float).eps * terms / smallest


def believed(drawn, model, report):
    """Lies that are not noticed."""
    lies = {}
    recomputed = report.recomputed
    if _is_exact(drawn):
        # The least bound that the referee can find: it looks for it if need be.
        nothing = claiming(model, np.zeros_like(recomputed))
        least = check_certificate(
            nothing, drawn.X, drawn.y, drawn.weight, P=drawn.P
        ).recomputed
        if np.any(least > TINY * np.abs(report.objective)):
            lies["a smaller gap"] = claiming(model, LIE * least)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    far = [r.certificate.relative > 100.0 * model.tol for r in results]
    if all(far) and np.all(recomputed > 0.5 * report.claimed):
        lies["converged"] = called(model, "converged")
    return [
        name
        for name, liar in lies.items()
        if judged_by_referee(liar, drawn) is not False
    ]
