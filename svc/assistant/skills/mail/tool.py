"""Triage of mail: its way, what servers recorded about its sender, what does not fit, and a verdict with its reasons.

Reads one mail or an mbox of several (each one by itself). Pure; verifies no signature and looks nothing up: SPF, DKIM
and DMARC are told as recorded, with the server that recorded them. Anatomy:
``mail_parts.py``; weights: ``mail_score.py``.

Finding kinds and their attributes (``mail`` counts the mails of an mbox from 1 in all of them):

``mail_verdict``: mail (int), verdict (str: phishing, spam, suspicious, ordinary), nature (str: phishing, fraud, spam),
score (float; 5 is suspicious), reasons, for_it (list of str), points, points_for (list of float), subject, sender,
sender_name, to, date, message_id (str), is_list, is_conversation, is_confirmed (bool), themes (list of str),
urls, attachments, hops (int), lexicon (str).
``mail_hop``: mail, number, sender, reverse, ip, by, protocol, time (ISO 8601 or ""), delay_seconds (int or
null), notes (list of str).
``mail_auth``: mail, method (spf, dkim, dmarc, arc, …), result, domain, server, field (str), is_latest (bool).
``mail_sender``: mail, name (which check), words, field, value (str), points (float).
``mail_url``: mail, url, text, place, host, org (str), signs (list of str), sign_names (list of str), points (float).
``mail_attachment``: mail, name, claimed, label, sha256, md5 (str), size (int), dangers, danger_names,
members (list of str).
``mail_text``: mail, theme, what, nature (str), points (float), phrases (list of str).
``mail_damage``: mail, what (str).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.mail.attachments import SeenAttachment, read_attachments
from svc.assistant.skills.mail.html import Link, Page, read_page
from svc.assistant.skills.mail.links import Surroundings, Url, organisation, read_urls, urls_in_text
from svc.assistant.skills.mail.message import Mail, parse_mail
from svc.assistant.skills.mail.route import Auth, Hop, date_mismatch_hours, read_auth, read_hops
from svc.assistant.skills.mail.score import Seen, Verdict, judge
from svc.assistant.skills.mail.sender import Note, Sender, read_notes, read_sender
from svc.assistant.skills.mail.wording import (
    ThemeHit,
    disguised_words,
    own_text,
    quoted_lines,
    read_words,
    searchable,
    version,
)

MAX_MAIL_BYTES = 40 * 1024 * 1024  # what mail servers let through
MAX_MAILS = 2_000  # of an mbox: 50 ms each
MAX_INPUT_BYTES = 256 * 1024 * 1024
MAX_SHOWN = 200  # findings of one kind for one mail
_EXCERPT_CHARS = 300
_MARKED_BYTES = 2 * 1024 * 1024  # in which evidence gets its line
_MBOX = re.compile(rb"(?:\A|\r?\n\r?\n)(?=From [^\r\n]{1,200}\d{4}[^\r\n]{0,40}\r?\n[A-Za-z][\w-]{0,60}:)")
_SEVERITY = {
    "phishing": Severity.HIGH, "suspicious": Severity.MEDIUM, "spam": Severity.MEDIUM, "ordinary": Severity.INFO
}  # fmt: skip


def triage(stream: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """The findings of every mail in ``stream``: the verdict first, then what it stands on."""
    yield Progress(text=f"reading {source}")
    raw = stream.read(MAX_INPUT_BYTES + 1)
    if len(raw) > MAX_INPUT_BYTES:
        yield Gap(text=f"only the first {MAX_INPUT_BYTES:,} bytes were looked at")
    mails = split_mails(raw[:MAX_INPUT_BYTES])
    if len(mails) > MAX_MAILS:
        yield Gap(text=f"only the first {MAX_MAILS:,} of {len(mails):,} mails were looked at")
    for number, (first_line, one) in enumerate(mails[:MAX_MAILS], start=1):
        if len(mails) > 1 and number % 20 == 1:
            yield Progress(text=f"mail {number:,} of {len(mails):,}")
        if len(one) > MAX_MAIL_BYTES:
            yield Gap(text=f"mail {number:,} has {len(one):,} bytes; only the first {MAX_MAIL_BYTES:,} were looked at")
        yield from _findings(one[:MAX_MAIL_BYTES], _Marker(one, first_line, number, source))


_FIELD = re.compile(rb"[!-9;-~]{1,60}:(?:[ \t]|\r?\n)|From ")
_FIRST_FIELD = re.compile(
    rb"^(?:Received|Return-Path|Delivered-To|Authentication-Results|ARC-Seal|DKIM-Signature|X-[\w-]+|MIME-Version|"
    rb"Message-ID|From|To|Subject|Date|Reply-To|Sender):[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
_ASKED_BYTES = 4_000  # in which pasted header fields begin, under the question


def split_mails(raw: bytes) -> list[tuple[int, bytes]]:
    """Each mail in ``raw`` with the number of its first line: one, or as many as an mbox's From lines begin.

    What stands above pasted header fields (a question, a fence) is left out; a text without any is a mail of its own.
    """
    starts = [match.end() for match in _MBOX.finditer(raw)]
    if not starts or raw[: starts[0]].strip():
        starts = [0, *starts] if starts else [_start_of_fields(raw)]
    return [
        (raw.count(b"\n", 0, start) + 1, raw[start:end])
        for start, end in zip(starts, [*starts[1:], len(raw)], strict=True)
    ]


def _start_of_fields(raw: bytes) -> int:
    blank = len(raw) - len(raw.lstrip())
    if _FIELD.match(raw, blank):
        return blank
    found = _FIRST_FIELD.search(raw[:_ASKED_BYTES])
    return found.start() if found else blank


class _Marker:
    """Where things stand in the raw mail, for evidence."""

    def __init__(self, raw: bytes, first_line: int, number: int, source: str) -> None:
        self._text = raw[:_MARKED_BYTES].decode("latin-1")
        self._first_line = first_line
        self.number = number
        self._source = source

    def at(self, excerpt: str, *, key: str = "") -> tuple[Evidence, ...]:
        """Evidence for ``excerpt``; the line is that of ``key`` or of the excerpt, where it stands as it is."""
        wanted = key or excerpt[:60]
        position = self._text.find(wanted) if wanted else -1
        line = self._text.count("\n", 0, position) + self._first_line if position >= 0 else None
        return (Evidence(source=self._source, excerpt=excerpt[:_EXCERPT_CHARS], line=line, record=self.number),)


def _findings(raw: bytes, marker: _Marker) -> Iterator[ToolEvent]:
    mail, number = parse_mail(raw), marker.number
    if not mail.fields and not (mail.plain or mail.html).strip():
        yield Gap(text=f"mail {number:,} is empty" if raw.strip() else "nothing in it")
        return
    hops = read_hops(mail)
    seen = _look(mail)
    verdict = judge(seen)
    if not mail.fields and verdict.name == "ordinary":  # words alone may be a mail's body, where they say so much
        yield Gap(text="no mail in it: it has no header field, and its words are none of a fraud")
        return
    yield _verdict(seen, verdict, hops, marker)
    yield from (_hop(hop, marker) for hop in hops[:MAX_SHOWN])
    if (hours := date_mismatch_hours(mail, hops)) is not None:
        yield _date_note(mail, hours, marker)
    yield from (_auth(one, marker) for one in seen.auth[:MAX_SHOWN])
    yield from (_note(note, marker) for note in seen.notes)
    yield from (_url(url, marker) for url in sorted(seen.urls, key=lambda url: -url.points)[:MAX_SHOWN])
    yield from (_attachment(one, marker) for one in seen.attachments)
    yield from (_theme(hit, marker) for hit in seen.themes if hit.points >= 1)
    yield from (_damage(what, marker) for what in mail.damage)
    if seen.page.is_cut:
        yield Gap(text=f"mail {number:,}: the end of its HTML was not looked at")


def _look(mail: Mail) -> Seen:
    page = read_page(mail.html) if mail.html else Page()
    sender = read_sender(mail)
    refers = mail.has("In-Reply-To", "References")
    body = page.text if len(page.text) > 20 or not mail.plain.strip() else mail.plain
    own = own_text(body, is_reply=refers)
    text = searchable(f"{mail.first('Subject')}\n{own}")
    return Seen(
        mail=mail, page=page, text=text, urls=read_urls(_links(mail, page, own), _around(sender)), auth=read_auth(mail),
        sender=sender, notes=read_notes(mail, sender), themes=read_words(text), disguised=disguised_words(own),
        attachments=list(read_attachments(mail.attachments)), quoted=quoted_lines(mail.plain) + page.quoted,
    )  # fmt: skip


def _links(mail: Mail, page: Page, own: str) -> list[Link]:
    """What can be clicked: the HTML's links, else the addresses in the text."""
    links = [link for link in page.links if not link.url.lower().startswith(("mailto:", "tel:", "#", "cid:"))]
    shown = {link.url for link in links}
    in_text = urls_in_text(own if not mail.html else page.text if not links else "")
    return links + [link for link in in_text if link.url not in shown]


