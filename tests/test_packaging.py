"""What the wheel and the sdist carry: all that is needed to run and to build again, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import svc

ROOT = Path(__file__).parent.parent
SERVED = {"swc.iife.js", "swc.css", "page.js", "page.css", "built_from.txt"}


def load_hook(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", folder / "labextension" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, built: None) -> Path:
    """A folder with the sdist and the wheel that is built from it, as a release makes them."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> set[str]:
    (file,) = dist.glob("*.whl")
    return set(zipfile.ZipFile(file).namelist())


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist's one folder."""
    (file,) = dist.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def test_the_wheel_carries_the_built_files_and_the_page(wheel: set[str]):
    assert {f"svc/service/static/{name}" for name in SERVED} | {"svc/service/page.html"} <= wheel
    assert "svc_jupyter/static/panel.js" in wheel


def test_the_wheel_carries_packages_and_metadata_alone(wheel: set[str]):
    release = f"svc_jupyter-{svc.__version__}"
    shared = f"{release}.data/data/share/jupyter/"
    tops = {name.split("/")[0] for name in wheel if not name.startswith(shared)}
    assert tops == {"svc", "svc_jupyter", f"{release}.dist-info"}
    assert not [name for name in wheel if "__pycache__" in name or "node_modules" in name]


def test_every_module_and_table_of_the_checkout_is_in_the_wheel(wheel: set[str]):
    tracked = subprocess.run(["git", "ls-files", "svc", "svc_jupyter"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("no git checkout")
    there = {name for name in tracked.stdout.splitlines() if (ROOT / name).exists()}
    assert there - wheel == set()


def test_the_sdist_carries_all_sources_of_the_build_and_what_was_built_from_them(unpacked: Path):
    hook = load_hook(unpacked)
    ours, theirs = (
        {path.relative_to(root / "labextension").as_posix() for path in hook.sources(root / "labextension")}
        for root in (ROOT, unpacked)
    )
    assert theirs == ours
    assert {path.name for path in (unpacked / "svc/service/static").iterdir()} == SERVED
    assert hook.is_built(unpacked)  # so that it installs without Node


def test_the_sdist_carries_tests_and_documentation_and_nothing_that_npm_installed(unpacked: Path):
    assert (unpacked / "tests" / "wire").is_dir()
    assert {path.name for path in (unpacked / "docs").iterdir()} == {path.name for path in (ROOT / "docs").iterdir()}
    assert (unpacked / ".github" / "CONTRIBUTING.md").is_file()
    assert (unpacked / ".pre-commit-config.yaml").is_file()
    assert (unpacked / "labextension" / "packages" / "page" / "test").is_dir()
    shutil.rmtree(unpacked / "labextension" / "__pycache__", ignore_errors=True)  # of the hook, loaded from there
    assert not [path for path in unpacked.rglob("*") if path.name in ("node_modules", "dist", "__pycache__")]


def write(path: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("change", "is_built"),
    [
        pytest.param(lambda root: None, True, id="nothing"),
        pytest.param(write("labextension/packages/page/test/new.test.ts", ""), True, id="a-test"),
        pytest.param(write("labextension/packages/page/src/page.css", "a {}"), False, id="a-source"),
        pytest.param(write("labextension/packages/page/src/new.ts", ""), False, id="a-new-source"),
        pytest.param(write("labextension/package-lock.json", "{}"), False, id="the-lock"),
        pytest.param(write("svc/service/static/built_from.txt", ""), False, id="the-mark"),
    ],
)
def test_a_build_is_repeated_where_a_source_of_it_changed(
    unpacked: Path, tmp_path: Path, change: Callable[[Path], object], is_built: bool
):
    copy = shutil.copytree(unpacked, tmp_path / "copy")
    change(copy)
    assert load_hook(copy).is_built(copy) is is_built


def test_all_packages_have_the_one_version_number():
    files = [ROOT / "labextension/package.json", *(ROOT / "labextension/packages").glob("*/package.json")]
    assert {file.parent.name: json.loads(file.read_text("utf-8"))["version"] for file in files} == {
        file.parent.name: svc.__version__ for file in files
    }


def test_the_lock_names_versions_and_digests_and_no_address_to_load_from():
    lock = (ROOT / "labextension/package-lock.json").read_text("utf-8")
    assert re.findall(r'"resolved": "(?!packages/)[^"]*"', lock) == []
