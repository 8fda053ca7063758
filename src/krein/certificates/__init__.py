"""An independent referee of what fitted models claim about themselves.

From data, constructor parameters and fitted attributes alone, and with code of its own
(NumPy and `numpy.linalg`; nothing of the solvers, problems, domain or spectrum), each
page recomputes feasibility, objective, a valid bound or the stationarity residual of
one class of problems:

- `svm`: machines in a box (classification, regression, one class);
- `spectral`: the kernel a spectrum fix trains on, and its map to raw coefficients;
- `proxy`, `dc`, `logistic`, `ridge`, `cpd`, `mkl`: one problem each.
"""

from krein.certificates.check import check_certificate
from krein.certificates.report import CertificateReport

__all__ = ["CertificateReport", "check_certificate"]
