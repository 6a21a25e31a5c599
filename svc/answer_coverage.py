"""What an answer covers: how far each input was read, and which parts of the question were answered.

The content of a ``source`` message with the title ``coverage``; docs/wire.md, "Answer status". Unknown fields are
ignored, and states are open strings, so the service may be newer.
"""

from __future__ import annotations

import msgspec

TITLE = "coverage"  # of the source message


class InputCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """How far one input was read: a file, an archive member, or the text of the question.

    ``state`` is ``read``, ``partly read`` or ``not examined``. ``understood`` of ``total`` units were read, or of more
    if ``total_is_minimum``; ``reason`` says why the others were not. ``skill`` names the tool that read most of it,
    ``findings`` counts those of all tools. ``not_covered`` says what such an input may hold that no tool looked for.
    ``size`` is in bytes, ``label`` the type detected from the content.
    """

    name: str
    state: str
    read_as: str = ""
    unit: str = ""
    understood: int = 0
    total: int = 0
    looked_for: str = ""
    not_covered: str = ""
    reason: str = ""
    skill: str = ""
    findings: int = 0
    size: int = 0
    label: str = ""
    total_is_minimum: bool = False


class ClauseCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one part of the question. ``state`` is ``answered``, ``partly answered`` or ``cannot tell``."""

    text: str
    state: str
    reason: str = ""


class AnswerCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer covers. An input that was not examined is listed, too."""

    inputs: tuple[InputCoverage, ...] = ()
    clauses: tuple[ClauseCoverage, ...] = ()


_DECODER = msgspec.json.Decoder(AnswerCoverage)


def read_coverage(content: str) -> AnswerCoverage | None:
    """Return the coverage in a message's content, or None if it has another form."""
    try:
        return _DECODER.decode(content)
    except msgspec.MsgspecError:
        return None
