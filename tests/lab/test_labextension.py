"""The extension as the wheel brings it: found, enabled, and fit for this JupyterLab; its page opens no other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import svc

ROOT = Path(__file__).parents[2]
INSTALLED = Path("share/jupyter/labextensions/svc-jupyterlab")


@pytest.fixture(scope="module")
def prefix(extension: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip puts under its prefix out of the wheel: an environment's own folders are not touched by tests."""
    dist, prefix = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("prefix")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(ROOT))
    (file,) = dist.glob("*.whl")
    data = f"svc_jupyter-{svc.__version__}.data/data/"
    with zipfile.ZipFile(file) as wheel:
        assert not [name for name in wheel.namelist() if name.startswith("svc_jupyter/labextension/")]  # once is enough
        for name in wheel.namelist():
            if name.startswith(data):
                path = prefix / name.removeprefix(data)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(wheel.read(name))
    return prefix


def run(*words: str, **environment: str) -> str:
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_jupyter_lists_the_extension_as_enabled_and_compatible(prefix: Path):
    listed = run(
        sys.executable, "-m", "jupyterlab.labextensions", "list", JUPYTER_PATH=str(prefix / "share" / "jupyter")
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", listed)
    (line,) = [line for line in plain.split(str(prefix), 1)[1].splitlines() if "svc-jupyterlab" in line][:1]
    assert line.split() == ["svc-jupyterlab", f"v{svc.__version__}", "enabled", "OK", "(python,", "svc-jupyter)"]


def test_the_installed_extension_is_a_script_a_schema_and_package_metadata(prefix: Path):
    folder = prefix / INSTALLED
    manifest = json.loads((folder / "package.json").read_text("utf-8"))
    entry = manifest["jupyterlab"]["_build"]["load"]
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        "package.json", "install.json", entry, "static/third-party-licenses.json", "schemas/svc-jupyterlab/panel.json",
        "schemas/svc-jupyterlab/package.json.orig",
    }  # fmt: skip
    assert manifest["version"] == svc.__version__
    assert (folder / entry).stat().st_size < 300_000


def test_no_setting_is_a_key(prefix: Path):
    schema = json.loads((prefix / INSTALLED / "schemas/svc-jupyterlab/panel.json").read_text("utf-8"))
    assert sorted(schema["properties"]) == ["base_url", "language", "log_session", "model", "notify_seconds", "theme"]
    assert schema["additionalProperties"] is False


def test_every_menu_and_shortcut_command_exists_in_the_script(prefix: Path):
    folder = prefix / INSTALLED
    schema = json.loads((folder / "schemas/svc-jupyterlab/panel.json").read_text("utf-8"))
    named = set(re.findall(r'"command": ?"(svc:[a-z-]+)"', json.dumps(schema)))
    (script,) = (folder / "static").glob("*.js")
    text = script.read_text("utf-8")
    missing = {command for command in named if command not in text and not command.startswith("svc:ask-")}
    assert missing == set()
    assert len(named) == 13
