"""Inconsistencies about the sender of a mail: names, addresses, replies, fields that programs leave. Pure.

Each note has points as in the mail's score; none is a proof. Brands: ``brands.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.mail.brands import (
    belongs_to,
    brand_in_host,
    brand_named,
    brands_in,
    everyday_brand,
    folded,
    imitated_brand,
)
from svc.assistant.skills.mail.findings import MailNature
from svc.assistant.skills.mail.links import (
    hosts,
    is_bulk_sender,
    is_free_hosting,
    is_public_name,
    looks_random,
    organisation,
    suspicious_tld,
)
from svc.assistant.skills.mail.message import Address, Mail
from svc.assistant.skills.mail.trust import client_name
from svc.assistant.skills.mail.wording import disguised_words

MANY_RECIPIENTS = 15
_ADDRESS = re.compile(r"[\w.+-]{1,80}@((?:[\w-]{1,63}\.)+[A-Za-z]{2,24})")
_SERVICE_NAME = re.compile(
    r"\b(?:support|service ?desk|help ?desk|security|customer (?:care|service)|accounts? (?:team|department)|billing|"
    r"web ?mail|mail ?(?:admin\w*|server|delivery|team|box)|administrator|admin|it (?:dep\w*|team|service)|postmaster|"
    r"bank|delivery|notification|kundenservice|kundendienst|service client|servicio|atendimento|seguranca|alerts?)\b"
)
_REPLY_MARK = re.compile(r"\s*(?:re|fw|fwd|aw|wg|tr|rv|sv|enc|res)\s?(?:\[\d+\])?:", re.IGNORECASE)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One inconsistency. ``field`` is the header field that shows it; ``value`` its content."""

    name: str
    words: str
    points: float
    field: str
    value: str
    kind: MailNature = "phishing"


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """The claimed sender of a mail."""

    address: Address
    org: str
    brand: str
    claimed: tuple[str, ...]
    recipients: frozenset[str]
    is_free_mail: bool

    @property
    def is_named_otherwise(self) -> bool:
        """Whether no word of the sender's name is in the address: a shop's mailbox that writes as a bank."""
        words = [word for word in re.findall(r"[^\W\d_]+", folded(self.address.name)) if len(word) >= _NAME_CHARS]
        own = folded(self.address.address)
        return bool(words) and not any(word[:_NAME_CHARS] in own for word in words)


_NAME_CHARS = 4


def read_sender(mail: Mail) -> Sender:
    """Return the sender, the companies that its name claims to be, and the domains of the servers that sent for it."""
    address = mail.address("From")
    org = organisation(address.domain) if address.domain else ""
    alone = everyday_brand(address.name) if address.domain not in hosts().free_mail else None
    names = brands_in(address.name) or ([alone] if alone else [])
    claimed = [brand for brand in names if not belongs_to(address.domain, brand)]
    to = mail.addresses("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To")
    return Sender(
        address=address, org=org, brand="" if org in hosts().free_mail else brand_in_host(address.domain),
        claimed=tuple(brand.name for brand in claimed),
        recipients=frozenset(found.address for found in to), is_free_mail=address.domain in hosts().free_mail,
    )  # fmt: skip


def read_notes(mail: Mail, sender: Sender) -> list[Note]:
    """Return all inconsistencies, in the order of the checks."""
    return [
        *_from_notes(mail, sender),
        *_reply_notes(mail, sender),
        *_reader_notes(mail, sender),
        *_subject_notes(mail),
        *_machine_notes(mail, sender),
        *_client_notes(mail),
    ]


