"""What does not fit about who a mail says it is from: names, addresses, replies, the way it was written. Pure.

Each note has points as in the mail's score; none is a proof. Brands: ``mail_brands.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.mail.brands import belongs_to, brand_in_host, brand_named, brands_in, folded, imitated_brand
from svc.assistant.skills.mail.links import hosts, is_free_hosting, looks_random, organisation, suspicious_tld
from svc.assistant.skills.mail.message import Address, Mail
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
    """One thing about the sender. ``field`` is the header field that shows it; ``value`` what stands there."""

    name: str
    words: str
    points: float
    field: str
    value: str
    kind: str = "phishing"


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who a mail is from, as it says. ``near`` are the registrable domains of the servers that sent it."""

    address: Address
    org: str
    brand: str
    claimed: tuple[str, ...]
    near: frozenset[str]
    recipients: frozenset[str]
    is_free_mail: bool


def read_sender(mail: Mail) -> Sender:
    """The sender, the companies that its name claims to be, and the domains around it."""
    address = mail.address("From")
    org = organisation(address.domain) if address.domain else ""
    near = {organisation(found.domain) for found in mail.addresses("Return-Path", "Sender", "Errors-To", "Resent-From")}
    near |= {
        organisation(found) for value in mail.all("DKIM-Signature") for found in re.findall(r"\bd=([\w.-]+)", value)
    }
    near |= {
        organisation(found)
        for name in ("List-Unsubscribe", "List-Id", "List-Post", "List-Help", "List-Archive", "Feedback-ID")
        for value in mail.all(name)
        for found in re.findall(r"(?:https?://|@|<)([\w-]+(?:\.[\w-]+)+)", value)
    }
    claimed = [brand for brand in brands_in(address.name) if not belongs_to(address.domain, brand)]
    to = mail.addresses("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To")
    return Sender(
        address=address, org=org, brand="" if org in hosts().free_mail else brand_in_host(address.domain),
        claimed=tuple(brand.name for brand in claimed), near=frozenset(near - {""}),
        recipients=frozenset(found.address for found in to), is_free_mail=address.domain in hosts().free_mail,
    )  # fmt: skip


def read_notes(mail: Mail, sender: Sender) -> list[Note]:
    """Everything that does not fit, in the order of the checks."""
    return [
        *_from_notes(mail, sender),
        *_reply_notes(mail, sender),
        *_reader_notes(mail, sender),
        *_subject_notes(mail),
        *_machine_notes(mail, sender),
    ]


def _from_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    address, value = sender.address, mail.first("From")
    if not mail.has("From", "Received", "To"):
        return  # a text whose fields were cut off
    if not address.address:
        yield Note(name="no_sender", words="no address in From", points=1.0, field="From", value=value)
        return
    shown = _ADDRESS.search(address.name)
    if shown and organisation(shown[1]) != sender.org:
        words = f"the name shows an address of {organisation(shown[1])}, the mail is from {sender.org}"
        yield Note(name="name_address", words=words, points=3.5, field="From", value=value)
    for name in sender.claimed[:2]:
        words = f"the name says {name}, the address is at {sender.org}"
        points = 5.0 if _is_nothing_else(address.name, name) else 1.0 if _is_person(address, name) else 3.5
        yield Note(name="name_brand", words=words, points=points, field="From", value=value)
    if imitated := imitated_brand(address.domain, sender.org):
        words = f"{address.domain} looks like {imitated} and is not"
        yield Note(name="look_alike", words=words, points=4.5, field="From", value=value)
    yield from _domain_notes(sender, value)
    if _SERVICE_NAME.search(folded(address.name)) and not sender.claimed and not sender.brand:
        points = 2.0 if sender.is_free_mail else 0.5
        words = f"a service by name, {'a free mail address' if sender.is_free_mail else 'of nobody that is known'}"
        yield Note(name="service_name", words=words, points=points, field="From", value=value)


def _domain_notes(sender: Sender, value: str) -> Iterator[Note]:
    """What speaks against the sender's domain by itself."""
    address = sender.address
    if "xn--" in address.domain or not address.domain.isascii():
        words = "letters beyond ASCII in the sender's domain"
        yield Note(name="punycode", words=words, points=2.0, field="From", value=value)
    if (points := suspicious_tld(address.domain)) > 0:
        words = f"the sender's domain ends in .{address.domain.rpartition('.')[2]}, much abused"
        yield Note(name="tld", words=words, points=points + 0.5, field="From", value=value)
    if looks_random(sender.org):
        words = f"the sender's domain {sender.org} is like thrown together"
        yield Note(name="random", words=words, points=1.0, field="From", value=value)
    if is_free_hosting(address.domain) or sender.org == "onmicrosoft.com" or address.domain.endswith(_TENANT):
        words = f"anybody can send from {address.domain}"
        yield Note(name="free_hosting", words=words, points=1.5, field="From", value=value)


