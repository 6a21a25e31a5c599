"""The page and the built files: responses, sign-in, and places where no key may appear."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from svc.service.access.once_codes import MemoryOnceCodes
from svc.service.access.page_tickets import GRACE_SECONDS, MAX_TICKETS, TICKET_SECONDS, PageTickets
from svc.service.access.sign_in_codes import MAX_CODES
from svc.service.access.user_keys import MAX_PAGES, PAGE_SECONDS
from svc.service.http import page
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService

NOW = 1_800_000_000.0


def start_of(text: str) -> dict[str, str]:
    """What the page's script finds."""
    block = re.search(r'<script type="application/json" id="start">(.*?)</script>', text, re.DOTALL)
    assert block
    return json.loads(block[1])


def code_of(service: ThreadService) -> str:
    with service.http() as http:
        reply = http.post("/page/code")
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    assert reply.json()["expires_in"] == 60
    return reply.json()["code"]


def post(service: ThreadService, headers: dict[str, str], **form: str) -> httpx2.Response:
    return httpx2.post(f"{service.base_url}/", data=form, headers=headers, trust_env=False)


def confirmation_in(text: str) -> str:
    """What the button of the page that asks would post."""
    found = re.search(r'name="confirmation" value="([\w-]+)"', text)
    assert found, text
    return found[1]


def enter(service: ThreadService, code: str, **headers: str) -> httpx2.Response:
    """Post a code as the file of ``svc open`` does and, if the page asks, click its button."""
    asked = post(service, headers, code=code)
    if "confirmation" not in asked.text:
        return asked
    assert "svc_" not in asked.text
    own = {"origin": service.base_url, "sec-fetch-site": "same-origin"}
    return post(service, own, confirmation=confirmation_in(asked.text))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder of built files in the place of the package's."""
    (tmp_path / "page.html").write_text("{{start}}", encoding="utf-8")
    (tmp_path / "static").mkdir()
    monkeypatch.setattr(page.resources, "files", lambda _: tmp_path)
    page._built.cache_clear()
    yield tmp_path / "static"
    page._built.cache_clear()


def test_the_page_needs_no_key_and_has_none(service: ThreadService):
    reply = httpx2.get(f"{service.base_url}/", trust_env=False)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert start_of(reply.text) == {}
    assert reply.headers["cache-control"] == "no-store"
    assert "set-cookie" not in reply.headers


def test_the_page_runs_only_its_own_scripts_and_cannot_be_framed(service: ThreadService):
    policy = httpx2.get(f"{service.base_url}/", trust_env=False).headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert (rules["default-src"], rules["script-src"], rules["style-src"]) == ("'none'", "'self'", "'self'")
    assert (rules["frame-ancestors"], rules["base-uri"], rules["form-action"]) == ("'none'", "'none'", "'none'")
    assert "unsafe" not in policy


def test_a_code_signs_the_page_in_with_a_key_of_its_own(service: ThreadService):
    reply = enter(service, code_of(service), origin="null")
    key = start_of(reply.text)["api_key"]
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    assert key != service.key
    with service.http(key) as http:
        assert http.get("/user/info").json()["user"]["id"] == "local"


LATE = pytest.param("late", marks=pytest.mark.sqlite, id="late")  # on PostgreSQL by the database's clock


@pytest.mark.parametrize("case", ["used", LATE, "made-up", "empty", "revoked-key"])
def test_an_invalid_code_gets_the_page_without_a_key_and_with_a_reason(start_service: StartService, case: str):
    now = [NOW]
    service = start_service(Echo, clock=lambda: now[0])
    code = code_of(service)
    match case:
        case "used":
            enter(service, code)
        case "late":
            now[0] += 60
        case "made-up":
            code = "A" * 43
        case "empty":
            code = ""
        case "revoked-key":
            key_id, key = service.make_key("ann")
            with service.http(key) as http:
                code = http.post("/page/code").json()["code"]
                http.post("/key/revoke", json={"id": key_id})
    reply = enter(service, code)
    assert reply.status_code == 401
    assert start_of(reply.text).keys() == {"notice"}


def test_a_form_of_another_origin_is_rejected_and_null_is_accepted_only_here(service: ThreadService):
    code = code_of(service)
    assert enter(service, code, origin="https://elsewhere.example").status_code == 400
    headers = {**service.headers, "origin": "null"}
    assert httpx2.post(f"{service.base_url}/page/code", headers=headers, trust_env=False).status_code == 400
    assert enter(service, code, origin="null").status_code == 200  # it was not used up


