"""For the SDK: a real service with a scripted assistant, and a proxy that breaks connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from svc import Svc
from svc.config import Config
from svc.local import find_or_start
from tests.support import ASSISTANTS
from tests.support.fault_proxy import FaultProxy
from tests.support.local_services import stop_local_service

SCRIPTED = {
    "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted --exit-when-idle 1800",
    "PYTHONPATH": str(ASSISTANTS),
}


@pytest.fixture(scope="session")
def scripted_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    """One real service for all tests that do it no harm; what it answers: ``scripted_assistants``."""
    folder = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SCRIPTED.items():
            patch.setenv(name, value)
        config = find_or_start(folder)
    yield config
    stop_local_service(folder)


@pytest.fixture
def client(scripted_service: Config) -> Iterator[Svc]:
    with Svc(scripted_service.api_key, scripted_service.base_url) as client:
        yield client


@pytest.fixture
def scripted_local(local_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own local service, not started yet: its state folder."""
    for name, value in SCRIPTED.items():
        monkeypatch.setenv(name, value)
    return local_state


@pytest.fixture
async def proxy(scripted_service: Config, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultProxy]:
    monkeypatch.setenv("SVC_TUNNEL_TO", scripted_service.base_url.removeprefix("http://"))
    proxy = FaultProxy(scripted_service.base_url)
    server = await proxy.start()
    yield proxy
    server.close()
    await proxy.close()
