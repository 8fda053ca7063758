"""Table of scikit-learn's checks for every estimator: python -m tests.estimators.checks

A row an estimator and setting: how many checks it passed, how many scikit-learn
skipped (that of array API input, which needs SCIPY_ARRAY_API=1), which failed and why.
Names given as arguments choose classes.
"""

import sys
import warnings
from collections import Counter

from sklearn.utils.estimator_checks import check_estimator

from tests.estimators.cases import ESTIMATORS, OWN_KERNEL, VARIANTS
from tests.estimators.test_common import (
    DEFAULTS,
    SLOW_DEFAULTS,
    both_kernels,
    expected_of_variants,
)

ALL = both_kernels(ESTIMATORS + VARIANTS) + OWN_KERNEL + DEFAULTS + SLOW_DEFAULTS


def row(estimator):
    """Cells of the table for one estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(
            estimator,
            on_skip=None,
            on_fail=None,
            expected_failed_checks=expected_of_variants(estimator),
        )
    counts = Counter(check["status"] for check in checks)
    reasons = {
        check["check_name"]: check["expected_to_fail_reason"]
        if check["status"] == "xfail"
        else f"NOT EXPECTED: {check['exception']}"
        for check in checks
        if check["status"] in ("xfail", "failed")
    }
    failed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return [repr(estimator), str(counts["passed"]), str(counts["skipped"]), failed]


def main(names):
    print("| estimator | passed | skipped | failed, and why |\n|---|---|---|---|")
    for estimator in ALL:
        if not names or type(estimator).__name__ in names:
            print("|", " | ".join(row(estimator)), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
