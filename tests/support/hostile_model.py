"""A model's endpoint that does its worst: raw responses, sent lazily so that the server itself needs no memory."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

Attack = Callable[[], Iterator[bytes]]
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
JSON = EVENTS.replace(b"text/event-stream", b"application/json")
MIB = 1_048_576


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def tool_call(index: int, arguments: str, name: str | None = "decode") -> dict[str, object]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "function": function} | ({"id": f"c{index}", "type": "function"} if name else {})
    return {"tool_calls": [call]}


class HostileModel:
    """The endpoint. ``received``: every request, as it came; ``sent``: bytes of all responses."""

    def __init__(self, attack: Attack) -> None:
        self.received: list[bytes] = []
        self.sent = 0
        self._attack = attack
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:{1}/v1".format(*self._listener.getsockname())
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            self.received.append(connection.recv(MIB))
            for part in self._attack():
                connection.sendall(part)
                self.sent += len(part)


def _forever(part: bytes, head: bytes = EVENTS, *, seconds: float = 0.0) -> Iterator[bytes]:
    yield head
    while True:
        yield part
        time.sleep(seconds)


def endless_line() -> Iterator[bytes]:
    """300 MB without an end of line."""
    yield EVENTS + b'data: {"id": "'
    for _ in range(300):
        yield b"a" * MIB
    yield b'"}\n\ndata: [DONE]\n\n'


def endless_comments() -> Iterator[bytes]:
    return _forever(b": ping\n\n" * 8_000)


def empty_events() -> Iterator[bytes]:
    return _forever(event({}) * 100)


def slow_drip() -> Iterator[bytes]:
    return _forever(b"d", seconds=0.05)


def slow_events() -> Iterator[bytes]:
    return _forever(event({"content": "x"}), seconds=0.05)


def gzip_bomb() -> Iterator[bytes]:
    """300 MB of one byte, compressed to 300 kB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield EVENTS.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    for _ in range(300):
        yield packer.compress(b"data: " + b"a" * (MIB - 6))
    yield packer.flush()


def deep_json() -> Iterator[bytes]:
    yield EVENTS + b"data: " + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"\n\ndata: [DONE]\n\n"


def endless_page() -> Iterator[bytes]:
    return _forever(b"<p>no</p>\n" * 6_000, JSON.replace(b"application/json", b"text/html"))


def endless_error() -> Iterator[bytes]:
    return _forever(b"no" * 30_000, JSON.replace(b"200 OK", b"400 Bad Request"))


def endless_head() -> Iterator[bytes]:
    return _forever(b"X-More: " + b"a" * 8_000 + b"\r\n", b"HTTP/1.1 200 OK\r\n")


def megabyte_arguments() -> Iterator[bytes]:
    yield EVENTS + event(tool_call(0, '{"text": "'))
    for _ in range(3_000):
        yield event(tool_call(0, "QUJD" * 1_000, None))
    yield event({}, "tool_calls") + b"data: [DONE]\n\n"


def one_call_of_megabytes() -> Iterator[bytes]:
    yield EVENTS + event(tool_call(0, json.dumps({"text": "QUJD" * 400_000})))
    yield event({}, "tool_calls") + b"data: [DONE]\n\n"


def calls_without_end() -> Iterator[bytes]:
    yield EVENTS
    for index in range(100_000):
        yield event(tool_call(index, '{"text": "QUJD"}'))


def many_calls_each_time() -> Iterator[bytes]:
    yield EVENTS
    for index in range(150):
        yield event(tool_call(index, json.dumps({"text": f"QUJD{index}"})))
    yield event({}, "tool_calls") + b"data: [DONE]\n\n"


# -- written before the fix and looked at only after it


def endless_line_of_carriage_returns_missing() -> Iterator[bytes]:
    """The same line in tiny pieces after valid events."""
    yield EVENTS + event({"content": "Fine so far."}) + b"data: "
    for _ in range(3_000):
        yield b"{" * 4_096


def deflate_bomb() -> Iterator[bytes]:
    packer = zlib.compressobj(9)
    yield EVENTS.replace(b"\r\n\r\n", b"\r\ncontent-encoding: DEFLATE\r\n\r\n")
    for _ in range(300):
        yield packer.compress(bytes(MIB))
    yield packer.flush()


def endless_reasoning() -> Iterator[bytes]:
    return _forever(event({"reasoning_content": "hm " * 300}))


def endless_chunked_body() -> Iterator[bytes]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return _forever(b"10000\r\n" + b"z" * 65_536 + b"\r\n", head)


def endless_chunk_size() -> Iterator[bytes]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return _forever(b"0" * 65_536, head)


def wide_json() -> Iterator[bytes]:
    yield EVENTS + b"data: [" + b"{}," * 400_000 + b"{}]\n\ndata: [DONE]\n\n"


def numbers_without_end() -> Iterator[bytes]:
    yield EVENTS + b'data: {"id":"c","created":' + b"9" * 1_000_000 + b',"choices":[]}\n\ndata: [DONE]\n\n'


def many_informational_responses() -> Iterator[bytes]:
    return _forever(b"HTTP/1.1 102 Processing\r\n\r\n", b"")


def choices_without_end() -> Iterator[bytes]:
    choice = {"index": 0, "delta": {"content": "x" * 50}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] * 5_000}
    return _forever(b"data: " + json.dumps(chunk).encode() + b"\n\n")


OPEN: tuple[Attack, ...] = (
    endless_line, endless_comments, empty_events, slow_drip, slow_events, gzip_bomb, deep_json, endless_page,
    endless_error, endless_head, megabyte_arguments, one_call_of_megabytes, calls_without_end, many_calls_each_time,
)  # fmt: skip
HELD: tuple[Attack, ...] = (
    endless_line_of_carriage_returns_missing, deflate_bomb, endless_reasoning, endless_chunked_body,
    endless_chunk_size, wide_json, numbers_without_end, many_informational_responses, choices_without_end,
)  # fmt: skip
