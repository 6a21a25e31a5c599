"""The types of a requested format. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

UNKNOWN = "unknown"
"""What a requested format says if the answer is not known."""
CANNOT_TELL = "cannot tell"
"""What an answer of yes or no says if it is not known."""


class AnswerFormat(StrEnum):
    """How an answer looks."""

    PROSE = "prose"
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TEMPLATE = "template"
    SCHEMA = "schema"
    XML = "xml"
    YES_NO = "yes or no"
    CHOICE = "choice"
    LIST = "comma-separated list"
    BULLETS = "bullets"
    NUMBERED = "numbered list"
    SENTENCES = "sentences"
    LINES = "one per line"


class Choice(msgspec.Struct, frozen=True):
    """One of the answers to choose from: ``A`` and its text, or a word that is both."""

    label: str
    text: str


class RequestedFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The requested format, and ``prompt`` without the words about it.

    ``template`` is the text of a TEMPLATE or an XML skeleton, the JSON of a SCHEMA, or what LINES or BULLETS list
    ("accounts"). ``columns`` are the headers of a
    TABLE or CSV. ``choices`` are the answers to choose from. ``count`` is the number of bullets or sentences; 0 if the
    prompt gives none. ``last_line`` names the value that the last line of an answer in prose must hold ("CWE ID"), and
    ``last_line_form`` says how (``Answer: {}``). ``is_bare``: data without a code fence.
    ``is_fenced``: a fence is asked for. ``is_required``: by the
    service's API, so that nothing in the prompt changes it.
    """

    prompt: str
    format: AnswerFormat = AnswerFormat.PROSE
    template: str = ""
    columns: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    count: int = 0
    last_line: str = ""
    last_line_form: str = "{}"
    is_one_word: bool = False
    is_list: bool = False
    is_parent_technique: bool = False
    is_bare: bool = False
    is_fenced: bool = False
    is_required: bool = False

    @property
    def is_given(self) -> bool:
        """Whether any format is requested."""
        return self.format is not AnswerFormat.PROSE or bool(self.last_line)

    @property
    def is_data(self) -> bool:
        """Whether a sentence before the answer would break its format."""
        return self.format not in (AnswerFormat.PROSE, AnswerFormat.TABLE)

    @property
    def _is_json_shape(self) -> bool:
        is_template = self.format is AnswerFormat.TEMPLATE and self.template.lstrip().startswith(("{", "["))
        return self.format is AnswerFormat.SCHEMA or is_template

    def with_prompt(self, prompt: str) -> RequestedFormat:
        """The same format for another prompt."""
        return msgspec.structs.replace(self, prompt=prompt)

    def for_prompt(self, inner: RequestedFormat) -> RequestedFormat:
        """This format of the instructions, or that of the prompt if it requests one and this one is not required."""
        if self.is_required and self.format is AnswerFormat.JSON and inner.template.lstrip().startswith("{"):
            return msgspec.structs.replace(inner, is_bare=True, is_required=True)
        if self.is_required or not inner.is_given:
            return self.with_prompt(inner.prompt)
        if self._is_json_shape and inner.format is AnswerFormat.JSON:  # the prompt repeats what the shape is written in
            return msgspec.structs.replace(self, prompt=inner.prompt, is_bare=not inner.is_fenced)
        is_bare = inner.is_bare or (self.is_bare and inner.format is self.format)
        return msgspec.structs.replace(inner, is_bare=is_bare)


PLACEHOLDER = re.compile(r"<([^<>\n]{1,60})>|\{([A-Za-z][\w .-]{0,40})\}|\[([A-Za-z][\w .-]{0,40})\]|(\.\.\.|…|_{3,})")
"""Placeholders for values: ``<score>``, ``{score}``, ``[score]``, ``...``."""


def is_template(text: str) -> bool:
    """Whether a text has something to fill in: placeholders, or the keys of a JSON object."""
    return PLACEHOLDER.search(text) is not None or re.search(r"[\"']\w[\w .-]*[\"']\s*:", text) is not None
