"""``Svc``: the door to a service, and the sessions made through it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from svc import _requests
from svc._transport import Transport
from svc.config import LOCAL, Config, resolve
from svc.errors import InvalidRequestError
from svc.messages import DEFAULT_TTL, ModelInfo, ModelInfoInput, RegisterRequest, Session, UserInfo, new_id
from svc.session import InteractiveSession


class Svc:
    """A service: the one that is given, else the environment's (``SVC_API_KEY``, ``SVC_BASE_URL``, ``SVC_WS_URL``),
    else the local one, which is started where it does not run.

    ``ws_url`` follows from ``base_url`` where it is left out; ``base_url="local"`` is the local service whatever the
    environment says. Raises ConfigError where these cannot be used, LocalServiceError where the local one does not
    start. ``close``, or leaving ``with``, closes idle connections; sessions live on.
    """

    def __init__(self, api_key: str | None = None, base_url: str | None = None, ws_url: str | None = None) -> None:
        found = resolve(api_key, base_url, ws_url)
        self._transport = Transport(found) if isinstance(found, Config) else _local_transport()
        self._is_local = found == LOCAL

    def __repr__(self) -> str:
        return f"Svc(base_url={LOCAL if self._is_local else self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """The address in use now; the local service's may change."""
        return self._transport.config.base_url

    @property
    def ws_url(self) -> str:
        """The address of the streams in use now."""
        return self._transport.config.ws_url

    @property
    def is_local(self) -> bool:
        """Whether this is the local service of this user."""
        return self._is_local

    def create_session(
        self,
        *,
        ttl: int = DEFAULT_TTL,
        name: str | None = None,
        description: str | None = None,
        log_session: bool = True,
        model: str | ModelInfo | ModelInfoInput | None = None,
        language: str = "en",
    ) -> InteractiveSession:
        """A new session. ``ttl`` is in seconds; ``model`` is ``stable``, ``experimental`` or a model's id.

        ``log_session=False`` asks the service to keep nothing on disk, where the key leaves the choice.
        """
        request = RegisterRequest(
            id=new_id(),  # our own, so that a repeated request is the same session
            model=model.model_string if isinstance(model, ModelInfo | ModelInfoInput) else model,
            ttl=ttl,
            name=name,
            description=description,
            language=language,
            can_log=log_session,
        )
        return InteractiveSession(self._transport, self._transport.call(_requests.register(request)))

    def resume_session(self, session_id: str) -> InteractiveSession:
        """A session made before. Raises SessionNotFoundError or SessionExpiredError."""
        if not session_id:
            raise InvalidRequestError("session_id is empty. A session's id is its session_id.", param="session_id")
        return InteractiveSession(self._transport, self._transport.call(_requests.get_session(session_id)))

    def list_sessions(self) -> list[Session]:
        """The key's live sessions, oldest first, without their messages; ``resume_session(s.id)`` goes on with one."""
        return self._transport.call(_requests.list_sessions())

    def get_user_info(self) -> UserInfo:
        """Whom the key belongs to and what it may do, its live sessions, and the models, the stable one first."""
        return self._transport.call(_requests.user_info())

    def make_page_code(self) -> str:
        """A code that signs the service's page in, once, within a minute (``svc open``)."""
        return self._transport.call(_requests.page_code()).code

    def close(self) -> None:
        """Close idle connections; what is used again opens new ones."""
        self._transport.close()


def _local_transport() -> Transport:
    from svc.local import describe, find_or_start  # a configured client never needs it

    return Transport(find_or_start(), refind=find_or_start, log=describe().log)
