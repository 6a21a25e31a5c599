"""What findings about Office documents hold."""

from __future__ import annotations

from svc.assistant.skills.file_traits import FileFacts, FileFamily, FilePart, FileTrait, FileVerdict


class OfficeFacts(FileFacts, frozen=True, kw_only=True, tag="office_facts"):
    """What a document says about itself; its format is the application. A property that it does not state is null."""

    macros: int
    """Number of VBA or Basic modules."""
    is_encrypted: bool
    """A password is needed, so the content was not examined."""
    streams: int | None = None
    """Of an OLE document."""
    members: int | None = None
    """Of a ZIP document."""
    author: str | None = None
    last_author: str | None = None
    created: str | None = None
    """As written."""
    modified: str | None = None
    """As written."""
    template: str | None = None
    program: str | None = None
    title: str | None = None
    company: str | None = None

    @property
    def is_locked(self) -> bool:
        """Whether a password kept the content from being examined."""
        return self.is_encrypted


class OfficePart(FilePart, frozen=True, kw_only=True, tag="office_part"):
    """A macro, link, embedded file or hidden sheet of a document."""


class OfficeTrait(FileTrait, frozen=True, kw_only=True, tag="office_trait"):
    """Something a document does or hides."""


class OfficeVerdict(FileVerdict, frozen=True, kw_only=True, tag="office_verdict"):
    """What the traits of a document add up to."""


OFFICE = FileFamily(part=OfficePart, trait=OfficeTrait, verdict=OfficeVerdict)
