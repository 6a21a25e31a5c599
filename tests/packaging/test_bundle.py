"""``svc bundle``: complete, checked, installable without a network. The packages are tiny ones of a folder."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import svc
from svc.cli.bundle import contents, targets, wheelhouse
from svc.cli.bundle.command import _PLATFORMS
from svc.cli.main import main

LATER = f"{sys.version_info[0]}.{sys.version_info[1]}.99"
PROGRAM = {
    "svc/__init__.py": "",
    "svc/__main__.py": "import needed; print(f'svc, version 1 with {needed.NAME}')",
    "svc/assistant/__init__.py": "",
    "svc/assistant/knowledge.py": (
        "import os, pathlib\ndef user_folder(): return pathlib.Path(os.environ['SVC_KNOWLEDGE_DIR'])"
    ),
}


def write_wheel(
    folder: Path, name: str, *requirements: str, tag: str = "py3-none-any", python: str = ">=3.9",
    extras: tuple[str, ...] = (), files: dict[str, str] | None = None, version: str = "1.0",
) -> Path:  # fmt: skip
    """A wheel that pip installs."""
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}.whl"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {one}" for one in requirements]
    contents = {
        **(files or {f"{name.replace('-', '_')}.py": f"NAME = {name!r}"}),
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{file},,\n" for file in [*contents, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip takes packages from."""
    folder = tmp_path_factory.mktemp("index")
    write_wheel(folder, "needed", "deeper>=1", python=">=3.9.2")
    write_wheel(folder, "deeper")
    write_wheel(folder, "only-windows")
    write_wheel(folder, "only-posix")
    write_wheel(folder, "before-312")
    write_wheel(folder, "extra-one")
    write_wheel(folder, "native", tag="cp312-cp312-win_amd64")
    write_wheel(folder, "native", tag="cp312-cp312-manylinux_2_28_aarch64")
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny wheel of our name."""
    folder = tmp_path_factory.mktemp("ours")
    return write_wheel(
        folder, "svc-jupyter", "needed", "extra-one; extra == 'lab'",
        extras=("lab", "sigma"), files=PROGRAM, version=svc.__version__,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def tables(index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's folder of tables, with one; pip reaches the index only."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    folder = tmp_path / "tables"
    (folder / "rules").mkdir(parents=True)
    (folder / "kev.json").write_text('{"date": "2026-11-20"}')
    (folder / "rules" / "mine.json").write_text("{}")
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(folder))
    return folder


def bundle(*words: object) -> Result:
    return CliRunner().invoke(main, ["bundle", *map(str, words)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, index: Path, ours: Path) -> Path:
    """A bundle for this machine; do not change it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "tables" / "rules").mkdir(parents=True)
    (folder / "tables" / "kev.json").write_text('{"date": "2026-11-20"}')
    (folder / "tables" / "rules" / "mine.json").write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(index))
        patch.setenv("SVC_KNOWLEDGE_DIR", str(folder / "tables"))
        done = bundle(folder / "bundle", "--source", ours)
    assert done.exit_code == 0, done.output
    digest = hashlib.sha256((folder / "bundle" / "SHA256SUMS").read_bytes()).hexdigest()
    assert digest in done.output
    return folder / "bundle"


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage, with hard links for files that are only read."""
    target = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(made), str(target)], check=True)
    return target


def install(folder: Path, into: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the installer with nothing that pip could reach."""
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PYTHONPATH": "", **environ}
    return subprocess.run(
        [sys.executable, folder / "install.py", "--into", into], env=environment, capture_output=True, text=True
    )


def names(folder: Path) -> set[str]:
    return {wheel.name for wheel in wheelhouse.wheels_in(folder / "wheelhouse")}


