"""Build each HTTP operation's request and parse its reply, without I/O. Facts: docs/wire.md, "HTTP operations".

An ``Operation`` makes one or more calls and uses their replies. It is a generator that yields calls, so that the
blocking and the asynchronous transport run the same code (``_transport``). This module knows no address and no key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO, Generic, Literal, TypeAlias, TypeVar, cast
from urllib.parse import urlencode

import msgspec

from svc.errors import InvalidRequestError, ProtocolError, SvcError, UnavailableError, service_error
from svc.messages import (
    DeleteRequest,
    DetachFileRequest,
    ErrorBody,
    FeedbackRequest,
    FeedbackType,
    Health,
    PageCode,
    RegisterRequest,
    Session,
    SessionFile,
    UpdateRequest,
    UserInfo,
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BINARY = "application/octet-stream"
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;\s*[\w.-]+=[\w.+-]+)*", re.ASCII)
_GATEWAY_CODES = {429: "rate_limited", 502: "upstream_error", 503: "unavailable", 504: "unavailable"}


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """One request and how to parse its reply.

    ``target`` is path and query. ``body`` is the content, a function that opens a file to stream, or None.
    ``is_repeatable``: sending it twice has the same effect as sending it once, so it may be retried if its reply is
    lost.
    """

    method: Literal["GET", "POST"]
    target: str
    parse: Callable[[bytes], T_co]
    body: bytes | Callable[[], BinaryIO] | None = None
    content_type: str = "application/json"
    is_repeatable: bool = True


Operation: TypeAlias = Generator[Call[object], object, T]
"""Yields calls, is sent each call's parsed reply, and returns the operation's result."""


def send(call: Call[T]) -> Operation[T]:
    """Make one call within an operation: ``session = yield from send(get_session(id))``."""
    reply = yield call
    return cast(T, reply)  # the transport sends what `call.parse` returned


@dataclass(frozen=True)
class Reply:
    """A status, a body and the ``Retry-After`` header in seconds, or None."""

    status: int
    body: bytes
    retry_after: float | None = None


class Done(msgspec.Struct):
    """An OpResult whose ``data`` is not used."""

    ok: bool = True


class _MadeSession(msgspec.Struct):
    """An OpResult that carries a session."""

    data: Session


class _UpdatedSession(msgspec.Struct):
    """An OpResult that may carry the session: an older service may answer an update without it."""

    data: Session | None = None


class _MadeFile(msgspec.Struct):
    """An OpResult that carries a file."""

    data: SessionFile


def seconds_of(ttl: int | timedelta) -> int:
    """A lifetime in whole seconds; a part of a second is rounded up, so that it is not shorter than asked for.

    Raises:
        InvalidRequestError: It is neither a number of seconds nor a ``timedelta``.
    """
    if isinstance(ttl, timedelta):
        return math.ceil(ttl.total_seconds())
    if isinstance(ttl, bool) or not isinstance(ttl, int):
        raise InvalidRequestError(
            f"ttl is {ttl!r:.80}, which is not a lifetime. Pass whole seconds or a timedelta. The order of the "
            "arguments is ttl, name, description, log_session, model, language.",
            param="ttl",
        )
    return ttl


def health() -> Call[Health]:
    """GET /health, the only operation that needs no key."""
    return Call("GET", "/health", _parser(Health))


def user_info() -> Call[UserInfo]:
    """GET /user/info: the key's user, live sessions and available models."""
    return Call("GET", "/user/info", _parser(UserInfo))


def page_code() -> Call[PageCode]:
    """POST /page/code."""
    return Call("POST", "/page/code", _parser(PageCode))


def list_sessions(limit: int | None = None, after: str | None = None) -> Call[list[Session]]:
    """GET /session/list: the live sessions, oldest first, without messages; ``limit`` of them, ``after`` a session."""
    chosen = {"limit": limit, "after_id": after}
    query = urlencode({name: value for name, value in chosen.items() if value is not None})
    return Call("GET", f"/session/list?{query}" if query else "/session/list", _parser(list[Session]))


def register(request: RegisterRequest) -> Call[Session]:
    """POST /session/register. Repeatable if the client chose the id: the same id gives the same session."""
    return Call("POST", "/session/register", _parse_session, _encode(request), is_repeatable=request.id is not None)


def get_session(session_id: str) -> Call[Session]:
    """GET /session/get: the session with its messages."""
    return Call("GET", f"/session/get?{urlencode({'session_id': session_id})}", _parser(Session))


def update(request: UpdateRequest) -> Call[Session | None]:
    """POST /session/update: the updated session, or None if the service does not return it."""
    return Call("POST", "/session/update", _parse_updated, _encode(request))


def delete(session_id: str) -> Call[Done]:
    """POST /session/delete. Not repeatable: the second reply would be "no such session"."""
    body = _encode(DeleteRequest(id=session_id))
    return Call("POST", "/session/delete", _parser(Done), body, is_repeatable=False)