def _from_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    address, value = sender.address, mail.first("From")
    if not mail.has("From", "Received", "To"):
        return  # a text whose fields were cut off
    if not address.address:
        yield Note(name="no_sender", words="From has no address", points=1.0, field="From", value=value)
        return
    others = {organisation(one.domain) for one in mail.addresses("From")} - {sender.org, ""}
    if others or len(mail.all("From")) > 1:
        words = f"several senders in From: {', '.join(sorted({sender.org, *others})[:3])}"
        yield Note(name="several_senders", words=words, points=3.0 if others else 2.0, field="From", value=value)
    shown = _ADDRESS.search(address.name)
    if shown and organisation(shown[1]) != sender.org:
        words = f"display name shows an address at {organisation(shown[1])}; From is at {sender.org}"
        yield Note(name="name_address", words=words, points=3.5, field="From", value=value)
    for name in sender.claimed[:2]:
        words = f"display name claims {name}; From is at {sender.org}"
        points = _points_of_name(address, name)
        yield Note(name="name_brand", words=words, points=points, field="From", value=value)
    if imitated := imitated_brand(address.domain, sender.org):
        words = f"{address.domain} imitates {imitated}"
        yield Note(name="look_alike", words=words, points=4.5, field="From", value=value)
    yield from _domain_notes(sender, value)
    if _SERVICE_NAME.search(folded(address.name)) and not sender.claimed and not sender.brand:
        points = 2.0 if sender.is_free_mail else 0.5
        words = (
            f"display name of a service, {'but a free mail address' if sender.is_free_mail else 'of an unknown sender'}"
        )
        yield Note(name="service_name", words=words, points=points, field="From", value=value)


def _domain_notes(sender: Sender, value: str) -> Iterator[Note]:
    """Suspicious properties of the sender's domain itself."""
    address = sender.address
    if "xn--" in address.domain or not address.domain.isascii():
        words = "non-ASCII letters in the sender's domain (IDN)"
        yield Note(name="punycode", words=words, points=2.0, field="From", value=value)
    if (points := suspicious_tld(address.domain)) > 0:
        words = f"sender's domain ends in .{address.domain.rpartition('.')[2]}, which is often abused"
        yield Note(name="tld", words=words, points=points + 0.5, field="From", value=value)
    if looks_random(sender.org):
        words = f"sender's domain {sender.org} looks random"
        yield Note(name="random", words=words, points=1.0, field="From", value=value)
    if (
        address.domain.endswith(hosts().open_senders)
        or is_free_hosting(address.domain)
        or sender.org == "onmicrosoft.com"
        or address.domain.endswith(_TENANT)
    ):
        words = f"anybody can send from {address.domain}"
        yield Note(name="free_hosting", words=words, points=1.5, field="From", value=value)


_TENANT = ".onmicrosoft.com"  # a tenant of Microsoft's that has no domain of its own


def _points_of_name(address: Address, brand: str) -> float:
    """How much a company's name in a sender's says: a person's or a paper about it has other words, too."""
    if folded(address.name).strip() in brand_named(brand).everyday:
        return 3.0
    if _is_nothing_else(address.name, brand):
        return 5.1
    if _is_person(address, brand):
        return 1.0
    return 1.0 if _PAPER.search(folded(address.name)) else 3.0


_PAPER = re.compile(
    r"\b(?:news\w*|daily|weekly|tips?|today|watch|insider|digest|letter|report|users?|world|magazine|week|journal|blog|"
    r"review|fans?|forum|group|club|community|developers?|update by|central)\b"
)


def _is_nothing_else(shown: str, brand: str) -> bool:
    """Whether a sender's name is that of a company, with words of its service at most."""
    return not re.sub(r"[\W\d_]+", "", _beside(shown, brand))


def _beside(shown: str, brand: str) -> str:
    """What a sender's name holds beside the company's and words of its service."""
    rest = folded(shown)
    for word in sorted(map(folded, brand_named(brand).words), key=len, reverse=True):
        rest = rest.replace(word, " ")
    return _ANY_SERVICE.sub(" ", _SUFFIX.sub(" ", rest))


def _is_person(address: Address, brand: str) -> bool:
    """Whether a person's own name, which the address contains too, includes the company's word (Fiona Apple)."""
    local = address.address.partition("@")[0]
    return any(len(word) >= 3 and word in local for word in re.findall(r"[a-z]+", _beside(address.name, brand)))


_SUFFIX = re.compile(r"(?<!\w)\.(?:com?\.)?[a-z]{2,4}\b")  # of the company's domain
_ANY_SERVICE = re.compile(
    r"\b(?:no-?reply|support|service\w*|team|security|secure|safety|center|centre|account\w*|customer|client\w*|care|help|desk|"
    r"alerts?|notice|notification\w*|info|mail|online|billing|payments?|update\w*|rewards?|offers?|express|delivery|inc|llc|"
    r"com|the|de|from|via|admin\w*|department|verification|confirm\w*|message\w*|shared?|drive|bank\w*|card\w*|prime|id)\b"
)


