"""Shared fixtures of the JupyterLab tests: a server whose kernels use a scripted local service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support import ASSISTANTS
from tests.support.jupyter_server import JupyterServer

SHOTS = Path(__file__).parent / "shots"


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory, jupyterlab: JupyterServer) -> Iterator[JupyterServer]:
    """The server, for a module; what a kernel asks goes to a local service that answers by script."""
    scripted = {
        "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted",
        "PYTHONPATH": str(ASSISTANTS),
    }
    with jupyterlab.turn(tmp_path_factory.mktemp("state"), **scripted):
        yield jupyterlab


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of a fresh profile; how it looked at the end is kept."""
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    yield page
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"{request.node.name[:80]}.png")
    context.close()
