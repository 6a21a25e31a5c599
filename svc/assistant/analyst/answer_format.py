"""Recognize the format that a prompt requests: prose, a table, JSON, CSV or a template. Pure.

The words about the format are removed from the prompt before it is planned, so that an example in a template is not
read as evidence.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

MAX_TEMPLATE_CHARS = 4_000  # longer text after "format:" is evidence, not a template
_ENDS_CHARS = 4_000  # at each end of a prompt, where users say how to answer


class AnswerFormat(StrEnum):
    """How an answer looks."""

    PROSE = "prose"
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TEMPLATE = "template"


class RequestedFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The requested format, and ``prompt`` without the words about it.

    ``template`` is the text of a TEMPLATE. ``last_line`` names the value that the last line of an answer in prose must
    consist of ("CWE ID"); "" if the prompt does not ask for one.
    """

    prompt: str
    format: AnswerFormat = AnswerFormat.PROSE
    template: str = ""
    last_line: str = ""


_VERB = r"(?:reply|respond|answer|output|return|write|format|give|print|report|provide|present|use)"
_FORMAT_WORD = r"(?:formats?|forms?|templates?|schema|structure|shape|pattern|like this|as follows|following)"
_TEMPLATE = re.compile(
    rf"(?:^|(?<=[.?!\n:;,])|(?<=\band ))[ \t]*(?:please |then )*\b{_VERB}\b[^.?!\n:]{{0,60}}?\b{_FORMAT_WORD}\b"
    r"[^\n:]{0,40}:[ \t]*\n*",
    re.IGNORECASE,
)
_FENCED = re.compile(r"```[^\n]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
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
_ONE_FORM = re.compile(r"json|csv|table", re.IGNORECASE)
_BARE = re.compile(
    r"\s*(?:(?:and|now|ok|okay|please|again|show|give|list|the|me|it|them|that|this|same|results?|findings?|answer)\b"
    r"[\s,.]*)*(json|csv|table)\s*(?:please|format)?[.!?]?\s*",
    re.IGNORECASE,
)


_THING = r"(?:the |its |your |an? |one )?(?P<thing>[A-Za-z][\w &-]{1,40}?)"
_ALONE = r"(?:only|just|nothing but|solely)"
_ONLY = re.compile(
    rf"(?:^|(?<=[.?!\n:;,]))[ \t]*(?:please )?\b{_VERB}\b[^.?!\n:]{{0,25}}?\b{_ALONE}\b(?: with)? "
    rf"{_THING}(?: (?:and )?nothing else)?[ \t]*"
    r"(?:[.!]|$|\n|(?: for| of| in)?(?: this| the following| that| it)?:(?=\s))",
    re.IGNORECASE,
)
_LAST_LINE = re.compile(
    rf"(?:^|(?<=[.?!\n]))[^.?!\n]{{0,200}}?\b(?:last|final) line\b[^.?!\n]{{0,60}}\b{_ALONE}\b"
    rf"(?: contains?| with| be)? {_THING}[ \t]*(?:[.!]|$|\n)",
    re.IGNORECASE,
)


def requested_format(prompt: str) -> RequestedFormat:
    """Return the format that the prompt requests; PROSE and the unchanged prompt if it requests none."""
    if (given := _given_template(prompt)) is not None:
        return given
    if (match := _LAST_LINE.search(prompt)) is not None and _is_at_an_end(prompt, match):
        return RequestedFormat(prompt=prompt[: match.start()] + prompt[match.end() :], last_line=match["thing"].strip())
    if (match := _ONLY.search(prompt)) is not None and _is_at_an_end(prompt, match):
        rest = prompt[: match.start()] + prompt[match.end() :]
        if (known := _ONE_FORM.fullmatch(match["thing"])) is None:
            return RequestedFormat(prompt=rest, format=AnswerFormat.TEMPLATE, template=f"<{match['thing'].strip()}>")
        return RequestedFormat(prompt=rest, format=AnswerFormat(known[0].lower()))
    if (bare := _BARE.fullmatch(prompt[:200])) is not None and len(prompt) < 200:
        return RequestedFormat(prompt="", format=AnswerFormat(bare[1].lower()))
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


def _given_template(prompt: str) -> RequestedFormat | None:
    match = next(reversed([*_TEMPLATE.finditer(prompt)]), None)
    if match is None or not _is_at_an_end(prompt, match):
        return None
    after = prompt[match.end() :]
    length = _template_length(after)
    if not 0 < length <= MAX_TEMPLATE_CHARS:
        return None
    template = after[:length]
    fenced = _FENCED.fullmatch(template.strip())
    template = fenced[1] if fenced else template.strip()
    if not is_template(template):
        return None
    return RequestedFormat(
        prompt=prompt[: match.start()] + after[length:], format=AnswerFormat.TEMPLATE, template=template
    )


def _template_length(after: str) -> int:
    """The length of the template at the start of ``after``: a fence, balanced brackets, or up to an empty line."""
    if (fenced := _FENCED.match(after)) is not None:
        return fenced.end()
    if after[:1] in ("{", "["):
        depth = 0
        for at, char in enumerate(after[: MAX_TEMPLATE_CHARS + 1]):
            depth += (char in "{[") - (char in "}]")
            if depth == 0 and after[at + 1 : at + 2] in ("", "\n", ".", " "):
                return at + 1
    end = after.find("\n\n")
    whole = after if end < 0 else after[:end]
    question = re.search(r"\n[^\n<>{}\[\]]*\?[ \t]*(?:\n|\Z)", whole)  # comes after the format
    return question.start() if question else len(whole)


PLACEHOLDER = re.compile(r"<([^<>\n]{1,60})>|\{([A-Za-z][\w .-]{0,40})\}|\[([A-Za-z][\w .-]{0,40})\]|(\.\.\.|…|_{3,})")
"""Placeholders for values: ``<score>``, ``{score}``, ``[score]``, ``...``."""


def is_template(text: str) -> bool:
    """Whether a text has something to fill in: placeholders, or the keys of a JSON object."""
    return PLACEHOLDER.search(text) is not None or re.search(r"[\"']\w[\w .-]*[\"']\s*:", text) is not None
