"""Clients of a service: ``Svc`` blocks, ``AsyncSvc`` awaits; the methods are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self, TypeVar

from svc import _requests
from svc._requests import Call
from svc._transport import AsyncTransport, Transport
from svc.config import LOCAL, Config, resolve
from svc.errors import InvalidRequestError
from svc.messages import (
    DEFAULT_TTL,
    ModelInfo,
    ModelInfoInput,
    RegisterRequest,
    Session,
    ToolsetChoice,
    UserInfo,
    new_id,
)
from svc.session import AsyncSession, InteractiveSession

T = TypeVar("T")


class Svc:
    """A client of a service, with blocking methods.

    The service is the one given as arguments, else the one in the environment (``SVC_API_KEY``, ``SVC_BASE_URL``,
    ``SVC_WS_URL``), else this user's local service, which is started if it is not running.

        with Svc() as client:
            session = client.create_session()
            print(session.query("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H").text())

    ``close``, or leaving ``with``, closes idle connections; sessions are not deleted. Leaving ``async with`` also ends
    the iterations over ``stream`` that were left open. The client may be used from any thread.

    Args:
        api_key: The API key.
        base_url: The service's URL; ``"local"`` is the local service, whatever the environment says.
        ws_url: The URL of its websockets, if it does not follow from ``base_url``.

    Raises:
        ConfigError: The key or a URL cannot be used.
        LocalServiceError: The local service cannot be started.
    """

    def __init__(self, api_key: str | None = None, base_url: str | None = None, ws_url: str | None = None) -> None:
        found = resolve(api_key, base_url, ws_url)
        self._transport = Transport(found) if isinstance(found, Config) else _local_transport(Transport)
        self._is_local = found == LOCAL

    def __repr__(self) -> str:
        return f"Svc(base_url={LOCAL if self._is_local else self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._transport.close_streams()
        await asyncio.to_thread(self.close)

    @property
    def base_url(self) -> str:
        """The service's current URL; that of the local service may change."""
        return self._transport.config.base_url

    @property
    def ws_url(self) -> str:
        """The current URL of the service's websockets."""
        return self._transport.config.ws_url

    @property
    def is_local(self) -> bool:
        """Whether this is the user's local service."""
        return self._is_local

    def create_session(
        self,
        ttl: int | timedelta = DEFAULT_TTL,
        name: str | None = None,
        description: str | None = None,
        log_session: bool = True,  # noqa: FBT001, FBT002 - the documented order
        model: str | ModelInfo | ModelInfoInput | None = None,
        language: str = "en",
    ) -> InteractiveSession:
        """Create a session.

        Args:
            ttl: The session's lifetime, in seconds or as a ``timedelta``.
            name: Its name; by default the service chooses one.
            description: What it is about.
            log_session: False asks the service to store nothing on disk, if the API key allows that choice.
            model: ``stable``, ``experimental``, a model's id, or a model; the default is the stable model. Tools of
                toolsets whose ``is_enabled`` is False do not run in the session.
            language: The BCP 47 tag of the language of questions whose words do not show one.

        Returns:
            The new session.

        Raises:
            InvalidRequestError: The service does not accept an argument; ``param`` names it.
            ModelNotFoundError: There is no such model; the text lists the models.
            ExperimentalNotAllowedError: The key may not use experimental models.
        """
        call = _registration(ttl, name, description, log_session, model, language)
        return InteractiveSession(self._transport, self._transport.call(call))

    def resume_session(self, session_id: str) -> InteractiveSession:
        """Open an existing session.

        Args:
            session_id: The session's ID, as ``list_sessions`` gives it.

        Returns:
            The session, with its files and its state.

        Raises:
            SessionNotFoundError: There is no such session of the key's user.
            SessionExpiredError: Its lifetime is over.
        """
        return InteractiveSession(self._transport, self._transport.call(_existing(session_id)))

    def list_sessions(self, *, limit: int | None = None, after: str | None = None) -> list[Session]:
        """Fetch the user's live sessions, oldest first, without messages; ``resume_session(s.id)`` opens one.

        A user with many sessions reads them in pages: the next one begins ``after`` the ID of the last session.

        Args:
            limit: The most sessions to fetch; None fetches all.
            after: The ID of the session before the first one; None begins with the oldest.

        Returns:
            The sessions, without their messages; fewer than ``limit`` if these are the last.

        Raises:
            SessionNotFoundError: There is no session ``after``; it was deleted or has expired long ago.
        """
        return self._transport.call(_requests.list_sessions(limit, after))

    def get_user_info(self) -> UserInfo:
        """Fetch the key's user and rights, the live sessions, and the models, the stable one first.

        Returns:
            The user, the sessions and the models.
        """
        return self._transport.call(_requests.user_info())

    def make_page_code(self) -> str:
        """Get a code that signs in to the service's web page, once, within a minute (used by ``svc open``).

        Returns:
            The code; it is valid once.
        """
        return self._transport.call(_requests.page_code()).code

    def close(self) -> None:
        """Close idle connections. The client can be used again and opens new ones."""
        self._transport.close()


