"""Pipelines with scikit-learn's preparations come back from model files."""

import json
import zipfile

import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from krein import KreinSVC, ModelFileError, SpectrumSVC, load_model, save_model

PREPARATIONS = {
    "imputer": SimpleImputer(),
    "imputer with marks": SimpleImputer(strategy="median", add_indicator=True),
    "pca": make_pipeline(SimpleImputer(), PCA(2)),
    "columns": make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
        (make_pipeline(SimpleImputer(), MinMaxScaler()), slice(2, 3)),
        remainder="drop",
    ),
}


@pytest.fixture
def table(rng):
    X = rng.standard_normal((40, 4))
    y = np.where(X[:, 0] + X[:, 2] > 0.0, "high", "low")
    X[::7, 1] = np.nan
    X[::9, 2] = np.nan
    return X, y


@pytest.mark.parametrize("name", PREPARATIONS)
def test_a_pipeline_with_preparations_predicts_as_before(name, table, tmp_path):
    X, y = table
    model = make_pipeline(PREPARATIONS[name], SpectrumSVC("flip", kernel="tl1"))
    model.fit(X, y)
    again = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )


def test_columns_of_a_frame_are_found_by_their_names(table, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame(np.nan_to_num(X), columns=["a", "b", "c", "d"])
    columns = make_column_transformer((StandardScaler(), ["d", "a"]))
    model = make_pipeline(columns, KreinSVC(kernel="tl1")).fit(frame, y)
    again = load_model(save_model(model, tmp_path / "m.krein"))
    turned = frame[["c", "b", "a", "d"]]
    np.testing.assert_array_equal(
        again.decision_function(turned), model.decision_function(frame)
    )


def test_private_state_of_another_scikit_learn_is_refused(table, tmp_path):
    X, y = table
    model = make_pipeline(SimpleImputer(), KreinSVC(kernel="tl1")).fit(X, y)
    path = save_model(model, tmp_path / "m.krein")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    tree = json.loads(members["model.json"])
    assert tree["scikit-learn"] == sklearn.__version__
    tree["scikit-learn"] = "1.5.0"
    members["model.json"] = json.dumps(tree).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"saved with scikit-learn 1\.5\.0"):
        load_model(path)
