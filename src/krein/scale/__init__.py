"""Beyond memory: landmark blocks on disk, on one machine or on dask.distributed."""

from krein.scale.api import decision_function, fit, predict

__all__ = ["decision_function", "fit", "predict"]
