"""Sphinx builds the pages without a warning, offline, and they fit a phone."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.docs import pages
from tests.support.npm_workspace import one_at_a_time

pytest.importorskip("sphinx", reason="the extra docs is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(320)]  # the build takes half a minute on a quiet machine
WIDE = ("generated/rules", "generated/python", "generated/settings", "questions")
"""Pages of the reference with the widest tables and signatures."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-d", str(folder / "read")]
    with one_at_a_time():  # it writes docs/reference/generated
        done = subprocess.run(
            [*command, str(pages.DOCS), str(folder / "html")],
            env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built(site: Path):
    written = {name.removesuffix(".md") for name in pages.names()}
    written |= {f"tutorials/{path.stem}" for path in (pages.ROOT / "notebooks").glob("*.ipynb")}
    written |= {
        f"reference/generated/{path.stem}"
        for path in (pages.DOCS / "_extensions" / "reference_pages").glob("*.py")
        if path.stem not in ("__init__", "markdown")
    }

    assert {name for name in written if not (site / f"{name}.html").is_file()} == set()


def test_pages_load_nothing_from_elsewhere(site: Path):
    loaded = re.compile(
        r"<(?:script|img|iframe|link rel=\"(?:stylesheet|preload|icon)\")[^>]*(?:src|href)=\"(https?:[^\"]+)"
    )
    found = {path.name: loaded.findall(path.read_text("utf-8")) for path in site.rglob("*.html")}

    assert {name: urls for name, urls in found.items() if urls} == {}


def test_the_python_api_has_arguments_results_and_errors(site: Path):
    text = (site / "reference/generated/python.html").read_text("utf-8")

    assert 'id="svc.Svc.create_session"' in text
    assert 'id="svc_jupyter.NotebookSession.ask"' in text
    assert text.count("Parameters") >= 10
    assert text.count("Raises") >= 10
    assert ".. " not in shown(site, "generated/python"), "reStructuredText that was not read"


def shown(site: Path, name: str) -> str:
    """What a page of the reference shows, without its markup."""
    return html.unescape(re.sub(r"<[^>]+>", "", (site / "reference" / f"{name}.html").read_text("utf-8")))


def test_the_typescript_api_has_signatures_without_bodies_and_internals(site: Path):
    text = shown(site, "generated/typescript")

    assert "static async create(apiKey?: string, baseUrl?: string" in text
    assert "attachFile(" in text
    assert "this." not in text
    assert "#transport" not in text


def test_options_are_shown_as_they_are_typed(site: Path):
    assert "A question with --attach" in shown(site, "generated/command_line")
    assert "--answers MODE" in shown(site, "generated/magics")
    assert "--turn-seconds" in shown(site, "generated/settings")


def test_the_matrix_has_each_technique_below_its_own_tactics(site: Path):
    matrix = shown(site, "generated/rules").partition("ATT&CK matrix")[2].partition("Catalogue")[0]

    assert re.search(r"T1003\.001\s+OS Credential Dumping: LSASS Memory \(\d+\)", matrix)
    assert matrix.count("T1003.001") == 1  # credential access alone


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_in_both_themes(scheme: str, site: Path, browser: Browser):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    try:
        page = context.new_page()
        failed: list[str] = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.on("console", lambda line: failed.append(line.text) if line.type == "error" else None)
        for name in WIDE:
            page.goto((site / "reference" / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert failed == []
    finally:
        context.close()
