"""Which method for this similarity? All of them, on the same splits."""

from krein.comparison.comparison import Comparison
from krein.comparison.contenders import list_methods
from krein.comparison.kernel_comparison import KernelComparison
from krein.comparison.run import compare

__all__ = ["Comparison", "KernelComparison", "compare", "list_methods"]
