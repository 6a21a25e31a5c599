"""From everything seen in a mail to a verdict: signals with points, what speaks for the mail, and the sum. Pure.

Strong signals are deceptions (a link that is not what it says, a borrowed name); weak ones, common in ordinary mail,
are bounded together. What speaks for a mail (a list, a conversation, a confirmed sender) is taken off. The points are
set by hand from how such mails are made; no corpus was fitted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.skills.mail.attachments import SeenAttachment
from svc.assistant.skills.mail.brands import belongs_to, brand_counts, brand_named, brands_in, folded
from svc.assistant.skills.mail.html import Page
from svc.assistant.skills.mail.links import Url, hosts, organisation
from svc.assistant.skills.mail.message import Mail
from svc.assistant.skills.mail.route import Auth
from svc.assistant.skills.mail.sender import Note, Sender
from svc.assistant.skills.mail.wording import ThemeHit

SUSPICIOUS_POINTS = 5.0
PHISHING_POINTS = 7.5
_ODD = frozenset(["reply_to", "no_reader", "own_address", "many_readers", "no_sender", "tld", "random", "free_hosting"])
_EVERYDAY = frozenset(["sender_reader_subject"])  # a notice of the reader's own provider has it as well
_STRONG_SIGN = 2.0  # a sign of a link with fewer points is common in ordinary mail
_MILD_TOGETHER = 3.0
_LINKS_TOGETHER = 9.0
_FORM_TOGETHER = 4.0
_SPAM_TOGETHER = 4.5  # below SUSPICIOUS_POINTS: what newsletters do as well is no trap by itself
_NOTICE_TOGETHER = 2.0  # of the words of a notice whose links are the sender's own
_CONTEXT_SHARE = 0.4  # of the points of words and links in a list's or a conversation's mail


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One reason. ``points`` below 0 speak for the mail; ``kind``: phishing, fraud, spam, ordinary."""

    name: str
    kind: str
    points: float
    words: str


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read in one mail."""

    mail: Mail
    page: Page
    text: str
    urls: Sequence[Url]
    auth: Sequence[Auth]
    sender: Sender
    notes: Sequence[Note]
    themes: Sequence[ThemeHit]
    disguised: Sequence[str]
    attachments: Sequence[SeenAttachment]
    quoted: int

    @property
    def is_list(self) -> bool:
        """Whether a list's server says that it passed it on."""
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

    def foreign(self) -> list[Url]:
        """Links to click that lead neither to the sender nor to a company that is known."""
        return [
            url
            for url in self.urls
            if url.host
            and url.org not in self.own | hosts().bulk_senders
            and (not url.brand or url.points >= _STRONG_SIGN)
            and not self._is_sister(url.org)
        ]

    def _is_sister(self, org: str) -> bool:
        """Whether a domain has the sender's name under another suffix, and the sender does not borrow one."""
        label = self.sender.org.partition(".")[0]
        return len(label) >= 4 and org.partition(".")[0] == label and not self.sender.claimed

    @property
    def is_odd_sender(self) -> bool:
        """Whether it is from a free mail address, to nobody, or wants its answers elsewhere."""
        return self.sender.is_free_mail or any(note.name in _ODD for note in self.notes)

    @property
    def is_inside(self) -> bool:
        """Whether it goes from one address of an organisation to others of it, as it says."""
        readers = {organisation(address.rpartition("@")[2]) for address in self.sender.recipients}
        return not self.sender.is_free_mail and readers == {self.sender.org}

    def theme(self, name: str) -> float:
        """The points of a theme."""
        return next((hit.points for hit in self.themes if hit.name == name), 0.0)

    def result(self, method: str) -> str:
        """What the last server recorded for SPF, DKIM or DMARC; "" where it recorded nothing. Any pass is a pass."""
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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """``name``: phishing, spam, suspicious, ordinary; ``signals`` in order of weight, those for the mail last."""

    name: str
    score: float
    kind: str
    signals: tuple[Signal, ...]


def judge(seen: Seen) -> Verdict:
    """The verdict on one mail."""
    against = [
        *_sender_signals(seen),
        *_link_signals(seen),
        *_lone_link(seen),
        *_brand_signals(seen),
        *_auth_signals(seen),
    ]
    is_borrowed = any(signal.points >= 1.5 and signal.name not in _EVERYDAY for signal in against)
    against += _word_signals(seen, is_borrowed=is_borrowed)
    against += [*_ask_signals(seen), *_form_signals(seen), *_attachment_signals(seen)]
    if seen.is_list or seen.is_conversation:
        against = [_reduced(signal) for signal in against]
    favour = list(_favourable(seen))
    signals = sorted(_bounded(against), key=lambda signal: -signal.points)
    score = max(0.0, sum(signal.points for signal in [*signals, *favour]))
    return Verdict(
        name=_name(score, signals), score=round(score, 1), kind=_kind(signals), signals=(*signals, *favour)
    )  # fmt: skip


