"""The HTTP operations, as any client sees them: bodies, errors, limits."""

from __future__ import annotations

import base64
import hashlib
import threading

import httpx2
import pytest

import svc
from tests.support.assistants.scripted import Crash, Echo, Reading, Remembering, Slow
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import register


def error_of(reply: httpx2.Response) -> tuple[int, str, str | None]:
    error = reply.json()["error"]
    assert set(error) == {"code", "message", "type", "param"}
    assert error["message"]
    return reply.status_code, error["code"], error["param"]


def ask(http: httpx2.Client, session_id: str, content: str, **fields: object) -> httpx2.Response:
    message = {"message_type": "query", "content": content, **fields}
    return http.post("/session/generate", json={"id": session_id, "messages": [message]})


def test_health_needs_no_key(service: ThreadService):
    reply = httpx2.get(f"{service.base_url}/health", trust_env=False)
    assert (reply.status_code, reply.json()) == (200, {"status": "ok", "version": svc.__version__})


def test_a_session_has_the_defaults_of_the_wire_page(service: ThreadService):
    with service.http() as http:
        session = http.post("/session/register", json={}).json()["data"]

    assert session["name"].startswith("Session of ")
    assert (session["ttl"], session["language"], session["can_log"], session["state"]) == (86_400, "en", True, "start")
    assert session["expire_time"] - session["create_time"] == 86_400
    assert session["model"]["model_string"] == "svc-1.1"
    assert (session["turns"], session["num_messages"], session["messages"], session["files"]) == (0, 0, [], [])
    assert session["usage"]["total_tokens"] == 0


def test_registering_the_same_id_again_is_the_same_session(service: ThreadService):
    with service.http() as http:
        first = http.post("/session/register", json={"id": "mine", "name": "a"}).json()["data"]
        again = http.post("/session/register", json={"id": "mine", "name": "b"}).json()["data"]
    assert again == first


def test_a_session_id_of_another_user_is_not_found(service: ThreadService):
    register(service, id="mine")
    _, key = service.make_key("eve")
    with service.http(key) as http:
        assert error_of(http.post("/session/register", json={"id": "mine"})) == (409, "session_id_taken", "id")
        assert error_of(http.get("/session/get", params={"session_id": "mine"})) == (404, "session_not_found", None)
        assert error_of(http.post("/session/delete", json={"id": "mine"})) == (404, "session_not_found", None)
        assert error_of(ask(http, "mine", "x")) == (404, "session_not_found", None)
        assert http.get("/session/list").json() == []


BAD_REGISTRATIONS = {
    "ttl too short": ({"ttl": 299}, 400, "invalid_request", "ttl"),
    "ttl too long": ({"ttl": 2_592_001}, 400, "invalid_request", "ttl"),
    "ttl no number": ({"ttl": "long"}, 400, "invalid_request", "ttl"),
    "ttl true": ({"ttl": True}, 400, "invalid_request", "ttl"),
    "id a path": ({"id": "../x"}, 400, "invalid_request", "id"),
    "id too long": ({"id": "a" * 65}, 400, "invalid_request", "id"),
    "name too long": ({"name": "a" * 201}, 400, "invalid_request", "name"),
    "description too long": ({"description": "a" * 2_001}, 400, "invalid_request", "description"),
    "language unknown": ({"language": "zz"}, 400, "invalid_request", "language"),
    "language a word": ({"language": "english"}, 400, "invalid_request", "language"),
    "language a private tag": ({"language": "x-foo"}, 400, "invalid_request", "language"),
    "model unknown": ({"model": "gpt-9"}, 404, "model_not_found", "model"),
    "model object unknown": ({"model": {"model_name": "svc", "version": "9"}}, 404, "model_not_found", "model"),
    "model of a wrong type": ({"model": 3}, 400, "invalid_request", "model"),
    "can_log no bool": ({"can_log": "no"}, 400, "invalid_request", "can_log"),
}


@pytest.mark.parametrize(("body", "status", "code", "param"), BAD_REGISTRATIONS.values(), ids=BAD_REGISTRATIONS)
def test_an_invalid_registration_is_rejected(service, body, status, code, param):
    with service.http() as http:
        assert error_of(http.post("/session/register", json=body)) == (status, code, param)


