"""What earlier releases had, and what to use instead: the hints of error messages."""

from __future__ import annotations

# Names of the package.
NAMES = {
    "log_kernel": "pass a function of two lists as kernel=",
    "thin_plate_order_kernel": "use thin_plate_kernel(X, Y, exponent=...)",
    "unbounded_direction": "a fitted DCSVC says it in unbounded_",
}
# Parameters of estimators, by name: where a class no longer has one.
PARAMETERS = {
    "basis": "n_basis= takes that many training items at random",
    "floor": "leave low scores out of the table before",
    "signature": "put KreinNystroem before scikit-learn's LogisticRegression",
    "sparse": "call sparsify(tolerance=0.1) after fit",
}
