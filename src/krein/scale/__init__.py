"""Beyond memory: landmark blocks on disk, hits in many files; on dask.distributed.

`api` fits and predicts, `tiles` computes and keeps the block of similarities, `client`
hands out work, `hits` reads tables in parts. Files and locks belong to `krein.store`.
"""

from krein.scale.api import decision_function, fit, predict, predict_proba
from krein.scale.hits import predict_hits, read_hits

__all__ = [
    "decision_function",
    "fit",
    "predict",
    "predict_hits",
    "predict_proba",
    "read_hits",
]
