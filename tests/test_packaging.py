"""What the wheel and the sdist carry: all that is needed to run and to build again, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
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
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import svc

ROOT = Path(__file__).parent.parent
SERVED = {"swc.iife.js", "swc.css", "page.js", "page.css", "svc-sdk.tgz", "svc-chat.tgz", "built_from.txt"} | {
    "third_party.json",
    "THIRD_PARTY_LICENSES.txt",
}


def load_hook(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", folder / "labextension" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


def with_npm(folder: Path, script: str) -> dict[str, str]:
    """An environment with this shell script for npm."""
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    npm.chmod(0o755)
    return os.environ | {"PATH": os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, built: None) -> Path:
    """A folder with the sdist and the wheel that is built from it, as a release makes them; neither needs npm."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True, text=True, timeout=110, env=with_npm(tmp_path_factory.mktemp("bin"), "exit 1"),
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
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # since 3.11.4
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
        {path.relative_to(root).as_posix() for path in hook.sources(root / "labextension")} for root in (ROOT, unpacked)
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


@pytest.fixture(scope="module")
def bills(dist: Path) -> dict[str, str]:
    """The wheel's bills of materials, by file name."""
    (file,) = dist.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/sboms/" in name]
        return {Path(name).name: wheel.read(name).decode() for name in names}


def components(bill: str) -> dict[str, str]:
    return {component["name"]: component["version"] for component in json.loads(bill)["components"]}


def test_the_wheel_carries_two_valid_bills_of_materials(bills: dict[str, str]):
    assert set(bills) == {"npm.cdx.json", "python.cdx.json"}
    for text in bills.values():
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
        product = json.loads(text)["metadata"]["component"]
        assert (product["name"], product["version"]) == ("svc-jupyter", svc.__version__)


WORKSPACE = ROOT / "labextension"
IMPORT = re.compile(r"""(?:from|import)\s*\(?["']((?:@[\w.-]+/)?[\w.-]+)[^"'\n]*["']""")
NOT_BUNDLED = {"ws"}  # of the SDK for Node
SCOPES = ("@jupyterlab/", "@lumino/")  # JupyterLab gives them


def imported(folder: Path) -> set[str]:
    """The npm packages that the sources of a folder import."""
    found = {name for path in folder.rglob("*.ts") for name in IMPORT.findall(path.read_text("utf-8"))}
    locked = json.loads((WORKSPACE / "package-lock.json").read_text("utf-8"))["packages"]
    third_party = {name for name in found if "integrity" in locked.get(f"node_modules/{name}", {})}
    return {name for name in third_party - NOT_BUNDLED if not name.startswith(SCOPES)}


def test_the_npm_bill_lists_what_the_built_scripts_hold(bills: dict[str, str]):
    listed = components(bills["npm.cdx.json"])
    locked = json.loads((WORKSPACE / "package-lock.json").read_text("utf-8"))["packages"]
    direct = set().union(*(imported(WORKSPACE / "packages" / name / "src") for name in ("chat", "lab", "page")))

    assert direct <= set(listed)
    needed, queue = set(), list(direct)
    while queue:
        needed.add(name := queue.pop())
        queue += set(locked[f"node_modules/{name}"].get("dependencies", {})) - needed
    assert set(listed) <= needed
    assert listed == {name: locked[f"node_modules/{name}"]["version"] for name in listed}


def test_versions_that_the_built_scripts_name_are_the_listed_ones(dist: Path, bills: dict[str, str]):
    listed = components(bills["npm.cdx.json"])
    (file,) = dist.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        (lab,) = (name for name in wheel.namelist() if "remoteEntry." in name)
        for name in ("svc/service/static/swc.iife.js", "svc_jupyter/static/panel.js", lab):
            script = wheel.read(name).decode()
            assert f'"{listed["dompurify"]}"' in script, name
            assert f'"{listed["lit-html"]}"' in script, name


def test_the_python_bill_lists_the_lock_and_what_needs_what(bills: dict[str, str]):
    lock = (ROOT / ".ci" / "locks" / "runtime.txt").read_text("utf-8")
    bill = json.loads(bills["python.cdx.json"])
    references = {component["bom-ref"] for component in bill["components"]}

    locked = re.findall(r"^(\S+)==(\S+)", lock, re.MULTILINE)
    assert references == {f"pkg:pypi/{name}@{version}" for name, version in locked}
    edges = {entry["ref"]: set(entry["dependsOn"]) for entry in bill["dependencies"]}
    assert set(edges) == references | {f"pkg:pypi/svc-jupyter@{svc.__version__}"}
    assert set().union(*edges.values()) == references  # nothing is there that nothing needs
    httpx2, anyio = (next(ref for ref in references if f"/{name}@" in ref) for name in ("httpx2", "anyio"))
    assert anyio in edges[httpx2]
    assert httpx2 in edges[f"pkg:pypi/svc-jupyter@{svc.__version__}"]


def test_the_licence_of_every_bundled_package_is_in_the_wheel(dist: Path, bills: dict[str, str]):
    (file,) = dist.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        text = wheel.read("svc/service/static/THIRD_PARTY_LICENSES.txt").decode()
        (name,) = (name for name in wheel.namelist() if name.endswith("/static/third-party-licenses.json"))
        shown = json.loads(wheel.read(name))["packages"]  # JupyterLab, "Help", "Licenses"
    parts = dict(part.split("\n", 1) for part in text.split("\n\n" + "=" * 80 + "\n\n"))
    listed = {f"{name} {version}" for name, version in components(bills["npm.cdx.json"]).items()}

    assert set(parts) == listed
    assert all("WITHOUT WARRANTY" in part.upper() or "AS IS" in part.upper() for part in parts.values())
    assert {f"{one['name']} {one['versionInfo']}" for one in shown} == listed
    assert all(one["extractedText"] in text for one in shown)


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