class AsyncSvc:
    """A client of a service, for an event loop.

    The methods are those of ``Svc``; those that talk to the service are awaited and never block the loop. The service
    is found as by ``Svc``, except that the local service is looked up, and started if it is not running, by ``async
    with`` or by the first call.

        async with AsyncSvc() as client:
            session = await client.create_session()
            async for message in session.stream("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"):
                print(message.get_content())

    ``aclose``, or leaving ``async with``, closes idle connections, and ends the iterations over ``stream`` that were
    left open; sessions are not deleted. Use a client in one event loop.

    Args:
        api_key: The API key.
        base_url: The service's URL; ``"local"`` is the local service, whatever the environment says.
        ws_url: The URL of its websockets, if it does not follow from ``base_url``.

    Raises:
        ConfigError: The key or a URL cannot be used.
    """

    def __init__(self, api_key: str | None = None, base_url: str | None = None, ws_url: str | None = None) -> None:
        found = resolve(api_key, base_url, ws_url)
        self._transport = AsyncTransport(found) if isinstance(found, Config) else None
        self._is_local = found == LOCAL
        self._connecting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"AsyncSvc(base_url={LOCAL if self._is_local else self.base_url!r})"

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def base_url(self) -> str:
        """The service's current URL; ``"local"`` until the local service was found."""
        return LOCAL if self._transport is None else self._transport.config.base_url

    @property
    def ws_url(self) -> str:
        """The current URL of the service's websockets; ``"local"`` until the local service was found."""
        return LOCAL if self._transport is None else self._transport.config.ws_url

    @property
    def is_local(self) -> bool:
        """Whether this is the user's local service."""
        return self._is_local

    async def create_session(
        self,
        ttl: int | timedelta = DEFAULT_TTL,
        name: str | None = None,
        description: str | None = None,
        log_session: bool = True,  # noqa: FBT001, FBT002 - the documented order
        model: str | ModelInfo | ModelInfoInput | None = None,
        language: str = "en",
    ) -> AsyncSession:
        """Create a session.

        Args:
            ttl: The session's lifetime, in seconds or as a ``timedelta``.
            name: Its name; by default the service chooses one.
            description: What it is about.
            log_session: False asks the service to store nothing on disk, if the API key allows that choice.
            model: ``stable``, ``experimental``, a model's id, or a model; the default is the stable model. Tools of
                toolsets whose ``is_enabled`` is False do not run in the session.
            language: The BCP 47 tag of the language of questions whose words do not show one.

        Returns:
            The new session.

        Raises:
            InvalidRequestError: The service does not accept an argument; ``param`` names it.
            ModelNotFoundError: There is no such model; the text lists the models.
            ExperimentalNotAllowedError: The key may not use experimental models.
            LocalServiceError: The local service cannot be started.
        """
        call = _registration(ttl, name, description, log_session, model, language)
        return AsyncSession(await self._connected(), await self._call(call))

    async def resume_session(self, session_id: str) -> AsyncSession:
        """Open an existing session.

        Args:
            session_id: The session's ID, as ``list_sessions`` gives it.

        Returns:
            The session, with its files and its state.

        Raises:
            SessionNotFoundError: There is no such session of the key's user.
            SessionExpiredError: Its lifetime is over.
        """
        return AsyncSession(await self._connected(), await self._call(_existing(session_id)))

    async def list_sessions(self, *, limit: int | None = None, after: str | None = None) -> list[Session]:
        """Fetch the user's live sessions, oldest first, without messages; ``resume_session(s.id)`` opens one.

        A user with many sessions reads them in pages: the next one begins ``after`` the ID of the last session.

        Args:
            limit: The most sessions to fetch; None fetches all.
            after: The ID of the session before the first one; None begins with the oldest.

        Returns:
            The sessions, without their messages; fewer than ``limit`` if these are the last.

        Raises:
            SessionNotFoundError: There is no session ``after``; it was deleted or has expired long ago.
        """
        return await self._call(_requests.list_sessions(limit, after))

    async def get_user_info(self) -> UserInfo:
        """Fetch the key's user and rights, the live sessions, and the models, the stable one first.

        Returns:
            The user, the sessions and the models.
        """
        return await self._call(_requests.user_info())

    async def make_page_code(self) -> str:
        """Get a code that signs in to the service's web page, once, within a minute (used by ``svc open``).

        Returns:
            The code; it is valid once.
        """
        return (await self._call(_requests.page_code())).code

    async def aclose(self) -> None:
        """Close idle connections and abandoned streams. The client can be used again and opens new connections."""
        if self._transport is not None:
            await self._transport.close_streams()
            await self._transport.aclose()

    async def _connected(self) -> AsyncTransport:
        if self._transport is None:
            async with self._connecting:
                if self._transport is None:
                    self._transport = await asyncio.to_thread(_local_transport, AsyncTransport)
        return self._transport

    async def _call(self, call: Call[T]) -> T:
        return await (await self._connected()).call(call)


