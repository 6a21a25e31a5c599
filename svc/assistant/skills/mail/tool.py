"""Triage of mail: its path, the checks that servers recorded, inconsistencies, links, attachments, and a verdict.

Reads one mail or an mbox of several, each by itself. Pure; it verifies no signature and looks nothing up: SPF, DKIM
and DMARC are reported as recorded, with the server that recorded them. Parsing: ``message.py``; weights: ``score.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.file_types.text_shape import data_form
from svc.assistant.findings import Confidence, Coverage, Evidence, FactsT, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.archive.dangerous_names import Danger
from svc.assistant.skills.mail.attachments import MAX_ATTACHMENTS, InspectedAttachment, read_attachments
from svc.assistant.skills.mail.documents import DocumentBudget
from svc.assistant.skills.mail.findings import (
    AttachmentDanger,
    LinkSign,
    MailAttachment,
    MailAuth,
    MailClass,
    MailDamage,
    MailHop,
    MailReason,
    MailSender,
    MailText,
    MailUrl,
    MailVerdict,
)
from svc.assistant.skills.mail.html import MARKS, Link, Page, marked_link, read_page
from svc.assistant.skills.mail.links import LinkTarget, MailContext, marked_text, organisation, read_urls, urls_in_text
from svc.assistant.skills.mail.mailbox import Mailbox
from svc.assistant.skills.mail.message import Mail, calendar_text, parse_mail
from svc.assistant.skills.mail.parsed import ParsedMail
from svc.assistant.skills.mail.route import BACKWARDS, Auth, Hop, date_mismatch_hours, read_auth, read_hops
from svc.assistant.skills.mail.score import SUSPICIOUS_POINTS, Judgement, has_unread_image, judge
from svc.assistant.skills.mail.sender import Note, Sender, read_notes, read_sender
from svc.assistant.skills.mail.wording import (
    ThemeHit,
    business_subjects,
    disguised_words,
    own_text,
    quoted_lines,
    read_words,
    searchable,
    version,
)

MAX_MAIL_BYTES = 40 * 1024 * 1024  # what mail servers let through
MAX_MAILS = 20_000  # of an mbox: 10 ms each
MAX_INPUT_BYTES = 256 * 1024 * 1024
MAX_SHOWN = 200  # findings of one kind for one mail
_EXCERPT_CHARS = 300
_SHAPE_BYTES = 65_536  # of an input without a mail's header fields, that show whether it is a log or a table
_MARKED_BYTES = 2 * 1024 * 1024  # in which evidence gets its line
_SEVERITY: dict[MailClass, Severity] = {
    "phishing": Severity.HIGH,
    "fraud": Severity.HIGH,
    "suspicious": Severity.MEDIUM,
    "spam": Severity.MEDIUM,
    "needs_check": Severity.LOW,
    "ordinary": Severity.INFO,
}


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the findings of every mail in ``content``: a MailVerdict, then what it is based on."""
    yield Progress(text=f"reading {source}")
    mailbox = Mailbox(content, MAX_INPUT_BYTES)
    budget = DocumentBudget()
    read = number = 0
    for number, (first_line, one) in enumerate(mailbox, start=1):
        if number > MAX_MAILS:
            yield Gap(text=f"only the first {MAX_MAILS:,} mails were examined; the rest was not read", in_headline=True)
            break
        if mailbox.is_mbox and number % 20 == 1:
            yield Progress(text=f"mail {number:,}")
        if len(one) > MAX_MAIL_BYTES:
            yield Gap(text=f"mail {number:,} has {len(one):,} bytes; only the first {MAX_MAIL_BYTES:,} were examined")
        for event in _findings(one[:MAX_MAIL_BYTES], _Locator(one, first_line, number, source), budget):
            read += isinstance(event, Finding) and isinstance(event.facts, MailVerdict)
            yield event
    if mailbox.is_cut:
        yield Gap(text=f"only the first {MAX_INPUT_BYTES:,} bytes were examined", in_headline=True)
    if not number:
        yield Gap(text="the input is empty")
    yield _coverage(read, number)


def _coverage(read: int, total: int) -> Coverage:
    return Coverage(
        read_as="mail" if total == 1 and read else "mailbox" if read else "text without a mail's header fields",
        unit="mail",
        understood=read,
        total=total,
        looked_for="signs of phishing, fraud and spam in sender, path, authentication, links, attachments and wording",
        not_covered="signatures were not verified, links not opened, images not read; reputation is not known offline",
    )


