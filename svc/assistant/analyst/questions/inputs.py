"""Questions about the inputs themselves: which were not examined, and whether a value is in both of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from svc.assistant.findings import AnyFinding, columns
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

SHOWN = 6
_NOT_EXAMINED = re.compile(
    r"\b(?:which|what|list|any) (?:\w+ )?(?:files?|inputs?|members?|logs?|attachments?|evidence)\b[^?]{0,20}"
    r"\b(?:not|n[o'\u2019]?t|never|un(?:examined|read|supported)|skipped|left out|ignored)\b",
    re.IGNORECASE,
)
_EXAMINED = re.compile(
    r"\b(?:examined|read|looked at|analy[sz]ed|inspected|checked|parsed|supported|unexamined|unread|unsupported|skipped"
    r"|left out|ignored|open(?:ed)?)\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:in|on|across) (?:both|all|each|every|several|more than one|multiple)\b", re.IGNORECASE)


def inputs_answer(clause: str, unread: Mapping[str, str], read: Sequence[str]) -> str:
    """The sentence about the inputs that were not examined; "" if a clause does not ask for them.

    Args:
        clause: The question.
        unread: The inputs of which no tool understood anything, with the reason.
        read: The names of the others.
    """
    if not (_NOT_EXAMINED.search(clause) and _EXAMINED.search(clause)):
        return ""
    if not unread:
        return f"**None:** a tool read each of the {plural(len(read), 'input')}, as far as the table of inputs says."
    listed = "; ".join(f"{code_span(name, limit=80)} ({escape(why)})" for name, why in list(unread.items())[:SHOWN])
    more = f" and {len(unread) - SHOWN:,} more" if len(unread) > SHOWN else ""
    return f"**{plural(len(unread), 'input')} not examined:** {listed}{more}."


def both_answer(clause: str, names: Sequence[str], findings: Sequence[AnyFinding], read: Sequence[str]) -> str:
    """The inputs in which a value is found, for a clause that asks whether it is in all; "" for any other clause."""
    if not _BOTH.search(clause) or not names or len(read) < 2:
        return ""
    value = names[0]
    pattern = re.compile(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\w)", re.IGNORECASE)
    places: dict[str, None] = {}
    for one in findings:
        held = any(pattern.search(str(value)) for value in columns(one).values())
        for evidence in one.evidence:
            if pattern.search(evidence.excerpt) or (held and len(one.evidence) == 1):
                places[evidence.source] = None
    listed = ", ".join(code_span(name, limit=80) for name in list(places)[:SHOWN]) or "none of them"
    shown = code_span(defang_text(value), limit=80)
    if len(places) > 1:
        return f"**Yes:** {shown} is in {listed}."
    return (
        f"**Cannot tell** {code_span(clause, limit=160)}: findings mention {shown} in {listed}; "
        "what no finding mentions was not searched for it."
    )
