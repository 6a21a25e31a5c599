"""An OpenAI-compatible service with a script, on a port of this machine: each request gets the script's next reply.

A reply is a function from the request's body to the HTTP response; the last one is given again where more is asked.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from svc.service.server import serve
from tests.support.live import wait_until

Reply = Callable[[dict], Response]
KEY = "sk-test-0123456789"


class Upstream:
    """One script. ``requests``: the bodies that came, ``headers`` theirs, ``hits``: what else was asked for.

    ``gone``: streams that were given up.
    """

    def __init__(self, host: str, number: int, script: Sequence[Reply]) -> None:
        self.script = list(script)
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.hits: list[str] = []
        self.gone = 0
        self.host = host
        self.root = f"http://{host}/{number}"
        self.url = f"{self.root}/v1"

    async def answer(self, request: Request) -> Response:
        match request.path_params["rest"]:
            case "v1/chat/completions":
                return await self._complete(request)
            case "v1/models":
                return self._models()
            case path:
                self.hits.append(path)
                return Response(status_code=404)

    async def _complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        response = reply(body)
        if isinstance(response, StreamingResponse):
            response.body_iterator = self._watched(response.body_iterator)
        return response

    async def _watched(self, chunks: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for chunk in chunks:
                yield chunk
        except (asyncio.CancelledError, GeneratorExit):
            self.gone += 1
            raise

    def _models(self) -> Response:
        listed = {"id": "tiny", "object": "model", "created": 1, "owned_by": "x"}
        return JSONResponse({"object": "list", "data": [listed]})


class UpstreamServer:
    """One server for many scripts, each at an address of its own."""

    def __init__(self) -> None:
        self._upstreams: list[Upstream] = []
        self._socket = serve.listen("127.0.0.1", 0)
        methods = ["GET", "POST", "PUT", "DELETE"]
        routes = [Route("/{number:int}/{rest:path}", self._answer, methods=methods)]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_until(lambda: self._server.started, "the upstream to listen")

    def add(self, *script: Reply) -> Upstream:
        host = "{}:{}".format(*self._socket.getsockname())
        self._upstreams.append(Upstream(host, len(self._upstreams), script))
        return self._upstreams[-1]

    async def _answer(self, request: Request) -> Response:
        return await self._upstreams[request.path_params["number"]].answer(request)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()


def _event(delta: dict | None = None, finish: str | None = None, usage: dict | None = None) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": choices}
    return f"data: {json.dumps(chunk | ({'usage': usage} if usage else {}))}\n\n"


def _stream(events: Sequence[str] | AsyncIterator[str]) -> Response:
    async def each() -> AsyncIterator[str]:
        for event in events:
            yield event
            await asyncio.sleep(0)

    chunks = each() if isinstance(events, Sequence) else events
    return StreamingResponse(chunks, media_type="text/event-stream")


def _usage(prompt: int, generated: int) -> dict:
    return {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}


def says(text: str, *, thinking: str = "", tokens: tuple[int, int] | None = (100, 10), finish: str = "stop") -> Reply:
    """A whole answer in small deltas, after its reasoning."""
    events = [_event({"reasoning_content": f"{word} "}) for word in thinking.split()]
    events += [_event({"role": "assistant", "content": text[at : at + 40]}) for at in range(0, len(text), 40)]
    events.append(_event({}, finish))
    events += [_event(usage=_usage(*tokens))] if tokens else []
    return lambda _: _stream([*events, "data: [DONE]\n\n"])


def calls(*wanted: tuple[str, dict | str], ids: Sequence[str] = (), text: str = "") -> Reply:
    """Tool calls, their arguments in two pieces as services send them; a string is sent as it is."""
    events = [_event({"content": text})] if text else []
    for index, (name, arguments) in enumerate(wanted):
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call_id = ids[index] if index < len(ids) else f"call_{index}"
        function = {"name": name, "arguments": whole[:5]}
        start = {"index": index, "id": call_id, "type": "function", "function": function}
        events.append(_event({"tool_calls": [start]}))
        events.append(_event({"tool_calls": [{"index": index, "function": {"arguments": whole[5:]}}]}))
    events += [_event({}, "tool_calls"), _event(usage=_usage(200, 20)), "data: [DONE]\n\n"]
    return lambda _: _stream(events)


def refuses(status: int, text: str = "no", **headers: str) -> Reply:
    body = {"error": {"message": text, "type": "server_error", "code": "no"}}
    return lambda _: JSONResponse(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def breaks_off(text: str) -> Reply:
    """Some of an answer, then the connection is cut."""

    async def events() -> AsyncIterator[str]:
        yield _event({"content": text})
        await asyncio.sleep(0.05)
        raise ConnectionAbortedError

    return lambda _: _stream(events())


def trails_off(text: str) -> Reply:
    """Some of an answer, then an orderly end of the body without the word that it was all."""
    return lambda _: _stream([_event({"content": text})])


def babbles() -> Reply:
    return lambda _: _stream(['data: {"id": \n\n', "data: ]]]\n\n", "data: [DONE]\n\n"])


def sends(text: str | bytes, media_type: str, **headers: str) -> Reply:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Response(text, media_type=media_type, headers=told)


def sends_chunks(*chunks: object) -> Reply:
    """Send these chunks as a stream, unchecked."""
    return lambda _: _stream([*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"])


def hangs(after: str = "") -> Reply:
    """Some words, then nothing for ten minutes."""

    async def events() -> AsyncIterator[str]:
        if after:
            yield _event({"content": after})
        await asyncio.sleep(600)
        yield ""

    return lambda _: _stream(events())


def never_ends() -> Reply:
    async def events() -> AsyncIterator[str]:
        while True:
            yield _event({"content": "and so on " * 500})
            await asyncio.sleep(0)

    return lambda _: _stream(events())


def tool_results(body: dict) -> list[str]:
    """Tool results that the model received, in order."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]
