"""Which browser is used on each platform: the named one, one on PATH, one in a usual place, Playwright's download."""

from __future__ import annotations

from pathlib import Path

import pytest

from svc_jupyter.browser import find_browser
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.export import check


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("platform", "environ", "place"),
    [
        ("linux", {"PATH": "bin"}, "bin/chromium"),
        ("linux", {"PATH": "other:bin"}, "bin/microsoft-edge"),
        ("linux", {}, ".cache/ms-playwright/chromium-1187/chrome-linux/chrome"),
        ("linux", {"XDG_CACHE_HOME": "caches"}, "caches/ms-playwright/chromium-1255/chrome-linux64/chrome"),
        ("linux", {"PLAYWRIGHT_BROWSERS_PATH": "pw"}, "pw/chromium-1255/chrome-linux-arm64/chrome"),
        ("darwin", {}, "Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
        ("darwin", {}, "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
        (
            "darwin", {},
            "Library/Caches/ms-playwright/chromium-9/chrome-mac-arm64/Chrome for Testing.app/Contents/MacOS/Testing",
        ),
        ("win32", {"PROGRAMFILES": "Program Files"}, "Program Files/Google/Chrome/Application/chrome.exe"),
        ("win32", {"PROGRAMFILES(X86)": "Program Files (x86)"},
         "Program Files (x86)/Microsoft/Edge/Application/msedge.exe"),
        ("win32", {"LOCALAPPDATA": "Local"}, "Local/Google/Chrome/Application/chrome.exe"),
        ("win32", {"LOCALAPPDATA": "Local"}, "Local/ms-playwright/chromium-1187/chrome-win64/chrome.exe"),
    ],
)  # fmt: skip
def test_a_browser_is_found_in_each_platforms_places(
    platform: str, environ: dict[str, str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("svc_jupyter.browser._LINUX_PROGRAMS", ())
    absolute = {name: ":".join(str(tmp_path / part) for part in value.split(":")) for name, value in environ.items()}
    absolute = {"PATH": str(tmp_path / "empty")} | absolute
    assert find_browser(absolute, platform, tmp_path) is None

    there = program(tmp_path / place)

    assert find_browser(absolute, platform, tmp_path) == str(there)


def test_the_named_browser_is_the_only_one_that_is_used(tmp_path: Path):
    ordinary = program(tmp_path / "bin" / "chromium")
    mine = program(tmp_path / "mine" / "my-chrome")
    path = {"PATH": str(ordinary.parent)}

    assert find_browser(path | {"SVC_CHROMIUM": str(mine)}) == str(mine)
    assert find_browser(path | {"SVC_CHROMIUM": str(tmp_path / "gone")}) is None
    assert find_browser(path | {"SVC_CHROMIUM": ""}) == str(ordinary)


def test_the_newest_download_comes_first_and_a_snap_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    confined = program(tmp_path / "snap" / "bin" / "chromium")
    monkeypatch.setattr("svc_jupyter.browser._LINUX_PROGRAMS", ())
    environ = {"PATH": str(confined.parent)}
    assert find_browser(environ, "linux", tmp_path) == str(confined)

    downloads = tmp_path / ".cache" / "ms-playwright"
    program(downloads / "chromium-999" / "chrome-linux" / "chrome")
    newest = program(downloads / "chromium-1255" / "chrome-linux64" / "chrome")

    assert find_browser(environ, "linux", tmp_path) == str(newest)


def test_a_report_as_pdf_without_a_browser_names_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_CHROMIUM", "/no/such\x1b[31mbrowser")

    with pytest.raises(ExportError) as refused:
        check(["pdf"])

    assert "PDF output needs Chromium, Chrome or Edge; SVC_CHROMIUM names /no/such" in str(refused.value)
    assert "\x1b" not in str(refused.value)
