"""The answer about mails: the verdict with its reasons, the path, sender authentication, links and attachments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, listed
from svc.assistant.skills.mail.findings import (
    MailAttachment,
    MailAuth,
    MailClass,
    MailDamage,
    MailHop,
    MailNature,
    MailReason,
    MailSender,
    MailText,
    MailUrl,
    MailVerdict,
)
from svc.assistant.skills.mail.pictures import pictures
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import bullets, code_span, cut, escape, plural, table

REASONS_TOLD = 2  # among the facts
REASONS_SHOWN = 8  # of one mail
_LINKS_SHOWN = 15
_HOSTS_SHOWN = 4
_REASON_CHARS = 200
_CLASSES: dict[MailClass, str] = {
    "phishing": "Phishing",
    "fraud": "Fraud",
    "suspicious": "Suspicious",
    "spam": "Spam",
    "needs_check": "Needs a check",
    "ordinary": "Ordinary",
}
_SCALE = "3 needs a check, 5 is suspicious, 7.5 is phishing or fraud"
_NATURES: dict[MailNature, str] = {"fraud": "probably fraud", "phishing": "probably phishing", "spam": "probably spam"}


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The verdict on the one mail with its two heaviest reasons, or how many mails have which verdict."""
    mails = with_facts(findings, MailVerdict)
    if not mails:
        return "**Not examined:** the input has no mail that could be read."
    if len(mails) == 1:
        return _one(mails[0])
    counts = Counter(mail.facts.verdict for mail in mails)
    listed = ", ".join(f"{counts[name]:,} {_CLASSES[name].lower()}" for name in _CLASSES if counts[name])
    return f"**{plural(len(mails), 'mail')}:** {listed}."


def _one(mail: Finding[MailVerdict]) -> str:
    facts = mail.facts
    if facts.verdict == "ordinary":
        rest = f" Strongest reason against it: {_plain(facts.reasons[0].reason)}." if facts.reasons else ""
        return (
            f"**Ordinary** ({mail.severity.value}, {mail.confidence.value} confidence; score {facts.score}; {_SCALE}): "
            f"no strong sign of phishing, fraud or spam in its sender, links, attachments and wording.{rest}"
        )
    score = f"({mail.severity.value}, {mail.confidence.value} confidence; score {facts.score}; {_SCALE})"
    if facts.verdict == "needs_check":
        return f"**Needs a check** {score}: {'; '.join(map(_plain, _words(facts)))}."
    nature = f", {_NATURES[facts.nature]}" if facts.verdict == "suspicious" else ""
    reasons = "; ".join(map(_plain, _words(facts)))
    return f"**{_CLASSES[facts.verdict]}{nature}** {score}: {reasons}."


