"""What one hostile key can do to a service: each attack goes on until it is cancelled, and ignores every refusal.

``python -m tests.support.attacks`` runs them against a service of its own and prints what another key sees meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import io
import statistics
import tempfile
import time
import uuid
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.support.live import LiveService, live_process

ANALYST = "svc.assistant.analyst:Analyst"
SMALL_QUESTION = "How severe is CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H?"
ANSWER = "9.8"
MIB = 1_048_576


class Attacker:
    """A key, its connections, and ten sessions."""

    def __init__(self, service: LiveService, key: str) -> None:
        self.service = service
        self.key = key
        self.headers = {"Authorization": f"Bearer {key}"}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
        self.http = httpx2.AsyncClient(
            base_url=service.base_url, headers=self.headers, timeout=600, trust_env=False, limits=limits
        )

    async def post(self, path: str, **request: object) -> httpx2.Response | None:
        """The response, or None if there was none."""
        with contextlib.suppress(httpx2.HTTPError):
            return await self.http.post(path, **request)
        return None

    async def session(self, **fields: object) -> str:
        """A new session's id; "" if it is refused."""
        reply = await self.post("/session/register", json=fields)
        return reply.json()["data"]["id"] if reply is not None and reply.is_success else ""

    async def attach(self, session_id: str, name: str, content: bytes) -> None:
        await self.post("/session/upload_file", params={"session_id": session_id, "filename": name}, content=content)

    async def ask(self, session_id: str, question: str) -> None:
        query = {"message_type": "query", "content": question}
        await self.post("/session/generate", json={"id": session_id, "messages": [query]})

    @contextlib.asynccontextmanager
    async def socket(self, head: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection on which only the head of a request was sent."""
        address = urlsplit(self.service.base_url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(f"{head} HTTP/1.1\r\nHost: {address.netloc}\r\n".encode())
            yield reader, writer
        finally:
            writer.transport.abort()

    @contextlib.asynccontextmanager
    async def stream(self, session_id: str) -> AsyncIterator[object]:
        address = f"{self.service.ws_url}/stream?session_id={session_id}"
        async with connect(address, additional_headers=self.headers, compression=None, proxy=None) as socket:
            yield socket


async def forever(step: Callable[[], Awaitable[None]], workers: int) -> None:
    """Repeat a step in so many tasks."""

    async def repeat() -> None:
        while True:
            with contextlib.suppress(OSError, WebSocketException, httpx2.HTTPError, asyncio.IncompleteReadError):
                await step()
            await asyncio.sleep(0.001)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(repeat())


BIG_FILES = {
    "events.xml": b"<Event><System>" * 70_000,
    "run.ps1": b"$a = ('{0}{1}' -f " * 58_000,
    "x.log": b"A" * MIB,
    "urls.txt": b"http://a.b.c/%25%25" * 55_000,
}


async def big_files(attacker: Attacker) -> None:
    """Files of 1 MB that are slow to read, in several sessions at once."""

    async def step() -> None:
        session_id = await attacker.session()
        for name, content in BIG_FILES.items():
            await attacker.attach(session_id, name, content)
        await attacker.ask(session_id, "What happened? Decode everything and list every indicator and version.")

    await forever(step, 4)


async def many_streams(attacker: Attacker) -> None:
    """As many streams as there may be, and more."""
    session_id = await attacker.session()

    async def step() -> None:
        async with attacker.stream(session_id):
            await asyncio.sleep(3_600)

    await forever(step, 300)


async def _long_session(attacker: Attacker) -> str:
    text = "a word " * 100_000
    said = [{"role": role, "content": text} for _ in range(4) for role in ("user", "assistant")]
    body = {"model": "stable", "messages": [*said, {"role": "user", "content": "hello"}]}
    reply = await attacker.post("/chat/completions", json=body)
    return reply.headers.get("x-session-id", "") if reply is not None else ""


async def slow_reads(attacker: Attacker) -> None:
    """Responses of megabytes that nobody takes from the socket."""
    session_id = await _long_session(attacker)

    async def step() -> None:
        async with attacker.socket(f"GET /session/get?session_id={session_id}") as (reader, writer):
            writer.write(f"Authorization: Bearer {attacker.key}\r\n\r\n".encode())
            await reader.readexactly(10)
            await asyncio.sleep(20)

    await forever(step, 100)


async def slow_writes(attacker: Attacker) -> None:
    """Bodies of megabytes of which a little comes now and then."""

    async def step() -> None:
        async with attacker.socket("POST /session/attach_file") as (_, writer):
            writer.write(f"Authorization: Bearer {attacker.key}\r\nContent-Length: 30000000\r\n\r\n".encode())
            for _ in range(30):
                writer.write(b"x" * 65_536)
                await writer.drain()
                await asyncio.sleep(1)

    await forever(step, 100)


async def long_session(attacker: Attacker) -> None:
    """A session of megabytes, read again and again."""
    session_id = await _long_session(attacker)

    async def step() -> None:
        await attacker.http.get("/session/get", params={"session_id": session_id})

    await forever(step, 8)


async def many_sessions(attacker: Attacker) -> None:
    """New sessions, and the list of them."""

    async def step() -> None:
        await attacker.session(description="d" * 2_000)
        await attacker.http.get("/session/list")

    await forever(step, 8)


async def unlogged_flood(attacker: Attacker) -> None:
    """Unlogged sessions with files, until the memory is full."""

    async def step() -> None:
        session_id = await attacker.session(can_log=False)
        await attacker.attach(session_id, "a.bin", bytes(5 * MIB))
        content = base64.b64encode(bytes(5 * MIB)).decode()
        body = {"session_id": session_id, "filename": "b.bin", "content": content}
        await attacker.post("/session/attach_file", json=body)

    await forever(step, 4)


async def chat_flood(attacker: Attacker) -> None:
    """Chat completions, many at once."""

    async def step() -> None:
        messages = [{"role": "user", "content": "What is CVE-2021-44228? 10.0.0.1 evil.example"}]
        await attacker.post("/chat/completions", json={"model": "stable", "messages": messages})

    await forever(step, 32)


QUESTIONS = (
    "1." * 1_000,
    "version " + "1.2.3-rc" * 240,
    "not " * 500,
    "<Event>" * 285,
    "a,b;c and d or " * 130,
    "powershell -enc " + "QQBB" * 490,
)


async def hostile_questions(attacker: Attacker) -> None:
    """Questions of 2,000 characters that are slow to understand."""
    waiting = [*QUESTIONS]

    async def step() -> None:
        waiting.append(question := waiting.pop(0))
        await attacker.ask(await attacker.session(), question[:2_000])

    await forever(step, 4)


def _bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"{number}.log", bytes(20 * MIB))
    return target.getvalue()


async def archive_bombs(attacker: Attacker) -> None:
    """Small archives of much."""
    bomb = await asyncio.to_thread(_bomb)

    async def step() -> None:
        session_id = await attacker.session()
        await attacker.attach(session_id, "logs.zip", bomb)
        await attacker.ask(session_id, "What happened?")

    await forever(step, 3)


async def reconnect_storm(attacker: Attacker) -> None:
    """Streams that are opened and closed."""
    session_id = await attacker.session()

    async def step() -> None:
        async with attacker.stream(session_id):
            pass

    await forever(step, 16)


async def cancelled_turns(attacker: Attacker) -> None:
    """Questions about a file that are cancelled at once."""

    async def step() -> None:
        session_id = await attacker.session()
        await attacker.attach(session_id, "run.ps1", BIG_FILES["run.ps1"])
        async with attacker.stream(session_id) as socket:
            for _ in range(10):
                await socket.send('{"message_type": "query", "content": "What does this script do?"}')
                await socket.recv()
                await socket.send('{"message_type": "cancel"}')

    await forever(step, 4)


async def frame_flood(attacker: Attacker) -> None:
    """Frames that cannot be read."""
    session_id = await attacker.session()

    async def step() -> None:
        async with attacker.stream(session_id) as socket:
            while True:
                await socket.send('{"message_type": 7}')
                await socket.recv()

    await forever(step, 8)


async def silent_connections(attacker: Attacker) -> None:
    """Connections that say nothing."""

    async def step() -> None:
        async with attacker.socket("GET /health") as (reader, _):
            await reader.read()

    await forever(step, 600)


ATTACKS: dict[str, Callable[[Attacker], Awaitable[None]]] = {
    attack.__name__: attack
    for attack in (
        big_files, many_streams, slow_reads, slow_writes, long_session, many_sessions, unlogged_flood, chat_flood,
        hostile_questions, archive_bombs, reconnect_storm, cancelled_turns, frame_flood, silent_connections,
    )
}  # fmt: skip


async def ask_meanwhile(
    service: LiveService, attack: str, *, questions: int, pause: float, warm_up: float, limit: float
) -> list[float]:
    """Attack with one key, ask small questions with another; returns how long each answer took.

    Args:
        service: The service, which is the caller's.
        attack: Which of ``ATTACKS``.
        questions: How many are asked.
        pause: Seconds between the starts of two questions, if the first is answered by then.
        warm_up: Seconds of attack before the first.
        limit: Seconds after which a question counts as not answered.
    """
    _, hostile = await asyncio.to_thread(service.make_key, f"hostile-{attack}")
    _, key = await asyncio.to_thread(service.make_key, f"neighbour-{attack}")
    attacker, neighbour = Attacker(service, hostile), Attacker(service, key)
    session_id = await neighbour.session()
    attacking = asyncio.create_task(ATTACKS[attack](attacker))
    seconds = []
    try:
        await asyncio.sleep(warm_up)
        for _ in range(questions):
            seconds.append(await _seconds_of_an_answer(neighbour, session_id, limit))
            await asyncio.sleep(max(0.0, pause - seconds[-1]))
        assert not attacking.done(), attacking.exception()
    finally:
        attacking.cancel()
        await asyncio.gather(attacking, return_exceptions=True)
        await attacker.http.aclose()
        await neighbour.http.aclose()
    return seconds


async def _seconds_of_an_answer(neighbour: Attacker, session_id: str, limit: float) -> float:
    query = {"message_type": "query", "content": SMALL_QUESTION, "id": uuid.uuid4().hex}
    started = time.perf_counter()
    reply = None
    async with asyncio.timeout(limit):
        while reply is None:  # as the SDK does if a connection is lost: the same id is answered once
            reply = await neighbour.post("/session/generate", json={"id": session_id, "messages": [query]})
    seconds = time.perf_counter() - started
    assert reply.status_code == 200, reply.text
    assert ANSWER in reply.text
    return seconds


def main(attacks: Sequence[str], *, questions: int) -> None:
    """Print the median and the worst latency of the other key for each attack, each against a service of its own."""
    for attack in attacks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                with live_process(Path(folder), ANALYST) as service:
                    asking = ask_meanwhile(service, attack, questions=questions, pause=1.0, warm_up=3.0, limit=120.0)
                    seconds = asyncio.run(asking)
            except (TimeoutError, httpx2.HTTPError, AssertionError) as error:
                print(f"{attack:20} not answered: {type(error).__name__} {str(error)[:200]}", flush=True)
                continue
        print(f"{attack:20} median {statistics.median(seconds):6.2f} s  worst {max(seconds):6.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", default=[*ATTACKS])
    parser.add_argument("--questions", type=int, default=10)
    options = parser.parse_args()
    main(options.attacks or [*ATTACKS], questions=options.questions)
