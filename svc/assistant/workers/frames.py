"""What a job that unpacks an archive sends besides tool events: its members, piece by piece. Pure.

Content travels over the socket because a worker may not write files; the service's process stores it.
"""

from __future__ import annotations

import msgspec


class MemberPiece(msgspec.Struct, frozen=True, tag="piece"):
    """A part of the content of the member whose ``MemberEnd`` follows next."""

    data: bytes


class MemberEnd(msgspec.Struct, frozen=True, kw_only=True, tag="member"):
    """One member, after its pieces.

    ``reason`` says why it is not examined; if it is not "", pieces that came before it are of no use. ``cut`` is the
    number of bytes that were unpacked if a limit ended it, else None.
    """

    name: str
    size: int
    sha256: str = ""
    mime_type: str = ""
    label: str = ""
    reason: str = ""
    cut: int | None = None
    is_opened_with_password: bool = False


class ArchiveEnd(msgspec.Struct, frozen=True, kw_only=True, tag="archive"):
    """The last frame of an archive. ``form`` is "" if the file is not an archive.

    ``unfinished`` says why further members were not read, and is "" if all were; ``notes`` are complete phrases.
    """

    form: str
    unfinished: str = ""
    notes: list[str] = []


class InputSearched(msgspec.Struct, frozen=True, tag="searched"):
    """The input was searched for text that addresses an analyst or a model; what follows is the tool's."""


class PartPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a large log a worker reads: so many bytes from ``start``, up to the record that goes beyond them.

    ``has_state``: what the parts before found follows in a frame of its own. They used ``cpu_seconds`` and
    ``wall_seconds`` of the job's limits. ``given_up`` says why nothing more is read, only reported; else "".
    """

    size: int
    start: int = 0
    has_state: bool = False
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    given_up: str = ""


class PartEnd(msgspec.Struct, frozen=True, kw_only=True, tag="part_end"):
    """The last frame of a part that is not the log's last: what was found so far, and where the next part begins."""

    state: bytes
    start: int
    cpu_seconds: float


MemberFrame = MemberPiece | MemberEnd | ArchiveEnd
