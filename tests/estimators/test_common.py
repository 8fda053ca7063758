"""scikit-learn's own checks, with a computed and with a precomputed kernel."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from krein import CPDSVC, CPDRegressor, PseudoEuclideanEmbedding, SpectrumTransformer
from tests.estimators.cases import ESTIMATORS, OWN_KERNEL

BOTH_KERNELS = [
    clone(estimator).set_params(kernel=kernel)
    for estimator in ESTIMATORS
    for kernel in ("rbf", "precomputed")
]
TRANSFORMERS = [SpectrumTransformer("clip"), PseudoEuclideanEmbedding()]


def _expected_failures(estimator):
    if (
        isinstance(estimator, CPDSVC | CPDRegressor)
        and estimator.kernel == "precomputed"
    ):
        reason = "a kernel cut to integers is not c.p.d. any more, which is refused"
        return {"check_estimators_dtypes": reason}
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    BOTH_KERNELS + OWN_KERNEL + TRANSFORMERS,
    expected_failed_checks=_expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
