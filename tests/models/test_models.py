"""Model files: what goes in comes out, and damaged files do no harm."""

import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import krein
from krein import Kernel, KreinSVC, ModelFileError, SpectrumSVC, load_model, save_model
from krein.files.model_files import _checksum
from tests.estimators.cases import ESTIMATORS


def data(n=24, classes=2):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 4))
    y = np.array(["b", "a", "c"])[np.arange(n) % classes]
    return X, y


def scores(model, X):
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, name)(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_survives_the_file(estimator, tmp_path):
    X, y = data()
    target = X[:, 0] if is_regressor(estimator) else y
    model = clone(estimator).set_params(kernel="rbf").fit(X, target)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    np.testing.assert_allclose(scores(loaded, X), scores(model, X), rtol=1e-10)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert set(vars(loaded)) == set(vars(model))


@pytest.mark.parametrize("form", ["max", "centred"])
def test_similarities_settled_on_training_items_survive_the_file(tmp_path, form):
    words, y = ["abc", "abd", "xyz", "xyy", "ab", "xz"], [0, 0, 1, 1, 0, 1]
    settings = {"kernel": "edit", "kernel_params": {"similarity": form}}
    model = SpectrumSVC(**settings).fit(words, y)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    new = ["abb", "xxx"]
    np.testing.assert_array_equal(scores(loaded, new), scores(model, new))
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    again = skops.loads(skops.dumps(model), trusted=krein.trusted_types())
    np.testing.assert_array_equal(scores(again, new), scores(model, new))


def test_several_classes_and_probabilities(tmp_path):
    X, y = data(36, classes=3)
    model = SpectrumSVC("flip", kernel="tl1", probability=True).fit(X, y)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X))
    assert [r.value for r in loaded.result_] == [r.value for r in model.result_]


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(clip=True)])
def test_pipeline_and_text_labels_of_any_type(tmp_path, scaler):
    X, y = data()
    model = make_pipeline(scaler, KreinSVC(kernel=Kernel("rbf", gamma=0.3)))
    model.fit(X, y.astype(object))
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded[-1].kernel == Kernel("rbf", gamma=0.3)


