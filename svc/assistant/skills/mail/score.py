"""The verdict on a mail: signals with points for and against it, and their sum. Pure.

Strong signals are deceptions (a link that is not what it shows, an impersonated name); weak ones, common in ordinary
mail, are limited in sum. Points in favour (a list, a conversation, a confirmed sender) are subtracted. The points are
set by hand from how such mails are made; they are not fitted to a corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import msgspec

from svc.assistant.skills.mail.brands import belongs_to, brand_counts, brand_named, brands_in, folded
from svc.assistant.skills.mail.few_words import few_word_signals, is_anybodys
from svc.assistant.skills.mail.findings import MailClass, MailNature
from svc.assistant.skills.mail.first_contact import knows_recipient, opened
from svc.assistant.skills.mail.html import Page
from svc.assistant.skills.mail.links import LinkTarget, hosts, is_bulk_sender, organisation
from svc.assistant.skills.mail.parsed import STRONG_SIGN, ParsedMail, Signal
from svc.assistant.skills.mail.sender import Sender
from svc.assistant.skills.mail.wording import ThemeHit

CHECK_POINTS = 3.0
SUSPICIOUS_POINTS = 5.0
CERTAIN_POINTS = 7.5  # phishing or fraud, no longer only suspicious
_CLEAR_ASK = 3.0
_LETTER_ASK = 4.5
_LONE_ASK = 2.0  # of a mail with hardly more than one link, whose destination is hidden
_FEW_BUTTONS = 2
_HIDDEN_ASK = 4.0
_DIVERTED_FAVOUR = 1.0  # of a mail whose answers go to a free mail address
_PRESSED = 6.0  # an account, a mailbox and a hurry together
_EVERYDAY = frozenset(["sender_reader_subject"])  # notices of the recipient's own provider have it as well
_FAR_LINK = 1.0  # of a letter's link that is not beside its core
_BRAND_SHOWN = 4.0  # points of a link whose text shows a company's domain
_MILD_TOGETHER = 3.0
_LINKS_TOGETHER = 9.0
_FORM_TOGETHER = 5.0
_SPAM_TOGETHER = 4.5  # below SUSPICIOUS_POINTS: newsletters have the same signs
_LETTER_SPAM = 2.0
_NOTICE_TOGETHER = 2.0  # of the words of a notice whose links are the sender's own
_COUNTED_NOTICE_TOGETHER = 4.0  # of one whose links lead through a service that counts clicks for anybody


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict with its score; ``signals`` are in order of weight, those in favour of the mail last."""

    name: MailClass
    score: float
    nature: MailNature
    signals: tuple[Signal, ...]


def judge(parsed: ParsedMail) -> Judgement:
    """Return the verdict on one mail."""
    against = [
        *_sender_signals(parsed),
        *_link_signals(parsed),
        *_lone_link(parsed),
        *_mailto_signals(parsed),
        *_brand_signals(parsed),
        *_auth_signals(parsed),
    ]
    is_borrowed = any(signal.points >= 1.5 and signal.name not in _EVERYDAY for signal in against)
    against += _word_signals(parsed, is_borrowed=is_borrowed)
    against += [*_ask_signals(parsed), *_form_signals(parsed), *_attachment_signals(parsed), *few_word_signals(parsed)]
    contacts = list(_first_contact_signals(parsed))
    if contacts:  # says it of the same link
        against = [signal for signal in against if signal.name != "link_lone" or signal.points > _PLAIN_LONE]
    against += contacts
    if parsed.is_letter and not any(_is_deception(signal) for signal in against):
        against = _limited(against, _WORDS_OF_A_LETTER)
    is_deceiving = any(_is_deception(signal) for signal in against if signal.name != "link_lone")
    favour = [
        msgspec.structs.replace(one, points=_LURE_CONFIRMED) if is_deceiving and one.name == "confirmed" else one
        for one in _favourable(parsed)
    ]
    signals = sorted(
        _bounded(against, _LETTER_SPAM if parsed.is_letter else _SPAM_TOGETHER), key=lambda signal: -signal.points
    )
    score = max(0.0, sum(signal.points for signal in [*signals, *favour]))
    return Judgement(
        name=_class(score, signals), score=round(score, 1), nature=_nature(signals), signals=(*signals, *favour)
    )  # fmt: skip