GOOD_REGISTRATIONS = {
    "ttl at its least": ({"ttl": 300}, "ttl", 300),
    "ttl at its most": ({"ttl": 2_592_000}, "ttl", 2_592_000),
    "language with region": ({"language": "en-US"}, "language", "en-US"),
    "language": ({"language": "ja"}, "language", "ja"),
    "name": ({"name": "Fall 7"}, "name", "Fall 7"),
    "unknown fields": ({"zork": 1, "name": "x"}, "name", "x"),
    "unlogged": ({"can_log": False}, "can_log", False),
}


@pytest.mark.parametrize(("body", "field", "value"), GOOD_REGISTRATIONS.values(), ids=GOOD_REGISTRATIONS)
def test_a_valid_registration_is_accepted(service, body, field, value):
    with service.http() as http:
        assert http.post("/session/register", json=body).json()["data"][field] == value


@pytest.mark.parametrize("model", ["experimental", "svc-1.2-experimental"])
def test_an_experimental_model_requires_an_authorised_key(service: ThreadService, model: str):
    _, key = service.make_key("eve")
    with service.http(key) as http:
        assert error_of(http.post("/session/register", json={"model": model}))[:2] == (403, "experimental_not_allowed")
    with service.http() as http:
        session = http.post("/session/register", json={"model": model}).json()["data"]
    assert session["model"]["model_string"] == "svc-1.2-experimental"


@pytest.mark.parametrize(
    ("logging", "asked", "can_log"),
    [("required", False, True), ("optional", False, False), ("optional", None, True), ("never", True, False)],
)
def test_log_session_counts_only_if_logging_is_optional_for_the_key(service, logging, asked, can_log):
    _, key = service.make_key("eve", logging=logging)
    with service.http(key) as http:
        assert http.post("/session/register", json={"can_log": asked}).json()["data"]["can_log"] is can_log


def test_update_changes_the_given_fields_and_a_ttl_starts_now(start_service):
    now = [1_000_000.0]
    service = start_service(Echo, clock=lambda: now[0])
    session_id = register(service, name="a", description="b", ttl=600)
    now[0] += 100
    with service.http() as http:
        changes = {"id": session_id, "name": "c", "description": "", "ttl": 600}
        assert http.post("/session/update", json=changes).is_success
        session = http.get("/session/get", params={"session_id": session_id}).json()

    assert (session["name"], session["description"], session["ttl"]) == ("c", "b", 600)
    assert (session["create_time"], session["update_time"], session["expire_time"]) == (1_000_000, 1_000_100, 1_000_700)


