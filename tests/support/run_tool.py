"""Runs one skill's tool on bytes, in this process, in the form of input that the tool needs."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator

from svc.assistant.findings import AnyFinding, Finding, Severity, ToolEvent
from svc.assistant.skills.skill import Skill
from svc.assistant.workers import process as worker_process

GRAVE = (Severity.CRITICAL, Severity.HIGH)
NOW = {"now": "2026-11-20T03:12:45+00:00"}


def findings_of(skill: Skill, content: bytes, name: str) -> list[AnyFinding]:
    """What the tool finds in a file with this content."""
    module, _, function = skill.tool.partition(":")
    tool: Callable[..., Iterator[ToolEvent]] = getattr(importlib.import_module(module), function)
    opened = worker_process._InputFile(io.BytesIO(content))
    options = {option: NOW[option] for option in skill.takes if option in NOW}
    return [event for event in tool(opened.content(skill.input), source=name, **options) if isinstance(event, Finding)]
