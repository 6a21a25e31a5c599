"""The table of routes as an OpenAPI 3.1 document, from the types that the endpoints read and answer. Pure.

What is sent has every field, and the values of docs/wire.md alone. What is taken is wider, since unknown values and
fields are ignored, and narrower where ``sessions.py`` and ``conversation.py`` have rules: ``_rules`` says them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from svc.errors import CODES
from svc.messages import ErrorBody, FeedbackType, OpResult
from svc.service.access.user_keys import MAX_NAME_CHARS, MAX_TTL_SECONDS
from svc.service.sessions.rules import MAX_SCORE
from svc.service.settings import Settings

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]
Schemas = dict[str, dict[str, Json]]
_PLACE = "#/components/schemas/"
_TAKEN = "Input"  # ends the name of a type in a request that answers have in their own form
_AN_ID: Mapping[str, Json] = {"pattern": "^[A-Za-z0-9_-]{1,64}$"}
_COME_BACK = frozenset({429, 503})  # these answers have Retry-After
_KEYED = (400, 401, 429, 500, 503)  # any operation with a key may answer these, beside its own
_OPEN = (400, 500, 503)
_MEANINGS = {
    400: "A field breaks a rule; `param` names it.",
    401: "Missing, malformed, unknown, revoked or expired key.",
    403: "An experimental model with a key that may not.",
    404: "No such session, model, file or address.",
    409: "A turn runs already, or the session id is taken.",
    410: "The session's time is over.",
    413: "Over a limit; the message gives both figures.",
    429: "Over the key's rpm or tpm; see Retry-After.",
    499: "The turn was cancelled.",
    500: "A fault of the service; the id in the message is in its log.",
    502: "The model behind the service failed.",
    503: "Shutting down, or the store is out of reach; see Retry-After.",
}


class Described(Protocol):
    """What this module needs to know of a row of the table of routes."""

    @property
    def method(self) -> str:
        """GET or POST."""

    @property
    def path(self) -> str:
        """As it stands in the address."""

    @property
    def is_open(self) -> bool:
        """Whether it needs no key."""

    @property
    def summary(self) -> str:
        """One line."""

    @property
    def parameters(self) -> Sequence[str]:
        """The names of the query's parameters, all required."""

    @property
    def body(self) -> type | None:
        """The type of the JSON body; ``bytes`` for a raw one, None for none."""

    @property
    def answer(self) -> type | None:
        """The type of the JSON answer; None for one that is text."""

    @property
    def media_type(self) -> str:
        """The type of an answer that is text."""

    @property
    def data(self) -> type | None:
        """The type of ``data`` where the answer is an OpResult; None for null."""

    @property
    def errors(self) -> Sequence[int]:
        """The statuses that it may answer beside those that any operation may."""


def build_document(operations: Sequence[Described], version: str, settings: Settings) -> bytes:
    """The document as JSON, with the limits of these settings."""
    sent = {kind for row in operations for kind in (row.answer, row.data) if kind is not None} | {ErrorBody}
    taken = {row.body for row in operations if row.body not in (None, bytes)}
    by_type, answers = _sent(sorted(sent, key=str))
    bodies, requests = _taken(sorted(taken, key=str), answers, settings)
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


def _sent(kinds: Sequence[type]) -> tuple[dict[type, Json], Schemas]:
    """Schemas of what the service sends: every field is there."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=f"{_PLACE}{{name}}")
    for schema in components.values():
        if "properties" in schema:
            schema["required"] = list(schema["properties"])
    components["ErrorDetail"]["properties"]["code"] = {"enum": list(CODES)}
    return dict(zip(kinds, schemas, strict=True)), components


def _taken(kinds: Sequence[type], answers: Schemas, settings: Settings) -> tuple[dict[type, Json], Schemas]:
    """Schemas of what the service reads, under names that the answers do not have."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=f"{_PLACE}{{name}}")
    for name, schema in components.items():
        if "enum" in schema and name != FeedbackType.__name__:  # a newer client's value is no error
            schema |= {"type": "string", "examples": schema.pop("enum")}
    for (name, field), rule in _rules(settings).items():
        properties = components[name]["properties"]
        properties[field] = _narrowed(properties[field], rule)
    text = msgspec.json.encode(components).decode()
    for name in (shared := components.keys() & answers.keys()):
        text = text.replace(f'"{_PLACE}{name}"', f'"{_PLACE}{name}{_TAKEN}"')
    named: Schemas = msgspec.json.decode(text)
    return (
        dict(zip(kinds, schemas, strict=True)),
        {f"{name}{_TAKEN}" if name in shared else name: schema for name, schema in named.items()},
    )


