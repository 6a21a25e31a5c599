"""One service at a time uses a database, unless all that use it share it. The lock is held by a connection of its own
for as long as the service runs.

Without it, a service that does not share would run the turns of others that live. PostgreSQL gives the lock up when the
connection ends, so nothing is left behind by a killed service.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from svc.errors import ConfigError
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.links import FAILURES, connect

log: logging.Logger = logging.getLogger("svc.store")
WAIT_SECONDS = 10.0  # for the end of a connection whose service was killed
LOOK_SECONDS = 1.0
# A connection that breaks is known to be closed. Only one that is cut without a word has to be asked, before the server
# gives the lock of a service that it does not hear to another one (``_KEEP_ALIVE``).
ASK_SECONDS = 5.0
_TAKE = "SELECT pg_try_advisory_lock(hashtext('svc service'), hashtext(current_schema()))"
_SHARE = "SELECT pg_try_advisory_lock_shared(hashtext('svc service'), hashtext(current_schema()))"
_OWN = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_OWN = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2"
# The server notices within half a minute that the machine of the service is gone, instead of two hours.
_KEEP_ALIVE = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 4",
    "SET tcp_user_timeout = 30000",
)


class PostgresLock:
    """The lock of the database; ``on_lost`` is called if another service has it.

    ``is_shared``: several services may hold it, if all of them share it.
    """

    def __init__(self, address: PostgresAddress, *, is_shared: bool = False) -> None:
        self._address = address
        self._sql = _SHARE if is_shared else _TAKE
        self._connection: Any = None
        self._last: tuple[int, Any] | None = None  # process and start of the connection that held the lock
        self._task: asyncio.Task[None] | None = None

    async def take(self, on_lost: Callable[[], None]) -> None:
        """Take the lock and keep it; raises ConfigError if another service holds it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WAIT_SECONDS
        while not await self._try():
            if loop.time() >= end:
                raise ConfigError(
                    f"another service is using this database ({self._address}). Use that one, or stop it first; "
                    "several may use it if each has --shared-database true"
                )
            await asyncio.sleep(0.2)
        self._task = asyncio.create_task(self._keep(on_lost))

    async def _try(self) -> bool:
        """Connect and take the lock; False if it is another's or the server is away."""
        connection = None
        try:
            connection = await connect(self._address)
            for sql in _KEEP_ALIVE:
                await connection.execute(sql)
            is_taken = bool(await connection.fetchval(self._sql))
            if is_taken:
                self._last = tuple(await connection.fetchrow(_OWN))
            elif self._last is not None:  # the server may not know yet that this service's last connection broke
                await connection.fetchval(_END_OWN, *self._last)
        except FAILURES:
            is_taken = False
        if is_taken and connection is not None:
            self._connection = connection
        elif connection is not None:
            connection.terminate()
        return is_taken

    async def _keep(self, on_lost: Callable[[], None]) -> None:
        """Take the lock again after a broken connection."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if loop.time() - asked < ASK_SECONDS and not self._connection.is_closed():
                continue
            try:
                await self._connection.fetchval("SELECT 1")
            except FAILURES:
                self._connection.terminate()
                if not await self._take_again():
                    log.critical("another service has taken this database", extra={"effect": "this one stops"})
                    on_lost()
                    return
            asked = loop.time()

    async def _take_again(self) -> bool:
        """Take the lock once the server is back; False if another service was first."""
        refused = 0
        while refused < WAIT_SECONDS / LOOK_SECONDS:
            if await self._try():
                return True
            refused += await self._is_there()
            await asyncio.sleep(LOOK_SECONDS)
        return False

    async def _is_there(self) -> bool:
        """Whether the server answers, so that the lock is really another's."""
        try:
            connection = await connect(self._address)
        except FAILURES:
            return False
        connection.terminate()
        return True

    async def close(self) -> None:
        """Give the lock up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._connection is not None:
            self._connection.terminate()
