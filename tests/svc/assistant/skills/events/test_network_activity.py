"""Port scans, denials, connections after denials, in many firewalls' logs; ordinary traffic is not reported."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from itertools import product

import pytest

from svc.assistant.findings import Coverage, Finding, Severity
from svc.assistant.skills.events import network_activity
from svc.assistant.skills.events.answer import SECTION
from svc.assistant.skills.events.tool import inspect
from tests.support.evidence_kinds import at, iso, lines, table
from tests.support.openings import opening

SCANNER, TARGET = "203.0.113.50", "198.51.100.10"
Connection = tuple[str, int, str, int, bool]


def vertical() -> Iterator[Connection]:
    for port in range(1, 301):
        yield SCANNER, 40_000, TARGET, port, False


def horizontal() -> Iterator[Connection]:
    for number in range(1, 41):
        yield SCANNER, 40_000, f"198.51.100.{number}", 3389, False


def ordinary() -> Iterator[Connection]:
    """Clients browse, late replies of web servers are dropped, one client retries, background noise is denied."""
    for number in range(200):
        yield "192.168.7.20", 50_000 + number, f"192.0.2.{number % 90}", 443, True
        yield f"192.0.2.{number % 90}", 443, "192.168.7.20", 50_000 + number, False
    for number in range(20):
        yield "192.168.7.21", 51_000 + number, "192.0.2.5", 25, False
        yield f"203.0.113.{number}", 6_000, TARGET, (22, 23, 445, 3389)[number % 4], False


STORIES = {"vertical": vertical, "horizontal": horizontal, "ordinary": ordinary}


def netfilter(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    return (
        f"{at(n):%b %e %H:%M:%S} gw kernel: [UFW {'ALLOW' if ok else 'BLOCK'}] IN=eth0 OUT= SRC={src} DST={dst} LEN=44 "
        f"PROTO=TCP SPT={sport} DPT={dport} SYN"
    )


def firewalld(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    word = "filter_IN_public_ALLOW" if ok else "FINAL_REJECT"
    return f"{iso(n)} gw kernel: {word}: IN=eth0 OUT= SRC={src} DST={dst} PROTO=TCP SPT={sport} DPT={dport}"


def dmesg(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    word = "ACCEPT" if ok else "DROP"
    return f"[{n}.1] {word} IN=eth0 OUT= MAC=a SRC={src} DST={dst} LEN=44 PROTO=TCP SPT={sport} DPT={dport} SYN"


def asa(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    head = f"{at(n):%b %e %H:%M:%S} fw-1 "
    if ok:
        ends = f"inside/{src}({sport}) -> outside/{dst}({dport})"
        return f"{head}%ASA-6-106100: access-list out permitted tcp {ends} hit-cnt 1"
    return f'{head}%ASA-4-106023: Deny tcp src outside:{src}/{sport} dst inside:{dst}/{dport} by access-group "in"'


def fortigate(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    return (
        f"<189>date={at(n):%Y-%m-%d} time={at(n):%H:%M:%S} devname=FG devid=F1 logid=0000000013 type=traffic "
        f"subtype=local srcip={src} srcport={sport} dstip={dst} dstport={dport} action={'accept' if ok else 'deny'}"
    )


def vpc(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    time = int(at(n).timestamp())
    return f"2 123456789010 eni-1a {src} {dst} {sport} {dport} 6 1 44 {time} {time} {'ACCEPT' if ok else 'REJECT'} OK"


def filterlog(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    return (
        f"<134>1 {iso(n)} pf filterlog 77 - - 9,,,1,em0,match,{'pass' if ok else 'block'},in,4,0x0,,64,0,0,none,17,udp,"
        f"60,{src},{dst},{sport},{dport},40"
    )


def cef(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    return (
        f"CEF:0|Check Point|VPN-1|R80|1|{'Accept' if ok else 'Drop'}|Unknown|act={'Accept' if ok else 'Drop'} "
        f"rt={int(at(n).timestamp() * 1000)} spt={sport} dpt={dport} src={src} dst={dst} proto=6"
    )


def paloalto(n: int, src: str, sport: int, dst: str, dport: int, ok: bool) -> str:
    time = f"{at(n):%Y/%m/%d %H:%M:%S}"
    return (
        f"<14>{at(n):%b %e %H:%M:%S} pa 1,{time},1,TRAFFIC,end,1,{time},{src},{dst},,,r,,,x,v,a,b,c,d,e,{time},1,1,"
        f"{sport},{dport},0,0,0x0,tcp,{'allow' if ok else 'reset-both'},1"
    )


LINE_FORMS = [netfilter, firewalld, dmesg, asa, fortigate, vpc, filterlog, cef, paloalto]


def zeek(rows: list[Connection]) -> bytes:
    head = "#separator \\x09\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tconn_state\n"
    return head.encode() + lines(
        f"{at(n).timestamp()}\tC\t{src}\t{sport}\t{dst}\t{dport}\t{'SF' if ok else 'S0'}"
        for n, (src, sport, dst, dport, ok) in enumerate(rows)
    )


def csv_table(rows: list[Connection]) -> bytes:
    header = ["Time", "Source IP", "Source Port", "Destination IP", "Destination Port", "Action"]
    cells = ((iso(n), *row[:4], "allow" if row[4] else "drop") for n, row in enumerate(rows))
    return table(header, cells)


def content(form: str, story: str) -> bytes:
    rows = list(STORIES[story]())
    if form in ("zeek", "csv"):
        return {"zeek": zeek, "csv": csv_table}[form](rows)
    write = next(write for write in LINE_FORMS if write.__name__ == form)
    return lines(write(n, *row) for n, row in enumerate(rows))


CASES = list(product([*(write.__name__ for write in LINE_FORMS), "zeek", "csv"], STORIES))
OPEN, HELD = CASES[::2], CASES[1::2]


def findings(data: bytes) -> list[Finding]:
    return [item for item in inspect(io.BytesIO(data), source="fw.log") if isinstance(item, Finding)]


def is_right(form: str, story: str) -> bool:
    scans = [found.facts for found in findings(content(form, story)) if found.kind == "port_scan"]
    match story:
        case "vertical":
            return [(s.source, s.shape, s.ports, s.targets[0]) for s in scans] == [(SCANNER, "vertical", 300, TARGET)]
        case "horizontal":
            return [(s.source, s.shape, s.hosts, s.tried) for s in scans] == [(SCANNER, "horizontal", 40, [3389])]
        case _:
            return not scans


@pytest.mark.parametrize(("form", "story"), CASES)
def test_scans_are_found_and_ordinary_traffic_is_none(form, story):
    assert is_right(form, story)


def test_300_blocked_ports_are_a_port_scan_in_the_verdict():
    found = findings(content("netfilter", "vertical"))
    verdict = opening(SECTION, found)
    assert "**Port scan**: `203[.]0[.]113[.]50` tried 300 ports of `198[.]51[.]100[.]10` (300 attempts)." in verdict
    assert "300 connections from 1 address, 300 denied or unanswered." in verdict


def test_without_a_scan_the_verdict_says_what_was_read():
    verdict = SECTION.verdict(findings(content("netfilter", "ordinary")))
    assert "no port scan among them" in verdict


def test_no_rule_covers_firewall_logs_and_the_coverage_says_so():
    [coverage] = [
        item
        for item in inspect(io.BytesIO(content("netfilter", "vertical")), source="ufw.log")
        if isinstance(item, Coverage)
    ]
    assert (coverage.understood, coverage.total, coverage.unit, coverage.read_as) == (300, 300, "line", "syslog")
    assert coverage.looked_for == "port scans and repeated denials, beaconing, gaps in the log"
    assert coverage.not_covered == "no detection rule covers firewall logs"


def test_a_connection_allowed_after_denials_is_reported():
    rows = [*(netfilter(n, SCANNER, 40_000, TARGET, 22, False) for n in range(6)),
            netfilter(7, SCANNER, 40_000, TARGET, 22, True)]  # fmt: skip
    [found] = [one for one in findings(lines(rows)) if one.kind == "denied_traffic"]
    assert (found.severity, found.facts.denied, found.facts.allowed_port) == (Severity.MEDIUM, 6, 22)
    assert found.evidence[-1].line == 7


def test_repeated_denials_of_one_program_are_low():
    rows = [netfilter(n, "192.168.7.21", 50_000, "192.0.2.5", 25, False) for n in range(60)]
    [found] = [one for one in findings(lines(rows)) if one.kind == "denied_traffic"]
    assert (found.severity, found.facts.denied) == (Severity.LOW, 60)


def test_memory_is_bounded_by_pairs_and_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr(network_activity, "MAX_PAIRS", 10)
    monkeypatch.setattr(network_activity, "MAX_SWEEPS", 10)
    rows = (netfilter(n, f"203.0.113.{n}", 40_000, TARGET, 22, False) for n in range(200))
    [summary] = [one.facts for one in findings(lines(rows)) if one.kind == "network_summary"]
    assert (summary.connections, summary.untold) == (200, 190)


def test_ports_are_counted_exactly_also_if_all_are_tried():
    order = list(range(65_536))
    random.Random(0).shuffle(order)
    pair = network_activity._Pair()
    for tried, port in enumerate(order, 1):
        pair.add_port(port, is_failed=port % 3 == 0)
        if tried in (14, 150, 400, 65_536):
            assert sorted(pair.tried) == sorted(order[:tried])
            assert sorted(pair.failed) == sorted(port for port in order[:tried] if port % 3 == 0)


@pytest.mark.parametrize(("hosts", "words"), [(9_999, "9,999 hosts"), (10_050, "at least 10,000 hosts")])
def test_a_sweep_of_very_many_hosts_is_told_as_at_least_so_many(hosts: int, words: str):
    rows = [netfilter(n, SCANNER, 40_000, f"198.51.{n >> 8}.{n & 255}", 3389, False) for n in range(hosts)]
    [scan] = [one for one in findings(lines(rows)) if one.kind == "port_scan"]
    assert scan.title == f"port scan by {SCANNER}: port 3389 on {words}"
    assert f"tried port 3389 on {words} ({hosts:,} attempts)" in opening(SECTION, [scan])


ASA_LOGINS = [
    ('%ASA-6-605004: Login denied from 192.0.2.7/5000 to inside:198.51.100.1/ssh for user "admin"', "failure"),
    ('%ASA-6-605005: Login permitted from 192.0.2.7/5000 to inside:198.51.100.1/ssh for user "admin"', "success"),
    ("%ASA-6-113015: AAA user authentication Rejected : reason = x : user = admin : user IP = 192.0.2.7", "failure"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "outcome"), ASA_LOGINS)
def test_logins_on_a_cisco_firewall_are_logins(message, outcome):
    data = lines(f"Nov 20 10:00:{n:02} fw-1 : {message}" for n in range(6))
    kinds = [found.kind for found in findings(data)]
    assert ("logon_source" if outcome == "failure" else "logon") in kinds
