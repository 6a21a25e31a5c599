"""What a worker is asked to do, and what comes back. Pure."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from svc.assistant.findings import Coverage, Facts, Gap, InputKind, NamesSeen, Progress, ToolEvent, finding_type
from svc.assistant.turn import KeptResults, StoredFile
from svc.assistant.workers.frames import InputSearched, MemberFrame, PartEnd
from svc.assistant.workers.kept_results import Asks
from svc.assistant.workers.process import Crashed, Done, Frame


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one tool.

    ``tool`` is ``module:generator``; ``name`` is what evidence calls the input. ``source`` is a path that the worker
    reads, the bytes themselves, which are never written to disk, or a file that is fetched first. ``facts`` are the
    types that the tool's findings may hold. ``looks_for_instructions``, ``is_prompt`` and ``known_texts``: as in
    ``JobRequest``.

    ``results`` keeps what the tool finds, for a later job on the same content, whose SHA-256 is ``content``. ``asks``
    gives the fields of its findings that depend on the option ``question`` alone.
    """

    tool: str
    input: InputKind
    name: str
    source: Path | bytes | StoredFile
    options: dict[str, str] = {}
    facts: tuple[type[Facts], ...] = ()
    looks_for_instructions: bool = False
    is_prompt: bool = False
    known_texts: tuple[str, ...] | None = None
    content: str = ""
    results: KeptResults | None = None
    asks: Asks | None = None


WorkerItem = ToolEvent | MemberFrame | InputSearched | Done
"""What a job yields; failures are findings. ``Done`` is the last item of a run that nothing cut short."""


@lru_cache
def frame_decoder(facts: tuple[type[Facts], ...]) -> msgspec.msgpack.Decoder[Frame]:
    """Return the decoder of frames whose findings hold one of ``facts``."""
    kinds = (
        Progress
        | Gap
        | Coverage
        | NamesSeen
        | MemberFrame
        | InputSearched
        | PartEnd
        | Done
        | Crashed
        | finding_type(facts)
    )
    return msgspec.msgpack.Decoder(kinds)


class JobEnd(msgspec.Struct, frozen=True):
    """A job of several that run at the same time has ended."""
