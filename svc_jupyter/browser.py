"""Find Chromium, Chrome or Edge on this machine: reports are printed to PDF by one, and the tests drive one."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

BROWSER_VARIABLE = "SVC_CHROMIUM"  # names a browser; no other one is used then
_COMMANDS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
    "microsoft-edge-stable", "msedge",
)  # fmt: skip
_MAC_APPLICATIONS = ("Google Chrome", "Chromium", "Microsoft Edge", "Google Chrome for Testing")
_WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
_WINDOWS_PROGRAMS = (
    "Google/Chrome/Application/chrome.exe", "Chromium/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe",
)  # fmt: skip
_LINUX_PROGRAMS = (
    "/opt/google/chrome/chrome", "/opt/microsoft/msedge/msedge", "/usr/lib/chromium/chromium", "/snap/bin/chromium",
)  # fmt: skip
_PLAYWRIGHT_PROGRAMS = (  # of each platform, in the folder of one version
    "chrome-linux*/chrome", "chrome-win*/chrome.exe", "chrome-mac*/*.app/Contents/MacOS/*",
)  # fmt: skip


def find_browser(
    environ: Mapping[str, str] = os.environ, platform: str = sys.platform, home: Path | None = None
) -> str | None:
    """Return the path of the browser to use, or None.

    Args:
        environ: The environment with PATH; ``SVC_CHROMIUM`` is the path or name of the only browser to use.
        platform: The operating system, as ``sys.platform`` names it.
        home: The user's home folder.
    """
    named = environ.get(BROWSER_VARIABLE)
    path = environ.get("PATH", os.defpath)
    if named:
        return shutil.which(named, path=path)
    commands = [found for name in _COMMANDS if (found := shutil.which(name, path=path))]
    others = _usual_places(environ, platform, home or Path.home())
    installed = [*commands, *(str(place) for place in others if place.is_file() and os.access(place, os.X_OK))]
    return min(installed, key=_is_confined, default=None)  # the first one of the better kind


def _is_confined(program: str) -> bool:
    """Whether a program is a snap: its confinement hides temporary folders, where pages and profiles are."""
    return "/snap" in program or os.path.realpath(program).endswith("/snap")


def _usual_places(environ: Mapping[str, str], platform: str, home: Path) -> Iterator[Path]:
    """Yield where installers put browsers that are not on PATH, then what Playwright downloaded, newest first."""
    if platform == "win32":
        folders = [Path(folder) for name in _WINDOWS_FOLDERS if (folder := environ.get(name))]
        yield from (folder / program for program in _WINDOWS_PROGRAMS for folder in folders)
    elif platform == "darwin":
        roots = (Path("/Applications"), home / "Applications")
        yield from (root / f"{name}.app/Contents/MacOS/{name}" for name in _MAC_APPLICATIONS for root in roots)
    else:
        yield from map(Path, _LINUX_PROGRAMS)
    downloads = _playwright_folder(environ, platform, home)
    for version in sorted(downloads.glob("chromium-*"), key=_version_number, reverse=True):
        for pattern in _PLAYWRIGHT_PROGRAMS:
            yield from sorted(version.glob(pattern))


def _playwright_folder(environ: Mapping[str, str], platform: str, home: Path) -> Path:
    if named := environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return Path(named)
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData/Local") / "ms-playwright"
    caches = home / "Library/Caches" if platform == "darwin" else Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    return caches / "ms-playwright"


def _version_number(folder: Path) -> int:
    found = re.search(r"(?<!\d)\d+$", folder.name)
    return int(found[0]) if found else 0
