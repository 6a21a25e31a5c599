"""Defanged indicators in the ways that people write them, and ordinary text that only looks so.

OPEN was used during development; HELD was written apart from it and gave the same figures at first sight.
"""

from __future__ import annotations

import pytest

from svc.assistant.findings import Finding, with_facts
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tool import inspect
from svc.untrusted.defang import refang

Case = tuple[str, set[str]]
OPEN: list[Case] = [
    ("http://192,0,2,1/x", {"url http://192.0.2.1/x"}),
    ("192,0,2,7 was seen", set()),
    ("hxxp://exa[.com/test", {"url http://exa.com/test"}),
    ("http:// evil.example.com /test", {"url http://evil.example.com/test"}),
    ("http://evil.net[/]test", {"url http://evil.net/test"}),
    ("http://evil(.)net(/)test", {"url http://evil.net/test"}),
    ("hxxp://evil.]net/test", {"url http://evil.net/test"}),
    ("hxxp://evildot]net/test", {"url http://evil.net/test"}),
    ("hxxp://evil[dotnet/test", {"url http://evil.net/test"}),
    ("hxxp://evil.net[/test", {"url http://evil.net/test"}),
    ("http__evil.net/test", {"url http://evil.net/test"}),
    ("ftx://evil.net/test", {"url ftp://evil.net/test"}),
    ("evil [.] net/test", {"url evil.net/test"}),
    ("a [.] b [.] evil [.] net", {"domain a.b.evil.net"}),
    ("test \\. evil \\. com", {"domain test.evil.com"}),
    ("203[.0.]113[.9", {"ipv4 203.0.113.9"}),
    ("203.0.113.]]]9 and", {"ipv4 203.0.113.9"}),
    ("203.0.113[[[.9", {"ipv4 203.0.113.9"}),
    ("203\\.0\\.113\\.9", {"ipv4 203.0.113.9"}),
    ("203(((.]]]]0([[.)113.)9", {"ipv4 203.0.113.9"}),
    ("bob @evil[.]com", {"email bob@evil.com"}),
    ("bob@ evil[.]com", {"email bob@evil.com"}),
    ("bob @ evil [ . ] com", {"email bob@evil.com"}),
    ("bob@evil(.)com[.br", {"email bob@evil.com.br"}),
    ("bob@evil [.] com [.] br", {"email bob@evil.com.br"}),
    (
        "bob[@]evil.com carol[at]evil.com dave(at)evil.com",
        {"email bob@evil.com", "email carol@evil.com", "email dave@evil.com"},
    ),
    ("bob AT evil.com", {"email bob@evil.com"}),
    ("bob@evil DOT com", {"email bob@evil.com"}),
    ("bob(arroba)evil(punto)com", {"email bob@evil.com"}),
    ("www].[evil].[com", {"domain www.evil.com"}),
    ("www.[evil.[com", {"domain www.evil.com"}),
    ("www[.[evil[.[com", {"domain www.evil.com"}),
    ("www].evil].com", {"domain www.evil.com"}),
    ("foo[-]bar.com", {"domain foo-bar.com"}),
    ("[www].evil.com", {"domain www.evil.com"}),
    ("https://evil.com\\/test.php", {"url https://evil.com/test.php"}),
    ("xxxx://evil.com/test.php", {"url http://evil.com/test.php"}),
    ("xxxxx://evil.com/test.php", {"url https://evil.com/test.php"}),
    ("http ://evil.com/t", {"url http://evil.com/t"}),
    ("http//evil.com/t", {"url http://evil.com/t"}),
    ("http:///evil.com/t", {"url http://evil.com/t"}),
    ("[http]://evil.com/t", {"url http://evil.com/t"}),
    ("https&://evil.com/t https!://evil.com/u", {"url https://evil.com/t", "url https://evil.com/u"}),
    ("hxxps[:]//evil[.]com/t", {"url https://evil.com/t"}),
    ("hxxps:[//]evil[.]com/t", {"url https://evil.com/t"}),
    ("h**ps://evil.com/t", {"url https://evil.com/t"}),
    ("h[tt]p://evil.com/t", {"url http://evil.com/t"}),
    ("h00ps://evil(.)com/", {"url https://evil.com/"}),
    ("http%3A%2F%2Fevil%2Ecom%2Fwhite%2Ehta", {"url http://evil.com/white.hta"}),
    ('<a href="http://evil.com/a"><b>http://evil.com/b</b>', {"url http://evil.com/a", "url http://evil.com/b"}),
    ('http://schemas.evil.org/main"><a:graphic', {"url http://schemas.evil.org/main"}),
    ("see [link](http://evil.com/a_(b)).", {"url http://evil.com/a_(b)"}),
    ("tcp://[2001:db8::7]:443/x", {"ipv6 2001:db8::7", "url tcp://[2001:db8::7]:443/x"}),
    ("2001[:]db8[:][:]7", {"ipv6 2001:db8::7"}),
    ("bad-dot-com", {"domain bad.com"}),
    ("t1059 and ta0002", {"attack_tactic TA0002", "attack_technique T1059"}),
    (
        "IPs: 203.0.113.5,203.0.113.6;203.0.113.7|203.0.113.8",
        {"ipv4 203.0.113.5", "ipv4 203.0.113.6", "ipv4 203.0.113.7", "ipv4 203.0.113.8"},
    ),
    (
        "domains: a-evil.com,b-evil.net;c-evil.org|d-evil.ru",
        {"domain a-evil.com", "domain b-evil.net", "domain c-evil.org", "domain d-evil.ru"},
    ),
    (
        "md5:5d41402abc4b2a76b9719d911017c592,sha1=aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d",
        {"md5 5d41402abc4b2a76b9719d911017c592", "sha1 aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"},
    ),
    ("evil\u3002com", {"domain evil.com"}),
    ("xn--e1afmkfd.xn--p1ai", {"domain xn--e1afmkfd.xn--p1ai"}),
    ("\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444", {"domain \u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444"}),
    ("http://m\xfcnchen-bank.de/login", {"url http://m\xfcnchen-bank.de/login"}),
    ("abcdefghij234567.onion", {"domain abcdefghij234567.onion"}),
    ("203.0.113.0[/]24", {"ipv4_cidr 203.0.113.0/24"}),
    ("203[.]0[.]113[.]0/24", {"ipv4_cidr 203.0.113.0/24"}),
    ("203.0.113.10 - 203.0.113.20", {"ipv4 203.0.113.10", "ipv4 203.0.113.20"}),
    ("203.0.113.5:8080", {"ipv4 203.0.113.5"}),
    ("evil.com:8443", {"domain evil.com"}),
    ("UA-12345678-1 pub-1234567890123456", {"analytics_id UA-12345678-1", "analytics_id pub-1234567890123456"}),
    ("G-ABCDE12345 GTM-ABC1234", set()),
    ("aws s3 evil-bucket.s3.amazonaws.com/x.bin", {"url evil-bucket.s3.amazonaws.com/x.bin"}),
    ("version 10.0.19041.1 of Windows", set()),
    ("Server: nginx/1.2.3.4", set()),
    ("e.g. something i.e. other etc.", set()),
    ("0x742d35Cc6634C0532925a3b844Bc454e4438f44e", {"ethereum 0x742d35cc6634c0532925a3b844bc454e4438f44e"}),
    ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", {"bitcoin 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}),
    ("C:/Users/Public/evil.exe", {"file_path C:/Users/Public/evil.exe"}),
    ("%APPDATA%\\evil\\a.dll", {"file_path %APPDATA%\\evil\\a.dll"}),
    ("$env:TEMP\\a.ps1", {"file_path $env:TEMP\\a.ps1"}),
    ("AS12345, ASN 54321, AS 777", {"asn ASN12345", "asn ASN54321", "asn ASN777"}),
    ("MD5 hash is D41D8CD98F00B204E9800998ECF8427E.", {"md5 d41d8cd98f00b204e9800998ecf8427e"}),
    ("words5d41402abc4b2a76b9719d911017c592words", set()),
    ("user@xmpp_chat.evil.com", {"xmpp user@xmpp_chat.evil.com"}),
    ("01-23-45-67-89-ab 0123.4567.89ab", {"mac 01-23-45-67-89-ab", "mac 0123.4567.89ab"}),
    ("98.76.54.32.1 and 1.2.3", set()),
    ("evil[.]com/path?x=1&y=2.", {"url evil.com/path?x=1&y=2"}),
    ("evil[.]com!!!", {"domain evil.com"}),
    ("meow://evil[.]com/a", {"url http://evil.com/a"}),
    (
        "evil[.]co[.]uk, evil{.}org, evil<.>net, evil(dot)info",
        {"domain evil.co.uk", "domain evil.info", "domain evil.net", "domain evil.org"},
    ),
    ("evil . com is defanged", set()),
    ("evil[.] com", {"domain evil.com"}),
    ("evil . com/gate.php", set()),
    ("hxxp://evil . com/gate.php", {"url http://evil.com/gate.php"}),
    ("CVE-2021-44228 cve 2017 0144 CVE\u20112019\u20110708", {"cve CVE-2019-0708", "cve CVE-2021-44228"}),
]
HELD: list[Case] = [
    (
        "Beacon to hXXps://cdn[.]update-check[.]top:8443/b?id=7 every 60 s",
        {"url https://cdn.update-check.top:8443/b?id=7"},
    ),
    (
        "C2 list: 198[.]51[.]100[.]4, 198[.]51.100[.]5, 198.51[.]100.6",
        {"ipv4 198.51.100.4", "ipv4 198.51.100.5", "ipv4 198.51.100.6"},
    ),
    ("198.51.100(.)9 and 198[dot]51[dot]100[dot]10", {"ipv4 198.51.100.10", "ipv4 198.51.100.9"}),
    ("198[.51[.100[.77", {"ipv4 198.51.100.77"}),
    ("https[:]//bad{dot}example-site{dot}xyz/login", {"url https://bad.example-site.xyz/login"}),
    ('"url":"https:\\/\\/evil-cdn.net\\/a\\/b.js"', {"url https://evil-cdn.net/a/b.js"}),
    (
        "contact: ransom(at)protonmail[.]com or help[@]onionmail.org",
        {"email help@onionmail.org", "email ransom@protonmail.com"},
    ),
    ("write to ransom @ onionmail[.]org", {"email ransom@onionmail.org"}),
    ("ransom[at]cock[dot]li", {"email ransom@cock.li"}),
    ("ftp[:]//files[.]bad-host[.]ru/x.zip", {"url ftp://files.bad-host.ru/x.zip"}),
    ("fxp://files.bad-host.ru/x.zip", {"url ftp://files.bad-host.ru/x.zip"}),
    ("www[dot]bad-host[dot]ru", {"domain www.bad-host.ru"}),
    ("bad-host [dot] ru and worse-host (dot) cn", {"domain bad-host.ru", "domain worse-host.cn"}),
    ("bad-host[.ru", {"domain bad-host.ru"}),
    ("bad-host.]ru", {"domain bad-host.ru"}),
    ("login.bad-host[.]com/path/index.php?x=1", {"url login.bad-host.com/path/index.php?x=1"}),
    ("`hxxp://bad-host[.]com/a.exe`", {"url http://bad-host.com/a.exe"}),
    ("(hxxp://bad-host[.]com/a.exe)", {"url http://bad-host.com/a.exe"}),
    ("<hxxp://bad-host[.]com/a.exe>", {"url http://bad-host.com/a.exe"}),
    ("[hxxp://bad-host[.]com/a.exe]", {"url http://bad-host.com/a.exe"}),
    ("hxxp://198[.]51[.]100[.]23:8080/shell.sh;", {"url http://198.51.100.23:8080/shell.sh"}),
    ("hxxp://bad-host[.]com/?a=b&c=d, then", {"url http://bad-host.com/?a=b&c=d"}),
    ("| hxxp://bad-host[.]com | 198[.]51[.]100[.]23 |", {"ipv4 198.51.100.23", "url http://bad-host.com"}),
    ("bad-host\\.com", {"domain bad-host.com"}),
    ("198\\.51\\.100\\.23", {"ipv4 198.51.100.23"}),
    ("hxxp://bad-host[.]com/%61.exe", {"url http://bad-host.com/%61.exe"}),
    (
        "SHA256: 9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08",
        {"sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
    ),
    ("(SHA1:a94a8fe5ccb19ba61c4c0873d391e987982fbbd3)", {"sha1 a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"}),
    ("hash=098f6bcd4621d373cade4e832627b4f6;", {"md5 098f6bcd4621d373cade4e832627b4f6"}),
    (
        "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run\\Updater",
        {"registry_key HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run\\Updater"},
    ),
    (
        "drops C:\\ProgramData\\svchost.exe and /tmp/.x/kinsing",
        {"file_path /tmp/.x/kinsing", "file_path C:\\ProgramData\\svchost.exe"},
    ),
    (
        "T1566.001, T1059.001 (TA0001)",
        {"attack_tactic TA0001", "attack_technique T1059.001", "attack_technique T1566.001"},
    ),
    ("see CVE-2023-34362.", {"cve CVE-2023-34362"}),
    ("2001:db8:85a3::8a2e:370:7334 port 443", {"ipv6 2001:db8:85a3::8a2e:370:7334"}),
    ("198.51.100.0/24", {"ipv4_cidr 198.51.100.0/24"}),
    ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", {"bitcoin bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}),
    ("list[0].attr and func(x).method and obj.call()", set()),
    ("config.get(a).com and foo[1].net", set()),
    ("C:\\Users\\.ssh\\config", {"file_path C:\\Users\\.ssh\\config"}),
    ("re.compile(r'\\d+\\.\\d+')", set()),
    ("Meet me at 10.30 at the office. In the morning.", set()),
    ("He works at example inc. com is short", set()),
    ("price 1,234,567,890 and 12,13,14,15", set()),
    ("See http:// and https:// schemes.", set()),
    ("AT&T and @user on the site", set()),
    ("the DOT approved the plan AT once", set()),
    ("foo.bar(baz) os.path.join(a, b)", set()),
    ("Node.js, ASP.NET and Vue.js", set()),
    ("2024.01.02 03:04:05", set()),
    ("snmp OID 1.3.6.1.4.1.9", set()),
]
PARTS = ("domain", "ipv4", "ipv6", "file_name")
"""Types that are also reported for the host or the end of a longer indicator."""


