"""Threat intelligence: what lists, bundles and rules contain, and whether any indicator of a list is in other files.

``HELD`` was written together with ``OPEN``, and first run when everything else was done.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import NamedTuple

import msgspec
import pytest

from svc.assistant.analyst.follow_ups import indicator_search
from svc.assistant.findings import AnyFinding, Coverage, Finding, Gap, with_facts
from svc.assistant.skills.indicators.intel import tool as intel
from svc.assistant.skills.indicators.intel.findings import DetectionRule, IntelObject, IntelSummary, ListedIndicator
from svc.assistant.skills.indicators.search.findings import IndicatorMatch, IndicatorSearch
from svc.assistant.skills.indicators.yara import tool as yara
from svc.assistant.skills.indicators.yara.findings import YaraMatch, YaraScan

NOW = "2026-11-20T03:12:45+00:00"


class Case(NamedTuple):
    """A listed value, a text that has it, and a text that only seems to."""

    listed: str
    has: str
    lacks: str


OPEN = [
    Case("192[.]0[.]2[.]7", "Failed password for root from 192.0.2.7 port 22", "from 192.0.2.70 and 1.192.0.2.7"),
    Case("198.51.100.0/25", "SRC=198.51.100.99 DST=192.0.2.1", "SRC=198.51.100.199"),
    Case("evil[.]example[.]com", "query: a.b.EVIL.example.com. IN A", "query: notevil.example.com"),
    Case(
        "hxxps://bad[.]example[.]org/gate.php?x=1",
        "GET https://bad.example.org/gate.php?x=1 HTTP/1.1",
        "bad.example.net",
    ),
    Case("2001:db8::7", "client 2001:0db8:0:0::0007 refused", "client 2001:db8::70 refused"),
    Case(
        "D41D8CD98F00B204E9800998ECF8427F",
        "MD5=d41d8cd98f00b204e9800998ecf8427f,IMPHASH=0",
        "aad41d8cd98f00b204e9800998ecf8427f",
    ),
    Case("mallory[@]example.org", "to=<Mallory@example.org>", "to=<notmallory@example.org>"),
    Case(
        "HKLM\\Software\\Evil\\Run", r"TargetObject: \REGISTRY\MACHINE\SOFTWARE\evil\Run\a", r"HKLM\Software\Evilx\Run"
    ),
    Case("loader.exe", r'{"Image": "C:\\Users\\a\\loader.exe"}', r"C:\Users\a\bootloader.exe"),
    Case(r"CORP\mara", r"TargetUserName=CORP\mara logon", r"CORP\maran logon"),
    Case("user: svc_backup", "Accepted password for svc_backup from 192.0.2.9", "svc_backup2 and svc_backup@host"),
    Case("%TEMP%\\a\\drop.dll", r"C:\Users\x\AppData\Local\Temp\a\drop.dll loaded", r"C:\Temp\b\drop.dll"),
]
HELD = [
    Case("203(.)0(.)113(.)200:8443", "->203.0.113.200:443 ESTAB", "->203.0.113.20:8443"),
    Case("2001:db8:aa::/48", "src=[2001:db8:aa:1::5]:443", "src=[2001:db8:ab:1::5]:443"),
    Case("b\u00fccher.example.net", "dns www.xn--bcher-kva.example.net A", "dns xn--other.example.net"),
    Case(
        "hxxp://files[.]example[.]net/a%20b.bin", 'host=files.example.net uri="/a b.bin"', 'host=x.net uri="/a b.bin"'
    ),
    Case("http://203.0.113.5/x", "CONNECT 203.0.113.5:80 GET http://203.0.113.5:80/x", "203.0.113.50/x"),
    Case(
        "- e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b856",
        "SHA256=" + "E3B0C44298FC1C149AFBF4C8996FB924" + "27AE41E4649B934CA495991B7852B856",
        "e3b0c44298fc1c149afbf4c8996fb924",
    ),
    Case("HKCU\\Software\\Foo", r"HKU\S-1-5-21-1-2-3-1001\Software\Foo\Bar", r"HKLM\Software\Foo"),
    Case("/tmp/.x/kworkerd", "execve /tmp/.x/kworkerd -o pool", "execve /tmp/.x/kworkerds"),
    Case("1. 192.0.2.44 - seen in November", "dst 192.0.2.44.", "dst 192.0.2.4"),
    Case("mutex: Global\\AbC123", r"Mutant \Sessions\1\BaseNamedObjects\Global\AbC123", r"Global\AbC1234"),
    Case("svchosts.exe,file,dropped by the loader", r"ParentImage=C:\Windows\svchosts.exe", r"C:\Windows\svchost.exe"),
    Case("phish@mail[.]example[.]com", "MAIL FROM:<phish@mail.example.com> SIZE=1", "xphish@mail.example.com"),
]


def listed(text: str, **options: str) -> list[ListedIndicator]:
    found = [event for event in intel.inspect(text, source="l", is_list="yes", **options) if isinstance(event, Finding)]
    return [one.facts for one in with_facts(found, ListedIndicator)]


def search(values: list[ListedIndicator], content: bytes, name: str = "a.log") -> list[AnyFinding | Gap | Coverage]:
    wanted = msgspec.json.encode({"values": [(one.type, one.value) for one in values]}).decode()
    events = indicator_search.inspect(io.BytesIO(content), source=name, wanted=wanted)
    return [event for event in events if isinstance(event, Finding | Gap | Coverage)]


def matches(values: list[ListedIndicator], content: bytes, name: str = "a.log") -> list[IndicatorMatch]:
    found = [event for event in search(values, content, name) if isinstance(event, Finding)]
    return [one.facts for one in with_facts(found, IndicatorMatch) if not one.facts.is_partial]


@pytest.mark.parametrize("case", OPEN + HELD, ids=lambda case: case.listed)
def test_a_listed_value_is_found_however_it_is_written(case: Case) -> None:
    values = listed(f"# list\n{case.listed}\n")
    assert len(values) == 1
    assert matches(values, f"x\n{case.has}\n".encode())
    assert not matches(values, f"x\n{case.lacks}\n".encode())


def test_a_match_has_its_place_and_its_time() -> None:
    values = listed("203.0.113.7\n")
    web = "".join(
        f'203.0.113.{n} - - [20/Nov/2026:03:12:0{n} +0100] "GET / HTTP/1.1" 200 5 "-" "c"\n' for n in (6, 7, 8)
    )
    [match] = matches(values, web.encode())
    assert (match.places[0].place, match.first, match.count) == ("line 2", "2026-11-20T02:12:07.000Z", 1)


def test_packed_content_is_not_said_to_be_searched() -> None:
    events = search(listed("203.0.113.7\n"), b"\x89PNG\r\n\x1a\n" + bytes(99), "a.png")
    [coverage] = [event for event in events if isinstance(event, Coverage)]
    assert coverage.understood == 0
    assert any(isinstance(event, Gap) and "compressed" in event.text for event in events)


def test_a_file_is_found_by_its_own_hash_and_the_parts_of_a_document_by_their_text() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "<w:t>http://bad.exam</w:t><w:t>ple.org/</w:t>")
    [match] = matches(listed("bad[.]example[.]org\n"), stream.getvalue(), "a.docx")
    assert match.places[0].place == "part word/document.xml"
    [itself] = matches(listed("900150983cd24fb0d6963f7d28e17f72\n"), b"abc")
    assert itself.how == "the file itself"


def test_the_host_of_a_url_alone_is_no_match() -> None:
    found = [
        event
        for event in search(listed("http://bad.example.org/gate\n"), b"GET http://bad.example.org/index\n")
        if isinstance(event, Finding)
    ]
    [partial] = with_facts(found, IndicatorMatch)
    [summary] = with_facts(found, IndicatorSearch)
    assert partial.facts.is_partial
    assert summary.facts.found == 0


BUNDLE = {
    "type": "bundle",
    "id": "bundle--44af6c39-c09b-49c5-9de2-394224b04982",
    "objects": [
        {
            "type": "indicator",
            "id": "indicator--1",
            "name": "C2",
            "pattern_type": "stix",
            "pattern": "[ipv4-addr:value = '192.0.2.7' OR file:hashes.'SHA-256' = '" + "ab" * 32 + "']",
            "valid_from": "2026-01-01T00:00:00Z",
            "valid_until": "2026-02-01T00:00:00Z",
            "object_marking_refs": ["marking-definition--5e57c739-391a-4eb3-b6be-7d15ca92d5ed"],
        },
        {"type": "indicator", "id": "indicator--2", "pattern_type": "yara", "pattern": "rule a { condition: true }"},
        {"type": "indicator", "id": "indicator--3", "pattern": "[url:value LIKE 'http://a%']", "pattern_type": "stix"},
        {"type": "malware", "id": "malware--1", "name": "Foo"},
        {
            "type": "attack-pattern",
            "id": "attack-pattern--1",
            "name": "Spearphishing",
            "external_references": [{"source_name": "mitre-attack", "external_id": "T1566.001"}],
        },
        {
            "type": "relationship",
            "relationship_type": "indicates",
            "source_ref": "indicator--1",
            "target_ref": "malware--1",
        },
    ],
}
EVENT = {
    "Event": {
        "info": "Phishing wave",
        "threat_level_id": "2",
        "Tag": [{"name": "tlp:amber"}],
        "Attribute": [
            {"type": "filename|md5", "value": "a.exe|d41d8cd98f00b204e9800998ecf8427f", "to_ids": True},
            {"type": "ip-dst|port", "value": "198.51.100.7|443", "to_ids": True},
            {"type": "comment", "value": "seen in March"},
        ],
        "Object": [{"name": "email", "Attribute": [{"type": "email-src", "value": "phish@example.org"}]}],
        "Galaxy": [{"type": "mitre-attack-pattern", "GalaxyCluster": [{"value": "Phishing - T1566"}]}],
    }
}


def read(text: str) -> tuple[list[AnyFinding], list[Gap]]:
    events = list(intel.inspect(text, source="b.json", now=NOW))
    return [one for one in events if isinstance(one, Finding)], [one for one in events if isinstance(one, Gap)]


def test_a_stix_bundle_is_listed_and_what_cannot_be_looked_for_is_named() -> None:
    found, gaps = read(json.dumps(BUNDLE, indent=1))
    assert {(one.facts.type, one.facts.expired) for one in with_facts(found, ListedIndicator)} == {
        ("ipv4", True),
        ("sha256", True),
    }
    assert [one.facts.technique for one in with_facts(found, IntelObject) if one.facts.technique] == ["T1566.001"]
    assert "C2 indicates Foo" in [one.facts.description for one in with_facts(found, IntelObject)]
    [summary] = with_facts(found, IntelSummary)
    assert summary.facts.tlp == ["TLP:RED"]
    assert "2 entries of the list cannot be looked for" in gaps[0].text
    assert all(one.severity.value == "info" for one in found)


def test_a_misp_event_is_listed() -> None:
    found, _ = read(json.dumps(EVENT))
    assert {one.facts.value for one in with_facts(found, ListedIndicator)} == {
        "a.exe",
        "d41d8cd98f00b204e9800998ecf8427f",
        "198.51.100.7",
        "phish@example.org",
    }
    [summary] = with_facts(found, IntelSummary)
    assert (summary.facts.name, summary.facts.tlp) == ("Phishing wave", ["TLP:AMBER"])
    assert "T1566" in [one.facts.technique for one in with_facts(found, IntelObject)]


@pytest.mark.parametrize(
    "text",
    ['{"type": "bundle", "objects": [', '{"type":"bundle","objects":{"a":1}}', '{"Event": {"Attribute": [1, null]}}'],
)
def test_damaged_intelligence_gives_no_indicator(text: str) -> None:
    assert not with_facts(read(text)[0], ListedIndicator)


SIGMA = """title: whoami as SYSTEM
logsource: {product: windows, category: process_creation}
detection:
  selection:
    Image|endswith: '\\whoami.exe'
  filter_a:
    User: bob
  condition: selection and not 1 of filter*