TransportT = TypeVar("TransportT", Transport, AsyncTransport)


def _local_transport(kind: type[TransportT]) -> TransportT:
    from svc.local import describe, find_or_start  # not needed if an address is configured

    return kind(find_or_start(), refind=find_or_start, log=describe().log)


def _registration(
    ttl: int | timedelta,
    name: str | None,
    description: str | None,
    log_session: bool,  # noqa: FBT001 - private; the methods take it by keyword
    model: str | ModelInfo | ModelInfoInput | None,
    language: str,
) -> Call[Session]:
    request = RegisterRequest(
        id=new_id(),  # chosen here, so that a repeated request gives the same session
        model=_requested(model),
        ttl=_requests.seconds_of(ttl),
        name=name,
        description=description,
        language=language,
        log_session=log_session,
    )
    return _requests.register(request)


def _requested(model: str | ModelInfo | ModelInfoInput | None) -> str | ModelInfoInput | None:
    """The model as the service is asked for it: by its id, unless toolsets of it are disabled."""
    if model is None or isinstance(model, str):
        return model
    disabled = [
        ToolsetChoice(name=one.name, is_enabled=False) for one in model.toolsets or () if one.is_enabled is False
    ]
    if not disabled:
        return model.model_string
    return ModelInfoInput(model_string=model.model_string, toolsets=disabled)


def _existing(session_id: str) -> Call[Session]:
    if not session_id:
        raise InvalidRequestError("session_id is empty. Pass the session_id of a session.", param="session_id")
    return _requests.get_session(session_id)


def newest_first(sessions: Sequence[Session], search: str = "") -> list[Session]:
    """Sort sessions, as the service lists them, by their last use; keep those in which each word of ``search`` occurs.

    Words are looked for, whatever their case, in the name, the first question, the description, the names of files and
    the ID's prefix.

    Args:
        sessions: In the service's order.
        search: Words that a session must have; "" keeps all.

    Returns:
        The sessions that were found, the last used first.
    """
    words = search.casefold().split()
    found = [session for session in reversed(sessions) if all(_has(session, word) for word in words)]
    return sorted(found, key=lambda session: session.update_time, reverse=True)


def _has(session: Session, word: str) -> bool:
    texts = (session.name, session.title, session.description, *(file.name for file in session.files))
    return any(word in text.casefold() for text in texts) or session.id.startswith(word)
