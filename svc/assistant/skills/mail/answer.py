"""The answer about mails: the verdict with its reasons, the way, the records of checks, links and attachments.

Kinds: ``tools/mail``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.markup import bullets, code_span, cut, defang, escape, plural, table

REASONS_SHOWN = 8  # of one mail
_LINKS_SHOWN = 15
_SAID = {
    "phishing": "Suspicious: phishing",
    "suspicious": "Suspicious",
    "spam": "Suspicious: spam",
    "ordinary": "Ordinary",
}
_NATURE = {"fraud": "a fraud by its words", "phishing": "probably phishing", "spam": "probably spam"}


def verdict(findings: Sequence[Finding]) -> str:
    """The verdict on the one mail with its two heaviest reasons, or how many of which."""
    mails = _of(findings, "mail_verdict")
    if not mails:
        return "**No mail that can be read.**"
    if len(mails) == 1:
        return _one(mails[0])
    counts = Counter(str(mail.attributes["verdict"]) for mail in mails)
    listed = ", ".join(f"{counts[name]:,} {name}" for name in _SAID if counts[name])
    return f"**{plural(len(mails), 'mail')}:** {listed}."


def _one(mail: Finding) -> str:
    name, score = str(mail.attributes["verdict"]), mail.attributes["score"]
    if name == "ordinary":
        rest = f" Most notable: {_plain(_list(mail, 'reasons')[0])}." if _list(mail, "reasons") else ""
        return f"**Ordinary** (score {score}; 5 would be a warning): nothing in it outweighs what speaks for it.{rest}"
    nature = f", {_NATURE[str(mail.attributes['nature'])]}" if name == "suspicious" else ""
    reasons = "; ".join(_plain(reason) for reason in _list(mail, "reasons")[:2])
    return f"**{_SAID[name]}{nature}** (score {score}; 5 is suspicious): {reasons}."


def section(findings: Sequence[Finding]) -> str:
    """Reasons, sender, way, checks, links, attachments; of several mails the worst in full, all in one table."""
    mails = _of(findings, "mail_verdict")
    if not mails:
        return ""
    worst = max(mails, key=lambda mail: float(str(mail.attributes["score"])))
    blocks = [_overview(mails)] if len(mails) > 1 else []
    own = [finding for finding in findings if _which(finding) == _which(worst)]
    if len(mails) > 1:
        of_file = f" of {_file(worst)}" if len({_file(mail) for mail in mails}) > 1 else ""
        blocks.append(f"**Mail {worst.attributes['mail']}{of_file}, the one with the highest score**")
    parts = (
        _head(worst),
        _reasons(worst),
        _senders(own),
        _checks(own),
        _hops(own),
        _links(own),
        _files(own),
        _damage(own),
    )
    return "\n\n".join(block for block in (*blocks, *parts) if block)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about a mail that is not ordinary."""
    bad = [mail for mail in _of(findings, "mail_verdict") if mail.attributes["verdict"] != "ordinary"]
    if not bad:
        return []
    bad_ones = {_which(mail) for mail in bad}
    steps = [
        "Search the mail servers for the same sender, subject and links: who else got it, who answered or clicked."
    ]
    hosts = [
        str(u.attributes["host"]) for u in _of(findings, "mail_url") if _which(u) in bad_ones and u.attributes["signs"]
    ]
    if hosts:
        shown = ", ".join(code_span(defang(host), limit=60) for host in dict.fromkeys(hosts[:4]))
        steps.append(f"Look for connections to {shown} in proxy and DNS logs from the time of delivery on; block them.")
    files = [f for f in _of(findings, "mail_attachment") if _which(f) in bad_ones and f.attributes["dangers"]]
    if files:
        steps.append("Look for the attachments' SHA-256 on hosts; open them in isolation only.")
    if not any(f.attributes["is_latest"] for f in _of(findings, "mail_auth")):
        steps.append(
            "No server recorded SPF, DKIM or DMARC: check the topmost server's own log for the delivering address."
        )
    return steps


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _which(finding: Finding) -> tuple[str, Scalar | list[Scalar]]:
    """The mail that a finding is about: mails count from 1 in every file."""
    source = finding.evidence[0].source if finding.evidence else ""
    return source, finding.attributes.get("mail")


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