def _reply_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    reply, back = mail.address("Reply-To"), mail.address("Return-Path")
    org = organisation(reply.domain)
    if reply.address and reply.address != sender.address.address:
        value = mail.first("Reply-To")
        is_free = reply.domain in hosts().free_mail
        is_same_person = reply.address.partition("@")[0] == sender.address.address.partition("@")[0]
        if is_free and not (sender.is_free_mail and is_same_person):
            words = f"Reply-To is a free mail address ({reply.address}) and not the sender"
            yield Note(name="reply_to", words=words, points=2.5, field="Reply-To", value=value, kind="fraud")
        elif org != sender.org:
            words = f"Reply-To domain {org} differs from From domain {sender.org}"
            points = 0.7 if is_bulk_sender(org) else 1.5
            yield Note(name="reply_to", words=words, points=points, field="Reply-To", value=value)
    back_org = organisation(back.domain)
    if back.address and back_org != sender.org and not is_bulk_sender(back_org):
        points = 1.5 if sender.brand and brand_in_host(back.domain) != sender.brand else 0.7
        words = f"Return-Path domain {back_org} differs from From domain {sender.org}"
        yield Note(name="return_path", words=words, points=points, field="Return-Path", value=mail.first("Return-Path"))
    message_id = mail.first("Message-ID")
    domain = message_id.rpartition("@")[2].strip("<> ").lower()
    if sender.brand and domain and "." in domain and brand_in_host(domain) != sender.brand:
        words = f"Message-ID is from {domain}; the sender claims {sender.brand}"
        yield Note(name="message_id", words=words, points=0.7, field="Message-ID", value=message_id)
    elif not message_id and mail.has("Received"):
        yield Note(name="message_id", words="no Message-ID", points=0.7, field="Message-ID", value="", kind="spam")


def _reader_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    to = {found.address for found in mail.addresses("To", "Cc")}
    if sender.address.address and sender.address.address in to and not mail.has("List-Id"):
        words = "From is the recipient's own address"
        yield Note(name="own_address", words=words, points=1.5, field="From", value=mail.first("From"), kind="fraud")
    name, subject = folded(sender.address.name), folded(mail.first("Subject"))
    for address in list(to)[:5]:
        domain = address.rpartition("@")[2]
        org = organisation(domain)
        label = org.partition(".")[0]
        if org == sender.org or org in hosts().free_mail or len(label) < 4:
            continue
        if re.search(rf"(?<![\w@.]){re.escape(label)}(?!\w)", name):
            words = f"display name claims the recipient's own {org}; From is at {sender.org}"
            yield Note(name="reader_name", words=words, points=3.0, field="From", value=mail.first("From"))
        if address in subject or domain in subject:
            words = "the subject contains the recipient's address or domain"
            yield Note(name="reader_subject", words=words, points=1.5, field="Subject", value=mail.first("Subject"))
    if not to and mail.has("From"):
        words = "no recipient in To or Cc"
        yield Note(name="no_reader", words=words, points=0.5, field="To", value=mail.first("To"), kind="spam")
    if len({address.rpartition("@")[2] for address in to}) >= MANY_RECIPIENTS:
        words = f"sent to {len(to)} recipients at many domains"
        yield Note(name="many_readers", words=words, points=1.0, field="To", value=mail.first("To"), kind="spam")