NPM = """case "$1" in
config) echo https://me:secret@npm.example.org/ ;;
ping) echo "npm error code {ping}" >&2; echo "npm error request failed, reason: {reason}" >&2; exit {ping_exit} ;;
ci) echo "$@" > {folder}/arguments; echo "npm error code {ping}" >&2; echo "npm error 404 no esbuild" >&2; exit {ci} ;;
esac"""


@pytest.mark.parametrize(
    ("ping", "source", "why"),
    [
        ({"ping": "ENOTFOUND", "ping_exit": 1, "reason": "getaddrinfo ENOTFOUND x"}, "--offline", "ENOTFOUND x"),
        ({"ping": "FETCH_ERROR", "ping_exit": 1, "reason": "network timeout"}, "--offline", "network timeout"),
        ({"ping": "E404", "ping_exit": 1, "reason": "no /-/ping here"}, "--prefer-offline", "404 no esbuild"),
        ({"ping": "OK", "ping_exit": 0, "reason": ""}, "--prefer-offline", "404 no esbuild"),
    ],
)  # fmt: skip
def test_without_npms_registry_one_line_says_what_to_do(
    ping: dict[str, object], source: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environ = with_npm(tmp_path, NPM.format(folder=tmp_path, ci=1, **ping))
    monkeypatch.setenv("PATH", environ["PATH"])

    with pytest.raises(SystemExit) as ended:
        load_hook(ROOT).install(tmp_path)

    (line,) = str(ended.value).splitlines()
    for words in ("https://npm.example.org/", why, "pip install svc-jupyter", "SVC_SKIP_JS=1 pip install ."):
        assert words in line
    assert "secret" not in line
    arguments = (tmp_path / "arguments").read_text().split()
    assert source in arguments
    assert "--ignore-scripts" in arguments


def test_npms_cache_is_enough_without_its_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = NPM.format(folder=tmp_path, ci=0, ping="ENOTFOUND", ping_exit=1, reason="getaddrinfo ENOTFOUND x")
    monkeypatch.setenv("PATH", with_npm(tmp_path, script)["PATH"])

    load_hook(ROOT).install(tmp_path)


def test_an_npm_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", with_npm(tmp_path, "exec sleep 60")["PATH"])
    hook = load_hook(ROOT)
    for name in ("PING_SECONDS", "INSTALL_SECONDS"):
        monkeypatch.setattr(hook, name, 0.1)

    with pytest.raises(SystemExit, match=r"no result within .* s\)"):
        hook.install(tmp_path)


def test_without_npm_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SystemExit) as ended:
        load_hook(ROOT).install(tmp_path)

    assert len(str(ended.value).splitlines()) == 1
    assert "npm was not found" in str(ended.value)
    assert "SVC_SKIP_JS=1 pip install ." in str(ended.value)


def build_without_scripts(root: Path, kind: str) -> subprocess.CompletedProcess[str]:
    environ = with_npm(root.parent, "exit 1") | {"SVC_SKIP_JS": "1"}
    command = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(root.parent), str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env=environ)


def test_a_wheel_can_be_built_without_npm_and_has_no_scripts_then(unpacked: Path, tmp_path: Path):
    copy = shutil.copytree(unpacked, tmp_path / "copy")
    (copy / "labextension/packages/page/src/new.ts").write_text("")  # so that what was built is of other sources

    done = build_without_scripts(copy, "--wheel")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "built without the chat page and the JupyterLab extension" in done.stdout + done.stderr
    (file,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        names = wheel.namelist()
        (bill,) = (wheel.read(name) for name in names if name.endswith("npm.cdx.json"))
    assert not [name for name in names if "/static/" in name or "labextension" in name]
    assert [name for name in names if "share/jupyter/nbconvert/templates/svc/" in name]
    assert {"svc/service/page.html", "svc/service/unbuilt.html"} <= set(names)
    assert json.loads(bill)["components"] == []


def test_what_is_built_is_kept_if_it_is_of_these_sources(unpacked: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_SKIP_JS", "1")
    hook = load_hook(unpacked)

    assert hook.is_built(unpacked)
    assert hook.is_skipped()
    monkeypatch.setenv("SVC_SKIP_JS", "0")
    assert not hook.is_skipped()


def test_an_sdist_always_has_the_built_files(unpacked: Path, tmp_path: Path):
    copy = shutil.copytree(unpacked, tmp_path / "copy")
    (copy / "svc/service/static/built_from.txt").write_text("")

    done = build_without_scripts(copy, "--sdist")

    assert done.returncode != 0
    assert "an sdist contains the built files: unset SVC_SKIP_JS" in done.stdout + done.stderr


def test_all_packages_have_the_one_version_number():
    files = [ROOT / "labextension/package.json", *(ROOT / "labextension/packages").glob("*/package.json")]
    assert {file.parent.name: json.loads(file.read_text("utf-8"))["version"] for file in files} == {
        file.parent.name: svc.__version__ for file in files
    }


def test_the_lock_names_versions_and_digests_and_no_address_to_load_from():
    lock = (ROOT / "labextension/package-lock.json").read_text("utf-8")
    assert re.findall(r'"resolved": "(?!packages/)[^"]*"', lock) == []
