"""Where a session is stored: on disk, or in memory if it may not be logged."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from svc.service.sessions.files import FileStore, LoggedFiles, MemoryFiles
from svc.service.store import Store
from svc.service.store.homes import Homes, SessionElsewhereError
from svc.service.store.records import SessionRecord


class SessionHandle(NamedTuple):
    """A session with the store it is in and the store of its files."""

    store: Store
    files: FileStore
    session: SessionRecord


class SessionStores:
    """Finds sessions in both stores; an id is in at most one of them."""

    def __init__(
        self, logged: Store, private: Store, disk: LoggedFiles, memory: MemoryFiles, homes: Homes | None = None
    ) -> None:
        """``homes``: where unlogged sessions are, if several services share the database."""
        self.logged = logged
        self.private = private
        self.disk = disk
        self.memory = memory
        self.homes = homes
        self._private_ids: set[str] = set()
        # Adding a session looks its id up in both stores first. The lock per id makes that atomic; the weak dictionary
        # drops a lock when nobody uses it.
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def find(self, session_id: str, *, query_id: str = "") -> SessionHandle | None:
        """The session, even if expired, or None. With ``query_id``, its ``has_query`` is set."""
        is_private = session_id in self._private_ids
        session = await (self.private if is_private else self.logged).session(session_id, query_id=query_id)
        return None if session is None else self._handle(session, is_private=is_private)

    async def check_here(self, session_id: str) -> None:
        """Raise SessionElsewhereError if another service holds an unlogged session with this id."""
        home = None if self.homes is None else await self.homes.find(session_id)
        if home is not None:
            raise SessionElsewhereError(session_id, home)

    async def add(self, session: SessionRecord) -> SessionHandle:
        """Store a new session, or return the existing one with its id.

        Raises:
            SessionElsewhereError: Another service holds an unlogged session with its id.
        """
        async with self._lock(session.id):
            if (known := await self.find(session.id)) is not None:
                return known
            self._private_ids.discard(session.id)
            if session.can_log:
                return self._handle(await self.logged.add_session(session), is_private=False)
            await self._claim(session)
            added = await self.private.add_session(session)
            self._private_ids.add(session.id)
            return self._handle(added, is_private=True)

    async def new(self, session: SessionRecord) -> SessionHandle:
        """The handle of a session that is not stored yet; its first query stores it (``Store.begin_session``)."""
        if not session.can_log:
            await self._claim(session)
            self._private_ids.add(session.id)
        return self._handle(session, is_private=not session.can_log)

    async def _claim(self, session: SessionRecord) -> None:
        home = None if self.homes is None else await self.homes.claim(session.id, session.user_id)
        if home is not None:
            raise SessionElsewhereError(session.id, home)

    async def _forget(self, *session_ids: str) -> None:
        """These unlogged sessions are no more."""
        self._private_ids.difference_update(session_ids)
        if self.homes is not None:
            await self.homes.release(session_ids)

    async def list_for_user(self, user_id: str, now: float) -> list[SessionRecord]:
        """The user's live sessions in their order, but for unlogged ones of other services."""
        logged, private = await self.logged.list_sessions(user_id, now=now), await self.list_private(user_id, now)
        return list(heapq.merge(logged, private, key=lambda session: session.create_time))

    async def list_private(self, user_id: str, now: float) -> Sequence[SessionRecord]:
        """The user's live unlogged sessions of this service."""
        return await self.private.list_sessions(user_id, now=now)

    async def count_for_user(self, user_id: str, now: float) -> int:
        """The number of the user's live sessions."""
        logged = await self.logged.count_sessions(user_id, now=now)
        return logged + await self.private.count_sessions(user_id, now=now)

    async def alive(self, session_ids: set[str], now: float) -> set[str]:
        """Those of the sessions that exist and have not expired."""
        private = session_ids & self._private_ids
        alive = await self.logged.alive(session_ids - private, now)
        return alive | await self.private.alive(private, now) if private else alive

    async def erase(self, handle: SessionHandle) -> None:
        """Delete the session with its messages and files."""
        await handle.store.delete_session(handle.session.id)
        await handle.files.remove(file.id for file in handle.session.files)
        if handle.store is self.private:
            await self._forget(handle.session.id)

    async def purge(self, *, now: float, retention_seconds: float) -> None:
        """Delete what is no longer kept.

        Logged sessions are deleted after their retention. Unlogged ones lose their contents when they expire; their id
        and times stay for the retention period, so that they answer 410.
        """
        await self.disk.remove(await self.logged.purge(ended_before=now - retention_seconds))
        await self.disk.forget_detached()
        await self.memory.remove(await self.private.forget(ended_before=now))
        await self.private.purge(ended_before=now - retention_seconds)
        for session_id in self._private_ids - await self.private.alive(self._private_ids, now - retention_seconds):
            async with self._lock(session_id):
                if await self.private.session(session_id) is None:
                    await self._forget(session_id)

    def _lock(self, session_id: str) -> asyncio.Lock:
        return self._adding.setdefault(session_id, asyncio.Lock())

    def _handle(self, session: SessionRecord, *, is_private: bool) -> SessionHandle:
        if is_private:
            return SessionHandle(self.private, self.memory, session)
        return SessionHandle(self.logged, self.disk, session)
