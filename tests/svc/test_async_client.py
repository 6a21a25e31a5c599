"""``AsyncSvc`` and ``AsyncSession`` against a real service: the behaviour of ``Svc``, and the loop is never blocked."""

from __future__ import annotations

import asyncio
import inspect
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

import svc
from svc import AsyncSession, AsyncSvc, InteractiveSession, Message, MessageType, Svc
from svc._transport import AsyncTransport, StreamSettings
from svc.config import Config
from tests.support.fault_proxy import FaultProxy

AnySession = AsyncSession | InteractiveSession
QUICK = StreamSettings(open_seconds=2.0, ping_seconds=0.2, pong_seconds=0.2, close_seconds=0.2)


@pytest.fixture
async def client(scripted_service: Config) -> AsyncIterator[AsyncSvc]:
    async with AsyncSvc(scripted_service.api_key, scripted_service.base_url) as client:
        yield client


@pytest.fixture
def blocking_client(scripted_service: Config) -> Iterator[Svc]:
    with Svc(scripted_service.api_key, scripted_service.base_url) as client:
        yield client


async def collect(session: AnySession, prompt: str) -> list[Message]:
    return [message async for message in session.stream(prompt)]


async def errors(session: AsyncSession) -> list[str]:
    return [m.status_message for m in await session.history() if m.message_type == MessageType.ERROR]


@asynccontextmanager
async def ticking() -> AsyncIterator[Callable[[], float]]:
    """Ticks in the loop while the block runs; the value tells the longest pause between two ticks, in seconds."""
    pauses = [0.0]

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            pauses.append(time.perf_counter() - before)

    task = asyncio.create_task(tick())
    try:
        yield lambda: max(pauses)
    finally:
        task.cancel()


def public(kind: type) -> dict[str, object]:
    return {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("blocking", "awaited", "renamed"),
    [
        pytest.param(Svc, AsyncSvc, {"close": "aclose"}, id="client"),
        pytest.param(InteractiveSession, AsyncSession, {}, id="session"),
    ],
)
def test_both_have_the_same_methods_with_the_same_parameters(blocking: type, awaited: type, renamed: dict[str, str]):
    theirs = public(awaited)

    assert {renamed.get(name, name) for name in public(blocking)} == set(theirs)
    for name, method in public(blocking).items():
        if inspect.isfunction(method):
            other = theirs[renamed.get(name, name)]
            assert inspect.signature(method).parameters == inspect.signature(other).parameters, name


async def test_a_session_is_created_used_resumed_listed_and_deleted(client: AsyncSvc):
    session = await client.create_session(ttl=600, name="first", description="d", language="de", log_session=False)
    response = await session.query("count 2")
    await session.update(name="second", ttl=900)

    again = await client.resume_session(session.session_id)
    assert response.text() == "count 2 (after 0)"
    assert (again.name, again.ttl, again.description, again.language, again.log_session) == (
        "second", 900, "d", "de", False,
    )  # fmt: skip
    assert again.info == session.info
    assert session.session_id in [listed.id for listed in await client.list_sessions()]
    assert (await client.get_user_info()).user.id == "local"
    assert [m.content for m in await again.history() if m.message_type == MessageType.QUERY] == ["count 2"]
    await again.delete()
    with pytest.raises((svc.SessionNotFoundError, svc.SessionExpiredError)):
        await client.resume_session(session.session_id)


async def test_files_are_attached_from_memory_and_disk_and_detached(client: AsyncSvc, tmp_path: Path):
    session = await client.create_session()
    (tmp_path / "ä b.log").write_bytes(b"x" * 600_000)
    await session.attach_file("note.txt", "päß")
    file = await session.attach_file_from_disk(tmp_path / "ä b.log")
    await session.attach_file("raw", b"\x00\x01")

    assert (await session.query("files")).text() == "note.txt (5), ä b.log (600000), raw (2)"
    assert await session.read_file(file) == b"x" * 600_000
    await session.detach_file(file)
    await session.detach_file(0)
    assert [f.name for f in session.files] == ["raw"] == [f.name for f in (await session.refresh()).files]
    with pytest.raises(svc.SessionFileNotFoundError, match=r"The session has 1: raw"):
        await session.detach_file(1)
    with pytest.raises(FileNotFoundError):
        await session.attach_file_from_disk(tmp_path / "missing")