_LURE_CONFIRMED = -0.1  # of a domain from which somebody deceives: lures are sent from other people's mailboxes
_WORDS_OF_A_LETTER = 2.9  # below CHECK_POINTS
_DECEPTIONS = ("sender_", "link_", "brand_", "ask_", "auth_", "attachment", "html_secret", "words_disguised")
_NEVER_NEWS = frozenset(["words_favour", "words_secrets", "words_mailbox"])
_SINGLE_PURPOSE = _NEVER_NEWS | {"words_advance_fee", "words_extortion", "words_credentials"}


def _is_deception(signal: Signal) -> bool:
    """Whether a signal is more than words that a newsletter may have as well."""
    if signal.name in _SINGLE_PURPOSE:
        return signal.points >= (_CLEAR_ASK if signal.name in _NEVER_NEWS else _LETTER_ASK)
    return signal.nature != "spam" and signal.points >= STRONG_SIGN and signal.name.startswith(_DECEPTIONS)


def _limited(signals: Sequence[Signal], most: float) -> list[Signal]:
    """The signals with at most this sum, in proportion."""
    total = sum(signal.points for signal in signals)
    share = min(1.0, most / total) if total else 1.0
    return [msgspec.structs.replace(signal, points=round(signal.points * share, 2)) for signal in signals]


def _bounded(signals: Sequence[Signal], most_spam: float) -> Iterator[Signal]:
    """Yield the signals with points; those of spam have at most ``most_spam`` in sum."""
    left = most_spam
    for signal in signals:
        points = min(signal.points, left) if signal.nature == "spam" else signal.points
        if signal.nature == "spam":
            left -= points
        if points > 0:
            yield msgspec.structs.replace(signal, points=round(points, 2))


_NATURES: tuple[MailNature, ...] = ("phishing", "fraud", "spam")  # in the order in which a tie is decided


def _nature(signals: Sequence[Signal]) -> MailNature:
    said = [signal for signal in signals if signal.name not in _FILTER_NOTES] or signals
    return max(_NATURES, key=lambda nature: sum(signal.points for signal in said if signal.nature == nature))


_FILTER_NOTES = frozenset(["sender_filter", "sender_exchange", "sender_junk"])  # they know no kind but spam


def _class(score: float, signals: Sequence[Signal]) -> MailClass:
    if score < SUSPICIOUS_POINTS:
        return "needs_check" if score >= CHECK_POINTS else "ordinary"
    nature = _nature(signals)
    if nature == "spam" or score < CERTAIN_POINTS:
        return "spam" if nature == "spam" else "suspicious"
    return "fraud" if nature == "fraud" else "phishing"


def _sender_signals(parsed: ParsedMail) -> Iterator[Signal]:
    for note in parsed.notes:
        yield Signal(name=f"sender_{note.name}", nature=note.kind, points=note.points, words=note.words)


def _link_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """Each type of sign once, by its worst link; the mild signs and all signs are each limited in sum."""
    best: dict[str, tuple[float, str]] = {}
    counting = _click_counters(parsed)
    near = parsed.near() if parsed.is_letter else []
    for url in parsed.urls:
        for sign in url.signs:
            points = sign.points
            if parsed.is_letter and url not in near:
                points = min(points, _FAR_LINK)
            if sign.name == "mismatch" and (url.org in counting or (parsed.is_letter and points < _BRAND_SHOWN)):
                points = 0.5
            if points > best.get(sign.name, (0.0, ""))[0]:
                best[sign.name] = (points, sign.description)
    mild_left, left = _MILD_TOGETHER, _LINKS_TOGETHER
    for name, (points, words) in sorted(best.items(), key=lambda item: -item[1][0]):
        given = min(points, left)
        if points < STRONG_SIGN:
            given = min(given, mild_left)
            mild_left -= given
        left -= given
        if given > 0:
            yield Signal(name=f"link_{name}", nature="phishing", points=round(given, 2), words=f"a link: {words}")


def _click_counters(parsed: ParsedMail) -> set[str]:
    """Domains of click tracking: most of a newsletter's many links lead there, but show their destination as text."""
    counts = Counter(url.org for url in {url.url: url for url in parsed.urls}.values())
    return {org for org, count in counts.items() if count >= _MANY_LINKS and count >= 0.5 * counts.total()}


_MANY_LINKS = 6  # through one domain
_BUTTON_CHARS = 45
_FEW_LINKS = 4