def _words(facts: MailVerdict) -> list[str]:
    """The two heaviest reasons."""
    return [row.reason for row in facts.reasons[:2]]


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Of the mail with the highest score: who wrote it, its reasons, authentication, links and attachments."""
    mails = with_facts(findings, MailVerdict)
    if not mails:
        return []
    worst = max(mails, key=lambda mail: mail.facts.score)
    own = _Mail(findings, worst)
    which = f"Mail {worst.facts.mail}, the most suspicious, from" if len(mails) > 1 else "From"
    sender = code_span(defang_text(f"{worst.facts.sender_name} <{worst.facts.sender}>".strip()), limit=80)
    told = [f"**{which}** {sender}: {code_span(worst.facts.subject, limit=80)}, {code_span(worst.facts.date)}"]
    reasons = worst.facts.reasons if len(mails) > 1 else worst.facts.reasons[2:]  # the verdict has the first
    if reasons and worst.facts.verdict != "ordinary":
        told.append(f"**{'Reasons' if len(mails) > 1 else 'Also'}**: {_joined(reasons)}.")
    told.append(own.recorded())
    told += [fact for fact in (own.suspicious_links(), own.attached()) if fact]
    return told[:MAX_FACTS]


def _joined(reasons: Sequence[MailReason]) -> str:
    shown = "; ".join(_plain(one.reason) for one in reasons[:REASONS_TOLD])
    left = len(reasons) - REASONS_TOLD
    return shown + (f"; and {plural(left, 'more reason')}" if left > 0 else "")


class _Mail:
    """What was found about one mail."""

    def __init__(self, findings: Sequence[AnyFinding], mail: Finding[MailVerdict]) -> None:
        number, source = mail.facts.mail, _source(mail)
        own = [finding for finding in findings if _source(finding) == source]
        self.checks = [one for one in with_facts(own, MailAuth) if one.facts.mail == number]
        self.links = [one for one in with_facts(own, MailUrl) if one.facts.mail == number]
        self.files = [one.facts for one in with_facts(own, MailAttachment) if one.facts.mail == number]

    def recorded(self) -> str:
        """What the last server recorded about SPF, DKIM and DMARC."""
        latest = [one for one in self.checks if one.facts.is_latest]
        if not latest:
            if self.checks:
                number = plural(len(self.checks), "result")
                return (
                    f"**Sender authentication**: nothing recorded by the recipient's own server; {number} in the "
                    "header can be the sender's own and did not count."
                )
            return "**Sender authentication**: no server recorded SPF, DKIM or DMARC."
        shown = listed([f"{one.facts.method.upper()} {code_span(one.facts.result)}" for one in latest])
        return f"**Sender authentication, as recorded** (line {_line(latest[0])}, not verified here): {shown}."

    def suspicious_links(self) -> str:
        """The links with signs, or how many there are; "" without one."""
        signed = [one for one in self.links if one.facts.signs]
        if not signed:
            return f"**{plural(len(self.links), 'link')}**, none with a suspicious sign." if self.links else ""
        shown = [
            f"{code_span(defang_text(one.facts.url), limit=80)} (line {_line(one)}: "
            f"{_plain('; '.join(sign.description for sign in one.facts.signs))})"
            for one in signed
        ]
        return f"**{plural(len(signed), 'suspicious link')}**: {listed(shown, limit=2)}."

    def attached(self) -> str:
        """The attachments, dangerous ones first; "" without one."""
        ranked = sorted(self.files, key=lambda file: not file.dangers)
        shown = []
        for file in ranked:
            dangers = _plain("; ".join(one.description for one in file.dangers))
            unread = f"; {_plain(file.examined)}" if file.examined.startswith("not examined") else ""
            shown.append(f"{code_span(file.name, limit=60)} ({dangers or escape(file.label)}{unread})")
        return f"**{plural(len(shown), 'attachment')}**: {listed(shown, limit=2)}." if shown else ""


def body(findings: Sequence[AnyFinding]) -> str:
    """Reasons, sender, path, authentication, links, attachments; of several mails a table and the worst in full."""
    mails = with_facts(findings, MailVerdict)
    if not mails:
        return ""
    worst = max(mails, key=lambda mail: mail.facts.score)
    source, number = _source(worst), worst.facts.mail
    blocks = [_overview(mails)] if len(mails) > 1 else []
    if len(mails) > 1:
        of_file = f" of {_file(worst)}" if len({_source(mail) for mail in mails}) > 1 else ""
        blocks.append(f"**Mail {number}{of_file}, the one with the highest score**")
    own = [finding for finding in findings if _source(finding) == source]
    parts = (
        _head(worst.facts),
        _reasons(worst.facts),
        _senders([finding for finding in with_facts(own, MailSender) if finding.facts.mail == number]),
        _authentication([finding for finding in with_facts(own, MailAuth) if finding.facts.mail == number]),
        _hops([finding.facts for finding in with_facts(own, MailHop) if finding.facts.mail == number]),
        _links([finding for finding in with_facts(own, MailUrl) if finding.facts.mail == number]),
        _attachments([finding.facts for finding in with_facts(own, MailAttachment) if finding.facts.mail == number]),
        _damage([finding for finding in with_facts(own, MailDamage) if finding.facts.mail == number]),
    )
    return "\n\n".join(block for block in (*blocks, *parts) if block)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about mails that are not ordinary."""
    verdicts = with_facts(findings, MailVerdict)
    bad = {(_source(mail), mail.facts.mail) for mail in verdicts if mail.facts.verdict != "ordinary"}
    if not bad:
        return []
    unclear = {"needs_check", "ordinary"}
    if all(mail.facts.verdict in unclear for mail in verdicts):
        return ["Ask the sender on a known number whether the mail is genuine; inspect links and attachments first."]
    steps = [
        "Search the mail servers for the same sender, subject and links: who else received it, who replied or clicked."
    ]
    hosts = [
        link.facts.host
        for link in with_facts(findings, MailUrl)
        if (_source(link), link.facts.mail) in bad and link.facts.signs
    ]
    if hosts:
        shown = ", ".join(code_span(defang_text(host), limit=60) for host in dict.fromkeys(hosts[:_HOSTS_SHOWN]))
        steps.append(f"Search proxy and DNS logs since delivery for connections to {shown}, and block them.")
    if any(
        (_source(file), file.facts.mail) in bad and file.facts.dangers for file in with_facts(findings, MailAttachment)
    ):
        steps.append("Search hosts for the attachments' SHA-256; open them only in isolation.")
    if not any(check.facts.is_latest for check in with_facts(findings, MailAuth)):
        steps.append(
            "No server recorded SPF, DKIM or DMARC: check the log of the last server for the delivering address."
        )
    return steps


