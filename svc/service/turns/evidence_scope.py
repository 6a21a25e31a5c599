"""Which of a session's files a question is about. Pure. The rule: docs/wire.md, "Files of a question"."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.turn import Exchange, TurnFile
from svc.messages import MADE_LABEL
from svc.service.turns.history_cache import History


class EvidenceScope(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a turn, those that its question leaves out, and those that the assistant made."""

    files: tuple[TurnFile, ...]
    left_out: tuple[TurnFile, ...]
    made: tuple[TurnFile, ...]


def scope_of(files: Sequence[TurnFile], named: Sequence[str], history: History) -> EvidenceScope:
    """The files that the question may use.

    Args:
        files: The session's files.
        named: What the client named as the files that the question is about; empty if it named none.
        history: The session's earlier turns.
    """
    made = tuple(file for file in files if file.label.startswith(MADE_LABEL))
    evidence = [file for file in files if file not in made]
    dated = [msgspec.structs.replace(file, is_new=file.attached > history.last_query_time) for file in evidence]
    if named:
        asked = [msgspec.structs.replace(file, is_meant=True) for file in dated if is_named(file, named)]
        left_out = tuple(file for file in dated if not is_named(file, named))
        return EvidenceScope(files=tuple(asked), left_out=left_out, made=made)
    meant = [file for file in dated if file.is_new] or _latest(dated, history.exchanges)
    marked = [msgspec.structs.replace(file, is_meant=file in meant) for file in dated]
    return EvidenceScope(files=tuple(marked), left_out=(), made=made)


def is_named(file: TurnFile, named: Sequence[str]) -> bool:
    """Whether a client's list has the file's name or its SHA-256."""
    return file.name in named or file.sha256 in named


def _latest(files: Sequence[TurnFile], exchanges: Sequence[Exchange]) -> list[TurnFile]:
    """What the newest earlier question about files was about: those it named, else those that came with it."""
    before = [0.0, *(exchange.asked for exchange in exchanges)]
    for exchange, earlier in zip(reversed(exchanges), reversed(before[:-1]), strict=True):
        if exchange.files:
            found = [file for file in files if is_named(file, exchange.files)]
        else:
            found = [file for file in files if earlier < file.attached <= exchange.asked]
        if found:
            return found
    return []
