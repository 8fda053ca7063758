"""Which method for this similarity? All of them, on the same splits."""

from krein.comparison.comparison import Comparison, Recommendation
from krein.comparison.methods import METHODS, Method, list_methods
from krein.comparison.run import KernelComparison, compare

__all__ = [
    "METHODS",
    "Comparison",
    "KernelComparison",
    "Method",
    "Recommendation",
    "compare",
    "list_methods",
]
