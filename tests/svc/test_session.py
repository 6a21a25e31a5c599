"""A session against a real service: a turn reaches its single end despite lost connections and cancelled callers."""

from __future__ import annotations

import asyncio
import io
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import svc
from svc import InteractiveSession, Message, MessageType, Svc
from svc._retry import STREAM_LIMIT_SECONDS
from svc._transport import StreamSettings, Transport
from svc.config import Config
from tests.support.fault_proxy import FaultProxy

QUICK = StreamSettings(open_seconds=2.0, ping_seconds=0.2, pong_seconds=0.2, close_seconds=0.2)


async def collect(session: InteractiveSession, prompt: str) -> list[Message]:
    return [message async for message in session.stream(prompt)]


def contents(messages: list[Message]) -> list[str | None]:
    """Message contents without the closing INFO."""
    return [message.content for message in messages[:-1]]


def said_for(prompt: str) -> list[str]:
    """What ``count N …`` says as the first turn of its session."""
    return [str(i) for i in range(1, int(prompt.split()[1]) + 1)] + [f"{prompt} (after 0)"]


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def errors(session: InteractiveSession) -> list[str]:
    return [m.status_message for m in session.history() if m.message_type == MessageType.ERROR]


async def test_a_turn_is_streamed_in_order_without_its_question(client: Svc):
    messages = await collect(client.create_session(), "count 3")

    assert contents(messages) == said_for("count 3")
    assert [m.seq for m in messages] == [2, 3, 4, 5, 6]
    assert messages[-1].ends_turn


async def test_the_next_turn_has_no_messages_of_the_last(client: Svc):
    session = client.create_session()
    await collect(session, "count 2")

    assert contents(await collect(session, "echo b")) == ["echo b (after 1)"]


async def test_breaking_at_the_result_keeps_the_answer_and_the_next_stream_clean(client: Svc):
    session = client.create_session()
    async for message in session.stream("echo a"):
        if message.message_type == MessageType.RESULT:
            break

    assert contents(await collect(session, "echo b")) == ["echo b (after 1)"]
    assert errors(session) == []


async def test_breaking_before_the_result_cancels_the_turn_and_the_next_question_works(client: Svc):
    session = client.create_session()
    async for _ in session.stream("wait"):
        break

    assert contents(await collect(session, "echo b")) == ["echo b (after 0)"]
    assert errors(session) == ["cancelled"]


async def test_a_watcher_also_receives_questions_and_turn_ends(client: Svc):
    session = client.create_session()
    heard: list[Message] = []
    session.watch(heard.append)

    await collect(session, "echo")
    with pytest.raises(svc.UpstreamError):
        await collect(session, "fail now")
    async with aclosing(session.stream("wait")) as turn:
        async for _ in turn:
            break

    assert [m.seq for m in heard] == list(range(1, session.num_messages + 1))
    kinds = [str(m.message_type) for m in heard]
    assert kinds == ["query", "result", "info", "query", "info", "error", "query", "info", "error"]


async def test_closing_a_stream_cancels_its_turn(client: Svc):
    session = client.create_session()
    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)

    assert errors(session) == ["cancelled"]


async def test_breaking_during_a_flood_cancels_the_turn(client: Svc):
    session = client.create_session()
    async with aclosing(session.stream("count 100000")) as turn:
        await anext(turn)

    assert errors(session) == ["cancelled"]


async def test_a_cancelled_task_cancels_its_turn(client: Svc):
    session = client.create_session()
    task = asyncio.create_task(collect(session, "wait"))
    await until(lambda: session.history()[1:])

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert errors(session) == ["cancelled"]


async def test_a_failed_turn_raises_the_service_error(client: Svc):
    seen = []
    with pytest.raises(svc.UpstreamError, match="the model is gone") as caught:  # noqa: PT012
        async for message in client.create_session().stream("fail the model is gone"):
            seen.append(message.content)

    assert seen == ["failing"]
    assert caught.value.status == 502


async def test_invalid_characters_do_not_stop_a_question(client: Svc):
    assert contents(await collect(client.create_session(), "echo \ud83d\ude00 \udcff ok")) == [
        "echo 😀 \ufffd ok (after 0)"
    ]


