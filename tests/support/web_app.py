"""A web application as users write one with FastAPI or Starlette: one client, a session for each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from svc import AsyncSvc


def web_app(api_key: str, base_url: str) -> Starlette:
    """``GET /ask?prompt=…`` asks the service; ``GET /ping`` has nothing to do with it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncSvc(api_key, base_url) as client:
            app.state.client = client
            yield

    async def ask(request: Request) -> Response:
        session = await request.app.state.client.create_session(log_session=False)
        return JSONResponse((await session.query(request.query_params["prompt"])).to_dict())

    async def ping(request: Request) -> Response:
        return PlainTextResponse("pong")

    return Starlette(routes=[Route("/ask", ask), Route("/ping", ping)], lifespan=lifespan)
