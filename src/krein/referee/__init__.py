"""An independent referee of what fitted models claim about themselves.

It reads the data, the constructor's parameters and the fitted attributes, and computes
feasibility, objective, gap or residual again, from the definitions, with code of its
own: NumPy, SciPy, scikit-learn's class weights and the records of the spectrum methods,
nothing of krein's machines, estimators and similarities.

- `check`: `check_certificate`, and what is around a model;
- `fit`: the data as the model saw them, and the attributes that predict;
- `kernel`: the kernel that a spectrum method trains on, and its map to the raw kernel;
- `evidence`: the one sum that certifies;
- `report`: claims compared with what was found;
- `machines`: how each machine makes its kernel and its coefficients.
"""

from krein.referee.check import check_certificate
from krein.referee.report import CertificateReport

__all__ = ["CertificateReport", "check_certificate"]
