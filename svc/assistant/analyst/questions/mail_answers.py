"""Questions about one fact of a mail: who really sent it, where replies go, which links it has. Pure.

No mail records who opened it or clicked a link: the answer says so, and names what does record it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from svc.assistant.findings import AnyFinding, Facts, Finding, kind_of, with_facts
from svc.assistant.skills.mail.findings import (
    MailAttachment,
    MailAuth,
    MailHop,
    MailSender,
    MailUrl,
    MailVerdict,
)
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

F = TypeVar("F", bound=Facts)
SHOWN = 6
MAX_MAILS = 3  # of which each is answered; of more the report lists them
_MAIL = r"(?:it|this|that|the (?:e-?mail|mail|message|phish\w*)|this (?:e-?mail|mail|message))"
_SENT_BY = re.compile(
    rf"\bwho(?:'s| is| was)? {_MAIL} (?:really |actually )?(?:from|sent by)\b|\bwho (?:really |actually )?sent\b"
    rf"|\bwhere (?:was|did|does|is) {_MAIL} (?:really |actually )?(?:sent |com(?:e|ing) )?from\b"
    r"|\b(?:real|true|actual|original|originating) (?:sender|source|ip|address|server)\b|\bsender'?s? (?:ip|address)\b"
    r"|\b(?:which|what) (?:ip|server|address|host) (?:sent|did it come from|is it from|was it sent from)\b",
    re.IGNORECASE,
)
_REPLIES = re.compile(
    r"\brepl(?:y|ies)\b[^?]{0,20}\b(?:go|to|address|land)\b|\bwhere (?:do|would|will) (?:the )?repl", re.IGNORECASE
)
_LINKS = re.compile(r"\b(?:urls?|links?)\b", re.IGNORECASE)
_LISTS = re.compile(r"\A\W*(?:just|only|list|show|give|which|what|all|extract|the)\b", re.IGNORECASE)
_DONE = re.compile(
    r"\b(?:did|has|have|was|were|who)\b[^?]{0,50}\b(?:click\w*|open(?:ed)?|repl(?:y|ied)|forward\w*|fall for|fell for"
    r"|enter(?:ed)?|typed?|visit\w*|download\w*)\b",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\bwho(?:m)? (?:was|is|did|were) [^?]{0,30}\b(?:sent to|addressed to|to)\b|\b(?:recipients?|receiv\w*)\b"
    rf"|\bwho (?:else )?(?:got|gets|has) {_MAIL}|\bwho else (?:got|gets|received|was on)\b|\b(?:in |on )?cc\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\bwhen (?:was|did) [^?]{0,30}\b(?:sent|arrive\w*|receiv\w*|deliver\w*|come)\b", re.IGNORECASE)
_CHECKS = re.compile(r"\b(?:spf|dkim|dmarc)\b", re.IGNORECASE)
_ATTACHED = re.compile(r"\b(?:attachments?|attached)\b", re.IGNORECASE)


def mail_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about the fact of a mail that a clause asks for, and whether the mail states it.

    None if a clause asks for no such fact, or if no mail, or more than a few, were read.
    """
    mails = with_facts(of_kind(findings, kind_of(MailVerdict)), MailVerdict)
    if not 0 < len(mails) <= MAX_MAILS:
        return None
    for asks, answer in _ANSWERS:
        if asks.search(clause) and (asks is not _LINKS or _LISTS.match(clause)):
            told = [answer(clause, one, findings) for one in mails]
            return " ".join(text for text, _ in told), all(is_told for _, is_told in told)
    return None


def _of(findings: Sequence[AnyFinding], facts: type[F], mail: Finding[MailVerdict]) -> list[Finding[F]]:
    """The findings of one kind about a mail."""
    source = mail.evidence[0].source if mail.evidence else ""
    return [
        one
        for one in with_facts(of_kind(findings, kind_of(facts)), facts)
        if getattr(one.facts, "mail", 0) == mail.facts.mail and (not one.evidence or one.evidence[0].source == source)
    ]