class _Locator:
    """Finds the lines of one raw mail, for evidence."""

    def __init__(self, raw: bytes, first_line: int, number: int, source: str) -> None:
        self._text = raw[:_MARKED_BYTES].decode("latin-1")
        self._first_line = first_line
        self.number = number
        self._source = source

    def at(self, excerpt: str, *, key: str = "") -> tuple[Evidence, ...]:
        """Evidence for ``excerpt``, with the line of ``key`` (or of the excerpt) if the raw mail contains it."""
        wanted = key or excerpt[:60]
        position = self._text.find(wanted) if wanted else -1
        line = self._text.count("\n", 0, position) + self._first_line if position >= 0 else None
        return (Evidence(source=self._source, excerpt=excerpt[:_EXCERPT_CHARS], line=line, record=self.number),)


def _findings(raw: bytes, locator: _Locator, budget: DocumentBudget) -> Iterator[ToolEvent]:
    mail, number = parse_mail(raw), locator.number
    if not mail.fields and not (mail.plain or mail.html).strip():
        yield Gap(text=f"mail {number:,} is empty" if raw.strip() else "the input is empty")
        return
    hops = read_hops(mail)
    parsed = _parsed(mail, budget)
    judgement = judge(parsed)
    if not mail.is_mail and (
        judgement.name in ("ordinary", "needs_check") or data_form(raw[:_SHAPE_BYTES].decode("utf-8", "replace"))
    ):
        # suspicious text alone may be the body of a mail
        yield Gap(text="not a mail: it has no mail header fields, so it was not rated")
        return
    yield _verdict(parsed, judgement, hops, locator)
    yield from (_hop(hop, locator) for hop in hops[:MAX_SHOWN])
    if (hours := date_mismatch_hours(mail, hops)) is not None:
        yield _date_note(mail, hours, locator)
    yield from (_auth(one, locator) for one in parsed.auth[:MAX_SHOWN])
    most = _SEVERITY[judgement.name]
    yield from (_bounded(_note(note, locator), most) for note in parsed.notes)
    urls = sorted(parsed.urls, key=lambda url: -url.points)[:MAX_SHOWN]
    yield from (_bounded(_url(url, locator), most) for url in urls)
    yield from (_attachment(one, locator) for one in parsed.attachments)
    yield from (_bounded(_theme(hit, locator), most) for hit in parsed.themes if hit.points >= 1)
    yield from (_damage(what, locator) for what in mail.damage)
    if has_unread_image(parsed):
        yield Gap(text=f"mail {number:,}: its message is in an image; text and QR codes in images are not read")
    if len(mail.attachments) > MAX_ATTACHMENTS:
        left = len(mail.attachments) - MAX_ATTACHMENTS
        yield Gap(text=f"mail {number:,}: {left:,} of its attachments were not examined", in_headline=True)
    if parsed.page.is_cut:
        yield Gap(text=f"mail {number:,}: the end of its HTML was not examined")


def _bounded(finding: Finding[FactsT], most: Severity) -> Finding[FactsT]:
    """A word, a link or a field alone is high only in a mail that is: quotations and reports have them, too."""
    if finding.severity is Severity.HIGH and most is not Severity.HIGH:
        return msgspec.structs.replace(finding, severity=Severity.MEDIUM)
    return finding


def _parsed(mail: Mail, budget: DocumentBudget, depth: int = 0) -> ParsedMail:
    page = read_page(mail.html) if mail.html else Page()
    sender = read_sender(mail)
    refers = mail.has("In-Reply-To", "References")
    is_page = len(page.text) > _SHORT_TEXT or not mail.plain.strip()
    own = own_text(page.marked if is_page else marked_text(mail.plain), is_reply=refers)
    attachments = [_with_mail(one, raw, budget, depth) for one, raw in _inspected(mail, budget)]
    names = " ".join(re.sub(r"[\W_]+", " ", attachment.name) for attachment in attachments)
    invited = calendar_text(mail.attachments)
    words = read_words(mail.first("Subject"), f"{own}\n{invited}" if invited else own)
    links = [*_links(mail, page, own), *urls_in_text(invited)]
    links += [Link(url=url, place="attachment") for one in attachments for url in one.urls]
    return ParsedMail(
        mail=mail,
        page=page,
        words=words,
        urls=read_urls(links, _context(sender)),
        auth=read_auth(mail),
        sender=sender,
        notes=read_notes(mail, sender),
        disguised=disguised_words(MARKS.sub("", own)),
        attachments=attachments,
        quoted=quoted_lines(mail.plain) + page.quoted,
        business=business_subjects(f"{searchable(names)} {words.core}"),
    )