def found(text: str) -> set[str]:
    findings = [item for item in inspect(text, source="x") if isinstance(item, Finding)]
    return {f"{one.facts.type} {one.facts.value}" for one in with_facts(findings, IndicatorFacts)}


def figures(cases: list[Case]) -> tuple[float, float, list[str]]:
    """Precision, recall, and the texts that are not read as they should be."""
    return figures_of(cases, [found(text) for text, _ in cases])


def figures_of(cases: list[Case], values: list[set[str]]) -> tuple[float, float, list[str]]:
    """The same for what anything found in each of the texts."""
    right = wrong = missed = 0
    bad = []
    for (text, expected), have in zip(cases, values, strict=True):
        extra = {one for one in have - expected if one.split()[0] not in PARTS or not expected}
        extra = {one for one in extra if not one.startswith("file_name")}
        right, wrong, missed = right + len(expected & have), wrong + len(extra), missed + len(expected - have)
        if extra or expected - have:
            bad.append(text)
    return right / (right + wrong), right / (right + missed), bad


@pytest.mark.parametrize("cases", [OPEN, HELD], ids=["open", "held"])
def test_defanged_indicators_are_found_and_nothing_else(cases: list[Case]):
    precision, recall, bad = figures(cases)
    assert precision >= 0.98, bad
    assert recall >= 0.98, bad


@pytest.mark.parametrize(("text", "expected"), OPEN + HELD, ids=lambda value: None)
def test_refanging_keeps_the_lines(text: str, expected: set[str]):
    assert refang(f"a\n{text}\n\nb").count("\n") == 3
