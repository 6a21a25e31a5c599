"""The wire's vocabulary: names, defaults, and what a newer or broken peer may send."""

from __future__ import annotations

import base64

import msgspec
import pytest

from svc.errors import ProtocolError
from svc.messages import (
    ROOT_ID,
    Message,
    MessageType,
    MimeType,
    ModelInfo,
    ModelInfoInput,
    Role,
    SessionResponse,
    State,
    Usage,
)


def decode(text: str) -> Message:
    return msgspec.json.decode(text, type=Message)


def test_a_query_needs_only_type_and_content():
    message = decode('{"message_type": "query", "content": "who?"}')

    assert (message.message_type, message.content) == (MessageType.QUERY, "who?")
    assert (message.parent_id, message.seq, message.role) == (ROOT_ID, 0, Role.USER)
    assert message.timestamp == int(message.created_at)


def test_a_message_without_a_type_is_rejected():
    with pytest.raises(msgspec.ValidationError, match="message_type"):
        decode('{"content": "who?"}')


def test_values_and_fields_of_a_newer_peer_are_kept_and_ignored():
    message = decode('{"message_type": "hologram", "mime_type": "model/gltf", "state": "dreaming", "new_field": [1]}')

    assert message.message_type == "hologram"
    assert message.message_type.name == "HOLOGRAM"
    assert isinstance(message.message_type, MessageType)
    assert msgspec.json.decode(msgspec.json.encode(message))["state"] == "dreaming"


def test_enum_names_are_the_values_in_capitals():
    for member in MessageType:
        assert member.name == member.value.upper()
    assert {m.value for m in State} >= {"undefined", "start", "end", "grounding"}


@pytest.mark.parametrize(
    ("mime_type", "content", "meant"),
    [
        pytest.param("text/plain", "päß", "päß", id="text-as-it-is"),
        pytest.param("text/markdown", "aGk=", "aGk=", id="markdown-is-never-decoded"),
        pytest.param("application/json", "[1]", "[1]", id="json-as-it-is"),
        pytest.param("image/svg+xml", base64.b64encode(b"<svg/>").decode(), b"<svg/>", id="svg-is-base64"),
        pytest.param("application/jsonl", base64.b64encode(b"{}\n").decode(), b"{}\n", id="jsonl-is-base64"),
        pytest.param("model/gltf", base64.b64encode(b"\x00").decode(), b"\x00", id="unknown-is-base64"),
        pytest.param("text/plain", None, "", id="no-content"),
    ],
)
def test_content_is_decoded_to_its_original(mime_type: str, content: str | None, meant: str | bytes):
    message = Message(message_type=MessageType.RESULT, mime_type=MimeType(mime_type), content=content)

    assert message.get_content() == meant


def test_invalid_base64_is_a_protocol_error_that_names_the_message():
    message = Message(message_type=MessageType.RESULT, id="m1", mime_type=MimeType.PNG, content="%%")

    with pytest.raises(ProtocolError, match="message m1"):
        message.get_content()


@pytest.mark.parametrize(
    ("message_type", "state", "ends"),
    [
        pytest.param("info", "end", True, id="closing-info"),
        pytest.param("error", "end", True, id="error"),
        pytest.param("info", "undefined", False, id="progress"),
        pytest.param("result", "end", False, id="a-result-is-followed-by-its-info"),
    ],
)
def test_a_turn_ends_in_an_info_or_an_error_with_state_end(message_type: str, state: str, ends: bool):
    assert Message(message_type=MessageType(message_type), state=State(state)).ends_turn is ends


def test_a_response_reads_as_its_results_text():
    messages = [
        Message(message_type=MessageType.INFO, content="reading"),
        Message(message_type=MessageType.RESULT, content="**Two.**"),
        Message(message_type=MessageType.INFO, state=State.END),
    ]

    assert SessionResponse(id="s", messages=messages).text() == "**Two.**"
    assert SessionResponse(id="s", messages=[]).text() == ""


def test_usage_adds_field_by_field():
    total = Usage(prompt_tokens=1, total_tokens=3) + Usage(prompt_tokens=10, generated_tokens=5)

    assert (total.prompt_tokens, total.generated_tokens, total.total_tokens) == (11, 5, 3)


def test_a_model_string_is_made_of_name_version_and_experimental():
    assert ModelInfo(model_name="svc", version="1.1").model_string == "svc-1.1"
    assert ModelInfo(model_name="svc", version="1.2", use_experimental=True).model_string == "svc-1.2-experimental"
    assert ModelInfoInput(version="1.2", use_experimental=True).model_string == "svc-1.2-experimental"