def upload_file(
    session_id: str, name: str, body: bytes | Callable[[], BinaryIO], mime_type_hint: str | None = None
) -> Call[SessionFile]:
    """POST /session/upload_file. Not repeatable: a second upload could attach a second file.

    ``body`` is the content, or a function that opens a file; it is called and the file closed once per attempt.
    Raises InvalidRequestError if the name is empty or the hint is not a MIME type.
    """
    if not name:
        raise InvalidRequestError(
            "the file name is empty. Pass a name: questions refer to the file by it.", param="name"
        )
    hint = mime_type_hint or BINARY
    if not _MIME_TYPE.fullmatch(hint):
        raise InvalidRequestError(
            f"mime_type_hint {hint[:80]!r} is not a MIME type. Use one such as text/plain, or omit it.",
            param="mime_type_hint",
        )
    query = urlencode({"session_id": session_id, "filename": name}, errors="replace")
    target = f"/session/upload_file?{query}"
    return Call("POST", target, _parse_file, body, content_type=hint, is_repeatable=False)


def read_file(session_id: str, sha256: str) -> Call[bytes]:
    """GET /session/file: the content of a file of the session."""
    query = urlencode({"session_id": session_id, "sha256": sha256})
    return Call("GET", f"/session/file?{query}", bytes)


def detach_file(session_id: str, index: int) -> Call[Done]:
    """POST /session/detach_file. Not repeatable: another file may have the index by then."""
    body = _encode(DetachFileRequest(session_id=session_id, file_idx=index))
    return Call("POST", "/session/detach_file", _parser(Done), body, is_repeatable=False)


def send_feedback(session_id: str, score: int, comment: str, group_id: str) -> Call[Done]:
    """POST /session/feedback with a score. Not repeatable: a second one would count twice."""
    return _feedback(session_id, FeedbackType.USER_FEEDBACK, score, comment, group_id)


def send_bug_report(session_id: str, bug: str, group_id: str) -> Call[Done]:
    """POST /session/feedback with a bug report. Raises InvalidRequestError if ``bug`` is blank."""
    if not bug.strip():
        raise InvalidRequestError("the bug report is empty. Say what happened and what you expected.", param="comment")
    return _feedback(session_id, FeedbackType.BUG_REPORT, 0, bug, group_id)


def _feedback(session_id: str, kind: FeedbackType, score: int, comment: str, group_id: str) -> Call[Done]:
    request = FeedbackRequest(session_id=session_id, type=kind, score=score, comment=comment, group_id=group_id or None)
    return Call("POST", "/session/feedback", _parser(Done), _encode(request), is_repeatable=False)


def parse_reply(call: Call[T], reply: Reply) -> T:
    """Parse a reply. Raises the typed ServiceError, or ProtocolError if the reply breaks the protocol."""
    if not 200 <= reply.status < 300:
        raise parse_error(reply)
    try:
        return call.parse(reply.body)
    except msgspec.MsgspecError as error:
        raise ProtocolError(
            f"the reply to {call.method} {call.target.partition('?')[0]} is invalid: {error}. "
            "Check that base_url is an svc service of about the same version."
        ) from error


def parse_error(reply: Reply) -> SvcError:
    """Build the error of a reply outside 2xx; one without the service's error body came from a proxy."""
    try:
        error = msgspec.json.decode(reply.body, type=ErrorBody).error
    except msgspec.MsgspecError:
        return _foreign_error(reply)
    return service_error(
        error.code, error.message, status=reply.status, param=error.param, retry_after=reply.retry_after
    )


def parse_retry_after(text: str | None) -> float | None:
    """Seconds from a ``Retry-After`` header; None if absent or a date (which RFC 9110 allows)."""
    if text is None or not re.fullmatch(r"\d{1,9}(\.\d{1,3})?", text.strip(), re.ASCII):
        return None
    return float(text)


def _foreign_error(reply: Reply) -> SvcError:
    code = _GATEWAY_CODES.get(reply.status)
    if code is None:
        return ProtocolError(
            f"HTTP {reply.status} came back without the service's error body. "
            "Check that base_url and ws_url point to an svc service, including any path prefix."
        )
    text = f"a proxy in front of the service answered HTTP {reply.status}. Try again; if it persists, ask its admin."
    if code == "unavailable":
        return UnavailableError(text, status=reply.status, retry_after=reply.retry_after)
    return service_error(code, text, status=reply.status, retry_after=reply.retry_after)


def _encode(body: msgspec.Struct) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{error.object!r:.80} contains half a surrogate pair, which is not text. Remove it."
        ) from error


def _parser(cls: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(cls).decode


def _parse_session(body: bytes) -> Session:
    return msgspec.json.decode(body, type=_MadeSession).data


def _parse_updated(body: bytes) -> Session | None:
    return msgspec.json.decode(body, type=_UpdatedSession).data


def _parse_file(body: bytes) -> SessionFile:
    return msgspec.json.decode(body, type=_MadeFile).data
