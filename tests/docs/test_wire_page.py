"""docs/wire.md describes the service: every operation, field, error, limit, close code and metric, and no others."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from svc import _retry, answer_coverage, errors, local_tools
from svc.messages import ROOT_ID, AnswerStatus, FeedbackType, MessageType, MimeType, Role, State, UserType
from svc.service import close_codes
from svc.service.access import page_tickets, service_proofs, sign_in_codes, stream_tickets, user_keys
from svc.service.app import OPERATIONS
from svc.service.http.openapi import build_document
from svc.service.observability.gauges import (
    ForwardingFigures,
    ReplicaFigures,
    add_forwarding_metrics,
    add_replica_metrics,
)
from svc.service.observability.metrics import Metrics
from svc.service.server.uvicorn_protocols import MAX_PIPELINED
from svc.service.settings import Settings, describe
from svc.service.turns.local_tool_calls import MAX_ARGUMENTS_BYTES
from tests.docs import pages

PAGE = "wire.md"
GOLDEN = Path(__file__).parents[1] / "wire"
FORMS = {("POST", "/"), ("POST", "/page/resume")}  # of the service's page: on the page, but no operation for programs
SECTIONS = {
    "ErrorBody": "Errors", "ErrorDetail": "Errors", "Message": "Message", "MessageInput": "Message",
    "TaskProgress": "Progress", "TaskProgressInput": "Progress",
    "Usage": "Message", "UsageInput": "Message", "Session": "Session", "SessionFile": "Session",
    "User": "Service and user", "UserInfo": "Service and user", "Health": "Service and user",
    "Proof": "Service and user",
    "Degraded": "Service and user",
    "AttachFileRequest": "Files", "DetachFileRequest": "Files", "Ticket": "Stream tickets",
    "ModelInfo": "Models", "Toolset": "Models", "Vendor": "Models", "ModelCard": "Models", "ModelList": "Models",
    "ChatRequest": "Chat completions", "ChatMessage": "Chat completions", "ChatPart": "Chat completions",
    "ChatCompletion": "Chat completions", "ChatChoice": "Chat completions", "ChatReply": "Chat completions",
    "ChatUsage": "Chat completions", "Key": "API keys", "KeyList": "API keys", "NewKey": "API keys",
    "CreateKeyRequest": "API keys", "RevokeKeyRequest": "API keys", "PageCode": "The service's page",
}  # fmt: skip
"""Where the fields of a schema are described; for others, somewhere in "HTTP operations"."""
OF_ANY_OPERATION = {400, 500, 503}


@cache
def document() -> dict[str, dict[str, object]]:
    return json.loads(build_document(OPERATIONS, "1", Settings()))


@cache
def error_classes() -> dict[str, type[errors.ServiceError]]:
    """By code."""
    found = {errors.InternalServiceError}
    found |= {kind for kind in vars(errors).values() if isinstance(kind, type) and "default_code" in vars(kind)}
    return {kind.default_code: kind for kind in found if kind is not errors.ServiceError}


def operations_on_the_page() -> list[tuple[str, str]]:
    return re.findall(r"`(GET|POST) (/[\w./{}-]*)[?`]", pages.section(PAGE, "HTTP operations"))


def test_the_page_has_every_operation_and_no_other():
    described = {(operation.method, operation.path) for operation in OPERATIONS}

    assert set(operations_on_the_page()) == described | FORMS


def errors_by_operation() -> dict[tuple[str, str], set[str]]:
    """What the lines that begin with "- Errors:" say of the operations named since the line before."""
    found: dict[tuple[str, str], set[str]] = {}
    operations: list[tuple[str, str]] = []
    for paragraph in re.split(r"\n\s*\n", pages.section(PAGE, "HTTP operations")):
        if paragraph.startswith("- Errors:"):
            codes = set(re.findall(r"`(\w+)`", paragraph))
            found.update(dict.fromkeys(operations, codes))
            operations = []
        else:
            first_sentence = re.split(r"(?<=[a-z`])\.\s", paragraph)[0]
            named = re.findall(r"`(GET|POST) (/[\w./{}-]*)[?`]", first_sentence)
            operations += [operation for operation in named if paragraph.startswith("`")]
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_the_page_has_the_errors_of_each_operation(operation):
    codes = errors_by_operation()[operation.method, operation.path]

    statuses = {error_classes()[code].default_status for code in codes}
    assert statuses - OF_ANY_OPERATION == set(operation.errors)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_the_page_has_the_parameters_of_each_operation(operation):
    for name in operation.parameters:
        if f"{{{name}}}" in operation.path:
            continue  # the path on the page names it
        assert re.search(rf"`{operation.method} {operation.path}\?[^`]*\b{name}=", pages.prose(PAGE)), name


def test_the_page_says_which_operations_need_no_key():
    section = pages.section(PAGE, "HTTP operations")
    paragraphs = [part for part in re.split(r"\n\s*\n", section) if re.search(r"\bneeds? no key\b", part)]
    said = {operation for part in paragraphs for operation in re.findall(r"`(GET|POST) (/[\w./{}-]*)[?`]", part)}

    assert said == {(row.method, row.path) for row in OPERATIONS if row.is_public} | FORMS


def fields() -> dict[str, set[str]]:
    schemas = document()["components"]["schemas"]
    return {kind: set(schema["properties"]) for kind, schema in schemas.items() if "properties" in schema}


@pytest.mark.parametrize("kind", fields())
def test_the_page_has_every_field(kind: str):
    section = SECTIONS.get(kind, "HTTP operations")

    assert fields()[kind] - pages.code_words(pages.section(PAGE, section)) == set()


@pytest.mark.parametrize(
    "kind",
    [
        local_tools.LocalTool,
        local_tools.ConfirmationRequest,
        local_tools.ConfirmationResponse,
        local_tools.LocalToolCall,
        local_tools.LocalToolResult,
    ],
)
def test_the_page_has_every_field_of_local_tools(kind):
    assert set(kind.__struct_fields__) <= pages.code_words(pages.section(PAGE, "Local tools"))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("input field", answer_coverage.InputCoverage),
        ("clause field", answer_coverage.ClauseCoverage),
        ("field", answer_coverage.AnswerCoverage),
    ],
)
def test_the_page_has_every_field_of_the_coverage(heading: str, kind):
    section = pages.section(PAGE, "Answer status").partition(f"\n| {heading} |")[2].partition("\n\n")[0]

    assert set(kind.__struct_fields__) <= pages.code_words(section)
    assert f"`title` `{answer_coverage.TITLE}`" in pages.section(PAGE, "Answer status")


def test_the_table_of_answer_statuses_is_complete():
    table = pages.section(PAGE, "Answer status").partition("\n\nA `source` message")[0]

    assert [row[0].strip("`") for row in pages.rows(table)] == list(AnswerStatus)


@pytest.mark.parametrize(
    ("heading", "values"),
    [
        pytest.param("Message types", list(MessageType), id="message types"),
        pytest.param("States", list(State), id="states"),
    ],
)
def test_the_tables_of_values_are_complete(heading: str, values: list[str]):
    on_the_page = {
        value for row in pages.rows(pages.section(PAGE, heading)) for value in re.findall(r"`(\w+)`", row[0])
    }

    assert on_the_page == set(values)


def test_the_page_has_every_mime_type_and_no_other():
    on_the_page = set(re.findall(r"`(\w+/[\w.+-]+)`", pages.section(PAGE, "MIME types")))

    assert on_the_page == set(MimeType)


@pytest.mark.parametrize("value", [*Role, *UserType, *FeedbackType, ROOT_ID])
def test_the_page_has_every_other_value(value: str):
    assert value in pages.code_words(pages.prose(PAGE))


def test_the_table_of_errors_is_the_codes():
    table = [row for row in pages.rows(pages.section(PAGE, "Errors")) if row[0].isdigit()]

    on_the_page = {row[1].strip("`"): (int(row[0]), row[2].strip("`")) for row in table}
    assert on_the_page == {code: (kind.default_status, kind("").type) for code, kind in error_classes().items()}
    assert sorted(on_the_page) == sorted(errors.CODES)
    assert len(table) == len(errors.CODES)


def test_the_table_of_limits_is_the_settings():
    table = pages.rows(pages.section(PAGE, "Limits"))

    on_the_page = [(row[0].strip("`"), row[1]) for row in table]
    assert on_the_page == [(row.name, row.default or "none") for row in describe(Settings())]
    assert all(row[2] for row in table)


def test_every_setting_named_on_the_page_exists():
    names = {row.name for row in describe(Settings())}
    fields_of_messages = set().union(*fields().values())
    suffixes = ("_seconds", "_bytes", "_chars", "_messages", "_attempts")
    words = re.findall(r"`(\w+)`", pages.prose(PAGE))
    named = {word for word in words if word.endswith(suffixes) and not word.startswith("svc_")}  # those are metrics

    assert named - fields_of_messages <= names


def test_the_fixed_limits_are_on_the_page():
    page = pages.prose(PAGE)

    assert f"`expires_in` ({stream_tickets.TICKET_SECONDS} s)" in page
    assert f"`expires_in` ({sign_in_codes.CODE_SECONDS} s)" in page
    assert f"at most {user_keys.MAX_NAME_CHARS} printable characters" in page
    assert f"0 to {user_keys.MAX_TTL_SECONDS:,} s" in page
    assert f"{user_keys.MAX_KEYS} valid keys" in page
    assert f"{user_keys.PAGE_SECONDS // 3600} hours" in page
    assert f"at most {user_keys.MAX_PAGES} signed-in pages" in page
    assert sign_in_codes.MAX_CODES == user_keys.MAX_PAGES
    assert f"for {page_tickets.GRACE_SECONDS} s after" in page
    assert f"at most {page_tickets.MAX_TICKETS} tickets" in page
    assert f"valid for {sign_in_codes.CONFIRMATION_SECONDS} s, which" in page
    assert f"valid for {service_proofs.CHALLENGE_SECONDS} s and" in page
    assert f"{MAX_ARGUMENTS_BYTES:,} bytes of JSON" in page
    assert f"{MAX_PIPELINED} pipelined requests" in page


def close_codes_on_the_page() -> set[int]:
    return {int(row[0]) for row in pages.rows(pages.section(PAGE, "Close codes"))}


def test_the_page_has_the_close_codes_that_the_service_chooses():
    chosen = {value for name, value in vars(close_codes).items() if name.isupper()}

    assert chosen <= close_codes_on_the_page()
    assert {code for code in close_codes_on_the_page() if code >= 4000} == {code for code in chosen if code >= 4000}


def test_the_sdk_does_what_the_page_says_of_each_close_code():
    table = {int(row[0]): row[2] for row in pages.rows(pages.section(PAGE, "Close codes"))}
    meanings = {
        "reconnect with `after`": "lost",
        "reconnect with `after=0`": "history",
        "use another key": "key",
        "register a new session": "session",
    }

    for code, action in table.items():
        if action in meanings:
            assert _retry.close_meaning(code) == meanings[action]
    for code in (1005, 1006, 1013, 1014):
        assert _retry.close_meaning(code) == "lost"
        assert str(code) in pages.section(PAGE, "Close codes")


def transcripts() -> list[Path]:
    return sorted(path for path in GOLDEN.glob("*.json") if "frames" in json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", transcripts(), ids=lambda path: path.stem)
def test_the_page_has_everything_that_the_golden_transcripts_use(path: Path):
    transcript = json.loads(path.read_text("utf-8"))
    words = pages.code_words(pages.prose(PAGE))
    is_of_a_newer_peer = transcript["name"] == "unknown_values"

    for frame in transcript["frames"]:
        if "close" in frame:
            assert frame["close"] in close_codes_on_the_page() | {1006}
        if "sends" in frame:
            assert frame["sends"] in words
        message = frame.get("message", {})
        if is_of_a_newer_peer:
            continue
        assert set(message) <= words
        assert {message[name] for name in ("message_type", "state", "role", "mime_type") if name in message} <= words
        assert message.get("status_message", "OK") in words
        assert str(message.get("status_code", 200)) in pages.prose(PAGE)


def test_the_page_has_every_metric():
    metrics = Metrics()
    add_replica_metrics(metrics, ReplicaFigures())
    add_forwarding_metrics(metrics, ForwardingFigures())
    exposed = set(re.findall(r"^# TYPE (svc_\w+) ", metrics.exposition().decode(), re.MULTILINE))
    of_the_process = {
        "svc_running_turns",
        "svc_turns_waiting",
        "svc_oldest_waiting_turn_seconds",
        "svc_worker_slots",
        "svc_worker_slots_busy",
        "svc_worker_jobs_waiting",
        "svc_open_streams",
        "svc_open_connections",
        "svc_appends_in_doubt_total",
    }  # added where the service is built
    on_the_page = {
        row[0].strip("`") for row in pages.rows(pages.section(PAGE, "Logs, metrics and traces")) if "svc_" in row[0]
    }

    assert on_the_page == {name for name in exposed if not name.endswith("_created")} | of_the_process
