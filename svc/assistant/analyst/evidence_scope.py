"""Which earlier findings a question may use: those of files that it may use, and that are still what was read.

Pure. A file that was removed, or replaced by another version, has no findings any more; neither has one that the client
left out. The answer names them. Facts: docs/wire.md, "Files of a question".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from svc.assistant.analyst.follow_up import findings_of
from svc.assistant.analyst.plan import GIVEN, PROMPT, QUOTED, files_meant, question_of
from svc.assistant.findings import AnyFinding
from svc.assistant.turn import Exchange, Turn, TurnFile
from svc.untrusted.markup import code_span

_NAMED = 5  # files that a remark names
_TEXTS = {PROMPT, GIVEN, QUOTED, ""}  # what is in findings besides files


class _EvidencePlace(msgspec.Struct, frozen=True):
    source: str = ""


class _Found(msgspec.Struct, frozen=True):
    evidence: tuple[_EvidencePlace, ...] = ()


class _Input(msgspec.Struct, frozen=True):
    name: str = ""


class _Covered(msgspec.Struct, frozen=True):
    inputs: tuple[_Input, ...]


_FOUND = msgspec.json.Decoder(list[_Found])
_COVERED = msgspec.json.Decoder(_Covered)


class UsableHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The turn with the earlier findings that its question may use.

    ``gone``: the names of files that were removed or replaced since they were read, the latest first.
    ``is_latest_gone``: the newest findings of the session were in such files.
    """

    turn: Turn
    gone: tuple[str, ...] = ()
    is_latest_gone: bool = False


def usable_history(turn: Turn) -> UsableHistory:
    """Drop the earlier findings in files that the question may not use."""
    about = files_meant(turn.files, question_of(turn.prompt))
    gone: dict[str, None] = {}
    kept: list[Exchange] = []
    is_latest_gone: bool | None = None
    for exchange in reversed(turn.history):
        inputs = files_read(exchange)
        stale = inputs - _current(about, exchange)
        removed = stale - _current((*turn.files, *turn.left_out), exchange)
        gone |= dict.fromkeys(sorted(removed))
        if is_latest_gone is None and inputs:
            is_latest_gone = bool(removed)
        kept.append(_without(exchange, stale, inputs, turn) if stale else exchange)
    turn = msgspec.structs.replace(turn, history=tuple(reversed(kept)))
    return UsableHistory(turn=turn, gone=tuple(gone), is_latest_gone=bool(is_latest_gone))


def files_read(exchange: Exchange) -> set[str]:
    """The names of the attached files in which an earlier turn looked; of an archive's members, the archive's name."""
    names: set[str] = set()
    for content in exchange.sources:
        names |= _names(content)
    return {name.partition("/")[0] for name in names} - _TEXTS


def remark(gone: Sequence[str], unused: Sequence[str]) -> str:
    """What the answer says about files whose findings it does not use; "" if there are none."""
    parts = []
    if gone:
        was = "was" if len(gone) == 1 else "were"
        parts.append(
            f"{_listed(gone)} {was} removed or replaced after an earlier question; its earlier findings are not used."
        )
    if unused:
        parts.append(f"Not used: {_listed(unused)}. Ask about all files to include the rest of the session.")
    return " ".join(parts)


def cannot_tell_of(gone: Sequence[str]) -> str:
    """The answer to a question that only removed files could answer."""
    return (
        f"**Cannot tell:** no longer attached, or replaced by another version: {_listed(gone)}. "
        "Earlier findings from there are not used. Attach it again to ask about it, or ask about another file."
    )


def mentioned(prompt: str, names: Iterable[str]) -> list[str]:
    """Those of the files that a question names."""
    lowered = prompt.lower()
    return [name for name in names if name.lower() in lowered]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(code_span(name, limit=80) for name in names[:_NAMED]) + more


def _plain(names: set[str]) -> str:
    return "files that this question may not use, or that were removed or replaced: " + ", ".join(
        sorted(names)[:_NAMED]
    )


def _names(content: str) -> set[str]:
    try:
        return {one.name for one in _COVERED.decode(content).inputs}
    except msgspec.MsgspecError:
        pass
    try:
        return {place.source for found in _FOUND.decode(content) for place in found.evidence}
    except msgspec.MsgspecError:  # another assistant's source, or the name of the file with the findings
        return set()


def _current(files: Sequence[TurnFile], exchange: Exchange) -> set[str]:
    """The names of files whose content is what the earlier turn read."""
    return {file.name for file in files if file.attached <= exchange.asked}


def _without(exchange: Exchange, stale: set[str], inputs: set[str], turn: Turn) -> Exchange:
    """The exchange without its findings in stale files, and without its answer, which may be about these."""
    exchange = msgspec.structs.replace(exchange, answer=f"(This answer is not shown: it was about {_plain(stale)}.)")
    if inputs <= stale:
        return msgspec.structs.replace(exchange, sources=())
    found = [finding for finding in findings_of(exchange, turn.made_files) if not _is_in(finding, stale)]
    return msgspec.structs.replace(exchange, sources=(msgspec.json.encode(found).decode(),))


def _is_in(finding: AnyFinding, stale: set[str]) -> bool:
    return any(evidence.source.partition("/")[0] in stale for evidence in finding.evidence)