def test_names_of_a_frame_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    K = krein.rbf_kernel(X)
    frame = pandas.DataFrame(K, columns=[f"item {i}" for i in range(24)])
    model = KreinSVC().fit(frame, y)
    loaded = load_model(save_model(model, tmp_path / "m.krein"))
    assert list(loaded.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def shifted_product(X, Y, shift=0.0):
    return np.asarray(X) @ np.asarray(Y).T - shift


def other_function(X, Y):
    return shifted_product(X, Y)


def test_functions_come_only_from_the_caller(tmp_path):
    X, y = data()
    model = KreinSVC(kernel=shifted_product, kernel_params={"shift": 0.5}).fit(X, y)
    path = save_model(model, tmp_path / "m.krein")
    with pytest.raises(ModelFileError, match=r"shifted_product; import it and pass"):
        load_model(path)
    with pytest.raises(ModelFileError, match=r"kernel=other_function was passed"):
        load_model(path, kernel=other_function)
    loaded = load_model(path, kernel=shifted_product)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path):
    X, y = data()
    model = KreinSVC(kernel="rbf", random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(TypeError, match=r"model\.random_state is a numpy\.random"):
        save_model(model, tmp_path / "m.krein")
    with pytest.raises(TypeError, match=r"takes one fitted estimator, got object"):
        save_model(object(), tmp_path / "m.krein")
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------- damaged files


@pytest.fixture(scope="module")
def good_file(tmp_path_factory):
    X, y = data()
    path = tmp_path_factory.mktemp("model") / "m.krein"
    return save_model(SpectrumSVC("clip", kernel="rbf").fit(X, y), path).read_bytes()


def load_bytes(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.krein"
        path.write_bytes(content)
        return load_model(path)


def rewritten(content, change, compression=zipfile.ZIP_STORED):
    """Repeat the archive with ``change(name, bytes)`` applied to each member."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", compression) as new,
    ):
        for name in old.namelist():
            member = change(name, old.read(name))
            if member is not None:
                new.writestr(name, member)
    return buffer.getvalue()


def with_tree(content, edit):
    def change(name, member):
        if name != "model.json":
            return member
        tree = json.loads(member)
        edit(tree)
        return json.dumps(tree).encode()

    return rewritten(content, change)


def forged(content, edit):
    """Edit the tree and give it the checksum that it then should have."""

    def sign(tree):
        edit(tree)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [f"arrays/{i}.npy" for i in range(len(archive.namelist()) - 1)]
            arrays = [np.load(io.BytesIO(archive.read(name))) for name in members]
        tree["checksum"] = _checksum(tree, arrays)

    return with_tree(content, sign)


@settings(max_examples=150, deadline=None)
@given(position=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_harmless(good_file, position, flip):
    X, _ = data()
    content = bytearray(good_file)
    content[position % len(content)] ^= flip
    try:
        loaded = load_bytes(bytes(content))
    except ModelFileError:
        return
    # Bytes outside the checksummed contents (times, attributes) may change.
    np.testing.assert_allclose(
        loaded.decision_function(X), load_bytes(good_file).decision_function(X)
    )


@settings(max_examples=80, deadline=None)
@given(length=st.integers(0, 10**6))
def test_a_cut_file_is_refused(good_file, length):
    with pytest.raises(ModelFileError, match="Save the model again"):
        load_bytes(good_file[: length % len(good_file)])


@settings(max_examples=80, deadline=None)
@given(content=st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(content):
    with pytest.raises(ModelFileError, match="not a krein model"):
        load_bytes(content)


@pytest.mark.parametrize(
    "start", [b"ARROW1", b"PAR1", b"\x80\x04", b"\xff\xfe", b"PK\x03"]
)
def test_files_of_other_programs_are_no_models(start):
    with pytest.raises(ModelFileError, match="not a krein model"):
        load_bytes(start + b" and so on")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["~", "class", "params", "state", "items", "member"]),
            inner
            | st.sampled_from(["estimator", "array", "record", "dict", "KreinSVC"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(model=json_values)
def test_arbitrary_trees_load_an_estimator_or_are_refused(good_file, model):
    content = with_tree(good_file, lambda tree: tree.update(model=model))
    try:
        loaded = load_bytes(content)
    except ModelFileError:
        return
    assert isinstance(loaded, krein.KreinSVC)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t["model"].update({"class": "Popen"}), "unknown class 'Popen'"),
        (lambda t: t["model"].update({"class": "load_model"}), "unknown class"),
        (lambda t: t["model"].update({"~": "python"}), "unknown kind of value"),
        (lambda t: t["model"].update({"~": "_class__"}), "unknown kind of value"),
        (lambda t: t["model"]["params"].update(flux=1), "no parameter 'flux'"),
        (lambda t: t["model"]["state"].update(predict=1), "not a fitted attribute"),
        (lambda t: t["model"]["state"].update(__class__=1), "not a fitted attribute"),
        (lambda t: t.update(format=99, krein="9.0"), "load it with krein 9.0"),
        (lambda t: t.pop("format"), "does not say its format"),
        (lambda t: t.update(model=[1, 2]), "holds no estimator"),
        (lambda t: t["model"]["params"].update(kernel={"~": "function",
         "name": "os:system"}), "the function os:system"),
    ],
)  # fmt: skip
def test_unknown_things_are_refused(good_file, edit, message):
    with pytest.raises(ModelFileError, match=message):
        load_bytes(with_tree(good_file, edit))


def npy_header(shape, dtype="<f8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy_header((10**6, 10**6)), "8000000000000 bytes, but 0 follow"),
        (npy_header((-1, 4)), "declares"),
        (npy_header((0, 10**30)), "damaged"),
        (npy_header((1,), "|O") + b"12345678", "Python objects"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': os.x(\n", "damaged"),
        (b"\x93NUMPY\x07\x00", "damaged|version"),
        (None, "is missing"),
    ],
)
def test_odd_arrays_are_refused_before_they_are_allocated(good_file, member, message):
    def change(name, content):
        return member if name == "arrays/0.npy" else content

    with pytest.raises(ModelFileError, match=message):
        load_bytes(rewritten(good_file, change))


def test_compressed_and_doubled_members_are_refused(good_file):
    bomb = rewritten(good_file, lambda name, m: m, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="is compressed"):
        load_bytes(bomb)
    buffer = io.BytesIO(good_file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr("model.json", b"{}")
    with pytest.raises(ModelFileError, match="occurs twice"):
        load_bytes(buffer.getvalue())


def test_deep_trees_are_refused(good_file):
    def change(name, member):
        return b"[" * 200_000 if name == "model.json" else member

    with pytest.raises(ModelFileError, match="RecursionError"):
        load_bytes(rewritten(good_file, change))


def test_a_parameter_that_a_file_lacks_has_its_default(good_file):
    def edit(tree):
        del tree["model"]["params"]["probability"]

    assert load_bytes(forged(good_file, edit)).probability is False


def test_a_missing_file_stays_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.krein")
