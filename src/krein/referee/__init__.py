"""An independent referee of what fitted models claim about themselves.

It reads the data, the constructor's parameters and the fitted attributes, and computes
feasibility, objective, gap or residual again, from the definitions, with code of its
own: NumPy, SciPy and the standard library, nothing of krein's solvers and estimators.

- `check`: which class is judged how, and `check_certificate`;
- `training`: the data as the model saw them, and the attributes that predict;
- `kernel`: the kernel that a spectrum method trains on, and its map to the raw kernel;
- `box`, `smooth`: the two kinds of problem, and the machines that are of that kind;
- `report`: claims, evidence and the sentence that compares them.
"""

from krein.referee.check import check_certificate
from krein.referee.report import CertificateReport

__all__ = ["CertificateReport", "check_certificate"]
