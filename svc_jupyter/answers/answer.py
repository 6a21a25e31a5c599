"""The answer to a question: shows itself as Markdown, as text and as data, and knows where it came from.

What may differ between two runs of a notebook (session, time) stands in the output's metadata, never in its data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from svc.untrusted.characters import one_line
from svc_jupyter.answers.finding_identity import summaries
from svc_jupyter.answers.findings import Row, frame_of, rows_of
from svc_jupyter.answers.picture import KINDS, Picture

if TYPE_CHECKING:
    import pandas

    from svc import Message, Usage

MIME_TYPE = "application/vnd.svc.answer+json"
Bundle = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where an answer comes from. ``key`` names question, options, evidence and what was asked before."""

    key: str = ""
    question: str = ""
    is_stored: bool = False
    has_changed: bool = False


@dataclass(frozen=True)
class Answer:
    """What ``--into`` puts into a variable.

    ``messages`` are the turn's as they came: INFOs, sources, the RESULT. ``model`` is the id of what answered.
    """

    messages: tuple[Message, ...] = field(repr=False)
    model: str
    session_id: str
    origin: Origin = Origin()

    def __repr__(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return f"<Answer, {len(self.messages)} messages: {first[:80]}>"

    @cached_property
    def raw(self) -> str:
        """The RESULT as the service sent it: Markdown that quotes what attackers wrote. Not safe to render."""
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == "result")

    @cached_property
    def markdown(self) -> str:
        """The answer as Markdown that is safe to render anywhere; indicators outside code are defanged."""
        from svc.untrusted.markdown import safe_markdown  # loaded with the first answer

        return safe_markdown(self.raw)

    @cached_property
    def text(self) -> str:
        """The answer without markup, for a ticket or a terminal; indicators outside code are defanged."""
        from svc.untrusted.markdown import plain_text  # loaded with the first answer

        return plain_text(self.raw)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """What the turn drew; each shows itself as an image."""
        return tuple(
            Picture(title=one_line(message.title or "picture"), mime_type=str(message.mime_type), content=content)
            for message in self.messages
            if message.message_type == "source" and message.mime_type in KINDS
            for content in [message.get_content()]
            if isinstance(content, bytes)
        )

    @cached_property
    def findings(self) -> pandas.DataFrame | list[Row]:
        """What was found, worst first: a DataFrame where pandas is installed, else a list of dicts.

        Columns: kind, severity, confidence, title, why, techniques, where, excerpt, and what a finding of its kind has.
        """
        return frame_of(rows_of(self.messages))

    @cached_property
    def indicators(self) -> pandas.DataFrame | list[Row]:
        """The findings that are indicators, in the same form: type, value (as it works), defanged, count, scope …"""
        return frame_of([row for row in rows_of(self.messages) if row["kind"] == "indicator"])

    @cached_property
    def usage(self) -> Usage:
        """The tokens of the turn."""
        from svc import Usage

        return sum((m.usage for m in self.messages if m.message_type == "result" and m.usage), start=Usage())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[Bundle, Bundle]:
        import svc

        found = summaries(rows_of(self.messages))
        data: Bundle = {
            "text/markdown": self.markdown,
            "text/plain": self.text,
            MIME_TYPE: {"key": self.origin.key, "model": self.model, "text": self.raw, "findings": found},
        }
        last = self.messages[-1] if self.messages else None
        provenance = {
            "session_id": self.session_id,
            "turn": last.turn if last else "",
            "time": last.created_at if last else 0.0,
            "svc": svc.__version__,
            "question": self.origin.question,
            "is_stored": self.origin.is_stored,
            "has_changed": self.origin.has_changed,
        }
        return data, {MIME_TYPE: provenance}
