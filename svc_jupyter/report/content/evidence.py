"""Remember which evidence the questions of each case had, so that a refresh can say which of it changed.

A question about other evidence has another key, so its answer is not known from before, and cannot differ from it. What
is remembered is beside the stored answers: one signed file per notebook and case, with names and SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from nbformat import NotebookNode

from svc._atomic_file import write_atomic
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.signing import is_signed, sign_if_possible
from svc_jupyter.report.record import AnswerRecord, answers_of, outputs_of

FOLDER = "evidence"
UNVERIFIED = "the record of the last run's evidence is damaged, edited or from another machine"
_PURPOSE = "svc report evidence"
_VERSION = 1
Evidence = Sequence[tuple[str, str]]


class _Asked(msgspec.Struct):
    question: str
    evidence: list[tuple[str, str]]


class _Book(msgspec.Struct):
    version: int
    questions: list[_Asked]
    signature: str = ""

    def signed_part(self) -> list[object]:
        return [self.version, [[one.question, [list(pair) for pair in one.evidence]] for one in self.questions]]


class EvidenceBook:
    """The evidence of a notebook's cases. ``is_compared``: this run is a refresh."""

    def __init__(self, store: Path, notebook: Path, *, is_compared: bool) -> None:
        self._folder = store / FOLDER
        self._notebook = Path(os.path.relpath(notebook.resolve(), store.resolve().parent)).as_posix()
        self._is_compared = is_compared

    def mark(self, case: str, notebook: NotebookNode) -> None:
        """Note in the outputs of an executed notebook which evidence changed since the last run of the case."""
        path = self._path(case)
        if not self._is_compared or not path.exists():
            return
        known = _read(path)
        answers = answers_of(notebook)
        if known is None:
            changes = {answer.key: [UNVERIFIED] for answer in answers}
        else:
            pairs = zip(answers, _earlier(answers, known), strict=True)
            changes = {answer.key: describe(old, answer.evidence) for answer, old in pairs if old is not None}
        for output, data in outputs_of(notebook):
            provenance = output.get("metadata", {}).get(MIME_TYPE)
            if isinstance(provenance, dict) and (changed := changes.get(str(data.get("key", "")))):
                provenance["changed_evidence"] = changed

    def remember(self, case: str, answers: Sequence[AnswerRecord]) -> None:
        """Store the evidence of a case that was run completely, if it ever had any. Raises OSError."""
        path = self._path(case)
        if not path.exists() and not any(answer.evidence for answer in answers):
            return
        asked = [_Asked(answer.question, list(answer.evidence)) for answer in answers]
        book = _Book(_VERSION, asked)
        book.signature = sign_if_possible(_PURPOSE, book.signed_part())
        write_atomic(path, msgspec.json.encode(book) + b"\n")

    def _path(self, case: str) -> Path:
        name = hashlib.sha256(json.dumps([self._notebook, case]).encode()).hexdigest()
        return self._folder / f"{name}.json"


def describe(before: Evidence, now: Evidence) -> list[str]:
    """Return what changed, by content: "auth.log changed", "a.log is new", "b.log is gone"."""
    old, new = Counter(digest for _, digest in before), Counter(digest for _, digest in now)
    gone = _without(before, new)
    added = _without(now, old)
    changed = [name for name in added if name in gone]
    return [
        *(f"{name} changed" for name in changed),
        *(f"{name} is new" for name in added if name not in changed),
        *(f"{name} is gone" for name in gone if name not in changed),
    ]


def _without(files: Evidence, others: Counter[str]) -> list[str]:
    """The names of the files whose content is not among the others."""
    left = others.copy()
    names = []
    for name, digest in files:
        if left[digest]:
            left[digest] -= 1
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def _earlier(answers: Sequence[AnswerRecord], known: _Book) -> list[Evidence | None]:
    """For each answer the evidence of its question in the last run, None if it was not asked.

    A question that names a date or a file is another one each night: what has no equal is paired in order.
    """
    left = list(known.questions)
    found: list[Evidence | None] = [None] * len(answers)
    for is_equal in (True, False):
        for index, answer in enumerate(answers):
            if found[index] is None and left:
                match = next((one for one in left if not is_equal or one.question == answer.question), None)
                if match is not None:
                    left.remove(match)
                    found[index] = match.evidence
    return found


def _read(path: Path) -> _Book | None:
    """The book, None if it is not as it was signed."""
    try:
        book = msgspec.json.decode(path.read_bytes(), type=_Book)
    except (OSError, msgspec.MsgspecError):
        return None
    is_ours = book.version == _VERSION and is_signed(_PURPOSE, book.signed_part(), book.signature)
    return book if is_ours else None
