"""What findings about PDFs hold. Terms: ISO 32000-2."""

from __future__ import annotations

from svc.assistant.skills.file_traits import FileFacts, FileFamily, FilePart, FileTrait, FileVerdict


class PdfFacts(FileFacts, frozen=True, kw_only=True, tag="pdf_facts"):
    """What a PDF says about itself; a property that it does not state is null."""

    version: str
    """Of its header, or ""."""
    pages: int | None
    objects: int
    unread_objects: int
    """Objects that could not be read: damaged, or encrypted with an unknown password."""
    updates: int
    """How often it was saved incrementally."""
    is_encrypted: bool
    """Most encrypted PDFs open with an empty password and were examined."""
    producer: str | None = None
    creator: str | None = None
    author: str | None = None
    title: str | None = None
    created: str | None = None
    """As written."""
    modified: str | None = None
    """As written."""
    names: list[str]
    """Names that let a document act, each with its count: ``JavaScript (2)``."""

    @property
    def is_locked(self) -> bool:
        """Whether a password kept the content from being examined."""
        return self.is_encrypted and self.unread_objects > 0


class PdfPart(FilePart, frozen=True, kw_only=True, tag="pdf_part"):
    """A script, link, action or embedded file of a PDF."""


class PdfTrait(FileTrait, frozen=True, kw_only=True, tag="pdf_trait"):
    """Something a PDF does or hides."""


class PdfVerdict(FileVerdict, frozen=True, kw_only=True, tag="pdf_verdict"):
    """What the traits of a PDF add up to."""


PDF = FileFamily(part=PdfPart, trait=PdfTrait, verdict=PdfVerdict)