_TENANT = ".onmicrosoft.com"  # a tenant of Microsoft's that has no domain of its own


def _is_nothing_else(shown: str, brand: str) -> bool:
    """Whether a sender's name is that of a company, with words of its service at most."""
    return not re.sub(r"[\W\d_]+", "", _beside(shown, brand))


def _beside(shown: str, brand: str) -> str:
    """What a sender's name holds beside the company's and words of its service."""
    rest = folded(shown)
    for word in sorted(map(folded, brand_named(brand).words), key=len, reverse=True):
        rest = rest.replace(word, " ")
    return _ANY_SERVICE.sub(" ", rest)


def _is_person(address: Address, brand: str) -> bool:
    """Whether somebody's own name, which stands in the address too, has the company's word in it (Fiona Apple)."""
    local = address.address.partition("@")[0]
    return any(len(word) >= 3 and word in local for word in re.findall(r"[a-z]+", _beside(address.name, brand)))


_ANY_SERVICE = re.compile(
    r"\b(?:no-?reply|support|service\w*|team|security|secure|safety|center|centre|account\w*|customer|client\w*|care|help|desk|"
    r"alerts?|notice|notification\w*|info|mail|online|billing|payments?|update\w*|rewards?|offers?|express|delivery|inc|llc|"
    r"com|the|de|from|via|admin\w*|department|verification|confirm\w*|message\w*|shared?|drive|bank\w*|card\w*|prime|id)\b"
)


def _reply_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    reply, back = mail.address("Reply-To"), mail.address("Return-Path")
    org = organisation(reply.domain)
    if reply.address and reply.address != sender.address.address and org not in sender.near:
        value = mail.first("Reply-To")
        is_free = reply.domain in hosts().free_mail
        is_same_person = reply.address.partition("@")[0] == sender.address.address.partition("@")[0]
        if is_free and not (sender.is_free_mail and is_same_person):
            words = f"answers go to a free mail address ({reply.address}), not to the sender"
            yield Note(name="reply_to", words=words, points=2.5, field="Reply-To", value=value, kind="fraud")
        elif org != sender.org:
            words = f"answers go to {org}, the mail is from {sender.org}"
            yield Note(name="reply_to", words=words, points=0.7, field="Reply-To", value=value)
    back_org = organisation(back.domain)
    if back.address and back_org != sender.org and back_org not in hosts().bulk_senders:
        points = 1.5 if sender.brand and brand_in_host(back.domain) != sender.brand else 0.4
        words = f"returned mail goes to {back_org}, the mail is from {sender.org}"
        yield Note(name="return_path", words=words, points=points, field="Return-Path", value=mail.first("Return-Path"))
    message_id = mail.first("Message-ID")
    domain = message_id.rpartition("@")[2].strip("<> ").lower()
    if sender.brand and domain and "." in domain and brand_in_host(domain) != sender.brand:
        words = f"its id was made at {domain}, the sender says {sender.brand}"
        yield Note(name="message_id", words=words, points=0.7, field="Message-ID", value=message_id)
    elif not message_id and mail.has("Received"):
        yield Note(name="message_id", words="no Message-ID", points=0.7, field="Message-ID", value="", kind="spam")


def _reader_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    to = {found.address for found in mail.addresses("To", "Cc")}
    if sender.address.address and sender.address.address in to and not mail.has("List-Id"):
        words = "sent from the reader's own address, as it says"
        yield Note(name="own_address", words=words, points=1.5, field="From", value=mail.first("From"), kind="fraud")
    name, subject = folded(sender.address.name), folded(mail.first("Subject"))
    for address in list(to)[:5]:
        domain = address.rpartition("@")[2]
        org = organisation(domain)
        label = org.partition(".")[0]
        if org == sender.org or org in hosts().free_mail or len(label) < 4:
            continue
        if re.search(rf"(?<![\w@.]){re.escape(label)}(?!\w)", name):
            words = f"the name speaks for the reader's own {org}, the mail is from {sender.org}"
            yield Note(name="reader_name", words=words, points=3.0, field="From", value=mail.first("From"))
        if address in subject or domain in subject:
            words = "the subject holds the reader's own address or domain"
            yield Note(name="reader_subject", words=words, points=1.5, field="Subject", value=mail.first("Subject"))
    if not to and mail.has("From"):
        words = "addressed to nobody by name"
        yield Note(name="no_reader", words=words, points=0.5, field="To", value=mail.first("To"), kind="spam")
    if len({address.rpartition("@")[2] for address in to}) >= MANY_RECIPIENTS:
        words = f"sent to {len(to)} people of many places"
        yield Note(name="many_readers", words=words, points=1.0, field="To", value=mail.first("To"), kind="spam")