falsepositives: [Administrators]
level: high
tags: [attack.discovery, attack.t1033]
"""


def test_a_sigma_rule_is_explained_and_compiled() -> None:
    [rule] = [one.facts for one in with_facts(read(SIGMA)[0], DetectionRule)]
    assert rule.compiles
    assert rule.log_source == "product windows, category process_creation"
    assert rule.must_match[0].startswith("selection: Image ends with")
    assert (rule.techniques, rule.false_positives, rule.level) == (["T1033"], ["Administrators"], "high")
    [broken] = [one.facts for one in with_facts(read(SIGMA.replace("1 of filter*", "nothing"))[0], DetectionRule)]
    assert not broken.compiles
    assert broken.reason


YARA = 'rule evil : t {\n meta:\n  description = "Loader"\n strings:\n  $a = "payload"\n condition:\n  $a\n}\n'


def scan(rules: str, data: bytes) -> list[AnyFinding | Gap | Coverage]:
    options = msgspec.json.encode({"texts": [rules]}).decode()
    events = yara.inspect(io.BytesIO(data), source="a.bin", rules=options)
    return [one for one in events if isinstance(one, Finding | Gap | Coverage)]


def test_yara_rules_match_with_their_offset_and_broken_ones_are_named() -> None:
    pytest.importorskip("yara_x")
    events = scan(YARA + "rule other {\n condition:\n  nothing.here\n}\n", b"xx payload payload")
    found = [one for one in events if isinstance(one, Finding)]
    [match] = with_facts(found, YaraMatch)
    assert [one.offset for one in match.facts.strings] == [3, 11]
    [outcome] = with_facts(found, YaraScan)
    assert (outcome.facts.rules, outcome.facts.rejected) == (1, 1)
    assert any(isinstance(one, Gap) and "does not compile" in one.text for one in events)


def test_without_yara_the_answer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yara_x", None)
    events = scan(YARA, b"payload")
    assert any(isinstance(one, Gap) and "svc-jupyter[yara]" in one.text for one in events)
    [coverage] = [one for one in events if isinstance(one, Coverage)]
    assert coverage.understood == 0
