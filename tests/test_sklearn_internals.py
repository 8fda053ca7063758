"""What krein uses of scikit-learn beyond its public interface behaves as expected."""

import ast
import warnings
from numbers import Integral
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.validation import validate_data

import krein
from krein import sklearn_internals as internals

SOURCE = Path(krein.__file__).parent


def error_of(call, *args, **options):
    with pytest.raises(ValueError) as caught:
        call(*args, **options)
    return caught.value


def test_no_other_module_imports_what_is_private():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            private = [name for name in names if name.startswith("_")]
            if node.module.startswith("sklearn") and private:
                wrong.append(f"{path.name}:{node.lineno} {private}")
    assert [line for line in wrong if "sklearn_internals.py" not in line] == []
    assert wrong  # the module itself is seen


def test_every_item_has_a_test():
    text = Path(__file__).read_text("utf-8")
    missing = [n for n in internals.__all__ if f"internals.{n}" not in text]
    assert missing == []


def test_fit_context_checks_parameters():
    class Model(BaseEstimator):
        _parameter_constraints = {
            "size": [internals.Interval(Integral, 1, None, closed="left")],
            "rule": [internals.StrOptions({"a", "b"})],
            "part": [internals.HasMethods("fit")],
        }

        def __init__(self, size=1, rule="a", part=None):
            self.size = size
            self.rule = rule
            self.part = SVC() if part is None else part

        @internals.fit_context(prefer_skip_nested_validation=False)
        def fit(self, X, y=None):
            return self

    assert isinstance(Model().fit([[1.0]]), Model)
    with pytest.raises(ValueError, match="'size' parameter of Model"):
        Model(size=0).fit([[1.0]])
    with pytest.raises(ValueError, match="'rule' parameter of Model"):
        Model(rule="c").fit([[1.0]])
    with pytest.raises(ValueError, match="'part' parameter of Model"):
        Model(part=3).fit([[1.0]])


def test_libsvm_has_the_solution_of_svc():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    internals.libsvm.set_verbosity_wrap(0)
    found = internals.libsvm.fit(X @ X.T, y, kernel="precomputed", svm_type=0, C=2.0)
    known = SVC(kernel="precomputed", C=2.0).fit(X @ X.T, y)
    assert found[0].tolist() == known.support_.tolist()
    # LIBSVM's own sign: the first class is positive.
    np.testing.assert_allclose(-found[3], known.dual_coef_, atol=1e-3)


def test_number_of_samples():
    assert internals.num_samples([["a"], ["b"]]) == 2
    assert internals.num_samples(np.zeros((3, 4))) == 3


def test_rows_and_columns_are_taken():
    assert internals.safe_indexing(["a", "b", "c"], [2, 0]) == ["c", "a"]
    K = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(
        internals.safe_indexing(K, [0, 2], axis=1), K[:, [0, 2]]
    )


def test_weights_are_checked():
    weight = internals.check_sample_weight([1, 2], np.empty((2, 1)), dtype=float)
    assert weight.dtype == float
    with pytest.raises(ValueError, match=r"inconsistent|shape"):
        internals.check_sample_weight([1, 2, 3], np.empty((2, 1)))


def test_targets_are_checked():
    assert internals.check_y([1, 2], y_numeric=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="NaN"):
        internals.check_y([1.0, np.nan], y_numeric=True)


def test_names_of_columns_are_checked():
    pandas = pytest.importorskip("pandas")
    model = Ridge().fit(pandas.DataFrame({"a": [0.0, 1.0]}), [0.0, 1.0])
    with pytest.raises(ValueError, match="feature names should match"):
        internals.check_feature_names(
            model, pandas.DataFrame({"b": [1.0]}), reset=False
        )


def test_number_of_columns_is_checked():
    model = Ridge().fit(np.eye(2), [0.0, 1.0])
    internals.check_n_features(model, np.zeros((1, 2)), reset=False)
    with pytest.raises(ValueError, match="3 features, but"):
        internals.check_n_features(model, np.zeros((1, 3)), reset=False)


def test_platt_sigmoid_orders_by_score():
    scores = np.linspace(-2, 2, 40)
    slope, offset = internals.platt_sigmoid(scores, (scores > 0.3).astype(float), None)
    probability = 1.0 / (1.0 + np.exp(slope * scores + offset))
    assert slope < 0
    assert np.all(np.diff(probability) > 0)
    assert isinstance(offset, float)


def test_a_search_is_recognised():
    assert internals.is_search(GridSearchCV(Ridge(), {"alpha": [1.0]}))
    assert not internals.is_search(Ridge())


def test_errors_are_known_by_their_words():
    model = Ridge().fit(np.eye(3), [0.0, 1.0, 2.0])
    wide = error_of(validate_data, model, np.eye(4), reset=False)
    text = error_of(validate_data, model, [["a", "b", "c"]], reset=False, dtype=float)
    single = ValueError("Only one class present in y_true. Not defined in that case.")
    assert internals.says_other_width(wide)
    assert internals.says_not_a_number(text)
    assert internals.says_one_class(single)
    for wrong in (internals.says_other_width, internals.says_not_a_number):
        assert not wrong(single)
    assert not internals.says_one_class(wide)


def test_scores_of_one_class_are_not_defined():
    """Newer versions warn and return NaN, older ones raise what is recognised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = roc_auc_score([1, 1], [0.1, 0.2])
        except ValueError as error:
            score = np.nan if internals.says_one_class(error) else error
    assert np.isnan(score)