def _bounded(signals: Sequence[Signal]) -> Iterator[Signal]:
    """Those with points; of kind spam no more than _SPAM_TOGETHER."""
    left = _SPAM_TOGETHER
    for signal in signals:
        points = min(signal.points, left) if signal.kind == "spam" else signal.points
        if signal.kind == "spam":
            left -= points
        if points > 0:
            yield msgspec.structs.replace(signal, points=round(points, 2))


def _reduced(signal: Signal) -> Signal:
    if signal.name.startswith("attachment"):
        return signal
    return msgspec.structs.replace(signal, points=round(signal.points * _CONTEXT_SHARE, 2))


def _kind(signals: Sequence[Signal]) -> str:
    sums = {kind: sum(s.points for s in signals if s.kind == kind) for kind in ("phishing", "fraud", "spam")}
    return max(sums, key=lambda kind: sums[kind])


def _name(score: float, signals: Sequence[Signal]) -> str:
    if score < SUSPICIOUS_POINTS:
        return "ordinary"
    kind = _kind(signals)
    if kind == "spam":
        return "spam"
    return "phishing" if kind == "phishing" and score >= PHISHING_POINTS else "suspicious"


def _sender_signals(seen: Seen) -> Iterator[Signal]:
    for note in seen.notes:
        yield Signal(name=f"sender_{note.name}", kind=note.kind, points=note.points, words=note.words)


def _link_signals(seen: Seen) -> Iterator[Signal]:
    """Each kind of sign once, by its worst link; the mild ones bounded together, all together bounded, too."""
    best: dict[str, tuple[float, str]] = {}
    counting = _click_counters(seen)
    for url in seen.urls:
        for sign in url.signs:
            points = 0.5 if sign.name == "mismatch" and url.org in counting else sign.points
            if points > best.get(sign.name, (0.0, ""))[0]:
                best[sign.name] = (points, sign.words)
    mild_left, left = _MILD_TOGETHER, _LINKS_TOGETHER
    for name, (points, words) in sorted(best.items(), key=lambda item: -item[1][0]):
        given = min(points, left)
        if points < _STRONG_SIGN:
            given = min(given, mild_left)
            mild_left -= given
        left -= given
        if given > 0:
            yield Signal(name=f"link_{name}", kind="phishing", points=round(given, 2), words=f"a link: {words}")


def _click_counters(seen: Seen) -> set[str]:
    """Domains through which a newsletter leads most of its many links: the words over them name where they end."""
    counts = Counter(url.org for url in {url.url: url for url in seen.urls}.values())
    return {org for org, count in counts.items() if count >= _MANY_LINKS and count >= 0.5 * counts.total()}


_MANY_LINKS = 6
_BUTTON = re.compile(
    r"\b(?:click|view|verify|sign|log|continue|claim|update|open|download|confirm|review|access|start|restore|unlock|"
    r"track|pay|cancel|renew|retrieve|deliver|validate|upgrade|reply|play|listen|create|complete|log-?on|read|redeem|accept|keep|release|activate|secure|see|get|hier|jetzt|cliquez|acceder|ici|aqui|"
    r"acessar|acesse|visualizar|verificar|confirmar|baixar|consultar|iniciar)\b"
)
_FEW_LINKS = 4


def _lone_link(seen: Seen) -> Iterator[Signal]:
    """A short HTML mail of somebody's with one place to click, which is not the sender's."""
    foreign, links = seen.foreign(), {url.url for url in seen.urls}
    if not (seen.mail.html and foreign and len(links) <= _FEW_LINKS) or seen.sender.is_free_mail:
        return
    is_button = any(url.has_image or _BUTTON.search(folded(url.text)) for url in foreign)
    if is_button and not any(url.org in seen.own for url in seen.urls):
        words = f"the one thing to click leads to {foreign[0].org}, not to the sender"
        yield Signal(name="link_lone", kind="phishing", points=1.0, words=words)


