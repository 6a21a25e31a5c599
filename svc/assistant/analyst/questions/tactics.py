"""Questions by a tactic or the usual name of a technique: "any lateral mvmt?", "priv esc?", "sqli?". Pure.

A clause that has no other content is answered from the findings with such techniques. If there are none, the answer
says how many rules look for them; it never says "no".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clause_words import content_words
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.knowledge.attack_names import current_tactics, tactic_label, tactics_of
from svc.assistant.sigma.engine import LogSource, Rule
from svc.assistant.skills.events.findings import LogGap, RuleHit
from svc.assistant.skills.logins.findings import AuthSuccess, LoginAccess
from svc.assistant.spool import worst_first
from svc.untrusted.markup import code_span, plural

_FILLING = frozenset(
    [
        "activity",
        "attempt",
        "attempts",
        "attempted",
        "been",
        "behavior",
        "behaviour",
        "data",
        "detected",
        "die",
        "else",
        "evidence",
        "evident",
        "going",
        "guys",
        "hint",
        "hints",
        "host",
        "hosts",
        "indication",
        "indications",
        "indicator",
        "indicators",
        "kind",
        "machine",
        "ongoing",
        "phase",
        "potential",
        "seen",
        "sort",
        "stage",
        "tactic",
        "tactics",
        "technique",
        "techniques",
        "trace",
        "traces",
        "traffic",
        "type",
        "via",
        "were",
        "present",
        "attacker",
        "attackers",
        "adversary",
        "they",
        "them",
        "occurring",
        "occur",
        "network",
        "infrastructure",
        "domain",
        "communication",
        "comms",
        "channel",
        "tool",
        "tools",
        "tooling",
        "used",
        "done",
    ]
)


class NamedBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """What a clause asks for: its name, the tactics and techniques that show it, words in titles, and uses to name.

    ``uses_sudo``: what shows it in a log of logins is the use of sudo and su.
    """

    name: str
    words: re.Pattern[str]
    tactics: frozenset[str] = frozenset()
    techniques: tuple[str, ...] = ()
    titles: re.Pattern[str] = re.compile(r"(?!)")
    uses_sudo: bool = False

    def is_in(self, finding: AnyFinding) -> bool:
        """Whether a finding shows it, or is of a rule that names it beside other tactics."""
        beside = finding.facts.tactics if isinstance(finding.facts, RuleHit) else []
        return not self.tactics.isdisjoint(beside) or self.is_shown_by(finding)

    def is_shown_by(self, finding: AnyFinding) -> bool:
        """Whether a finding shows it by its technique, its title or the first tactic of its rule."""
        if isinstance(finding.facts, RuleHit) and self.tactics.intersection(finding.facts.tactics[:1]):
            return True
        if any(one.startswith(self.techniques) for one in finding.techniques if self.techniques):
            return True
        if any(self.tactics.intersection(tactics_of(one)) for one in finding.techniques):
            return True
        if self.uses_sudo and isinstance(finding.facts, AuthSuccess):
            return finding.facts.access in (LoginAccess.SUDO, LoginAccess.SU)
        is_gone = isinstance(finding.facts, LogGap) and bool(self.tactics & _DEFENSE)
        return is_gone or self.titles.search(finding.title) is not None

    def is_sought_by(self, rule: Rule) -> bool:
        """Whether a rule looks for it."""
        if any(one.startswith(self.techniques) for one in rule.techniques if self.techniques):
            return True
        if self.tactics.intersection(current_tactics(rule.tactics, rule.techniques)):
            return True
        return self.titles.search(rule.title) is not None


_DEFENSE = frozenset({"stealth", "defense-impairment", "defense-evasion"})


def _tactic(name: str, words: str, *, uses_sudo: bool = False) -> NamedBehaviour:
    tactics = _DEFENSE if name == "defense-evasion" else frozenset({name})
    return NamedBehaviour(
        name=name, words=re.compile(rf"\b(?:{words})", re.IGNORECASE), tactics=tactics, uses_sudo=uses_sudo
    )


def _technique(name: str, words: str, techniques: str, titles: str = "(?!)") -> NamedBehaviour:
    return NamedBehaviour(
        name=name,
        words=re.compile(rf"\b(?:{words})", re.IGNORECASE),
        techniques=tuple(techniques.split()),
        titles=re.compile(titles, re.IGNORECASE),
    )


_MINERS = r"\bmin(?:er|ing)\b|bitcoin|crypto(?:currency|mining)"
_PROTECTION = (
    r"av|anti-?virus|anti-?malware|(?:windows )?defender|edr|xdr|amsi|security (?:software|tools?|products?|controls?)"
    r"|real-?time (?:protection|monitoring|scanning)|endpoint protection|protections?"
)
ASKED = (
    _technique("SQL injection", r"sqli\b|sql[- ]?inject\w*", "", r"\bsql injection"),
    _technique("a web shell", r"web ?-?shells?\b", "T1505.003", r"\bweb ?shell"),
    _technique("cross-site scripting", r"xss\b|cross[- ]site[- ]script\w*", "", r"\bxss\b|cross-site scripting"),
    _technique("path traversal", r"(?:path|dir\w*) traversal|lfi\b|dot ?dot", "", r"\btraversal|\bfile inclusion"),
    _technique("timestomping", r"time ?-?stomp\w*", "T1070.006", r"\btimestomp"),
    _technique("kerberoasting", r"kerberoast\w*", "T1558.003", r"\bkerberoast"),
    _technique("AS-REP roasting", r"as-?rep ?-?roast\w*", "T1558.004", r"as-?rep"),
    _technique("pass the hash", r"pass[- ]the[- ]hash|pth\b", "T1550.002", r"pass.the.hash"),
    _technique("DCSync", r"dc ?-?sync\w*", "T1003.006", r"\bdcsync"),
    _technique("cryptomining", r"(?:crypto|coin)? ?-?min(?:ing|ers?)\b|cryptojack\w*", "T1496", _MINERS),
    _technique("ransomware", r"ransom\w*|encrypt(?:ed|ion) (?:of )?(?:our )?files", "T1486 T1490", r"\bransom"),
    _technique("a reverse shell", r"rev(?:erse)? ?-?shells?\b", "", r"\breverse shell"),
    _technique("a backdoor", r"back ?-?doors?\b", "T1505 T1543 T1546 T1547 T1136 T1098.004", r"\bbackdoor"),
    _technique(
        "log clearing", r"log ?-?(?:wip|clearing|tamper)\w*|anti-?forensics?\b", "T1070.001 T1070.002", r"\blog cleared"
    ),
    _technique(
        "credential dumping", r"cred\w*[- ](?:dump|steal|theft|harvest)\w*|lsass dump\w*", "T1003 T1555",
        r"\blsass|credential dump",
    ),
    _technique(
        "disabled protection",
        r"(?:turn\w*|switch\w*|disabl\w*|kill\w*|stop\w*|tamper\w*)[ -]?(?:off |with |down )?"
        r"(?:the |their |our |ms |windows )?"
        rf"(?:{_PROTECTION})(?: off| down)?\b",
        "T1562.001 T1685",
        rf"\bsecurity control|\b(?:{_PROTECTION})\b[^,]{{0,40}}\b(?:off|disabled|stopped|weakened|tampered)\b",
    ),
    _tactic("privilege-escalation", r"priv(?:ilege)?s?[ -]?esc\w*|priv(?:ilege)?s? elevation|elevat\w* priv\w*|\blpe\b",
            uses_sudo=True),
    _tactic("lateral-movement", r"lat(?:eral(?:ly)?)?[- ]?(?:mov\w*|mvmt|mvt)|moved? (?:around|laterally)|pivot\w*"),
    _tactic("credential-access", r"cred(?:ential)?s?[- ]?access\w*"),
    _tactic("command-and-control", r"c2\b|c&c\b|cnc\b|command[- ](?:and|&)[- ]control"),
    _tactic("exfiltration", r"ex-?fil\w*|data (?:theft|leak\w*|stolen)|(?:stole|leaked) (?:any )?data"),
    _tactic("defense-evasion", r"defen[cs]e[- ]?(?:evasion|impairment)|evasion\b|cover\w* (?:their |his )?tracks"),
    _tactic("persistence", r"persist\w*|autoruns?\b|auto-?starts?\b|foothold"),
    _tactic("discovery", r"discovery\b|enumeration\b|enum\b"),
    _tactic("reconnaissance", r"recon(?:n?aissance)?\b"),
    _tactic("initial-access", r"initial[- ]access|entry[- ]?point"),
    _tactic("execution", r"(?:code )?execution\b"),
    _tactic("collection", r"data collection|collection\b|data staging|staging\b"),
    _tactic("impact", r"impact\b|destruction\b|wiper\b"),
)  # fmt: skip
"""Techniques first: their words are more particular."""


def tactic_of(clause: str) -> NamedBehaviour | None:
    """What a clause asks for by a tactic or technique, if it asks for nothing else."""
    for one in ASKED:
        if (match := one.words.search(clause)) is not None:
            rest = _AND_WHERE.sub(" ", clause[: match.start()] + " " + clause[match.end() :])
            if re.search(r"\b(?:who|when|where|which|what|why|how|explain|define)\b", rest, re.IGNORECASE):
                return None
            return one if _FILLING.issuperset(content_words(rest)) else None
    return None


_AND_WHERE = re.compile(
    r",? (?:and|,) (?:(?:to|from|on|by|at) )?(?:where|whom|which (?:hosts?|machines?|users?|accounts?)|when|who)\W*\Z",
    re.IGNORECASE,
)
"""What the findings that are listed state, too."""


def tactic_answer(
    clause: str, findings: Sequence[AnyFinding], rules: Sequence[Rule], events: str, searched: str
) -> tuple[str, bool] | None:
    """The sentence that answers a clause by tactic, and whether anything was found; None for any other clause.

    Args:
        clause: The question, in English.
        findings: What was found in everything that was examined.
        rules: The detection rules that could have matched.
        events: What the rules ran on: "530 events"; "" if on nothing.
        searched: What the tools looked for, in words.
    """
    asked = tactic_of(clause)
    if asked is None:
        return None
    quoted, name = code_span(clause, limit=160), tactic_label(asked.name)
    found = [one for one in worst_first(findings) if one.kind not in SUMMARIES and asked.is_in(one)]
    if found:
        found.sort(key=lambda one: (_RANK[one.severity], not asked.is_shown_by(one)))
        return f"{_lead(found, asked)} {_listed(found)}.", True
    own = [one for one in rules if one.source != LogSource() and asked.is_sought_by(one)]
    if own:
        looked = f"{plural(len(own), 'rule')} that {'looks' if len(own) == 1 else 'look'} for {name} ran on {events}"
        text = f"**No sign found of** {quoted}: {looked} and matched nothing."
        return f"{text} Rules do not cover every form of it, and the log may not record it.", False
    looked = f"; looked for {searched}" if searched else ""
    return f"**Cannot tell** {quoted}: nothing that was looked for is about {name}{looked}.", False


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def _lead(found: Sequence[AnyFinding], asked: NamedBehaviour) -> str:
    """Yes only by what shows it in the first place: a rule's other tactics are what it may be about."""
    severe = [one for one in found if one.severity in (Severity.CRITICAL, Severity.HIGH)]
    if any(map(asked.is_shown_by, severe)):
        return "**Yes:**"
    is_notable = severe or any(one.severity is Severity.MEDIUM for one in found)
    return "**Possibly:**" if is_notable else "**Only weak signs:**"


SHOWN = 4


def _listed(found: Sequence[AnyFinding]) -> str:
    lines = dict.fromkeys(
        f"{code_span(one.title, limit=120)} ({one.severity.value}{_hosts(one)}{_place(one)})" for one in found
    )
    more = f"; {len(lines) - SHOWN:,} more" if len(lines) > SHOWN else ""
    return "; ".join(list(lines)[:SHOWN]) + more


def _hosts(finding: AnyFinding) -> str:
    named = columns(finding).get("hosts") or columns(finding).get("host") or ()
    hosts = [named] if isinstance(named, str) else [str(one) for one in named] if isinstance(named, list) else []
    return f", on {', '.join(code_span(host, limit=60) for host in hosts[:2])}" if hosts else ""


def _place(finding: AnyFinding) -> str:
    if not finding.evidence:
        return ""
    one = finding.evidence[0]
    at = f"line {one.line:,}" if one.line is not None else f"record {one.record:,}" if one.record is not None else ""
    excerpt = f": {code_span(one.excerpt, limit=90)}" if one.excerpt else ""
    return f", {at}{excerpt}" if at else excerpt.replace(":", ",", 1)
