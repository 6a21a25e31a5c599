"""Titles of our own rules: short noun phrases with the names of techniques, tools and artefacts analysts search for."""

from __future__ import annotations

import re

import pytest

from svc.assistant.knowledge.attack_names import attack_name, moved_by_id, parent_of, techniques_by_id
from svc.assistant.sigma.engine import Rule
from svc.assistant.sigma.tables import OURS, load_tables
from tests.docs import pages

RULES = load_tables()[OURS].rules
MAX_TITLE = 60
FINITE_VERB = re.compile(
    r"\b(is|are|was|were|has|have|had|does|did|can|may|will|starts|runs|calls|uses|reads|writes|loads|opens|connects"
    r"|creates|changes|contains|that|which|who)\b",
    re.IGNORECASE,
)
LOWER_CASE_NAMES = re.compile(
    r"^(1Password|\.NET|auditd|authorized_keys|certutil\.exe|lsass\.exe|netsh|ptrace|rundll32\.exe|runas|sAMAccountName|sudo"
    r"|svchost\.exe|vsftpd|whoami)\b"
)

# Words that say nothing about a technique, although they are in the names of techniques.
GENERIC_WORDS = """
    access account accounts additional application applications based by code command components control data defenses
    design disable domain execution event events event-triggered external file files flow for from host impair input
    interpreter in layer local manipulation material modification modify name names network of on or other permission
    permissions policy process processes program protocol public remote resource resources server service services
    settings software source system systems the to tool tools triggered use user users via windows with
"""
GENERIC = frozenset(GENERIC_WORDS.split())

# What analysts call a technique, if that is not a word of its name: abbreviations, tools and artefacts.
USUAL_NAMES = {
    "T1014": "driver",
    "T1021.002": "NTLM",
    "T1546.003": "provider",
    "T1112": "macro",
    "T1078.002": "sAMAccountName",
    "T1564": "shadow copy",
    "T1570": "SMB share",
    "T1021": "lateral",
    "T1021.001": "RDP",
    "T1021.003": "DCOM",
    "T1021.006": "WinRM remoting",
    "T1033": "whoami",
    "T1036.008": "document",
    "T1046": "nmap",
    "T1047": "WMI",
    "T1053.003": "crontab",
    "T1068": "PrintNightmare CVE",
    "T1070.006": "system-time",
    "T1071.001": "agent outbound",
    "T1078": "explicit-credential",
    "T1078.003": "local-account",
    "T1078.004": "root",
    "T1087.002": "enumeration",
    "T1090.003": "Tor",
    "T1098": "password SPN right account-manipulation administrator privileged",
    "T1098.003": "policy role privilege",
    "T1102.002": "messenger",
    "T1105": "dropper wget downloaded certutil download",
    "T1106": "system-call",
    "T1110": "lock",
    "T1133": "external-remote-service",
    "T1134": "Potato",
    "T1136.001": "account",
    "T1190": "web",
    "T1203": "browser",
    "T1204": "Office Defender AppLocker user-execution",
    "T1204.002": "malware",
    "T1210": "Zerologon",
    "T1218": "LOLBin",
    "T1218.007": "MSI",
    "T1219": "remote-access",
    "T1482": "enumeration",
    "T1489": "service-stop",
    "T1496": "cryptominer",
    "T1496.001": "mining",
    "T1543.003": "service driver",
    "T1546": "event-triggered automation",
    "T1546.011": "shim",
    "T1555": "key",
    "T1556.006": "MFA",
    "T1559": "pipe",
    "T1562": "changed impairs",
    "T1562.001": "Defender AMSI antivirus BYOVD sensor security-tool defense-tool",
    "T1562.002": "audit log",
    "T1562.007": "security-group",
    "T1562.008": "logging",
    "T1564.004": "stream",
    "T1567.002": "upload",
    "T1569.002": "PsExec services.exe installed",
    "T1572": "forwarding",
    "T1580": "AWS",
    "T1584.001": "domain",
    "T1587.001": "C2",
    "T1590.002": "zone",
    "T1602.002": "configuration",
    "T1620": "CLR DotNetToJScript",
    "T1621": "MFA",
    "T1651": "SSM",
}