def _plain(value: Scalar) -> str:
    return escape(cut(str(value), 200))


def _overview(mails: Sequence[Finding]) -> str:
    ranked = sorted(mails, key=lambda mail: -float(str(mail.attributes["score"])))
    is_many = len({_file(mail) for mail in mails}) > 1
    rows = [
        [
            *([_file(mail)] if is_many else []),
            str(mail.attributes["mail"]),
            str(mail.attributes["verdict"]),
            str(mail.attributes["score"]),
            code_span(str(mail.attributes["subject"]), limit=80),
            code_span(defang(str(mail.attributes["sender"])), limit=60),
        ]
        for mail in ranked
    ]
    return table([*(["File"] if is_many else []), "Mail", "Verdict", "Score", "Subject", "From"], rows)


def _file(mail: Finding) -> str:
    return code_span(mail.evidence[0].source, limit=60) if mail.evidence else ""


def _head(mail: Finding) -> str:
    sender = f"{mail.attributes['sender_name']} <{mail.attributes['sender']}>".strip()
    rows = [
        ["From", code_span(defang(sender))],
        ["To", code_span(defang(str(mail.attributes["to"])))],
        ["Subject", code_span(str(mail.attributes["subject"]))],
        ["Date", code_span(str(mail.attributes["date"]))],
        ["Message-ID", code_span(defang(str(mail.attributes["message_id"])))],
    ]
    return table(["Field", "Value"], rows)


def _reasons(mail: Finding) -> str:
    against = list(zip(_list(mail, "points"), _list(mail, "reasons"), strict=True))
    favour = list(zip(_list(mail, "points_for"), _list(mail, "for_it"), strict=True))
    shown = against[:REASONS_SHOWN] + favour
    if not shown:
        return ""
    rows = [[f"{float(str(points)):+.1f}", _plain(reason)] for points, reason in shown]
    rest = len(against) - REASONS_SHOWN
    note = f"\n\n… and {plural(rest, 'smaller reason')} (all are in the findings)." if rest > 0 else ""
    return table(["Points", "Why"], rows) + note


def _senders(own: Sequence[Finding]) -> str:
    notes = [f for f in _of(own, "mail_sender") if f.severity is not Severity.INFO or f.attributes["name"] == "date"]
    rows = [
        [_plain(f.title), f"{f.attributes['field']}", code_span(defang(str(f.attributes["value"]))), _line(f)]
        for f in notes
    ]
    return "**About the sender**\n\n" + table(["What", "Field", "As it stands", "Line"], rows) if rows else ""


def _line(finding: Finding) -> str:
    return str(finding.evidence[0].line or "")


def _checks(own: Sequence[Finding]) -> str:
    rows = [
        [
            f"{f.attributes['method']}".upper(),
            code_span(str(f.attributes["result"])),
            code_span(defang(str(f.attributes["domain"]))) if f.attributes["domain"] else "",
            code_span(str(f.attributes["server"])) if f.attributes["server"] else "not named",
            f"{f.attributes['field']}"
            + ("" if f.attributes["is_latest"] else " (earlier; a sender may have written it)"),
            _line(f),
        ]
        for f in _of(own, "mail_auth")
    ]
    if not rows:
        return "**Checks of the sender:** no server recorded SPF, DKIM or DMARC."
    return "**Checks of the sender, as recorded** (not verified here)\n\n" + table(
        ["Check", "Result", "Domain", "Recorded by", "Field", "Line"], rows
    )


def _hops(own: Sequence[Finding]) -> str:
    rows = [
        [
            str(f.attributes["number"]),
            code_span(defang(str(f.attributes["sender"] or f.attributes["reverse"] or "?")), limit=60),
            code_span(defang(str(f.attributes["ip"])), limit=45) if f.attributes["ip"] else "",
            code_span(defang(str(f.attributes["by"] or "?")), limit=60),
            str(f.attributes["time"]),
            _delay(f.attributes["delay_seconds"]),
            ", ".join(str(note) for note in _list(f, "notes")),
        ]
        for f in _of(own, "mail_hop")
    ]
    return (
        "**Way, first server first**\n\n" + table(["", "From", "Address", "To", "Time", "Delay", "Note"], rows)
        if rows
        else ""
    )


