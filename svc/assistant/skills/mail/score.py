"""The verdict on a mail: signals with points for and against it, and their sum. Pure.

Strong signals are deceptions (a link that is not what it shows, an impersonated name); weak ones, common in ordinary
mail, are limited in sum. Points in favour (a list, a conversation, a confirmed sender) are subtracted. The points are
set by hand from how such mails are made; they are not fitted to a corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.skills.mail.attachments import InspectedAttachment
from svc.assistant.skills.mail.brands import belongs_to, brand_counts, brand_named, brands_in, folded
from svc.assistant.skills.mail.findings import MailClass, MailNature
from svc.assistant.skills.mail.first_contact import knows_recipient, opened
from svc.assistant.skills.mail.html import Page
from svc.assistant.skills.mail.links import LinkTarget, hosts, organisation
from svc.assistant.skills.mail.message import Mail
from svc.assistant.skills.mail.route import Auth
from svc.assistant.skills.mail.sender import Note, Sender
from svc.assistant.skills.mail.wording import ThemeHit

CHECK_POINTS = 3.0
SUSPICIOUS_POINTS = 5.0
CERTAIN_POINTS = 7.5  # phishing or fraud, no longer only suspicious
_ODD = frozenset(["reply_to", "no_reader", "own_address", "many_readers", "no_sender", "tld", "random", "free_hosting"])
_EVERYDAY = frozenset(["sender_reader_subject"])  # notices of the recipient's own provider have it as well
_STRONG_SIGN = 2.0  # a sign of a link with fewer points is common in ordinary mail
_MILD_TOGETHER = 3.0
_LINKS_TOGETHER = 9.0
_FORM_TOGETHER = 4.0
_SPAM_TOGETHER = 4.5  # below SUSPICIOUS_POINTS: newsletters have the same signs
_NOTICE_TOGETHER = 2.0  # of the words of a notice whose links are the sender's own
_CONTEXT_SHARE = 0.4  # of the points of words and links in a list's or a conversation's mail


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One reason; ``points`` below 0 count in favour of the mail."""

    name: str
    nature: MailNature
    points: float
    words: str


class ParsedMail(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was parsed from one mail."""

    mail: Mail
    page: Page
    text: str
    urls: Sequence[LinkTarget]
    auth: Sequence[Auth]
    sender: Sender
    notes: Sequence[Note]
    themes: Sequence[ThemeHit]
    disguised: Sequence[str]
    attachments: Sequence[InspectedAttachment]
    quoted: int
    business: Sequence[str]
    """What the mail is about, of the subjects by which a stranger gets something opened."""

    @property
    def is_list(self) -> bool:
        """Whether a mailing list passed it on, by its header fields."""
        mail = self.mail
        return mail.has(
            "List-Post", "X-BeenThere", "X-Mailman-Version", "Mailing-List", "X-Mailing-List", "X-Loop"
        ) or (mail.has("List-Id") and mail.first("Precedence").lower() in ("list", "bulk"))

    @property
    def is_conversation(self) -> bool:
        """Whether it answers a mail that it quotes or refers to."""
        refers = self.mail.has("In-Reply-To", "References")
        return (
            refers and (self.quoted > 0 or self.mail.first("Subject").lower().startswith(("re", "aw", "sv")))
        ) or self.quoted >= 4

    @property
    def own(self) -> frozenset[str]:
        """The domains that are the sender's, or send for it."""
        return self.sender.near | {self.sender.org}

    def foreign(self) -> list[LinkTarget]:
        """Return the links that lead neither to the sender nor to a known company."""
        return [
            url
            for url in self.urls
            if url.host
            and url.org not in self.own | hosts().bulk_senders
            and (not url.brand or url.points >= _STRONG_SIGN)
            and not self._is_sister(url.org)
        ]

    def _is_sister(self, org: str) -> bool:
        """Whether a domain is the sender's name under another suffix, and the sender impersonates nobody."""
        label = self.sender.org.partition(".")[0]
        return len(label) >= 4 and org.partition(".")[0] == label and not self.sender.claimed

    @property
    def is_odd_sender(self) -> bool:
        """Whether the sender uses a free mail address or has one of the inconsistencies in ``_ODD``."""
        return self.sender.is_free_mail or any(note.name in _ODD for note in self.notes)

    @property
    def is_inside(self) -> bool:
        """Whether sender and recipients are of one organisation, by the header fields."""
        readers = {organisation(address.rpartition("@")[2]) for address in self.sender.recipients}
        return not self.sender.is_free_mail and readers == {self.sender.org}

    def theme(self, name: str) -> float:
        """The points of a theme."""
        return next((hit.points for hit in self.themes if hit.name == name), 0.0)

    def result(self, method: str) -> str:
        """Return what the last server recorded for a method, or ""; one pass among several results is a pass."""
        results = [one.result for one in self.auth if one.method == method and one.is_latest]
        return "pass" if "pass" in results else next(iter(results), "")

    @property
    def is_confirmed(self) -> bool:
        """Whether the last server recorded that the mail is from the domain in From."""
        if self.result("dmarc") == "pass":
            return True
        return any(
            one.method in ("dkim", "spf") and one.result == "pass" and one.is_latest and one.domain
            and organisation(one.domain) == self.sender.org
            for one in self.auth
        )  # fmt: skip


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
        *_brand_signals(parsed),
        *_auth_signals(parsed),
    ]
    is_borrowed = any(signal.points >= 1.5 and signal.name not in _EVERYDAY for signal in against)
    against += _word_signals(parsed, is_borrowed=is_borrowed)
    against += [*_ask_signals(parsed), *_form_signals(parsed), *_attachment_signals(parsed)]
    against += _first_contact_signals(parsed)
    if parsed.is_list or parsed.is_conversation:
        against = [_reduced(signal) for signal in against]
    favour = list(_favourable(parsed))
    signals = sorted(_bounded(against), key=lambda signal: -signal.points)
    score = max(0.0, sum(signal.points for signal in [*signals, *favour]))
    return Judgement(
        name=_class(score, signals), score=round(score, 1), nature=_nature(signals), signals=(*signals, *favour)
    )  # fmt: skip


