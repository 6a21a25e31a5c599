"""What is other in NEW than in OLD: answers changed, new, gone; findings added and removed by what they are. Pure.

Answers of a case are paired by their key (the same question about the same evidence), then by their question (the
evidence is another tonight); the text of cells does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from svc_jupyter.report.record import AnswerRecord

Answers = Mapping[str, Sequence[AnswerRecord]]
"""By the name of the case; ``""`` is the one of a notebook that was run once."""


class Change(StrEnum):
    """What became of an answer."""

    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"
    SAME = "same"


class Finding(msgspec.Struct, frozen=True):
    """A finding, as far as two runs can be compared by it."""

    id: str
    kind: str
    severity: str
    title: str


class AnswerDiff(msgspec.Struct, frozen=True, kw_only=True):
    """One question. ``is_same_evidence`` says whether the keys are the same."""

    case: str
    question: str
    change: Change
    is_same_evidence: bool
    added: list[Finding]
    removed: list[Finding]


class ReportDiff(msgspec.Struct, frozen=True):
    """All questions, in the order of NEW, then what is gone; cases that are in one of the two only."""

    answers: list[AnswerDiff]
    new_cases: list[str]
    gone_cases: list[str]

    @property
    def has_changes(self) -> bool:
        """Whether anything is other than it was."""
        return bool(self.new_cases or self.gone_cases) or any(a.change != Change.SAME for a in self.answers)

    def count(self, change: Change) -> int:
        """How many answers changed so."""
        return sum(answer.change == change for answer in self.answers)


def compare(old: Answers, new: Answers) -> ReportDiff:
    """The difference. One case on each side is the same case, whatever its name."""
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
            change = Change.SAME if old.text == new.text and before.keys() == after.keys() else Change.CHANGED
    either = new or old
    return AnswerDiff(
        case=case,
        question=either.question if either else "",
        change=change,
        is_same_evidence=bool(old and new and _has_key(old, new)),
        added=[finding for key, finding in after.items() if key not in before],
        removed=[finding for key, finding in before.items() if key not in after],
    )


def _findings(answer: AnswerRecord | None) -> dict[str, Finding]:
    found = msgspec.convert(answer.findings if answer else [], list[Finding])
    return {finding.id: finding for finding in found}