async def test_feedback_and_bug_reports_are_accepted(client: AsyncSvc):
    session = await client.create_session()
    answer = (await session.query("echo a")).messages[-1]

    await session.send_feedback(5, "right at once", group_id=answer.group)
    await session.send_bug_report("it said echo")
    with pytest.raises(svc.InvalidRequestError, match="the bug report is empty"):
        await session.send_bug_report(" ")


async def test_the_history_is_shown_as_a_tree(client: AsyncSvc):
    session = await client.create_session(name="n")
    await session.query("count 2")
    console = Console(file=io.StringIO(), width=120, color_system=None)

    await session.visualize(console)

    assert "1 turn, 5 messages" in console.file.getvalue()  # type: ignore[attr-defined]


async def test_a_page_code_is_issued(client: AsyncSvc):
    assert await client.make_page_code()


async def test_a_closed_client_can_be_used_again(scripted_service: Config):
    client = AsyncSvc(scripted_service.api_key, scripted_service.base_url)
    session = await client.create_session()
    await client.aclose()

    assert await session.history() == []
    await client.aclose()


async def test_the_local_service_is_found_by_the_first_call(scripted_local: Path):
    client = AsyncSvc()
    assert (client.is_local, client.base_url, repr(client)) == (True, "local", "AsyncSvc(base_url='local')")

    async with ticking() as longest_pause:
        sessions = await asyncio.gather(*[client.create_session(name=name) for name in "abc"])
        pause = longest_pause()

    assert [session.name for session in sessions] == ["a", "b", "c"]
    assert client.base_url.startswith("http://127.0.0.1:")
    assert client.ws_url.startswith("ws://127.0.0.1:")
    assert pause < 1.0  # the service's start takes longer; importing the SDK's modules takes less
    await client.aclose()


async def test_a_turn_is_streamed_in_order_and_separate_from_the_next(client: AsyncSvc):
    session = await client.create_session()

    first = await collect(session, "count 3")
    second = await collect(session, "echo b")

    assert [m.content for m in first[:-1]] == ["1", "2", "3", "count 3 (after 0)"]
    assert [m.seq for m in first] == [2, 3, 4, 5, 6]
    assert [m.content for m in second[:-1]] == ["echo b (after 1)"]


async def test_a_turn_resumes_after_a_lost_connection_and_its_question_runs_once(
    scripted_service: Config, client: AsyncSvc, proxy: FaultProxy
):
    transport = AsyncTransport(proxy.config(scripted_service), settings=QUICK)
    session = AsyncSession(transport, (await client.create_session()).info)
    messages = []

    async for message in session.stream("count 20 10"):
        messages.append(message)
        if message.content in ("3", "12"):
            proxy.cut_all()

    assert [m.content for m in messages[:-1]] == [*map(str, range(1, 21)), "count 20 10 (after 0)"]
    assert proxy.connections >= 3
    assert len([m for m in await session.history() if m.message_type == MessageType.QUERY]) == 1
    await transport.aclose()


async def test_an_idempotent_call_survives_a_lost_connection(
    scripted_service: Config, client: AsyncSvc, proxy: FaultProxy
):
    session_id = (await client.create_session()).session_id
    proxy.fault = lambda chunk: "cut" if chunk.connection == 1 and chunk.is_from_service and chunk.number else "pass"

    async with AsyncSvc(scripted_service.api_key, proxy.base_url) as proxied:
        assert (await proxied.resume_session(session_id)).session_id == session_id

    assert proxy.connections == 2


async def test_a_call_that_is_not_idempotent_is_sent_once(
    scripted_service: Config, client: AsyncSvc, proxy: FaultProxy
):
    async with AsyncSvc(scripted_service.api_key, proxy.base_url) as proxied:
        session = await proxied.create_session()
        proxy.fault = lambda chunk: "cut" if chunk.is_from_service and chunk.number else "pass"
        with pytest.raises(svc.UnreachableError, match="The request may have been carried out"):
            await session.delete()

    with pytest.raises((svc.SessionNotFoundError, svc.SessionExpiredError)):
        await client.resume_session(session.session_id)


async def test_an_unreachable_service_is_named(scripted_service: Config):
    transport = AsyncTransport(Config(base_url="http://127.0.0.1:1", ws_url="ws://127.0.0.1:1", api_key="k"))

    with pytest.raises(svc.UnreachableError, match=r"http://127\.0\.0\.1:1 does not answer"):
        await transport.call(svc._requests.health(), limit_seconds=0.0)


