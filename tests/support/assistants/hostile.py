"""An assistant that puts its prompt into every field of every message: ``--assistant hostile:Everywhere``.

It may be a hostile service, a model that quotes an attacker, or a forged answer: clients must show all of them alike.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.errors import UpstreamError
from svc.messages import AnswerStatus, MessageType, MimeType

MIME_TYPES = (MimeType.TEXT, MimeType.MARKDOWN, MimeType.HTML, MimeType.SVG, MimeType.JAVASCRIPT, MimeType.CSV)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>{0}</title>{0}</svg>'
FAILS = "fail: "
"""How a prompt begins whose turn ends with an error that has the rest of it as its text."""


class Everywhere(Assistant):
    """Every kind of step with the prompt in each field, then an answer with it in each construct of Markdown."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        text = turn.prompt.removeprefix(FAILS)
        for message_type in (MessageType.INFO, MessageType.THINKING, MessageType.DEBUG):
            for mime_type in MIME_TYPES:
                content = encoded(text, mime_type)
                yield Step(content=content, message_type=message_type, mime_type=mime_type, title=text, actor=text)
        for title, content in sources(text):
            yield Step(
                content=json.dumps(content),
                message_type=MessageType.SOURCE,
                mime_type=MimeType.JSON,
                title=title,
                actor=text,
            )
        picture = encoded(SVG.format(text), MimeType.SVG)
        yield Step(content=picture, message_type=MessageType.SOURCE, mime_type=MimeType.SVG, title=text)
        if turn.prompt.startswith(FAILS):
            raise UpstreamError(text)
        yield Answer(markdown=everywhere(text), actor=text, status=AnswerStatus.NOT_EXAMINED)


def encoded(text: str, mime_type: MimeType) -> str:
    """The text as content of this type."""
    return text if mime_type.is_text else base64.b64encode(text.encode()).decode()


def sources(text: str) -> list[tuple[str, object]]:
    """What the analyst's ``source`` messages hold, with the text in every field."""
    finding = {"kind": text, "severity": text, "title": text, "file": text, "where": text, "evidence": text}
    known = finding | {"kind": "rule_hit", "severity": "high", "rule": text, "tactic": text, "technique": text}
    outcome = {"name": text, "state": text, "read_as": text, "unit": text, "understood": 0, "total": 1, "reason": text}
    return [
        ("findings", {"findings": [finding, known]}),
        ("coverage", {"status": text, "inputs": [outcome], "clauses": [{"text": text, "state": text}]}),
        ("chart", {"facts": {"kind": "chart", "title": text, "labels": [text], "values": [1]}}),
        (text, {text: text, "facts": {"kind": text, text: [text]}}),
    ]


def everywhere(text: str) -> str:
    """Markdown with the text in each construct: alone, and where a line or a fence ends what it is in."""
    line = " ".join(text.split())
    cell = line.replace("|", "\\|")
    return "\n\n".join(
        (
            text,
            f"# {line}",
            f"- {line}\n  - {line}",
            f"> {line}",
            f"| {cell} | b |\n| --- | --- |\n| {cell} | `{cell}` |",
            f"**{line}** and *{line}* and ~~{line}~~",
            f"`{line}`",
            f"```\n{text}\n```\n{text}",
            f"[{line}]({line})",
            f"![{line}]({line})",
            f"[one][{line}]\n\n[{line}]: {line}",
            f"<div title='{line}'>{line}</div>",
            f"$${line}$$ \\({line}\\)",
            f"```mermaid\n{text}\n```",
        )
    )
