"""Real data by name: bundled, scikit-learn's, a folder of files, or OpenML."""

from krein.datasets.files import kind_of
from krein.datasets.load import data_folder, list_datasets, load_dataset, source_of

__all__ = ["data_folder", "kind_of", "list_datasets", "load_dataset", "source_of"]
