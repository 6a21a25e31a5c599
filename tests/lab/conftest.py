"""Shared fixtures of the JupyterLab tests: a server whose kernels use a scripted local service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support import ASSISTANTS
from tests.support.jupyter_server import JupyterServer, jupyter_server
from tests.support.local_services import stop_local_service

SHOTS = Path(__file__).parent / "shots"
ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """JupyterLab does things in its own time: what fails here is tried once more, and the report says so."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory, built: None) -> Path:
    """A folder of Jupyter's data with our extension in it, as it is built from the sources that are here."""
    data = tmp_path_factory.mktemp("data")
    (data / "labextensions").mkdir()
    (data / "labextensions" / "svc-jupyterlab").symlink_to(ROOT / "svc_jupyter" / "labextension")
    return data


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory, extension: Path) -> Iterator[JupyterServer]:
    """JupyterLab and Notebook 7; what a kernel asks goes to a local service that answers by script.

    One for each module: a server keeps its kernels, and JupyterLab opens what was open before.
    """
    folder = tmp_path_factory.mktemp("jupyter")
    service = {
        "JUPYTER_PATH": str(extension),
        "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted",
        "PYTHONPATH": str(ASSISTANTS),
        "SVC_STATE_DIR": str(folder / "state"),
        "SVC_API_KEY": "",
        "SVC_BASE_URL": "",
        "SVC_WS_URL": "",
    }
    with jupyter_server(folder, **service) as server:
        yield server
    stop_local_service(folder / "state")


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
