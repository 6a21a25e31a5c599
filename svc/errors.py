"""Every exception of the SDK and the service. Facts: docs/wire.md, "Errors".

    SvcError
    ├── ConfigError                    a URL, key or option that cannot be used
    ├── UnreachableError               the service does not answer, after all retries
    │   └── LocalServiceError          the local service did not start; the text names its log
    ├── ProtocolError                  the service broke the protocol
    ├── TurnTimeoutError               the caller's time limit passed; the turn was cancelled
    └── ServiceError                   the service refused or failed; `code` says why
        ├── InvalidRequestError        400  a field is invalid; `param` names it
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
        ├── HistoryLostError           409
        ├── SessionExpiredError        410
        ├── TooLargeError              413
        ├── RateLimitedError           429  `retry_after` in seconds
        ├── TurnCancelledError         499
        ├── InternalServiceError       500
        ├── UpstreamError              502
        ├── UnavailableError           503  `retry_after` in seconds
        ├── QuotaExceededError         507
        └── InsufficientStorageError   507

The service raises the same classes that the SDK raises from its replies.
"""

from __future__ import annotations

from typing import ClassVar


class SvcError(Exception):
    """Base class of every error that svc raises; the text says what happened and what to do."""


class ConfigError(SvcError):
    """A URL, a key or an option cannot be used; nothing was sent."""


class UnreachableError(SvcError):
    """The service did not answer, after all retries; the text names its URL."""


class LocalServiceError(UnreachableError):
    """The local service could not be started or found; the text names its log file."""


class ProtocolError(SvcError):
    """The service broke the protocol: its version differs too much, or it is not an svc service."""


class TurnTimeoutError(SvcError):
    """The caller's time limit passed before the turn ended; the turn was cancelled."""


class ServiceError(SvcError):
    """The service refused or failed. Codes that this version does not know are raised as this class itself.

    Attributes:
        message: The text.
        status: The HTTP status.
        code: The error code, such as ``session_expired``.
        param: The invalid field, or None.
        retry_after: The seconds that the service asks to wait, or None.
    """

    default_status: ClassVar[int] = 500
    default_code: ClassVar[str] = "internal_error"
    default_type: ClassVar[str | None] = None  # that of the status

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
        self.status: int = self.default_status if status is None else status
        self.code: str = self.default_code if code is None else code
        self.param = param
        self.retry_after = retry_after

    @property
    def type(self) -> str:
        """The group of the error in OpenAI's terms, as in the error body on the wire."""
        return self.default_type or _TYPES.get(
            self.status, "server_error" if self.status >= 500 else "invalid_request_error"
        )


_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
    507: "insufficient_quota",
}


class InvalidRequestError(ServiceError):
    """A field is invalid; ``param`` names it."""

    default_status = 400
    default_code = "invalid_request"


class StreamUnsupportedError(InvalidRequestError):
    """``stream: true`` on /chat/completions."""

    default_code = "stream_unsupported"


class InvalidApiKeyError(ServiceError):
    """The key is missing, malformed, unknown, revoked or expired; the service does not say which."""

    default_status = 401
    default_code = "invalid_api_key"


class ExperimentalNotAllowedError(ServiceError):
    """The key may not use experimental models."""

    default_status = 403
    default_code = "experimental_not_allowed"


class SessionNotFoundError(ServiceError):
    """There is no such session, or it is another user's."""

    default_status = 404
    default_code = "session_not_found"


class ModelNotFoundError(ServiceError):
    """The service does not have the model; the text lists those it has."""

    default_status = 404
    default_code = "model_not_found"


class AddressNotFoundError(ServiceError):
    """Unknown endpoint: base_url points to something else, or to an older service."""

    default_status = 404
    default_code = "not_found"


class SessionFileNotFoundError(ServiceError):
    """The session has no such file."""

    default_status = 404
    default_code = "file_not_found"


class MethodNotAllowedError(ServiceError):
    """The endpoint exists with another HTTP method."""

    default_status = 405
    default_code = "method_not_allowed"


class TurnInProgressError(ServiceError):
    """A turn of the session is running already."""

    default_status = 409
    default_code = "turn_in_progress"


class SessionIdTakenError(ServiceError):
    """Another user has a session with that id."""

    default_status = 409
    default_code = "session_id_taken"


class HistoryLostError(ServiceError):
    """The session has fewer messages than the client has seen: the service was restored to an older state.

    The SDK's streams read the session again from its beginning, so they do not raise it.
    """

    default_status = 409
    default_code = "history_lost"


class SessionExpiredError(ServiceError):
    """The session's lifetime is over; the text says since when."""

    default_status = 410
    default_code = "session_expired"


class TooLargeError(ServiceError):
    """A body, message, file or number of files is over its limit; the text gives both figures."""

    default_status = 413
    default_code = "too_large"


class RateLimitedError(ServiceError):
    """The key uses too much at once or within a time; ``retry_after`` is in seconds."""

    default_status = 429
    default_code = "rate_limited"


class TurnCancelledError(ServiceError):
    """The turn was cancelled, by this client or another client of the session.

    ``partial_answer`` is what was found in the part of the evidence that was read until then, in Markdown; "" if the
    assistant gave none.
    """

    partial_answer: str = ""
    default_status = 499
    default_code = "cancelled"


class InternalServiceError(ServiceError):
    """The service has a bug; the text has an id to look up in the service's log."""


class UpstreamError(ServiceError):
    """The model behind the service failed; the text says how."""

    default_status = 502
    default_code = "upstream_error"


class UnavailableError(ServiceError):
    """The service is shutting down, or its store is unreachable; ``retry_after`` is in seconds."""

    default_status = 503
    default_code = "unavailable"


class QuotaExceededError(ServiceError):
    """The user keeps too many sessions or bytes; the text says how many, and what to delete."""

    default_status = 507
    default_code = "quota_exceeded"


class InsufficientStorageError(ServiceError):
    """The service cannot store anything: its disk is full. Nothing was stored; ask again once space is free."""

    default_status = 507
    default_code = "insufficient_storage"
    default_type: ClassVar[str | None] = "server_error"


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
        HistoryLostError,
        SessionExpiredError,
        TooLargeError,
        RateLimitedError,
        TurnCancelledError,
        InternalServiceError,
        UpstreamError,
        UnavailableError,
        QuotaExceededError,
        InsufficientStorageError,
    )
}

CODES: tuple[str, ...] = tuple(_CLASSES)
"""Every error code of docs/wire.md."""


def service_error(
    code: str, message: str, *, status: int, param: str | None = None, retry_after: float | None = None
) -> ServiceError:
    """Build the exception for an error code; an unknown code gives a plain ``ServiceError``."""
    cls = _CLASSES.get(code, ServiceError)
    return cls(message, status=status, code=code, param=param, retry_after=retry_after)
