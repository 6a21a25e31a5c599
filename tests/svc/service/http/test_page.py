"""The page and the built files: responses, sign-in, and places where no key may appear."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

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


def enter(service: ThreadService, code: str, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{service.base_url}/", data={"code": code}, headers=headers, trust_env=False)


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


@pytest.mark.parametrize("case", ["used", "late", "made-up", "empty", "revoked-key"])
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
    kept = b"".join(path.read_bytes() for path in service.database.parent.rglob("*") if path.is_file())
    assert "'path': '/'" in logged
    for secret in (code, key):
        assert secret not in logged
        assert secret.encode() not in kept


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


def test_a_checkout_without_built_files_says_how_to_build_them(service: ThreadService, built: Path):
    reply = httpx2.get(f"{service.base_url}/dist/swc.iife.js", trust_env=False)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
    assert "npm run build" in reply.json()["error"]["message"]


def test_nothing_else_of_the_package_is_served(service: ThreadService):
    for path in ("/dist/", "/dist/page.html", "/dist/../page.html", "/dist/%2e%2e/keys.py", "/static/swc.css"):
        assert httpx2.get(f"{service.base_url}{path}", trust_env=False).status_code == 404, path