async def test_an_empty_question_is_rejected_before_sending(client: Svc):
    with pytest.raises(svc.InvalidRequestError, match="empty"):
        client.create_session().stream(" \n")


async def test_a_question_during_the_turn_of_another_client_is_rejected(client: Svc):
    session = client.create_session()
    other = client.resume_session(session.session_id)
    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)
        with pytest.raises(svc.TurnInProgressError):
            await collect(other, "echo b")


async def test_a_second_question_on_the_same_object_waits_for_the_first(client: Svc):
    session = client.create_session()
    async with aclosing(session.stream("count 20 10")) as first:
        await anext(first)
        second = await collect(session, "echo b")

    assert contents(second) == ["echo b (after 1)"]


async def test_deleting_a_session_ends_its_turn_for_the_caller(client: Svc):
    session = client.create_session()
    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)
        await asyncio.to_thread(session.delete)
        with pytest.raises((svc.TurnCancelledError, svc.SessionExpiredError, svc.SessionNotFoundError)):
            await anext(turn)


async def test_the_turn_of_another_client_is_not_yielded(client: Svc):
    session = client.create_session()
    other = client.resume_session(session.session_id)
    await collect(other, "count 5")

    assert contents(await collect(session, "echo b")) == ["echo b (after 1)"]


async def test_cancel_from_another_thread_ends_the_turn_for_the_caller(client: Svc):
    session = client.create_session()
    async with aclosing(session.stream("wait")) as turn:
        await anext(turn)
        assert await asyncio.to_thread(session.cancel) is True
        with pytest.raises(svc.TurnCancelledError):
            await anext(turn)

    assert session.cancel() is False


async def test_cancel_without_a_running_turn_says_so(client: Svc):
    assert client.create_session().cancel() is False


async def test_a_query_works_inside_a_running_loop(client: Svc):
    response = client.create_session().query("count 2")

    assert response.text() == "count 2 (after 0)"
    assert response.usage.total_tokens > 0


def test_a_query_that_takes_too_long_is_cancelled(client: Svc):
    session = client.create_session()

    with pytest.raises(svc.TurnTimeoutError, match=r"no answer within 0.3 s; the turn was cancelled"):
        session.query("wait", timeout_seconds=0.3)

    assert errors(session) == ["cancelled"]
    assert session.query("echo b").text() == "echo b (after 0)"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler, which a shell that starts the tests in the background prevents."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_query_and_its_turn(client: Svc):
    session = client.create_session()
    main = threading.main_thread().ident
    assert main is not None

    seen = 0

    def interrupt() -> None:
        nonlocal seen
        deadline = time.monotonic() + 30
        try:
            while seen < 2 and time.monotonic() < deadline:
                seen = len(session.history())
                time.sleep(0.02)
        finally:  # a service that does not answer must not keep the query waiting for ever
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        session.query("wait", timeout_seconds=100)
    thread.join()

    assert seen >= 2
    assert errors(session) == ["cancelled"]
    assert session.query("echo b").text() == "echo b (after 0)"


def test_files_are_attached_from_memory_and_disk_and_removed(client: Svc, tmp_path: Path):
    session = client.create_session()
    (tmp_path / "ä b.log").write_bytes(b"x" * 300_000)
    session.attach_file("note.txt", "päß")
    file = session.attach_file_from_disk(tmp_path / "ä b.log")
    session.attach_file("raw", b"\x00\x01")

    assert session.query("files").text() == "note.txt (5), ä b.log (300000), raw (2)"
    session.detach_file(file)
    session.detach_file(0)
    assert (
        [f.name for f in session.files] == ["raw"] == [f.name for f in client.resume_session(session.session_id).files]
    )


@pytest.mark.parametrize("is_logged", [True, False])
def test_the_content_of_a_file_is_read_back(client: Svc, is_logged: bool):
    session = client.create_session(log_session=is_logged)
    content = bytes(range(256)) * 20_000
    file = session.attach_file("raw", content)
    session.attach_file("empty", b"")

    assert session.read_file(file) == content == session.read_file(file.sha256)
    assert session.read_file(session.files[1]) == b""
    session.detach_file(file)
    with pytest.raises(svc.SessionFileNotFoundError, match=f"no file of the session has the SHA-256 {file.sha256}"):
        session.read_file(file)
    with pytest.raises(svc.InvalidRequestError, match="sha256 is 'x'; it must have 64 digits of 0-9 and a-f"):
        session.read_file("x")


