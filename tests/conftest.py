"""Shared fixtures: a real service, and a separate state folder so that no test touches the user's."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import hypothesis
import pytest
from playwright.sync_api import Browser, sync_playwright

from svc.assistant.turn import Assistant
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService
from tests.support.local_services import stop_local_service
from tests.support.npm_workspace import one_at_a_time

hypothesis.settings.register_profile("beside others", deadline=None)  # by the clock, and a test beside takes its time
hypothesis.settings.load_profile("beside others")


@pytest.fixture(autouse=True, scope="session")
def nothing_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use the shipped tables and rules, even if the developer has loaded newer ones, and no other process's service."""
    state = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path_factory.mktemp("knowledge")))
        patch.setenv("SVC_STATE_DIR", str(state))
        yield
    stop_local_service(state)


BROWSER_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NO_CHROMIUM = (
    "Chromium is missing: `apt-get install -y chromium` installs it (SVC_CHROMIUM names another); "
    "`pytest --no-browser` runs all other tests"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let those go without a browser who have none."""
    parser.addoption("--no-browser", action="store_true", help="skip the tests that need Chromium")


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> str:
    """Where Chromium is; without one the test fails with the line that installs it."""
    if request.config.getoption("--no-browser"):
        pytest.skip("--no-browser")
    names = (os.environ.get("SVC_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, (shutil.which(name) for name in names if name)), None)
    if found is None:
        pytest.fail(NO_CHROMIUM, pytrace=False)
    return found


@pytest.fixture(scope="session")
def built() -> None:
    """What npm builds was built from the sources that are here."""
    root = Path(__file__).parents[1]
    spec = spec_from_file_location("hatch_build", root / "labextension" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    with one_at_a_time():
        if not hook.is_built(root):
            hook.build(root)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Closed with the module: while it is open this thread has a running loop, and no other test can have one."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=list(BROWSER_ARGUMENTS))
        yield found
        found.close()


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[StartService]:
    """Start a real service with this assistant and these settings; it stops with the test."""
    with ExitStack() as stack:

        def start(
            assistant: Callable[[], Assistant], *, clock: Callable[[], float] = time.time, **settings: object
        ) -> ThreadService:
            folder = tmp_path / f"service{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            service = ThreadService(folder, assistant(), Settings(**{"stop_seconds": 0.3} | settings), clock)
            stack.callback(service.stop)
            return service

        yield start


@pytest.fixture
def service(start_service: StartService) -> ThreadService:
    """A real service that echoes: ``base_url``, ``ws_url``, ``key``."""
    return start_service(Echo)


@pytest.fixture
def local_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state folder, and nothing configured: what is asked goes to a local service that ends with the test."""
    folder = tmp_path / "state"
    monkeypatch.setenv("SVC_STATE_DIR", str(folder))
    for name in ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL", "SVC_LOCAL_SERVE_ARGS"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    stop_local_service(folder)
