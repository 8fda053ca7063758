"""Model files hold what estimators declare, and nothing that is not whole loads."""

import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import krein
from krein import (
    FormatError,
    KreinSVC,
    ModelFileError,
    SpectrumSVC,
    load_model,
    save_model,
)
from krein.files.model_contents import known_class, state_of
from tests.models.cases import models
from tests.models.test_models import data, forged, load_bytes, rewritten, with_tree

PUBLIC = [name for name in krein.__all__ if known_class(name)]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_estimator_declares_its_state(name):
    entries = state_of(getattr(krein, name))
    assert any(entry.needed is True for entry in entries.values())


def own_attributes(model):
    return set(vars(model)) - set(model.get_params(deep=False)) - {"_metadata_request"}


def parts_of(model):
    """A model and the fitted models inside of it."""
    inner = [step for _, step in getattr(model, "steps", [])]
    inner += [v for v in vars(model).values() if isinstance(v, BaseEstimator)]
    inner += getattr(model, "models_", [])
    return [model, *(part for one in inner for part in parts_of(one))]


def younger_models():
    """Fitted models of classes that 0.1.0 did not have."""
    X, _ = data()
    distances = np.abs(X[:, :1] - X[:, 0])
    hits = scipy.sparse.csr_array(10.0 * (distances < 0.5) + np.eye(24))
    names = [f"item {i}" for i in range(24)]
    yield krein.DistanceTransformer().fit(distances)
    yield krein.PCoA().fit(distances)
    y = np.arange(24) % 2
    yield krein.SpectrumSVCCV([1.0], fixes=["flip"], cv=2).fit(np.exp(-distances), y)
    yield krein.SpectrumSVRCV([1.0], fixes=["flip"], cv=2).fit(np.exp(-distances), y)
    few = {"Cs": [1.0], "fixes": ["flip"], "cv": 2, "kind": "distance", "top": 2}
    yield krein.SimilarityClassifier(**few).fit(distances, y)
    yield krein.SimilarityRegressor(**few).fit(distances, y)
    yield krein.DistanceTransformer("local").fit(distances)
    y = np.arange(24) % 3
    yield krein.HitClassifier().fit(hits, y)
    yield krein.HitClassifier(LogisticRegression()).fit(hits, y)
    yield krein.HitSimilarity().fit(krein.Named(hits, names=names))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_that_fit_sets_is_undeclared(tmp_path):
    seen = set()
    for model in (*(model for model, _ in models().values()), *younger_models()):
        for part in parts_of(model):
            seen.add(type(part).__name__)
            places = {entry.place for entry in state_of(type(part)).values()}
            assert own_attributes(part) <= places, type(part).__name__
        loaded = load_model(save_model(model, tmp_path / "m.krein"))
        for one, other in zip(parts_of(loaded), parts_of(model), strict=True):
            assert own_attributes(one) == own_attributes(other)
    assert set(PUBLIC) <= seen  # a class that is not there belongs into younger_models


def state_in(tree):
    return tree["model"]["state"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_forged_files_that_are_not_whole_are_refused(tmp_path):
    """Checksums of the archive are valid: only the declaration can tell."""
    for name, (model, _) in models().items():
        if name == "pipeline":
            continue
        content = save_model(model, tmp_path / "m.krein").read_bytes()
        for entry in state_of(type(model)).values():
            if entry.needed is not True:
                continue
            cut = with_tree(content, lambda t, n=entry.name: state_in(t).pop(n))
            with pytest.raises(ModelFileError, match=f"'{entry.name}' is missing"):
                load_bytes(cut)
            wrong = with_tree(
                content, lambda t, n=entry.name: state_in(t).update({n: {"~": "dict",
                                                                "items": []}})
            )  # fmt: skip
            # An empty dict is a table; that it is another one the checksum tells.
            told = "checksum" if entry.kind == "table" else f"'{entry.name}' is no"
            with pytest.raises(ModelFileError, match=told):
                load_bytes(wrong)


@pytest.fixture
def good_file(tmp_path):
    X, y = data()
    model = SpectrumSVC("clip", kernel="rbf").fit(X, y)
    return save_model(model, tmp_path / "m.krein").read_bytes()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_forged_shapes_are_refused(good_file):
    tree = json.loads(zipfile.ZipFile(io.BytesIO(good_file)).read("model.json"))
    member = f"arrays/{state_in(tree)['intercept_']['member']}.npy"
    forged = rewritten(
        good_file, lambda name, old: npy(np.zeros(7)) if name == member else old
    )
    with pytest.raises(ModelFileError, match=r"'intercept_' has shape \(7,\)"):
        load_bytes(forged)


def test_a_model_without_its_state_is_refused(good_file):
    bare = with_tree(good_file, lambda tree: tree["model"].update(state={}))
    with pytest.raises(ModelFileError, match="SpectrumSVC is not fitted"):
        load_bytes(bare)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (None, TypeError, "one fitted estimator, got NoneType"),
        ([KreinSVC(), KreinSVC()], TypeError, "got list; save several models"),
        (KreinSVC(), NotFittedError, "KreinSVC is not fitted"),
        (make_pipeline(StandardScaler(), KreinSVC()), NotFittedError, "not fitted"),
    ],
)
def test_what_could_not_be_loaded_is_not_written(tmp_path, model, error, message):
    with pytest.raises(error, match=message):
        save_model(model, tmp_path / "m.krein")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- size and memory


