"""The answer about a capture: the worst first, evidence in code spans, addresses that no click follows."""

from __future__ import annotations

import io

import pytest

from svc.assistant.findings import Facts, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.pcap.answer import SECTION
from svc.assistant.skills.pcap.tool import inspect
from tests.support.captures import SERVER, START, capture, conversation, ethernet, question, udp

GET = b"GET /a|b`c HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: <img src=x>|`\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
SHELL = [(">", b"Microsoft Windows [Version 10.0.1]\r\nC:\\>"), ("<", b"whoami\r\n")]


def findings(frames: list) -> list[Finding[Facts]]:
    items = inspect(io.BytesIO(capture(frames)), source="x.pcap")
    return [item for item in items if isinstance(item, Finding)]


def test_the_verdict_names_the_worst_first():
    calls = [
        frame
        for n in range(12)
        for frame in conversation([(">", GET), ("<", OK)], at=START + 60 * n, ports=(5_000 + n, 80))
    ]
    said = SECTION.verdict(findings(calls + conversation(SHELL, server=SERVER, ports=(50_000, 4444))))
    assert said.startswith("**2 detections:** a Windows command shell in cleartext")
    assert "every 60 s (12 connections)" in said
    assert "203.0.113.9" not in said


def test_a_capture_without_detections_says_so():
    found = findings(question("www.example.com", missing=False))
    assert "None of the patterns of attacks matched** in the readable part" in SECTION.verdict(found)
    assert "2 packets in 1 flow" in SECTION.verdict(found)


LAN = [("192.0.2.17", "192.0.2.53", 53), ("192.0.2.17", "203.0.113.66", 443), ("192.0.2.30", "198.51.100.23", 443)]
HUB = [("198.51.100.7", "203.0.113.1", 443), ("198.51.100.7", "203.0.113.2", 443), ("192.0.2.3", "198.51.100.7", 22)]
STRANGERS = [("198.51.100.7", "203.0.113.1", 443), ("192.0.2.3", "203.0.113.2", 443)]
PRIVATE = [("10.0.0.5", "203.0.113.1", 443), ("10.0.0.5", "10.0.0.6", 445)]


@pytest.mark.parametrize(
    ("flows", "extent"),
    [
        pytest.param(PRIVATE, "between 3 addresses (1 outside)", id="private addresses"),
        pytest.param(LAN, "between 5 addresses (2 outside)", id="a resolver in the same network"),
        pytest.param(HUB, "between 4 addresses (3 outside)", id="one host in every flow"),
        pytest.param(
            STRANGERS, "between 4 addresses (none is private: inside or outside is unknown", id="nothing tells"
        ),
    ],
)
def test_addresses_outside_are_counted_only_if_the_inside_is_known(flows: list[tuple[str, str, int]], extent: str):
    frames = [
        (START + number, ethernet(udp(client, server, (40_000 + number, port), b"x")))
        for number, (client, server, port) in enumerate(flows)
    ]
    assert extent in SECTION.verdict(findings(frames))


def test_an_unreadable_capture_is_reported():
    assert SECTION.verdict([]) == "**Not examined:** no packet could be read."
    assert as_sections(SECTION.folds([])) == ""


def test_tables_show_the_traffic_without_foreign_markup():
    body = as_sections(
        SECTION.folds(findings(conversation([(">", GET), ("<", OK)]) + question("www.example.com", missing=False)))
    )
    assert "**Web requests: " in body
    assert "**DNS: " in body
    assert "**Indicators: " in body
    assert "**Top talkers: " in body
    assert "<img" not in body.replace("`` <img src=x>\\|` ``", "")
    assert "www.example.com" not in body


def test_each_detection_has_a_next_step():
    steps = SECTION.next_steps(findings(conversation(SHELL, server=SERVER, ports=(50_000, 4444))))
    assert len(steps) == 1
    assert "`10[.]0[.]0[.]5`" in steps[0]


def test_many_hosts_are_drawn():
    frames = [f for n in range(8) for f in conversation([(">", GET)], client=f"10.0.0.{n + 10}", at=START + n)]
    titles = [picture.title for picture in SECTION.pictures(findings(frames))]
    assert len(titles) == 2
