"""What the wheel says of itself: valid, complete, and true of what it contains."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.licenses import canonicalize_license_expression
from packaging.metadata import Metadata

import svc

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HOME = "https://github.com/svc-jupyter/svc-jupyter"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, built: None) -> Path:
    """A folder with the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> dict[str, bytes]:
    """The files of the wheel, those of its metadata by their names in it."""
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name.partition(".dist-info/")[2] or name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel: dict[str, bytes]) -> Metadata:
    """Read as strictly as the index does."""
    return Metadata.from_email(wheel["METADATA"], validate=True)


def test_the_index_would_accept_it_and_show_the_readme(metadata: Metadata):
    assert (metadata.name, str(metadata.version)) == ("svc-jupyter", svc.__version__)
    assert metadata.description_content_type.startswith("text/markdown")
    assert metadata.description.lstrip().startswith("#")
    assert len(metadata.summary) <= 512
    assert "\n" not in metadata.summary


def test_its_links_are_the_projects(metadata: Metadata):
    assert metadata.project_urls == {
        "Homepage": HOME,
        "Documentation": "https://svc-jupyter.readthedocs.io",
        "Source": HOME,
        "Issues": f"{HOME}/issues",
        "Changelog": f"{HOME}/blob/main/CHANGELOG.md",
    }
    npm = [json.loads(path.read_text("utf-8")) for path in (ROOT / "labextension/packages").glob("*/package.json")]
    published = [one for one in npm if not one.get("private")]
    assert {one["name"] for one in published} == {"@svc-jupyter/sdk", "@svc-jupyter/chat"}
    for one in published:
        assert (one["homepage"], one["bugs"]) == (HOME, f"{HOME}/issues")
        folder = f"labextension/packages/{one['name'].rpartition('/')[2]}"
        assert one["repository"] == {"type": "git", "url": f"git+{HOME}.git", "directory": folder}
        assert (ROOT / folder / "package.json").is_file()


def test_its_classifiers_say_what_it_is(metadata: Metadata):
    assert {
        "Framework :: Jupyter :: JupyterLab :: 4",
        "Framework :: Jupyter :: JupyterLab :: Extensions",
        "Framework :: Jupyter :: JupyterLab :: Extensions :: Prebuilt",
        "Typing :: Typed",
    } <= set(metadata.classifiers)
    assert len(set(metadata.classifiers)) == len(metadata.classifiers)
    assert not [one for one in metadata.classifiers if one.startswith("License ::")]  # the expression replaces them


def test_the_licence_expression_covers_what_is_bundled(metadata: Metadata, wheel: dict[str, bytes]):
    expression = metadata.license_expression
    assert canonicalize_license_expression(expression) == expression
    named = set(expression.split(" AND "))
    third_party = json.loads(wheel["svc/service/static/third_party.json"])["packages"]
    for package in third_party:
        choices = set(package["license"].strip("()").split(" OR "))
        assert choices & named, package["name"]
    tables = [json.loads(wheel[f"svc/assistant/knowledge/{name}.json"]) for name in ("attack", "cwe")]
    assert all("MITRE" in table["licence"] for table in tables)
    assert "LicenseRef-MITRE" in named


def test_the_licence_files_are_in_the_wheel_with_what_they_must_say(metadata: Metadata, wheel: dict[str, bytes]):
    texts = {name: wheel[f"licenses/{name}"].decode() for name in metadata.license_files}
    assert set(texts) == {
        "LICENSE",
        "svc/assistant/knowledge/LICENSE-MITRE.txt",
        "svc/service/static/THIRD_PARTY_LICENSES.txt",
    }
    mitre = texts["svc/assistant/knowledge/LICENSE-MITRE.txt"]
    for name in ("attack", "cwe"):
        stated = json.loads(wheel[f"svc/assistant/knowledge/{name}.json"])["licence"]
        for sentence in stated.rstrip(".").split(". "):
            assert sentence in " ".join(mitre.split()), sentence


def test_both_commands_are_installed(wheel: dict[str, bytes]):
    lines = wheel["entry_points.txt"].decode().splitlines()
    assert {"svc = svc.cli.main:main", "svc-jupyter = svc.cli.main:main"} <= set(lines)


def test_a_second_build_has_the_same_bytes(dist: Path, tmp_path: Path):
    """Both kinds, with another umask; `.ci/run` also compares copies of the checkout."""
    script = (
        "import os, sys; os.umask(0o077); from hatchling.builders.wheel import WheelBuilder; "
        "print(next(WheelBuilder(sys.argv[1]).build(directory=sys.argv[2])))"
    )
    subprocess.run([sys.executable, "-c", script, ROOT, tmp_path], check=True, capture_output=True, timeout=110)
    (one,), (two,) = dist.glob("*.whl"), tmp_path.glob("*.whl")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_two_sdists_have_the_same_bytes(tmp_path: Path, built: None):
    """Of one copy: tests that run beside this one may write to the checkout."""
    copy = shutil.copytree(
        ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns("node_modules", ".git", "__pycache__")
    )
    for name, mask in (("one", 0o022), ("two", 0o077)):
        script = (
            f"import os, sys; os.umask({mask}); from hatchling.builders.sdist import SdistBuilder; "
            "list(SdistBuilder(sys.argv[1]).build(directory=sys.argv[2]))"
        )
        subprocess.run([sys.executable, "-c", script, copy, tmp_path / name], check=True, capture_output=True)
    (one,), (two,) = (list((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_twine_accepts_it(dist: Path, tmp_path: Path):
    """It is not among the tools of the tests: it is loaded from the index, as the release does."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=300)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "twine>=6.1,<7"], check=True, timeout=300)
    done = subprocess.run([python, "-m", "twine", "check", "--strict", *dist.iterdir()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "PASSED" in done.stdout