async def test_cancel_ends_the_turn_for_the_task_that_iterates(client: AsyncSvc):
    session = await client.create_session()
    assert await session.cancel() is False

    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)
        assert await session.cancel() is True
        with pytest.raises(svc.TurnCancelledError):
            await anext(turn)

    assert await session.cancel() is False
    assert await errors(session) == ["cancelled"]


async def test_a_cancelled_task_cancels_its_turn(client: AsyncSvc):
    session = await client.create_session()
    task = asyncio.create_task(session.query("wait"))
    async with asyncio.timeout(10):
        while len(await session.history()) < 2:
            await asyncio.sleep(0.01)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await errors(session) == ["cancelled"]
    assert (await session.query("echo b")).text() == "echo b (after 0)"


async def test_a_query_that_takes_too_long_is_cancelled(client: AsyncSvc):
    session = await client.create_session()

    with pytest.raises(svc.TurnTimeoutError, match=r"no answer within 0.3 s; the turn was cancelled"):
        await session.query("wait", timeout_seconds=0.3)

    assert await errors(session) == ["cancelled"]


async def test_a_failed_turn_raises_the_error_of_the_service(client: AsyncSvc):
    with pytest.raises(svc.UpstreamError, match="the model is gone"):
        await (await client.create_session()).query("fail the model is gone")


@pytest.fixture(params=["blocking", "async"])
async def either(request: pytest.FixtureRequest, client: AsyncSvc, blocking_client: Svc) -> AnySession:
    """A session of either kind."""
    return blocking_client.create_session() if request.param == "blocking" else await client.create_session()


async def test_a_watch_receives_questions_and_errors_until_it_is_stopped(either: AnySession):
    received: list[Message] = []
    watch = either.watch(received.append)

    await collect(either, "echo a")
    with pytest.raises(svc.UpstreamError):
        await collect(either, "fail now")
    assert watch.is_active
    watch.stop()
    watch.stop()
    await collect(either, "echo b")

    assert [str(m.message_type) for m in received] == ["query", "result", "info", "query", "info", "error"]
    assert not watch.is_active


async def test_a_watch_ends_with_its_block_and_may_stop_itself(either: AnySession):
    received: list[str] = []

    def once(message: Message) -> None:
        received.append(f"first {message.seq}")
        first.stop()

    first = either.watch(once)
    with either.watch(lambda message: received.append(f"second {message.seq}")):
        await collect(either, "echo a")
    await collect(either, "echo b")

    assert received == ["first 1", "second 1", "second 2", "second 3"]


Act = Callable[[AsyncSvc, AsyncSession], Awaitable[object]]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda client, session: client.create_session(), id="create"),
        pytest.param(lambda client, session: client.resume_session(session.session_id), id="resume"),
        pytest.param(lambda client, session: client.list_sessions(), id="list"),
        pytest.param(lambda client, session: client.get_user_info(), id="user"),
        pytest.param(lambda client, session: session.attach_file("a", b"x" * 2_000_000), id="attach"),
        pytest.param(lambda client, session: session.update(name="n"), id="update"),
        pytest.param(lambda client, session: session.send_feedback(1, ""), id="feedback"),
        pytest.param(lambda client, session: session.history(), id="history"),
        pytest.param(lambda client, session: session.query("echo a"), id="query"),
        pytest.param(lambda client, session: session.delete(), id="delete"),
    ],
)
async def test_nothing_blocks_the_loop_while_the_service_is_slow(act: Act, scripted_service: Config, proxy: FaultProxy):
    async with AsyncSvc(scripted_service.api_key, proxy.base_url) as client:
        session = await client.create_session()
        proxy.fault = lambda chunk: "delay"
        async with ticking() as longest_pause:
            began = time.perf_counter()
            await act(client, session)
            spent, pause = time.perf_counter() - began, longest_pause()

    assert spent > 0.3  # at least one request and one reply were delayed
    assert pause < spent / 2  # a blocking call pauses the loop for as long as it takes


async def test_blocking_calls_inside_a_running_loop_do_not_deadlock(blocking_client: Svc):
    session = blocking_client.create_session()
    session.attach_file("a.txt", "a")

    assert session.query("echo a").text() == "echo a (after 0)"
    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)
        assert session.cancel() is True
        with pytest.raises(svc.TurnCancelledError):
            await anext(turn)
    assert len(session.history()) == session.num_messages
    session.delete()
