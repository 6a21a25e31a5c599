"""Where a session lives: in the store and the file keep on disk, or in those in memory where it may not be logged."""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from weakref import WeakValueDictionary

from svc.service.sessions.files import DiskFiles, MemoryFiles
from svc.service.store import Store
from svc.service.store.records import SessionRecord


class SessionHandle(NamedTuple):
    """A session with the store that has it and the keep of its files."""

    store: Store
    files: DiskFiles | MemoryFiles
    session: SessionRecord


class SessionStores:
    """Finds sessions in both stores; an id is in one of them at most."""

    def __init__(self, logged: Store, private: Store, disk: DiskFiles, memory: MemoryFiles) -> None:
        self.logged = logged
        self.private = private
        self.disk = disk
        self.memory = memory
        self._private_ids: set[str] = set()
        # An id is looked for in both stores before it is added to one; its lock lives as long as somebody adds it.
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def find(self, session_id: str) -> SessionHandle | None:
        """The session's place, expired ones included, or None."""
        is_private = session_id in self._private_ids
        session = await (self.private if is_private else self.logged).session(session_id)
        return None if session is None else self._place(session, is_private=is_private)

    async def add(self, session: SessionRecord) -> SessionHandle:
        """Keep a new session where it may be, or find the one that has its id."""
        async with self._lock(session.id):
            if (known := await self.find(session.id)) is not None:
                return known
            self._private_ids.discard(session.id)
            if session.can_log:
                return self._place(await self.logged.add_session(session), is_private=False)
            added = await self.private.add_session(session)
            self._private_ids.add(session.id)
            return self._place(added, is_private=True)

    def new(self, session: SessionRecord) -> SessionHandle:
        """Where a session whose id was made just now will live; its first write keeps it."""
        if not session.can_log:
            self._private_ids.add(session.id)
        return self._place(session, is_private=not session.can_log)

    async def of_user(self, user_id: str) -> list[SessionRecord]:
        """The user's sessions, oldest first, expired ones included."""
        found = [*await self.logged.sessions_of(user_id), *await self.private.sessions_of(user_id)]
        return sorted(found, key=lambda session: session.create_time)

    async def alive(self, session_ids: set[str], now: float) -> set[str]:
        """Those of the sessions that are there and not expired."""
        private = session_ids & self._private_ids
        alive = await self.logged.alive(session_ids - private, now)
        return alive | await self.private.alive(private, now) if private else alive

    async def erase(self, handle: SessionHandle) -> None:
        """Erase the session with its messages and files."""
        await handle.store.delete_session(handle.session.id)
        await handle.files.remove(file.id for file in handle.session.files)
        self._private_ids.discard(handle.session.id)

    async def purge(self, *, now: float, retention_seconds: float) -> None:
        """Erase logged sessions after their retention, private ones at their end; then their id and times are kept."""
        await self.disk.remove(await self.logged.purge(ended_before=now - retention_seconds))
        await self.memory.remove(await self.private.forget(ended_before=now))
        await self.private.purge(ended_before=now - retention_seconds)
        for session_id in self._private_ids - await self.private.alive(self._private_ids, now - retention_seconds):
            async with self._lock(session_id):
                if await self.private.session(session_id) is None:
                    self._private_ids.discard(session_id)

    def _lock(self, session_id: str) -> asyncio.Lock:
        return self._adding.setdefault(session_id, asyncio.Lock())

    def _place(self, session: SessionRecord, *, is_private: bool) -> SessionHandle:
        if is_private:
            return SessionHandle(self.private, self.memory, session)
        return SessionHandle(self.logged, self.disk, session)
