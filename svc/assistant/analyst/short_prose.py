"""An answer as a number of sentences: the headline first, then what was found, worst first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.analyst.asked_values import Groups
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.findings import AnyFinding, Severity, columns, kind_of
from svc.assistant.skills.catalogue import section_of
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.skills.events.findings import EventTactics
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape

MAX_SENTENCE_CHARS = 400
MAX_ITEMS = 50
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_END = re.compile(r"(?<=[.!?])\*{0,2}\s+(?=[*`“\"(A-Z0-9])")
_INNER_END = re.compile(r"[.!?](?=\s)")


def headline(prose: str) -> str:
    """The first paragraph of an answer, on one line and without bold."""
    first = next((block for block in prose.split("\n\n") if block.strip()), "")
    lines = [line.strip().removeprefix("- ") for line in first.splitlines()]
    return " ".join(line for line in lines if line).replace("**", "")


def facts_in_sentences(groups: Groups, prose: str, *, count: int) -> list[str]:
    """Different sentences, the most important first.

    Args:
        groups: The findings by skill.
        prose: The whole answer; its headline comes first.
        count: How many; 0 for the headline and all findings of the most important kind.
    """
    made: dict[str, None] = {}
    wanted = count or MAX_ITEMS
    for sentence in _sentences(groups, prose, is_all=not count):
        made[sentence] = None
        if len(made) == wanted:
            break
    return list(made)


def _sentences(groups: Groups, prose: str, *, is_all: bool) -> Iterator[str]:
    for part in _END.split(headline(prose)):
        yield _one_sentence(part)
    every = [one for _, found in groups for one in found]
    findings = sorted(every, key=lambda finding: (finding.kind in _REPEATED, _RANK[finding.severity]))
    for finding in findings[:MAX_ITEMS]:
        yield _one_sentence(_told(finding))
    if is_all:
        return
    for skill, found in groups:
        for step in section_of(skill).next_steps(found):
            yield _one_sentence(step)
    for finding in findings[:MAX_ITEMS]:
        if finding.why:
            yield _one_sentence(escape(finding.why[:MAX_SENTENCE_CHARS]).capitalize())
    yield "There are no further facts." if findings else "No tool found a fact about the question."
    yield "Limitations and evidence are in the full answer."
    yield "Ask again without a limit to see it."


def _told(finding: AnyFinding) -> str:
    severity = "" if finding.severity is Severity.INFO else f" ({finding.severity.value})"
    title = escape(finding.title[:MAX_SENTENCE_CHARS])
    return f"{title[:1].upper()}{title[1:]}{_circumstances(finding)}{severity}"


_REPEATED = SUMMARIES | {kind_of(EventTactics)}
"""Kinds that say in sum what the headline and the other findings say."""
_BY = ("account", "accounts", "identity", "user")
_FROM = ("source", "sources", "addresses")
_AT = ("first", "time")


def _circumstances(finding: AnyFinding) -> str:
    """Who did it, from where and when, as far as the title does not say it."""
    held = columns(finding)
    told = ""
    for word, names in (("by", _BY), ("from", _FROM)):
        values = next((held[name] for name in names if held.get(name)), None)
        listed = values[:2] if isinstance(values, list) else [values]
        named = [one for one in listed if isinstance(one, str) and one and one not in finding.title]
        if named:
            told += f" {word} {' and '.join(code_span(defang_text(one), limit=80) for one in named)}"
    time = next((held[name] for name in _AT if isinstance(held.get(name), str) and held[name]), None)
    return f"{told}, {escape(time_words(str(time)))}" if told and time else told


def _one_sentence(text: str) -> str:
    """Words as one sentence with one full stop; sentence ends inside become semicolons."""
    plain = " ".join(text.replace("**", "").split())
    return _INNER_END.sub(";", plain).rstrip(" .;:!?") + "."
