"""Shared fixtures: a real service, and a separate state folder so that no test touches the user's."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter
from httpx._transports import default as httpx_transport
from httpx2._transports import default as httpx2_transport
from playwright.sync_api import Browser
from xdist.remote import Producer

from svc.assistant.turn import Assistant
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc_jupyter.browser import find_browser
from tests.support import fast, second_try
from tests.support.assistants.scripted import Echo
from tests.support.browsers import SharedBrowser
from tests.support.bytecode import keep_bytecode
from tests.support.certificates import read_once
from tests.support.distribution import ScopeScheduling, is_watched, processes_for, rank_of, scope_of
from tests.support.jupyter_server import JupyterServer, jupyter_server
from tests.support.live import StartService, ThreadService
from tests.support.local_services import stop_local_service
from tests.support.needs_browser import NeedsBrowser
from tests.support.npm_workspace import one_at_a_time
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.replicated import ReplicatedService

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


@pytest.fixture(autouse=True, scope="session")
def certificates_read_once() -> Iterator[None]:
    """A client reads the system's certificates, which takes 20 ms; the clients of a run share them."""
    with pytest.MonkeyPatch.context() as patch:
        for transport in (httpx_transport, httpx2_transport):
            patch.setattr(transport, "create_ssl_context", read_once(transport.create_ssl_context))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let those go without a browser who have none."""
    parser.addoption("--no-browser", action="store_true", help="deselect the tests that need Chromium, Chrome or Edge")
    parser.addoption("--postgres", action="store_true", help="run the tests' services on PostgreSQL instead of SQLite")
    parser.addoption("--replicas", action="store_true", help="run three of them on PostgreSQL, behind a balancer")


def pytest_configure(config: pytest.Config) -> None:
    """Decide about the tests that need a browser before one is started, and where all processes keep bytecode."""
    config.pluginmanager.register(NeedsBrowser())
    if sys.dont_write_bytecode:
        keep_bytecode(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """Undo what a service that started in this process changed: where logs go, and whether ``python -c`` finds us."""
    _logs_to_pytest()
    safe_path = os.environ.get("PYTHONSAFEPATH")
    yield
    _logs_to_pytest()
    if safe_path is None:
        os.environ.pop("PYTHONSAFEPATH", None)


def _logs_to_pytest() -> None:
    root = logging.getLogger("svc")
    root.handlers, root.propagate, root.disabled = [], True, False
    root.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser; no test that asks for it runs without one."""
    found = find_browser()
    assert found is not None
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests; each takes a schema of its own."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory, built: None) -> Path:
    """A folder of Jupyter's data with our extension in it, as it is built from the sources that are here."""
    data = tmp_path_factory.mktemp("data")
    (data / "labextensions").mkdir()
    (data / "labextensions" / "svc-jupyterlab").symlink_to(
        Path(__file__).parents[1] / "svc_jupyter" / "labextension", target_is_directory=True
    )
    return data


@pytest.fixture(scope="session")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory, extension: Path) -> Iterator[JupyterServer]:
    """JupyterLab and Notebook 7 with our extension: one server, which modules use in turn (``turn``)."""
    with jupyter_server(tmp_path_factory.mktemp("jupyter"), JUPYTER_PATH=str(extension)) as server:
        yield server


@pytest.fixture(scope="module")
def browser(chromium: str) -> Browser:
    """Chromium; it stays open until a test outside of this one's scope comes."""
    return _shared_browser.get(chromium)


_shared_browser = SharedBrowser()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End the browser with the last test that may use it, after the pages of its module."""
    try:
        yield
    finally:
        if nextitem is None or scope_of(nextitem.nodeid) != scope_of(item.nodeid):
            _shared_browser.close()


LEFT_OUT = {"sqlite": ("--postgres", "--replicas"), "one_service": ("--replicas",)}
"""Markers of tests, and the options with which they are left out."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of ``several_services`` run twice: against one, and against three behind a balancer."""
    is_wanted = metafunc.definition.get_closest_marker("several_services") is not None
    if is_wanted and not metafunc.config.getoption("--postgres"):
        metafunc.parametrize("start_service", [False, True], ids=["one_service", "three_services"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests that take long come first, and those of a scope together."""
    unsuitable = {name for name, options in LEFT_OUT.items() if any(map(config.getoption, options))}
    left_out = [item for item in items if unsuitable & {marker.name for marker in item.iter_markers()}]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    fast.mark(items)
    second_try.mark(items)
    items.sort(key=lambda item: rank_of(item.nodeid))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """``-m fast`` imports only what may have such tests."""
    return True if config.option.markexpr == "fast" and fast.is_outside(collection_path) else None


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what passed at the second try only."""
    second_try.tell(terminalreporter)


_guard = fast.Guard()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that is marked as fast proves it."""
    _guard.is_on = item.get_closest_marker("fast") is not None
    try:
        return (yield)
    finally:
        _guard.is_on = False


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ScopeScheduling:
    """A process gets whole scopes, in the order of the collection."""
    config.option.loadscopereorder = False
    return ScopeScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Without ``-n``: all processors for many files, this process for few or for a debugger."""
    is_free = not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", 0) is None
    if is_free:
        config.option.numprocesses = processes_for(
            config.args, config.invocation_params.dir, is_watched=is_watched(config)
        )


@pytest.fixture
def start_service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartService]:
    """Start a real service with this assistant and these settings; it stops with the test."""
    is_replicated = getattr(request, "param", False) or request.config.getoption("--replicas")
    has_postgres = is_replicated or request.config.getoption("--postgres")
    server = request.getfixturevalue("postgres") if has_postgres else None
    with ExitStack() as stack:

        def start(
            assistant: Callable[[], Assistant], *, clock: Callable[[], float] | None = None, **settings: object
        ) -> ThreadService:
            folder = tmp_path / f"service{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            chosen = Settings(**{"stop_seconds": 0.3} | settings)
            database = PostgresAddress(server.new_schema()) if server is not None else None
            if database is not None and is_replicated:
                service = ReplicatedService(folder, assistant, chosen, clock, database)
            else:
                service = ThreadService(folder, assistant(), chosen, clock, database=database)
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
