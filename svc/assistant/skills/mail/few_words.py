"""Signs of lures that say little: only a link or an attachment, a number to call, an address, a code to scan. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.skills.mail.first_contact import opened
from svc.assistant.skills.mail.html import MARKS
from svc.assistant.skills.mail.links import hosts, organisation
from svc.assistant.skills.mail.parsed import STRONG_SIGN, ParsedMail, Signal

_BARE_CHARS = 40  # of words beside the link
_SHORT_CHARS = 700
_LINK = re.compile(r"(?:https?://|www\.)\S{1,4000}", re.IGNORECASE)
_PHONE = re.compile(r"\+?\d{0,2}[ .-]{0,2}\(?\b\d{3}\)?[ .-]{1,3}\d{3}[ .-]{1,3}\d{4}\b")
_AMOUNT = re.compile(r"(?:\$|€|£|\busd|\beur)\s?\d[\d.,]{1,12}|\d[\d.,]{1,12}\s?(?:\$|€|£|usd\b|eur\b)")
_DISPUTE = re.compile(
    r"\b(?:cancel|dispute|refund|did not (?:authori[sz]e|make|place)|didn't (?:authori[sz]e|make|place)|wasn't you|"
    r"was not you|not authori[sz]ed)"
)
_MESSENGER = re.compile(
    r"\b(?:whats ?app|telegram|text|sms)\b(?: \S{1,40}){0,4} (?:\+\d[\d ().-]{6,20}\d|@[a-z]\w{2,31})"
)
_ADDRESS = re.compile(r"\b[\w.+-]{2,80}@((?:[\w-]{1,63}\.){1,4}[a-z]{2,24})\b")
_CAMERA = r"(?:phone|mobile|camera|smartphone|handy|telefon|movil|celular|telephone)"
_CODE = r"(?:qr|bar ?code|qr-?code|code|codigo|codice)"
_SCAN = re.compile(
    rf"\bscan\w{{0,8}} (?:\S{{1,40}} ){{0,8}}{_CODE}\b(?: \S{{1,40}}){{0,12}} \S{{0,8}}{_CAMERA}"
    rf"|\b{_CAMERA}\S{{0,3}} (?:\S{{1,40}} ){{0,6}}scan\w{{0,8}} (?:\S{{1,40}} ){{0,6}}{_CODE}\b"
)


def few_word_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """Each sign that the mail has."""
    text = parsed.words.text[:_SHORT_CHARS]
    if _is_bare_link(parsed):
        points = 3.5 if is_anybodys(parsed) else 2.5
        yield Signal(name="link_bare", nature="phishing", points=points, words="nothing but a link")
    if (attached := opened(parsed.attachments)) and _says_nothing(parsed):
        words = f"hardly says more than that {attached.name or 'an attachment'} is to be opened"
        yield Signal(name="attachment_alone", nature="phishing", points=2.0, words=words)
    if called := _number_to_call(parsed, text):
        points = 4.0 if parsed.sender.is_free_mail else 3.5
        words = f"a charge to dispute by calling {called}, a number that cannot be checked"
        yield Signal(name="ask_call", nature="fraud", points=points, words=words)
    if address := _address_to_write_to(parsed, text):
        words = f"asks to write to {address}, a free mail address that is not the sender's"
        points = 3.5 if _AMOUNT.search(text) else 1.5
        yield Signal(name="ask_address", nature="fraud", points=points, words=words)
    if _MESSENGER.search(text) and parsed.theme("recruiting") >= 1 and not (parsed.is_inside or parsed.is_conversation):
        words = "a job from a stranger that goes on in a messenger, where no employer hires"
        yield Signal(name="ask_messenger", nature="fraud", points=2.0, words=words)
    if _SCAN.search(parsed.words.text[:_SHORT_CHARS]) and _has_picture(parsed):
        words = "asks to scan a code with a telephone, which hides where it leads"
        points = 2.5 if parsed.is_inside or parsed.is_letter else 4.0
        yield Signal(name="ask_scan", nature="phishing", points=points, words=words)


def _is_bare_link(parsed: ParsedMail) -> bool:
    if parsed.attachments or parsed.is_conversation or parsed.is_inside or len(parsed.foreign()) != 1:
        return False
    if len({url.url for url in parsed.urls}) != 1 or any(url.has_image for url in parsed.urls):
        return False
    text = parsed.page.text if parsed.mail.html else parsed.mail.plain
    shown = {url.text for url in parsed.urls}
    rest = _LINK.sub("", MARKS.sub("", text))
    for words in shown - {""}:
        rest = rest.replace(words, "") if _LINK.search(words) else rest
    return len(rest.strip()) < _BARE_CHARS


def _says_nothing(parsed: ParsedMail) -> bool:
    """Whether a mail with an attachment, whose sender is odd, has hardly any text."""
    if parsed.is_inside or parsed.is_conversation or not parsed.is_odd_sender:
        return False
    text = parsed.page.text if parsed.mail.html else parsed.mail.plain
    return len(text.strip()) < _SAYS_NOTHING_CHARS


_SAYS_NOTHING_CHARS = 100


def _number_to_call(parsed: ParsedMail, text: str) -> str:
    """The telephone number of a short mail about a charge, which nothing but a call can stop."""
    if parsed.is_inside or parsed.is_letter or not (_AMOUNT.search(text) and _DISPUTE.search(text)):
        return ""
    if parsed.is_confirmed and parsed.sender.brand:
        return ""
    found = _PHONE.search(text)
    return found[0].strip() if found else ""


def _address_to_write_to(parsed: ParsedMail, text: str) -> str:
    """A free mail address in a short text that is neither the sender's nor a recipient's."""
    if (
        parsed.is_inside
        or parsed.is_conversation
        or len(parsed.words.text) > _SHORT_CHARS
        or parsed.sender.is_free_mail
    ):
        return ""
    known = {parsed.sender.address.address, *parsed.sender.recipients}
    for found in _ADDRESS.finditer(text):
        if found[1] in hosts().free_mail and found[0] not in known and organisation(found[1]) != parsed.sender.org:
            return found[0]
    return ""


def _has_picture(parsed: ParsedMail) -> bool:
    return bool(parsed.page.images) or any(one.claimed.startswith("image/") for one in parsed.attachments)


def is_anybodys(parsed: ParsedMail) -> bool:
    """Whether a foreign link leads to a page or a redirect that anybody can make."""
    return any(
        sign.name in _ANYBODYS and sign.points >= STRONG_SIGN for url in parsed.foreign() for sign in url.signs
    )  # fmt: skip


_ANYBODYS = frozenset(["free_hosting", "redirect", "ip", "shortener"])