def _delay(seconds: object) -> str:
    if not isinstance(seconds, int):
        return ""
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    if seconds < 120:
        return f"{sign}{seconds} s"
    return f"{sign}{seconds // 60:,} min" if seconds < 7_200 else f"{sign}{seconds / 3600:,.1f} h"


def _links(own: Sequence[Finding]) -> str:
    links = _of(own, "mail_url")
    rows = [
        [
            code_span(defang(str(f.attributes["url"])), limit=100),
            code_span(defang(str(f.attributes["text"])), limit=60) if f.attributes["text"] else "",
            _plain("; ".join(str(sign) for sign in _list(f, "signs"))) or "nothing",
            _line(f),
        ]
        for f in links
    ]
    return (
        "**Links**\n\n"
        + table(["Address", "Words over it", "What speaks against it", "Line"], rows, limit=_LINKS_SHOWN)
        if rows
        else ""
    )


def _files(own: Sequence[Finding]) -> str:
    rows = [
        [
            code_span(str(f.attributes["name"]), limit=80),
            f"{code_span(str(f.attributes['label']))} (said to be {code_span(str(f.attributes['claimed']))})",
            f"{f.attributes['size']:,}",
            _plain("; ".join(str(danger) for danger in _list(f, "dangers"))) or "nothing",
            code_span(str(f.attributes["sha256"])),
        ]
        for f in _of(own, "mail_attachment")
    ]
    return (
        "**Attachments**\n\n" + table(["Name", "Kind by content", "Bytes", "What speaks against it", "SHA-256"], rows)
        if rows
        else ""
    )


def _damage(own: Sequence[Finding]) -> str:
    found = _of(own, "mail_damage")
    return "**Broken in it**\n\n" + bullets([_plain(f.title) for f in found]) if found else ""


SECTION = Section(
    skill=Skill(
        name="mail",
        tool="svc.assistant.skills.mail.tool:triage",
        input=InputKind.BINARY,
        title="Mail",
        can="triage a mail: its way, SPF, DKIM and DMARC as recorded, what does not fit, links, attachments, a verdict",
        loose_kinds=(
            "mail_verdict", "mail_hop", "mail_auth", "mail_sender", "mail_url", "mail_attachment", "mail_text",
            "mail_damage",
        ),
        strong=words(
            r"\bphish\w*",
            r"\.eml\b",
            r"\b(?:e-?mail|mail|message) headers?\b",
            r"\b(?:SPF|DKIM|DMARC)\b",
            r"\b(?:triage|check|analy[sz]e|inspect|examine|look at) (?:\w+ ){0,3}(?:e-?mails?|mails?|messages?)\b",
            r"\b(?:is|are) (?:this|that|these|those|it|the) (?:e-?mails?|mails?|messages?)\b",
            r"\b(?:e-?mail|mail|message) (?:is )?(?:suspicious|malicious|genuine|legit\w*|real|fake|spam|a scam)\b",
            r"\bspam\b", r"\bspoof\w* (?:e-?mail|mail|sender)\b", r"\bReceived:? (?:chain|headers?|hops?)\b",
        ),
        weak=words(r"\b(?:e-?mails?|mbox|mailbox)\b"),
        content=words(r"(?m:^(?:Received|Return-Path|Authentication-Results|DKIM-Signature|Message-ID): )"),
        looks=words(
            r"\A\s*(?=(?:.*\n){0,40}?(?:From|Received|Return-Path): )(?=(?:.*\n){0,60}?(?:Subject|Message-ID): )"
            r"[A-Za-z][\w-]{1,60}: "
        ),
        labels=frozenset({"eml", "txt", "log", "unknown"}) | PACKED_LABELS,
        claims=frozenset({"eml"}),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)  # fmt: skip
