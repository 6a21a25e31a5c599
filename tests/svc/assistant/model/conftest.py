"""A fake upstream that ends with its test, and the assistant that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import pytest_asyncio

from svc.assistant.analyst import Analyst
from svc.assistant.model import ModelAssistant
from svc.assistant.model.configuration import Configuration, ModelLimits
from tests.support.fake_upstream import KEY, Upstream, UpstreamServer


@pytest.fixture(scope="session")
def upstream_server() -> Iterator[UpstreamServer]:
    server = UpstreamServer()
    yield server
    server.stop()


@pytest.fixture
def start_upstream(upstream_server: UpstreamServer) -> Callable[..., Upstream]:
    """An upstream with this script."""
    return upstream_server.add


@pytest.fixture(scope="session")
def configuration_of() -> Callable[..., Configuration]:
    def configure(upstream: Upstream, *, key: str = KEY, **limits: object) -> Configuration:
        return Configuration(url=upstream.url, name="tiny", key=key, limits=ModelLimits(**{"retries": 1} | limits))

    return configure


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def analyst():
    """One analyst for all tests of a module: its workers take a while to start."""
    made = Analyst()
    await made.start()
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def assistant_for(analyst, configuration_of):
    """Make the assistant of an upstream."""
    made: list[ModelAssistant] = []

    def make(upstream: Upstream, **settings: object) -> ModelAssistant:
        made.append(ModelAssistant(configuration_of(upstream, **settings), analyst=analyst))
        return made[-1]

    yield make
    for assistant in made:
        await assistant._upstream.close()  # the analyst goes on