def _brand_signals(seen: Seen) -> Iterator[Signal]:
    """A company's name used by somebody else: in subject and text, or as a sender whose links lead elsewhere."""
    sender, foreign = seen.sender, seen.foreign()
    asks = max(seen.theme("credentials"), seen.theme("payment"), seen.theme("documents"), seen.theme("prize"))
    if sender.brand:
        is_away = all(url.org not in seen.own and not url.brand for url in seen.urls)
        if foreign and not seen.is_confirmed and (asks >= 2 or is_away):
            words = f"says it is {sender.brand}, and leads to {foreign[0].org}"
            is_bare = asks >= 1 and is_away and len(seen.urls) <= _FEW_LINKS
            points = 4.0 if asks >= 2 or is_bare else 3.0
            yield Signal(name="brand_link", kind="phishing", points=points, words=words)
        return
    subject = [brand for brand in brands_in(seen.mail.first("Subject")) if not belongs_to(sender.address.domain, brand)]
    if sender.claimed:
        if foreign and asks >= 1:
            words = f"in the name of {sender.claimed[0]} it leads to {foreign[0].org}"
            yield Signal(name="brand_link", kind="phishing", points=2.5, words=words)
        return
    counts = brand_counts(seen.text)
    named = next((brand.name for brand in subject), "") or _most(counts, sender)
    is_ask = asks >= 2 or seen.theme("urgency") >= 1
    if not named or not (is_ask or (subject and len({url.url for url in seen.urls}) in range(1, _FEW_LINKS + 1))):
        return
    leads_there = any(url.brand == named for url in seen.urls) and not foreign
    is_news = len(seen.urls) > _MANY_LINKS and not asks >= 2
    if not (leads_there or is_news) and (foreign or seen.attachments or seen.urls or sender.is_free_mail):
        points = (3.0 if is_ask else 2.0) if subject else 2.0 if counts.get(named, 0) >= 2 else 1.0
        words = f"speaks of {named}, comes from {sender.org or 'nobody'}"
        yield Signal(name="brand_words", kind="phishing", points=points, words=words)


def _most(counts: dict[str, int], sender: Sender) -> str:
    others = {name: count for name, count in counts.items() if not belongs_to(sender.address.domain, brand_named(name))}
    return max(others, key=lambda name: others[name]) if others else ""


_FAILED = {"fail": 2.0, "hardfail": 2.0, "softfail": 1.2, "permerror": 0.5}


def _auth_signals(seen: Seen) -> Iterator[Signal]:
    results = {method: seen.result(method) for method in ("spf", "dkim", "dmarc", "compauth")}
    if results["dmarc"] in ("fail", "bestguessfail") or results["compauth"] == "fail":
        yield Signal(name="auth_dmarc", kind="phishing", points=2.5, words="a server recorded: DMARC failed")
    elif results["spf"] in _FAILED:
        words = f"a server recorded: SPF {results['spf']}"
        yield Signal(name="auth_spf", kind="phishing", points=_FAILED[results["spf"]], words=words)
    if results["dkim"] == "fail":
        yield Signal(name="auth_dkim", kind="phishing", points=1.0, words="a server recorded: DKIM failed")
    if seen.auth and not any(one.result == "pass" for one in seen.auth if one.is_latest):
        yield Signal(name="auth_none", kind="phishing", points=0.7, words="no check of the sender passed")


def _word_signals(seen: Seen, *, is_borrowed: bool) -> Iterator[Signal]:
    """The themes; a notice of a service whose links are its own, as every service sends them, counts little."""
    is_notice = not is_borrowed and not seen.foreign() and not any(one.points for one in seen.attachments)
    is_real = seen.is_confirmed and bool(seen.sender.brand)
    left = _NOTICE_TOGETHER if is_notice or is_real else 100.0
    if seen.theme("secrets") >= 2 and not is_real:
        left = 100.0  # nothing to click: it wants the answer itself
    for hit in seen.themes:
        points = _points_of(hit, seen)
        if hit.kind == "phishing":
            points = min(points, left)
            left -= points
        if points >= 0.3:
            shown = ", ".join(f"“{phrase[:50]}”" for phrase in hit.phrases[:3])
            words = f"{hit.what}: {shown}"
            yield Signal(name=f"words_{hit.name}", kind=hit.kind, points=round(points, 2), words=words)
    if len(seen.disguised) >= 2:
        words = f"{len(seen.disguised)} words with letters of other scripts or invisible ones in them"
        yield Signal(name="words_disguised", kind="phishing", points=2.5, words=words)


_PLAIN_SENDER_STEPS = 2  # of a sender who is not odd: people write about money and meetings
_CERTAIN_PHRASES = 4
_INSIDE_SHARE = 0.5  # of a fraud's words between people of one organisation
_FRAUD_SHARES = (0.15, 0.25, 0.55, 1.0)  # by how many strong phrases, and oddities of the sender, meet


def _points_of(hit: ThemeHit, seen: Seen) -> float:
    """A theme's points: one phrase of a fraud is everyday language, several together are not."""
    if hit.kind == "fraud":
        is_odd = seen.is_odd_sender or bool(seen.foreign())
        steps = hit.strong + is_odd if hit.strong and is_odd else min(hit.strong, _PLAIN_SENDER_STEPS)
        points = hit.points * _FRAUD_SHARES[min(3, steps if hit.strong < _CERTAIN_PHRASES else 3)]
        return points * (_INSIDE_SHARE if seen.is_inside and not is_odd else 1.0)
    if hit.kind == "spam":
        return hit.points * (0.6 if hit.strong else 0.2)
    return hit.points


