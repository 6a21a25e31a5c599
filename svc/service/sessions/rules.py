"""Rules of a session: lifetime, logging, names, language, file names, queries. No I/O; the time is an argument.

Facts: docs/wire.md, "Session", "Message", "Limits". Language tags are BCP 47, checked by the ``langcodes`` library.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import langcodes
import msgspec
from msgspec import UNSET, UnsetType

from svc.errors import (
    InvalidRequestError,
    ServiceError,
    SessionExpiredError,
    SessionFileNotFoundError,
    TooLargeError,
    service_error,
)
from svc.messages import (
    MADE_LABEL,
    ROOT_ID,
    FeedbackRequest,
    FeedbackType,
    Message,
    MessageType,
    RegisterRequest,
    Role,
    Session,
    SessionFile,
    State,
    UpdateRequest,
    new_id,
)
from svc.service.sessions.models import Models
from svc.service.sessions.registration import read_instructions, read_tools
from svc.service.settings import Settings
from svc.service.store.records import FileRecord, KeyRecord, Logging, SessionRecord

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ISO_639 = re.compile(r"[A-Za-z]{2,3}")
MAX_SCORE = 1_000  # of feedback, in either direction: clients use stars, thumbs or percentages
SHA256_PATTERN = "^[0-9a-f]{64}$"
_FORBIDDEN_IN_FILE_NAME = re.compile(r"[\x00-\x1f\x7f/\\]")


def new_session(
    request: RegisterRequest,
    key: KeyRecord,
    *,
    now: float,
    settings: Settings,
    models: Models,
    instructions: str = "",
) -> SessionRecord:
    """Build the session that a request asks for; raises the wire's error for the first field that breaks a rule.

    Args:
        request: The registration.
        key: Whose session it is.
        now: Seconds since the epoch.
        settings: The limits.
        models: Those of the service.
        instructions: The system messages of an OpenAI-style client.
    """
    tools = read_tools(request.local_tools or (), settings)
    _check_nul(instructions, "messages")
    instructions = instructions or read_instructions(request.agents_config, settings)
    _check_nul(instructions, "agents_config")
    ttl = settings.default_ttl_seconds if request.ttl is None else check_ttl(request.ttl, settings)
    return SessionRecord(
        id=check_id(request.id, "id") if request.id else new_id(),
        user_id=key.user_id,
        org_id=key.org_id,
        model=models.choose(request.model, allow_experimental=key.allow_experimental),
        ttl=ttl,
        language=check_language(request.language or "en"),
        name=_check_text(request.name or "", "name", settings.max_name_chars) or default_session_name(now),
        description=_check_text(request.description or "", "description", settings.max_description_chars),
        create_time=int(now),
        update_time=int(now),
        expire_time=int(now) + ttl,
        can_log=_can_log(key, request, settings),
        instructions=instructions,
        agents_config=msgspec.json.encode(request.agents_config).decode() if request.agents_config else "",
        registered_tools=tools,
    )


def apply_update(session: SessionRecord, request: UpdateRequest, *, now: float, settings: Settings) -> SessionRecord:
    """Apply an update: missing or empty fields stay as they are; a ttl counts from now."""
    ttl = check_ttl(request.ttl, settings) if request.ttl else session.ttl
    return msgspec.structs.replace(
        session,
        name=_check_text(request.name or "", "name", settings.max_name_chars) or session.name,
        description=_check_text(request.description or "", "description", settings.max_description_chars)
        or session.description,
        ttl=ttl,
        update_time=int(now),
        expire_time=int(now) + ttl if request.ttl else session.expire_time,
    )


def _can_log(key: KeyRecord, request: RegisterRequest, settings: Settings) -> bool:
    """Whether the session may be logged; raises InvalidRequestError if it may not, and others could not reach it."""
    can_log = can_log_session(key.logging, requested=request.log_session)
    if settings.shared_database and not settings.advertise and not can_log:
        raise InvalidRequestError(
            "unlogged sessions are not available: each lives in the memory of one service, several services share this "
            "database, and this one has no address for the others. Leave can_log out, or ask the operator to set "
            "--advertise http://HOST:PORT (SVC_ADVERTISE)"
            + (". This key may not log sessions" if key.logging == "never" else ""),
            param="can_log",
        )
    return can_log


def can_log_session(logging: Logging, *, requested: bool | None) -> bool:
    """Whether a session may be logged; the request decides only if the key's logging is optional."""
    if logging == "optional":
        return requested is not False
    return logging == "required"