def test_a_bundle_has_all_wheels_their_hashes_the_tables_and_an_installer(made: Path):
    assert names(made) == {"svc-jupyter", "needed", "deeper"}
    lines = (made / "requirements.txt").read_text().splitlines()
    for line in lines:
        name, digest = line.split(" --hash=sha256:")
        (file,) = (made / "wheelhouse").glob(f"{name.partition('==')[0].replace('-', '_')}-*.whl")
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    assert len(lines) == 3
    assert (made / "knowledge" / "rules" / "mine.json").read_text() == "{}"
    sums = (made / "SHA256SUMS").read_text()
    there = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    assert {line.split("  ")[1] for line in sums.splitlines()} == there


@pytest.mark.slow
def test_it_is_installed_without_a_network_and_runs(made: Path, tmp_path: Path):
    mine = tmp_path / "new"
    (mine / "rules").mkdir(parents=True)
    (mine / "rules" / "mine.json").write_text('["my own"]')
    done = install(made, tmp_path / "venv", SVC_KNOWLEDGE_DIR=str(mine))

    assert done.returncode == 0, done.stderr
    assert "svc, version 1 with needed is installed in" in done.stdout
    assert (mine / "kev.json").read_text() == '{"date": "2026-11-20"}'
    assert (mine / "rules" / "mine.json").read_text() == '["my own"]'
    assert "kept your" in done.stdout


def first_wheel(folder: Path) -> Path:
    return next((folder / "wheelhouse").glob("needed-*.whl"))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a wheel changed": (lambda folder: first_wheel(folder).write_bytes(b"PK"), "changed: wheelhouse/needed-1.0"),
    "a wheel missing": (lambda folder: first_wheel(folder).unlink(), "missing: wheelhouse/needed-1.0"),
    "a file added": (
        lambda folder: (folder / "wheelhouse" / "evil-9.whl").write_text(""),
        "not part of the bundle: wheelhouse/evil-9.whl",
    ),
    "a table changed": (lambda folder: (folder / "knowledge" / "kev.json").write_text("{}"), "changed: knowledge/kev"),
    "requirements changed": (lambda folder: (folder / "requirements.txt").write_text(""), "changed: requirements.txt"),
    "another Python": (
        lambda folder: (folder / "bundle.json").write_text('{"python": "3.2.0", "sys_platform": "x", "machine": "y"}'),
        "this bundle is for Python 3.2, from 3.2.0 on; this is ",
    ),
    "a later Python": (
        lambda folder: (folder / "bundle.json").write_text(f'{{"python": "{LATER}"}}'),
        ".99 on; this is ",
    ),
    "another machine": (
        lambda folder: (folder / "bundle.json").write_text(
            f'{{"python": "{platform.python_version()}", "sys_platform": "sunos5", "machine": "sparc"}}'
        ),
        "this bundle is for sunos5 sparc; this is ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bundle_that_is_damaged_or_of_another_machine_is_not_installed(copy: Path, tmp_path: Path, damage: str):
    change, expected = DAMAGE[damage]
    change(copy)
    done = install(copy, tmp_path / "venv")

    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert expected in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_environment_that_exists_is_left_alone(made: Path, tmp_path: Path):
    (tmp_path / "venv").mkdir()
    done = install(made, tmp_path / "venv")
    assert (done.returncode, "exists already" in done.stderr) == (1, True)


def test_a_tar_has_the_same_bytes_each_time(copy: Path, ours: Path, tmp_path: Path):
    folder = tmp_path / "out"
    folder.mkdir()
    assert bundle(folder / "b.tar", "--source", ours).exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["b.tar"]
    for path in copy.rglob("*"):
        path.touch()
        path.chmod(0o700)
    contents.pack(copy, tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == (folder / "b.tar").read_bytes()
    with tarfile.open(folder / "b.tar") as archive:
        assert {name.split("/")[0] for name in archive.getnames()} == {"b"}


def test_an_extra_is_included(ours: Path, tmp_path: Path):
    assert bundle(tmp_path / "b", "--source", ours, "--extra", "lab").exit_code == 0
    assert "extra-one" in names(tmp_path / "b")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "expected"),
    [("windows-amd64", {"only-windows", "native"}), ("linux-aarch64", {"only-posix", "native"})],
)
def test_wheels_are_those_of_the_target(tmp_path: Path, system: str, expected: set[str]):
    """Of its platform, its Python, and the markers that hold there, whatever they are here."""
    source = write_wheel(
        tmp_path, "svc-jupyter", "native", "only-windows; sys_platform == 'win32'",
        "only-posix; os_name == 'posix' and platform_machine == 'aarch64'", "before-312; python_version < '3.12'",
        files=PROGRAM, version=svc.__version__,
    )  # fmt: skip
    done = bundle(tmp_path / "b", "--source", source, "--python", "3.12", "--platform", system)

    assert done.exit_code == 0, done.output
    assert names(tmp_path / "b") == {"svc-jupyter"} | expected
    assert '"python": "3.12.0"' in (tmp_path / "b" / "bundle.json").read_text()


