"""An endpoint that does its worst costs a turn neither memory nor more than its time, and gets nothing of others."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from svc.assistant.model import ModelAssistant, open_upstream
from svc.assistant.model.configuration import Configuration, ModelLimits
from svc.assistant.model.conversation import ModelFailureError
from svc.assistant.turn import Answer, Turn
from svc.errors import UpstreamError
from tests.support.hostile_model import EVENTS, HELD, OPEN, Attack, HostileModel, endless_line
from tests.support.sampling import sampled

SECONDS = 3.0
MAX_BYTES = 150_000_000
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-for-this-host-alone"
StartModel = Callable[[Attack], HostileModel]


@pytest.fixture
def hostile() -> Iterator[StartModel]:
    models: list[HostileModel] = []

    def start(attack: Attack) -> HostileModel:
        models.append(HostileModel(attack))
        return models[-1]

    yield start
    for model in models:
        model.close()


def configuration(model: HostileModel, **limits: object) -> Configuration:
    chosen = {"seconds": SECONDS, "idle_seconds": SECONDS, "retries": 0, "fallback": False} | limits
    return Configuration(url=model.url, name="m", key=KEY, limits=ModelLimits(**chosen))


class Peak:
    """The most memory that this process had more than at the start, in bytes."""

    def __enter__(self) -> Peak:
        self._process = psutil.Process()
        self._start = self._process.memory_info().rss
        self.bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            self.bytes = max(self.bytes, self._process.memory_info().rss - self._start)


async def failure_of(assistant: ModelAssistant) -> str:
    """Why the model did not answer; an answer in spite of it is cut and short."""
    turn = Turn(session_id="s", prompt="What is QUJD?", files=())
    try:
        answer = [step async for step in assistant.answer(turn)][-1]
    except UpstreamError as error:
        return str(error)
    assert isinstance(answer, Answer)
    return ""


@pytest.mark.parametrize("attack", sampled([*OPEN, *HELD], 10), ids=lambda attack: attack.__name__)
async def test_a_hostile_response_is_bounded_in_memory_and_time(analyst, hostile: StartModel, attack: Attack):
    seconds = 20.0 if attack is endless_line else SECONDS  # long enough to receive all of it
    assistant = ModelAssistant(configuration(hostile(attack), seconds=seconds), analyst=analyst)
    begin = time.monotonic()

    with Peak() as peak:
        failure = await failure_of(assistant)

    assert failure, "the model's words were taken for an answer"
    assert KEY not in failure
    assert time.monotonic() - begin < SECONDS + 4
    assert peak.bytes < MAX_BYTES
    await assistant._upstream.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_neither_key_nor_evidence_to_another_host(analyst, hostile: StartModel, status: int):
    elsewhere = hostile(lambda: iter([EVENTS]))

    def redirect() -> Iterator[bytes]:
        yield f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url}/chat/completions\r\n".encode()
        yield b"Content-Length: 0\r\n\r\n"

    assistant = ModelAssistant(configuration(hostile(redirect)), analyst=analyst)

    assert f"it redirects to another address ({status})" in await failure_of(assistant)
    assert elsewhere.received == []
    await assistant._upstream.close()


@pytest.mark.parametrize("attack", OPEN[:10], ids=lambda attack: attack.__name__)
async def test_a_hostile_list_of_models_is_bounded_too(hostile: StartModel, attack: Attack):
    upstream = open_upstream(configuration(hostile(attack), idle_seconds=1.5))
    begin = time.monotonic()

    with Peak() as peak, pytest.raises(ModelFailureError):
        await upstream.list_models()

    assert time.monotonic() - begin < 6
    assert peak.bytes < MAX_BYTES
    await upstream.close()


async def test_the_loop_is_not_blocked_by_a_hostile_response(analyst, hostile: StartModel):
    assistant = ModelAssistant(configuration(hostile(OPEN[0])), analyst=analyst)
    asking = asyncio.create_task(failure_of(assistant))
    longest, last = 0.0, time.monotonic()
    while not asking.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()

    assert "it sent a line of more than 1,048,576 bytes" in asking.result()
    assert longest < 1.0
    await assistant._upstream.close()
