"""Each skill's pictures, from real input: what they are called, and what they mark."""

from __future__ import annotations

import io
import random

from svc.assistant.findings import Finding
from svc.assistant.skills.logins.pictures import pictures as login_pictures
from svc.assistant.skills.logins.tool import inspect as inspect_logins
from svc.assistant.skills.pcap.pictures import pictures as traffic_pictures
from svc.assistant.skills.pcap.tool import inspect as inspect_traffic
from tests.support.captures import START, capture, conversation


def found(events):
    return [event for event in events if isinstance(event, Finding)]


def log(*, accepted: str = "") -> list[str]:
    lines = [
        f"Nov 20 02:{minute:02d}:{second:02d} web-3 sshd[9]: "
        f"Failed password for root from 203.0.113.{minute % 5} port 22 ssh2"
        for minute in range(10, 50)
        for second in (5, 35)
    ]
    return [*lines, f"Nov 20 02:50:00 web-3 sshd[9]: Accepted password for {accepted} from 192.0.2.1 port 22 ssh2"]


def test_failed_logins_are_drawn_by_source_with_the_accepted_login():
    over_time, by_source = login_pictures(found(inspect_logins(log(accepted="mara"), source="auth.log")))
    assert (over_time.title, by_source.title) == ("Failed logins over time", "Failed logins by source")
    assert "mara 02:50:00" in over_time.svg
    assert 'data-ask="What did mara do?"' in over_time.svg
    assert "zone not stated" in over_time.svg
    assert "others" in over_time.svg or "other sources" in over_time.svg


def test_a_hostile_account_is_inert_in_its_picture():
    over_time, _ = login_pictures(found(inspect_logins(log(accepted='"><script>alert(1)</script>'), source="auth.log")))
    assert "<script" not in over_time.svg


def test_a_beacon_is_drawn_with_its_contacts():
    chance = random.Random(3)
    frames = []
    for call in range(20):
        frames += conversation(
            [(">", b"GET / HTTP/1.1\r\n\r\n")], ports=(50_000 + call, 80), at=START + call * 60 + chance.random()
        )
    drawn = traffic_pictures(found(inspect_traffic(io.BytesIO(capture(frames)), source="a.pcap")))
    assert drawn[0].title == "Suspicious traffic over time"
    assert drawn[0].svg.count("<circle") >= 20