def test_an_unknown_file_lists_the_attached_ones(client: Svc):
    session = client.create_session()
    session.attach_file("a.txt", "a")

    with pytest.raises(svc.SessionFileNotFoundError, match=r"The session has 1: a\.txt"):
        session.detach_file(1)


def test_a_session_is_updated_resumed_and_deleted(client: Svc):
    session = client.create_session(ttl=600, name="first", description="d", model="experimental", language="de")
    session.query("echo a")
    session.update(name="second", ttl=900)

    again = client.resume_session(session.session_id)
    assert (again.name, again.ttl, again.info.description, again.info.language) == ("second", 900, "d", "de")
    assert again.model.use_experimental
    assert again.query("echo b").text() == "echo b (after 1)"
    assert [m.content for m in again.history() if m.message_type == MessageType.QUERY] == ["echo a", "echo b"]
    again.delete()
    with pytest.raises((svc.SessionNotFoundError, svc.SessionExpiredError)):
        client.resume_session(session.session_id)


def test_an_update_is_visible_without_a_refresh(client: Svc):
    session = client.create_session(ttl=600)
    session.update(name="second", description="d", ttl=900)

    assert (session.name, session.description, session.ttl) == ("second", "d", 900)
    assert session.info == client.resume_session(session.session_id).info


def test_properties_match_the_service_after_a_turn(client: Svc):
    session = client.create_session(name="n", description="d", language="de")
    client.resume_session(session.session_id).query("count 1")  # another client's turn counts as well
    session.query("count 3")

    known = session.info
    assert known == session.refresh().info
    assert (session.turns, session.state, session.num_messages) == (2, svc.State.AGENT_DONE, len(session.history()))
    assert (session.language, session.description, session.usage) == ("de", "d", known.usage)
    assert session.create_time <= session.update_time < session.expire_time


def test_a_turn_that_failed_counts_too(client: Svc):
    session = client.create_session()
    with pytest.raises(svc.UpstreamError):
        session.query("fail now")

    known = session.info
    session.refresh()
    assert (known.turns, known.state, known.num_messages) == (session.turns, session.state, session.num_messages)
    assert (session.turns, session.state, session.num_messages) == (1, svc.State.AGENT_DONE, 3)


def test_changes_of_another_client_are_visible_after_a_refresh(client: Svc):
    session = client.create_session()
    client.resume_session(session.session_id).update(name="theirs")

    assert session.name != "theirs"
    assert session.refresh().name == "theirs"


def test_the_same_file_twice_is_one_file(client: Svc):
    session = client.create_session()

    assert session.attach_file("a.txt", "a") == session.attach_file("a.txt", "a")
    assert len(session.files) == 1 == len(session.refresh().files)


def test_a_file_moved_by_another_client_can_be_removed(client: Svc):
    session = client.create_session()
    session.attach_file("a.txt", "a")
    file = session.attach_file("b.txt", "b")
    session.attach_file("c.txt", "c")
    client.resume_session(session.session_id).detach_file(0)

    session.detach_file(file)

    assert [f.name for f in session.refresh().files] == ["c.txt"]


def test_feedback_and_bug_reports_are_stored(client: Svc):
    session = client.create_session()
    answer = session.query("echo a").messages[-1]

    session.send_feedback(5, "right at once")
    session.send_feedback(-1, "", group_id=answer.group)
    session.send_bug_report("it said echo", group_id=answer.group)


@pytest.mark.parametrize(
    ("send", "param"),
    [
        pytest.param(lambda session: session.send_bug_report(" "), "comment", id="empty-bug"),
        pytest.param(lambda session: session.send_feedback(10**9, ""), "score", id="score"),
        pytest.param(lambda session: session.send_feedback(1, "", group_id="a" * 2_001), "group_id", id="group"),
    ],
)
def test_invalid_feedback_names_the_field(client: Svc, send: Callable[[InteractiveSession], None], param: str):
    with pytest.raises(svc.InvalidRequestError) as caught:
        send(client.create_session())

    assert caught.value.param == param


