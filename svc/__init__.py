"""Conversational security analysis: the Python SDK.

``Svc`` is a blocking client, ``AsyncSvc`` the same for an event loop. If no address is configured, they use the local
service, which is started if it is not running.

    from svc import Svc

    with Svc() as client:
        session = client.create_session()
        session.attach_file_from_disk("/var/log/auth.log")
        print(session.query("Which accounts were compromised?").text())

    async with AsyncSvc() as client:
        session = await client.create_session()
        async for message in session.stream("Decode aGVsbG8="):
            print(message.get_content())

The public names:

    clients     Svc, AsyncSvc
    sessions    InteractiveSession, AsyncSession, Watch
    answers     SessionResponse, AnswerStatus, AnswerCoverage, InputCoverage, ClauseCoverage,
                Message, MessageType, MimeType, Role, State, TaskProgress, Usage
    listings    Session, SessionFile, UserInfo, User, UserType
    models      ModelInfo, ModelInfoInput, Toolset, ToolsetChoice, Vendor
    own tools   LocalTool, LocalToolCall, ConfirmationRequest
    errors      SvcError and its subclasses; the tree is in ``help("svc.errors")``

Names that need networking libraries import them on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from svc._version import __version__
from svc.answer_coverage import AnswerCoverage, ClauseCoverage, InputCoverage
from svc.config import DEFAULT_BASE_URL, DEFAULT_WS_URL, state_folder
from svc.errors import (
    AddressNotFoundError,
    ConfigError,
    ExperimentalNotAllowedError,
    HistoryLostError,
    InsufficientStorageError,
    InternalServiceError,
    InvalidApiKeyError,
    InvalidRequestError,
    LocalServiceError,
    MethodNotAllowedError,
    ModelNotFoundError,
    ProtocolError,
    QuotaExceededError,
    RateLimitedError,
    ServiceError,
    SessionExpiredError,
    SessionFileNotFoundError,
    SessionIdTakenError,
    SessionNotFoundError,
    StreamUnsupportedError,
    SvcError,
    TooLargeError,
    TurnCancelledError,
    TurnInProgressError,
    TurnTimeoutError,
    UnavailableError,
    UnreachableError,
    UpstreamError,
)
from svc.local_tools import ConfirmationRequest, LocalTool, LocalToolCall
from svc.messages import (
    DEFAULT_TTL,
    AnswerStatus,
    FeedbackType,
    Message,
    MessageType,
    MimeType,
    ModelInfo,
    ModelInfoInput,
    Role,
    Session,
    SessionFile,
    SessionResponse,
    State,
    TaskProgress,
    Toolset,
    ToolsetChoice,
    Usage,
    User,
    UserInfo,
    UserType,
    Vendor,
)

if TYPE_CHECKING:
    from svc._base_session import Watch
    from svc.client import AsyncSvc, Svc
    from svc.session import AsyncSession, InteractiveSession

__all__ = [
    "DEFAULT_BASE_URL",
    "DEFAULT_TTL",
    "DEFAULT_WS_URL",
    "AddressNotFoundError",
    "AnswerCoverage",
    "AnswerStatus",
    "AsyncSession",
    "AsyncSvc",
    "ClauseCoverage",
    "ConfigError",
    "ConfirmationRequest",
    "ExperimentalNotAllowedError",
    "FeedbackType",
    "HistoryLostError",
    "InputCoverage",
    "InsufficientStorageError",
    "InteractiveSession",
    "InternalServiceError",
    "InvalidApiKeyError",
    "InvalidRequestError",
    "LocalServiceError",
    "LocalTool",
    "LocalToolCall",
    "Message",
    "MessageType",
    "MethodNotAllowedError",
    "MimeType",
    "ModelInfo",
    "ModelInfoInput",
    "ModelNotFoundError",
    "ProtocolError",
    "QuotaExceededError",
    "RateLimitedError",
    "Role",
    "ServiceError",
    "Session",
    "SessionExpiredError",
    "SessionFile",
    "SessionFileNotFoundError",
    "SessionIdTakenError",
    "SessionNotFoundError",
    "SessionResponse",
    "State",
    "StreamUnsupportedError",
    "Svc",
    "SvcError",
    "TaskProgress",
    "TooLargeError",
    "Toolset",
    "ToolsetChoice",
    "TurnCancelledError",
    "TurnInProgressError",
    "TurnTimeoutError",
    "UnavailableError",
    "UnreachableError",
    "UpstreamError",
    "Usage",
    "User",
    "UserInfo",
    "UserType",
    "Vendor",
    "Watch",
    "__version__",
    "state_folder",
]

_LAZY = {
    "AsyncSession": "svc.session",
    "AsyncSvc": "svc.client",
    "InteractiveSession": "svc.session",
    "Svc": "svc.client",
    "Watch": "svc._base_session",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'svc' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
