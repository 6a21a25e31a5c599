"""The wire's vocabulary, both directions: msgspec structs and enums. Facts: docs/wire.md.

Decides names, types and defaults; not limits (``service/settings.py``), nor who may send what. Field names are the
wire's. Unknown fields are ignored, unknown enum values are kept as members of their own, so either side may be newer.
"""

from __future__ import annotations

import base64
import binascii
import time
import uuid
from enum import StrEnum
from typing import Literal, Self

import msgspec

from svc.errors import ProtocolError

ROOT_ID = "3713"  # docs/wire.md, "Message": the parent of a message that answers nothing
DEFAULT_TTL = 86_400  # seconds; docs/wire.md, "Limits"
MIN_TTL = 300  # seconds
MAX_TTL = 2_592_000  # seconds, 30 days
MAX_CONTENT_BYTES = 1_000_000  # of one message; docs/wire.md, "Limits"


class _OpenEnum(StrEnum):
    """An enum that keeps a value it does not know: ``MessageType("zork")`` is a member named ZORK."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value.upper()
        member._value_ = value
        return member


class MessageType(_OpenEnum):
    """What a message is for."""

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
    """The form of a message's content; a file's type may be any string beside these."""

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
        """Whether content of this type travels as it is; everything else travels as base64."""
        return self.startswith("text/") or self == MimeType.JSON


class Role(_OpenEnum):
    """Who speaks."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class State(_OpenEnum):
    """What the speaker is doing."""

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


class UserType(_OpenEnum):
    """What kind of user a key belongs to."""

    UI = "ui"
    USER = "user"
    ADMIN = "admin"
    SYSTEM = "system"
    SERVICE = "service"


def new_id() -> str:
    """A fresh id for a session, turn or message: 32 hex digits."""
    return uuid.uuid4().hex