def check_alive(session: SessionRecord, now: float) -> None:
    """Raise SessionExpiredError from the second of ``expire_time`` on."""
    if now >= session.expire_time:
        raise SessionExpiredError(
            f"session {session.id} expired at {_utc_text(session.expire_time)}; register a new one "
            "(to extend a session, choose a longer ttl or update it before it expires)"
        )


def check_id(value: str, param: str) -> str:
    """Return the id if it is valid; raises InvalidRequestError."""
    if not _ID.fullmatch(value):
        raise InvalidRequestError(f"{param} is {_quoted(value)}; it must be 1 to 64 of A-Z a-z 0-9 _ -", param=param)
    return value


def check_ttl(ttl: int, settings: Settings) -> int:
    """Return the ttl if it is in range; raises InvalidRequestError."""
    if not settings.min_ttl_seconds <= ttl <= settings.max_ttl_seconds:
        raise InvalidRequestError(
            f"ttl is {ttl}; it must be {settings.min_ttl_seconds} to {settings.max_ttl_seconds} seconds", param="ttl"
        )
    return ttl


def check_language(tag: str) -> str:
    """Return the tag if it is valid BCP 47 and starts with an ISO 639 code; raises InvalidRequestError."""
    is_known = bool(_ISO_639.fullmatch(tag.split("-")[0])) and len(tag) <= 64 and langcodes.tag_is_valid(tag)
    if not is_known:
        raise InvalidRequestError(
            f"language is {_quoted(tag)}; it must be a BCP 47 tag such as en or en-US", param="language"
        )
    return tag


def check_feedback(request: FeedbackRequest, settings: Settings) -> None:
    """Raise InvalidRequestError or TooLargeError for feedback that breaks a rule."""
    if request.type not in list(FeedbackType):
        raise InvalidRequestError(
            f"type is {_quoted(request.type)}; it must be one of {', '.join(FeedbackType)}", param="type"
        )
    if abs(request.score) > MAX_SCORE:
        raise InvalidRequestError(f"score is {request.score}; it must be -{MAX_SCORE} to {MAX_SCORE}", param="score")
    _check_text(request.group_id or "", "group_id", settings.max_description_chars)
    _check_nul(request.comment, "comment")
    check_content_size(request.comment, settings)


def check_file_name(name: str, settings: Settings) -> str:
    """Return the name if it is valid and not a path; raises InvalidRequestError."""
    if not name or len(name) > settings.max_file_name_chars:
        raise InvalidRequestError(
            f"filename has {len(name)} characters; it must have 1 to {settings.max_file_name_chars}", param="filename"
        )
    if _FORBIDDEN_IN_FILE_NAME.search(name) or name in (".", ".."):
        raise InvalidRequestError(
            f"filename is {_quoted(name)}; it must be a name, not a path: remove slashes and control characters",
            param="filename",
        )
    return name


def check_sha256(digest: str) -> str:
    """Return the digest if it is a SHA-256 in lower-case hex; raises InvalidRequestError."""
    if not re.fullmatch(SHA256_PATTERN, digest):
        raise InvalidRequestError(f"sha256 is {_quoted(digest)}; it must have 64 digits of 0-9 and a-f", param="sha256")
    return digest


def check_query(message: Message, *, now: float, settings: Settings) -> Message:
    """Return the query as it is stored, with the service's clock and the user's role; raises the wire's error.

    A ``turn`` or ``group`` that is not a valid id is replaced, because some clients send other text there.
    """
    check_id(message.id, "id")
    if message.message_type != MessageType.QUERY:
        raise InvalidRequestError(
            f"message_type is {_quoted(message.message_type)}; a client may send query, cancel, "
            "or an answer to a request",
            param="message_type",
        )
    if not message.content or not message.content.strip():
        raise InvalidRequestError("content is empty; it must hold the question", param="content")
    if not message.mime_type.is_text:
        raise InvalidRequestError(
            f"mime_type is {_quoted(message.mime_type)}; a question must be text: attach anything else as a file",
            param="mime_type",
        )
    check_content_size(message.content, settings)
    return Message(
        message_type=MessageType.QUERY,
        id=message.id,
        parent_id=message.parent_id if _ID.fullmatch(message.parent_id) else ROOT_ID,
        turn=message.turn if _ID.fullmatch(message.turn) else new_id(),
        group=message.group if _ID.fullmatch(message.group) else new_id(),
        role=Role.USER,
        created_at=now,
        title=message.title[: settings.max_name_chars] if message.title else None,
        state=State.QUERY,
        content=message.content,
        mime_type=message.mime_type,
        files=_check_files(message.files, settings),
    )


