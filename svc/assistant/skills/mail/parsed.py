"""What was parsed from one mail, and what follows from it without weighing. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import msgspec

from svc.assistant.skills.mail.attachments import InspectedAttachment
from svc.assistant.skills.mail.findings import MailNature
from svc.assistant.skills.mail.html import Page
from svc.assistant.skills.mail.links import LinkTarget, is_bulk_sender, organisation
from svc.assistant.skills.mail.message import Mail
from svc.assistant.skills.mail.route import Auth
from svc.assistant.skills.mail.sender import Note, Sender
from svc.assistant.skills.mail.wording import ThemeHit, Words

_ODD = frozenset(["reply_to", "no_reader", "own_address", "many_readers", "no_sender", "tld", "random", "free_hosting"])
_LETTER_LINKS = 6  # different in address or text
STRONG_SIGN = 2.0  # a sign of a link with fewer points is common in ordinary mail
_MESSAGE_DOMAIN = re.compile(r"@([\w.-]{3,250})>")


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One reason; ``points`` below 0 count in favour of the mail."""

    name: str
    nature: MailNature
    points: float
    words: str


class ParsedMail(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that was parsed from one mail."""

    mail: Mail
    page: Page
    words: Words
    urls: Sequence[LinkTarget]
    auth: Sequence[Auth]
    sender: Sender
    notes: Sequence[Note]
    disguised: Sequence[str]
    attachments: Sequence[InspectedAttachment]
    quoted: int
    business: Sequence[str]
    """What the mail is about, of the subjects by which a stranger gets something opened."""

    @property
    def themes(self) -> Sequence[ThemeHit]:
        """What its words are about."""
        return self.words.themes

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
    def answers_recipient(self) -> bool:
        """Whether it refers to the identifier of a mail that came from the recipient's domain."""
        domains = {organisation(address.rpartition("@")[2]) for address in self.sender.recipients}
        referred = " ".join([*self.mail.all("In-Reply-To"), *self.mail.all("References")])[:2_000]
        return any(organisation(found) in domains for found in _MESSAGE_DOMAIN.findall(referred))

    @cached_property
    def own(self) -> frozenset[str]:
        """The domains that are the sender's, or of which the recipient's server recorded that they sent for it."""
        passed = {
            organisation(one.domain) for one in self.auth if one.is_latest and one.result == "pass" and one.domain
        }
        return frozenset({self.sender.org, *(passed if self.is_confirmed else ())} - {""})

    def foreign(self) -> list[LinkTarget]:
        """Return the links that lead neither to the sender nor to a known company."""
        return list(self._foreign)

    @cached_property
    def _foreign(self) -> list[LinkTarget]:
        own = self.own
        return [
            url
            for url in self.urls
            if url.host
            and url.org not in own
            and not is_bulk_sender(url.org)
            and (not url.brand or url.points >= STRONG_SIGN)
            and not self._is_sister(url.org)
        ]

    def near(self) -> list[LinkTarget]:
        """Return the foreign links beside the core of what the mail says; of few links all."""
        foreign = self.foreign()
        if not self.is_letter:
            return foreign
        return [url for url in foreign if url.place not in ("a", "text") or self.words.links.intersection(url.numbers)]

    @cached_property
    def is_letter(self) -> bool:
        """Whether it has the many different links of a newsletter. That is no proof of anything: no points for it."""
        return sum(not url.is_hidden for url in self.urls) >= _LETTER_LINKS

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

    @cached_property
    def is_confirmed(self) -> bool:
        """Whether the last server recorded that the mail is from the domain in From."""
        if self.result("dmarc") == "pass":
            return True
        return any(
            one.method in ("dkim", "spf") and one.result == "pass" and one.is_latest and one.domain
            and organisation(one.domain) == self.sender.org
            for one in self.auth
        )  # fmt: skip
