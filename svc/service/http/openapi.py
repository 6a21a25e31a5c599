"""The OpenAPI 3.1 document, from the table of routes and the types that the endpoints read and return. Pure.

Response schemas have every field and only the values of docs/wire.md. Request schemas allow unknown enum values, since
the service ignores what it does not know, and repeat the limits that ``sessions/rules.py`` and ``chat/request.py``
check (``_field_rules``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from svc.errors import CODES
from svc.messages import ErrorBody, FeedbackType, Message, OpResult
from svc.service.access.user_keys import MAX_NAME_CHARS, MAX_TTL_SECONDS
from svc.service.chat.completion import ChatReply
from svc.service.sessions.rules import MAX_SCORE, SHA256_PATTERN
from svc.service.settings import Settings

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]
Schemas = dict[str, dict[str, Json]]
_SCHEMAS_PATH = "#/components/schemas/"
_INPUT_SUFFIX = "Input"  # suffix of a request type whose response form differs
_ID_RULE: Mapping[str, Json] = {"pattern": "^[A-Za-z0-9_-]{1,64}$"}
_RETRYABLE = frozenset({429, 503, 507})  # these responses have Retry-After
_KEY_ERRORS = (400, 401, 429, 500, 503, 507)  # any operation with a key may return these
_PUBLIC_ERRORS = (400, 500, 503)
_OPERATION_ID = str.maketrans({"/": "_", ".": "_", "{": None, "}": None})
_MEANINGS = {
    400: "A field breaks a rule; `param` names it.",
    401: "Missing, malformed, unknown, revoked or expired key.",
    403: "The key may not use the experimental model.",
    404: "No such session, model, file or endpoint.",
    409: "A turn is running, or the session id is taken.",
    410: "The session has expired.",
    413: "Over a limit; the message gives both figures.",
    429: "Over the key's rpm or tpm; see Retry-After.",
    499: "The turn was cancelled.",
    500: "A bug in the service; the id in the message is also in its log.",
    502: "The model behind the service failed, or another service that holds the unlogged session was lost.",
    503: "Shutting down, or the store is unavailable; see Retry-After.",
    507: "The user keeps too many sessions or bytes, or the service's disk is full: see the code.",
}

OPTIONAL_PARAMETERS = ("after", "after_id", "limit")  # of a page
MAX_DIGITS = 15  # of a number in a query


class OperationRow(Protocol):
    """The part of a row of the table of routes that this module needs."""

    @property
    def method(self) -> str:
        """GET or POST."""

    @property
    def path(self) -> str:
        """The URL path."""

    @property
    def is_public(self) -> bool:
        """Whether it needs no key."""

    @property
    def summary(self) -> str:
        """One line."""

    @property
    def parameters(self) -> Sequence[str]:
        """The names of the query parameters; those of a page are optional."""

    @property
    def body(self) -> type | None:
        """The type of the JSON body; ``bytes`` for a raw one, None for none."""

    @property
    def answer(self) -> type | None:
        """The type of the JSON response; None if it is text or bytes."""

    @property
    def media_type(self) -> str:
        """The media type of a response that is not JSON."""

    @property
    def data(self) -> type | None:
        """The type of ``data`` if the response is an OpResult; None for null."""

    @property
    def errors(self) -> Sequence[int]:
        """The error statuses that it may return in addition to the common ones."""


def build_document(operations: Sequence[OperationRow], version: str, settings: Settings) -> bytes:
    """Build the document, with the limits of these settings, as JSON."""
    response_types = {kind for row in operations for kind in (row.answer, row.data) if kind is not None} | {ErrorBody}
    request_types = {row.body for row in operations if row.body not in (None, bytes)}
    by_type, answers = _response_schemas(sorted(response_types, key=str))
    bodies, requests = _request_schemas(sorted(request_types, key=str), answers, settings)
    by_type.update(bodies)
    paths: dict[str, dict[str, Json]] = {}
    for row in operations:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, by_type, settings)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "svc",
            "version": version,
            "description": "Conversational security analysis. Answers stream over the websocket /stream.",
        },
        "paths": paths,
        "components": {
            "schemas": answers | requests,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "svc_…"}},
        },
        "security": [{"key": []}],
    }
    return msgspec.json.encode(document)


_UNSET_FIELDS = {
    (kind.__name__, field.encode_name)
    for kind in (Message, ChatReply)
    for field in msgspec.structs.fields(kind)
    if field.default is msgspec.UNSET
}


def _response_schemas(kinds: Sequence[type]) -> tuple[dict[type, Json], Schemas]:
    """Schemas of what the service sends: every field is present, unless it or its type omits defaults."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=f"{_SCHEMAS_PATH}{{name}}")
    sparse = {kind.__name__ for kind in kinds if isinstance(kind, type) and _omits_defaults(kind)}
    for name, schema in components.items():
        if "properties" in schema and name not in sparse:
            schema["required"] = [field for field in schema["properties"] if (name, field) not in _UNSET_FIELDS]
    components["ErrorDetail"]["properties"]["code"] = {"enum": list(CODES)}
    return dict(zip(kinds, schemas, strict=True)), components


