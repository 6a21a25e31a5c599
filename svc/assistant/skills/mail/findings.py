"""What findings about mails hold. Terms: RFC 5322 (fields), 5321 (Received), 8601 (authentication results).

``mail`` is the number of the mail in its file, from 1, in all kinds: an mbox holds several.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts

MailClass = Literal["phishing", "fraud", "suspicious", "spam", "needs_check", "ordinary"]
MailNature = Literal["phishing", "fraud", "spam", ""]


class MailReason(msgspec.Struct, frozen=True):
    """One reason with its weight in the score; points below 0 count in favour of the mail."""

    reason: str
    points: float


class LinkSign(msgspec.Struct, frozen=True):
    """One thing that makes a link suspicious: a stable name, for example ``look_alike``, and what was seen."""

    name: str
    description: str


class AttachmentDanger(msgspec.Struct, frozen=True):
    """One thing that makes an attachment dangerous: a stable name, for example ``macros``, and what was seen."""

    name: str
    description: str


class MailVerdict(Facts, frozen=True, kw_only=True, tag="mail_verdict"):
    """The verdict on one mail, with the reasons for and against it."""

    mail: int
    verdict: MailClass
    nature: MailNature
    """What the reasons point to; "" if there are none."""
    score: float
    """The sum of the points: 3 needs a check, 5 is suspicious (or spam), 7.5 is phishing or fraud."""
    reasons: list[MailReason]
    """Against the mail, heaviest first."""
    for_it: list[MailReason]
    """In favour of the mail."""
    subject: str
    sender: str
    """The address in From."""
    sender_name: str
    to: str
    cc: str
    date: str
    """As written by the sender."""
    message_id: str
    is_list: bool
    """Whether a mailing list passed it on."""
    is_conversation: bool
    """Whether it answers a mail that it quotes or refers to."""
    is_confirmed: bool
    """Whether a server recorded that the mail is from the domain in From."""
    themes: list[str]
    urls: int
    attachments: int
    hops: int
    lexicon: str
    """Version and date of the word list."""


class MailHop(Facts, frozen=True, kw_only=True, tag="mail_hop"):
    """One Received field: a server that took the mail. A value that the field does not state is ""."""

    mail: int
    number: int
    """1 is the first hop after the sender."""
    sender: str
    """The name by which the client introduced itself."""
    reverse: str
    """The client's name by reverse DNS, as the server recorded it."""
    ip: str
    by: str
    protocol: str
    time: str
    """ISO 8601."""
    delay_seconds: int | None
    """Since the hop before it."""
    notes: list[str]


class MailAuth(Facts, frozen=True, kw_only=True, tag="mail_auth"):
    """One result of SPF, DKIM, DMARC or ARC as a server recorded it; nothing is verified here."""

    mail: int
    method: str
    """spf, dkim, dmarc, arc, compauth, domainkeys or sender-id."""
    result: str
    domain: str
    server: str
    """The server that recorded it; "" if the field does not name it."""
    field: str
    is_latest: bool
    """Whether the last server recorded it; a sender may have written the others."""


class MailSender(Facts, frozen=True, kw_only=True, tag="mail_sender"):
    """One inconsistency in the header fields about the sender."""

    mail: int
    name: str
    """Which check, for example ``reply_to``."""
    words: str
    field: str
    value: str
    points: float


class MailUrl(Facts, frozen=True, kw_only=True, tag="mail_url"):
    """One link of a mail."""

    mail: int
    url: str
    text: str
    """The link text."""
    place: str
    """a, area, form, frame, refresh or text."""
    host: str
    org: str
    """The registrable domain, or the host if it has none."""
    signs: list[LinkSign]
    points: float


class MailAttachment(Facts, frozen=True, kw_only=True, tag="mail_attachment"):
    """One attachment."""

    mail: int
    name: str
    claimed: str
    """The media type that the mail states."""
    label: str
    """The type by content."""
    size: int
    sha256: str
    md5: str
    dangers: list[AttachmentDanger]
    members: list[str]
    """Names in an attached archive."""
    examined: str = ""
    """What was done with its content: opened, read, or not examined and why."""
    urls: list[str] = msgspec.field(default_factory=list)
    """The addresses in an attached PDF or Office document."""


class MailText(Facts, frozen=True, kw_only=True, tag="mail_text"):
    """A theme of the mail's own text, such as urgency or payment, with the phrases that show it."""

    mail: int
    theme: str
    what: str
    nature: MailNature
    points: float
    phrases: list[str]


class MailDamage(Facts, frozen=True, kw_only=True, tag="mail_damage"):
    """A part of a mail that could not be parsed."""

    mail: int
    what: str