def judge_mail(raw: bytes) -> Judgement:
    """Return the verdict on one mail, with its signals."""
    return judge(_parsed(parse_mail(raw), DocumentBudget()))


def _inspected(mail: Mail, budget: DocumentBudget) -> Iterator[tuple[InspectedAttachment, bytes]]:
    for attachment, found in zip(mail.attachments, read_attachments(mail.attachments, budget), strict=False):
        yield found, attachment.data if attachment.nested else b""


def _with_mail(one: InspectedAttachment, raw: bytes, budget: DocumentBudget, depth: int) -> InspectedAttachment:
    """An attached mail with its own verdict, if that is bad."""
    if not raw or depth >= MAX_DEPTH:
        return one
    judged = judge(_parsed(parse_mail(raw), budget, depth + 1))
    if judged.name not in ("phishing", "fraud", "suspicious"):
        return one
    severity = Severity.HIGH if judged.name != "suspicious" else Severity.MEDIUM
    reason = judged.signals[0].words if judged.signals else ""
    danger = Danger("attached_mail", f"an attached mail that is itself {judged.name}: {reason}"[:300], severity)
    return msgspec.structs.replace(one, dangers=(*one.dangers, danger))


MAX_DEPTH = 3  # of mails attached to mails
_SHORT_TEXT = 20


def _links(mail: Mail, page: Page, own: str) -> list[Link]:
    """What can be clicked: the HTML's links, or the addresses in the text if there are none."""
    links = [link for link in page.links if not link.url.lower().startswith(("mailto:", "tel:", "#", "cid:"))]
    if not mail.html:
        kept = {marked_link(mark) for mark in MARKS.findall(own)}  # without those in quoted lines
        return links + [link for link in urls_in_text(mail.plain) if link.number in kept]
    return links or list(urls_in_text(page.text))


def _context(sender: Sender) -> MailContext:
    own = frozenset([sender.org] if sender.org and not sender.is_free_mail else [])
    return MailContext(own=own, recipients=sender.recipients)


def _verdict(parsed: ParsedMail, judgement: Judgement, hops: list[Hop], locator: _Locator) -> Finding[MailVerdict]:
    mail = parsed.mail
    against = [MailReason(signal.words, signal.points) for signal in judgement.signals if signal.points > 0]
    favour = [MailReason(signal.words, signal.points) for signal in judgement.signals if signal.points < 0]
    distance = abs(judgement.score - SUSPICIOUS_POINTS)
    subject = mail.first("Subject")
    return Finding(
        title=f"{judgement.name.replace('_', ' ')}: {subject[:100] or 'a mail without a subject'}",
        severity=_SEVERITY[judgement.name],
        confidence=Confidence.HIGH if distance >= 4 else Confidence.MEDIUM if distance >= 1.5 else Confidence.LOW,
        why="; ".join(row.reason for row in against[:5]) or "no suspicious sign",
        evidence=locator.at(f"Subject: {subject}", key="Subject:"),
        techniques=_techniques(parsed, judgement),
        facts=MailVerdict(
            mail=locator.number,
            verdict=judgement.name,
            nature=judgement.nature if against else "",
            score=judgement.score,
            reasons=against,
            for_it=favour,
            subject=subject,
            sender=parsed.sender.address.address,
            sender_name=parsed.sender.address.name,
            to=mail.first("To"),
            cc=mail.first("Cc"),
            date=mail.first("Date"),
            message_id=mail.first("Message-ID"),
            is_list=parsed.is_list,
            is_conversation=parsed.is_conversation,
            is_confirmed=parsed.is_confirmed,
            themes=[hit.name for hit in parsed.themes if hit.points >= 1],
            urls=len(parsed.urls),
            attachments=len(parsed.attachments),
            hops=len(hops),
            lexicon=version(),
        ),
    )


def _techniques(parsed: ParsedMail, judgement: Judgement) -> tuple[str, ...]:
    if judgement.name not in ("phishing", "fraud", "suspicious"):
        return ()
    found = []
    if any(one.points >= 2 for one in parsed.attachments):
        found.append("T1566.001")
    if parsed.foreign():
        found.append("T1566.002")
    return tuple(found or ["T1566"])