def _bounded(signals: Sequence[Signal]) -> Iterator[Signal]:
    """Yield the signals with points; those of spam have at most _SPAM_TOGETHER in sum."""
    left = _SPAM_TOGETHER
    for signal in signals:
        points = min(signal.points, left) if signal.nature == "spam" else signal.points
        if signal.nature == "spam":
            left -= points
        if points > 0:
            yield msgspec.structs.replace(signal, points=round(points, 2))


def _reduced(signal: Signal) -> Signal:
    if signal.name.startswith("attachment"):
        return signal
    return msgspec.structs.replace(signal, points=round(signal.points * _CONTEXT_SHARE, 2))


_NATURES: tuple[MailNature, ...] = ("phishing", "fraud", "spam")  # in the order in which a tie is decided


def _nature(signals: Sequence[Signal]) -> MailNature:
    return max(_NATURES, key=lambda nature: sum(signal.points for signal in signals if signal.nature == nature))


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
    for url in parsed.urls:
        for sign in url.signs:
            points = 0.5 if sign.name == "mismatch" and url.org in counting else sign.points
            if points > best.get(sign.name, (0.0, ""))[0]:
                best[sign.name] = (points, sign.description)
    mild_left, left = _MILD_TOGETHER, _LINKS_TOGETHER
    for name, (points, words) in sorted(best.items(), key=lambda item: -item[1][0]):
        given = min(points, left)
        if points < _STRONG_SIGN:
            given = min(given, mild_left)
            mild_left -= given
        left -= given
        if given > 0:
            yield Signal(name=f"link_{name}", nature="phishing", points=round(given, 2), words=f"a link: {words}")


def _click_counters(parsed: ParsedMail) -> set[str]:
    """Domains of click tracking: most of a newsletter's many links lead there, but show their destination as text."""
    counts = Counter(url.org for url in {url.url: url for url in parsed.urls}.values())
    return {org for org, count in counts.items() if count >= _MANY_LINKS and count >= 0.5 * counts.total()}


