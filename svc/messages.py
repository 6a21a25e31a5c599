"""Messages, sessions and requests as msgspec structs and enums, for both directions. Facts: docs/wire.md.

Defines names, types and defaults; limits are in ``service/settings.py``. Unknown fields are ignored and unknown enum
values become members of their own, so either side may be newer than the other.
"""

from __future__ import annotations

import base64
import binascii
import time
import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, cast

import msgspec

from svc import answer_coverage
from svc.answer_coverage import AnswerCoverage
from svc.errors import ProtocolError
from svc.untrusted.characters import one_line

ROOT_ID = "3713"  # docs/wire.md, "Message": the parent of a message that replies to no other
DEFAULT_TTL = 86_400  # seconds; docs/wire.md, "Limits"
MIN_TTL = 300  # seconds
MAX_TTL = 2_592_000  # seconds, 30 days
MAX_CONTENT_BYTES = 1_000_000  # of one message; docs/wire.md, "Limits"


class _OpenEnum(StrEnum):
    """An enum that accepts unknown values: ``MessageType("zork")`` is a member named ZORK."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value.upper()
        member._value_ = value
        return member


class MessageType(_OpenEnum):
    """The kind of a message."""

    QUERY = "query"
    INFO = "info"
    THINKING = "thinking"
    SOURCE = "source"
    RESULT = "result"
    ERROR = "error"
    DEBUG = "debug"
    UPDATE = "update"
    DELETE = "delete"
    CONFIRMATION_REQUEST = "confirmation_request"
    CONFIRMATION_RESPONSE = "confirmation_response"
    LOCAL_TOOL_CALL = "local_tool_call"
    LOCAL_TOOL_RESULT = "local_tool_result"
    CANCEL = "cancel"


class MimeType(_OpenEnum):
    """The type of a message's content. A file's type may be any other string."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    CSV = "text/csv"
    XML = "text/xml"
    YAML = "text/yaml"
    PYTHON = "text/python"
    JAVASCRIPT = "text/javascript"
    SERIALIZED_JSON = "text/serialized-json"
    JSON = "application/json"
    JSONL = "application/jsonl"
    PDF = "application/pdf"
    BINARY = "application/octet-stream"
    PNG = "image/png"
    JPEG = "image/jpeg"
    GIF = "image/gif"
    WEBP = "image/webp"
    SVG = "image/svg+xml"

    @property
    def is_text(self) -> bool:
        """Whether content of this type is sent as text; all other content is sent as base64."""
        return self.startswith("text/") or self == MimeType.JSON


