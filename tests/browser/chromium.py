"""Set up the browser that the tests drive: ``python tests/browser/chromium.py``, the middle of README's second command.

It uses the Chromium, Chrome or Edge of this machine. Without one it downloads Playwright's or, as root on Debian,
installs Debian's package. It says what it did, and fails with what to do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from svc_jupyter.browser import BROWSER_VARIABLE, find_browser

NO_BROWSER = (
    "The browser tests need Chromium, Chrome or Edge, and none was found. `python tests/browser/chromium.py` installs "
    f"one, {BROWSER_VARIABLE} names one that is elsewhere, and `pytest --no-browser` runs all other tests."
)
START_SECONDS = 60
INSTALL_SECONDS = 900
CONNECT_MILLISECONDS = 10_000  # Playwright tries several times; its own limit is 30 s for each
OS_RELEASE = Path("/etc/os-release")

Install = Callable[[], str]


def main() -> int:
    """Find or install a browser, print what was done, and return the exit code."""
    found = find_browser()
    if found is not None or os.environ.get(BROWSER_VARIABLE):
        return _use(found)
    refusals = []
    for name, install in (("Playwright's download", from_playwright), ("Debian's package", from_debian)):
        refusal = install() or why_not_started(find_browser())
        if not refusal:
            print(f"Installed the browser of the tests ({name}): {find_browser()}")
            return 0
        refusals.append(f"{name}: {refusal}")
    print(
        f"No Chromium, Chrome or Edge was found, and none could be installed ({'; '.join(refusals)}).\n"
        f"Install one with your system's package manager, or set {BROWSER_VARIABLE} to its path; "
        "`pytest --no-browser` runs all tests that need no browser.",
        file=sys.stderr,
    )
    return 1


def _use(found: str | None) -> int:
    reason = why_not_started(found)
    if not reason:
        print(f"The tests use the browser {found}")
        return 0
    named = os.environ.get(BROWSER_VARIABLE)
    which = f"{named}, which {BROWSER_VARIABLE} names," if named else found
    print(
        f"{which} cannot be used: {reason}.\nRepair it, or set {BROWSER_VARIABLE} to the path of another Chromium, "
        "Chrome or Edge.",
        file=sys.stderr,
    )
    return 1


def why_not_started(browser: str | None) -> str:
    """Return why a browser does not start, for example a missing library; "" if it does."""
    if browser is None:
        return "not found"
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with TemporaryDirectory(prefix="svc-browser-", ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}", *as_root]
        return _run([browser, *options, "--dump-dom", "about:blank"], START_SECONDS)


def from_playwright() -> str:
    """Download the Chromium of the installed Playwright; return why that failed, or ""."""
    print("No browser was found: downloading Playwright's Chromium …", flush=True)
    environ = {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": str(CONNECT_MILLISECONDS), **os.environ}
    command = [sys.executable, "-m", "playwright", "install", "chromium", "--no-shell"]
    return _run(command, INSTALL_SECONDS, environ)


def from_debian() -> str:
    """Install Debian's package; return why that failed, or ""."""
    if not is_debian() or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only on Debian as root"
    print("Playwright's download failed: installing Debian's package chromium …", flush=True)
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"]
    return _run(["apt-get", "update", "-q"], INSTALL_SECONDS, environ) or _run(install, INSTALL_SECONDS, environ)


def is_debian() -> bool:
    """Whether this is Debian or made from it, but not Ubuntu, whose package is an empty one that names a snap."""
    if not OS_RELEASE.is_file():
        return False
    lines = dict(line.split("=", 1) for line in OS_RELEASE.read_text("utf-8").splitlines() if "=" in line)
    families = {word for key in ("ID", "ID_LIKE") for word in lines.get(key, "").strip("\"'").split()}
    return "debian" in families and "ubuntu" not in families


def _run(command: list[str], seconds: float, environ: dict[str, str] | None = None) -> str:
    """Run a command; return "" or the line of its output that says best why it failed."""
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no result within {seconds:g} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(?:E|Error):|.*error while loading", line)] or lines[-1:]
    return (telling or [f"exit code {done.returncode}"])[0][:300].removeprefix("Error: ").removesuffix(".")


if __name__ == "__main__":
    sys.exit(main())
