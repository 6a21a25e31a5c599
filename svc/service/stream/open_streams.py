"""The streams that are open in this process, so that those can be closed whose key or session is no longer valid."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator

import msgspec

from svc.service.close_codes import BAD_KEY, CLOSED_SESSION, STOPPING
from svc.service.operations import Service
from svc.service.stream.outbox import Outbox

log = logging.getLogger("svc.stream")


class OpenStream(msgspec.Struct, frozen=True, eq=False):
    """A connection, whose key it came with, and what it reads."""

    key_id: str
    session_id: str
    outbox: Outbox


class OpenStreams:
    """All open streams; ``watch`` looks after them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: set[OpenStream] = set()
        self._none_open = asyncio.Event()
        self._none_open.set()

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def opened(self, stream: OpenStream) -> Iterator[None]:
        """Count it while it is open."""
        self._open.add(stream)
        self._none_open.clear()
        try:
            yield
        finally:
            self._open.discard(stream)
            if not self._open:
                self._none_open.set()

    async def watch(self) -> None:
        """Close what must not stay open, for ever; a failure is logged and tried again."""
        while True:
            await asyncio.sleep(self._service.settings.watch_seconds)
            try:
                await self._service.end_expired()
                await self._close_invalid()
            except Exception:
                log.exception("watch failed")

    async def _close_invalid(self) -> None:
        if not self._open:
            return
        bad_keys = await self._service.auth.invalid_of({stream.key_id for stream in self._open})
        over = await self._service.expired_of({stream.session_id for stream in self._open})
        for stream in list(self._open):
            if stream.key_id in bad_keys:
                stream.outbox.end(BAD_KEY, "the key is no longer valid")
            elif stream.session_id in over:
                stream.outbox.end(CLOSED_SESSION, "the session expired")

    async def close(self) -> None:
        """Tell every reader that the service stops, and wait until they are gone, within a bound."""
        for stream in list(self._open):
            stream.outbox.end(STOPPING, "the service stops; come back with after")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._service.settings.close_seconds):
                await self._none_open.wait()
