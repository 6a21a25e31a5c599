"""What a bundle has besides the wheels: requirements with hashes, tables, an installer, digests of all files."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from importlib import resources
from pathlib import Path

import svc
from svc.assistant.knowledge import user_folder
from svc.cli.bundle.install import SUMS, TABLES, digest_of
from svc.cli.bundle.targets import Target, label
from svc.cli.bundle.wheelhouse import Wheel, lowest_micro

_README = """\
svc-jupyter {version} for {target}, to install without a network.

On the other machine, with that Python:

    python install.py --into svc-jupyter

It checks every file against SHA256SUMS, makes the virtual environment svc-jupyter, installs the wheels with
`pip --no-index --require-hashes`, and copies the tables. By hand:

    sha256sum --check SHA256SUMS
    python -m venv svc-jupyter
    svc-jupyter/bin/pip install --no-index --find-links wheelhouse --require-hashes -r requirements.txt

SHA256SUMS protects against damage. Against an attacker who can change the bundle, compare its own SHA-256, which
`svc bundle` printed, on both machines.

    wheelhouse/       {wheels} wheels: svc-jupyter and what it needs{extras}
    requirements.txt  their versions and hashes
    knowledge/        the tables that were loaded on the machine that made the bundle: {tables}
"""


def complete(folder: Path, wheels: list[Wheel], target: Target, extras: tuple[str, ...]) -> str:
    """Write everything but the wheels, which are there; return the SHA-256 of the list of digests."""
    lines = (f"{wheel.name}=={wheel.version} --hash=sha256:{digest_of(wheel.path)}\n" for wheel in wheels)
    (folder / "requirements.txt").write_text("".join(lines), "utf-8")
    conditions = {"version": svc.__version__, "python": lowest_micro(wheels, target.python), **target.platform_facts()}
    (folder / "bundle.json").write_text(json.dumps(conditions, indent=2) + "\n", "utf-8")
    script = resources.files(__package__).joinpath("install.py").read_bytes()
    (folder / "install.py").write_bytes(script)
    tables = _copy_tables(folder / TABLES)
    readme = _README.format(
        version=svc.__version__,
        target=label(target),
        wheels=len(wheels),
        extras=f", with the extras {', '.join(extras)}" if extras else "",
        tables=", ".join(tables) or "none",
    )
    (folder / "README.txt").write_text(readme, "utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{digest_of(path)}  {path.relative_to(folder).as_posix()}\n" for path in files).encode()
    (folder / SUMS).write_bytes(sums)
    return hashlib.sha256(sums).hexdigest()


def pack(folder: Path, file: Path) -> None:
    """Write the folder as a TAR, whose bytes depend on the files alone. Wheels are compressed already."""
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(f"{file.stem}/{path.relative_to(folder).as_posix()}")
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                archive.addfile(entry, content)


def _copy_tables(place: Path) -> list[str]:
    """Copy the user's own tables and rule sets; return their names."""
    place.mkdir()
    source = user_folder()
    names = []
    for table in sorted(source.rglob("*.json")):
        name = table.relative_to(source)
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, place / name)
        names.append(name.as_posix())
    return names