def _subject_notes(mail: Mail) -> Iterator[Note]:
    subject = mail.first("Subject")
    letters = [char for char in subject if char.isalpha()]
    if len(letters) >= 10 and sum(char.isupper() for char in letters) > 0.8 * len(letters):
        words = "a subject in capitals"
        yield Note(name="capitals", words=words, points=0.7, field="Subject", value=subject, kind="spam")
    if re.search(r"[!?$]{2,}|[!].*[!]", subject):
        words = "a subject that shouts"
        yield Note(name="shouting", words=words, points=0.5, field="Subject", value=subject, kind="spam")
    if disguised_words(subject):
        words = "letters of other scripts, or invisible ones, in the subject's words"
        yield Note(name="disguised", words=words, points=2.5, field="Subject", value=subject)
    if _REPLY_MARK.match(subject) and not mail.has("In-Reply-To", "References", "Thread-Index", "List-Id"):
        words = "a reply by its subject, but it refers to no mail"
        yield Note(name="false_reply", words=words, points=0.5, field="Subject", value=subject)
    urgent = mail.first("X-Priority")[:1] in ("1", "2") or mail.first("Importance").lower() == "high"
    if urgent or mail.first("X-MSMail-Priority").lower() == "high":
        value = mail.first("X-Priority")
        yield Note(name="priority", words="marked as urgent", points=0.5, field="X-Priority", value=value)


_SCL = re.compile(r"\bSCL:(-?\d+)|^\s*(-?\d+)\s*$")
_CATEGORY = re.compile(r"\bCAT:(\w+)")
_SUSPECT_CATEGORIES = {"INTOS": 2.0, "HSPM": 2.0, "SPM": 2.0, "BULK": 0.7}
_TRAP_CATEGORIES = frozenset(["PHSH", "HPHSH", "HPHISH", "MALW", "SPOOF", "UIMP", "DIMP", "GIMP"])
_SUSPECT_SCL = 5  # Exchange treats it as spam from there on


def _machine_notes(mail: Mail, sender: Sender) -> Iterator[Note]:
    """What programs left: a script that sent it, filters that judged it."""
    script = mail.first("X-PHP-Originating-Script") or mail.first("X-PHP-Script")
    if script:
        words = "sent by a script on a web server"
        yield Note(name="script", words=words, points=1.5, field="X-PHP-Originating-Script", value=script)
    mailer = mail.first("X-Mailer")
    if re.search(r"php ?mailer|leaf|gammadyne|bulk|advanced mass", mailer, re.IGNORECASE):
        yield Note(name="mailer", words="a mailer for many", points=0.7, field="X-Mailer", value=mailer, kind="spam")
    yield from _exchange_notes(mail)
    status = f"{mail.first('X-Spam-Status')} {mail.first('X-Spam-Flag')}"[:200]
    if re.match(r"\s*yes\b", status, re.IGNORECASE):
        words = "a filter judged it as spam"
        yield Note(name="filter", words=words, points=1.5, field="X-Spam-Status", value=status, kind="spam")
    if not mail.has("Date") and sender.address.address:
        yield Note(name="no_date", words="no date", points=0.5, field="Date", value="", kind="spam")


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
        words = f"Exchange judged it: {category or 'no category'}, {level[0] if level else 'no level'}"
        kind = "phishing" if category in _TRAP_CATEGORIES else "spam"
        yield Note(name="exchange", words=words, points=points, field=field, value=report[:300], kind=kind)
    field = "X-Microsoft-Antispam-Mailbox-Delivery"
    if "dest:J" in mail.first(field):
        words, value = "delivered to the junk folder", mail.first(field)[:200]
        yield Note(name="junk", words=words, points=1.5, field=field, value=value, kind="spam")
