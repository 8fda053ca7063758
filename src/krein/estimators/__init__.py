"""Estimators with scikit-learn's interface: coefficients on the raw kernel.

`_base` and `_tasks` validate, prepare and predict; a class has a
pure function ``fit_rows`` and, to be searched, ``grid`` and ``fit_path`` (`_search`).
What is solved is in `krein.machines`, what a fitted model consists of in
`krein.declarations`.
"""
