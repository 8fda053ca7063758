"""What is minimised and how: problems with their certificates, and solvers.

A problem holds data and certifies points (`svm_dual`, `proxy`, `logistic`, `cpd`); a
solver is a function from a problem to a `Result`. The feasible set of all SVM duals is
`box`. Algorithms that repeat a paper are in `krein.published`; estimators, which choose
among solvers and move coefficients to the raw kernel, are in `krein.estimators`.
"""
