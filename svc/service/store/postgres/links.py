"""Connections to PostgreSQL: opened when they are needed, and again after they broke.

``asyncpg`` is imported here and in the modules beside this one only, so a service on SQLite does not need it. Its own
pool resets each connection after each use, which is a round trip that reads of a few rows would double.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from svc.errors import ServiceError, UnavailableError
from svc.service.store.address import PostgresAddress
from svc.service.store.store_errors import storage_full

T = TypeVar("T")
CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 20.0
_AWAY = (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.InternalClientError)
_RESTARTING = (
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.ReadOnlySQLTransactionError,  # a failover made this server a standby
    asyncpg.TooManyConnectionsError,
)
FAILURES = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What a statement may raise because of the database."""


def is_away(error: BaseException) -> bool:
    """Whether the server did not answer: nobody knows if the statement was carried out."""
    is_refused_by_driver = isinstance(error, ValueError)
    return isinstance(error, (*_AWAY, *_RESTARTING)) and not is_refused_by_driver


def is_conflict(error: BaseException) -> bool:
    """Whether the statement was undone because of another one, so that it can be sent again."""
    return isinstance(error, (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError))


def store_error(error: BaseException) -> ServiceError:
    """The error of the wire for a database that cannot be used at the moment."""
    if isinstance(error, asyncpg.InsufficientResourcesError) and not isinstance(error, _RESTARTING):
        return storage_full(type(error).__name__)
    return UnavailableError(
        f"the service's database is unavailable ({type(error).__name__}); try again in a few seconds", retry_after=5
    )


async def connect(address: PostgresAddress, seconds: float | None = COMMAND_SECONDS) -> Any:  # noqa: ANN401  # asyncpg has no types
    """Open a connection whose statements may take so long; raises what ``FAILURES`` names."""
    wanted: dict[str, str] = {} if address.has_mode else {"target_session_attrs": "read-write"}
    if address.password is not None:
        wanted["password"] = address.password
    return await asyncpg.connect(
        address.url,
        timeout=CONNECT_SECONDS,
        command_timeout=seconds,
        server_settings={"application_name": "svc", "synchronous_commit": "on"},
        **wanted,
    )


class Links:
    """A few connections to one database; each serves one operation at a time."""

    def __init__(self, address: PostgresAddress, size: int, seconds: float = COMMAND_SECONDS) -> None:
        self._address = address
        self._seconds = seconds
        self._room = asyncio.Semaphore(size)
        self._free: list[Any] = []
        self._is_closed = False

    async def run(self, operation: Callable[[Any], Awaitable[T]], *, is_repeatable: bool = False) -> T:
        """Run an operation on a connection of its own; raises what ``FAILURES`` names.

        Args:
            operation: Gets the connection.
            is_repeatable: It changes nothing, so that it may run again after a broken connection.
        """
        async with self._room:
            if self._is_closed:
                raise UnavailableError("the service is stopping; try again in a few seconds", retry_after=5)
            try:
                return await self._run(operation)
            except FAILURES as error:
                if not (is_repeatable and is_away(error)) or isinstance(error, TimeoutError):
                    raise
            return await self._run(operation)

    async def _run(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        connection = await self._take()
        try:
            result = await operation(connection)
        except asyncpg.PostgresError as error:
            if is_away(error) or connection.is_closed():
                connection.terminate()
            else:
                self._free.append(connection)
            raise
        except BaseException as error:
            # A refusal of the operation itself leaves the connection as it was; otherwise its state is unknown.
            if isinstance(error, Exception) and not isinstance(error, FAILURES) and not connection.is_in_transaction():
                self._free.append(connection)
            else:
                connection.terminate()
            raise
        self._free.append(connection)
        return result

    async def _take(self) -> Any:  # noqa: ANN401  # asyncpg has no types
        while self._free:
            connection = self._free.pop()
            if not connection.is_closed():
                return connection
        return await connect(self._address, self._seconds)

    async def close(self) -> None:
        """Close the connections that nobody uses; one in use ends with its operation."""
        self._is_closed = True
        while self._free:
            connection = self._free.pop()
            try:
                await connection.close(timeout=CONNECT_SECONDS)
            except FAILURES:
                connection.terminate()
