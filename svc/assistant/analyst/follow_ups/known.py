"""What a session knows: the findings of its reports, what was read, and the findings of its latest answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from svc.assistant.analyst.contract import Contract, InputOutcome, InputState
from svc.assistant.analyst.follow_up import findings_of, unknown_count
from svc.assistant.analyst.plan import PROMPT
from svc.assistant.findings import AnyFinding
from svc.assistant.turn import Exchange, TurnFile

MAX_FINDINGS = 50_000  # that answers are made from, worst first; a search of the file finds the rest


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the session's reports found.

    ``findings`` are those of all inputs, each kind as it was last found; ``latest`` those of the last answer that had
    any. ``inputs`` say how each input was read. ``left_out`` findings are not among ``findings``: there are too many.
    ``lost`` ones cannot be read any more: the file with them was detached.
    """

    findings: Sequence[AnyFinding]
    latest: Sequence[AnyFinding]
    inputs: tuple[InputOutcome, ...]
    left_out: int = 0
    lost: int = 0
    prompt: str = ""
    """The prompt whose pasted text was read as evidence; "" if there is none."""

    @property
    def read(self) -> list[InputOutcome]:
        """The inputs of which a tool understood anything."""
        return [one for one in self.inputs if one.state is not InputState.NOT_EXAMINED]

    @property
    def names(self) -> list[str]:
        """The names of the inputs that were read."""
        return [one.name for one in self.read]


def known_of(history: Sequence[Exchange], made_files: Sequence[TurnFile] = ()) -> Known | None:
    """What the session knows; None if no answer of it examined anything."""
    findings: list[AnyFinding] = []
    latest: Sequence[AnyFinding] = ()
    has_files = any(_reads_files(contract_of_exchange(one)) for one in history)
    inputs: dict[str, InputOutcome] = {}
    seen: set[tuple[str, str]] = set()
    left_out, lost, prompt = 0, 0, ""
    for exchange in reversed(history):
        contract = contract_of_exchange(exchange)
        if contract is None and latest:
            continue
        found = findings_of(exchange, made_files)
        latest = latest or found
        lost += unknown_count(exchange, found)
        if contract is None or _is_part(found) or (has_files and not _reads_files(contract)):
            continue
        for one in contract.inputs:
            inputs.setdefault(one.name, one)
            prompt = prompt or (exchange.prompt if one.name == PROMPT else "")
        fresh = [one for one in islice(found, MAX_FINDINGS) if _key(one) not in seen]
        left_out += len(found) - min(len(found), MAX_FINDINGS)
        seen.update(map(_key, fresh))
        findings += fresh
    if not any(one.state is not InputState.NOT_EXAMINED for one in inputs.values()):
        return None
    return Known(
        findings=findings,
        latest=latest,
        inputs=tuple(inputs.values()),
        left_out=left_out,
        lost=lost,
        prompt=prompt,
    )


def contract_of_exchange(exchange: Exchange) -> Contract | None:
    """What the answer says that it examined; None if it read nothing."""
    for content in exchange.sources:
        if content.startswith("{"):
            try:
                contract = msgspec.json.decode(content, type=Contract)
            except (msgspec.DecodeError, UnicodeEncodeError):  # another message, or another assistant's
                continue
            return contract if contract.inputs else None
    return None


def _reads_files(contract: Contract | None) -> bool:
    """Whether an answer is about files, not about the question alone: a look-up says nothing about the evidence."""
    return contract is not None and any(one.name != PROMPT for one in contract.inputs)


def _is_part(findings: Sequence[AnyFinding]) -> bool:
    """Whether the findings are those of a time of day alone: their totals are not those of the file."""
    return any(getattr(one.facts, "window", "") for one in findings)


def _key(finding: AnyFinding) -> tuple[str, str]:
    return finding.kind, finding.evidence[0].source if finding.evidence else finding.title
