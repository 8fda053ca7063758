"""Extras hold what the package imports and nothing else; workflows call make."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import krein

ROOT = Path(__file__).parent.parent
SOURCES = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
EXTRA = r'extra="(\w+)"'  # the name of an extra may be that of a package: dask
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, BUILD = SETTINGS["project"], SETTINGS["build-system"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_FOR_USERS = {"all", "test", "lint", "docs", "dev"}
IMPORTED_AS = {"scikit-learn": "sklearn"}


def packages(requirements):
    names = (re.match(r"[\w.-]+", text)[0] for text in requirements)
    return [IMPORTED_AS.get(name, name) for name in names]


def is_imported(package):
    forms = (
        rf"^\s*(?:from|import) {package}\b",
        rf"""["']{package}[."']""",  # given to import_optional
    )
    return any(
        re.search(form, re.sub(EXTRA, "", text), re.MULTILINE)
        for form in forms
        for text in SOURCES
    )


def user_extras():
    chosen = [EXTRAS[name] for name in EXTRAS if name not in NOT_FOR_USERS]
    return [package for group in chosen for package in packages(group)]


@pytest.mark.parametrize("package", packages(PROJECT["dependencies"]) + user_extras())
def test_every_dependency_is_imported_by_the_package(package):
    assert is_imported(package)


def test_all_is_all():
    (everything,) = EXTRAS["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert named == set(EXTRAS) - NOT_FOR_USERS


def test_lower_bounds():
    requirements = PROJECT["dependencies"] + [
        r for group in EXTRAS.values() for r in group
    ]
    assert [r for r in requirements if "krein[" not in r and ">=" not in r] == []


def test_extras_that_messages_name_exist():
    named = {m for text in SOURCES for m in re.findall(EXTRA, text)}
    assert named <= set(EXTRAS)


def test_the_recipe_for_conda_says_the_same():
    yaml = pytest.importorskip("yaml", reason="PyYAML (of dask) is not installed")
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text("utf-8"))
    assert recipe["package"] == {"name": PROJECT["name"], "version": krein.__version__}
    needed = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [text.replace(" ", "") for text in recipe["requirements"]["run"]] == needed
    host = {text.replace(" ", "") for text in recipe["requirements"]["host"]}
    assert host == {needed[0], "pip", *BUILD["requires"]}
    scripts = [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"] == {
        "summary": PROJECT["description"],
        "license": PROJECT["license"],
        "license_file": PROJECT["license-files"][0],
    }


def test_no_address_is_made_up():
    """There is no public page yet; where there is one, it is no placeholder."""
    addresses = PROJECT.get("urls", {}).values()
    assert not [url for url in addresses if "example" in url or "localhost" in url]


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_workflows_call_targets_that_exist():
    targets = set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    called = [m for w in WORKFLOWS for m in re.findall(r"make ([\w-]+)", w.read_text())]
    assert called
    assert set(called) <= targets


def test_workflows_are_valid():
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    command = [sys.executable, "-m", "check_jsonschema"]
    command += ["--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
