"""Each operation: what is sent, what its reply reads as, and what a wrong reply becomes."""

# ruff: noqa: E501 - the tables have one row a case

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

import svc
from svc import _requests
from svc._requests import Reply, parse_error, parse_reply, parse_retry_after
from svc.messages import RegisterRequest, UpdateRequest

FILE = {"name": "a", "size": 1, "sha256": "0", "mime_type": "text/plain", "content_type_label": "txt", "new": 1}


def test_a_registration_has_only_the_given_fields():
    call = _requests.register(RegisterRequest(id="s1", ttl=300, log_session=False))

    assert (call.method, call.target) == ("POST", "/session/register")
    assert json.loads(call.body or b"") == {"id": "s1", "ttl": 300, "can_log": False}


@pytest.mark.parametrize(
    ("call", "is_repeatable"),
    [
        pytest.param(_requests.health(), True, id="health"),
        pytest.param(_requests.register(RegisterRequest(id="s1")), True, id="register-with-an-id"),
        pytest.param(_requests.register(RegisterRequest()), False, id="register-without"),
        pytest.param(_requests.get_session("s1"), True, id="get"),
        pytest.param(_requests.upload_file("s1", "a", b""), False, id="upload"),
        pytest.param(_requests.read_file("s1", "0" * 64), True, id="read"),
        pytest.param(_requests.detach_file("s1", 0), False, id="detach"),
        pytest.param(_requests.delete("s1"), False, id="delete"),
        pytest.param(_requests.update(UpdateRequest(id="s1")), True, id="update"),
        pytest.param(_requests.list_sessions(), True, id="list"),
        pytest.param(_requests.user_info(), True, id="user-info"),
        pytest.param(_requests.send_feedback("s1", 1, "", ""), False, id="feedback"),
        pytest.param(_requests.send_bug_report("s1", "bug", ""), False, id="bug-report"),
    ],
)
def test_only_idempotent_operations_are_retried(call: _requests.Call[object], is_repeatable: bool):
    assert call.is_repeatable is is_repeatable


@pytest.mark.parametrize("name", ["a b&c=d#e.log", "../../etc/passwd", "päß 日本", "a\udcff", "%00"])
def test_a_file_name_travels_as_data(name: str):
    call = _requests.upload_file("s&1", name, b"")

    query = parse_qs(urlsplit(call.target).query)
    assert query == {"session_id": ["s&1"], "filename": [name.encode("utf-8", "replace").decode()]}
    assert call.content_type == "application/octet-stream"


@pytest.mark.parametrize("hint", ["text", "text/plain\r\nX: y", "a/b c", "ä/b"])
def test_a_hint_that_is_not_a_mime_type_is_rejected(hint: str):
    with pytest.raises(svc.InvalidRequestError, match="not a MIME type"):
        _requests.upload_file("s1", "a", b"", hint)


def test_a_file_without_a_name_is_rejected():
    with pytest.raises(svc.InvalidRequestError, match="the file name is empty"):
        _requests.upload_file("s1", "", b"")


def test_invalid_text_is_rejected_with_a_message():
    with pytest.raises(svc.InvalidRequestError, match="half a surrogate pair"):
        _requests.register(RegisterRequest(name="a\ud800"))


def test_data_of_an_operation_is_read_and_new_fields_are_ignored():
    call = _requests.upload_file("s1", "a", b"")

    file = parse_reply(call, Reply(200, json.dumps({"ok": True, "data": FILE}).encode()))

    assert (file.name, file.size) == ("a", 1)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"ok": true, "data": null}', b'{"data": {"name": 1}}', b"\xff"]
)
def test_a_malformed_reply_is_a_protocol_error(body: bytes):
    with pytest.raises(
        svc.ProtocolError, match=r"the reply to POST /session/upload_file is invalid.*Check that base_url"
    ):
        parse_reply(_requests.upload_file("s1", "a", b""), Reply(200, body))


def test_the_error_of_the_service_is_raised_with_all_its_fields():
    body = {"error": {"code": "rate_limited", "message": "over 600", "type": "rate_limit_error", "param": None}}

    error = parse_error(Reply(429, json.dumps(body).encode(), retry_after=7.0))

    assert isinstance(error, svc.RateLimitedError)
    assert (str(error), error.retry_after) == ("over 600", 7.0)


@pytest.mark.parametrize(
    ("status", "cls"),
    [
        pytest.param(302, svc.ProtocolError, id="redirect"),
        pytest.param(404, svc.ProtocolError, id="another-server"),
        pytest.param(429, svc.RateLimitedError, id="gateway-rate"),
        pytest.param(502, svc.UpstreamError, id="gateway"),
        pytest.param(503, svc.UnavailableError, id="unavailable"),
        pytest.param(504, svc.UnavailableError, id="gateway-timeout"),
    ],
)
def test_an_error_without_the_wire_body_is_distinguished(status: int, cls: type[Exception]):
    error = parse_error(Reply(status, b"<h1>nginx</h1>"))

    assert type(error) is cls
    assert str(status) in str(error)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), (" 1.5 ", 1.5), ("Fri, 20 Nov 2026 12:00:00 GMT", None), ("-1", None), ("1e9", None), ("9" * 12, None), (None, None)],
)  # fmt: skip
def test_retry_after_is_read_if_it_is_in_seconds(text: str | None, seconds: float | None):
    assert parse_retry_after(text) == seconds


def test_feedback_names_the_group_if_there_is_one():
    about_all = _requests.send_feedback("s1", 4, "good", "")
    about_one = _requests.send_bug_report("s1", "it broke", "g1")

    assert json.loads(about_all.body or b"") == {
        "session_id": "s1", "type": "user_feedback", "score": 4, "comment": "good",
    }  # fmt: skip
    assert json.loads(about_one.body or b"") == {
        "session_id": "s1", "type": "bug_report", "comment": "it broke", "group_id": "g1",
    }  # fmt: skip


def test_an_update_may_be_answered_without_the_session():
    call = _requests.update(UpdateRequest(id="s1", name="n"))

    assert parse_reply(call, Reply(200, b'{"ok": true, "data": null}')) is None
