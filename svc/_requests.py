"""Each HTTP operation as a pure pair: what is sent, and how its reply reads. Facts: docs/wire.md, "HTTP operations".

Sends nothing and knows no address and no key (``_transport`` does).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar
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

BINARY = "application/octet-stream"
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;\s*[\w.-]+=[\w.+-]+)*", re.ASCII)
_GATEWAY_CODES = {429: "rate_limited", 502: "upstream_error", 503: "unavailable", 504: "unavailable"}


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. ``target`` is path and query; ``body`` None where there is none, or where a file is streamed.

    ``is_repeatable``: doing it twice is the same as doing it once, so a lost reply may be asked for again.
    """

    method: Literal["GET", "POST"]
    target: str
    read: Callable[[bytes], T]
    body: bytes | None = None
    content_type: str = "application/json"
    is_repeatable: bool = True


@dataclass(frozen=True)
class Reply:
    """What came back. ``retry_after`` is in seconds, or None."""

    status: int
    body: bytes
    retry_after: float | None = None


class Done(msgspec.Struct):
    """An OpResult whose ``data`` nobody needs."""

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


def health() -> Call[Health]:
    """GET /health; the one operation that needs no key."""
    return Call("GET", "/health", _reader(Health))


def user_info() -> Call[UserInfo]:
    """GET /user/info: whom the key belongs to, the live sessions, the models."""
    return Call("GET", "/user/info", _reader(UserInfo))


def page_code() -> Call[PageCode]:
    """POST /page/code."""
    return Call("POST", "/page/code", _reader(PageCode))


def list_sessions() -> Call[list[Session]]:
    """GET /session/list: the live sessions, oldest first, without messages."""
    return Call("GET", "/session/list", _reader(list[Session]))


def register(request: RegisterRequest) -> Call[Session]:
    """POST /session/register. With an id of the client's own it may be repeated: the same id is the same session."""
    return Call("POST", "/session/register", _read_session, _encode(request), is_repeatable=request.id is not None)


def get_session(session_id: str) -> Call[Session]:
    """GET /session/get: the session with its messages."""
    return Call("GET", f"/session/get?{urlencode({'session_id': session_id})}", _reader(Session))


def update(request: UpdateRequest) -> Call[Session | None]:
    """POST /session/update: the session after it, or None from a service that does not send it."""
    return Call("POST", "/session/update", _read_updated, _encode(request))


def delete(session_id: str) -> Call[Done]:
    """POST /session/delete. Not repeated after a lost reply: the second answer would be "no such session"."""
    body = _encode(DeleteRequest(id=session_id))
    return Call("POST", "/session/delete", _reader(Done), body, is_repeatable=False)


def upload_file(session_id: str, name: str, mime_type_hint: str | None = None) -> Call[SessionFile]:
    """POST /session/upload_file; the bytes are streamed apart. Not repeated: a second one is a second file."""
    if not name:
        raise InvalidRequestError("the file has no name. Give one: it is how a question refers to it.", param="name")
    hint = mime_type_hint or BINARY
    if not _MIME_TYPE.fullmatch(hint):
        raise InvalidRequestError(
            f"mime_type_hint {hint[:80]!r} is not a MIME type. Give one as text/plain, or leave it out.",
            param="mime_type_hint",
        )
    query = urlencode({"session_id": session_id, "filename": name}, errors="replace")
    target = f"/session/upload_file?{query}"
    return Call("POST", target, _read_file, content_type=hint, is_repeatable=False)


def detach_file(session_id: str, index: int) -> Call[Done]:
    """POST /session/detach_file. Not repeated: another file may have the index by then."""
    body = _encode(DetachFileRequest(session_id=session_id, file_idx=index))
    return Call("POST", "/session/detach_file", _reader(Done), body, is_repeatable=False)


def send_feedback(session_id: str, score: int, comment: str, group_id: str) -> Call[Done]:
    """POST /session/feedback with a score. Not repeated: a second one would count twice."""
    return _feedback(session_id, FeedbackType.USER_FEEDBACK, score, comment, group_id)


def send_bug_report(session_id: str, bug: str, group_id: str) -> Call[Done]:
    """POST /session/feedback about a fault. Raises InvalidRequestError where it says nothing."""
    if not bug.strip():
        raise InvalidRequestError("the bug report is empty. Say what happened and what you expected.", param="comment")
    return _feedback(session_id, FeedbackType.BUG_REPORT, 0, bug, group_id)


def _feedback(session_id: str, kind: FeedbackType, score: int, comment: str, group_id: str) -> Call[Done]:
    request = FeedbackRequest(session_id=session_id, type=kind, score=score, comment=comment, group_id=group_id or None)
    return Call("POST", "/session/feedback", _reader(Done), _encode(request), is_repeatable=False)


def read_reply(call: Call[T], reply: Reply) -> T:
    """What the reply says. Raises the typed ServiceError, or ProtocolError where it is not of the wire."""
    if not 200 <= reply.status < 300:
        raise read_error(reply)
    try:
        return call.read(reply.body)
    except msgspec.MsgspecError as error:
        raise ProtocolError(
            f"{call.method} {call.target.partition('?')[0]} was answered with what is not of the wire: {error}. "
            "Check that base_url is a svc service, and that both have about the same version."
        ) from error


def read_error(reply: Reply) -> SvcError:
    """The error that a reply outside 2xx stands for; one without the wire's body came from something in between."""
    try:
        error = msgspec.json.decode(reply.body, type=ErrorBody).error
    except msgspec.MsgspecError:
        return _foreign_error(reply)
    return service_error(
        error.code, error.message, status=reply.status, param=error.param, retry_after=reply.retry_after
    )


def parse_retry_after(text: str | None) -> float | None:
    """Seconds from a ``Retry-After`` header; None where there is none or it is a date (RFC 9110 allows one)."""
    if text is None or not re.fullmatch(r"\d{1,9}(\.\d{1,3})?", text.strip(), re.ASCII):
        return None
    return float(text)


def _foreign_error(reply: Reply) -> SvcError:
    code = _GATEWAY_CODES.get(reply.status)
    if code is None:
        return ProtocolError(
            f"HTTP {reply.status} came back without the wire's error body. "
            "Check that base_url and ws_url are a svc service's, path prefix and all."
        )
    text = (
        f"something between here and the service answered HTTP {reply.status}. Try again; if it stays, ask its admin."
    )
    if code == "unavailable":
        return UnavailableError(text, status=reply.status, retry_after=reply.retry_after)
    return service_error(code, text, status=reply.status, retry_after=reply.retry_after)


def _encode(body: msgspec.Struct) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{error.object!r:.80} holds half a character, which is no text. Leave it out."
        ) from error


def _reader(cls: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(cls).decode


def _read_session(body: bytes) -> Session:
    return msgspec.json.decode(body, type=_MadeSession).data


def _read_updated(body: bytes) -> Session | None:
    return msgspec.json.decode(body, type=_UpdatedSession).data


def _read_file(body: bytes) -> SessionFile:
    return msgspec.json.decode(body, type=_MadeFile).data
