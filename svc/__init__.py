"""Conversational security analysis: the Python SDK. ``Svc`` is the door; unconfigured, it brings its own service.

    from svc import Svc
    session = Svc().create_session()
    print(session.query("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H").text())

Public names only. What needs the network's libraries is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from svc._version import __version__
from svc.config import DEFAULT_BASE_URL, DEFAULT_WS_URL, state_folder
from svc.errors import (
    AddressNotFoundError,
    ConfigError,
    ExperimentalNotAllowedError,
    InternalServiceError,
    InvalidApiKeyError,
    InvalidRequestError,
    LocalServiceError,
    MethodNotAllowedError,
    ModelNotFoundError,
    ProtocolError,
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
    Toolset,
    Usage,
    User,
    UserInfo,
    UserType,
    Vendor,
)

if TYPE_CHECKING:
    from svc.client import Svc
    from svc.session import InteractiveSession

__all__ = [
    "DEFAULT_BASE_URL",
    "DEFAULT_TTL",
    "DEFAULT_WS_URL",
    "AddressNotFoundError",
    "ConfigError",
    "ConfirmationRequest",
    "ExperimentalNotAllowedError",
    "FeedbackType",
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
    "TooLargeError",
    "Toolset",
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
    "__version__",
    "state_folder",
]

_LAZY = {"Svc": "svc.client", "InteractiveSession": "svc.session"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'svc' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