def check_named_files(named: Sequence[str], files: Sequence[FileRecord]) -> None:
    """Raise SessionFileNotFoundError if a query is about a file that the session does not have.

    Args:
        named: The names or SHA-256 of files.
        files: The session's files; those that the assistant made are not evidence.
    """
    evidence = [file for file in files if not file.label.startswith(MADE_LABEL)]
    known = {key for file in evidence for key in (file.name, file.sha256)}
    for one in named:
        if one not in known:
            names = ", ".join(_quoted(name) for name in dict.fromkeys(file.name for file in evidence)) or "none"
            raise SessionFileNotFoundError(
                f"files has {_quoted(one)}, and no file of the session has this name or SHA-256. Its files: {names}. "
                "Attach the file first, or choose one of these",
                param="files",
            )


def _check_files(named: Sequence[str] | UnsetType | None, settings: Settings) -> tuple[str, ...] | UnsetType:
    if not named:
        return UNSET
    if len(named) > settings.max_session_files:
        raise InvalidRequestError(
            f"files has {len(named):,} entries; the limit is {settings.max_session_files}. Choose fewer files, or "
            "leave files out to ask about the session",
            param="files",
        )
    return tuple(dict.fromkeys(named))


def check_content_size(content: str, settings: Settings) -> None:
    """Raise TooLargeError if a message cannot hold the text."""
    size = len(content.encode())
    if size > settings.max_content_bytes:
        raise TooLargeError(
            f"content is {size:,} bytes; the limit is {settings.max_content_bytes:,}. "
            "Attach the text as a file and ask about it",
            param="content",
        )
    encoded = len(msgspec.json.encode(content))
    room = settings.max_message_bytes - 4_096  # for the other fields
    if encoded > room:
        raise TooLargeError(
            f"content is {encoded:,} bytes as JSON; the limit is {room:,}. Attach the text as a file and ask about it",
            param="content",
        )


def default_session_name(now: float) -> str:
    """The name of a session whose client gave none."""
    return f"Session of {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC"


def wire_session(session: SessionRecord, messages: Sequence[Message] = ()) -> Session:
    """The session as clients see it."""
    state = State.RUNNING_AGENT if session.is_running else State.AGENT_DONE if session.turns else State.START
    return Session(
        id=session.id,
        user_id=session.user_id,
        org_id=session.org_id,
        model=session.model,
        ttl=session.ttl,
        language=session.language,
        turns=session.turns,
        name=session.name,
        description=session.description,
        title=session.title,
        create_time=session.create_time,
        update_time=session.update_time,
        expire_time=session.expire_time,
        num_messages=session.last_seq,
        messages=list(messages),
        usage=session.usage,
        log_session=session.can_log,
        state=state,
        files=[wire_file(file) for file in session.files],
        local_tools=[
            msgspec.Raw(msgspec.json.encode(tool)) for tool in session.local_tools or session.registered_tools
        ],
        agents_config=_agents_config(session),
    )


def _agents_config(session: SessionRecord) -> dict[str, msgspec.Raw]:
    if session.agents_config:
        return msgspec.json.decode(session.agents_config, type=dict[str, msgspec.Raw])
    if not session.instructions:
        return {}
    return {"assistant": msgspec.Raw(msgspec.json.encode({"instructions": session.instructions}))}


def wire_file(file: FileRecord) -> SessionFile:
    """The file as clients see it."""
    return SessionFile(
        name=file.name, size=file.size, sha256=file.sha256, mime_type=file.mime_type, content_type_label=file.label
    )


def turn_error(message: Message) -> ServiceError:
    """The error that a turn's last message stands for."""
    code, status = message.status_message, message.status_code
    return service_error(code, message.content or code, status=status, retry_after=5 if status == 503 else None)


def _check_text(text: str, param: str, limit: int) -> str:
    if len(text) > limit:
        raise InvalidRequestError(f"{param} has {len(text):,} characters; the limit is {limit:,}", param=param)
    _check_nul(text, param)
    return text


def _check_nul(text: str, param: str) -> None:
    """Raise InvalidRequestError for a text that not every database can store."""
    if "\0" in text:
        raise InvalidRequestError(f"{param} contains the character U+0000; remove it", param=param)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")


def _utc_text(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