def _lone_link(parsed: ParsedMail) -> Iterator[Signal]:
    """A short HTML mail with one place to click, which is not the sender's."""
    foreign, links = parsed.foreign(), {url.url for url in parsed.urls}
    is_alone = parsed.mail.html and foreign and len(links) <= _FEW_LINKS and not parsed.is_letter
    if not is_alone or parsed.sender.is_free_mail:
        return
    is_button = any(url.has_image or len(url.text) <= _BUTTON_CHARS for url in foreign)
    if is_button and not any(url.org in parsed.own for url in parsed.urls):
        words = f"the only link leads to {foreign[0].org}, not to the sender"
        asks = any(hit.points >= 1 for hit in parsed.themes if hit.name not in _NEWS_THEMES)
        has_more = any(True for _ in _ask_signals(parsed))  # these say it of the same link
        is_odd = asks or is_anybodys(parsed) or parsed.sender.is_named_otherwise or _names_recipient(parsed, foreign)
        points = 3.0 if is_odd and not has_more else _PLAIN_LONE
        yield Signal(name="link_lone", nature="phishing", points=points, words=words)


def _names_recipient(parsed: ParsedMail, links: Sequence[LinkTarget]) -> bool:
    """Whether a stranger's mail says the recipient's address to its reader, or has it in the link."""
    if any(sign.name == "recipient" for link in links for sign in link.signs):
        return True
    shown = parsed.page.text[:_PAGE_SHOWN_CHARS].lower()
    return any(address in shown for address in parsed.sender.recipients)


_PAGE_SHOWN_CHARS = 600  # the foot of a newsletter names its recipient, too, but later
_PLAIN_LONE = 1.5
_NEWS_THEMES = frozenset(["advertising"])


def _mailto_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """Buttons that write a mail to somebody else: an answer tells the sender that somebody reads there."""
    own = parsed.own | {parsed.sender.org}
    for link in parsed.page.links:
        if not link.url.lower().startswith("mailto:"):
            continue
        domain = unquote(link.url[7:]).partition("?")[0].rpartition("@")[2].strip().lower()
        if not domain or organisation(domain) in own or "unsubscribe" in link.url.lower():
            continue
        if "subject=" in link.url.lower() or domain in hosts().free_mail:
            points = 3.0 if domain in hosts().free_mail or parsed.sender.claimed else 2.0
            words = f"a button writes a mail to an address at {domain}, not to the sender"
            yield Signal(name="link_mailto", nature="phishing", points=points, words=words)
            return


def _brand_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """A company's name used by others: in subject and text, or as the sender of links that lead elsewhere."""
    sender, foreign = parsed.sender, parsed.foreign()
    asks = max(parsed.theme(name) for name in _ASKS)
    if sender.brand:
        is_away = all(url.org not in parsed.own and not url.brand for url in parsed.urls)
        least = _LETTER_ASK if parsed.is_letter else 2.0
        if parsed.near() and not parsed.is_confirmed and (asks >= least or is_away):
            words = f"claims to be {sender.brand}, but links to {foreign[0].org}"
            is_bare = asks >= 1 and is_away and len(parsed.urls) <= _FEW_LINKS
            points = 4.0 if asks >= 2 or is_bare else 3.0
            yield Signal(name="brand_link", nature="phishing", points=points, words=words)
        return
    subject = [
        brand for brand in brands_in(parsed.mail.first("Subject")) if not belongs_to(sender.address.domain, brand)
    ]
    if sender.claimed:
        if foreign and asks >= 1:
            words = f"uses the name of {sender.claimed[0]} and links to {foreign[0].org}"
            yield Signal(name="brand_link", nature="phishing", points=2.5, words=words)
        return
    counts = brand_counts(parsed.words.core)
    named = next((brand.name for brand in subject), "") or _most(counts, sender)
    is_ask = asks >= 2 or parsed.theme("urgency") >= 1
    if not named or not (is_ask or (subject and len({url.url for url in parsed.urls}) in range(1, _FEW_LINKS + 1))):
        return
    leads_there = any(url.brand == named for url in parsed.urls) and not foreign
    is_news = parsed.is_letter and not (asks >= _LETTER_ASK and parsed.near())
    if not (leads_there or is_news) and (foreign or parsed.attachments or parsed.urls or sender.is_free_mail):
        points = (
            (3.0 if is_ask and asks >= _CLEAR_ASK else 2.0 if is_ask else 1.5)
            if subject
            else 2.0
            if foreign and (counts.get(named, 0) >= 2 or (asks >= _CLEAR_ASK and not parsed.is_letter))
            else 1.0
        )
        words = f"mentions {named}, but the sender's domain is {sender.org or 'missing'}"
        yield Signal(name="brand_words", nature="phishing", points=points, words=words)


