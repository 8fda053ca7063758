"""A notebook's picture of an estimator links to its page where one is known."""

import pytest

import krein

ESTIMATORS = [
    krein.SpectrumSVC(),
    krein.SpectrumTransformer(),
    krein.HitSimilarity(),
    krein.HitClassifier(),
    krein.KreinNystroem(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_link_of_the_page(estimator, monkeypatch):
    monkeypatch.delenv("KREIN_DOCS", raising=False)
    assert estimator._get_doc_link() == ""
    monkeypatch.setenv("KREIN_DOCS", "https://docs.example.org/krein/")
    page = f"api/generated/krein.{type(estimator).__name__}.html"
    assert f"https://docs.example.org/krein/{page}" in estimator._repr_html_()