def _around(sender: Sender) -> Surroundings:
    own = frozenset([sender.org] if sender.org and not sender.is_free_mail else [])
    return Surroundings(own=own, near=sender.near, recipients=sender.recipients)


def _verdict(seen: Seen, verdict: Verdict, hops: list[Hop], marker: _Marker) -> Finding:
    mail = seen.mail
    against = [signal for signal in verdict.signals if signal.points > 0]
    favour = [signal for signal in verdict.signals if signal.points < 0]
    far = abs(verdict.score - 5.0)
    subject = mail.first("Subject")
    return Finding(
        kind="mail_verdict",
        title=f"{verdict.name}: {subject[:100] or 'a mail without a subject'}",
        severity=_SEVERITY[verdict.name],
        confidence=Confidence.HIGH if far >= 4 else Confidence.MEDIUM if far >= 1.5 else Confidence.LOW,
        why="; ".join(signal.words for signal in against[:5]) or "nothing that speaks against it",
        evidence=marker.at(f"Subject: {subject}", key="Subject:"),
        techniques=_techniques(seen, verdict),
        attributes={
            "mail": marker.number, "verdict": verdict.name, "nature": verdict.kind if against else "",
            "score": verdict.score, "reasons": [signal.words for signal in against],
            "points": [signal.points for signal in against], "for_it": [signal.words for signal in favour],
            "points_for": [signal.points for signal in favour], "subject": subject,
            "sender": seen.sender.address.address, "sender_name": seen.sender.address.name, "to": mail.first("To"),
            "date": mail.first("Date"), "message_id": mail.first("Message-ID"), "is_list": seen.is_list,
            "is_conversation": seen.is_conversation, "is_confirmed": seen.is_confirmed,
            "themes": [hit.name for hit in seen.themes if hit.points >= 1], "urls": len(seen.urls),
            "attachments": len(seen.attachments), "hops": len(hops), "lexicon": version(),
        },
    )  # fmt: skip


