"""How indefinite a similarity is, and whether it matters."""

from krein.diagnostics.diagnosis import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