def refused(tmp_path: Path, *words: object) -> str:
    before = set(tmp_path.iterdir())
    done = bundle(*words)
    assert done.exit_code == 1, done.output
    assert set(tmp_path.iterdir()) == before  # nothing half made stays
    return done.output


def test_what_cannot_be_bundled_is_said(ours: Path, index: Path, tmp_path: Path):
    (tmp_path / "there").mkdir()
    assert "exists already" in refused(tmp_path, tmp_path / "there", "--source", ours)
    assert "there is no folder" in refused(tmp_path, tmp_path / "no" / "where", "--source", ours)
    assert "is not svc-jupyter" in refused(tmp_path, tmp_path / "b", "--source", index / "deeper-1.0-py3-none-any.whl")
    assert "there is no extra labs. Choose from lab, sigma" in refused(
        tmp_path, tmp_path / "b", "--source", ours, "--extra", "labs"
    )
    lacking = write_wheel(tmp_path, "svc-jupyter", "nowhere>=2", files=PROGRAM, version=svc.__version__)
    assert "nowhere" in refused(tmp_path, tmp_path / "b", "--source", lacking)
    assert "pip cannot collect the packages:" in refused(
        tmp_path, tmp_path / "b", "--source", ours, "--python", "3.13", "--platform", "macos-arm64", "--source", "nope"
    )


def test_a_python_without_pip_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours: Path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(wheelhouse.sys, "executable", str(python))
    assert f"Run `{python} -m ensurepip`" in refused(tmp_path, tmp_path / "b", "--source", ours)


def test_a_bundle_that_lacks_something_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: Path):
    """Even if pip was content with it, as it is with the markers of this machine."""
    monkeypatch.setattr(wheelhouse, "_pip", lambda *words, **_: (tmp_path / "x") and _copy_to(words, ours))
    assert "did not collect all that is needed for Python" in refused(tmp_path, tmp_path / "b", "--source", ours)


def _copy_to(words: tuple[str, ...], wheel: Path) -> None:
    (folder,) = (word.partition("=")[2] for word in words if word.startswith("--wheel-dir="))
    (Path(folder) / wheel.name).write_bytes(wheel.read_bytes())


def test_the_options_name_every_platform():
    assert set(_PLATFORMS) == set(targets.PLATFORMS)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_the_real_package_answers_a_question_after_an_installation_from_its_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: None
):
    """It loads a hundred packages from the index; installing them has none to load from."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    done = bundle(tmp_path / "b", "--source", Path(__file__).parents[2])
    assert done.exit_code == 0, done.output

    environ = {"SVC_KNOWLEDGE_DIR": str(tmp_path / "new"), "SVC_STATE_DIR": str(tmp_path / "state")}
    installed = install(tmp_path / "b", tmp_path / "venv", **environ)
    assert installed.returncode == 0, installed.stderr
    asked = subprocess.run(
        [tmp_path / "venv/bin/svc-jupyter", "ask", "What is T1059.001?"],
        env={**os.environ, **environ, "PYTHONPATH": "", "SVC_LOCAL_SERVE_ARGS": "--exit-when-idle 5"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert "PowerShell" in asked.stdout
