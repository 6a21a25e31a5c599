"""The messages with a turn's findings: one with as many as a message holds, worst first, and a file with all of them.

The file exists only if a message cannot hold all findings. Clients read it if they need more than the first ones
(docs/wire.md, "Findings").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc import findings_file
from svc.assistant import spool
from svc.assistant.findings import AnyFinding
from svc.assistant.turn import Step, StepFile
from svc.findings_file import Reference
from svc.messages import MessageType, MimeType, State

FINDINGS_TITLE = "findings"
MAX_MESSAGE_BYTES = 1_000_000  # of the JSON as text within JSON: a message may have 1 MiB (docs/wire.md, "Limits")


def findings_steps(findings: Sequence[AnyFinding]) -> list[Step]:
    """The ``source`` message with the most severe findings and, if it cannot hold all, the one with the file."""
    encoded, left_out = findings_json(findings)
    steps = [_source(FINDINGS_TITLE, encoded)]
    return [*steps, _file_step(findings, len(findings) - left_out)] if left_out else steps


def findings_json(findings: Sequence[AnyFinding]) -> tuple[str, int]:
    """The findings as a JSON list, worst first, and the number omitted because a message may hold no more."""
    encoded: list[bytes] = []
    size = 2
    for finding in spool.worst_first(findings):
        piece = msgspec.json.encode(finding)
        size += len(piece) + piece.count(b'"') + piece.count(b"\\") + 1
        if size > MAX_MESSAGE_BYTES:
            break
        encoded.append(piece)
    return (b"[" + b",".join(encoded) + b"]").decode(), len(findings) - len(encoded)


def _file_step(findings: Sequence[AnyFinding], in_message: int) -> Step:
    pieces = spool.file_pieces(findings)
    sha256 = spool.digest(pieces)
    name = f"findings-{sha256[:8]}.jsonl.gz"
    reference = Reference(
        findings_file=name,
        sha256=sha256,
        size=sum(map(len, pieces)),
        findings=len(findings),
        in_message=in_message,
    )
    step = _source(findings_file.TITLE, msgspec.json.encode(reference).decode())
    return msgspec.structs.replace(step, file=StepFile(name=name, label=findings_file.LABEL, pieces=pieces))


def _source(title: str, content: str) -> Step:
    return Step(
        content=content,
        message_type=MessageType.SOURCE,
        mime_type=MimeType.JSON,
        state=State.GROUNDING,
        title=title,
    )
