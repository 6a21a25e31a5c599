"""Questions for values of one sort alone: "just the URLs", "which host does it call?" of a script. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.script.findings import ScriptSummary
from svc.assistant.spool import of_kind
from svc.untrusted.markup import code_span, plural

SHOWN = 30
_SORTS = (
    ("URL", ("url",), r"(?:urls?|links?)"),
    ("IP address", ("ipv4", "ipv6"), r"(?:ips?|ip addresses|addresses)"),
    ("domain", ("domain",), r"(?:domains?|hostnames?|fqdns?)"),
    ("mail address", ("email",), r"(?:e-?mails?|e?-?mail addresses)"),
    ("hash", ("md5", "sha1", "sha256", "sha512"), r"(?:hash(?:es)?|md5s?|sha-?1s?|sha-?256s?)"),
    ("file path", ("file_path", "file_name"), r"(?:paths?|files?|file paths?|file names?)"),
    ("CVE", ("cve",), r"(?:cves?)"),
)
_ALONE = [
    (name, types, re.compile(
        rf"\A\W*(?:give me |show me |list |extract )?(?:just|only) (?:the |all (?:the )?)?(?:\w+ )?{words}"
        r"(?: (?:please|in (?:it|there|the (?:file|script|mail|log))|one per line))?\W*(?:one per line)?\W*\Z"
        rf"|\A\W*(?:list|show|give me|extract) (?:all |the |all the |me )?{words}(?: only| alone|,? nothing else)\W*\Z",
        re.IGNORECASE,
    ))
    for name, types, words in _SORTS
]  # fmt: skip
_CALLS = re.compile(
    r"\b(?:which|what) (?:\w+ )?(?:hosts?|servers?|ips?|address(?:es)?|domains?|urls?|c2s?)\b[^?]{0,30}"
    r"\b(?:call\w*|contact\w*|connect\w*|reach\w*|download\w*|talk\w*|fetch\w*|beacon\w*|phone\w*|use[sd]?)\b"
    r"|\bwhere (?:does|do|did|would) (?:it|this|the (?:script|macro|code|file))\b[^?]{0,20}"
    r"\b(?:connect|call|download|beacon|phone|talk|send|fetch)\b",
    re.IGNORECASE,
)
_NETWORK = ("url", "ipv4", "ipv6", "domain")


def indicator_list(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The values of the sort that a clause asks for; "" if it asks for no sort alone, or if none was extracted."""
    held = with_facts(of_kind(findings, kind_of(IndicatorFacts)), IndicatorFacts)
    for name, types, asked in _ALONE:
        if asked.match(clause):
            values = list(dict.fromkeys(one.facts.defanged for one in held if one.facts.type in types))
            return _listed(name, values) if values else ""
    if not _CALLS.search(clause) or not of_kind(findings, kind_of(ScriptSummary)):
        return ""
    mine = [one for one in held if one.facts.type in _NETWORK]
    if not mine:
        return ""
    values = list(dict.fromkeys(one.facts.defanged for one in mine if not one.facts.within))
    names = ", ".join(code_span(value, limit=200) for value in values[:SHOWN])
    more = f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    place = f" ({place_words(mine[0].evidence[0])})" if mine[0].evidence else ""
    return f"**It names {names}{more}**{place}. Static analysis: whether it was contacted is not known."


def _listed(name: str, values: Sequence[str]) -> str:
    many = f"{name}es" if name.endswith(("s", "h")) else f"{name}s"
    shown = "\n".join(f"- {code_span(value, limit=200)}" for value in values[:SHOWN])
    more = f"\n- {len(values) - SHOWN:,} more" if len(values) > SHOWN else ""
    return f"**{plural(len(values), name, many)}:**\n\n{shown}{more}"
