"""Records: whole, sound and of the right key, or not there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krein.store.files import RecordStore

RECORD = {"method": "flip", "score": 0.1 + 0.2, "predicted": [0, 1], "none": None}


@pytest.fixture
def store(tmp_path):
    store = RecordStore(tmp_path / "s")
    store.write("a", "key", RECORD)
    return store


def test_records_come_back(store):
    assert store.read("a", "key") == RECORD
    assert store.read("a", "other key") is None
    assert store.read("b", "key") is None


@given(data=st.data())
def test_a_damaged_record_is_never_believed(tmp_path_factory, data):
    store = RecordStore(tmp_path_factory.mktemp("s"))
    store.write("a", "key", RECORD)
    content = bytearray(store.path("a").read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    store.path("a").write_bytes(content)
    assert store.read("a", "key") in (None, RECORD)


@pytest.mark.parametrize("edit", [{"score": 0.9}, {"score": None}, {"more": 1}])
def test_an_edited_record_is_not_believed(store, edit):
    content = json.loads(store.path("a").read_text())
    content["record"].update(edit)
    store.path("a").write_text(json.dumps(content))
    assert store.read("a", "key") is None
