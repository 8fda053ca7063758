"""Files of the field: similarity matrices, sequences, series, feature files, labels."""

from krein.formats.hit_objects import write_hits
from krein.formats.hits import read_hits
from krein.formats.named import FormatError, Named
from krein.formats.read import read_items, read_labels, read_matrix
from krein.formats.write import write_matrix

__all__ = [
    "FormatError",
    "Named",
    "read_hits",
    "read_items",
    "read_labels",
    "read_matrix",
    "write_hits",
    "write_matrix",
]