def _most(counts: dict[str, int], sender: Sender) -> str:
    others = {name: count for name, count in counts.items() if not belongs_to(sender.address.domain, brand_named(name))}
    return max(others, key=lambda name: others[name]) if others else ""


_ASKS = ("credentials", "mailbox", "payment", "documents", "prize")
_FAILED = {"fail": 2.0, "hardfail": 2.0, "softfail": 1.2, "permerror": 0.5}


def _auth_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """What the recipient's own server recorded; each sentence names the method whose result it is."""
    results = {method: parsed.result(method) for method in ("spf", "dkim", "dmarc", "compauth")}
    if results["dmarc"] in ("fail", "bestguessfail"):
        words = f"DMARC {results['dmarc']} (as recorded)"
        yield Signal(name="auth_dmarc", nature="phishing", points=2.5, words=words)
    elif results["compauth"] == "fail":
        words = "compauth fail: Exchange does not trust the sender's domain (as recorded)"
        yield Signal(name="auth_compauth", nature="phishing", points=2.5, words=words)
    elif results["spf"] in _FAILED:
        words = f"SPF {results['spf']} (as recorded)"
        yield Signal(name="auth_spf", nature="phishing", points=_FAILED[results["spf"]], words=words)
    if results["dmarc"] == "fail":
        return  # the rest says the same
    if results["dkim"] == "fail":
        yield Signal(name="auth_dkim", nature="phishing", points=1.0, words="DKIM fail (as recorded)")
    recorded = [method.upper() for method in ("spf", "dkim", "dmarc") if results[method]]
    if recorded and "pass" not in results.values():
        words = f"{' and '.join(recorded)} did not pass (as recorded)"
        yield Signal(name="auth_none", nature="phishing", points=1.0, words=words)


def _word_signals(parsed: ParsedMail, *, is_borrowed: bool) -> Iterator[Signal]:
    """The themes; of one kind the strongest counts in full, and those of a notice with own links count little."""
    is_notice = not is_borrowed and not parsed.foreign() and not any(one.points for one in parsed.attachments)
    is_real = parsed.is_confirmed and bool(parsed.sender.brand)
    counted = any(is_bulk_sender(url.org) for url in parsed.urls)
    left = 100.0
    if is_notice or is_real:
        left = _COUNTED_NOTICE_TOGETHER if counted and not is_real else _NOTICE_TOGETHER
    if (parsed.theme("secrets") >= 2 and not is_real) or (parsed.theme("mailbox") >= 2 and not parsed.is_inside):
        left = 100.0  # no link needed: it asks for the secrets in the reply; nobody else hosts the recipient's mailbox
    seen: Counter[str] = Counter()
    for hit in parsed.themes:
        points = _points_of(hit, parsed) * (1.0 if not seen[hit.nature] else _OTHER_THEMES[hit.nature])
        seen[hit.nature] += hit.name != "urgency"
        if hit.name == "urgency" and max(parsed.theme(name) for name in _ASKS) < 2:
            points *= 0.5
        if hit.nature == "phishing":
            points = min(points, left)
            left -= points
        if points >= 0.3:
            shown = ", ".join(f"“{phrase[:50]}”" for phrase in hit.phrases[:3])
            words = f"{hit.what}: {shown}"
            yield Signal(name=f"words_{hit.name}", nature=hit.nature, points=round(points, 2), words=words)
    if len(parsed.disguised) >= 2:
        words = f"{len(parsed.disguised)} words with look-alike letters of other scripts or invisible characters"
        yield Signal(name="words_disguised", nature="phishing", points=2.5, words=words)


_OTHER_THEMES: dict[str, float] = {"phishing": 0.7, "fraud": 0.3, "spam": 0.5, "": 1.0}
_PLAIN_SENDER_STEPS = 2  # of a sender who is not odd: people write about money and meetings
_CERTAIN_PHRASES = 4
_INSIDE_SHARE = 0.5  # of a fraud's words between people of one organisation
_FRAUD_SHARES = (0.15, 0.25, 0.55, 1.0)  # by the number of strong phrases and oddities of the sender