def peak_of(content):
    tracemalloc.start()
    try:
        load_bytes(content)
    except ModelFileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def large_member(good_file, edit):
    """A file of 1 MB with one large array, after ``edit(tree)``."""
    large = npy(np.zeros(120_000))
    return with_tree(
        rewritten(good_file, lambda n, old: large if n == "arrays/0.npy" else old), edit
    )


def test_an_array_that_is_named_often_is_held_once(good_file):
    def name_often(tree):
        state_in(tree)["X_fit_"] = [{"~": "array", "member": 0}] * 1000

    assert peak_of(large_member(good_file, name_often)) < 10e6


def test_the_memory_limit_is_kept(good_file, monkeypatch):
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "10KB")
    with pytest.raises(MemoryError, match="loading the model"):
        load_bytes(good_file)


def test_devices_and_pipes_are_not_read(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", "/dev/zero"):
        with pytest.raises(FormatError, match="a device or a pipe"):
            load_model(path)


@pytest.mark.parametrize("front", [[], [StandardScaler()]])
def test_names_of_training_items_are_kept(front, tmp_path):
    X, y = data()
    model = make_pipeline(*front, KreinSVC(kernel="rbf")).fit(X, y)
    model = model if front else model[-1]
    model.item_names_ = [f"item {i}" for i in range(24)]
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    assert loaded.item_names_ == model.item_names_


def test_a_pipeline_does_not_bring_a_folder_along(tmp_path):
    X, y = data()
    folder = tmp_path / "chosen"
    steps = [StandardScaler(), KreinSVC(kernel="rbf")]
    model = make_pipeline(*steps, memory=str(folder)).fit(X, y)
    path = save_model(model, tmp_path / "m.krein")
    assert load_model(path).memory is None

    def edit(tree):
        tree["model"]["params"]["memory"] = str(folder)

    assert load_bytes(forged(path.read_bytes(), edit)).memory is None


def test_the_order_of_an_array_in_memory_is_kept(tmp_path):
    X, y = data()
    model = KreinSVC().fit(krein.rbf_kernel(X), y)
    for order in "FC":
        model.dual_coef_ = np.array(np.arange(48.0).reshape(2, 24), order=order)
        model.intercept_ = np.zeros(2)
        for name in ("alpha_", "n_iter_", "objective_", "duality_gap_"):
            delattr(model, name)
            setattr(model, name, np.zeros((2, 24) if name == "alpha_" else 2, int))
        loaded = load_model(save_model(model, tmp_path / "m.krein"))
        np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)
        assert loaded.dual_coef_.flags.f_contiguous == (order == "F")
        assert loaded.dual_coef_.flags.c_contiguous == (order == "C")


# ------------------------------------------------------ what fit takes, a file can hold

WORDS = ["anna", "anne", "hannah", "bob", "rob", "robert", "ann", "bobby"]
KINDS = ["p"] * 3 + ["q"] * 3 + ["p", "q"]


def in_columns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"name": WORDS, "size": range(8)})
    yield frame["name"]
    yield frame["name"].astype("string")
    yield frame["name"].astype(object)
    yield frame["name"].iloc[::-1].iloc[::-1]
    yield frame[["name"]]
    yield np.array(WORDS, dtype=object)[:, None]
    yield np.array(WORDS)[:, None]


def in_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    yield polars.Series(WORDS)
    yield polars.DataFrame({"name": WORDS})


def in_arrow():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    yield pyarrow.array(WORDS)
    yield pandas.Series(WORDS, dtype="string[pyarrow]")
    yield pandas.Series(WORDS, dtype=pandas.ArrowDtype(pyarrow.string()))


@pytest.mark.parametrize("columns", [in_columns, in_polars, in_arrow])
def test_text_in_columns_is_fitted_and_saved(columns, tmp_path):
    expected = KreinSVC(kernel="edit").fit(WORDS, KINDS)
    for X in columns():
        model = clone(expected).fit(X, KINDS)
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
        loaded = load_model(save_model(model, tmp_path / "m.krein"))
        values = expected.decision_function(WORDS)
        for one in (model, loaded):
            np.testing.assert_array_equal(one.decision_function(X), values)
            np.testing.assert_array_equal(one.decision_function(WORDS), values)


def edited(model, path, **changes):
    """Save a model whose fitted attributes were changed after the fit."""
    for name, value in changes.items():
        setattr(model, name, value)
    return save_model(model, path)


def test_a_state_that_contradicts_itself_is_neither_saved_nor_loaded(tmp_path):
    X, y = data()
    for changes, message in [
        ({"support_": np.arange(3)}, "leaves out items that have a coefficient"),
        ({"support_": np.arange(99)}, "names items beyond the 24 training items"),
        ({"X_fit_": X[:7]}, "'X_fit_' has 7 items for 24 coefficients"),
    ]:
        model = SpectrumSVC("clip", kernel="rbf").fit(X, y)
        with pytest.raises(TypeError, match=message):
            edited(model, tmp_path / "m.krein", **changes)


def test_files_changed_after_saving_are_refused(good_file):
    def reverse(tree):
        params = tree["model"]["params"]
        params["C"] = 7.0

    with pytest.raises(ModelFileError, match="changed after the model was saved"):
        load_bytes(with_tree(good_file, reverse))
    tree = json.loads(zipfile.ZipFile(io.BytesIO(good_file)).read("model.json"))
    member = f"arrays/{state_in(tree)['X_fit_']['member']}.npy"

    def backwards(name, old):
        if name != member:
            return old
        return npy(np.load(io.BytesIO(old))[::-1].copy())

    with pytest.raises(ModelFileError, match="changed after the model was saved"):
        load_bytes(rewritten(good_file, backwards))
