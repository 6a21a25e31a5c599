"""Every exception of the SDK and the service. Facts: docs/wire.md, "Errors".

    SvcError
    ├── ConfigError                    an address, key or option that cannot be used
    ├── UnreachableError               no answer from the service, after every retry
    │   └── LocalServiceError          the local service did not start; names its log
    ├── ProtocolError                  the service sent what the wire does not allow
    ├── TurnTimeoutError               the caller's own time limit passed; the turn was cancelled
    └── ServiceError                   the service refused or failed; carries the wire's code
        ├── InvalidRequestError        400  a field breaks a rule; `param` names it
        │   └── StreamUnsupportedError 400
        ├── InvalidApiKeyError         401
        ├── ExperimentalNotAllowedError 403
        ├── SessionNotFoundError       404
        ├── ModelNotFoundError         404
        ├── AddressNotFoundError       404
        ├── SessionFileNotFoundError   404
        ├── MethodNotAllowedError      405
        ├── TurnInProgressError        409
        ├── SessionIdTakenError        409
        ├── SessionExpiredError        410
        ├── TooLargeError              413
        ├── RateLimitedError           429  `retry_after` in seconds
        ├── TurnCancelledError         499
        ├── InternalServiceError       500
        ├── UpstreamError              502
        └── UnavailableError           503  `retry_after` in seconds

The service raises the same `ServiceError`s that the SDK raises from its replies.
"""

from __future__ import annotations

from typing import ClassVar


class SvcError(Exception):
    """Anything that svc raises on purpose; its text says what happened and what to do."""


class ConfigError(SvcError):
    """An address, a key or an option cannot be used; nothing was sent."""


class UnreachableError(SvcError):
    """The service did not answer, after every retry; the text names its address."""


class LocalServiceError(UnreachableError):
    """The local service could not be started or found; the text names its log file."""


class ProtocolError(SvcError):
    """The service sent something that the wire does not allow: versions too far apart, or no svc service."""


class TurnTimeoutError(SvcError):
    """The caller's time limit passed before the turn ended; the turn was cancelled."""


class ServiceError(SvcError):
    """The service refused or failed. Unknown codes of a newer service come as this class itself.

    ``status`` is the HTTP number, ``code`` the wire's word, ``param`` the field at fault or None,
    ``retry_after`` the seconds the service asks to wait, or None.
    """

    default_status: ClassVar[int] = 500
    default_code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.default_status if status is None else status
        self.code = self.default_code if code is None else code
        self.param = param
        self.retry_after = retry_after

    @property
    def type(self) -> str:
        """The group of the error in OpenAI's words, as it stands in the wire's error body."""
        return _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}


class InvalidRequestError(ServiceError):
    """A field breaks a rule of the wire; ``param`` names it."""

    default_status = 400
    default_code = "invalid_request"


class StreamUnsupportedError(InvalidRequestError):
    """``stream: true`` on /chat/completions."""

    default_code = "stream_unsupported"


class InvalidApiKeyError(ServiceError):
    """Missing, malformed, unknown, revoked or expired key: one answer for all five."""

    default_status = 401
    default_code = "invalid_api_key"


class ExperimentalNotAllowedError(ServiceError):
    """An experimental model with a key that may not use it."""

    default_status = 403
    default_code = "experimental_not_allowed"


class SessionNotFoundError(ServiceError):
    """No such session, or another user's."""

    default_status = 404
    default_code = "session_not_found"


class ModelNotFoundError(ServiceError):
    """A model that the service does not have; the text lists those it has."""

    default_status = 404
    default_code = "model_not_found"


class AddressNotFoundError(ServiceError):
    """An address that the service does not have: base_url points to something else, or to an older service."""

    default_status = 404
    default_code = "not_found"


class SessionFileNotFoundError(ServiceError):
    """``file_idx`` outside the session's files."""

    default_status = 404
    default_code = "file_not_found"


class MethodNotAllowedError(ServiceError):
    """The address exists, with another HTTP method."""

    default_status = 405
    default_code = "method_not_allowed"


class TurnInProgressError(ServiceError):
    """A second query while a turn of the session runs."""

    default_status = 409
    default_code = "turn_in_progress"


class SessionIdTakenError(ServiceError):
    """Another user has a session of that id."""

    default_status = 409
    default_code = "session_id_taken"


class SessionExpiredError(ServiceError):
    """The session's time is over; the text says since when."""

    default_status = 410
    default_code = "session_expired"


class TooLargeError(ServiceError):
    """Body, message, file or number of files over its limit; the text gives both figures."""

    default_status = 413
    default_code = "too_large"


class RateLimitedError(ServiceError):
    """Over the key's requests or tokens per minute; ``retry_after`` in seconds."""

    default_status = 429
    default_code = "rate_limited"


class TurnCancelledError(ServiceError):
    """The turn was cancelled, by this client or another reader of the session."""

    default_status = 499
    default_code = "cancelled"


class InternalServiceError(ServiceError):
    """A fault of the service; the text carries an id that stands in the service's log."""


class UpstreamError(ServiceError):
    """The model behind the service failed; the text says how."""

    default_status = 502
    default_code = "upstream_error"


class UnavailableError(ServiceError):
    """The service is shutting down, or its store is out of reach; ``retry_after`` in seconds."""

    default_status = 503
    default_code = "unavailable"


_CLASSES: dict[str, type[ServiceError]] = {
    cls.default_code: cls
    for cls in (
        InvalidRequestError,
        StreamUnsupportedError,
        InvalidApiKeyError,
        ExperimentalNotAllowedError,
        SessionNotFoundError,
        ModelNotFoundError,
        AddressNotFoundError,
        SessionFileNotFoundError,
        MethodNotAllowedError,
        TurnInProgressError,
        SessionIdTakenError,
        SessionExpiredError,
        TooLargeError,
        RateLimitedError,
        TurnCancelledError,
        InternalServiceError,
        UpstreamError,
        UnavailableError,
    )
}

CODES: tuple[str, ...] = tuple(_CLASSES)
"""Every error code (docs/wire.md, "Errors")."""


def service_error(
    code: str, message: str, *, status: int, param: str | None = None, retry_after: float | None = None
) -> ServiceError:
    """The exception for an error of the wire; a code that is not known gives a plain ``ServiceError``."""
    cls = _CLASSES.get(code, ServiceError)
    return cls(message, status=status, code=code, param=param, retry_after=retry_after)
