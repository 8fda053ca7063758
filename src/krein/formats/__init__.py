"""Files of the field: similarity matrices, sequences, series, feature files, labels."""

from krein.formats.cells import name_to_text, printable
from krein.formats.hit_objects import write_hits
from krein.formats.hits import read_hits
from krein.formats.labels import read_labels
from krein.formats.named import FormatError, Named
from krein.formats.read import align_columns, read_items, read_matrix
from krein.formats.write import check_format, write_matrix, write_rows

__all__ = [
    "FormatError",
    "Named",
    "align_columns",
    "check_format",
    "name_to_text",
    "printable",
    "read_hits",
    "read_items",
    "read_labels",
    "read_matrix",
    "write_hits",
    "write_matrix",
    "write_rows",
]
