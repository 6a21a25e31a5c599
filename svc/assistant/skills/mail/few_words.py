"""Signs of lures that say little: only a link or an attachment, a number to call, an address, a code to scan. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.skills.mail.brands import folded
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
_LONG_CHARS = 4_000
_SHOWN_CHARS = 60
_FRAUD_POINTS = 2.0
_WALLET = re.compile(r"\b(?:bc1[a-z0-9]{20,60}|[13][a-z0-9]{25,34}|0x[0-9a-f]{40}|t[a-z0-9]{33}|ltc1[a-z0-9]{20,60})\b")
_HELD_OVER = re.compile(
    r"\b(?:web ?cam|camera|kamera|camara|fotocamera|video|film|record|aufgezeichnet|"
    r"enregistr|grabad|registrat|screen|bildschirm|"
    r"pantalla|ecran|schermo|contact|kontakt|contatt|freund|friend|amis|amigos|amici|"
    r"password|passwor|contrasena|mot de passe|"
    r"hacke|gehackt|pirat|porn|adult|intim|masturb)"
)
"""What an extortionist claims to have, or to whom to show it."""
_ACCOUNT_NUMBER = re.compile(
    r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?\b|\b(?:account|"
    r"konto|compte|cuenta|conto|conta|a/c)\S{0,3} "
    r"(?:(?:number|no|nr|nummer|numero)\S{0,2} )?:? ?\d{6,20}|\b(?:swift|bic|sort code|routing)\b"
)
_EMPTY_FIELD = re.compile(r"^[ \t>*-]{0,8}([^\W\d_][^\n:=]{1,40}?)[ \t]{0,4}[:=][ \t_.…]{0,80}$", re.MULTILINE)
_SECRET_FIELD = re.compile(
    r"^(?:\w{1,20} )?(?:password|pass ?word|passwort|kennwort|mot de passe|contrasena|"
    r"clave|senha|wachtwoord|haslo|heslo|parola|"
    r"sifre|lozinka|jelszo|losenord|adgangskode|passord|salasana|pin|tan|cvv|cvc)\b"
)
_FORM_LINES = 2
_CHANGED_ACCOUNT = re.compile(
    r"\b(?:new|changed|different|updated|alternative|alternate|another|other) (?:\S{1,30} ){0,3}"
    r"(?:account|bank|iban|banking|beneficiary)\b"
    r"|\b(?:account|bank) (?:\S{1,30} ){0,5}(?:audit|audited|has changed|have changed|"
    r"no longer|is closed|was closed|frozen)\b"
    r"|\b(?:neue[nsr]?|geanderte[nsr]?|andere[nsr]?) (?:\S{1,30} ){0,3}(?:konto|iban|bankverbindung|kontoverbindung)\b"
    r"|\b(?:nouve\w{1,6}|autre) (?:\S{1,30} ){0,3}(?:compte|rib|iban|banque)\b"
    r"|\b(?:nuev[ao]|otr[ao]) (?:\S{1,30} ){0,3}(?:cuenta|iban|banco)\b|"
    r"\bnuov[oaie] (?:\S{1,30} ){0,3}(?:conto|iban|coordinate|banca)\b"
    r"|\bnov[ao] (?:\S{1,30} ){0,3}(?:conta|iban|banco)\b|\bnieuwe? (?:\S{1,30} ){0,3}(?:rekening\w{0,8}|iban|bank)\b"
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
        points = 3.5 if _AMOUNT.search(text) else 2.5 if parsed.theme("advance_fee") >= _FRAUD_POINTS else 1.5
        yield Signal(name="ask_address", nature="fraud", points=points, words=words)
    if field := _form_field(parsed):
        words = f"a form to fill in and send back: “{field}”"
        yield Signal(name="ask_form", nature="phishing", points=4.5, words=words)
    if wallet := _wallet_of_threat(parsed):
        words = f"threatens with what a camera or an account showed, and names the wallet {wallet} to pay into"
        yield Signal(name="ask_wallet", nature="fraud", points=5.0, words=words)
    if not (parsed.is_inside or parsed.is_letter) and (changed := _changed_account(parsed.words.text[:_LONG_CHARS])):
        words = f"asks to pay into a changed account: “{changed}”; confirm it by a call to a known number"
        yield Signal(name="ask_account", nature="fraud", points=5.0, words=words)
    if _MESSENGER.search(text) and parsed.theme("recruiting") >= 1 and not (parsed.is_inside or parsed.is_conversation):
        words = "a job from a stranger that goes on in a messenger, where no employer hires"
        yield Signal(name="ask_messenger", nature="fraud", points=2.0, words=words)
    if _SCAN.search(parsed.words.text[:_SHORT_CHARS]) and _has_picture(parsed):
        words = "asks to scan a code with a telephone, which hides where it leads"
        points = 2.5 if parsed.is_inside or parsed.is_letter else 4.0
        yield Signal(name="ask_scan", nature="phishing", points=points, words=words)


def _form_field(parsed: ParsedMail) -> str:
    """The empty line for a password, in a mail that has another line to fill in."""
    text = parsed.page.text if parsed.mail.html else parsed.mail.plain
    empty = [found[1].strip() for found in _EMPTY_FIELD.finditer(MARKS.sub("", text[:_LONG_CHARS]))]
    secret = next((name for name in empty if _SECRET_FIELD.search(folded(name))), "")
    return secret if len(empty) >= _FORM_LINES else ""


def _wallet_of_threat(parsed: ParsedMail) -> str:
    """The wallet that a mail with a threat names; exchanges name wallets without one."""
    text = parsed.words.text[:_LONG_CHARS]
    found = _WALLET.search(text)
    if found is None or (parsed.is_inside and not parsed.is_odd_sender and parsed.is_confirmed):
        return ""
    return found[0] if len({match[0] for match in _HELD_OVER.finditer(text)}) >= 2 else ""


def _changed_account(text: str) -> str:
    """The words that announce another bank account, if the mail has an account's number."""
    changed = _CHANGED_ACCOUNT.search(text)
    return changed[0][:_SHOWN_CHARS] if changed and _ACCOUNT_NUMBER.search(text) else ""


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
