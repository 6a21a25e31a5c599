"""A user's own keys over the wire: made, listed, revoked, and never worth more than the key that made them."""

from __future__ import annotations

from contextlib import ExitStack

import httpx2
import pytest

from svc.service.access.key_admin import revoke_key
from svc.service.access.user_keys import MAX_KEYS, PAGE_SECONDS
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService

NOW = 1_800_000_000.0


def make(http: httpx2.Client, **wanted: object) -> dict[str, object]:
    reply = http.post("/key/create", json=wanted)
    assert reply.status_code == 200, reply.text
    assert reply.headers["cache-control"] == "no-store"
    return reply.json()["data"]


def listed(http: httpx2.Client) -> list[dict[str, object]]:
    return http.get("/key/list").json()["keys"]


def status(service: ThreadService, key: str) -> int:
    with service.http(key) as http:
        return http.get("/key/list").status_code


def page_key(service: ThreadService, key: str) -> str:
    with service.http(key) as http:
        code = http.post("/page/code").json()["code"]
        asked = http.post("/", data={"code": code}).text
        confirmation = asked.partition('name="confirmation" value="')[2].partition('"')[0]
        page = http.post("/", data={"confirmation": confirmation}, headers={"origin": service.base_url})
    return page.text.partition('"api_key":"')[2].partition('"')[0]


def test_a_created_key_opens_the_sessions_of_its_user_and_is_shown_once(service: ThreadService):
    with service.http() as http:
        made = make(http, name="laptop")
        assert made["api_key"] not in http.get("/key/list").text
    with service.http(made["api_key"]) as http:
        assert http.get("/user/info").json()["user"]["id"] == "local"
        assert [(key["name"], key["is_asking"]) for key in listed(http)] == [
            ("this machine's key file", False),
            ("laptop", True),
        ]


def test_keys_of_another_user_cannot_be_listed_or_revoked(service: ThreadService):
    ann_id, ann = service.make_key("ann")
    _, bob = service.make_key("bob")
    with service.http(bob) as http:
        assert len(listed(http)) == 1
        refused = http.post("/key/revoke", json={"id": ann_id})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "id")
    assert status(service, ann) == 200


def test_a_revoked_key_is_rejected_with_the_time_of_revocation(service: ThreadService):
    _, ann = service.make_key("ann")
    with service.http(ann) as http:
        made = make(http, name="old")
        assert http.post("/key/revoke", json={"id": made["key"]["id"]}).status_code == 200
        assert [key["revoke_time"] > 0 for key in listed(http)] == [False, True]
    assert status(service, made["api_key"]) == 401


@pytest.mark.parametrize(
    ("own_life", "ttl", "life"),
    [
        pytest.param(0, 0, 0, id="both-for-ever"),
        pytest.param(0, 600, 600, id="the-wanted-time"),
        pytest.param(900, 600, 600, id="the-shorter-time"),
        pytest.param(900, 0, 900, id="as-long-as-the-one-that-asks"),
        pytest.param(900, 9_000, 900, id="never-longer"),
    ],
)
def test_a_created_key_expires_no_later_than_its_creator(
    start_service: StartService, own_life: int, ttl: int, life: int
):
    service = start_service(Echo, clock=lambda: NOW)
    _, ann = service.make_key("ann", expires=NOW + own_life if own_life else 0.0)
    with service.http(ann) as http:
        made = make(http, ttl=ttl)
    assert made["key"]["expire_time"] == (int(NOW) + life if life else 0)


def test_a_created_key_inherits_rights_and_limits(service: ThreadService):
    _, ann = service.make_key("ann", logging="never", rpm=4)
    with ExitStack() as stack:
        http = stack.enter_context(service.http(ann))
        other = stack.enter_context(service.http(make(http)["api_key"]))
        user = other.get("/user/info").json()["user"]
        assert (user["never_log"], user["rpm"], user["allow_experimental"]) == (True, 4, False)
        assert [client.get("/key/list").status_code for client in (http, other, other)] == [200, 200, 429]


def test_the_number_of_valid_keys_is_bounded(service: ThreadService):
    _, ann = service.make_key("ann")
    with service.http(ann) as http:
        for _ in range(MAX_KEYS - 1):
            make(http)
        refused = http.post("/key/create", json={})
    assert (
        refused.status_code,
        f"you have {MAX_KEYS} valid keys, the maximum" in refused.json()["error"]["message"],
    ) == (400, True)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        pytest.param({"name": "x" * 101}, "name", id="long-name"),
        pytest.param({"name": "a\x1b[31m"}, "name", id="control-characters"),
        pytest.param({"ttl": -1}, "ttl", id="negative-ttl"),
        pytest.param({"ttl": 10**12}, "ttl", id="endless-ttl"),
    ],
)
def test_invalid_key_requests_are_rejected(service: ThreadService, body: dict[str, object], param: str):
    with service.http() as http:
        refused = http.post("/key/create", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


def test_the_local_services_own_key_is_not_revoked_here(service: ThreadService):
    with service.http() as http:
        key_id = listed(http)[0]["id"]
        refused = http.post("/key/revoke", json={"id": key_id})
    assert (refused.status_code, "key file" in refused.json()["error"]["message"]) == (400, True)
    assert status(service, service.key) == 200


async def test_svc_keys_revoke_also_ends_keys_created_with_the_key(service: ThreadService):
    ann_id, ann = service.make_key("ann")
    with service.http(ann) as http:
        child = make(http)["api_key"]
    with service.http(child) as http:
        grandchild = make(http)["api_key"]
    assert await revoke_key(service.database, ann_id) == 2
    assert [status(service, key) for key in (ann, child, grandchild)] == [401, 401, 401]


def test_keys_created_by_a_page_outlive_it_and_the_page_ends_with_its_key(start_service: StartService):
    now = [NOW]
    service = start_service(Echo, clock=lambda: now[0])
    ann_id, ann = service.make_key("ann")
    page = page_key(service, ann)
    with service.http(page) as http:
        made = make(http)
        assert made["key"]["expire_time"] == 0
        assert http.post("/key/revoke", json={"id": ann_id}).status_code == 200
    assert (status(service, page), status(service, made["api_key"])) == (401, 200)


def test_a_pages_key_ends_after_its_hours_and_is_forgotten(start_service: StartService):
    now = [NOW]
    service = start_service(Echo, clock=lambda: now[0])
    _, ann = service.make_key("ann")
    page = page_key(service, ann)
    with service.http(ann) as http:
        assert [key["is_page"] for key in listed(http)] == [False, True]
        now[0] += PAGE_SECONDS
        assert status(service, page) == 401
        assert [key["is_page"] for key in listed(http)] == [False]
    now[0] += 1
    store = service.running.service.session_stores.logged
    service.run(store.delete_expired_page_keys(ended_before=now[0]))
    assert [key.is_page for key in service.run(store.keys())] == [False, False]
