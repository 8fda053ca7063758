"""Beyond memory: landmark blocks on disk, hits in many files; on dask.distributed."""

from krein.scale.api import decision_function, fit, predict
from krein.scale.hits import predict_hits, read_hits

__all__ = ["decision_function", "fit", "predict", "predict_hits", "read_hits"]
