"""What diagnose advises is not contradicted by what compare finds.

Over the data sets that come with krein (and with scikit-learn), each as similarities
that a user would try.
"""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from krein import (
    compare,
    diagnose,
    edit_kernel,
    load_dataset,
    sigmoid_kernel,
    tl1_kernel,
)
from krein.comparison.significance import corrected_test
from krein.diagnostics.advice import advise
from krein.diagnostics.facts import NegativePart
from krein.similarity.conversions import median_distance

ITEMS = 100


def vectors(name):
    found = load_dataset(name)
    some = np.random.default_rng(0).permutation(len(found.target))[:ITEMS]
    return StandardScaler().fit_transform(found.data)[some], found.target[some]


def shapes():
    found = load_dataset("digit_shapes")
    some = np.random.default_rng(0).permutation(len(found.target))[: 2 * ITEMS]
    return found.data[np.ix_(some, some)], found.target[some]


def promoters(form):
    found = load_dataset("promoters")
    if form == "letters":
        letters = np.array([list(sequence) for sequence in found.data])
        return (letters[:, None] == letters[None]).mean(axis=2), found.target
    D = -edit_kernel(list(found.data), similarity="negative", gamma=1.0)
    K = np.exp(-D / median_distance(D)) if form == "edit" else -(D**2)
    return K, found.target


CASES = {
    "digit_shapes": shapes,
    **{f"promoters, {form}": (promoters, form) for form in ("letters", "edit", "cpd")},
    **{
        f"{name}, {kernel.__name__}": (vectors, name, kernel)
        for name in ("sonar", "breast_cancer", "iris", "wine", "digits")
        for kernel in (tl1_kernel, sigmoid_kernel)
    },
}


def similarity(case):
    if callable(case):
        return case()
    if case[0] is promoters:
        return promoters(case[1])
    X, y = vectors(case[1])
    return case[2](X), y


def advised(diagnosis):
    """Method that the first line names, and the one it speaks against."""
    line = diagnosis.advice[0]
    if "plain SVC" in line:
        return "svc", None
    if "Clip would remove it" in line:
        return "flip", "clip"
    if "likely best removed" in line:
        return "clip", "flip"
    return None, None


@pytest.mark.parametrize("name", CASES)
def test_the_recommendation_is_the_same_for_every_matrix(name):
    """What compare keeps unless something beats it, and what a user fits first."""
    K, y = similarity(CASES[name])
    diagnosis = diagnose(K, y)
    known = diagnosis.advice[0].startswith("First repair")
    said = any("Use SimilarityClassifier()" in line for line in diagnosis.advice)
    assert said != known


@pytest.mark.parametrize("numbers", [False, True])
def test_the_recommendation_follows_what_was_given(numbers):
    model = "SimilarityRegressor" if numbers else "SimilarityClassifier"
    part = NegativePart("unclear")
    lines = advise("indefinite", part, None, [], kind="distance", numbers=numbers)
    assert any(f"Use {model}(kind='distance').fit(D, y)" in line for line in lines)
    lines = advise("psd", part, None, [], numbers=numbers)
    assert any(f"Use {model}().fit(K, y)" in line for line in lines)


def test_diagnose_advises_each_of_them_somewhere():
    """Without that the test below could not fail."""
    given = {advised(diagnose(*similarity(case)))[0] for case in CASES.values()}
    assert given >= {"svc", "flip"}


@pytest.mark.parametrize("name", CASES)
def test_compare_does_not_contradict_diagnose(name):
    K, y = similarity(CASES[name])
    diagnosis = diagnose(K, y)
    advice, against = advised(diagnosis)
    methods = ["svc", "clip", "flip"]  # those that the advice names
    found = compare(K, y, methods=methods, cv=5)
    if advice is not None:
        for other in [against] if against else ["clip", "flip"]:
            mine, theirs = found.scores(advice), found.scores(other)
            gain, p_value = corrected_test(theirs, mine, found.test_share)
            assert gain <= 0.0 or p_value > 0.05, diagnosis.advice
    if diagnosis.verdict == "psd":
        assert "there is nothing to fix" in found.recommendation.text
        assert "the spectrum fix matters" not in found.recommendation.text
