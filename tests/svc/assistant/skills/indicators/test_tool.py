"""Indicators: every type and harmless form, what only looks like one, and counts against a generator's truth."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Finding, Gap, Progress
from svc.assistant.skills.indicators import context
from svc.assistant.skills.indicators import tool as indicators
from svc.untrusted.defang import defang, plain, refang


def found(text: str) -> dict[str, list[str]]:
    """The values by type, in the order of the findings."""
    values: dict[str, list[str]] = {}
    for item in indicators.inspect(text, source="report"):
        if isinstance(item, Finding):
            values.setdefault(item.facts.type, []).append(item.facts.value)
    return values


def gaps(text: str) -> str:
    return "\n".join(item.text for item in indicators.inspect(text, source="report") if isinstance(item, Gap))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("hxxp://evil[.]top/a", "http://evil.top/a"),
        ("hXXps[:]//evil(.)top", "https://evil.top"),
        ("hxxps://1[.]2[.]3[.]4:80", "https://1.2.3.4:80"),
        ("h**p://evil.top", "http://evil.top"),
        ("[http]://evil.top", "http://evil.top"),
        ("https[://]evil[.]top", "https://evil.top"),
        ("meow://evil.top", "http://evil.top"),
        ("fxp://evil.top", "ftp://evil.top"),
        ("bad[at]evil[dot]top", "bad@evil.top"),
        ("bad [at] evil [dot] top", "bad@evil.top"),
        ("evil{dot}top", "evil.top"),
        ("evil [.] top", "evil.top"),
        ("evil[.top", "evil.top"),
        ("evil.]top", "evil.top"),
        ("evil[.]top[/]path", "evil.top/path"),
        ("evil[.]top[:]8080", "evil.top:8080"),
        ("2001[:]db8[:]:1", "2001:db8::1"),
        ("evil dot com", "evil.com"),
        ("ev\u200bil[.]top", "evil.top"),
        ("array[i].x, f(x).y and (see p. 3).", "array[i].x, f(x).y and (see p. 3)."),
        (r"C:\Users\x\.ssh\id", r"C:\Users\x\.ssh\id"),
    ],
)
def test_harmless_forms_are_read_as_what_they_mean(written, meant):
    assert plain(refang(written)) == meant


def test_undoing_harmless_forms_keeps_every_line_break():
    text = "a [.] b\nhxxp://\n[\n.]com\r\n(at)\nx"
    assert refang(text).count("\n") == text.count("\n")


TYPES = [
    ("url", "see https://evil.top/a?b=c#d, then", ["https://evil.top/a?b=c#d"]),
    ("url", "(https://evil.top/about/), bar", ["https://evil.top/about/"]),
    ("url", "https://evil.top/wiki/A_(b)", ["https://evil.top/wiki/A_(b)"]),
    ("url", "DownloadString('http://evil.top/r.ps1');g", ["http://evil.top/r.ps1"]),
    ("url", "url,https://evil.top/g,Malicious", ["https://evil.top/g"]),
    ("url", "go to evil.top/gate.php now", ["evil.top/gate.php"]),
    ("url", "http://[2606:4700::1111]:8080/x", ["http://[2606:4700::1111]:8080/x"]),
    ("url", "http://203.0.113.7:8080/x.", ["http://203.0.113.7:8080/x"]),
    ("url", "https://evil.top/abc,False,False", ["https://evil.top/abc"]),
    ("domain", "https://a.top/x?q=b.top&file=c.php", ["a.top", "b.top"]),
    ("ipv4", "45.9.148.7/10 is an address, 45.9.148.0/24 a network", ["45.9.148.7"]),
    ("file_path", "/Library/Storage/File System/HFS/a.appex", ["/Library/Storage/File System/HFS/a.appex"]),
    ("domain", "beacons to evil-site.co.uk.", ["evil-site.co.uk"]),
    ("domain", "EVIL.COM and evil.com", ["evil.com"]),
    ("domain", "xn--80ak6aa92e.com münchen.de", ["xn--80ak6aa92e.com", "münchen.de"]),
    ("domain", "install[.]sh is a host here", ["install.sh"]),
    ("domain", "expyuzz4wqqyqhjn.onion", ["expyuzz4wqqyqhjn.onion"]),
    ("ipv4", "(45.9.148.12) 255.256.3.1 1.2.3.4.5", ["45.9.148.12"]),
    ("ipv4", "45.9.148.12:8080 and 45[.]9[.]148[.]13", ["45.9.148.12", "45.9.148.13"]),
    ("ipv4_cidr", "block 45.9.148.0/24, please", ["45.9.148.0/24"]),
    ("ipv6", "2a02:26f0::1 [2606:4700::1111]:443 fe80::1%eth0", ["2a02:26f0::1", "2606:4700::1111", "fe80::1"]),
    ("ipv6_cidr", "2a02:26f0::/32", ["2a02:26f0::/32"]),
    ("email", "mail bad.guy+x@evil.top, or", ["bad.guy+x@evil.top"]),
    ("md5", "A" * 31 + "B", ["a" * 31 + "b"]),
    ("sha1", "sha1=31b54aebdaf5fbc73a66ac41ccb35943cc9b7f72", ["31b54aebdaf5fbc73a66ac41ccb35943cc9b7f72"]),
    ("sha256", "ab" * 32, ["ab" * 32]),
    ("sha512", "cd" * 64, ["cd" * 64]),
    ("imphash", "Imphash: f34d5f2d4577ed6d9ceec516c1f5a744", ["f34d5f2d4577ed6d9ceec516c1f5a744"]),
    ("ssdeep", "3:AXGBicFlgVNhBGcL6wCrFQEv:AXGHsNhxLsr2C", ["3:AXGBicFlgVNhBGcL6wCrFQEv:AXGHsNhxLsr2C"]),
    ("cve", "cve 2021-44228 CVE-2021-44228 CVE\u20102020\u20101472", ["CVE-2021-44228", "CVE-2020-1472"]),
    ("attack_technique", "T1059.001 (T1566), T10590", ["T1059.001", "T1566"]),
    ("file_path", r"C:\Users\x\AppData\Local\Temp\evil.exe /c dir", [r"C:\Users\x\AppData\Local\Temp\evil.exe"]),
    ("file_path", r'"C:\Program Files\Foo Bar\a b.exe" and', [r"C:\Program Files\Foo Bar\a b.exe"]),
    ("file_path", r"copied C:\Temp\a.exe to \\srv\share\b.exe", [r"C:\Temp\a.exe", r"\\srv\share\b.exe"]),
    ("file_path", r'{"path": "C:\\Windows\\Temp\\x.dll"}', [r"C:\Windows\Temp\x.dll"]),
    ("file_path", r"%APPDATA%\Roaming\x.vbs", [r"%APPDATA%\Roaming\x.vbs"]),
    ("file_path", "wrote /tmp/.x/evil.sh and ~/foo/bar.py.", ["/tmp/.x/evil.sh", "~/foo/bar.py"]),
    ("registry_key", r"under HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Run on the box",
     [r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Run"]),
    ("registry_key", r"<HKCU>\Software\A HKLM\Software\B", [r"HKCU\Software\A", r"HKLM\Software\B"]),
    ("mutex", r"creates Global\MsWinZonesCacheCounterMutexA", [r"Global\MsWinZonesCacheCounterMutexA"]),
    ("named_pipe", r"\\.\pipe\msagent_12", [r"\\.\pipe\msagent_12"]),
    ("bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
     ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"]),
    ("ethereum", "0x52908400098527886E0F7030069857D2E4169EE7", ["0x52908400098527886e0f7030069857d2e4169ee7"]),
    ("asn", "AS13335 ASN 64512 asn3 AS 9999", ["ASN13335", "ASN64512", "ASN3", "ASN9999"]),
    ("tlp", "tlp amber TLP:RED TLP_GREEN tlp-white, TLP : CLEAR",
     ["TLP:AMBER", "TLP:RED", "TLP:GREEN", "TLP:WHITE", "TLP:CLEAR"]),
    ("email", "bar@[IPv6:2001:db8::1] foo@[1.2.3.4]", ["bar@[ipv6:2001:db8::1]", "foo@[1.2.3.4]"]),
    ("cve", "cve 2014-0160 CVE-2020-12345678", ["CVE-2014-0160", "CVE-2020-12345678"]),
    ("mac", "aa:bb:cc:dd:ee:ff", ["aa:bb:cc:dd:ee:ff"]),
    ("user_agent", '"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/9.0"',
     ["Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/9.0"]),
    ("file_name", "drops svchost32.exe there", ["svchost32.exe"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "values"), TYPES, ids=[f"{row[0]}: {row[1][:24]}" for row in TYPES])
def test_each_type_is_found_in_its_canonical_form(kind, text, values):
    assert found(text).get(kind) == values


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("domain", "System.Net.WebClient System.IO readme.md script.py install.sh libc.so main.rs archive.zip"),
        ("domain", "the end.The start of it"),
        ("domain", "window.open('x') document.location.host this.name e.g. i.e. p.m."),
        ("domain", "com.example.app.MainActivity"),
        ("ipv4", "Chrome/91.0.44.124 version 1.2.3.4, v4.3.2.1 and build: 10.0.0.1"),
        ("ipv6", "std::string 10:11:12 dead::beef a::b"),
        ("sha1", "0x52908400098527886E0F7030069857D2E4169EE7"),
        ("md5", "0" * 32),
        ("bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdx"),
        ("attack_software", "part number S0154 of the shelf"),
        ("asn", "an AS400 as 5 of them"),
        ("ssdeep", "12:30:45 2001:0db8:0000"),
        ("mutex", r"C:\Users\x\AppData\Local\Temp"),
    ],
)
def test_text_that_only_resembles_an_indicator_is_left_out(kind, text):
    assert kind not in found(text)


def test_excluded_indicators_are_reported_with_the_reason():
    said = gaps("version 1.2.3.4 and readme.md")
    assert "version numbers, not addresses: 1 (1.2.3.4)" in said
    assert "files or program text, not hosts: 1 (readme.md)" in said


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("10.1.2.3", "private"), ("127.0.0.1", "loopback"), ("169.254.1.1", "link-local"),
        ("192.0.2.1", "documentation"), ("255.255.255.0", "netmask"), ("8.8.8.8", "public"),
        ("a.example.com", "documentation"), ("www.microsoft.com", "common"),
        ("dc01.corp.local", "internal"), ("evil.top", "public"), ("notmicrosoft.com", "public"),
    ],
)  # fmt: skip
def test_each_address_and_name_is_marked_with_its_range(text, scope):
    (finding,) = (item for item in indicators.inspect(text, source="r") if isinstance(item, Finding))
    assert finding.facts.scope == scope


def test_the_host_of_a_url_is_an_indicator_too_and_a_redirect_target_as_well():
    values = found("https://a.top/r?url=http%3A%2F%2Fb.top%2Fx")
    assert values["domain"] == ["a.top", "b.top"]
    assert values["url"] == ["https://a.top/r?url=http%3A%2F%2Fb.top%2Fx", "http://b.top/x"]


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        ("https://evil.top/a.b", "url", "hxxps://evil[.]top/a.b"),
        ("evil.top/a.b", "url", "evil[.]top/a.b"),
        ("ftp://1.2.3.4/", "url", "fxp://1[.]2[.]3[.]4/"),
        ("a@b.top", "email", "a[@]b[.]top"),
        ("1.2.3.4", "ipv4", "1[.]2[.]3[.]4"),
        ("2001:db8::1", "ipv6", "2001[:]db8::1"),
        ("a" * 32, "md5", "a" * 32),
    ],
)
def test_shown_indicators_cannot_be_clicked(value, kind, shown):
    assert defang(value, kind) == shown


def test_evidence_quotes_the_line_of_the_file_unchanged():
    text = "one\ntwo hxxp://evil[.]top here\nthree"
    first = next(item for item in indicators.inspect(text, source="r.txt") if isinstance(item, Finding))
    assert (first.evidence[0].line, first.evidence[0].excerpt) == (2, "two hxxp://evil[.]top here")


def test_counts_and_first_lines_of_a_large_log_match_the_generated_ones():
    rng = random.Random(20)
    pool = [
        f"{rng.randint(11, 99)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}" for _ in range(300)
    ]
    counts: dict[str, int] = {}
    first: dict[str, int] = {}
    lines = []
    for number in range(1, 20_001):
        ip = rng.choice(pool)
        counts[ip] = counts.get(ip, 0) + 1
        first.setdefault(ip, number)
        lines.append(f"Nov 20 10:00:00 web sshd[{number}]: Failed password for root from {ip} port {number} ssh2")
    items = list(indicators.inspect("\n".join(lines), source="auth.log"))
    ips = [i for i in items if isinstance(i, Finding) and i.facts.type == "ipv4"]
    assert {i.facts.value: i.facts.count for i in ips} == counts
    assert {i.facts.value: i.facts.line for i in ips} == first
    assert any(isinstance(item, Progress) and "20,000 lines" in item.text for item in items)


def test_indicators_over_the_limit_are_counted_and_reported(monkeypatch):
    monkeypatch.setattr(indicators, "MAX_INDICATORS", 5)
    said = gaps(" ".join(f"45.9.148.{n}" for n in range(1, 11)))
    assert "kept the first 5 indicators; 5 more mentions were not listed" in said


@pytest.mark.parametrize(
    "text",
    ["[.]" * 50_000, "a." * 50_000, "::" * 50_000, "http://" * 20_000, "(" * 100_000, "HKLM\\a " * 20_000,
     "C:\\a " * 20_000, "A" * 300_000, "a@" * 50_000, "1.2.3.4-" * 20_000,
     "\\\\a" * 50_000, "Mozilla/5.0 (" * 10_000, "%AA%\\a" * 20_000],
    ids=lambda text: text[:8],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_hostile_repetition_is_read_quickly(text):
    assert list(indicators.inspect(text, source="x"))


PIECES = [
    *"ab1.:/\\@[](){}<>%-_ \n\t\"'=,;?&#~^|", "hxxp", "://", "[.]", "HKLM\\", "C:\\", ".com", "AS", "é", "\0", "\ue000",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_without_an_exception(text):
    for item in indicators.inspect(text, source="x"):
        if isinstance(item, Finding):
            assert 1 <= item.facts.line <= text.count("\n") + 1
            assert item.facts.value


def test_thousands_of_indicators_in_one_line_are_found_quickly_with_their_context():
    text = " ".join(f"http://host{number}.evil{number}.com/p?q={number}" for number in range(9_000))
    started = time.process_time()
    urls = [
        item
        for item in indicators.inspect(text, source="a")
        if isinstance(item, Finding) and item.title.startswith("url")
    ]
    assert time.process_time() - started < 4
    assert len(urls) == 9_000
    assert all(f"q={number}" in url.evidence[0].excerpt for number, url in enumerate(urls))


@pytest.mark.parametrize("piece", [1, 2, 7, 1_000_000])
@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "\na\n\nbb\n", "a\r\nb\x85c\u2028d", "x" * 50 + "\n" + "y" * 3])
def test_lines_are_those_of_a_split(text: str, piece: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(context, "PIECE_CHARS", piece)
    assert list(context.lines_of(text)) == text.split("\n")
    found = context.EvidenceLines(text)
    assert len(found) == len(text.split("\n"))
    assert [found.excerpt(n, "") for n in range(1, len(found) + 1)] == [line.strip() for line in text.split("\n")]


@pytest.mark.parametrize(
    ("address", "kind"),
    [("a@jabber.org", "xmpp"), ("a@xmpp.example.net", "xmpp"), ("a@myjabber.com", "xmpp"), ("a@jabber-de.net", "xmpp"),
     ("a@ekxxmppa.net", "email"), ("a@thejabbering.com", "email"), ("a@example.net", "email")],
)  # fmt: skip
def test_a_chat_address_is_one_by_the_name_of_its_host(address: str, kind: str):
    [found] = [one for one in indicators.inspect(address, source="x") if isinstance(one, Finding) and "@" in one.title]
    assert (found.facts.type, found.facts.value) == (kind, address)
