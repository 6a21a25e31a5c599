"""Compare two runs: changed, new and removed answers; added and removed findings regardless of their wording.

Answers of a case are paired by their key (the same question about the same evidence), then by their question (the
evidence is another tonight); the text of cells does not count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from svc_jupyter.report.record import AnswerRecord

Answers = Mapping[str, Sequence[AnswerRecord]]
"""Answers by the name of the case; ``""`` for a notebook that was run once."""


class Change(StrEnum):
    """How an answer changed."""

    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"
    SAME = "same"
    UNVERIFIED = "not verified"


class Finding(msgspec.Struct, frozen=True):
    """The fields of a finding that are compared."""

    id: str
    kind: str
    severity: str
    title: str


class AnswerDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of one question. ``is_same_evidence``: the keys of the answers are equal.

    The statuses are the wire's ``answer_status``, empty if unknown. ``is_verified``: both answers are; one that is not
    is never "same".
    """

    case: str
    question: str
    change: Change
    is_same_evidence: bool
    added: list[Finding]
    removed: list[Finding]
    old_status: str
    new_status: str
    is_verified: bool


class ReportDiff(msgspec.Struct, frozen=True):
    """All questions in the order of NEW, then the removed ones; and the cases that only one run has."""

    answers: list[AnswerDiff]
    new_cases: list[str]
    gone_cases: list[str]

    @property
    def has_changes(self) -> bool:
        """Whether anything changed."""
        return bool(self.new_cases or self.gone_cases) or any(a.change != Change.SAME for a in self.answers)

    def count(self, change: Change) -> int:
        """Count the answers that changed in this way."""
        return sum(answer.change == change for answer in self.answers)


def compare(old: Answers, new: Answers) -> ReportDiff:
    """Compare two runs. If each has one case, these are compared regardless of their names."""
    if len(old) == len(new) == 1:
        old = {next(iter(new)): next(iter(old.values()))}
    diffs = [diff for name in new for diff in _case(name, old.get(name, ()), new[name])]
    diffs += [diff for name in old if name not in new for diff in _case(name, old[name], ())]
    return ReportDiff(diffs, [n for n in new if n not in old], [n for n in old if n not in new])


def _case(name: str, old: Sequence[AnswerRecord], new: Sequence[AnswerRecord]) -> list[AnswerDiff]:
    left = list(old)
    partners: dict[int, AnswerRecord] = {}
    for is_partner in (_has_key, _has_question):
        for index, answer in enumerate(new):
            partner = next((o for o in left if index not in partners and is_partner(o, answer)), None)
            if partner is not None:
                partners[index] = partner
                left.remove(partner)
    diffs = [_answer(name, partners.get(index), answer) for index, answer in enumerate(new)]
    return diffs + [_answer(name, answer, None) for answer in left]


def _has_key(old: AnswerRecord, new: AnswerRecord) -> bool:
    return bool(old.key) and old.key == new.key


def _has_question(old: AnswerRecord, new: AnswerRecord) -> bool:
    return old.question == new.question


def _answer(case: str, old: AnswerRecord | None, new: AnswerRecord | None) -> AnswerDiff:
    before, after = _findings(old), _findings(new)
    match old, new:
        case None, _:
            change = Change.NEW
        case _, None:
            change = Change.GONE
        case _:
            is_same = old.text == new.text and before.keys() == after.keys() and not _has_other_status(old, new)
            change = Change.SAME if is_same else Change.CHANGED
    is_verified = all(answer.is_verified for answer in (old, new) if answer is not None)
    either = new or old
    return AnswerDiff(
        case=case,
        question=either.question if either else "",
        change=Change.UNVERIFIED if change == Change.SAME and not is_verified else change,
        is_same_evidence=bool(old and new and _has_key(old, new)),
        added=[finding for key, finding in after.items() if key not in before],
        removed=[finding for key, finding in before.items() if key not in after],
        old_status=old.status if old else "",
        new_status=new.status if new else "",
        is_verified=is_verified,
    )


def _has_other_status(old: AnswerRecord, new: AnswerRecord) -> bool:
    """Whether the status changed. One that is only known tonight did not change."""
    return bool(old.status and new.status) and old.status != new.status


def _findings(answer: AnswerRecord | None) -> dict[str, Finding]:
    """Return the findings by ID; what has not the fields of one is left out."""
    found: dict[str, Finding] = {}
    for item in answer.findings if answer else []:
        with contextlib.suppress(msgspec.ValidationError):
            finding = msgspec.convert(item, Finding)
            found[finding.id] = finding
    return found
