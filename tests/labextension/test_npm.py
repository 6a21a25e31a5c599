"""The npm workspace keeps its own rules: lint, types, unit tests, and tests in a browser, each by its npm script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from svc_jupyter.browser import BROWSER_VARIABLE, find_browser
from tests.support.npm_workspace import WORKSPACE, install, run_npm

Script = tuple[str, ...]
BROWSER = "test:browser"
LANES = 3  # scripts at a time: most of them wait more than they compute


def scripts_of(*names: str) -> list[Script]:
    """Each of these scripts of each package that has it."""
    workspace = json.loads((WORKSPACE / "package.json").read_text("utf-8"))
    packages = [json.loads((WORKSPACE / path / "package.json").read_text("utf-8")) for path in workspace["workspaces"]]
    return [(name, "-w", package["name"]) for name in names for package in packages if name in package["scripts"]]


IN_BROWSERS = scripts_of(BROWSER)
UNITS = scripts_of("test")
OTHERS = [("lint",), *scripts_of("typecheck")]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[dict[Script, Future[None]]]:
    """Every script that a selected test waits for, under way."""
    install()
    browser = find_browser()
    environ = {BROWSER_VARIABLE: browser} if browser else {}  # without one, no test in a browser is selected
    items = (item for item in request.session.items if item.path == request.path and hasattr(item, "callspec"))
    wanted = [item.callspec.params["script"] for item in items]
    with ThreadPoolExecutor(LANES) as lanes:
        yield {
            script: lanes.submit(run_npm, "run", *script, **environ)
            for script in wanted
            if environ or script[0] != BROWSER
        }
        lanes.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", IN_BROWSERS, ids=" ".join)
def test_the_tests_in_a_browser_pass(chromium: str, running: dict[Script, Future[None]], script: Script):
    running[script].result()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", UNITS, ids=" ".join)
def test_the_unit_tests_pass(running: dict[Script, Future[None]], script: Script):
    running[script].result()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", OTHERS, ids=" ".join)
def test_the_script_passes(running: dict[Script, Future[None]], script: Script):
    running[script].result()


@pytest.mark.long
@pytest.mark.timeout(1_600)
def test_each_hostile_family_is_harmless_on_a_page_of_its_own(chromium: str):
    install()
    run_npm("run", BROWSER, "-w", "@svc-jupyter/chat", **{BROWSER_VARIABLE: chromium}, SVC_LONG="1")
