"""Installs svc-jupyter from this folder, without a network: python install.py [--into FOLDER]

Run it with the Python that the bundle is for. It checks the SHA-256 of every file, makes a virtual environment,
installs the wheels with pip, which checks their hashes again, and copies the tables. Nothing outside FOLDER and your
own folder of tables is changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMS = "SHA256SUMS"
TABLES = "knowledge"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # other names of the same


def check_machine() -> None:
    """Exit unless this Python and this machine are those of the bundle."""
    wanted = json.loads((HERE / "bundle.json").read_text("utf-8"))
    lowest = tuple(int(part) for part in wanted["python"].split("."))
    if sys.version_info[:2] != lowest[:2] or sys.version_info[:3] < lowest:
        series = f"{lowest[0]}.{lowest[1]}"
        stop(
            f"this bundle is for Python {series}, from {wanted['python']} on; this is {platform.python_version()}. "
            f"Run it with another python{series}, or make one for this Python: svc bundle --python"
        )
    ours, theirs = (MACHINES.get(name.lower(), name.lower()) for name in (platform.machine(), wanted["machine"]))
    if (sys.platform, ours) != (wanted["sys_platform"], theirs):
        stop(
            f"this bundle is for {wanted['sys_platform']} {theirs}; this is {sys.platform} {ours}. "
            "Make one for this machine: svc bundle --platform"
        )


def check_files() -> None:
    """Exit unless every file is as it was bundled, and no other is there."""
    expected = {}
    for line in (HERE / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        expected[name] = digest
    found = {path.relative_to(HERE).as_posix() for path in HERE.rglob("*") if path.is_file()} - {SUMS}
    missing, added = sorted(expected.keys() - found), sorted(found - expected.keys())
    changed = [name for name in sorted(found & expected.keys()) if digest_of(HERE / name) != expected[name]]
    for what, names in (("missing", missing), ("changed", changed), ("not part of the bundle", added)):
        if names:
            stop(f"{what}: {', '.join(names[:5])}. Copy the bundle again from the machine that made it")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            total.update(piece)
    return total.hexdigest()


def make_environment(folder: Path) -> Path:
    """Make a virtual environment; return its Python."""
    if folder.exists():
        stop(f"{folder} exists already. Remove it, or name another folder: --into FOLDER")
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        stop(f"no virtual environment can be made here ({error}). On Debian, install python3-venv first")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(python: Path) -> None:
    """Install the wheels; pip has no other source and checks their hashes."""
    options = ["--isolated", "install", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    hashed = ["--require-hashes", "--only-binary=:all:", f"--find-links={HERE / 'wheelhouse'}"]
    run([python, "-I", "-m", "pip", *options, *hashed, "-r", HERE / "requirements.txt"])


def copy_tables(python: Path) -> None:
    """Copy the tables to where svc looks for the user's own. One that is there stays."""
    script = "from svc.assistant.knowledge import user_folder; print(user_folder())"
    place = Path(run([python, "-I", "-c", script]).strip())
    for source in sorted((HERE / TABLES).rglob("*.json")):
        target = place / source.relative_to(HERE / TABLES)
        if target.exists() and digest_of(target) != digest_of(source):
            print(f"kept your {target}; delete it and copy {source.name} there to use the bundle's")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def run(command: list[object]) -> str:
    """Run a program; exit with what it printed if it fails. ``-I``: no other folder of modules counts."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        stop(f"this failed: {' '.join(map(str, command[1:4]))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def stop(message: str) -> None:
    """Exit with an error."""
    sys.exit(f"Error: {message}")


def main() -> None:
    """Check, install, and say how to start."""
    parser = argparse.ArgumentParser(description="Install svc-jupyter from this folder, without a network.")
    parser.add_argument("--into", default="svc-jupyter", help="the virtual environment to make (default: svc-jupyter)")
    folder = Path(parser.parse_args().into).expanduser().absolute()
    check_machine()
    check_files()
    python = make_environment(folder)
    install(python)
    copy_tables(python)
    version = run([python, "-I", "-m", "svc", "--version"]).strip()
    command = python.parent / ("svc-jupyter.exe" if os.name == "nt" else "svc-jupyter")
    print(f'{version} is installed in {folder}.\nTry it: {command} ask "What is T1059.001?"')


if __name__ == "__main__":
    main()
