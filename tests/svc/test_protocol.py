"""The stream's state machine, read from the golden transcripts in ``tests/wire`` (their form: its README)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from svc._protocol import CancelProtocol, Deliver, EarlierTurn, Fail, Reconnect, TurnProtocol
from svc._session_state import SeenMessages
from svc.errors import ProtocolError, ServiceError, TooLargeError
from svc.messages import Message, MessageType, status_of
from tests.support import WIRE

TRANSCRIPTS = sorted(WIRE.glob("*.json"))
TURNS = [path for path in TRANSCRIPTS if "query" in json.loads(path.read_text(encoding="utf-8"))]


class Player:
    """Plays a transcript's frames through the protocol and checks each thing the client does on the way."""

    def __init__(self, script: dict[str, Any]) -> None:
        asked = script["query"]
        query = Message(message_type=MessageType.QUERY, id=asked["id"], turn=asked["turn"], content=asked["content"])
        query.files = tuple(asked["files"]) if "files" in asked else query.files
        earlier = EarlierTurn(**script["earlier"]) if "earlier" in script else None
        self.seen = SeenMessages()
        self.seen.add(Message(message_type=MessageType.INFO, id=known) for known in script.get("seen", ()))
        self.protocol = TurnProtocol(query, script["after"], earlier, seen=self.seen)
        self.yielded: list[str] = []
        self.messages: list[Message] = []
        self.error: Exception | None = None
        self.sent: list[dict[str, Any]] = []
        self.is_leaving = False

    def play(self, frame: dict[str, Any]) -> None:
        match frame:
            case {"connect": {"after": after}}:
                assert self.protocol.after == after
                self.protocol.connected()
            case {"from": "client", "sends": kind}:
                self.expect_sent(kind, frame.get("turn", self.protocol.query.turn), frame.get("answers"))
            case {"from": "service"}:
                self.receive(frame["raw"] if "raw" in frame else json.dumps(frame["message"]))
            case {"caller": "cancel"}:
                self.protocol.cancel()
            case {"caller": "answer", "message": message}:
                self.protocol.answer(msgspec.convert(message, Message))
            case {"client_leaves": True}:
                assert self.is_leaving
                self.is_leaving = False
            case {"close": int()}:
                assert not self.protocol.is_over
            case _:
                pytest.fail(f"unknown line in the transcript: {frame}")

    def expect_sent(self, kind: str, turn: str, answers: str | None) -> None:
        self.sent += [json.loads(frame) for frame in self.protocol.outgoing()]
        message = self.sent.pop(0)
        assert (message["message_type"], message["turn"]) == (kind, turn)
        assert answers in (None, message["parent_id"])
        if kind == "query":
            assert (message["id"], message["content"]) == (self.protocol.query.id, self.protocol.query.content)
            assert tuple(message.get("files", ())) == (self.protocol.query.files or ())

    def receive(self, text: str) -> None:
        assert not self.sent
        assert not self.protocol.outgoing(), "the client sends more than the transcript has"
        match self.protocol.receive(text):
            case Deliver(message):
                self.yielded.append(message.id)
                self.messages.append(message)
            case Fail(error):
                self.error = error
            case Reconnect():
                self.is_leaving = True
        self.protocol.take_loss()
        self.seen.add(self.protocol.new_messages())  # as the session does


@pytest.mark.parametrize("path", TURNS, ids=[path.stem for path in TURNS])
def test_a_turn_is_followed_as_in_the_transcript(path: Path):
    script = json.loads(path.read_text(encoding="utf-8"))
    player = Player(script)

    for frame in script["frames"]:
        player.play(frame)

    expect = script["expect"]
    assert player.yielded == expect["yielded"]
    assert player.protocol.after == expect["after"]
    assert not player.protocol.outgoing()
    assert status_of(player.messages) == expect.get("answer_status")
    check_error(player.error, expect.get("error"))
    assert player.protocol.is_over or player.error


def check_error(error: Exception | None, expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert error is None
    elif expected["code"] is None:
        assert isinstance(error, ProtocolError)
        assert expected["message"] in str(error)
    else:
        assert isinstance(error, ServiceError)
        assert (error.code, error.status, str(error)) == (expected["code"], expected["status"], expected["message"])
        assert error.retry_after == expected.get("retry_after")


@pytest.mark.parametrize("cut", range(1, 6))
@pytest.mark.parametrize("name", ["plain_turn", "other_readers_turn", "turn_renamed"])
def test_a_cut_after_any_frame_changes_nothing_for_the_caller(name: str, cut: int):
    path = next(path for path in TURNS if path.stem == name)
    script = json.loads(path.read_text(encoding="utf-8"))
    frames = [frame["message"] for frame in script["frames"] if frame.get("from") == "service"]
    player = Player(script)
    player.protocol.connected()
    for frame in frames[:cut]:
        player.protocol.outgoing()
        player.receive(json.dumps(frame))

    player.protocol.connected()
    for frame in frames[max(0, cut - 2) :]:  # the service may even send two again
        player.protocol.outgoing()
        player.receive(json.dumps(frame))

    assert player.yielded == script["expect"]["yielded"]


def test_a_question_over_the_frame_size_is_rejected_before_sending():
    query = Message(message_type=MessageType.QUERY, turn="t1", content="a" * 1_048_577)

    with pytest.raises(TooLargeError, match=r"1,048,9\d\d bytes.*limit is 1,048,576.*Attach"):
        TurnProtocol(query, 0)


def stored(seq: int, message_type: str, turn: str, state: str = "undefined") -> str:
    return json.dumps({"message_type": message_type, "turn": turn, "seq": seq, "state": state, "id": f"m{seq}"})


def test_a_concurrent_cancel_returns_when_the_turn_has_ended():
    protocol = CancelProtocol("t1", 2)
    protocol.connected()

    (frame,) = protocol.outgoing()
    protocol.receive(stored(3, "info", "t0", "end"))
    assert not protocol.is_over
    protocol.receive(stored(4, "error", "t1", "end"))

    assert (json.loads(frame)["message_type"], json.loads(frame)["turn"]) == ("cancel", "t1")
    assert protocol.is_over


def test_a_query_that_arrives_after_the_cancel_is_cancelled_again():
    protocol = CancelProtocol("t1", 0)
    protocol.connected()
    protocol.outgoing()

    protocol.receive(stored(1, "query", "t1", "query"))

    assert [json.loads(frame)["message_type"] for frame in protocol.outgoing()] == ["cancel"]


def test_every_transcript_message_is_valid_on_the_wire():
    for path in TURNS:
        for frame in json.loads(path.read_text(encoding="utf-8"))["frames"]:
            if "message" in frame:
                msgspec.convert(frame["message"], Message)
