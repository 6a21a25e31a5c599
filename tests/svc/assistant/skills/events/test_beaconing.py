"""Beaconing in logs: found with jitter in every form of log, and silent or low with the reason for ordinary traffic."""

from __future__ import annotations

import io

import pytest

from svc.assistant.findings import Finding, Severity, with_facts
from svc.assistant.skills.events import beaconing
from svc.assistant.skills.events.activity_findings import Beaconing, BeaconSearch
from svc.assistant.skills.events.answer import SECTION
from svc.assistant.skills.events.tool import inspect
from tests.svc.assistant.skills.events.beacon_logs import (
    EVIL,
    HELD,
    OPEN,
    QUIET_HELD,
    QUIET_OPEN,
    every,
    log,
    mail,
    squid,
    zeek_conn,
    zeek_json,
)  # fmt: skip

BEACONS = {**OPEN, **HELD}
QUIET = {**QUIET_OPEN, **QUIET_HELD}


def findings(content: bytes) -> list[Finding]:
    return [item for item in inspect(io.BytesIO(content), source="x.log") if isinstance(item, Finding)]


def loud(content: bytes) -> list[Finding[Beaconing]]:
    return [one for one in with_facts(findings(content), Beaconing) if one.severity is not Severity.LOW]


@pytest.mark.parametrize("name", BEACONS)
def test_a_beacon_is_found_among_the_traffic_of_people(name: str):
    [found] = loud(log(*BEACONS[name]))
    assert found.facts.source == EVIL["client"]
    assert found.facts.destination in (EVIL["address"], EVIL["name"])
    assert found.severity is Severity.MEDIUM
    assert found.evidence


@pytest.mark.parametrize("name", QUIET)
def test_ordinary_regular_traffic_is_at_most_low(name: str):
    assert [one.title for one in loud(log(*QUIET[name]))] == []


def test_an_ordinary_reason_is_named():
    reasons = [one.facts.reason for one in with_facts(findings(log(zeek_json, mail(3))), Beaconing)]
    assert reasons == ["a mail program that sends or looks for mail"]


def test_a_name_that_the_client_chose_does_not_lower_a_beacon():
    evil = EVIL | {"name": "fe2cr.update.microsoft.com"}
    assert loud(log(zeek_conn, every(60, 40, 0.1, 9, **evil)))


def test_a_port_of_the_network_outside_does_not_lower_a_beacon():
    assert loud(log(zeek_conn, every(60, 40, 0.1, 9, **(EVIL | {"port": 445}))))


def test_the_answer_states_the_beacon_and_how_far_was_searched():
    found = findings(log(squid, every(60, 40, 0.1, 9, **EVIL)))
    assert "Possible beaconing**: `10[.]4[.]0[.]17`" in SECTION.verdict(found)
    quiet = findings(log(squid, []))
    assert any("No beaconing: none of" in told for told in (SECTION.verdict(quiet), *SECTION.facts(quiet)))


def test_few_contacts_cannot_tell():
    found = findings(zeek_json(every(60, 5, 0.0, 1, **EVIL)).encode())
    assert any("Whether hosts beacon is unknown" in told for told in (SECTION.verdict(found), *SECTION.facts(found)))


def test_pairs_over_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beaconing, "MAX_PAIRS", 10)
    [searched] = with_facts(findings(log(zeek_conn, [])), BeaconSearch)
    assert searched.facts.pairs == 10
    assert searched.facts.untold > 100
