"""Collects wheels: ours, and those of everything that it needs on the target. pip does the work.

For another machine, pip chooses its wheels but evaluates the markers of requirements (``sys_platform == 'win32'``) for
the machine that it runs on. So it is started with the target's markers, and the result is checked: a bundle that lacks
something would fail only where nobody can load it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import click
import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename

import svc
from svc.cli.bundle.targets import Target, label
from svc.untrusted.characters import printable

PACKAGE = "svc-jupyter"
_QUOTED_LINES = 6
_MICRO_RELEASES = 50  # of one version of Python
_NO_PIP = (
    "this Python has no pip, which collects the packages. Run `{python} -m ensurepip` first (or `uv pip install pip`)"
)
_START_PIP = """\
import json, sys
import pip._vendor.packaging.markers as markers
own, given = markers.default_environment, json.loads(sys.argv.pop(1))
markers.default_environment = lambda: {**own(), **given}
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class Wheel(msgspec.Struct, frozen=True):
    """A wheel with its name, as it is compared, and its version."""

    path: Path
    name: str
    version: str


def installed_from() -> str:
    """Return what pip is asked for: the checkout or file that this package was installed from, else its release."""
    try:
        described = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        described = None
    address = urlsplit(json.loads(described)["url"] if described else "")
    path = Path(url2pathname(address.path))
    return str(path) if address.scheme == "file" and path.exists() else f"{PACKAGE}=={svc.__version__}"


def collect(folder: Path, source: str, extras: tuple[str, ...], target: Target) -> list[Wheel]:
    """Fill the folder; return its wheels by name.

    Args:
        folder: An empty folder.
        source: Our own wheel, sdist, checkout or requirement.
        extras: Extras of ours whose packages are needed, too.
        target: Where the wheels will be installed.

    Raises:
        click.ClickException: pip cannot get or build something, or the wheels are not complete.
    """
    _pip("wheel", source, "--no-deps", f"--wheel-dir={folder}")
    own = next((wheel for wheel in wheels_in(folder) if wheel.name == PACKAGE), None)
    if own is None:
        raise click.ClickException(f"{source} is not {PACKAGE}: name its wheel, its sdist or a checkout")
    unknown = sorted(set(extras) - set(known := _metadata(own.path).get_all("Provides-Extra", [])))
    if unknown:
        raise click.ClickException(f"there is no extra {', '.join(unknown)}. Choose from {', '.join(sorted(known))}")
    wanted = f"{own.path}[{','.join(extras)}]" if extras else str(own.path)
    if target.is_this:
        _pip("wheel", wanted, f"--wheel-dir={folder}", f"--find-links={folder}")
    else:
        options = [*target.pip_options(), f"--dest={folder}", f"--find-links={folder}"]
        _pip("download", wanted, *options, markers=target.markers())
    found = wheels_in(folder)
    if missing := sorted(set(_missing(found, Requirement(f"{PACKAGE}[{','.join(extras)}]"), target))):
        raise click.ClickException(
            f"pip did not collect all that is needed for {label(target)}: {', '.join(missing)}. Run the command with "
            "that Python on such a machine"
        )
    return found


def lowest_micro(wheels: list[Wheel], python: str) -> str:
    """Return the first release of a version of Python, such as 3.11.5, that all wheels allow."""
    allowed = [SpecifierSet(_metadata(wheel.path).get("Requires-Python", "")) for wheel in wheels]
    releases = (f"{python}.{micro}" for micro in range(_MICRO_RELEASES))
    found = next((release for release in releases if all(spec.contains(release) for spec in allowed)), None)
    if found is None:
        raise click.ClickException(f"these packages do not go together on Python {python}. Choose another: --python")
    return found


def wheels_in(folder: Path) -> list[Wheel]:
    """Return the folder's wheels, sorted by name."""
    found = []
    for path in folder.glob("*.whl"):
        name, version, *_ = parse_wheel_filename(path.name)
        found.append(Wheel(path, name, str(version)))
    return sorted(found, key=lambda wheel: (wheel.name, wheel.version))


def _pip(*words: str, markers: dict[str, str] | None = None) -> None:
    start = ["-m", "pip"] if markers is None else ["-c", _START_PIP, json.dumps(markers)]
    common = ["--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    done = subprocess.run(  # noqa: S603 - our own Python; the words are paths, requirements and options
        [sys.executable, *start, words[0], *common, *words[1:]], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return
    if "No module named pip" in done.stderr:
        raise click.ClickException(_NO_PIP.format(python=sys.executable))
    lines = [printable(line) for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    raise click.ClickException("\n  ".join(["pip cannot collect the packages:", *errors[-_QUOTED_LINES:]]))


def _missing(wheels: list[Wheel], root: Requirement, target: Target) -> Iterator[str]:
    """Yield each requirement that applies on the target and that no wheel fulfils."""
    by_name = {wheel.name: wheel for wheel in wheels}
    markers = target.markers()
    seen: set[tuple[str, str]] = set()
    queue = [root]
    while queue:
        needed = queue.pop()
        name = canonicalize_name(needed.name)
        wheel = by_name.get(name)
        if wheel is None or not needed.specifier.contains(wheel.version, prereleases=True):
            yield str(needed)
            continue
        for extra in {"", *needed.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            queue += _requirements(wheel.path, {**markers, "extra": extra})


def _metadata(path: Path) -> Message:
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
        return HeaderParser().parsestr(archive.read(name).decode())


def _requirements(path: Path, markers: dict[str, str]) -> Iterator[Requirement]:
    for text in _metadata(path).get_all("Requires-Dist", []):
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(markers):
            yield requirement
