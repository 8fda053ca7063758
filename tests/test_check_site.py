"""The check of the built site finds what is broken, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "check_site.py"
SOUND = '<h1 id="top">x</h1><a href="other.html#there">x</a><a href="#top">x</a>'
OTHER = '<p id="there">x</p><a href="https://example.org">x</a><img src="picture.png">'


@pytest.fixture
def faults():
    spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda folder: list(module.faults(folder))


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(SOUND)
    (tmp_path / "other.html").write_text(OTHER)
    (tmp_path / "picture.png").write_bytes(b"")
    return tmp_path


def test_a_sound_site_passes(site, faults):
    assert faults(site) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('<a href="nowhere.html">x</a>', "does not exist"),
        ('<a href="other.html#nowhere">x</a>', "no such anchor"),
        ('<img src="missing.png">', "does not exist"),
        ('<script src="https://example.org/a.js"></script>', "loads https"),
    ],
)
def test_faults_are_found(site, faults, broken, said):
    (site / "index.html").write_text(SOUND + broken)
    (fault,) = faults(site)
    assert said in fault
