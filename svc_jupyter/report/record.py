"""The contents of ``run.json``: the notebook, its cases, their status and their answers.

It is written when the run begins, as cases end, and at the end; one that still says "running" was killed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from nbformat import NotebookNode

from svc import AnswerStatus
from svc.untrusted.characters import one_line
from svc_jupyter.answers.answer import MIME_TYPE, is_signed_output, sign_output
from svc_jupyter.answers.signing import is_signed, sign_if_possible
from svc_jupyter.answers.status_mark import UNVERIFIED, headline, label, pinned_note
from svc_jupyter.report.outcome import Status

FILE_NAME = "run.json"
VERSION = 1
_PURPOSE = "svc report case"
VERDICT_CHARACTERS = 300
_LAST_SECOND = 2**37  # year 6325; calendars end at 9999
_LATER_CASE_FIELDS = ("title", "failed_cell", "files_from")
_LATER_FIELDS = ("evidence", "changed_evidence")
"""Fields that older records do not have: empty, they are not part of what is signed."""
_CASE_STATUSES = {AnswerStatus.NOT_EXAMINED: Status.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED: Status.NOT_ANSWERED}
"""What one such answer makes of its case; the first one counts."""


class AnswerRecord(msgspec.Struct, frozen=True):
    """An answer in a notebook. ``key`` and ``status`` are empty if an older version ran the notebook.

    ``status`` is the wire's ``answer_status``, empty if it is unknown. ``stored_at`` is when a pinned answer was
    stored. ``is_verified``: the answer is as the analyst gave it, as far as signatures show. ``evidence`` are the names
    of the attached files with their SHA-256, and ``changed_evidence`` says what changed since the last run.
    """

    key: str
    question: str
    model: str
    text: str
    session_id: str
    time: float
    has_changed: bool
    findings: list[dict[str, object]]
    status: str = ""
    is_stored: bool = False
    stored_at: float = 0.0
    is_verified: bool = True
    evidence: list[tuple[str, str]] = []
    changed_evidence: list[str] = []


class CaseRecord(msgspec.Struct, kw_only=True):
    """A case. ``files`` are paths in the report's folder with their SHA-256; ``started`` is 0.0 before it runs.

    ``title`` is the name for people, ``failed_cell`` the number and first line of the cell that failed. ``files_from``
    is when the earlier run started that wrote the files, if this one wrote none; otherwise 0.0. ``signature`` is made
    when the case ends.
    """

    name: str
    fingerprint: str
    parameters: dict[str, object]
    status: Status = Status.NOT_RUN
    failure: str = ""
    verdict: str = ""
    started: float = 0.0
    seconds: float = 0.0
    files: dict[str, str] = {}
    answers: list[AnswerRecord] = []
    title: str = ""
    failed_cell: str = ""
    files_from: float = 0.0
    signature: str = ""

    @property
    def written(self) -> dict[str, str]:
        """The files that this run wrote."""
        return {} if self.files_from else self.files

    def sign(self) -> None:
        """Sign the case, so that a run or a comparison that reads it later can check it."""
        self.signature = sign_if_possible(_PURPOSE, self._signed_part())

    @property
    def is_signed(self) -> bool:
        """Whether the case is as it was signed, here or with a shared key."""
        return is_signed(_PURPOSE, self._signed_part(), self.signature)

    def _signed_part(self) -> dict[str, object]:
        part: dict[str, object] = msgspec.json.decode(msgspec.json.encode(self))
        del part["signature"]
        for each, names in (
            (part, _LATER_CASE_FIELDS),
            *((answer, _LATER_FIELDS) for answer in _dicts(part["answers"])),
        ):
            for name in names:
                if not each[name]:
                    del each[name]
        return part


class RunRecord(msgspec.Struct, kw_only=True):
    """A run of one notebook, once or for each case of a sweep.

    ``state``: running, finished, interrupted. ``title`` is the notebook's first heading.
    """

    version: int = VERSION
    svc: str
    notebook: str
    notebook_sha256: str
    formats: list[str]
    answers: str
    started: float
    seconds: float = 0.0
    state: str = "running"
    title: str = ""
    cases: list[CaseRecord]


def answers_of(notebook: NotebookNode) -> list[AnswerRecord]:
    """Return the answers in the notebook's outputs, in order; one that is displayed again counts once."""
    found: dict[str, AnswerRecord] = {}
    for output, data in outputs_of(notebook):
        found.setdefault(answer_identity(output), _answer(data, output.get("metadata", {})))
    return list(found.values())


def answer_identity(output: NotebookNode) -> str:
    """Return what is the same only of outputs that display the same answer of the same turn."""
    provenance = output.get("metadata", {}).get(MIME_TYPE)
    volatile = provenance if isinstance(provenance, dict) else {}
    turn = [volatile.get(name) for name in ("session_id", "turn", "question")]
    shown = [output["data"].get(kind) for kind in (MIME_TYPE, "text/markdown", "text/plain")]
    return json.dumps([turn, shown], sort_keys=True, default=str)