class Role(_OpenEnum):
    """The author of a message."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class State(_OpenEnum):
    """What the author of a message, or a session, is doing."""

    UNDEFINED = "undefined"
    START = "start"
    END = "end"
    QUERY = "query"
    RUNNING_AGENT = "running_agent"
    AGENT_DONE = "agent_done"
    CODING = "coding"
    CODE_RESULT = "code_result"
    CALLING_TOOL = "calling_tool"
    TOOL_RESULT = "tool_result"
    GENERATING = "generating"
    ANSWERING = "answering"
    THINKING = "thinking"
    PLANNING = "planning"
    REVIEWING = "reviewing"
    UNDERSTANDING = "understanding"
    RETRIEVING = "retrieving"
    GROUNDING = "grounding"


class AnswerStatus(_OpenEnum):
    """How far an answer answers its question; docs/wire.md, "Answer status"."""

    ANSWERED = "answered"
    PARTLY_ANSWERED = "partly_answered"
    NOT_ANSWERED = "not_answered"
    NOT_EXAMINED = "not_examined"


class UserType(_OpenEnum):
    """The kind of user that a key belongs to."""

    UI = "ui"
    USER = "user"
    ADMIN = "admin"
    SYSTEM = "system"
    SERVICE = "service"


def new_id() -> str:
    """A new random id for a session, turn or message: 32 hex digits."""
    return uuid.uuid4().hex


class Usage(msgspec.Struct, kw_only=True):
    """The tokens used by a message, a turn or a session."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    total_tokens: int = 0
    cached_token_count: int = 0
    thoughts_token_count: int = 0
    tool_use_prompt_token_count: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class TaskProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one piece of work of a turn is: ``done`` of ``total`` units. It replaces the one before of this ``task``.

    ``seconds_left`` is an estimate; None if there is none yet. If ``done`` equals ``total``, the work is over.
    ``per_second`` is the pace in units, if it is known; otherwise it is absent, also on the wire.
    """

    task: str
    done: int
    total: int
    unit: str = "byte"
    seconds_left: int | None = None
    per_second: int | msgspec.UnsetType = msgspec.UNSET


class Message(msgspec.Struct, kw_only=True):
    """One message of a session. ``seq`` counts from 1 without gaps; it is 0 in messages that are not stored.

    ``content`` is text for ``text/*`` and ``application/json``, base64 for all other types; ``get_content`` decodes it.
    ``answer_status`` is set on a ``result`` and on a cancelled turn's partial answer, unless its assistant does not
    know it. An ``info`` with ``progress`` takes the place of the one before of the same actor and task; all other
    messages are without it, also on the wire. So are all but a ``query`` without ``files``: the names or SHA-256 of the
    files of the session that it is about; and all but an ``error`` that refuses a query, and may be gone in
    ``retry_after`` seconds, without that.
    """

    message_type: MessageType
    id: str = msgspec.field(default_factory=new_id)
    parent_id: str = ROOT_ID
    turn: str = ""
    group: str = ""
    seq: int = 0
    actor: str = "user"
    role: Role = Role.USER
    created_at: float = msgspec.field(default_factory=time.time)
    timestamp: int = 0
    title: str | None = None
    state: State = State.UNDEFINED
    content: str | None = None
    mime_type: MimeType = MimeType.TEXT
    status_code: int = 200
    status_message: str = "OK"
    usage: Usage | None = None
    answer_status: AnswerStatus | None = None
    progress: TaskProgress | msgspec.UnsetType = msgspec.UNSET
    files: tuple[str, ...] | msgspec.UnsetType | None = msgspec.UNSET
    retry_after: float | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if not self.timestamp:
            self.timestamp = int(self.created_at)

    def __repr__(self) -> str:
        kind, content = str(self.message_type), _shortened(self.content or "")
        return f"Message(seq={self.seq}, message_type={kind!r}, actor={_shortened(self.actor)!r}, content={content!r})"

    def _repr_markdown_(self) -> str | None:
        """What a notebook shows of an answer: its Markdown, without what loads or runs anything."""
        return _shown_markdown([self]) if self.message_type == MessageType.RESULT else None

    def to_dict(self) -> dict[str, object]:
        """The message as it is on the wire, as values of JSON's types.

        Returns:
            The fields by name.
        """
        return _as_dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """The message as it is on the wire, as JSON text.

        Args:
            indent: The number of spaces of each level; None writes one line.

        Returns:
            The text of one JSON object.
        """
        return _as_json(self, indent)

    @property
    def ends_turn(self) -> bool:
        """Whether this is the last message of its turn: the closing ``info``, or an ``error``."""
        return self.state == State.END and self.message_type in (MessageType.INFO, MessageType.ERROR)

    @property
    def is_partial_answer(self) -> bool:
        """Whether it is what a cancelled turn found in the part of the evidence that it had read."""
        return self.message_type == MessageType.INFO and self.title == PARTIAL_ANSWER_TITLE

    def get_content(self) -> str | bytes:
        """Decode the content: str for text and JSON, else bytes; ``""`` if there is none.

        Returns:
            str for text and JSON, else bytes; ``""`` if there is none.

        Raises:
            ProtocolError: The base64 is invalid.
        """
        if self.content is None or self.mime_type.is_text:
            return self.content or ""
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error as error:
            raise ProtocolError(
                f"message {self.id}: the {self.mime_type} content is not valid base64: {error}"
            ) from error


def status_of(messages: Sequence[Message]) -> AnswerStatus | None:
    """Return how far the turn's last answer answers its question; None if that is unknown or there is no answer."""
    result = _last_result(messages)
    return result.answer_status if result else None


def coverage_of(messages: Sequence[Message]) -> AnswerCoverage | None:
    """Return what the turn's last answer covers, from the sources of the same run; None if its assistant sent none."""
    result = _last_result(messages)
    found = None
    for message in messages:
        is_source = message.message_type == MessageType.SOURCE and message.mime_type == MimeType.JSON
        if result and is_source and message.title == answer_coverage.TITLE and message.group == result.group:
            found = answer_coverage.read_coverage(message.content or "")
    return found


def _last_result(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message.message_type == MessageType.RESULT), None)


class Vendor(msgspec.Struct, kw_only=True):
    """The maker of a toolset."""

    name: str = ""
    description: str = ""
    url: str = ""
    svg: str = ""


class Toolset(msgspec.Struct, kw_only=True):
    """A group of tools that a model may use."""

    name: str
    version: int = 1
    description: str = ""
    vendor: Vendor = msgspec.field(default_factory=Vendor)
    is_enabled: bool = True
    is_enabled_by_default: bool = True
    is_enabled_by_default_in_incognito: bool = True
    is_experimental: bool = False


def model_string(model_name: str, version: str, *, use_experimental: bool) -> str:
    """Build the id of a model: ``name-version`` or ``name-version-experimental``."""
    return f"{model_name}-{version}-experimental" if use_experimental else f"{model_name}-{version}"


class ModelInfo(msgspec.Struct, kw_only=True):
    """A model; ``model_string`` is its id: ``name-version`` or ``name-version-experimental``."""

    model_name: str
    version: str
    use_experimental: bool = False
    model_string: str = ""
    description: str = ""
    toolsets: list[Toolset] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.model_string:
            self.model_string = model_string(self.model_name, self.version, use_experimental=self.use_experimental)


class ToolsetChoice(msgspec.Struct, kw_only=True):
    """Whether a session may use a toolset; False disables it."""

    name: str
    is_enabled: bool | None = None


class ModelInfoInput(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The model that a client requests, as an object; ``"stable"`` and ``"svc-1.1"`` are short forms.

    A whole ModelInfo is accepted, too; ``model_string`` decides. ``toolsets`` may disable some of its toolsets.
    """

    model_name: str = "svc"
    version: str = "1.1"
    use_experimental: bool = False
    model_string: str = ""
    toolsets: list[ToolsetChoice] | None = None

    def __post_init__(self) -> None:
        if not self.model_string:
            self.model_string = model_string(self.model_name, self.version, use_experimental=self.use_experimental)


NOTICE_TITLE = "notice"
"""The title of an INFO that stays visible, because the answer may not repeat it."""
PARTIAL_ANSWER_TITLE = "partial_answer"
"""The title of an INFO with what a cancelled turn found in the part of the evidence that it had read."""
MADE_LABEL = "svc_"
"""How the labels of files begin that the service made. No file is detected as such."""


class SessionFile(msgspec.Struct, kw_only=True):
    """A file attached to a session; ``mime_type`` and ``content_type_label`` are detected from its content."""

    name: str
    size: int
    sha256: str
    mime_type: str
    content_type_label: str

    @property
    def is_made(self) -> bool:
        """Whether the service made it, to keep what does not fit into a message: no evidence for questions."""
        return self.content_type_label.startswith(MADE_LABEL)


class Session(msgspec.Struct, kw_only=True):
    """A session as the service reports it. Times are in seconds since the epoch.

    ``log_session`` is ``can_log`` on the wire. ``title`` is the first question in one line, or empty.
    """

    id: str
    user_id: str
    org_id: str
    model: ModelInfo
    ttl: int
    language: str
    turns: int
    name: str
    description: str
    create_time: int
    update_time: int
    expire_time: int
    num_messages: int
    messages: list[Message]
    usage: Usage
    log_session: bool = msgspec.field(name="can_log")
    state: State
    files: list[SessionFile]
    local_tools: list[msgspec.Raw] = msgspec.field(default_factory=list)
    agents_config: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)
    title: str = ""


def title_of(question: str | None) -> str:
    """The title of a session whose first question this is."""
    return one_line((question or "").strip(), limit=80)  # the migration that added titles has the same number


class User(msgspec.Struct, kw_only=True):
    """A key's user and rights. 0 means that the key never expires or, for ``tpm`` and ``rpm``, has no limit."""

    id: str
    org_id: str
    email: str
    type: UserType
    vendors: list[Vendor]
    never_log: bool
    can_disable_logging: bool
    allow_experimental: bool
    key_expire_time: int
    tpm: int
    rpm: int


class UserInfo(msgspec.Struct, kw_only=True):
    """GET /user/info. Sessions are oldest first and without messages; the stable model is first."""

    user: User
    sessions: list[Session]
    available_models: list[ModelInfo]


class RegisteredTool(msgspec.Struct, kw_only=True):
    """A local tool as a registration offers it; null is the same as an absent field."""

    name: str
    description: str | None = None
    parameters: dict[str, msgspec.Raw] | None = None
    version: str | None = None


class RegisterRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/register. Omitted fields take the service's defaults.

    ``local_tools`` are offered with each query on a stream that offers none itself. ``agents_config`` is kept; of it,
    the text ``instructions`` of ``assistant`` has a meaning.
    """

    id: str | None = None
    model: str | ModelInfoInput | None = None
    ttl: int | None = None
    name: str | None = None
    description: str | None = None
    language: str | None = None
    log_session: bool | None = msgspec.field(name="can_log", default=None)
    local_tools: list[RegisteredTool] | None = None
    agents_config: dict[str, dict[str, msgspec.Raw]] | None = None


class UpdateRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/update. Omitted or empty fields stay as they are."""

    id: str
    name: str | None = None
    description: str | None = None
    ttl: int | None = None


class DeleteRequest(msgspec.Struct, kw_only=True):
    """POST /session/delete."""

    id: str


class GenerateRequest(msgspec.Struct, kw_only=True):
    """POST /session/generate: one query; the reply comes when its turn has ended."""

    id: str
    messages: list[Message]


class AttachFileRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/attach_file; ``content`` is base64, ``mime_type`` a hint."""

    session_id: str
    filename: str
    content: str
    mime_type: str | None = None


class DetachFileRequest(msgspec.Struct, kw_only=True):
    """POST /session/detach_file; ``file_idx`` counts from 0 in the session's ``files``."""

    session_id: str
    file_idx: int


class FeedbackType(_OpenEnum):
    """The kind of a feedback."""

    USER_FEEDBACK = "user_feedback"
    BUG_REPORT = "bug_report"


class FeedbackRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/feedback.

    ``group_id`` is the ``group`` of one answer's messages, or any text by which the client knows what it is about;
    empty for the whole session.
    """

    session_id: str
    type: FeedbackType
    score: int = 0
    comment: str = ""
    group_id: str | None = None


class TicketRequest(msgspec.Struct, kw_only=True):
    """POST /stream/ticket."""

    session_id: str


class Ticket(msgspec.Struct, kw_only=True):
    """Opens one stream of one session, once, within ``expires_in`` seconds: the subprotocol ``svc.ticket.<ticket>``."""

    ticket: str
    expires_in: int


class Key(msgspec.Struct, kw_only=True):
    """A key's description, without the key itself. Times are in seconds since the epoch; 0 means never.

    ``is_asking``: this is the key of the request. ``is_page``: ``svc open`` created it for the web page.
    """

    id: str
    name: str
    create_time: int
    expire_time: int
    revoke_time: int
    is_asking: bool
    is_page: bool


class KeyList(msgspec.Struct, kw_only=True):
    """GET /key/list: the user's keys, oldest first."""

    keys: list[Key]


class CreateKeyRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /key/create. ``ttl`` is in seconds; 0 means as long as the key of the request is valid."""

    name: str = ""
    ttl: int = 0


class NewKey(msgspec.Struct, kw_only=True):
    """A new key: ``api_key`` is shown only here."""

    key: Key
    api_key: str


class RevokeKeyRequest(msgspec.Struct, kw_only=True):
    """POST /key/revoke."""

    id: str


class PageCode(msgspec.Struct, kw_only=True):
    """A code that signs in to the page at ``/``, once, within ``expires_in`` seconds."""

    code: str
    expires_in: int


class ModelCard(msgspec.Struct, kw_only=True):
    """A model in OpenAI's format; ``created`` is in seconds since the epoch."""

    id: str
    created: int
    owned_by: str
    object: Literal["model"] = "model"


class ModelList(msgspec.Struct, kw_only=True):
    """GET /models, in OpenAI's format; the stable model is first."""

    data: list[ModelCard]
    object: Literal["list"] = "list"


class OpResult(msgspec.Struct, kw_only=True):
    """The reply to an operation; ``data`` is the object created, or null."""

    ok: bool = True
    status_code: int = 200
    status_message: str = "OK"
    data: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class SessionResponse(msgspec.Struct, kw_only=True):
    """All messages of an answered turn."""

    id: str
    messages: list[Message]
    status_code: int = 200
    status_message: str = "OK"
    usage: Usage = msgspec.field(default_factory=Usage)

    @property
    def status(self) -> AnswerStatus | None:
        """How far the question is answered; None if the assistant does not know it."""
        return status_of(self.messages)

    @property
    def coverage(self) -> AnswerCoverage | None:
        """How far each input was read and which parts of the question were answered; None if the service sent none."""
        return coverage_of(self.messages)

    def text(self) -> str:
        """The answer in Markdown; ``""`` if the turn has none.

        Returns:
            The Markdown; ``""`` if there is none.
        """
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == MessageType.RESULT)

    def __repr__(self) -> str:
        status = None if self.status is None else str(self.status)
        first = _shortened(self.text())
        return f"SessionResponse(id={self.id!r}, status={status!r}, messages={len(self.messages)}, text={first!r})"

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the answer's Markdown, without what loads or runs anything."""
        return _shown_markdown(self.messages)

    def to_dict(self) -> dict[str, object]:
        """The response as ``POST /session/generate`` answers it, as values of JSON's types.

        Returns:
            The fields by name.
        """
        return _as_dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """The response as ``POST /session/generate`` answers it, as JSON text.

        Args:
            indent: The number of spaces of each level; None writes one line.

        Returns:
            The text of one JSON object.
        """
        return _as_json(self, indent)


_SHOWN_CHARS = 80


def _shortened(text: str) -> str:
    return one_line(text[: 4 * _SHOWN_CHARS], limit=_SHOWN_CHARS)


def _shown_markdown(messages: Sequence[Message]) -> str:
    from svc.untrusted.markdown import safe_markdown  # its parser is not needed to ask

    answers = [message.get_content() for message in messages if message.message_type == MessageType.RESULT]
    return "\n\n".join(safe_markdown(answer) for answer in answers if isinstance(answer, str))


def _as_dict(struct: msgspec.Struct) -> dict[str, object]:
    return cast("dict[str, object]", msgspec.to_builtins(struct))


def _as_json(struct: msgspec.Struct, indent: int | None) -> str:
    text = msgspec.json.encode(struct)
    return (text if indent is None else msgspec.json.format(text, indent=indent)).decode()


class ErrorDetail(msgspec.Struct, kw_only=True):
    """An error on the wire; ``type`` is its group in OpenAI's terms, ``param`` the invalid field."""

    code: str
    message: str
    type: str
    param: str | None = None


class ErrorBody(msgspec.Struct, kw_only=True):
    """The body of every reply that is not 2xx."""

    error: ErrorDetail


class FrontProof(msgspec.Struct, kw_only=True):
    """The same for one of ``front_addresses``. Each service that has them accepts the challenge."""

    proof: str
    address: str
    challenge: str


class Proof(msgspec.Struct, kw_only=True, omit_defaults=True):
    """GET /proof: that the service knows a key. ``challenge`` is for ``Authorization: Svc-Sealed``."""

    proof: str
    address: str
    challenge: str
    fronts: list[FrontProof] = []


class Health(msgspec.Struct, kw_only=True, omit_defaults=True):
    """GET /health. ``status``: ``ok``, or ``degraded`` if the operator should look at the ``warnings``."""

    status: str
    version: str
    warnings: list[str] = []


class Degraded(ErrorBody, kw_only=True):
    """GET /health with 503: an error body that also has the fields of ``Health``."""

    status: str
    version: str