def _source(finding: AnyFinding) -> str:
    """The file of a finding: mails are numbered from 1 in each."""
    return finding.evidence[0].source if finding.evidence else ""


def _plain(text: str) -> str:
    return escape(cut(text, _REASON_CHARS))


def _overview(mails: Sequence[Finding[MailVerdict]]) -> str:
    is_many = len({_source(mail) for mail in mails}) > 1
    rows = [
        [
            *([_file(mail)] if is_many else []),
            str(mail.facts.mail),
            _CLASSES[mail.facts.verdict].lower(),
            str(mail.facts.score),
            code_span(mail.facts.subject, limit=80),
            code_span(defang_text(mail.facts.sender), limit=60),
        ]
        for mail in sorted(mails, key=lambda mail: -mail.facts.score)
    ]
    return table([*(["File"] if is_many else []), "Mail", "Verdict", "Score", "Subject", "From"], rows)


def _file(mail: AnyFinding) -> str:
    return code_span(_source(mail), limit=60)


def _head(facts: MailVerdict) -> str:
    rows = [
        ["From", code_span(defang_text(f"{facts.sender_name} <{facts.sender}>".strip()))],
        ["To", code_span(defang_text(facts.to))],
        ["Subject", code_span(facts.subject)],
        ["Date", code_span(facts.date)],
        ["Message-ID", code_span(defang_text(facts.message_id))],
    ]
    return "**Header fields**\n\n" + table(["Field", "Value"], rows)


def _reasons(facts: MailVerdict) -> str:
    shown = facts.reasons[:REASONS_SHOWN] + facts.for_it
    if not shown:
        return ""
    rows = [[f"{row.points:+.1f}", _plain(row.reason)] for row in shown]
    rest = len(facts.reasons) - REASONS_SHOWN
    note = f"\n\n… and {plural(rest, 'smaller reason')} (all are in the findings)." if rest > 0 else ""
    return "**Reasons**\n\n" + table(["Points", "Reason"], rows) + note


def _senders(findings: Sequence[Finding[MailSender]]) -> str:
    rows = [
        [_plain(finding.title), finding.facts.field, code_span(defang_text(finding.facts.value)), _line(finding)]
        for finding in findings
        if finding.severity is not Severity.INFO or finding.facts.name == "date"
    ]
    return "**Sender inconsistencies**\n\n" + table(["Inconsistency", "Field", "Value", "Line"], rows) if rows else ""