def _points_of(hit: ThemeHit, parsed: ParsedMail) -> float:
    """A theme's points; one phrase of a fraud is everyday language, several together are not."""
    if hit.nature == "fraud":
        is_odd = parsed.is_odd_sender or bool(parsed.foreign())
        steps = hit.strong + is_odd if hit.strong and is_odd else min(hit.strong, _PLAIN_SENDER_STEPS)
        points = hit.points * _FRAUD_SHARES[min(3, steps if hit.strong < _CERTAIN_PHRASES else 3)]
        return points * (_INSIDE_SHARE if parsed.is_inside and not is_odd else 1.0)
    if hit.nature == "spam":
        return hit.points * (0.6 if hit.strong else 0.2)
    return hit.points


def _ask_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """A request for secrets, documents or prizes together with a link to somebody else."""
    foreign = parsed.near()
    is_diverted = any(note.name == "reply_to" and note.kind == "fraud" for note in parsed.notes)
    if parsed.is_odd_sender and parsed.theme("favour") >= (_DIVERTED_FAVOUR if is_diverted else _CLEAR_ASK):
        words = "asks for a favour from an address that anybody can register"
        yield Signal(name="ask_favour", nature="fraud", points=2.0, words=words)
    if parsed.theme("secrets") >= 2 and parsed.theme("credentials") >= 1:
        words = "asks for a password or card numbers in the reply"
        yield Signal(name="ask_secrets", nature="phishing", points=1.5, words=words)
    is_real = parsed.is_confirmed and bool(parsed.sender.brand)
    strongest = max(
        parsed.theme("credentials"), parsed.theme("mailbox"), parsed.theme("payment"), parsed.theme("prize") + 1
    )
    least = _CLEAR_ASK if parsed.auth and not parsed.is_confirmed else _HIDDEN_ASK
    if 0 < len({url.url for url in parsed.urls}) <= _FEW_BUTTONS and not parsed.is_confirmed:
        least = _LONE_ASK
    if not foreign and not is_real and strongest >= least:
        counted = next((url.org for url in parsed.urls if is_bulk_sender(url.org)), "")
        is_pressing = not parsed.is_confirmed or bool(parsed.sender.claimed) or parsed.theme("urgency") >= 2
        if counted and is_pressing and not parsed.is_letter:
            words = f"asks the recipient to act through {counted}, which hides where the link leads"
            yield Signal(name="ask_counted", nature="phishing", points=2.0, words=words)
    if not foreign:
        return
    where = foreign[0].org
    least = _LETTER_ASK if parsed.is_letter else _CLEAR_ASK
    pressed = parsed.theme("credentials") + parsed.theme("mailbox") + parsed.theme("urgency")
    if max(parsed.theme("credentials"), parsed.theme("mailbox")) >= least or pressed >= _PRESSED:
        words = f"asks the recipient to log in or confirm, but links to {where}, not to the sender"
        yield Signal(name="ask_credentials", nature="phishing", points=3.0, words=words)
    elif not parsed.is_letter and max(parsed.theme("documents"), parsed.theme("payment")) >= 2:
        words = f"mentions a document or a payment and links to {where}, not to the sender"
        yield Signal(name="ask_document", nature="phishing", points=2.0, words=words)
    elif parsed.theme("urgency") >= 2 and len(parsed.urls) <= _FEW_LINKS:
        words = f"urgency wording and a link to {where}, not to the sender"
        yield Signal(name="ask_urgency", nature="phishing", points=1.5, words=words)
    if parsed.theme("prize") >= least:
        words = f"promises a prize and links to {where}, not to the sender"
        yield Signal(name="ask_prize", nature="fraud", points=1.5, words=words)


_PAGE_FEW_CHARS = 150


def _form_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """Suspicious constructs in the HTML."""
    page, left = parsed.page, _FORM_TOGETHER
    for name, points, words, is_there in (
        ("secret_form", 4.0, "a form in the mail asks for a password or card number", page.secret_inputs > 0),
        ("form", 0.5, "a form in the mail", page.forms > 0 and not page.secret_inputs),
        ("script", 0.5, "a script in the mail", page.scripts > 0),
        ("frame", 0.5, "a frame in the mail", page.frames > 0),
        ("encoded", 0.7, "HTML that is base64-encoded for no reason", parsed.mail.is_html_needlessly_encoded),
        (
            "image",
            2.0 if parsed.sender.claimed else 1.0,
            "the message is in an image, which was not read",
            has_unread_image(parsed),
        ),
        ("padding", 2.5, "hidden text of another subject, longer than what is shown", _is_padded(page)),
        ("hidden", 1.0, "hidden text", len(page.hidden) > 300 and not page.hidden.isspace()),
        ("picture", _picture_points(parsed), "almost no text, but a clickable image", _is_picture(parsed)),
        (
            "html_alone",
            0.3,
            "HTML without a plain-text alternative",
            bool(parsed.mail.html) and not parsed.mail.plain.strip(),
        ),
    ):
        if is_there and left > 0:
            given = min(points, left)
            left -= given
            yield Signal(name=f"html_{name}", nature="phishing" if points > 1 else "spam", points=given, words=words)


