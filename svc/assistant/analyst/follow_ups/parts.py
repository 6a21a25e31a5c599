"""A further question that asks several things: each part is answered as it would be alone, then all are one answer.

A part can refer to the one before it, as to an earlier question of the session.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clauses import CLAUSE_CHARS, ClauseState, asks_something, pieces_of
from svc.assistant.analyst.contract import ClauseOutcome, Contract
from svc.assistant.analyst.findings_messages import FINDINGS_TITLE, findings_steps
from svc.assistant.analyst.follow_ups.conversation import joined_reply, same_question
from svc.assistant.analyst.follow_ups.known import contract_of_exchange, known_of
from svc.assistant.analyst.follow_ups.reading import MAX_CHARS
from svc.assistant.analyst.format_types import AnswerFormat, RequestedFormat
from svc.assistant.analyst.languages import is_foreign
from svc.assistant.analyst.plan import question_of
from svc.assistant.findings import AnyFinding
from svc.assistant.skills.catalogue import decode_findings
from svc.assistant.turn import Answer, Exchange, Step, Turn
from svc.messages import AnswerStatus, MessageType
from svc.untrusted.markup import code_span

MAX_PARTS = 3
_FOLD = "<details>"
_STATES = {
    AnswerStatus.ANSWERED: ClauseState.ANSWERED,
    AnswerStatus.PARTLY_ANSWERED: ClauseState.PARTLY_ANSWERED,
}


class PartAnswer:
    """What answers one part of a question."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.answer: Answer = Answer(markdown="", status=AnswerStatus.NOT_ANSWERED)
        self._sources: list[Step] = []

    def take(self, step: Step | Answer) -> Step | None:
        """Keep the answer and its messages with data; returns any other message, which is shown as it comes."""
        if isinstance(step, Answer):
            self.answer = step
        elif step.message_type is MessageType.SOURCE:
            self._sources.append(step)
        else:
            return step
        return None

    @property
    def opening(self) -> str:
        """The answer without what is folded, which comes below the openings of all parts."""
        return self.answer.markdown.partition(_FOLD)[0].strip()

    @property
    def fold(self) -> str:
        """What is folded in the answer."""
        _, mark, rest = self.answer.markdown.partition(_FOLD)
        return (mark + rest).strip()

    @property
    def exchange(self) -> Exchange:
        """The part as an earlier question of the session."""
        sources = tuple(step.content for step in self._sources)
        return Exchange(prompt=self.text, answer=self.answer.markdown, sources=sources)

    @property
    def contract(self) -> Contract | None:
        """What was examined for it; None if it is answered from what was known."""
        return contract_of_exchange(self.exchange)

    @property
    def findings(self) -> list[AnyFinding]:
        """Its findings, without those in a file."""
        found = [step.content for step in self._sources if step.title == FINDINGS_TITLE]
        return [] if self.has_file else [one for content in found for one in decode_findings(content)]

    @property
    def has_file(self) -> bool:
        """Whether a message cannot hold its findings."""
        return any(step.file is not None for step in self._sources)

    @property
    def whole_sources(self) -> list[Step]:
        """The messages with data that are sent as they are: pictures, and findings of which most are in a file."""
        covered = self.contract is not None
        return [
            step
            for step in self._sources
            if (step.title != FINDINGS_TITLE or self.has_file) and not (covered and step.content.startswith("{"))
        ]


def parts_of(turn: Turn, requested: RequestedFormat) -> list[str]:
    """The parts of a further question, if each of them must be answered by itself; else none."""
    prompt = requested.prompt
    question = question_of(prompt) if len(prompt) <= MAX_CHARS else ""
    is_plain = requested.format is AnswerFormat.PROSE and question.strip() == prompt.strip()
    if not turn.history or any(file.is_new for file in turn.files) or not is_plain or is_foreign(turn.language):
        return []
    pieces = [question[start:stop].strip(" ,") for start, stop in pieces_of(question)]
    if not 1 < len(pieces) <= MAX_PARTS or not all(map(asks_something, pieces)):
        return []
    if same_question(turn.prompt, turn.history) or (known := known_of(turn.history, turn.made_files)) is None:
        return []
    return pieces if joined_reply(question, turn.language, known) is None else []


def together(parts: Sequence[PartAnswer]) -> list[Step | Answer]:
    """The last messages of the turn: what was found for all parts, and one answer with a part for each."""
    findings = {msgspec.json.encode(one): one for part in parts for one in part.findings}
    steps: list[Step | Answer] = [*findings_steps(list(findings.values()))] if findings else []
    steps += [step for part in parts for step in part.whole_sources]
    statuses = [part.answer.status or AnswerStatus.NOT_ANSWERED for part in parts]
    is_told = any(status in _STATES for status in statuses)
    mixed = AnswerStatus.PARTLY_ANSWERED if is_told else statuses[0]
    status = statuses[0] if len(set(statuses)) == 1 else mixed
    folds = [part.fold for part in parts if part.fold]
    return [*steps, Answer(markdown="\n\n".join([*map(_told, parts), *folds]) + "\n", status=status)]


def contract_together(parts: Sequence[PartAnswer]) -> Contract | None:
    """What was examined for all parts, with an outcome for each; None if all are answered from what was known."""
    contracts = [part.contract for part in parts]
    inputs = {one.name: one for contract in contracts if contract is not None for one in contract.inputs}
    if not inputs:
        return None
    clauses = [
        one
        for part, contract in zip(parts, contracts, strict=True)
        for one in (contract.clauses if contract is not None else [_outcome(part)])
    ]
    states = {clause.state for clause in clauses}
    status = AnswerStatus.ANSWERED if states == {ClauseState.ANSWERED} else AnswerStatus.PARTLY_ANSWERED
    if states == {ClauseState.CANNOT_TELL}:
        status = AnswerStatus.NOT_ANSWERED
    return Contract(inputs=tuple(inputs.values()), clauses=tuple(clauses), status=status)


def _outcome(part: PartAnswer) -> ClauseOutcome:
    status = part.answer.status or AnswerStatus.NOT_ANSWERED
    return ClauseOutcome(text=part.text[:CLAUSE_CHARS], state=_STATES.get(status, ClauseState.CANNOT_TELL))


def _told(part: PartAnswer) -> str:
    """The answer to a part, below its words if it does not quote them."""
    quoted, opening = code_span(part.text, limit=CLAUSE_CHARS), part.opening
    return opening if quoted in opening.partition("\n")[0] else f"{quoted}: {opening}"