def _hop(hop: Hop, locator: _Locator) -> Finding[MailHop]:
    return Finding(
        title=f"hop {hop.number}: {hop.sender or hop.ip or 'unknown'} to {hop.by or 'unknown'}",
        severity=Severity.LOW if BACKWARDS in hop.notes else Severity.INFO,
        evidence=locator.at(f"Received: {hop.field}", key=hop.field[:30]),
        facts=MailHop(
            mail=locator.number,
            number=hop.number,
            sender=hop.sender,
            reverse=hop.reverse,
            ip=hop.ip,
            by=hop.by,
            protocol=hop.protocol,
            time=hop.time,
            delay_seconds=hop.delay_seconds,
            notes=list(hop.notes),
        ),
    )


def _auth(one: Auth, locator: _Locator) -> Finding[MailAuth]:
    is_bad = one.is_latest and one.result in ("fail", "softfail", "permerror", "hardfail")
    return Finding(
        title=f"{one.method.upper()} {one.result}" + (f" for {one.domain}" if one.domain else ""),
        severity=Severity.MEDIUM if is_bad else Severity.INFO,
        why=f"as recorded by {one.server or 'an unnamed server'}; not verified here",
        evidence=locator.at(f"{one.field}: {one.value}", key=f"{one.field}:"),
        facts=MailAuth(
            mail=locator.number,
            method=one.method,
            result=one.result,
            domain=one.domain,
            server=one.server,
            field=one.field,
            is_latest=one.is_latest,
        ),
    )


def _grade(points: float) -> Severity:
    if points >= 4:
        return Severity.HIGH
    if points >= 2:
        return Severity.MEDIUM
    return Severity.LOW if points > 0 else Severity.INFO


def _note(note: Note, locator: _Locator) -> Finding[MailSender]:
    return Finding(
        title=note.words,
        severity=_grade(note.points),
        confidence=Confidence.MEDIUM,
        evidence=locator.at(f"{note.field}: {note.value}", key=f"{note.field}:"),
        facts=MailSender(
            mail=locator.number,
            name=note.name,
            words=note.words,
            field=note.field,
            value=note.value,
            points=note.points,
        ),
    )


def _date_note(mail: Mail, hours: int, locator: _Locator) -> Finding[MailSender]:
    words = f"Date is {abs(hours):,} hours {'before' if hours > 0 else 'after'} the last server's timestamp"
    return _note(Note(name="date", words=words, points=0.0, field="Date", value=mail.first("Date")), locator)


def _url(url: LinkTarget, locator: _Locator) -> Finding[MailUrl]:
    return Finding(
        title=f"a link to {url.org or organisation(url.host) or 'content of the mail itself'}",
        severity=_grade(url.points),
        confidence=Confidence.MEDIUM,
        why="; ".join(sign.description for sign in url.signs),
        evidence=locator.at(url.url),
        facts=MailUrl(
            mail=locator.number,
            url=url.url,
            text=url.text,
            place=url.place,
            host=url.host,
            org=url.org,
            signs=[LinkSign(sign.name, sign.description) for sign in url.signs],
            points=round(url.points, 1),
        ),
    )


def _attachment(one: InspectedAttachment, locator: _Locator) -> Finding[MailAttachment]:
    return Finding(
        title=f"attached: {one.name or 'without a name'} ({one.label})",
        severity=max((danger.severity for danger in one.dangers), key=_RANK.index, default=Severity.INFO),
        why="; ".join(danger.description for danger in one.dangers[:5]),
        evidence=locator.at(one.name or one.claimed),
        facts=MailAttachment(
            mail=locator.number,
            name=one.name,
            claimed=one.claimed,
            label=one.label,
            size=one.size,
            sha256=one.sha256,
            md5=one.md5,
            dangers=[AttachmentDanger(danger.name, danger.description) for danger in one.dangers],
            members=list(one.members),
            examined=one.examined,
            urls=list(one.urls),
        ),
    )


_RANK = [Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL]


def _theme(hit: ThemeHit, locator: _Locator) -> Finding[MailText]:
    return Finding(
        title=hit.what,
        severity=_grade(hit.points if hit.nature != "spam" else hit.points / 2),
        confidence=Confidence.MEDIUM,
        evidence=locator.at(" … ".join(hit.phrases), key=hit.phrases[0][:40] if hit.phrases else ""),
        facts=MailText(
            mail=locator.number,
            theme=hit.name,
            what=hit.what,
            nature=hit.nature,
            points=hit.points,
            phrases=list(hit.phrases),
        ),
    )


def _damage(what: str, locator: _Locator) -> Finding[MailDamage]:
    facts = MailDamage(mail=locator.number, what=what)
    return Finding(title=what, severity=Severity.LOW, evidence=locator.at(what), facts=facts)
