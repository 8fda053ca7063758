"""Files of krein 0.2 load and say what they said; older ones name what reads them.

``old/format_2.zip`` was written by krein 0.2: a file of every kind of model, what each
was asked (``questions.npz``) and what it answered (``answers.npz``).
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import sklearn

from krein import ModelFileError, load_model, save_model
from krein.files.older_models import upgraded

OLD = Path(__file__).with_name("old")
ARCHIVE = zipfile.ZipFile(OLD / "format_2.zip")
SAID = np.load(io.BytesIO(ARCHIVE.read("answers.npz")))
ASKED = np.load(io.BytesIO(ARCHIVE.read("questions.npz")))
# Its private state is read by the version of scikit-learn that wrote it only.
WRITTEN_WITH = "1.9.1"


def answers(model, asked):
    """What a model says, as arrays of numbers."""
    for name in ("decision_function", "transform", "predict_proba", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(asked), dtype=float)
    raise TypeError(f"{type(model).__name__} answers nothing")


def question(name):
    asked = ASKED[name]
    if name == "hits":
        return scipy.sparse.csr_array(asked)
    return asked.tolist() if asked.dtype.kind == "U" else asked


def extracted(name, folder):
    path = folder / f"{name}.krein"
    path.write_bytes(ARCHIVE.read(f"{name}.krein"))
    return path


@pytest.mark.parametrize("name", SAID.files)
def test_models_of_0_2_answer_as_they_did(name, tmp_path):
    path = extracted(name, tmp_path)
    if name == "columns" and sklearn.__version__ != WRITTEN_WITH:
        with pytest.raises(ModelFileError, match="ColumnTransformer saved with"):
            load_model(path)
        return
    model = load_model(path)
    asked = question(name)
    np.testing.assert_allclose(answers(model, asked), SAID[name], rtol=1e-9, atol=1e-12)
    again = load_model(save_model(model, tmp_path / "again.krein"))
    np.testing.assert_array_equal(answers(again, asked), answers(model, asked))


def test_an_option_that_is_gone_is_refused_unless_it_changes_nothing():
    model = {"~": "estimator", "class": "KreinSVC", "state": {}}
    kept = upgraded({**model, "params": {"C": 2.0, "sparse": False}})
    assert kept["params"] == {"C": 2.0}
    kept = upgraded({**model, "params": {"C": 2.0, "sparse": True}})
    assert kept["params"] == {"C": 2.0, "sparse": True}  # named by the reader's error


def test_a_damaged_state_of_an_older_file_is_refused(tmp_path):
    path = extracted("clip", tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    tree = json.loads(members["model.json"])
    del tree["model"]["state"]["intercept_"]
    members["model.json"] = json.dumps(tree).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="'intercept_' is missing"):
        load_model(path)


def test_a_file_of_an_older_format_names_the_version_that_reads_it():
    with pytest.raises(ModelFileError) as caught:
        load_model(OLD / "clip.krein")
    said = str(caught.value)
    assert "saved by krein 0.1.0 in file format 1" in said
    assert "reads formats 2 to 3" in said
    assert "load it with krein 0.1.0, or fit again" in said