def has_unread_image(parsed: ParsedMail) -> bool:
    """Whether a mail with little text has an image that may hold its message, or a code to scan."""
    text = parsed.page.text if parsed.mail.html else parsed.mail.plain
    images = parsed.page.images or any(one.claimed.startswith("image/") for one in parsed.attachments)
    return bool(images) and (len(text.strip()) < _PAGE_FEW_CHARS or _CODE.search(parsed.words.core) is not None)


_CODE = re.compile(r"\bqr\b|scan (?:\S{1,30} ){0,3}code")


def _is_padded(page: Page) -> bool:
    """Whether the hidden text is not that of another layout of the same mail, and longer than what is shown."""
    hidden = set(_WORD.findall(folded(page.hidden[:_PADDING_CHARS])))
    shown = set(_WORD.findall(folded(page.text[:_PADDING_CHARS])))
    return len(hidden) > max(_PADDING_WORDS, len(shown)) and len(hidden - shown) > 0.7 * len(hidden)


_WORD = re.compile(r"[a-z]{4,30}")
_PADDING_CHARS = 20_000
_PADDING_WORDS = 40


def _picture_points(parsed: ParsedMail) -> float:
    """Newsletters of pictures have many links, and a foot that says who sent them."""
    if parsed.is_letter:
        return 1.0
    return 4.0 if len(parsed.page.text.strip()) < _NO_FOOT_CHARS else 3.0


_NO_FOOT_CHARS = 40


def _is_picture(parsed: ParsedMail) -> bool:
    return len(parsed.page.text) < _PAGE_FEW_CHARS and any(link.has_image for link in parsed.page.links)


def _attachment_signals(parsed: ParsedMail) -> Iterator[Signal]:
    worst = max(parsed.attachments, key=lambda one: one.points, default=None)
    if worst is not None and worst.points > 0:
        words = f"attached {worst.name or 'without a name'}: {worst.dangers[0].description}"
        yield Signal(name="attachment", nature="phishing", points=worst.points, words=words)


_FIRST_CONTACT_POINTS = 4.0  # with the point for a confirmed domain still CHECK_POINTS


def _first_contact_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """A stranger's mail about a business subject that has something opened; genuine ones know their recipient."""
    sender = parsed.sender
    is_own = parsed.is_inside and (parsed.is_confirmed or not parsed.auth)
    is_known = parsed.is_confirmed and (bool(sender.brand) or (parsed.answers_recipient and not sender.is_free_mail))
    if is_own or is_known or not parsed.business:
        return
    attached, links = opened(parsed.attachments), parsed.foreign()
    if attached is None and not (links and len({url.url for url in parsed.urls}) <= _FEW_LINKS):
        return
    is_confirmed = parsed.is_confirmed and not sender.is_free_mail and not links
    recipients = [(one.name, one.address) for one in parsed.mail.addresses("To", "Cc")[:_FEW_RECIPIENTS]]
    if is_confirmed and knows_recipient(parsed.words.text, recipients):
        return
    how = f"the attachment {attached.name or 'without a name'}" if attached else f"a link to {links[0].org}"
    words = f"unknown sender: a mail about {parsed.business[0]} with {how}, and not a reply to an earlier mail"
    yield Signal(name="first_contact", nature="phishing", points=_FIRST_CONTACT_POINTS, words=words)


_FEW_RECIPIENTS = 20


def _favourable(parsed: ParsedMail) -> Iterator[Signal]:
    """What counts for the mail: only what the recipient's own server recorded. A sender writes everything else."""
    if parsed.is_confirmed and parsed.sender.brand and not parsed.sender.is_free_mail:
        words = f"confirmed to be from {parsed.sender.brand} (as recorded)"
        yield Signal(name="confirmed_brand", nature="", points=-3.0, words=words)
    elif parsed.is_confirmed:
        words = "confirmed to be from the sender's domain (as recorded)"
        yield Signal(name="confirmed", nature="", points=-0.5, words=words)