_MANY_LINKS = 6
_BUTTON = re.compile(
    r"\b(?:click|view|verify|sign|log|continue|claim|update|open|download|confirm|review|access|start|restore|unlock|"
    r"track|pay|cancel|renew|retrieve|deliver|validate|upgrade|reply|play|listen|create|complete|log-?on|read|redeem|accept|keep|release|activate|secure|see|get|hier|jetzt|cliquez|acceder|ici|aqui|"
    r"acessar|acesse|visualizar|verificar|confirmar|baixar|consultar|iniciar)\b"
)
_FEW_LINKS = 4


def _lone_link(parsed: ParsedMail) -> Iterator[Signal]:
    """A short HTML mail with one place to click, which is not the sender's."""
    foreign, links = parsed.foreign(), {url.url for url in parsed.urls}
    if not (parsed.mail.html and foreign and len(links) <= _FEW_LINKS) or parsed.sender.is_free_mail:
        return
    is_button = any(url.has_image or _BUTTON.search(folded(url.text)) for url in foreign)
    if is_button and not any(url.org in parsed.own for url in parsed.urls):
        words = f"the only link leads to {foreign[0].org}, not to the sender"
        yield Signal(name="link_lone", nature="phishing", points=1.0, words=words)


def _brand_signals(parsed: ParsedMail) -> Iterator[Signal]:
    """A company's name used by others: in subject and text, or as the sender of links that lead elsewhere."""
    sender, foreign = parsed.sender, parsed.foreign()
    asks = max(parsed.theme("credentials"), parsed.theme("payment"), parsed.theme("documents"), parsed.theme("prize"))
    if sender.brand:
        is_away = all(url.org not in parsed.own and not url.brand for url in parsed.urls)
        if foreign and not parsed.is_confirmed and (asks >= 2 or is_away):
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
    counts = brand_counts(parsed.text)
    named = next((brand.name for brand in subject), "") or _most(counts, sender)
    is_ask = asks >= 2 or parsed.theme("urgency") >= 1
    if not named or not (is_ask or (subject and len({url.url for url in parsed.urls}) in range(1, _FEW_LINKS + 1))):
        return
    leads_there = any(url.brand == named for url in parsed.urls) and not foreign
    is_news = len(parsed.urls) > _MANY_LINKS and not asks >= 2
    if not (leads_there or is_news) and (foreign or parsed.attachments or parsed.urls or sender.is_free_mail):
        points = (3.0 if is_ask else 2.0) if subject else 2.0 if counts.get(named, 0) >= 2 else 1.0
        words = f"mentions {named}, but the sender's domain is {sender.org or 'missing'}"
        yield Signal(name="brand_words", nature="phishing", points=points, words=words)


def _most(counts: dict[str, int], sender: Sender) -> str:
    others = {name: count for name, count in counts.items() if not belongs_to(sender.address.domain, brand_named(name))}
    return max(others, key=lambda name: others[name]) if others else ""


_FAILED = {"fail": 2.0, "hardfail": 2.0, "softfail": 1.2, "permerror": 0.5}


def _auth_signals(parsed: ParsedMail) -> Iterator[Signal]:
    results = {method: parsed.result(method) for method in ("spf", "dkim", "dmarc", "compauth")}
    if results["dmarc"] in ("fail", "bestguessfail") or results["compauth"] == "fail":
        yield Signal(name="auth_dmarc", nature="phishing", points=2.5, words="DMARC fail (as recorded)")
    elif results["spf"] in _FAILED:
        words = f"SPF {results['spf']} (as recorded)"
        yield Signal(name="auth_spf", nature="phishing", points=_FAILED[results["spf"]], words=words)
    if results["dkim"] == "fail":
        yield Signal(name="auth_dkim", nature="phishing", points=1.0, words="DKIM fail (as recorded)")
    if parsed.auth and not any(one.result == "pass" for one in parsed.auth if one.is_latest):
        yield Signal(
            name="auth_none", nature="phishing", points=0.7, words="none of SPF, DKIM and DMARC passed (as recorded)"
        )