def _rules(settings: Settings) -> dict[tuple[str, str], Mapping[str, Json]]:
    """What a field of a request must be, beside its type."""
    an_id_or_empty: Mapping[str, Json] = {"pattern": "^[A-Za-z0-9_-]{0,64}$"}
    of_a_session = ("GenerateRequest", "UpdateRequest", "DeleteRequest")
    of_a_key: Mapping[str, Json] = {"maxLength": MAX_NAME_CHARS}
    in_a_session = ("AttachFileRequest", "DetachFileRequest", "FeedbackRequest", "TicketRequest")
    ttl: Mapping[str, Json] = {"minimum": settings.min_ttl_seconds, "maximum": settings.max_ttl_seconds}
    name: Mapping[str, Json] = {"maxLength": settings.max_name_chars}
    description: Mapping[str, Json] = {"maxLength": settings.max_description_chars}
    return {
        **{(kind, "id"): _AN_ID for kind in (*of_a_session, "Message")},
        **{(kind, "session_id"): _AN_ID for kind in in_a_session},
        ("CreateKeyRequest", "name"): of_a_key,
        ("CreateKeyRequest", "ttl"): {"minimum": 0, "maximum": MAX_TTL_SECONDS},
        ("RegisterRequest", "id"): an_id_or_empty,
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
        ("FeedbackRequest", "group_id"): an_id_or_empty,
        ("ChatRequest", "messages"): {"minItems": 1},
        ("ChatRequest", "n"): {"const": 1},
        ("ChatRequest", "stream"): {"const": False},
        ("ChatRequest", "tools"): {"maxItems": 0},
        ("ChatRequest", "functions"): {"maxItems": 0},
        ("ChatMessage", "role"): {"enum": ["assistant", "developer", "system", "user"]},
        ("ChatMessage", "tool_calls"): {"maxItems": 0},
        ("ChatPart", "type"): {"const": "text"},
    }


def _file_name(settings: Settings) -> Mapping[str, Json]:
    return {"minLength": 1, "maxLength": settings.max_file_name_chars, "pattern": r"^[^\x00-\x1f\x7f/\\]+$"}


def _narrowed(schema: dict[str, Json], rule: Mapping[str, Json]) -> dict[str, Json]:
    """The schema with a rule that does not count for null."""
    if not isinstance(choices := schema.get("anyOf"), list):
        return {**schema, **rule}
    return {**schema, "anyOf": [choice if choice == {"type": "null"} else {**choice, **rule} for choice in choices]}


def _operation(row: Described, by_type: Mapping[type, Json], settings: Settings) -> Json:
    described: dict[str, Json] = {
        "operationId": row.path.strip("/").replace("/", "_").replace(".", "_") or "page",
        "summary": row.summary,
        "responses": {"200": _success(row, by_type), **_errors(row, by_type)},
    }
    if row.is_open:
        described["security"] = []
    rules: dict[str, Mapping[str, Json]] = {"session_id": _AN_ID, "filename": _file_name(settings)}
    if row.parameters:
        described["parameters"] = [
            {"name": name, "in": "query", "required": True, "schema": {"type": "string", **rules[name]}}
            for name in row.parameters
        ]
    if row.body is not None:
        described["requestBody"] = {"required": True, "content": _body(row.body, by_type)}
    return described


def _body(kind: type, by_type: Mapping[type, Json]) -> Json:
    if kind is bytes:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": by_type[kind]}}


def _success(row: Described, by_type: Mapping[type, Json]) -> Json:
    if row.answer is None:
        return {"description": "OK", "content": {row.media_type: {"schema": {"type": "string"}}}}
    schema = by_type[row.answer]
    if row.answer is OpResult:
        data: Json = {"type": "null"} if row.data is None else by_type[row.data]
        schema = {"allOf": [schema, {"type": "object", "properties": {"data": data}, "required": ["data"]}]}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _errors(row: Described, by_type: Mapping[type, Json]) -> Mapping[str, Json]:
    statuses = sorted({*row.errors, *(_OPEN if row.is_open else _KEYED)})
    content: Json = {"application/json": {"schema": by_type[ErrorBody]}}
    described: dict[int, dict[str, Json]] = {
        status: {"description": _MEANINGS[status], "content": content} for status in statuses
    }
    for status in _COME_BACK & described.keys():
        described[status]["headers"] = {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}
    return {str(status): response for status, response in described.items()}
