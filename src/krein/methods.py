"""The former home of the spectrum fixes; use `krein.spectrum.fixes`.

The names of krein 0.2 stay importable from here for one release.
"""

from krein.spectrum.fixes import FIXES as METHODS
from krein.spectrum.fixes import Fix as Method
from krein.spectrum.fixes import as_fix as as_method
from krein.spectrum.fixes import power, weighted_flip

__all__ = ["METHODS", "Method", "as_method", "power", "weighted_flip"]
