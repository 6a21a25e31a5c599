"""The open streams of this process, and the watch that closes those whose key or session is no longer valid."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator

import msgspec

from svc.errors import ServiceError
from svc.service.close_codes import BAD_KEY, CLOSED_SESSION, STOPPING
from svc.service.operations import Service
from svc.service.stream.outbox import Outbox

log: logging.Logger = logging.getLogger("svc.stream")
SPREAD_SECONDS = 2.0  # over which the streams of a service that stops are closed
CUT_OFF = "the database is out of reach; reconnect with after"


class OpenStream(msgspec.Struct, frozen=True, eq=False):
    """A connection: the key it was opened with, and its outbox. ``is_passed_on``: another service has its session."""

    key_id: str
    session_id: str
    outbox: Outbox
    is_passed_on: bool = False


class OpenStreams:
    """All open streams."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: set[OpenStream] = set()
        self._none_open = asyncio.Event()
        self._none_open.set()

        self._leaving: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def opened(self, stream: OpenStream) -> Iterator[None]:
        """Register the stream while the context is active."""
        self._open.add(stream)
        self._none_open.clear()
        try:
            yield
        finally:
            self._open.discard(stream)
            if not self._open:
                self._none_open.set()

    async def watch(self) -> None:
        """Close invalid streams at intervals until cancelled; a failure is tried again, and logged once."""
        has_failed = False
        while True:
            await asyncio.sleep(self._service.settings.watch_seconds)
            try:
                await self._end_invalid_keys()
                await self._service.end_expired()
                await self._close_expired()
            except Exception as error:
                if not has_failed:
                    log.warning("watch failed", exc_info=not isinstance(error, ServiceError), extra=_reason(error))
                has_failed = True
            else:
                if has_failed:
                    log.info("watch goes on")
                has_failed = False

    async def _end_invalid_keys(self) -> None:
        """Close the streams of keys that were revoked or expired, then end the turns that they started."""
        in_use = {stream.key_id for stream in self._open} | set(self._service.turns.asking_keys.values())
        bad_keys = await self._service.auth.invalid_keys(in_use)
        for stream in list(self._open):
            if stream.key_id in bad_keys:
                stream.outbox.end(BAD_KEY, "the key is no longer valid")
        await self._service.end_turns_of(bad_keys)

    async def _close_expired(self) -> None:
        own = [stream for stream in self._open if not stream.is_passed_on]
        expired = await self._service.expired_sessions({stream.session_id for stream in own})
        for stream in own:
            if stream.session_id in expired:
                stream.outbox.end(CLOSED_SESSION, "the session expired")

    def leave(self) -> None:
        """The database is out of reach: send the clients to other services, take no new ones until ``come_back``."""
        self._service.is_cut_off = True
        self._leaving = asyncio.create_task(self._end_all(Outbox.cut, CUT_OFF, asyncio.Event()))

    def come_back(self) -> None:
        """Take new clients again."""
        self._service.is_cut_off = False

    async def _end_all(self, end: Callable[[Outbox, int, str], None], reason: str, hurry: asyncio.Event) -> None:
        """Close every stream, spread over two seconds, because all clients come back at once; ``hurry`` ends that."""
        streams = list(self._open)
        for stream in streams:
            end(stream.outbox, STOPPING, reason)
            if stream is not streams[-1] and not hurry.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SPREAD_SECONDS / len(streams)):
                        await hurry.wait()
        for stream in self._open - set(streams):  # opened meanwhile
            end(stream.outbox, STOPPING, reason)

    async def close(self, hurry: asyncio.Event) -> None:
        """Close every stream because the service stops, and wait for the clients, up to ``close_seconds``."""
        await self._end_all(Outbox.end, "the service is stopping; reconnect with after", hurry)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._service.settings.close_seconds):
                await self._none_open.wait()


def _reason(error: Exception) -> dict[str, str]:
    return {"reason": error.message} if isinstance(error, ServiceError) else {}
