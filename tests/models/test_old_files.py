"""Files of older formats are refused; the error names the version that reads them."""

from pathlib import Path

import pytest

from krein import ModelFileError, load_model

OLD = Path(__file__).with_name("old")


def test_a_file_of_an_older_format_names_the_version_that_reads_it():
    with pytest.raises(ModelFileError) as caught:
        load_model(OLD / "clip.krein")
    said = str(caught.value)
    assert "saved by krein 0.1.0 in file format 1" in said
    assert "load it with krein 0.1.0, or fit again" in said