# Names without which a search for the technique finds nothing, for rules of which it is the first technique.
MUST_NAME = {
    "T1003.006": r"DCSync",
    "T1207": r"DCShadow",
    "T1558.003": r"Kerberoast",
    "T1558.004": r"AS-REP",
    "T1550.002": r"pass.the.hash",
    "T1550.003": r"pass.the.(hash|ticket)",
    "T1558.001": r"golden ticket",
    "T1548.002": r"\bUAC\b",
    "T1003.003": r"NTDS\.dit",
    "T1003.001": r"LSASS",
    "T1486": r"ransomware",
    "T1496": r"cryptominer",
    "T1490": r"ransomware|recovery|backup",
    "T1070.006": r"timestomp|time",
    "T1055.012": r"process hollowing",
    "T1574.001": r"\bDLL\b|librar",
    "T1546.015": r"COM hijacking",
    "T1505.003": r"web shell",
    "T1546.008": r"accessibility",
    "T1187": r"coerce",
    "T1047": r"\bWMI\b|Impacket",
    "T1197": r"\bBITS\b",
    "T1021.001": r"\bRDP\b",
    "T1053.005": r"task",
    "T1134.001": r"impersonat|token",
    "T1558": r"Kerberos",
    "T1649": r"AD CS|certificate",
    "T1620": r"reflective|assembl|\.NET",
    "T1572": r"tunnel|forward",
}

# Rules whose text does not name their technique, and why that is right.
NO_NAME = {
    "b1fe8cd9-": "an execution from an unusual folder is any technique's; ATT&CK has no narrower one",
    "d3e5f186-": "the same for connections of programs there",
    "8a283a70-": "limits of sessions, keys and retention protect against anything; ATT&CK has no narrower one",
}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.casefold()))


def _stems(words: set[str]) -> set[str]:
    return {word[:5] for word in words if len(word) > 2 and word not in GENERIC}


def _says(text: str, names: str) -> bool:
    said = text.casefold()
    return any(name.casefold() in said or name.replace("-", " ").casefold() in said for name in names.split())


def names_technique(rule: Rule, technique: str) -> bool:
    """Whether the rule's title or description has a telling word of the technique's name, or its usual name."""
    text = f"{rule.title} {rule.description}"
    usual = f"{USUAL_NAMES.get(technique, '')} {USUAL_NAMES.get(parent_of(technique), '')}"
    return bool(_stems(_words(attack_name(technique))) & _stems(_words(text))) or _says(text, usual)


def test_titles_are_short_unique_noun_phrases():
    faults = [
        (rule.title, fault)
        for rule in RULES
        for fault, is_there in {
            "too long": len(rule.title) > MAX_TITLE,
            "ends like a sentence": rule.title[-1] in ".!?:;,",
            "begins with an article": rule.title.startswith(("A ", "An ", "The ")),
            "is a sentence": FINITE_VERB.search(rule.title) is not None,
            "begins in lower case": not (rule.title[0].isupper() or LOWER_CASE_NAMES.match(rule.title)),
            "is two titles": "; " in rule.title or ": " in rule.title,
        }.items()
        if is_there
    ]

    assert faults == []
    assert len({rule.title.casefold() for rule in RULES}) == len(RULES)


def test_each_rule_names_one_of_its_techniques():
    unnamed = {
        f"{rule.id[:8]} {rule.title} ({', '.join(attack_name(technique) for technique in rule.techniques)})"
        for rule in RULES
        if rule.id[:9] not in NO_NAME and not any(names_technique(rule, technique) for technique in rule.techniques)
    }

    assert unnamed == set()


@pytest.mark.parametrize(("technique", "name"), MUST_NAME.items())
def test_a_search_for_the_usual_name_finds_every_rule_of_a_technique(technique: str, name: str):
    first = [rule for rule in RULES if rule.techniques[0] == technique]

    assert [
        rule.title for rule in first if not re.search(name, f"{rule.title} {rule.description}", re.IGNORECASE)
    ] == []
    assert any(re.search(name, rule.title, re.IGNORECASE) for rule in RULES), "no title has the name"


def test_the_tables_of_names_are_of_techniques_that_exist():
    known = techniques_by_id().keys() | moved_by_id().keys()
    assert (USUAL_NAMES | MUST_NAME).keys() - known == set()


def test_the_page_of_old_and_new_titles_has_the_current_titles_of_the_renamed_rules():
    page = (pages.DOCS / "rule_titles.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([0-9a-f-]{36})` \| .* \| (.*) \|$", page, re.MULTILINE))

    current = {rule.id: rule.title.replace("\\\\", "\\\\\\\\") for rule in RULES}
    assert listed
    assert {rule: title for rule, title in listed.items() if current.get(rule) != title} == {}


def test_only_rules_that_name_no_technique_are_excepted():
    unnamed = {
        rule.id[:9] for rule in RULES if not any(names_technique(rule, technique) for technique in rule.techniques)
    }

    assert set(NO_NAME) == unnamed
