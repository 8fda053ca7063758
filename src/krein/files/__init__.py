"""Files of the field: matrices, items, labels, hits, models, and data sets by name.

What a user's file can be, and what goes into one, is here; the stores of long
computations (`krein.store`) are not. `readers.FORMATS` is the table of formats: a new
one is a reader and a line there. Data sets by name (`krein.files.data_sets`) and model
files (`krein.files.model_files`) need scikit-learn.
"""

from krein.files.cells import Named, as_separator, check_names
from krein.files.hit_columns import FallingScoreError
from krein.files.hit_table import kind_of_hits, read_hits
from krein.files.matching import align_columns, read_labels
from krein.files.readers import read_items, read_matrix
from krein.files.text import FormatError, file_head
from krein.files.writers import (
    check_format,
    write_hits,
    write_matrix,
    write_rows,
    write_table,
)

__all__ = [
    "FallingScoreError",
    "FormatError",
    "Named",
    "align_columns",
    "as_separator",
    "check_format",
    "check_names",
    "file_head",
    "kind_of_hits",
    "read_hits",
    "read_items",
    "read_labels",
    "read_matrix",
    "write_hits",
    "write_matrix",
    "write_rows",
    "write_table",
]