def test_a_code_alone_signs_nobody_in_and_names_the_user(service: ThreadService):
    """A page of the attacker posts the attacker's code: the victim must not end in the attacker's account."""
    _, key = service.make_key("mallory<b>")
    with service.http(key) as http:
        code = http.post("/page/code").json()["code"]

    asked = post(service, {"origin": "null", "sec-fetch-site": "cross-site"}, code=code)

    assert asked.status_code == 200
    assert "Sign in as <strong>mallory&lt;b&gt;</strong>?" in asked.text
    assert "svc_" not in asked.text
    assert "<script" not in asked.text
    with service.http(key) as http:
        assert [row for row in http.get("/key/list").json()["keys"] if row["is_page"]] == []


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no-origin"),
        pytest.param({"origin": "null"}, id="null"),
        pytest.param({"origin": "null", "sec-fetch-site": "same-origin"}, id="null-that-says-same"),
        pytest.param({"origin": "https://elsewhere.example"}, id="elsewhere"),
        pytest.param({"origin": "OWN", "sec-fetch-site": "cross-site"}, id="own-but-cross-site"),
        pytest.param({"origin": "OWN", "sec-fetch-site": "same-site"}, id="own-but-another-port"),
        pytest.param({"origin": "OWN.elsewhere.example"}, id="a-longer-name"),
        pytest.param({"origin": "http://"}, id="no-host"),
    ],
)
def test_a_confirmation_counts_only_from_the_services_own_page(service: ThreadService, headers: dict[str, str]):
    asked = post(service, {"origin": "null"}, code=code_of(service))
    confirmation = confirmation_in(asked.text)
    sent = {name: value.replace("OWN", service.base_url) for name, value in headers.items()}

    refused = post(service, sent, confirmation=confirmation)

    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "Origin")
    assert post(service, {"origin": service.base_url}, confirmation=confirmation).status_code == 200
    assert post(service, {"origin": service.base_url}, confirmation=confirmation).status_code == 401


def test_a_code_is_not_a_confirmation_and_a_confirmation_is_not_a_code(service: ThreadService):
    code = code_of(service)
    assert post(service, {"origin": service.base_url}, confirmation=code).status_code == 401
    confirmation = confirmation_in(post(service, {"origin": "null"}, code=code).text)
    assert post(service, {"origin": "null"}, code=confirmation).status_code == 401
    assert "svc_" in post(service, {"origin": service.base_url}, confirmation=confirmation).text


def test_the_page_that_asks_cannot_be_framed_and_posts_only_to_the_service(service: ThreadService):
    reply = post(service, {"origin": "null"}, code=code_of(service))
    policy = reply.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "same-origin"  # otherwise the form's origin is "null"


def test_a_user_has_a_limited_number_of_signed_in_pages_and_codes(service: ThreadService):
    keys = [start_of(enter(service, code_of(service)).text)["api_key"] for _ in range(MAX_PAGES + 1)]
    valid = []
    for key in keys:
        with service.http(key) as http:
            valid.append(http.get("/user/info").status_code)
    codes = [code_of(service) for _ in range(MAX_CODES + 1)]

    assert valid == [401] + [200] * MAX_PAGES
    assert [enter(service, code).status_code for code in (codes[0], codes[1], codes[-1])] == [401, 200, 200]


@pytest.mark.parametrize("body", [b"\xff\xfe" * 200, b"&=&=;%%%", b"x" * 2_000], ids=["binary", "odd", "long"])
def test_a_hostile_form_gets_an_answer_without_a_key(service: ThreadService, body: bytes):
    reply = httpx2.post(f"{service.base_url}/", content=body, trust_env=False)
    assert reply.status_code in (401, 413)
    assert "svc_" not in reply.text


def test_neither_code_nor_key_is_logged_or_kept(service: ThreadService, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        code = code_of(service)
        key = start_of(enter(service, code).text)["api_key"]
    logged = "\n".join(str(record.__dict__) for record in caplog.records if record.name.startswith("svc"))
    kept = b"".join(path.read_bytes() for path in service.folder.rglob("*") if path.is_file())
    assert "'path': '/'" in logged
    for secret in (code, key):
        assert secret not in logged
        assert secret.encode() not in kept


OWN_PAGE = {"sec-fetch-site": "same-origin"}


def resume(service: ThreadService, ticket: str, **headers: str) -> httpx2.Response:
    """What the page's script asks after a reload."""
    sent = {"origin": service.base_url, **OWN_PAGE, **headers}
    return httpx2.post(f"{service.base_url}/page/resume", data={"ticket": ticket}, headers=sent, trust_env=False)


def test_a_reloaded_page_gets_its_key_for_its_ticket_and_the_next_ticket(service: ThreadService):
    start = start_of(enter(service, code_of(service)).text)
    reply = resume(service, start["ticket"])
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    assert reply.json()["api_key"] == start["api_key"]  # its turns go on, its end stays
    assert reply.json()["ticket"] != start["ticket"]
    assert start["ticket"] not in start["api_key"]
    assert resume(service, reply.json()["ticket"]).json()["api_key"] == start["api_key"]


@pytest.mark.sqlite  # on PostgreSQL they expire by the database's clock
def test_a_ticket_works_once_but_for_a_reload_that_was_interrupted(start_service: StartService):
    now = [NOW]
    service = start_service(Echo, clock=lambda: now[0])
    ticket = start_of(enter(service, code_of(service)).text)["ticket"]
    assert [resume(service, ticket).status_code for _ in range(2)] == [200, 200]
    now[0] += GRACE_SECONDS
    refused = resume(service, ticket)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.sqlite  # on PostgreSQL they expire by the database's clock
def test_a_ticket_ends_with_its_page(start_service: StartService):
    now = [NOW]
    service = start_service(Echo, clock=lambda: now[0])
    start = start_of(enter(service, code_of(service)).text)
    now[0] += TICKET_SECONDS
    assert resume(service, start["ticket"]).status_code == 401
    assert TICKET_SECONDS == PAGE_SECONDS


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "https://attacker.example"}, id="another site"),
        pytest.param({"origin": "null"}, id="a sandbox"),
        pytest.param({"origin": ""}, id="no origin"),
        pytest.param({"origin": "http://127.0.0.1:1"}, id="another port"),
        pytest.param({"sec-fetch-site": "same-site"}, id="same site"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="cross site"),
    ],
)
def test_a_ticket_counts_only_from_the_services_own_page(service: ThreadService, headers: dict[str, str]):
    start = start_of(enter(service, code_of(service)).text)
    refused = resume(service, start["ticket"], **headers)
    assert refused.status_code == 400
    assert "svc_" not in refused.text.replace("SVC_", "")
    assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("ticket", ["", "x" * 43, "%00", "ä", "svc_" + "0" * 49])