def _omits_defaults(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct) and kind.__struct_config__.omit_defaults


def _request_schemas(kinds: Sequence[type], answers: Schemas, settings: Settings) -> tuple[dict[type, Json], Schemas]:
    """Schemas of what the service reads; types that also occur in responses get a name of their own."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=f"{_SCHEMAS_PATH}{{name}}")
    for name, schema in components.items():
        if "enum" in schema and name != FeedbackType.__name__:  # a newer client may send values that are not known here
            schema |= {"type": "string", "examples": schema.pop("enum")}
    for (name, field), rule in _field_rules(settings).items():
        properties = components[name]["properties"]
        properties[field] = _apply_rule(properties[field], rule)
    text = msgspec.json.encode(components).decode()
    for name in (shared := components.keys() & answers.keys()):
        text = text.replace(f'"{_SCHEMAS_PATH}{name}"', f'"{_SCHEMAS_PATH}{name}{_INPUT_SUFFIX}"')
    named: Schemas = msgspec.json.decode(text)
    return (
        dict(zip(kinds, schemas, strict=True)),
        {f"{name}{_INPUT_SUFFIX}" if name in shared else name: schema for name, schema in named.items()},
    )


def _field_rules(settings: Settings) -> dict[tuple[str, str], Mapping[str, Json]]:
    """The rules for request fields, in addition to their types."""
    optional_id: Mapping[str, Json] = {"pattern": "^[A-Za-z0-9_-]{0,64}$"}
    by_id = ("GenerateRequest", "UpdateRequest", "DeleteRequest")
    key_name: Mapping[str, Json] = {"maxLength": MAX_NAME_CHARS}
    by_session_id = ("AttachFileRequest", "DetachFileRequest", "FeedbackRequest", "TicketRequest")
    ttl: Mapping[str, Json] = {"minimum": settings.min_ttl_seconds, "maximum": settings.max_ttl_seconds}
    name: Mapping[str, Json] = {"maxLength": settings.max_name_chars}
    description: Mapping[str, Json] = {"maxLength": settings.max_description_chars}
    return {
        **{(kind, "id"): _ID_RULE for kind in (*by_id, "Message")},
        **{(kind, "session_id"): _ID_RULE for kind in by_session_id},
        ("CreateKeyRequest", "name"): key_name,
        ("CreateKeyRequest", "ttl"): {"minimum": 0, "maximum": MAX_TTL_SECONDS},
        ("RegisterRequest", "id"): optional_id,
        ("RegisterRequest", "ttl"): ttl,
        ("RegisterRequest", "name"): name,
        ("RegisterRequest", "description"): description,
        ("UpdateRequest", "ttl"): {"anyOf": [ttl, {"const": 0}]},
        ("UpdateRequest", "name"): name,
        ("UpdateRequest", "description"): description,
        ("GenerateRequest", "messages"): {"minItems": 1},
        ("AttachFileRequest", "filename"): _file_name(settings),
        ("AttachFileRequest", "content"): {"contentEncoding": "base64"},
        ("DetachFileRequest", "file_idx"): {"minimum": 0},
        ("FeedbackRequest", "score"): {"minimum": -MAX_SCORE, "maximum": MAX_SCORE},
        ("FeedbackRequest", "comment"): {"maxLength": settings.max_content_bytes},
        ("FeedbackRequest", "group_id"): description,
    }


def _file_name(settings: Settings) -> Mapping[str, Json]:
    return {"minLength": 1, "maxLength": settings.max_file_name_chars, "pattern": r"^[^\x00-\x1f\x7f/\\]+$"}


def _apply_rule(schema: dict[str, Json], rule: Mapping[str, Json]) -> dict[str, Json]:
    """Add a rule to the schema; null stays allowed."""
    if not isinstance(choices := schema.get("anyOf"), list):
        return {**schema, **rule}
    return {**schema, "anyOf": [choice if choice == {"type": "null"} else {**choice, **rule} for choice in choices]}


def _operation(row: OperationRow, by_type: Mapping[type, Json], settings: Settings) -> Json:
    described: dict[str, Json] = {
        "operationId": row.path.strip("/").translate(_OPERATION_ID) or "page",
        "summary": row.summary,
        "responses": {"200": _success(row, by_type), **_errors(row, by_type)},
    }
    if row.is_public:
        described["security"] = []
    rules: dict[str, Mapping[str, Json]] = {
        "session_id": _ID_RULE,
        "filename": _file_name(settings),
        "sha256": {"pattern": SHA256_PATTERN},
        **{name: {"pattern": f"^[0-9]{{1,{MAX_DIGITS}}}$"} for name in OPTIONAL_PARAMETERS},
        "after_id": _ID_RULE,
        "key": {"pattern": "^[0-9a-f]{16}$"},
        "nonce": {"pattern": "^[0-9a-f]{64}$"},
        "model": {"minLength": 1},
    }
    if row.parameters:
        described["parameters"] = [
            {
                "name": name,
                "in": "path" if f"{{{name}}}" in row.path else "query",
                "required": name not in OPTIONAL_PARAMETERS,
                "schema": {"type": "string", **rules[name]},
            }
            for name in row.parameters
        ]
    if row.body is not None:
        described["requestBody"] = {"required": True, "content": _body(row.body, by_type)}
    return described


def _body(kind: type, by_type: Mapping[type, Json]) -> Json:
    if kind is bytes:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": by_type[kind]}}


def _success(row: OperationRow, by_type: Mapping[type, Json]) -> Json:
    if row.answer is None:
        return {"description": "OK", "content": {row.media_type: {"schema": _text_schema(row.media_type)}}}
    schema = by_type[row.answer]
    if row.answer is OpResult:
        data: Json = {"type": "null"} if row.data is None else by_type[row.data]
        schema = {"allOf": [schema, {"type": "object", "properties": {"data": data}, "required": ["data"]}]}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _text_schema(media_type: str) -> Json:
    return {"type": "string", "format": "binary"} if media_type == "application/octet-stream" else {"type": "string"}


def _errors(row: OperationRow, by_type: Mapping[type, Json]) -> Mapping[str, Json]:
    statuses = sorted({*row.errors, *(_PUBLIC_ERRORS if row.is_public else _KEY_ERRORS)})
    content: Json = {"application/json": {"schema": by_type[ErrorBody]}}
    described: dict[int, dict[str, Json]] = {
        status: {"description": _MEANINGS[status], "content": content} for status in statuses
    }
    for status in _RETRYABLE & described.keys():
        described[status]["headers"] = {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}
    return {str(status): response for status, response in described.items()}