def _line(finding: AnyFinding) -> str:
    return str(finding.evidence[0].line or "")


def _authentication(findings: Sequence[Finding[MailAuth]]) -> str:
    rows = [
        [
            finding.facts.method.upper(),
            code_span(finding.facts.result),
            code_span(defang_text(finding.facts.domain)) if finding.facts.domain else "",
            code_span(finding.facts.server) if finding.facts.server else "not named",
            finding.facts.field + ("" if finding.facts.is_latest else " (earlier; a sender may have written it)"),
            _line(finding),
        ]
        for finding in findings
    ]
    if not rows:
        return ""  # the facts say so
    return "**Sender authentication, as recorded, not verified here**\n\n" + table(
        ["Check", "Result", "Domain", "Recorded by", "Field", "Line"], rows
    )


def _hops(hops: Sequence[MailHop]) -> str:
    rows = [
        [
            str(hop.number),
            code_span(defang_text(hop.sender or hop.reverse or "?"), limit=60),
            code_span(defang_text(hop.ip), limit=45) if hop.ip else "",
            code_span(defang_text(hop.by or "?"), limit=60),
            hop.time,
            _delay(hop.delay_seconds),
            ", ".join(hop.notes),
        ]
        for hop in hops
    ]
    headers = ["", "From", "Address", "To", "Time", "Delay", "Note"]
    return "**Mail path (oldest hop first)**\n\n" + table(headers, rows) if rows else ""


def _delay(seconds: int | None) -> str:
    if seconds is None:
        return ""
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    if seconds < 120:
        return f"{sign}{seconds} s"
    return f"{sign}{seconds // 60:,} min" if seconds < 7_200 else f"{sign}{seconds / 3600:,.1f} h"


def _links(findings: Sequence[Finding[MailUrl]]) -> str:
    rows = [
        [
            code_span(defang_text(finding.facts.url), limit=100),
            code_span(defang_text(finding.facts.text), limit=60) if finding.facts.text else "",
            _plain("; ".join(sign.description for sign in finding.facts.signs)) or "none",
            _line(finding),
        ]
        for finding in findings
    ]
    headers = ["Address", "Link text", "Indicators", "Line"]
    return "**Links**\n\n" + table(headers, rows, limit=_LINKS_SHOWN) if rows else ""


def _attachments(files: Sequence[MailAttachment]) -> str:
    rows = [
        [
            code_span(file.name, limit=80),
            f"{code_span(file.label)} (declared as {code_span(file.claimed)})",
            f"{file.size:,}",
            _plain("; ".join(danger.description for danger in file.dangers)) or "none",
            _plain(file.examined),
            code_span(file.sha256),
        ]
        for file in files
    ]
    headers = ["Name", "Type by content", "Bytes", "Indicators", "Content", "SHA-256"]
    return "**Attachments**\n\n" + table(headers, rows) if rows else ""


def _damage(findings: Sequence[Finding[MailDamage]]) -> str:
    return "**Could not be parsed**\n\n" + bullets([_plain(finding.title) for finding in findings]) if findings else ""


SECTION = Section(
    skill=Skill(
        name="mail",
        tool="svc.assistant.skills.mail.tool:inspect",
        input=InputKind.BINARY,
        title="Mail",
        can="triage a mail: its path, SPF, DKIM and DMARC as recorded, inconsistencies, links, attachments, a verdict",
        facts=(MailVerdict, MailHop, MailAuth, MailSender, MailUrl, MailAttachment, MailText, MailDamage),
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
            r"\A\s*+(?=(?:.*\n){0,40}?(?:From|Received|Return-Path): )(?=(?:.*\n){0,60}?(?:Subject|Message-ID): )"
            r"[A-Za-z][\w-]{1,60}: "
        ),
        labels=frozenset({"eml", "txt", "log", "unknown"}) | PACKED_LABELS,
        claims=frozenset({"eml"}),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
    pictures=pictures,
)  # fmt: skip
