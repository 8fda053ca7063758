"""Files made for a test."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write text or bytes under a name, return the path."""

    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write
