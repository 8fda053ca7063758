"""Beyond memory: landmark blocks on disk, on one machine or on dask.distributed."""

from krein.scale.api import decision_function, fit, predict
from krein.scale.store import DamagedTileError, TileStore

__all__ = ["DamagedTileError", "TileStore", "decision_function", "fit", "predict"]
