"""The document at /openapi.json: valid, complete, and true of the service that serves it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import booleans
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import svc
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService
from tests.support.wire_client import register

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
TABLE = {
    ("GET", "/health"),
    ("GET", "/live"),
    ("GET", "/ready"),
    ("GET", "/proof"),
    ("GET", "/user/info"),
    ("POST", "/session/register"),
    ("GET", "/session/get"),
    ("GET", "/session/list"),
    ("POST", "/session/update"),
    ("POST", "/session/delete"),
    ("POST", "/session/generate"),
    ("POST", "/session/attach_file"),
    ("POST", "/session/upload_file"),
    ("GET", "/session/file"),
    ("POST", "/session/detach_file"),
    ("POST", "/session/feedback"),
    ("POST", "/stream/ticket"),
    ("POST", "/chat/completions"),
    ("GET", "/models"),
    ("GET", "/models/{model}"),
    ("GET", "/key/list"),
    ("POST", "/key/create"),
    ("POST", "/key/revoke"),
    ("POST", "/page/code"),
    ("GET", "/"),
    ("GET", "/dist/swc.iife.js"),
    ("GET", "/dist/swc.css"),
    ("GET", "/dist/page.js"),
    ("GET", "/dist/page.css"),
    ("GET", "/dist/svc-sdk.tgz"),
    ("GET", "/dist/svc-chat.tgz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
}
OPEN = {
    "/health",
    "/live",
    "/ready",
    "/proof",
    "/",
    "/openapi.json",
    *(path for _, path in TABLE if path.startswith("/dist/")),
}


@pytest.fixture(scope="module")
def module_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadService]:
    service = ThreadService(tmp_path_factory.mktemp("openapi"), Echo(), Settings(metrics=True, stop_seconds=0.3))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def document(module_service: ThreadService) -> dict[str, object]:
    return httpx2.get(f"{module_service.base_url}/openapi.json", trust_env=False).json()


@pytest.fixture(scope="module")
def schema(document: dict[str, object]) -> BaseSchema:
    refusing = {"checks": {"negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 409, 410, 413]}}}
    return schemathesis.openapi.from_dict(document, config=schemathesis.Config.from_dict(refusing))


def test_the_document_is_valid_openapi(document: dict[str, object]):
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", svc.__version__)


def test_the_document_lists_every_operation_and_nothing_else(document: dict[str, object]):
    listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert listed == TABLE


def test_all_but_the_open_operations_require_a_key(document: dict[str, object]):
    wants = {path: next(iter(methods.values())).get("security", document["security"]) for path, methods in
             document["paths"].items()}  # fmt: skip
    assert {path for path, security in wants.items() if security == []} == OPEN
    assert all(security == [{"key": []}] for path, security in wants.items() if path not in OPEN)


def test_the_document_states_the_limits_of_the_service(start_service):
    service = start_service(Echo, max_name_chars=7, min_ttl_seconds=400)
    document = httpx2.get(f"{service.base_url}/openapi.json", trust_env=False).json()
    fields = document["components"]["schemas"]["RegisterRequest"]["properties"]
    assert fields["name"]["anyOf"][0]["maxLength"] == 7
    assert fields["ttl"]["anyOf"][0]["minimum"] == 400


def check(schema: BaseSchema, service: ThreadService, method: str, path: str, examples: int) -> None:
    """Send what the document allows and what it does not; each answer must be one that the document has."""
    operation = schema[path][method]
    _, key = service.make_key(f"user-{uuid.uuid4().hex[:8]}", allow_experimental=True)
    session_id = register(service, key)
    chosen = settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip

    def run(case: schemathesis.Case) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        case.call_and_validate(base_url=service.base_url, headers=headers, checks=CHECKS, timeout=20)

    @seed(3713)
    @chosen
    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE), is_likely=booleans())
    def fitting(case: schemathesis.Case, is_likely: bool) -> None:
        if is_likely:
            make_likely(case, session_id)
        run(case)

    @seed(3713)
    @chosen
    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def unfitting(case: schemathesis.Case) -> None:
        run(case)

    fitting()
    if operation.body or any(parameter.is_required for parameter in operation.query):  # unknown ones are ignored
        unfitting()


def make_likely(case: schemathesis.Case, session_id: str) -> None:
    """Mean a session and a model that are there, and ask something: else nearly all is refused."""
    if "session_id" in (case.query or {}):
        case.query["session_id"] = session_id
    if not isinstance(body := case.body, dict):
        return
    for name in ("session_id", "id"):
        if name in body:
            body[name] = session_id
    if "model" in body:
        body["model"] = "stable"
    for message in body.get("messages", []):
        asked = {"role": "user", "content": "who?"}
        message.update(asked | {"message_type": "query", "mime_type": "text/plain"} if "model" not in body else asked)


OPERATIONS = [pytest.param(method, path, id=f"{method} {path}") for method, path in sorted(TABLE)]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_response_matches_the_document(schema, module_service: ThreadService, method: str, path: str):
    check(schema, module_service, method, path, examples=12)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_one_of_many_responses_matches_the_document(schema, module_service, method: str, path: str):
    check(schema, module_service, method, path, examples=1_000)


@pytest.mark.parametrize("path", sorted(path for _, path in TABLE - {("GET", path) for path in OPEN}))
def test_without_a_key_the_response_is_the_documented_401(document, module_service: ThreadService, path: str):
    (method,) = document["paths"][path]
    reply = httpx2.request(method, f"{module_service.base_url}{path}", trust_env=False)
    assert reply.status_code == 401
    assert "401" in document["paths"][path][method]["responses"]


@pytest.mark.parametrize("path", sorted(path for _, path in TABLE))
def test_an_unsupported_method_is_rejected_with_the_allowed_ones(document, module_service: ThreadService, path: str):
    with module_service.http() as http:
        reply = http.delete(path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (405, "method_not_allowed")
    assert next(iter(document["paths"][path])).upper() in reply.headers["Allow"]
