"""The table of routes as an OpenAPI 3.1 document, from the same types that the endpoints read and answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from svc.messages import ErrorBody, OpResult

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]
_TEMPLATE = "#/components/schemas/{name}"
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
    def data(self) -> type | None:
        """The type of ``data`` where the answer is an OpResult; None for null."""

    @property
    def errors(self) -> Sequence[int]:
        """The statuses that it may answer beside those that any operation may."""


def build_document(operations: Sequence[Described], version: str) -> bytes:
    """The document as JSON."""
    types = {kind for row in operations for kind in (row.body, row.answer, row.data) if kind not in (None, bytes)}
    ordered = sorted((*types, ErrorBody), key=str)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_TEMPLATE)
    by_type = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Json]] = {}
    for row in operations:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, by_type)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "svc",
            "version": version,
            "description": "Conversational security analysis. Answers stream over the websocket /stream.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "svc_…"}},
        },
        "security": [{"key": []}],
    }
    return msgspec.json.encode(document)


def _operation(row: Described, by_type: Mapping[type, Json]) -> Json:
    described: dict[str, Json] = {
        "operationId": row.path.strip("/").replace("/", "_").replace(".", "_") or "page",
        "summary": row.summary,
        "responses": {"200": _success(row, by_type), **_errors(row, by_type)},
    }
    if row.is_open:
        described["security"] = []
    if row.parameters:
        described["parameters"] = [
            {"name": name, "in": "query", "required": True, "schema": {"type": "string", "minLength": 1}}
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
        return {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}
    schema = by_type[row.answer]
    if row.answer is OpResult:
        data: Json = {"type": "null"} if row.data is None else by_type[row.data]
        schema = {"allOf": [schema, {"type": "object", "properties": {"data": data}, "required": ["data"]}]}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _errors(row: Described, by_type: Mapping[type, Json]) -> Mapping[str, Json]:
    statuses = sorted({*row.errors, *(_OPEN if row.is_open else _KEYED)})
    content: Json = {"application/json": {"schema": by_type[ErrorBody]}}
    return {str(status): {"description": _MEANINGS[status], "content": content} for status in statuses}