def _word_signals(parsed: ParsedMail, *, is_borrowed: bool) -> Iterator[Signal]:
    """The themes; those of a service's notice whose links are all its own count little."""
    is_notice = not is_borrowed and not parsed.foreign() and not any(one.points for one in parsed.attachments)
    is_real = parsed.is_confirmed and bool(parsed.sender.brand)
    left = _NOTICE_TOGETHER if is_notice or is_real else 100.0
    if parsed.theme("secrets") >= 2 and not is_real:
        left = 100.0  # no link needed: it asks for the secrets in the reply
    for hit in parsed.themes:
        points = _points_of(hit, parsed)
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
    foreign = parsed.foreign()
    if parsed.theme("favour") >= 3 and parsed.is_odd_sender:
        words = "asks for a favour from an address that anybody can register"
        yield Signal(name="ask_favour", nature="fraud", points=2.0, words=words)
    if parsed.theme("secrets") >= 2 and parsed.theme("credentials") >= 1:
        words = "asks for a password or card numbers in the reply"
        yield Signal(name="ask_secrets", nature="phishing", points=1.5, words=words)
    if not foreign:
        return
    where = foreign[0].org
    if parsed.theme("credentials") >= 3:
        words = f"asks the recipient to log in or confirm, but links to {where}, not to the sender"
        yield Signal(name="ask_credentials", nature="phishing", points=3.0, words=words)
    elif parsed.theme("documents") >= 2 or parsed.theme("payment") >= 2:
        words = f"mentions a document or a payment and links to {where}, not to the sender"
        yield Signal(name="ask_document", nature="phishing", points=2.0, words=words)
    elif parsed.theme("urgency") >= 2 and len(parsed.urls) <= _FEW_LINKS and not parsed.mail.has("List-Unsubscribe"):
        words = f"urgency wording and a link to {where}, not to the sender"
        yield Signal(name="ask_urgency", nature="phishing", points=1.5, words=words)
    if parsed.theme("prize") >= 3:
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
        ("hidden", 1.0, "hidden text", len(page.hidden) > 300 and not page.hidden.isspace()),
        ("picture", 1.5, "almost no text, but a clickable image", _is_picture(parsed)),
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
    is_known = parsed.is_list or parsed.is_conversation or is_own or (parsed.is_confirmed and bool(sender.brand))
    is_news = parsed.is_confirmed and parsed.mail.has("List-Unsubscribe")
    if is_known or is_news or not parsed.business:
        return
    attached, links = opened(parsed.attachments), parsed.foreign()
    if attached is None and not (links and len({url.url for url in parsed.urls}) <= _FEW_LINKS):
        return
    is_confirmed = parsed.is_confirmed and not sender.is_free_mail and not links
    recipients = [(one.name, one.address) for one in parsed.mail.addresses("To", "Cc")[:_FEW_RECIPIENTS]]
    if is_confirmed and knows_recipient(parsed.text, recipients):
        return
    how = f"the attachment {attached.name or 'without a name'}" if attached else f"a link to {links[0].org}"
    words = f"unknown sender: a mail about {parsed.business[0]} with {how}, and no earlier mail that it answers"
    yield Signal(name="first_contact", nature="phishing", points=_FIRST_CONTACT_POINTS, words=words)


_FEW_RECIPIENTS = 20


def _favourable(parsed: ParsedMail) -> Iterator[Signal]:
    def found(name: str, points: float, words: str) -> Signal:
        return Signal(name=name, nature="", points=-points, words=words)

    if parsed.is_list:
        yield found("list", 3.0, "sent through a mailing list")
    if parsed.is_conversation:
        yield found("conversation", 2.5, "part of a conversation")
    if parsed.is_confirmed and parsed.sender.brand and not parsed.sender.is_free_mail:
        yield found("confirmed_brand", 3.0, f"confirmed to be from {parsed.sender.brand} (as recorded)")
    elif parsed.is_confirmed:
        yield found("confirmed", 1.0, "confirmed to be from the sender's domain (as recorded)")
    own = sum(1 for url in parsed.urls if url.org in parsed.own or url.org in hosts().bulk_senders)
    if own >= 4 and own >= 0.6 * len(parsed.urls) and not parsed.sender.claimed:
        yield found("own_links", 1.5, "its links lead to the sender's own domain")
    if parsed.mail.has("List-Unsubscribe"):
        yield found("unsubscribe", 0.7, "has List-Unsubscribe, as newsletters should")
