"""What findings about archives hold."""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts

MemberType = Literal["file", "folder", "link", "device"]


class LabelCount(msgspec.Struct, frozen=True):
    """A type by content with the number of members that have it."""

    label: str
    count: int


class MemberDanger(msgspec.Struct, frozen=True):
    """One thing that makes a member dangerous: a stable name, for example ``macros``, and what was seen."""

    name: str
    description: str


class ArchiveSummary(Facts, frozen=True, kw_only=True, tag="archive_summary"):
    """The archive as a whole."""

    format: str
    """ZIP or TAR."""
    label: str
    """Its type by content."""
    members: int
    folders: int
    size: int
    """Bytes of all members, unpacked."""
    packed: int
    """Bytes of the archive."""
    encrypted: int
    opened: int
    dangerous: int
    ratio: float | None
    """Unpacked bytes for each byte of the archive."""
    oldest: str
    """ISO 8601, or "" if no member has a time."""
    newest: str
    labels: list[LabelCount]
    """Most frequent first."""


class ArchiveMember(Facts, frozen=True, kw_only=True, tag="archive_member"):
    """One member of the archive."""

    name: str
    member_type: MemberType
    label: str
    """The type by content; "" if it was not opened."""
    modified: str
    """ISO 8601; ZIP states no zone."""
    link: str
    """Target of a link."""
    sha256: str
    """"" unless the whole content was read."""
    md5: str
    note: str
    """Why it was not opened, or ""."""
    size: int
    packed: int | None
    ratio: float | None
    is_encrypted: bool
    dangers: list[MemberDanger]


class ArchiveSign(Facts, frozen=True, kw_only=True, tag="archive_sign"):
    """One thing that makes a member, or the archive as a whole, dangerous or suspicious."""

    sign: str
    """traversal, link, bomb, overlap, duplicate, password, set_id, device, or the name of a danger."""
    member: str
    words: str
