"""The body of an event stream: what is passed on, where it ends, and what closing it closes."""

import asyncio
from types import SimpleNamespace

import pytest

from svc.assistant.model.event_stream import end_with_last_event

BODY = b'data: {"a": 1}\n\ndata: {"b": "data: [DONE]"}\n\ndata: [DONE]\n\n'


async def opened(*chunks, pause=0.0):
    """A response with these chunks, and what happened to them."""
    seen = []

    async def read():
        try:
            for chunk in chunks:
                seen.append("read")
                yield chunk
                await asyncio.sleep(pause)
            seen.append("end")
        except (GeneratorExit, asyncio.CancelledError):
            seen.append("cut")
            raise

    async def close():
        seen.append("closed")

    response = SimpleNamespace(aiter_bytes=read, aclose=close, status_code=200, headers={})
    await end_with_last_event(response)
    return response, seen


def pieces(body, size):
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 13, 1_000])
@pytest.mark.parametrize(("body", "kept"), [
    pytest.param(BODY, BODY[:-14], id="the end mark"),
    pytest.param(BODY.replace(b"\n", b"\r\n"), BODY[:-14].replace(b"\n", b"\r\n"), id="CRLF"),
    pytest.param(b"data:[DONE]\n\n", b"", id="no space"),
    pytest.param(b'data: {"a": 1}\n\ndata: {"b"', b'data: {"a": 1}\n\ndata: {"b"', id="cut off"),
    pytest.param(b'{"error": "x"}', b'{"error": "x"}', id="no events"),
    pytest.param(b"", b"", id="empty"),
])  # fmt: skip
async def test_the_body_is_read_to_its_end_however_it_is_cut(body, kept, size):
    response, seen = await opened(*pieces(body, size))
    assert b"".join([chunk async for chunk in response.aiter_bytes()]) == kept
    assert seen[-1] == "end"


async def test_an_upstream_that_goes_on_after_its_last_event_is_not_waited_for():
    response, seen = await opened(BODY, *[b": ping\n"] * 100, pause=0.05)
    async with asyncio.timeout(2):
        assert b"".join([chunk async for chunk in response.aiter_bytes()]) == BODY[:-14]
    assert seen[-1] == "cut"


async def test_closing_the_response_closes_the_generator_that_reads_it():
    response, seen = await opened(b"data: 1\n\n", b"data: 2\n\n")
    body = response.aiter_bytes()
    assert await anext(body) == b"data: 1\n\n"
    await response.aclose()
    assert seen == ["read", "cut", "closed"]
    assert [chunk async for chunk in body] == []


async def test_a_body_may_close_its_response_at_its_end():
    async def read():
        yield b"data: 1\n\n"
        await response.aclose()

    async def close():
        closed.append(True)

    closed = []
    response = SimpleNamespace(aiter_bytes=read, aclose=close, status_code=200, headers={})
    await end_with_last_event(response)
    assert b"".join([chunk async for chunk in response.aiter_bytes()]) == b"data: 1\n\n"
    assert closed == [True]