def _sender(_clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    facts = mail.facts
    hops = sorted(_of(findings, MailHop, mail), key=lambda one: one.facts.number)
    parts = [f"it claims to be from {_value(facts.sender)}" if facts.sender else "it states no sender"]
    if hops:
        first = hops[0].facts
        server = f" ({_value(first.sender)})" if first.sender else ""
        parts.insert(
            0, f"the first server that a header names is {_value(first.ip or first.sender)}{server if first.ip else ''}"
        )
    replies = [one.facts.value for one in _of(findings, MailSender, mail) if one.facts.field.lower() == "reply-to"]
    if replies:
        parts.append(f"replies go to {_value(replies[0])}")
    results = [
        f"{one.facts.method.upper()} {one.facts.result}"
        + (f" for {_value(one.facts.domain)}" if one.facts.domain else "")
        for one in _of(findings, MailAuth, mail)
    ]
    checks = (
        f" In the header: {', '.join(results[:SHOWN])}."
        if results
        else " The header states no SPF, DKIM or DMARC result."
    )
    lead = "; ".join(parts)
    caution = "" if not hops else " Headers below those of your own servers can be forged."
    return f"**{lead[:1].upper()}{lead[1:]}.**{checks}{caution}", bool(hops or facts.sender)


def _checks(clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    """The results that the header states, of the methods that a clause names."""
    asked = {name.lower() for name in _CHECKS.findall(clause)}
    mine = [one.facts for one in _of(findings, MailAuth, mail) if one.facts.method.lower() in asked]
    missing = asked - {one.method.lower() for one in mine}
    told = [
        f"{one.method.upper()} {one.result}{f' for {_value(one.domain)}' if one.domain else ''}" for one in mine[:SHOWN]
    ]
    told += [f"{name.upper()} not recorded" for name in sorted(missing)]
    servers = sorted({one.server for one in mine if one.server})
    by = f", by {', '.join(map(_value, servers[:2]))}" if servers else ""
    caution = " A header that your own server did not write can be forged. A pass proves the domain, not good intent."
    lead = _verdict_first(mail) if _TRUSTS.search(clause) else ""
    return f"{lead}**{'; '.join(told)}**{by}.{caution}", bool(mine)


_TRUSTS = re.compile(r"\b(?:legit\w*|trust\w*|safe|genuine|real|ok(?:ay)?|clean|fine|harmless|benign)\b", re.IGNORECASE)


def _verdict_first(mail: Finding[MailVerdict]) -> str:
    """What the mail is rated as, for a question that takes a passed check for a proof of good intent."""
    if mail.facts.nature:
        return f"**No: rated {escape(mail.facts.nature)}** (score {mail.facts.score:g}). "
    return "**Cannot tell** whether it is harmless: no check proves that, and nothing was found against it. "


def _replies(clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    replies = [one.facts.value for one in _of(findings, MailSender, mail) if one.facts.field.lower() == "reply-to"]
    if replies:
        return f"**Replies go to {_value(replies[0])}**; the mail claims to be from {_value(mail.facts.sender)}.", True
    return f"**Replies go to {_value(mail.facts.sender)}**: no Reply-To that differs from it was found.", bool(
        mail.facts.sender
    )


def _links(_clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    urls = list(dict.fromkeys(one.facts.url for one in _of(findings, MailUrl, mail)))
    if not urls:
        return f"**None:** {plural(mail.facts.urls, 'link')} found in the mail's text and HTML.", True
    more = f" and {len(urls) - SHOWN:,} more" if len(urls) > SHOWN else ""
    return f"**{plural(len(urls), 'link')}:** {', '.join(map(_value, urls[:SHOWN]))}{more}.", True


def _done(clause: str, mail: Finding[MailVerdict], _findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    return (
        f"**Cannot tell** {code_span(clause, limit=160)}: a mail does not record who opened it, clicked a link or "
        "replied. Search the proxy, DNS and endpoint logs since its delivery, and the mail server's log for replies."
    ), False


def _recipient(clause: str, mail: Finding[MailVerdict], _findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    if not mail.facts.to:
        return f"**Cannot tell** {code_span(clause, limit=160)}: the mail states no recipient.", False
    copied = f", Cc {_value(mail.facts.cc)}" if mail.facts.cc else ""
    others = "others may have received it: ask the mail server's log"
    return f"**To {_value(mail.facts.to)}{copied}**, by its header; {others}.", True


def _sent_at(clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    received = [one.facts.time for one in _of(findings, MailHop, mail) if one.facts.time]
    if not received and not mail.facts.date:
        return f"**Cannot tell** {code_span(clause, limit=160)}: the mail states no time.", False
    last = f"; last server {escape(max(received))}" if received else ""
    return f"**Date {_value(mail.facts.date or 'not stated')}**, which the sender wrote{last}.", True


def _attachments(clause: str, mail: Finding[MailVerdict], findings: Sequence[AnyFinding]) -> tuple[str, bool]:
    held = _of(findings, MailAttachment, mail)
    if not held:
        return f"**None:** the mail has {plural(mail.facts.attachments, 'attachment')}.", True
    listed = "; ".join(
        f"{_value(one.facts.name)} ({escape(one.facts.label)}, {one.facts.size:,} bytes)" for one in held[:SHOWN]
    )
    return f"**{plural(len(held), 'attachment')}:** {listed}.", True


_ANSWERS: tuple[
    tuple[
        re.Pattern[str],
        Callable[[str, Finding[MailVerdict], Sequence[AnyFinding]], tuple[str, bool]],
    ],
    ...,
] = (
    (_CHECKS, _checks), (_DONE, _done), (_REPLIES, _replies), (_SENT_BY, _sender), (_WHEN, _sent_at), (_TO, _recipient),
    (_LINKS, _links), (re.compile(rf"{_LISTS.pattern}[^?]{{0,30}}{_ATTACHED.pattern}", re.IGNORECASE), _attachments),
)  # fmt: skip


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=160)