def test_a_session_is_shown_as_a_tree_of_its_current_state(client: Svc):
    session = client.create_session(name="Ticket [b]4711[/b]")
    client.resume_session(session.session_id).query("count 2")
    console = Console(file=io.StringIO(), width=120, color_system=None)

    session.visualize(console)

    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "Ticket [b]4711[/b]"
    assert lines[1].startswith(session.session_id)
    assert "1 turn, 5 messages" in lines[2]
    assert [line.split()[2] for line in lines[4:]] == ["query", "info", "info", "result", "info"]
    assert session.turns == 1


def test_a_tree_is_printed_to_the_terminal_by_default(client: Svc, capsys: pytest.CaptureFixture[str]):
    client.create_session(name="n").visualize()

    assert "no messages yet" in capsys.readouterr().out


def test_a_model_may_be_given_as_an_object(client: Svc):
    by_object = client.create_session(model=svc.ModelInfoInput(version="1.1"))

    assert client.create_session(model=by_object.model).model.model_string == "svc-1.1"


@pytest.fixture
def proxied(scripted_service: Config, client: Svc, proxy: FaultProxy) -> Iterator[InteractiveSession]:
    """A session whose connections all go through the proxy, and that notices a dead peer in half a second."""
    config = proxy.config(scripted_service)
    transport = Transport(config, settings=QUICK)
    yield InteractiveSession(transport, client.create_session().info)
    transport.close()


@pytest.mark.parametrize("fault", ["cut", "half", "swallow"])
@pytest.mark.parametrize(
    ("is_from_service", "at"),
    [(True, 1), (True, 2), (True, 3), (True, 8), (False, 1), (False, 2)],  # the client sends two chunks, then pongs
    ids=["handshake", "first-frame", "early", "late", "upgrade", "query"],
)
async def test_a_lost_connection_loses_and_repeats_nothing(
    proxied: InteractiveSession, proxy: FaultProxy, fault: str, at: int, is_from_service: bool
):
    proxy.fault = lambda chunk: (
        fault if chunk.connection == 1 and chunk.is_from_service == is_from_service and chunk.number >= at else "pass"
    )

    messages = await collect(proxied, "count 12 20")

    assert contents(messages) == said_for("count 12 20")
    history = await asyncio.to_thread(proxied.history)  # the proxy lives in this loop
    assert len([m for m in history if m.message_type == MessageType.QUERY]) == 1


@pytest.mark.parametrize("prompt", ["count 300 2", "count 300"], ids=["one by one", "many in a piece"])
async def test_repeatedly_lost_connections_still_give_each_message_once(
    proxied: InteractiveSession, proxy: FaultProxy, prompt: str
):
    proxy.most_bytes = 1_024
    chance = random.Random(7)
    faults = ["pass"] * 12 + ["cut", "half"]
    proxy.fault = lambda chunk: chance.choice(faults) if chunk.number > 1 and proxy.connections < 40 else "pass"

    messages = await collect(proxied, prompt)

    assert contents(messages) == said_for(prompt)
    assert proxy.connections > 3


async def test_a_flood_survives_a_lost_connection(proxied: InteractiveSession, proxy: FaultProxy):
    proxy.fault = lambda chunk: (
        "half" if chunk.connection <= 3 and chunk.is_from_service and chunk.number > 4 else "pass"
    )

    messages = await collect(proxied, "count 8000")

    assert contents(messages) == said_for("count 8000")


async def test_a_slow_caller_gets_everything(client: Svc):
    session = client.create_session()
    seen = []
    async for message in session.stream("count 5000"):
        seen.append(message)
        if len(seen) == 1:
            await until(lambda: len(session.history()) > 5_000)

    assert contents(seen) == said_for("count 5000")


async def test_an_unreachable_service_is_abandoned_with_a_remedy(
    proxied: InteractiveSession, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("svc._retry.STREAM_LIMIT_SECONDS", 0.5)
    proxy.fault = lambda chunk: "cut"

    with pytest.raises(svc.UnreachableError) as caught:
        await collect(proxied, "echo a")

    assert proxy.base_url.removeprefix("http") in str(caught.value)
    assert f"resume_session('{proxied.session_id}')" in str(caught.value)
    assert STREAM_LIMIT_SECONDS > 0.5