def _ask_signals(seen: Seen) -> Iterator[Signal]:
    """What makes a demand a trap: secrets, papers or prizes, and a link to somebody else."""
    foreign = seen.foreign()
    if seen.theme("favour") >= 3 and seen.is_odd_sender:
        words = "a favour, asked from an address that anybody may have"
        yield Signal(name="ask_favour", kind="fraud", points=2.0, words=words)
    if seen.theme("secrets") >= 2 and seen.theme("credentials") >= 1:
        words = "asks for a password or a card's numbers themselves, in the answer"
        yield Signal(name="ask_secrets", kind="phishing", points=1.5, words=words)
    if not foreign:
        return
    where = foreign[0].org
    if seen.theme("credentials") >= 3:
        words = f"asks to log in or to confirm, and leads to {where}, not to the sender"
        yield Signal(name="ask_credentials", kind="phishing", points=3.0, words=words)
    elif seen.theme("documents") >= 2 or seen.theme("payment") >= 2:
        words = f"a document or a payment, and a link to {where}, not to the sender"
        yield Signal(name="ask_document", kind="phishing", points=2.0, words=words)
    elif seen.theme("urgency") >= 2 and len(seen.urls) <= _FEW_LINKS and not seen.mail.has("List-Unsubscribe"):
        words = f"presses for time, and leads to {where}, not to the sender"
        yield Signal(name="ask_urgency", kind="phishing", points=1.5, words=words)
    if seen.theme("prize") >= 3:
        words = f"a prize, and a link to {where}, not to the sender"
        yield Signal(name="ask_prize", kind="fraud", points=1.5, words=words)


_PAGE_FEW_CHARS = 150


def _form_signals(seen: Seen) -> Iterator[Signal]:
    """Tricks of the HTML."""
    page, left = seen.page, _FORM_TOGETHER
    for name, points, words, is_there in (
        ("secret_form", 4.0, "a form in the mail asks for a password or a card", page.secret_inputs > 0),
        ("form", 0.5, "a form in the mail", page.forms > 0 and not page.secret_inputs),
        ("script", 0.5, "a script in the mail", page.scripts > 0),
        ("frame", 0.5, "a frame in the mail", page.frames > 0),
        ("encoded", 0.7, "HTML in base64 that needs none", seen.mail.is_html_needlessly_encoded),
        ("hidden", 1.0, "text that no eye sees", len(page.hidden) > 300 and not page.hidden.isspace()),
        ("picture", 1.5, "next to no text, a picture to click", _is_picture(seen)),
        ("html_alone", 0.3, "HTML without a text beside it", bool(seen.mail.html) and not seen.mail.plain.strip()),
    ):
        if is_there and left > 0:
            given = min(points, left)
            left -= given
            yield Signal(name=f"html_{name}", kind="phishing" if points > 1 else "spam", points=given, words=words)


def _is_picture(seen: Seen) -> bool:
    return len(seen.page.text) < _PAGE_FEW_CHARS and any(link.has_image for link in seen.page.links)


def _attachment_signals(seen: Seen) -> Iterator[Signal]:
    worst = max(seen.attachments, key=lambda one: one.points, default=None)
    if worst is not None and worst.points > 0:
        words = f"attached {worst.name or 'without a name'}: {worst.dangers[0].words}"
        yield Signal(name="attachment", kind="phishing", points=worst.points, words=words)


def _favourable(seen: Seen) -> Iterator[Signal]:
    def found(name: str, points: float, words: str) -> Signal:
        return Signal(name=name, kind="ordinary", points=-points, words=words)

    if seen.is_list:
        yield found("list", 3.0, "a mailing list passed it on")
    if seen.is_conversation:
        yield found("conversation", 2.5, "part of a conversation")
    if seen.is_confirmed and seen.sender.brand and not seen.sender.is_free_mail:
        yield found("confirmed_brand", 3.0, f"a server recorded that it is from {seen.sender.brand}")
    elif seen.is_confirmed:
        yield found("confirmed", 1.0, "a server recorded that it is from the sender's domain")
    own = sum(1 for url in seen.urls if url.org in seen.own or url.org in hosts().bulk_senders)
    if own >= 4 and own >= 0.6 * len(seen.urls) and not seen.sender.claimed:
        yield found("own_links", 1.5, "its links are the sender's own")
    if seen.mail.has("List-Unsubscribe"):
        yield found("unsubscribe", 0.7, "can be unsubscribed from, as senders of newsletters are asked to")
