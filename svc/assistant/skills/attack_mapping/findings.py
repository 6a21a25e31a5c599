"""What findings about behaviours in a text hold. Names are those of MITRE ATT&CK; descriptions are our own."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class RankedTechnique(msgspec.Struct, frozen=True):
    """A technique that a sentence may describe, with the words of the sentence that suggest it."""

    id: str
    name: str
    score: float
    words: str


class BehaviourSentence(Facts, frozen=True, kw_only=True, tag="behaviour"):
    """A sentence, and the techniques that it may describe."""

    candidates: list[RankedTechnique]
    """Most likely first; at least one."""
    is_denied: bool
    """Whether the sentence says that the behaviour was not observed."""


class BehaviourTechnique(Facts, frozen=True, kw_only=True, tag="behaviour_technique"):
    """A technique that sentences of the text describe."""

    id: str
    name: str
    what: str
    """A one-line description, or ""."""
    tactics: list[str]
    """Names, in the order of the matrix."""
    score: float
    """That of the best sentence."""
    sentences: int
    """How many sentences describe it."""
    words: list[str]
    """For each piece of evidence, the words that suggest the technique."""
    successor: str | None
    """The ID that replaced a withdrawn one."""
    version: str
    """``ATT&CK 19.0 of 2026-04-28``"""