def distrust_unsigned(notebook: NotebookNode) -> None:
    """Mark the answers in the outputs of a notebook that was read from a file, unless their signature is valid."""
    for output, _ in outputs_of(notebook):
        metadata = output.setdefault("metadata", NotebookNode())
        if not is_signed_output(output["data"], metadata):
            provenance = metadata.get(MIME_TYPE)
            known = provenance if isinstance(provenance, dict) else {}
            metadata[MIME_TYPE] = NotebookNode(known) | {"is_verified": False}


def sign_answers(notebook: NotebookNode) -> None:
    """Sign the answers in the notebook's outputs as they are now."""
    for output, _ in outputs_of(notebook):
        sign_output(output["data"], output["metadata"])


def status_of_answers(answers: Sequence[AnswerRecord]) -> Status:
    """Return the status of a case whose cells all ran: one unanswered question is enough for it not to be OK.

    What an answer that is not verified says of itself does not count.
    """
    if not all(answer.is_verified for answer in answers):
        return Status.NOT_VERIFIED
    return next((_CASE_STATUSES[s] for s in _CASE_STATUSES if any(a.status == s for a in answers)), Status.OK)


def count_statuses(answers: Sequence[AnswerRecord]) -> str:
    """Summarise how far the questions are answered: "2 answered, 1 not examined, 1 not verified"."""
    counts = Counter(label(answer.status) if answer.is_verified else UNVERIFIED for answer in answers)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def describe_pinned(answers: Sequence[AnswerRecord]) -> str:
    """Say which answers were not asked again, and from when they are; empty if there are none."""
    dates = [answer.stored_at for answer in answers if answer.is_stored]
    if not dates:
        return ""
    which = "1 is a" if len(dates) == 1 else f"{len(dates)} are each a"
    return f"{which} {pinned_note(min(dates))}" + (" (the oldest)" if len(dates) > 1 else "")


def changed_evidence(answers: Sequence[AnswerRecord]) -> list[str]:
    """Return what changed in the evidence since the last run, each change once, each on one line."""
    return list(dict.fromkeys(one_line(text) for answer in answers for text in answer.changed_evidence))


def verdict_of(notebook: NotebookNode) -> str:
    """Return the headline of the answer that decides the case's status, else of the first one; empty if none has one.

    A mark that is a line of its own is left out, because the case's status says the same.
    """
    decisive = next((s for s in _CASE_STATUSES if any(d.get("status") == s for _, d in outputs_of(notebook))), None)
    for output, data in outputs_of(notebook):
        if decisive in (None, data.get("status")) and (line := headline(str(output["data"].get("text/plain", "")))):
            return one_line(line, limit=VERDICT_CHARACTERS)
    return ""


def title_of(notebook: NotebookNode) -> str:
    """Return the first heading of the notebook's first cell as text; empty if there is none."""
    cell = next(iter(notebook.cells), None)
    if cell is None or cell.cell_type != "markdown":
        return ""
    lines = (line.strip() for line in cell.source.splitlines())
    return one_line(next((line.lstrip("#").strip(" #") for line in lines if line.startswith("#")), ""))


def outputs_of(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, dict[str, object]]]:
    """Yield the outputs of a notebook that are answers, with the data of the answer."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {}).get(MIME_TYPE)
            if isinstance(data, dict):
                yield output, data


def _answer(data: dict[str, object], metadata: dict[str, object]) -> AnswerRecord:
    provenance = metadata.get(MIME_TYPE)
    volatile = provenance if isinstance(provenance, dict) else {}
    findings, changed = data.get("findings"), volatile.get("changed_evidence")
    return AnswerRecord(
        key=str(data.get("key", "")),
        question=str(volatile.get("question", "")),
        model=str(data.get("model", "")),
        text=str(data.get("text", "")),
        session_id=str(volatile.get("session_id", "")),
        time=_time(volatile.get("time")),
        has_changed=bool(volatile.get("has_changed", False)),
        findings=[item for item in findings if isinstance(item, dict)] if isinstance(findings, list) else [],
        status=str(data.get("status") or ""),
        is_stored=bool(volatile.get("is_stored", False)),
        stored_at=_time(volatile.get("stored_at")),
        is_verified=volatile.get("is_verified", True) is True,
        evidence=_evidence(volatile.get("evidence")),
        changed_evidence=[str(text) for text in changed] if isinstance(changed, list) else [],
    )


def _evidence(value: object) -> list[tuple[str, str]]:
    pairs = value if isinstance(value, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]


def _dicts(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _time(value: object) -> float:
    """Seconds since 1970 that a calendar has; 0.0 for anything else."""
    return float(value) if isinstance(value, int | float) and 0 <= value < _LAST_SECOND else 0.0