class Usage(msgspec.Struct, kw_only=True):
    """Tokens counted for a message, a turn or a session."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    total_tokens: int = 0
    cached_token_count: int = 0
    thoughts_token_count: int = 0
    tool_use_prompt_token_count: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Message(msgspec.Struct, kw_only=True):
    """One message of a session. ``seq`` counts from 1 without gaps; 0 stands on what is not kept.

    ``content`` is text for ``text/*`` and ``application/json``, base64 for every other type; ``get_content`` undoes it.
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

    def __post_init__(self) -> None:
        if not self.timestamp:
            self.timestamp = int(self.created_at)

    @property
    def ends_turn(self) -> bool:
        """Whether this message closes its turn: the last ``info``, or an ``error``."""
        return self.state == State.END and self.message_type in (MessageType.INFO, MessageType.ERROR)

    def get_content(self) -> str | bytes:
        """The content as it was meant: str for text and JSON, bytes for the rest; ``""`` where there is none.

        Raises ProtocolError where the base64 is broken.
        """
        if self.content is None or self.mime_type.is_text:
            return self.content or ""
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error as error:
            raise ProtocolError(f"message {self.id}: its {self.mime_type} content is not base64: {error}") from error


class Vendor(msgspec.Struct, kw_only=True):
    """Who makes a toolset."""

    name: str = ""
    description: str = ""
    url: str = ""
    svg: str = ""


class Toolset(msgspec.Struct, kw_only=True):
    """A named group of tools that a model may use."""

    name: str
    version: int = 1
    description: str = ""
    vendor: Vendor = msgspec.field(default_factory=Vendor)
    is_enabled: bool = True
    is_enabled_by_default: bool = True
    is_enabled_by_default_in_incognito: bool = True
    is_experimental: bool = False


def model_string(model_name: str, version: str, *, use_experimental: bool) -> str:
    """The id of a model: ``name-version`` or ``name-version-experimental``."""
    return f"{model_name}-{version}-experimental" if use_experimental else f"{model_name}-{version}"


class ModelInfo(msgspec.Struct, kw_only=True):
    """A model that answers; ``model_string`` is ``name-version`` or ``name-version-experimental``."""

    model_name: str
    version: str
    use_experimental: bool = False
    model_string: str = ""
    description: str = ""
    toolsets: list[Toolset] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.model_string:
            self.model_string = model_string(self.model_name, self.version, use_experimental=self.use_experimental)


class ModelInfoInput(msgspec.Struct, kw_only=True):
    """The model that a client asks for, as an object; ``"stable"`` and ``"svc-1.1"`` are the short ways.

    A client that sends a whole ModelInfo is understood; ``model_string`` decides.
    """

    model_name: str = "svc"
    version: str = "1.1"
    use_experimental: bool = False
    model_string: str = ""

    def __post_init__(self) -> None:
        if not self.model_string:
            self.model_string = model_string(self.model_name, self.version, use_experimental=self.use_experimental)


class SessionFile(msgspec.Struct, kw_only=True):
    """A file attached to a session; ``mime_type`` and ``content_type_label`` were read from its content."""

    name: str
    size: int
    sha256: str
    mime_type: str
    content_type_label: str


class Session(msgspec.Struct, kw_only=True):
    """A session as the service reports it. Times are whole seconds since the epoch."""

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
    can_log: bool
    state: State
    files: list[SessionFile]
    local_tools: list[msgspec.Raw] = msgspec.field(default_factory=list)
    agents_config: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class User(msgspec.Struct, kw_only=True):
    """Whom a key belongs to and what it may do. ``key_expire_time``, ``tpm``, ``rpm``: 0 is never, no limit."""

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
    """GET /user/info: sessions oldest first without their messages; the stable model first."""

    user: User
    sessions: list[Session]
    available_models: list[ModelInfo]


class RegisterRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/register. What is left out takes the service's default."""

    id: str | None = None
    model: str | ModelInfoInput | None = None
    ttl: int | None = None
    name: str | None = None
    description: str | None = None
    language: str | None = None
    can_log: bool | None = None


class UpdateRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/update. What is left out or empty stays as it is."""

    id: str
    name: str | None = None
    description: str | None = None
    ttl: int | None = None


class DeleteRequest(msgspec.Struct, kw_only=True):
    """POST /session/delete."""

    id: str


class GenerateRequest(msgspec.Struct, kw_only=True):
    """POST /session/generate: one query, answered when its turn has ended."""

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
    """What a feedback is about."""

    USER_FEEDBACK = "user_feedback"
    BUG_REPORT = "bug_report"


class FeedbackRequest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """POST /session/feedback; ``group_id`` is the ``group`` of the messages meant, empty for the whole session."""

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
    """What the service tells of a key, never the key itself. Times are seconds since the epoch; 0 is never.

    ``is_asking``: it is the one that asks. ``is_page``: ``svc open`` made it for a page.
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
    """POST /key/create. ``ttl`` is in seconds; 0 is as long as the key that asks may."""

    name: str = ""
    ttl: int = 0


class NewKey(msgspec.Struct, kw_only=True):
    """A key that was made just now: ``api_key`` is shown this once."""

    key: Key
    api_key: str


class RevokeKeyRequest(msgspec.Struct, kw_only=True):
    """POST /key/revoke."""

    id: str


class PageCode(msgspec.Struct, kw_only=True):
    """Signs the page at ``/`` in, once, within ``expires_in`` seconds."""

    code: str
    expires_in: int


class ModelCard(msgspec.Struct, kw_only=True):
    """A model in OpenAI's list; ``created`` is in seconds since the epoch."""

    id: str
    created: int
    owned_by: str
    object: Literal["model"] = "model"


class ModelList(msgspec.Struct, kw_only=True):
    """GET /models, in OpenAI's shape; the stable model first."""

    data: list[ModelCard]
    object: Literal["list"] = "list"


class OpResult(msgspec.Struct, kw_only=True):
    """What an operation answers; ``data`` is the object made, or null."""

    ok: bool = True
    status_code: int = 200
    status_message: str = "OK"
    data: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class SessionResponse(msgspec.Struct, kw_only=True):
    """All messages of one answered turn."""

    id: str
    messages: list[Message]
    status_code: int = 200
    status_message: str = "OK"
    usage: Usage = msgspec.field(default_factory=Usage)

    def text(self) -> str:
        """The RESULT's Markdown; ``""`` where the turn has none."""
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == MessageType.RESULT)


class ErrorDetail(msgspec.Struct, kw_only=True):
    """The wire's error; ``type`` is OpenAI's word for the group, ``param`` the field at fault."""

    code: str
    message: str
    type: str
    param: str | None = None


class ErrorBody(msgspec.Struct, kw_only=True):
    """The body of every answer that is not 2xx."""

    error: ErrorDetail


class Health(msgspec.Struct, kw_only=True):
    """GET /health."""

    status: str
    version: str
