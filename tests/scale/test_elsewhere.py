"""The guide's code for joblib's backends, Ray and Spark, where these are installed."""

import re
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from krein import SpectrumSVC, save_model

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "large_data.md"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs


def block(words):
    """Return the block of code on the page that contains the words."""
    page = GUIDE.read_text("utf-8").split("## joblib, Ray, Spark")[1]
    found = re.findall(r"^```python\n(.*?)^```", page, flags=re.M | re.S)
    (code,) = [code for code in found if words in code]
    return code


@pytest.fixture
def names(tmp_path):
    """What the page takes for granted: items, a model, and a file of it."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pandas.DataFrame(np.random.default_rng(0).random((120, 3)), columns=list("abc"))
    y = np.where(X["a"] > 0.5, "high", "low")
    model = SpectrumSVC("flip", kernel="tl1").fit(X, y)
    save_model(model, tmp_path / "model.krein")
    return {"__name__": "__main__", "X": X, "y": y, "model": model}


def run(words, names, tmp_path=None):
    exec(block(words).replace("/shared/", f"{tmp_path}/"), names)


def assert_labelled(table, model):
    assert len(table) == 120
    assert list(table["label"]) == list(model.predict(table[["a", "b", "c"]]))


def test_search_on_dask(names):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster):
        run('"dask"', names)
    assert names["search"].best_score_ > 0.9


@pytest.fixture
def ray():
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_search_on_ray(ray, names):
    search = GridSearchCV(names["model"], {"C": [1, 10]}, n_jobs=2)
    run('"ray"', names | {"joblib": joblib, "search": search})
    assert search.best_score_ > 0.9


def test_predictions_on_ray(ray, names, tmp_path):
    data = pytest.importorskip("ray.data", reason="Ray Data is not installed")
    names["frame"] = data.from_pandas(names["X"]).repartition(4)
    run("map_batches", names, tmp_path)
    assert_labelled(names["labelled"].to_pandas(), names["model"])


def test_predictions_on_spark(names, tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    settings = sql.SparkSession.builder.master("local[2]")
    spark = settings.config("spark.ui.enabled", "false").getOrCreate()
    try:
        names["frame"] = spark.createDataFrame(names["X"])
        run("mapInPandas", names, tmp_path)
        assert_labelled(names["labelled"].toPandas(), names["model"])
    finally:
        spark.stop()
