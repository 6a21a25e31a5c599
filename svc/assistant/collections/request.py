"""What the unpacking worker is asked: limits, and which members are of use. Pure."""

from __future__ import annotations

import msgspec

USUAL_PASSWORD = "infected"  # noqa: S105  # by convention, for archives of malicious samples
NESTING = 3  # archives within archives that are opened; what is deeper is reported
CONTAINERS = frozenset({"zip", "tar", "sevenzip", "gzip", "gz", "bzip2", "bz2", "xz", "zst"})
"""Labels of files that are, or may be, archives of a form that is read here."""
CLOSED_CONTAINERS = {"rar": "RAR", "cab": "CAB", "iso": "ISO 9660"}
"""Labels of archives that are not opened, and what they are called."""


class UnpackLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn may unpack, all its archives together; CPU time and memory are limited for every worker."""

    members: int = 100_000
    total_bytes: int = 4 * 1024**3
    member_bytes: int = 2 * 1024**3
    ratio: int = 250
    """Kept bytes for each byte of the archive; text seldom passes 30."""
    ratio_from_bytes: int = 64 * 1024**2
    """Below this, no ratio is a bomb."""


IN_MEMORY = UnpackLimits(total_bytes=128 * 1024**2, member_bytes=64 * 1024**2)
"""For sessions whose content may not be on disk."""


class UnpackRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an unpacking job. Members with other labels than ``labels``, unless text, are named, not sent."""

    limits: UnpackLimits
    labels: frozenset[str]

    def to_options(self) -> dict[str, str]:
        """As options of a job."""
        return {"request": msgspec.json.encode(self).decode()}


def read_request(options: str) -> UnpackRequest:
    """The request of a job's option."""
    return msgspec.json.decode(options, type=UnpackRequest)
