"""Classifiers of krein inside aeon and sktime, where these are installed."""

from pathlib import Path

import pytest

import krein

FOLDER = Path(__file__).parents[1] / "examples" / "2_data"
# What their checks feed an estimator makes it and its tools warn.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def adapters(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return __import__("aeon_and_sktime")


def test_pipeline_of_aeon():
    datasets = pytest.importorskip("aeon.datasets", reason="aeon is not installed")
    pytest.importorskip("dtaidistance", reason="extra 'series' is not installed")
    names: dict = {}
    exec(recipe(), names)
    train, test = (datasets.load_gunpoint(split) for split in ("train", "test"))
    pipeline = names["pipeline"].fit(*train)
    assert isinstance(pipeline.steps_[-1][1], krein.SimilarityClassifier)
    assert pipeline.score(*test) > 0.9


def recipe():
    """Code in the text at the top of the example: what is indented."""
    text = (FOLDER / "aeon_and_sktime.py").read_text("utf-8").split('"""')[1]
    return "\n".join(line[4:] for line in text.splitlines() if line[:4] == "    ")


@pytest.mark.slow
def test_checks_of_aeon(adapters):
    checking = pytest.importorskip(
        "aeon.testing.estimator_checking", reason="aeon is not installed"
    )
    assert_all_pass(checking.check_estimator(adapters.KreinAeonClassifier))


@pytest.mark.slow
def test_checks_of_sktime(adapters):
    checks = pytest.importorskip(
        "sktime.utils.estimator_checks", reason="sktime is not installed"
    )
    assert_all_pass(checks.check_estimator(adapters.KreinSktimeClassifier))


def assert_all_pass(outcomes):
    assert len(outcomes) > 20
    assert {name: o for name, o in outcomes.items() if o != "PASSED"} == {}
