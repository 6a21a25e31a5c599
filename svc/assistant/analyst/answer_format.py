"""Recognize the format that a prompt requests: prose, data, a template, a value, a number of sentences. Pure.

The words about the format are removed from the prompt before it is planned, so that an example in a template is not
read as evidence. ``own_words`` separates them from the question, ``format_reading`` reads them.
"""

from __future__ import annotations

import re

from svc.assistant.analyst.format_reading import brackets, read_format
from svc.assistant.analyst.format_types import AnswerFormat, RequestedFormat
from svc.assistant.analyst.own_words import separate
from svc.assistant.analyst.templates import parse_shape

__all__ = ["AnswerFormat", "RequestedFormat", "requested_format"]

_ENDS_CHARS = 4_000  # at each end of a prompt, where users say how to answer
_AS = (
    r"(?:,? |^)\b(?:as|in|into|to|return|output|produce|reply with|respond with|answer with|give me)"
    r" (?:the results? (?:as|in) )?(?:an? |one )?(?:valid |pure |plain |markdown )?"
)
_FORMS = tuple(
    (kind, re.compile(_AS + words + r"\b(?: (?:format|form|object|list|array|file|only))*", re.IGNORECASE))
    for kind, words in (
        (AnswerFormat.JSON, r"json"),
        (AnswerFormat.CSV, r"(?:csv|comma[- ]separated (?:values|list))"),
        (AnswerFormat.TABLE, r"table"),
    )
)
_ANY_FORM = re.compile(r"\b(?:json|csv|table)\b|comma[- ]separated", re.IGNORECASE)
_INLINE = re.compile(r"\s(?:as|like|in (?:this|the) (?:form|format|shape)):?\s(?=\{)")
_BARE_CHARS = 200
_FORM_NAMES = frozenset({"json", "csv", "table"})
_FILLER_WORDS = """
a above again all also an and answer answers are as back be before can convert could data display do earlier
every everything export express file findings finding for form format formatted from gave get give had has have i
in instead into is it just kindly last like list make markdown may me my need nice nicely now object of ok okay one
only our out output over plain please possible present previous print produce provide pure put reformat render
replied reply repeat report response result results return same save say send show so thanks that the them these
they this those to too transform turn us valid version want way we with would write you your
"""
_FILLER = frozenset(_FILLER_WORDS.split())
"""Words that leave nothing to ask beside the name of a form: "could you put that in a table, please?"."""


def requested_format(prompt: str, instructions: str = "") -> RequestedFormat:
    """Return the format that the prompt requests; PROSE and the unchanged prompt if it requests none.

    Args:
        prompt: The user's text.
        instructions: The system messages of a chat client: never evidence. A format that they request is used unless
            the prompt requests another; a format required by the service (``format_types.REQUIRED``) always.
    """
    inner = _format_of_prompt(prompt)
    if not instructions.strip():
        return inner
    return read_format(instructions, is_system=True).for_prompt(inner)


def _format_of_prompt(prompt: str) -> RequestedFormat:
    if form := _bare_form(prompt):
        return RequestedFormat(prompt="", format=AnswerFormat(form))
    if (after := _after_colon(prompt)) is not None:
        return after
    separated = separate(prompt)
    requested = read_format(separated.instructions).with_prompt(separated.prompt)
    if requested.is_given and separated.prompt.strip():
        again = _trailing_form(separated.prompt)  # a sentence that says what to do and in which form
        return requested.with_prompt(again.prompt if again.format is requested.format else separated.prompt)
    if (inline := _inline_shape(separated.prompt)) is not None:
        return inline
    named = _trailing_form(prompt if requested.is_given else separated.prompt)
    return named if named.is_given or not requested.is_given else requested


def _after_colon(prompt: str) -> RequestedFormat | None:
    """The form of "one sentence for my boss: was data taken?", with the question behind the colon."""
    head, colon, question = prompt.strip().partition(": ")
    if not colon or "\n" in prompt.strip() or len(prompt) > _BARE_CHARS or not _ASKS.match(question):
        return None
    form = read_format(head)
    return form.with_prompt(question) if form.format is AnswerFormat.SENTENCES else None


_ASKS = re.compile(
    r"\W*(?:was|were|is|are|did|do|does|has|have|had|can|could|who|what|which|where|when|how|why|any)\b", re.IGNORECASE
)


def _bare_form(prompt: str) -> str:
    """The form that a prompt asks for and nothing else: the known findings are meant; "" if it asks more."""
    words = re.findall(r"[^\W\d_]+", prompt.lower()) if len(prompt) < _BARE_CHARS else []
    named = [word for word in words if word in _FORM_NAMES]
    is_all = len(set(named)) == 1 and all(word in _FILLER or word in _FORM_NAMES for word in words)
    return named[0] if is_all and not re.search(r"[{}<>\[\]|\d]", prompt) else ""


def _inline_shape(prompt: str) -> RequestedFormat | None:
    """A shape in the middle of a question: ``Give me the CWE as {"cwe": "CWE-1"}: …``."""
    match = _INLINE.search(prompt[:_ENDS_CHARS])
    text = next(brackets(prompt[match.end() :][:_ENDS_CHARS]), "") if match else ""
    shape = parse_shape(text) if text else None
    if match is None or not isinstance(shape, dict) or not prompt.startswith(text, match.end()):
        return None
    rest = prompt[: match.start()] + prompt[match.end() + len(text) :]
    return RequestedFormat(prompt=rest, format=AnswerFormat.TEMPLATE, template=text)


def _trailing_form(prompt: str) -> RequestedFormat:
    """A form named in a question: ``Which sources failed? as csv``."""
    if not _ANY_FORM.search(prompt, 0, _ENDS_CHARS) and not _ANY_FORM.search(prompt[-_ENDS_CHARS:]):
        return RequestedFormat(prompt=prompt)
    for kind, words in _FORMS:
        for match in words.finditer(prompt):
            if _is_at_an_end(prompt, match):
                return RequestedFormat(prompt=prompt[: match.start()] + prompt[match.end() :], format=kind)
    return RequestedFormat(prompt=prompt)


def _is_at_an_end(prompt: str, match: re.Match[str]) -> bool:
    """Whether the match is in the first or last paragraph; in between, it is probably pasted material."""
    return "\n\n" not in prompt[: match.start()].strip("\n") or "\n\n" not in prompt[match.end() :].strip("\n")