def _techniques(seen: Seen, verdict: Verdict) -> tuple[str, ...]:
    if verdict.name not in ("phishing", "suspicious"):
        return ()
    found = []
    if any(one.points >= 2 for one in seen.attachments):
        found.append("T1566.001")
    if seen.foreign():
        found.append("T1566.002")
    return tuple(found or ["T1566"])


def _hop(hop: Hop, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_hop",
        title=f"hop {hop.number}: {hop.sender or hop.ip or 'unknown'} to {hop.by or 'unknown'}",
        severity=Severity.LOW if "earlier than the hop before it" in hop.notes else Severity.INFO,
        evidence=marker.at(f"Received: {hop.field}", key=hop.field[:30]),
        attributes={
            "mail": marker.number, "number": hop.number, "sender": hop.sender, "reverse": hop.reverse, "ip": hop.ip,
            "by": hop.by, "protocol": hop.protocol, "time": hop.time, "delay_seconds": hop.delay_seconds,
            "notes": list(hop.notes),
        },
    )  # fmt: skip


def _auth(one: Auth, marker: _Marker) -> Finding:
    is_bad = one.is_latest and one.result in ("fail", "softfail", "permerror", "hardfail")
    return Finding(
        kind="mail_auth",
        title=f"{one.method.upper()} {one.result}" + (f" for {one.domain}" if one.domain else ""),
        severity=Severity.MEDIUM if is_bad else Severity.INFO,
        why=f"as {one.server or 'a server that gives no name'} recorded it; not verified here",
        evidence=marker.at(f"{one.field}: {one.value}", key=f"{one.field}:"),
        attributes={
            "mail": marker.number, "method": one.method, "result": one.result, "domain": one.domain,
            "server": one.server, "field": one.field, "is_latest": one.is_latest,
        },
    )  # fmt: skip