def test_an_expired_session_is_410_everywhere_as_soon_as_it_expires(start_service):
    now = [1_000_000.0]
    service = start_service(Echo, clock=lambda: now[0])
    session_id = register(service, id="old", ttl=300)
    with service.http() as http:
        now[0] = 1_000_299.9
        assert http.get("/session/get", params={"session_id": session_id}).status_code == 200
        now[0] = 1_000_300.0
        replies = [
            http.get("/session/get", params={"session_id": session_id}),
            http.post("/session/register", json={"id": session_id}),
            http.post("/session/update", json={"id": session_id, "ttl": 300}),
            http.post("/session/delete", json={"id": session_id}),
            http.post("/session/attach_file", json={"session_id": session_id, "filename": "a", "content": ""}),
            http.post("/session/upload_file", params={"session_id": session_id, "filename": "a"}, content=b"x"),
            http.get("/session/file", params={"session_id": session_id, "sha256": "0" * 64}),
            http.post("/session/detach_file", json={"session_id": session_id, "file_idx": 0}),
            http.get("/stream", params={"session_id": session_id}, headers=UPGRADE),
            ask(http, session_id, "x"),
        ]
        assert [error_of(reply)[:2] for reply in replies] == [(410, "session_expired")] * len(replies)
        assert http.get("/session/list").json() == []


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def test_generate_gives_the_whole_turn(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        reply = ask(http, session_id, "who?", id="q1").json()
        session = http.get("/session/get", params={"session_id": session_id}).json()

    assert [m["seq"] for m in reply["messages"]] == [1, 2, 3, 4, 5, 6]
    assert (reply["id"], reply["status_code"], reply["status_message"]) == (session_id, 200, "OK")
    assert reply["usage"]["total_tokens"] == session["usage"]["total_tokens"] > 0
    assert session["messages"] == reply["messages"]
    assert (session["turns"], session["state"]) == (1, "agent_done")


@pytest.mark.several_services
def test_generate_with_a_known_query_id_gives_the_same_turn(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        first = ask(http, session_id, "who?", id="q1").json()
        assert ask(http, session_id, "who?", id="q1").json() == first


@pytest.mark.one_service("looks into one service")
def test_generate_repeated_while_the_turn_runs_waits_for_it(start_service):
    service = start_service(Slow)
    session_id = register(service)
    replies: list[httpx2.Response] = []

    def generate() -> None:
        with service.http() as http:
            replies.append(ask(http, session_id, "one", id="q1"))

    threads = [threading.Thread(target=generate) for _ in range(3)]
    for thread in threads:
        thread.start()
    turns = service.running.service.turns
    wait_until(lambda: turns.running, "their turn to run")
    # A request that has arrived may not have found the session yet, and then finds that it was deleted.
    wait_until(lambda: len(turns._runs[session_id].settled._waiters) == 3, "three requests to wait for its end")
    with service.http() as http:
        assert error_of(ask(http, session_id, "two"))[:2] == (409, "turn_in_progress")
        http.post("/session/delete", json={"id": session_id})
    for thread in threads:
        thread.join(20)
    assert [error_of(reply)[:2] for reply in replies] == [(499, "cancelled")] * 3


@pytest.mark.parametrize(
    ("prompt", "status", "code"), [("upstream", 502, "upstream_error"), ("x", 500, "internal_error")]
)
def test_a_turn_that_ended_in_an_error_is_that_http_error(start_service, prompt, status, code):
    service = start_service(Crash)
    with service.http() as http:
        assert error_of(ask(http, register(service), prompt)) == (status, code, None)


@pytest.mark.several_services
def test_earlier_answered_turns_are_history_with_their_sources(start_service):
    service = start_service(Remembering)
    with service.http() as http:
        session_id = register(service)
        ask(http, session_id, "one")
        ask(http, session_id, "two")
        result = ask(http, session_id, "three").json()["messages"][-2]["content"]

    assert result.startswith('[["one", "[]", ["{\\"prompt\\": \\"one\\"}"]], ["two", ')


def test_an_unused_turn_id_is_kept_and_an_unknown_parent_becomes_the_root(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        first = ask(http, session_id, "a", turn="t1", parent_id="nobody").json()["messages"]
        second = ask(http, session_id, "b", turn="t1", parent_id=first[-2]["id"]).json()["messages"]

    assert (first[0]["turn"], first[0]["parent_id"]) == ("t1", "3713")
    assert second[0]["turn"] != "t1"
    assert second[0]["parent_id"] == first[-2]["id"]


@pytest.mark.several_services
def test_files_are_kept_typed_listed_and_given_to_the_assistant(start_service):
    service = start_service(Reading)
    with service.http() as http:
        session_id = register(service)
        small = http.post(
            "/session/attach_file",
            json={"session_id": session_id, "filename": "a.txt", "content": base64.b64encode(b"alpha").decode()},
        )
        large = http.post(
            "/session/upload_file", params={"session_id": session_id, "filename": "b.json"}, content=b'{"beta": 1}'
        )
        files = http.get("/session/get", params={"session_id": session_id}).json()["files"]
        answer = ask(http, session_id, "read").json()["messages"][-2]["content"]

    assert [small.json()["data"], large.json()["data"]] == files
    assert files[0] == {
        "name": "a.txt",
        "size": 5,
        "sha256": hashlib.sha256(b"alpha").hexdigest(),
        "mime_type": "text/plain",
        "content_type_label": "txt",
    }
    assert files[1]["mime_type"] == "application/json"
    assert answer == 'a.txt disk alpha\nb.json disk {"beta": 1}'


def test_attaching_the_same_file_again_returns_the_existing_one(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        for content in (b"x", b"x", b"y"):
            http.post("/session/upload_file", params={"session_id": session_id, "filename": "a"}, content=content)
        files = http.get("/session/get", params={"session_id": session_id}).json()["files"]
    assert [file["size"] for file in files] == [1, 1]
    assert files[0]["sha256"] != files[1]["sha256"]


def test_a_detached_file_is_removed_from_session_and_disk(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        for name in ("a", "b"):
            params = {"session_id": session_id, "filename": name}
            http.post("/session/upload_file", params=params, content=b"x" + name.encode())
        assert http.post("/session/detach_file", json={"session_id": session_id, "file_idx": 0}).is_success
        files = http.get("/session/get", params={"session_id": session_id}).json()["files"]
        again = http.post("/session/detach_file", json={"session_id": session_id, "file_idx": 1})

    assert [file["name"] for file in files] == ["b"]
    assert error_of(again) == (404, "file_not_found", "file_idx")
    assert len(list(stored_files(service))) == 1


def test_a_file_is_sent_as_bytes_that_no_browser_shows(service: ThreadService):
    content = b"<script>alert(1)</script>"
    with service.http() as http:
        session_id = register(service)
        http.post("/session/upload_file", params={"session_id": session_id, "filename": "a.html"}, content=content)
        params = {"session_id": session_id, "sha256": hashlib.sha256(content).hexdigest()}
        reply = http.get("/session/file", params=params)
        (service.files / stored_files(service)[0]).unlink()
        gone = http.get("/session/file", params=params)
        upper = http.get("/session/file", params={**params, "sha256": params["sha256"].upper()})

    assert (reply.status_code, reply.content) == (200, content)
    assert reply.headers["content-type"] == "application/octet-stream"
    assert (reply.headers["content-disposition"], reply.headers["x-content-type-options"]) == ("attachment", "nosniff")
    assert reply.headers["content-length"] == str(len(content))
    assert error_of(gone) == (404, "file_not_found", None)
    assert error_of(upper) == (400, "invalid_request", "sha256")


def stored_files(service: ThreadService) -> list[str]:
    return [path.name for path in service.stored_files]


BAD_NAMES = {"empty": "", "slash": "a/b", "backslash": "a\\b", "dots": "..", "nul": "a\0b", "long": "a" * 256}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_a_file_name_is_not_a_path(service: ThreadService, name: str):
    with service.http() as http:
        session_id = register(service)
        upload = http.post("/session/upload_file", params={"session_id": session_id, "filename": name}, content=b"x")
        attach = http.post("/session/attach_file", json={"session_id": session_id, "filename": name, "content": ""})
    assert error_of(upload) == (400, "invalid_request", "filename")
    assert error_of(attach) == (400, "invalid_request", "filename")
    assert stored_files(service) == []


def test_an_upload_over_its_limit_is_refused_with_both_figures_and_leaves_nothing(start_service):
    service = start_service(Echo, max_upload_bytes=1_000)

    def parts():
        for _ in range(11):
            yield b"x" * 100

    with service.http() as http:
        session_id = register(service)
        params = {"session_id": session_id, "filename": "a"}
        announced = http.post("/session/upload_file", params=params, content=b"x" * 1_001)
        streamed = http.post("/session/upload_file", params=params, content=parts())
        fitting = http.post("/session/upload_file", params=params, content=b"x" * 1_000)

    for reply in (announced, streamed):
        assert error_of(reply)[:2] == (413, "too_large")
        assert "1,000. Send only the relevant part" in reply.json()["error"]["message"]
    assert fitting.is_success
    assert len(stored_files(service)) == 1


def test_the_number_of_files_per_session_is_bounded(start_service):
    service = start_service(Echo, max_session_files=2)
    with service.http() as http:
        session_id = register(service)
        replies = [
            http.post("/session/upload_file", params={"session_id": session_id, "filename": str(n)}, content=b"%d" % n)
            for n in range(3)
        ]
    assert [reply.status_code for reply in replies] == [200, 200, 413]
    assert len(stored_files(service)) == 2


@pytest.mark.one_service("each service counts the unlogged sessions that it holds")
def test_files_of_unlogged_sessions_share_a_limit_that_is_released(start_service):
    service = start_service(Echo, max_memory_file_bytes=1_000)
    first, second = register(service, can_log=False), register(service, can_log=False)
    with service.http() as http:

        def upload(session_id: str, name: str) -> int:
            params = {"session_id": session_id, "filename": name}
            return http.post("/session/upload_file", params=params, content=name.encode() * 600).status_code

        assert (upload(first, "a"), upload(second, "b")) == (200, 413)
        http.post("/session/delete", json={"id": first})
        assert upload(second, "b") == 200


def test_invalid_base64_names_its_field(service: ThreadService):
    with service.http() as http:
        body = {"session_id": register(service), "filename": "a", "content": "###"}
        assert error_of(http.post("/session/attach_file", json=body)) == (400, "invalid_request", "content")


BAD_BODIES = {
    "not json": ("/session/register", b"{", None),
    "not an object": ("/session/register", b"[]", None),
    "missing field": ("/session/delete", b"{}", "id"),
    "no messages": ("/session/generate", b'{"id": "x", "messages": []}', "messages"),
    "nested": ("/session/generate", b'{"id": "x", "messages": [{"message_type": 3}]}', "messages[0].message_type"),
    "an index no number": ("/session/detach_file", b'{"session_id": "x", "file_idx": "a"}', "file_idx"),
    "not utf-8": ("/session/register", b'{"name": "\xff"}', None),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body", "param"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_an_invalid_body_names_its_field(service: ThreadService, path: str, body: bytes, param: str | None):
    with service.http() as http:
        assert error_of(http.post(path, content=body)) == (400, "invalid_request", param)


def test_a_body_over_its_limit_is_refused(start_service):
    service = start_service(Echo, max_frame_bytes=1_000)
    with service.http() as http:
        assert error_of(http.post("/session/register", json={"zork": "x" * 1_000}))[:2] == (413, "too_large")


@pytest.mark.parametrize("path", ["/dist/nope.js", "/nope", "/session", "/session/get/", "/v1/session/get"])
def test_an_unknown_path_gets_the_common_error_body(service: ThreadService, path: str):
    with service.http() as http:
        assert error_of(http.get(path)) == (404, "not_found", None)


def test_a_wrong_method_lists_the_allowed_ones(service: ThreadService):
    with service.http() as http:
        reply = http.put("/session/register", json={})
    assert error_of(reply) == (405, "method_not_allowed", None)
    assert "POST" in reply.json()["error"]["message"]


@pytest.mark.several_services
def test_deleting_erases_messages_and_files_from_the_disk(service: ThreadService):
    with service.http() as http:
        session_id = register(service)
        http.post("/session/upload_file", params={"session_id": session_id, "filename": "a"}, content=b"zorkfile")
        ask(http, session_id, "zorkword")
        assert http.post("/session/delete", json={"id": session_id}).json()["data"] is None
        assert error_of(http.get("/session/get", params={"session_id": session_id}))[:2] == (404, "session_not_found")
    assert found_on_disk(service, b"zork") == []


def found_on_disk(service: ThreadService, word: bytes) -> list[str]:
    return [p.name for p in service.folder.rglob("*") if p.is_file() and word in p.read_bytes()]


def test_a_logged_session_is_on_the_disk_and_an_unlogged_one_is_not(start_service):
    service = start_service(Reading)
    with service.http() as http:
        for can_log, word in ((True, "plainword"), (False, "hiddenword")):
            session_id = register(service, can_log=can_log, name=f"name-{word}")
            http.post(
                "/session/upload_file",
                params={"session_id": session_id, "filename": f"f-{word}"},
                content=word.encode(),
            )
            answer = ask(http, session_id, f"ask-{word}").json()["messages"][-2]["content"]
            assert answer == f"f-{word} {'disk' if can_log else 'memory'} {word}"

    assert found_on_disk(service, b"plainword")
    assert found_on_disk(service, b"hiddenword") == []


def test_expired_sessions_and_files_are_erased_after_their_retention(start_service):
    now = [1_000_000.0]
    service = start_service(Echo, clock=lambda: now[0], retention_seconds=1_000, purge_interval_seconds=0.05)
    with service.http() as http:
        session_id = register(service, ttl=300)
        http.post("/session/upload_file", params={"session_id": session_id, "filename": "a"}, content=b"zorkfile")
        ask(http, session_id, "zorkword")
        now[0] += 1_299
        assert found_on_disk(service, b"zork")
        now[0] += 1
        wait_until(lambda: not found_on_disk(service, b"zork"), "the purge")
        assert error_of(http.get("/session/get", params={"session_id": session_id}))[:2] == (404, "session_not_found")


def test_an_unlogged_session_stays_410_after_its_content_is_erased(start_service):
    now = [1_000_000.0]
    service = start_service(Echo, clock=lambda: now[0], purge_interval_seconds=0.05, max_memory_file_bytes=100)
    with service.http() as http:
        session_id, other = register(service, ttl=300, can_log=False), register(service, can_log=False)
        upload = {"session_id": session_id, "filename": "a"}
        assert http.post("/session/upload_file", params=upload, content=b"x" * 100).is_success
        now[0] += 300

        def is_freed() -> bool:
            again = {"session_id": other, "filename": "a"}
            return http.post("/session/upload_file", params=again, content=b"y" * 100).is_success

        wait_until(is_freed, "the memory of the expired session's files")
        assert error_of(http.get("/session/get", params={"session_id": session_id}))[:2] == (410, "session_expired")


def test_user_info_has_the_user_and_the_rights_of_the_key(service: ThreadService):
    _, key = service.make_key("eve", logging="never", rpm=50, tpm=9_000, expires=4_102_444_800.0)
    with service.http(key) as http:
        http.post("/session/register", json={"name": "first"})
        http.post("/session/register", json={"name": "second"})
        info = http.get("/user/info").json()

    user = info["user"]
    assert (user["id"], user["type"], user["never_log"], user["can_disable_logging"]) == ("eve", "user", True, False)
    assert (user["rpm"], user["tpm"], user["key_expire_time"]) == (50, 9_000, 4_102_444_800)
    assert [session["name"] for session in info["sessions"]] == ["first", "second"]
    assert [model["model_string"] for model in info["available_models"]] == ["svc-1.1"]


@pytest.mark.several_services
def test_requests_over_the_rate_limit_get_retry_after(service: ThreadService):
    _, key = service.make_key("eve", rpm=3)
    with service.http(key) as http:
        replies = [http.get("/session/list") for _ in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert error_of(replies[3])[1] == "rate_limited"
    assert 1 <= int(replies[3].headers["Retry-After"]) <= 60


def test_tokens_over_the_rate_limit_get_retry_after(service: ThreadService):
    _, key = service.make_key("eve", tpm=10)
    with service.http(key) as http:
        session_id = register(service, key)
        assert ask(http, session_id, "x" * 100).status_code == 200
        wait_until(lambda: ask(http, session_id, "y").status_code == 429, "the tokens to be counted")
        refused = ask(http, session_id, "z")
    assert error_of(refused)[1] == "rate_limited"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


NUL_BODIES = {
    "name": ("/session/register", {"name": "a\0b"}, "name"),
    "description": ("/session/register", {"description": "\0"}, "description"),
    "instructions": ("/session/register", {"agents_config": {"assistant": {"instructions": "be\0"}}}, "agents_config"),
    "new name": ("/session/update", {"id": "s", "name": "\0"}, "name"),
    "comment": ("/session/feedback", {"session_id": "s", "type": "user_feedback", "comment": "\0"}, "comment"),
    "group": ("/session/feedback", {"session_id": "s", "type": "user_feedback", "group_id": "\0"}, "group_id"),
    "system message": (
        "/chat/completions",
        {"model": "stable", "messages": [{"role": "system", "content": "\0"}, {"role": "user", "content": "hi"}]},
        "messages",
    ),
}


@pytest.mark.parametrize(("path", "body", "param"), NUL_BODIES.values(), ids=NUL_BODIES)
def test_a_text_that_not_every_database_stores_is_refused(service, path: str, body: dict[str, object], param: str):
    with service.http() as http:
        http.post("/session/register", json={"id": "s"})
        refused = http.post(path, json=body)
        assert http.get("/session/get", params={"session_id": "a\0b"}).status_code == 404
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert "U+0000" in refused.json()["error"]["message"]
