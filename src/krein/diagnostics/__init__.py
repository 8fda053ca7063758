"""How indefinite a similarity is, whether it matters, and what else is wrong."""

from krein.diagnostics.diagnosis import Diagnosis, diagnose
from krein.diagnostics.findings import Finding

__all__ = ["Diagnosis", "Finding", "diagnose"]