def _subject_notes(mail: Mail) -> Iterator[Note]:
    subject = mail.first("Subject")
    letters = [char for char in subject if char.isalpha()]
    if len(letters) >= 10 and sum(char.isupper() for char in letters) > 0.8 * len(letters):
        words = "subject in capitals"
        yield Note(name="capitals", words=words, points=0.7, field="Subject", value=subject, kind="spam")
    if re.search(r"[!?$]{2,}|[!].*[!]", subject):
        words = "subject with repeated exclamation, question or dollar signs"
        yield Note(name="shouting", words=words, points=0.5, field="Subject", value=subject, kind="spam")
    if disguised_words(subject):
        words = "look-alike letters of other scripts or invisible characters in the subject"
        yield Note(name="disguised", words=words, points=2.5, field="Subject", value=subject)
    if _REPLY_MARK.match(subject) and not mail.has("In-Reply-To", "References", "Thread-Index", "List-Id"):
        words = "subject of a reply, but no reference to another mail"
        yield Note(name="false_reply", words=words, points=0.5, field="Subject", value=subject)
    urgent = mail.first("X-Priority")[:1] in ("1", "2") or mail.first("Importance").lower() == "high"
    if urgent or mail.first("X-MSMail-Priority").lower() == "high":
        value = mail.first("X-Priority")
        yield Note(name="priority", words="marked as high priority", points=0.5, field="X-Priority", value=value)


def _client_notes(mail: Mail) -> Iterator[Note]:
    """The name by which the outside host that delivered the mail introduced itself."""
    name = client_name(mail)
    if "." in name and not is_public_name(name):
        words = f"delivered by a host that calls itself {name[:80]}, a name that cannot exist"
        yield Note(name="client", words=words, points=1.5, field="Received", value=name)


_SCL = re.compile(r"\bSCL:(-?\d+)|^\s*(-?\d+)\s*$")
_CATEGORY = re.compile(r"\bCAT:(\w+)")
_SUSPECT_CATEGORIES = {"INTOS": 2.0, "HSPM": 2.0, "SPM": 2.0, "BULK": 0.7}
_TRAP_CATEGORIES = frozenset(["PHSH", "HPHSH", "HPHISH", "MALW", "SPOOF", "UIMP", "DIMP", "GIMP"])
_SUSPECT_SCL = 5  # from here on Exchange treats it as spam


def _machine_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    """Fields that programs leave: a script that sent the mail, the verdicts of filters."""
    script = mail.first("X-PHP-Originating-Script") or mail.first("X-PHP-Script")
    if script:
        words = "sent by a script on a web server"
        yield Note(name="script", words=words, points=1.5, field="X-PHP-Originating-Script", value=script)
    mailer = mail.first("X-Mailer")
    if re.search(r"php ?mailer|leaf|gammadyne|bulk|advanced mass", mailer, re.IGNORECASE):
        yield Note(name="mailer", words="bulk mail software", points=0.7, field="X-Mailer", value=mailer, kind="spam")
    yield from _exchange_notes(mail)
    status = f"{mail.first('X-Spam-Status')} {mail.first('X-Spam-Flag')}"[:200]
    if re.match(r"\s*yes\b", status, re.IGNORECASE):
        words = "a filter classified it as spam"
        yield Note(name="filter", words=words, points=1.5, field="X-Spam-Status", value=status, kind="spam")
    if not mail.has("Date") and sender.address.address:
        yield Note(name="no_date", words="no Date", points=0.5, field="Date", value="", kind="spam")


def _exchange_notes(mail: Mail) -> Iterator[Note]:
    """What Exchange recorded: its category, its level of confidence that it is spam, the junk folder."""
    field = "X-Forefront-Antispam-Report"
    report = mail.first(field)
    found = _CATEGORY.search(report)
    category = found[1] if found else ""
    level = _SCL.search(mail.first("X-MS-Exchange-Organization-SCL")) or _SCL.search(report)
    is_suspect = level is not None and int(level[1] or level[2]) >= _SUSPECT_SCL
    points = 3.0 if category in _TRAP_CATEGORIES else _SUSPECT_CATEGORIES.get(category, 0.0)
    points = max(points, 2.0) if is_suspect else points
    if points:
        words = f"Exchange verdict: {category or 'no category'}, {level[0] if level else 'no SCL'}"
        kind: MailNature = "phishing" if category in _TRAP_CATEGORIES else "spam"
        yield Note(name="exchange", words=words, points=points, field=field, value=report[:300], kind=kind)
    field = "X-Microsoft-Antispam-Mailbox-Delivery"
    if "dest:J" in mail.first(field):
        words, value = "delivered to the junk folder", mail.first(field)[:200]
        yield Note(name="junk", words=words, points=1.5, field=field, value=value, kind="spam")