def _grade(points: float) -> Severity:
    return (
        Severity.HIGH
        if points >= 4
        else Severity.MEDIUM
        if points >= 2
        else Severity.LOW
        if points > 0
        else Severity.INFO
    )


def _note(note: Note, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_sender",
        title=note.words,
        severity=_grade(note.points),
        confidence=Confidence.MEDIUM,
        evidence=marker.at(f"{note.field}: {note.value}", key=f"{note.field}:"),
        attributes={
            "mail": marker.number, "name": note.name, "words": note.words, "field": note.field, "value": note.value,
            "points": note.points,
        },
    )  # fmt: skip


def _date_note(mail: Mail, hours: int, marker: _Marker) -> Finding:
    words = f"the sender's date is {abs(hours):,} hours {'before' if hours > 0 else 'after'} the last server's stamp"
    return _note(Note(name="date", words=words, points=0.0, field="Date", value=mail.first("Date")), marker)


def _url(url: Url, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_url",
        title=f"a link to {url.org or organisation(url.host) or 'what the mail itself holds'}",
        severity=_grade(url.points),
        confidence=Confidence.MEDIUM,
        why="; ".join(sign.words for sign in url.signs),
        evidence=marker.at(url.url),
        attributes={
            "mail": marker.number, "url": url.url, "text": url.text, "place": url.place, "host": url.host,
            "org": url.org, "signs": [sign.words for sign in url.signs],
            "sign_names": [sign.name for sign in url.signs],
            "points": round(url.points, 1),
        },
    )  # fmt: skip


def _attachment(one: SeenAttachment, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_attachment",
        title=f"attached: {one.name or 'without a name'} ({one.label})",
        severity=max((danger.severity for danger in one.dangers), key=_RANK.index, default=Severity.INFO),
        why="; ".join(danger.words for danger in one.dangers[:5]),
        evidence=marker.at(one.name or one.claimed),
        attributes={
            "mail": marker.number, "name": one.name, "claimed": one.claimed, "label": one.label, "size": one.size,
            "sha256": one.sha256, "md5": one.md5, "dangers": [danger.words for danger in one.dangers],
            "danger_names": [danger.name for danger in one.dangers], "members": list(one.members),
        },
    )  # fmt: skip


_RANK = [Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL]


def _theme(hit: ThemeHit, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_text",
        title=hit.what,
        severity=_grade(hit.points if hit.kind != "spam" else hit.points / 2),
        confidence=Confidence.MEDIUM,
        evidence=marker.at(" … ".join(hit.phrases), key=hit.phrases[0][:40] if hit.phrases else ""),
        attributes={
            "mail": marker.number, "theme": hit.name, "what": hit.what, "nature": hit.kind, "points": hit.points,
            "phrases": list(hit.phrases),
        },
    )  # fmt: skip


def _damage(what: str, marker: _Marker) -> Finding:
    return Finding(
        kind="mail_damage", title=what, severity=Severity.LOW, evidence=marker.at(what),
        attributes={"mail": marker.number, "what": what},
    )  # fmt: skip
