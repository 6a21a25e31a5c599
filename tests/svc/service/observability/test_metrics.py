"""Figures for Prometheus: switched on by a setting, read with a key, and never a word of what was asked."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.assistants.scripted import Crash, Echo
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import ask, opened, register


def figures(service: ThreadService) -> dict[str, float]:
    with service.http() as http:
        reply = http.get("/metrics")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/plain")
    samples = [s for family in text_string_to_metric_families(reply.text) for s in family.samples]
    return {f"{s.name}{sorted(s.labels.values())}": s.value for s in samples}


def test_metrics_are_off_by_default(service: ThreadService):
    with service.http() as http:
        assert http.get("/metrics").status_code == 404


def test_metrics_need_a_key(start_service: StartService):
    service = start_service(Echo, metrics=True)
    with service.http("svc_none") as http:
        assert http.get("/metrics").status_code == 401


def test_metrics_are_for_the_users_that_the_operator_names(start_service: StartService):
    service = start_service(Echo, metrics=True, metrics_users=("ops",))
    _, operator = service.make_key("ops")
    for key, status in ((operator, 200), (service.key, 404), (service.make_key("ann")[1], 404)):
        with service.http(key) as http:
            assert http.get("/metrics").status_code == status


@pytest.mark.one_service("each service counts what it did")
async def test_requests_streams_and_turns_are_counted(start_service: StartService):
    service = start_service(Echo, metrics=True)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "zebra zebra")
        during = figures(service)
    with service.http() as http:
        http.get("/no/such/zebra")

    after = figures(service)
    assert during["svc_open_streams[]"] == 1
    assert after["svc_turns_total['answered']"] == 1
    assert after["svc_messages_total[]"] >= 4
    assert after["svc_tokens_total[]"] > 0
    assert after["svc_requests_total['/session/register', '200', 'POST']"] == 1
    assert after["svc_requests_total['404', 'other', 'other']"] == 1
    assert not [name for name in after if "zebra" in name]


@pytest.mark.one_service("each service counts what it did")
@pytest.mark.parametrize("prompt", ["raise", "upstream"])
def test_failed_turns_count_as_failed(prompt: str, start_service: StartService):
    service = start_service(Crash, metrics=True)
    session_id = register(service)
    with service.http() as http:
        query = {"message_type": "query", "content": prompt}
        http.post("/session/generate", json={"id": session_id, "messages": [query]})
    assert figures(service)["svc_turns_total['failed']"] == 1
