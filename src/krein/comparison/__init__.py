"""Which method for this similarity? All of them, on the same splits."""

from krein.comparison.comparison import Comparison
from krein.comparison.contenders import list_methods
from krein.comparison.run import KernelComparison, compare

__all__ = ["Comparison", "KernelComparison", "compare", "list_methods"]
