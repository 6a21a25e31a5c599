"""What a reply is made from and what it is: the session's knowledge, the hits of a search, the text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from svc.assistant.analyst.follow_ups.known import Known
from svc.assistant.analyst.follow_ups.search import Mentions
from svc.assistant.analyst.follow_ups.wording import place, value_words
from svc.assistant.findings import AnyFinding, Finding
from svc.messages import AnswerStatus
from svc.untrusted.markup import code_span, plural

EXCERPTS = 3
EXCERPT_CHARS = 160


class ShortAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a further question, and the findings that it is made from.

    ``search`` names values that the files must be searched for first; the rest of the reply then does not count.
    """

    markdown: str = ""
    findings: Sequence[AnyFinding] = ()
    status: AnswerStatus = AnswerStatus.ANSWERED
    search: tuple[str, ...] = ()


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply is made from.

    ``hits`` are the results of a search of the files by value; None if none was made yet. ``missing`` are the names of
    inputs that are not attached any more, so that a search could not read them.
    """

    known: Known
    hits: Mapping[str, Sequence[Finding[Mentions]]] | None = None
    missing: tuple[str, ...] = ()

    def needs(self, names: Sequence[str]) -> ShortAnswer | None:
        """What to search for before the reply can be made; None if that was done."""
        return ShortAnswer(search=tuple(names)) if names and self.hits is None else None

    def hits_of(self, name: str) -> list[Finding[Mentions]]:
        """The results of the search for a value, one for each input that was read."""
        return list((self.hits or {}).get(name, ()))


def cannot_tell(text: str, reason: str) -> ShortAnswer:
    """That the question cannot be answered, and why."""
    return ShortAnswer(
        markdown=f"**Cannot tell** {code_span(text, limit=160)}: {reason}.", status=AnswerStatus.NOT_ANSWERED
    )


def searched_words(scene: Scene, name: str) -> str:
    """How much was searched for a value: ``65 lines of auth.log``."""
    read = scene.hits_of(name)
    units: dict[str, int] = {}
    for one in read:
        units[one.facts.unit] = units.get(one.facts.unit, 0) + one.facts.total
    return " and ".join(plural(total, unit) for unit, total in units.items())


def missing_words(scene: Scene) -> str:
    """The sentence about files that could not be searched; "" if all were."""
    if not scene.missing:
        return ""
    listed = ", ".join(code_span(name, limit=120) for name in scene.missing[:5])
    return f" Not searched, because it is no longer attached: {listed}."


def hit_lines(scene: Scene, name: str) -> list[str]:
    """The first places that mention a value, with their text."""
    found = [evidence for one in scene.hits_of(name) if one.facts.count for evidence in one.evidence]
    return [f"- {place(one)}: {code_span(one.excerpt.strip(), limit=EXCERPT_CHARS)}" for one in found[:EXCERPTS]]


def mention_words(scene: Scene, name: str) -> str:
    """``2 of 65 lines mention X, first line 2 of auth.log``; says so if none does or nothing could be searched."""
    hits = scene.hits_of(name)
    if not hits:
        return f"no file could be searched for {value_words(name)}"
    count = sum(one.facts.count for one in hits)
    extent = searched_words(scene, name)
    if not count:
        return f"none of {extent} mentions {value_words(name)}{_within(hits, name)}"
    first = next(one for one in hits if one.facts.count)
    verb = "mentions" if count == 1 else "mention"
    return f"{count:,} of {extent} {verb} {value_words(name)}, first {place(first.evidence[0])}"


def _within(hits: Sequence[Finding[Mentions]], name: str) -> str:
    """The sentence about a value that occurs only as a part of longer words."""
    count = sum(one.facts.within for one in hits)
    if not count:
        return ""
    first = next(one for one in hits if one.facts.within and one.evidence)
    unit = plural(count, first.facts.unit)
    return f" as a separate word; it is part of a longer word in {unit}, first {place(first.evidence[0])}"
