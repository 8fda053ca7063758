"""All pairs of problem and solver: what fits runs, what does not is refused by name."""

import numpy as np
import pytest

from krein.domain import BalancedBox
from krein.problems.cpd import CPDProblem, SquaredHinge
from krein.problems.cpd_columns import DenseColumns
from krein.problems.dc import IndefiniteDual, PrimalDC
from krein.problems.logistic import IndefiniteLogistic
from krein.problems.mkl import MKLWeights
from krein.problems.proxy import ProxySVM
from krein.problems.svm import SVMDual
from krein.result import Result
from krein.solvers.accpm import accpm
from krein.solvers.cpd_newton import cpd_newton
from krein.solvers.dca import dc_primal, tdca
from krein.solvers.gradient import smm, spgm
from krein.solvers.libsvm import solve_dual
from krein.solvers.mkl import kernel_weights
from krein.solvers.newton_logistic import krein_gd, newton_logistic
from krein.solvers.second_order import second_order
from krein.solvers.siqclp import siqclp
from krein.spectrum import Spectrum

N = 12
RNG = np.random.default_rng(0)
F = RNG.standard_normal((N, 4))
RAW = (F * [1.0, 1.0, 1.0, -0.2]) @ F.T
PSD = F @ F.T + 0.1 * np.eye(N)
Y = np.where(np.arange(N) % 2, 1.0, -1.0)
BOX = BalancedBox(np.ones(N), Y)

PROBLEMS = {
    "ProxySVM": ProxySVM(Spectrum.exact(RAW), BOX, 1.0),
    "MKLWeights": MKLWeights([PSD, np.eye(N)], np.zeros(2), BOX),
    "IndefiniteDual": IndefiniteDual(RAW, BOX),
    "PrimalDC": PrimalDC(PSD, Y, 10.0),
    "IndefiniteLogistic": IndefiniteLogistic(RAW, (Y[:, None] > 0) * 1.0, 1.0),
    "CPDProblem": CPDProblem(
        DenseColumns(PSD), np.ones((N, 1)), SquaredHinge(Y, np.ones(N)), 0.1
    ),
    "SVMDual": SVMDual.classification(PSD, BOX),
}
# Which problems a solver is for, and options it cannot do without.
SOLVERS = {
    second_order: ({"ProxySVM"}, {}),
    spgm: ({"ProxySVM"}, {}),
    smm: ({"ProxySVM"}, {}),
    accpm: ({"ProxySVM"}, {"tol": 1e-3}),
    siqclp: ({"ProxySVM"}, {}),
    kernel_weights: ({"MKLWeights"}, {}),
    tdca: ({"IndefiniteDual"}, {}),
    dc_primal: ({"PrimalDC"}, {"max_iter": 3000}),
    newton_logistic: ({"IndefiniteLogistic"}, {}),
    krein_gd: ({"IndefiniteLogistic"}, {"largest": 100.0}),
    cpd_newton: ({"CPDProblem"}, {}),
    solve_dual: ({"SVMDual"}, {}),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)
def test_every_pair(solver, name):
    allowed, options = SOLVERS[solver]
    problem = PROBLEMS[name]
    if name not in allowed:
        with pytest.raises(TypeError, match=f"{solver.__name__} cannot solve {name}"):
            solver(problem, **options)
        return
    result = solver(problem, **options)
    result = result if isinstance(result, Result) else result[0]
    assert result.status == "converged"
    assert result.certificate.kind in ("gap", "stationarity")
    assert result.certificate.relative <= 1e-3
    assert np.any(result.x != 0.0)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)
def test_needs_are_met_and_needed(solver):
    """What is declared exists on the problems it is for."""
    for name in SOLVERS[solver][0]:
        for need in solver.needs:
            assert hasattr(PROBLEMS[name], need), need


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="there is no rise_grad, hessian_block"):
        second_order(PROBLEMS["IndefiniteDual"])