def test_another_ticket_gives_nothing(service: ThreadService, ticket: str):
    enter(service, code_of(service))
    assert resume(service, ticket).status_code == 401


async def test_a_users_tickets_are_limited_and_hold_no_readable_key():
    tickets = PageTickets(codes := MemoryOnceCodes(lambda: NOW))
    issued = [await tickets.issue(f"svc_{number}", "ann") for number in range(MAX_TICKETS + 1)]
    other = await tickets.issue("svc_other", "bob")
    assert await tickets.redeem(issued[0]) is None
    assert (await tickets.redeem(issued[-1]))[0] == f"svc_{MAX_TICKETS}"
    assert (await tickets.redeem(other))[0] == "svc_other"
    assert "svc_" not in repr(vars(codes))
    assert issued[-1] not in repr(vars(codes))


def test_a_built_file_has_its_type_and_is_revalidated_by_etag(service: ThreadService, built: Path):
    (built / "swc.css").write_text("svc-chat { display: block }" * 50, encoding="utf-8")
    first = httpx2.get(f"{service.base_url}/dist/swc.css", trust_env=False)
    again = httpx2.get(
        f"{service.base_url}/dist/swc.css", headers={"if-none-match": first.headers["etag"]}, trust_env=False
    )
    assert (first.status_code, first.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert first.text.startswith("svc-chat { display: block }")
    assert (first.headers["content-encoding"], first.headers["cache-control"]) == ("gzip", "no-cache")
    assert first.headers["cross-origin-resource-policy"] == "cross-origin"
    assert (again.status_code, again.content) == (304, b"")


def test_a_client_without_gzip_gets_the_file_uncompressed(service: ThreadService, built: Path):
    (built / "swc.iife.js").write_text("void 0;", encoding="utf-8")
    reply = httpx2.get(f"{service.base_url}/dist/swc.iife.js", headers={"accept-encoding": ""}, trust_env=False)
    assert (reply.text, reply.headers["content-type"]) == ("void 0;", "text/javascript; charset=utf-8")
    assert "content-encoding" not in reply.headers


def test_an_installation_without_built_files_says_how_to_get_them(service: ThreadService, built: Path):
    reply = httpx2.get(f"{service.base_url}/dist/swc.iife.js", trust_env=False)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
    assert "pip install --force-reinstall svc-jupyter" in reply.json()["error"]["message"]


@pytest.mark.parametrize("missing", page.FILES)
def test_a_page_without_its_scripts_says_so_and_redeems_no_code(missing: str, service: ThreadService, built: Path):
    shipped = Path(page.__file__).parents[1] / "unbuilt.html"
    (built.parent / "unbuilt.html").write_text(shipped.read_text("utf-8"), encoding="utf-8")
    for name in page.FILES.keys() - {missing}:
        (built / name).write_text("", encoding="utf-8")
    code = code_of(service)

    for reply in (httpx2.get(f"{service.base_url}/", trust_env=False), post(service, {"origin": "null"}, code=code)):
        assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "The chat page is not installed" in reply.text
        assert "pip install --force-reinstall svc-jupyter" in reply.text
        assert "dist/" not in reply.text  # nothing that would be missing
        assert "'self'" not in reply.headers["content-security-policy"]


def test_nothing_else_of_the_package_is_served(service: ThreadService):
    for path in ("/dist/", "/dist/page.html", "/dist/../page.html", "/dist/%2e%2e/keys.py", "/static/swc.css"):
        assert httpx2.get(f"{service.base_url}{path}", trust_env=False).status_code == 404, path
