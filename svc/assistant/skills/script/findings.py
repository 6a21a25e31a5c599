"""What findings about scripts and commands hold."""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts


class CommandTechnique(msgspec.Struct, frozen=True):
    """An ATT&CK technique that a script shows, and the words that show it."""

    id: str
    score: float
    shown_by: str


class ScriptSummary(Facts, frozen=True, kw_only=True, tag="script"):
    """A script as a whole; it was not executed."""

    verdict: Literal["malicious", "suspicious", "unusual", "ordinary"]
    language: str
    stages: int
    """The script itself and everything that it builds, decodes or passes to another shell."""
    hidden_stages: int
    """Stages that cannot be read in the script."""
    parts: int
    """Commands and calls in all stages."""
    reasons: list[str]
    """What led to the verdict, as ends of a sentence that begins with "it"; the worst first."""
    ranked: list[CommandTechnique]
    """Most likely first."""
    table_version: str
    """Version of the table of techniques."""
    table_date: str


class ScriptBehaviour(Facts, frozen=True, kw_only=True, tag="script_behaviour"):
    """Something that the script does and an analyst needs to know."""

    behaviour: str
    does: str
    """The category: download, persistence, credential access, …"""
    stage: int
    """Number of the first stage that has it, from 1."""


class ScriptStage(Facts, frozen=True, kw_only=True, tag="script_stage"):
    """Code that another stage builds, decodes or passes to another shell."""

    stage: int
    """From 1, which is the script itself."""
    parent: int
    """Number of the stage that it comes from."""
    depth: int
    """1 for the script itself."""
    language: str
    how: str
    """How the stage was obtained: ``decoded: Base64``, ``command passed to cmd``."""
    is_hidden: bool
    """Whether it cannot be read in its parent."""
    form: str
    """``text`` or a file type."""
    size: int
    """Characters."""
    text: str
    """The beginning; "" if it is not text."""


class ScriptPart(Facts, frozen=True, kw_only=True, tag="script_part"):
    """A command or a call."""

    stage: int
    program: str
    words: str
    """What it does, as the end of a sentence that begins with "it"; "" if the program is unknown."""
    ranked: list[str]
    """IDs of the ATT&CK techniques that it shows, most likely first."""
