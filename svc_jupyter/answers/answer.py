"""The answer to a question, which displays itself as Markdown, text and JSON.

Values that differ between two runs of a notebook (session, time) are in the output's metadata, not in its data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from svc.errors import SvcError
from svc.untrusted.characters import one_line
from svc_jupyter.answers import shown_here
from svc_jupyter.answers.finding_identity import summaries
from svc_jupyter.answers.findings import (
    COLUMNS,
    COVERAGE_COLUMNS,
    coverage_rows,
    reference_in,
    rows_of,
    rows_of_file,
)
from svc_jupyter.answers.picture import KINDS, Picture
from svc_jupyter.answers.signing import is_signed, sign_if_possible
from svc_jupyter.answers.status_mark import (
    marked_markdown,
    marked_text,
    partial_markdown,
    partial_text,
    unverified_markdown,
    unverified_text,
)
from svc_jupyter.answers.table import Table
from svc_jupyter.errors import AskError

if TYPE_CHECKING:
    from pathlib import Path

    from svc import AnswerStatus, Message, Usage

_PURPOSE = "svc answer in a notebook"
_SIGNATURE = "signature"
ReadFile = Callable[[str], bytes]
MIME_TYPE = "application/vnd.svc.answer+json"
Bundle = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where an answer comes from. ``key`` identifies the question with its options, evidence and earlier questions.

    ``evidence`` are the names of the attached files with their SHA-256. Of a stored answer: when it was stored, whether
    it is unchanged (docs/reports.md, "Verified answers"), and its findings file with its SHA-256.
    """

    key: str = ""
    question: str = ""
    is_stored: bool = False
    has_changed: bool = False
    stored_at: float = 0.0
    is_verified: bool = True
    findings_file: Path | None = None
    findings_sha256: str = ""
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Answer:
    """An answer, as ``--into`` assigns it to a variable.

    ``messages`` are the turn's in order: INFOs, sources, the RESULT. ``model`` is the ID of the model that answered.
    ``read_file`` fetches a file of the session by its SHA-256; findings that do not fit into a message are in one.
    ``is_logged`` False: the session is not stored, so the notebook gets what is visible and no data with it.
    """

    messages: tuple[Message, ...] = field(repr=False)
    model: str
    session_id: str
    origin: Origin = Origin()
    read_file: ReadFile | None = field(default=None, repr=False, compare=False)
    is_logged: bool = True

    def __repr__(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return f"<Answer, {len(self.messages)} messages: {first[:80]}>"

    @cached_property
    def raw(self) -> str:
        """The RESULT as the service sent it: Markdown that quotes attacker-controlled text. Not safe to render."""
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == "result")

    @cached_property
    def markdown(self) -> str:
        """The answer as Markdown that is safe to render anywhere; indicators outside code are defanged.

        It begins with a mark if the question was not answered or cancelled, its evidence not examined, or a stored
        answer is not verified.
        """
        from svc.untrusted.markdown import safe_markdown  # imported with the first answer

        shown = marked_markdown(safe_markdown(self.raw), self.status)
        shown = partial_markdown(shown) if self.is_partial else shown
        return shown if self.origin.is_verified else unverified_markdown(shown)

    @cached_property
    def text(self) -> str:
        """The answer without markup, for a ticket or a terminal; indicators outside code are defanged.

        It begins with a mark if the question was not answered or cancelled, its evidence not examined, or a stored
        answer is not verified.
        """
        from svc.untrusted.markdown import plain_text  # imported with the first answer

        shown = marked_text(plain_text(self.raw), self.status)
        shown = partial_text(shown) if self.is_partial else shown
        return shown if self.origin.is_verified else unverified_text(shown)

    @cached_property
    def is_partial(self) -> bool:
        """Whether the question was cancelled, so that this is what was found in the part that was read until then."""
        from svc.messages import PARTIAL_ANSWER_TITLE

        return any(m.message_type == "result" and m.title == PARTIAL_ANSWER_TITLE for m in self.messages)

    @cached_property
    def status(self) -> AnswerStatus | None:
        """How far the question is answered: docs/wire.md, "Answer status". None if it is unknown."""
        from svc.messages import status_of

        return status_of(self.messages)

    @cached_property
    def coverage(self) -> Table:
        """How far each input was read: a list of dicts with ``.to_pandas()`` and ``.to_polars()``.

        Columns: name, state, read_as, unit, understood, total, looked_for, not_covered, reason, skill, findings, size,
        label, total_is_minimum. Empty if it is unknown.
        """
        return Table(coverage_rows(self.messages), COVERAGE_COLUMNS)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The turn's pictures; each displays itself as an image."""
        return tuple(
            Picture(title=one_line(message.title or "picture"), mime_type=str(message.mime_type), content=content)
            for message in self.messages
            if message.message_type == "source" and message.mime_type in KINDS
            for content in [message.get_content()]
            if isinstance(content, bytes)
        )

    @cached_property
    def findings(self) -> Table:
        """The findings, most severe first: a list of dicts with ``.to_pandas()`` and ``.to_polars()``.

        Each has kind, severity, confidence, title, why, techniques, where, excerpt, and the facts of its kind
        (docs/skills.md). Times are texts in ISO 8601; the DataFrames have them as times. Many findings are fetched from
        the session when they are first needed.

        Raises:
            AskError: They cannot be fetched, for example because the session has expired.
        """
        content = self._findings_file
        return Table(rows_of(self.messages) if content is None else rows_of_file(content), COLUMNS)

    @cached_property
    def indicators(self) -> Table:
        """The indicators among the findings, in the same form: type, value (not defanged), defanged, count, scope …

        Raises:
            AskError: They cannot be fetched, for example because the session has expired.
        """
        content = self._findings_file
        if content is not None:
            return Table(rows_of_file(content, "indicator"), COLUMNS)
        return Table([row for row in rows_of(self.messages) if row["kind"] == "indicator"], COLUMNS)

    @cached_property
    def _findings_file(self) -> bytes | None:
        """The file with all findings; None if the messages hold them."""
        named = reference_in(self.messages)
        if named is None:
            return None
        lead = (
            f"the {named.findings:,} findings of this answer are in a file of session {self.session_id}, and only the "
            f"first {named.in_message:,} in its messages"
        )
        if self.read_file is None:
            raise AskError(f"{lead}. Fetch it with read_file({named.sha256!r}) of the session.")
        try:
            return self.read_file(named.sha256)
        except (SvcError, OSError) as error:
            raise AskError(f"{lead}. It cannot be read: {error}. Ask again.") from error

    @cached_property
    def usage(self) -> Usage:
        """The tokens that the turn used."""
        from svc import Usage

        return sum((m.usage for m in self.messages if m.message_type == "result" and m.usage), start=Usage())

    def _ipython_display_(self) -> None:
        if not shown_here.take(self):
            raise NotImplementedError  # so IPython displays the MIME bundle

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[Bundle, Bundle]:
        if not self.is_logged and not os.environ.get("SVC_ANSWERS_KEEP_UNLOGGED"):
            return {"text/markdown": self.markdown, "text/plain": self.text}, {}
        import svc

        found = summaries(rows_of(self.messages))
        shown: Bundle = {"key": self.origin.key, "model": self.model, "text": self.raw, "findings": found}
        data: Bundle = {"text/markdown": self.markdown, "text/plain": self.text, MIME_TYPE: shown}
        if self.status is not None:  # otherwise absent, as in notebooks that were run before answers had a status
            shown["status"] = self.status
        if self.is_partial:
            shown["is_partial"] = True
        last = self.messages[-1] if self.messages else None
        provenance: Bundle = {
            "session_id": self.session_id,
            "turn": last.turn if last else "",
            "time": last.created_at if last else 0.0,
            "svc": svc.__version__,
            "question": self.origin.question,
            "is_stored": self.origin.is_stored,
            "has_changed": self.origin.has_changed,
            "stored_at": self.origin.stored_at,
            "is_verified": self.origin.is_verified,
        }
        if self.origin.evidence:
            provenance["evidence"] = [list(pair) for pair in self.origin.evidence]
        metadata: Bundle = {MIME_TYPE: provenance}
        sign_output(data, metadata)
        return data, metadata


def sign_output(data: MutableMapping[str, object], metadata: MutableMapping[str, object]) -> None:
    """Sign an answer's output, so that it can be checked when the notebook is read. Nothing without a usable key."""
    provenance = metadata.get(MIME_TYPE)
    if isinstance(provenance, dict):
        provenance[_SIGNATURE] = sign_if_possible(_PURPOSE, _signed_part(data, provenance))


def is_signed_output(data: Mapping[str, object], metadata: Mapping[str, object]) -> bool:
    """Whether an answer's output is as ``sign_output`` left it, here or with a shared key."""
    provenance = metadata.get(MIME_TYPE)
    if not isinstance(provenance, dict):
        return False
    return is_signed(_PURPOSE, _signed_part(data, provenance), str(provenance.get(_SIGNATURE, "")))


def _signed_part(data: Mapping[str, object], provenance: Mapping[str, object]) -> dict[str, object]:
    shown = {kind: data.get(kind) for kind in ("text/markdown", "text/plain", MIME_TYPE)}
    return {"data": shown, "provenance": {name: item for name, item in provenance.items() if name != _SIGNATURE}}
