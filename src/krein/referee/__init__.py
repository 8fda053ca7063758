"""An independent referee of what fitted models claim about themselves.

It reads the data, the constructor's parameters and the fitted attributes, and computes
feasibility, objective, gap or residual again, from the definitions, with code of its
own: NumPy, SciPy, scikit-learn's class weights and the records of the spectrum fixes,
nothing of krein's machines, estimators and similarities.

Read it in this order:

- `check`: `check_certificate`, which model is judged how, and what is around a model;
- `fitted`: the data as the model saw them, its kernel and its rows;
- `prediction`: what predicts is what was certified;
- `losses`, `box`: the sum of Fenchel and Young that bounds a gap, the machines with a
  hinge, and the intercept that belongs to them;
- `kernel`: the kernel that a spectrum fix trains on, and its map to the raw kernel;
- `svm`, `proxy`, `mkl`, `ridge`, `logistic`, `dc_primal`, `cpd`, `repair`: one page per
  machine, with definition, source and checks;
- `averages`: models that average several machines, and the means that predict;
- `claims`: what was found beside what is claimed, and how far off a claim may be;
- `report`: the outcome in numbers and words;
- `digits`: arithmetic with 32 digits, because claims are about the last of 16.
"""

from krein.referee.check import check_certificate
from krein.referee.report import CertificateReport

__all__ = ["CertificateReport", "check_certificate"]
