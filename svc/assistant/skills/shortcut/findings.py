"""What findings about Windows shortcuts hold. Terms: MS-SHLLINK."""

from __future__ import annotations

from typing import Literal

from svc.assistant.skills.file_traits import FileFacts, FileFamily, FilePart, FileTrait, FileVerdict


class ShortcutFacts(FileFacts, frozen=True, kw_only=True, tag="shortcut_facts"):
    """What a shortcut says about itself; a field that it does not have is null."""

    target: str | None
    description: str | None
    relative_path: str | None
    working_folder: str | None
    arguments: str | None
    icon: str | None
    window: Literal["normal", "maximised", "minimised"]
    target_size: int
    """Bytes, when the shortcut was made."""
    created: str | None
    """Of the target; ISO 8601."""
    modified: str | None
    """Of the target; ISO 8601."""
    accessed: str | None
    """Of the target; ISO 8601."""
    machine: str | None
    """Name of the computer on which the shortcut was made."""
    mac_address: str | None
    """Of that computer."""


class ShortcutPart(FilePart, frozen=True, kw_only=True, tag="shortcut_part"):
    """The command of a shortcut, or code decoded from it."""


class ShortcutTrait(FileTrait, frozen=True, kw_only=True, tag="shortcut_trait"):
    """Something a shortcut does or hides."""


class ShortcutVerdict(FileVerdict, frozen=True, kw_only=True, tag="shortcut_verdict"):
    """What the traits of a shortcut add up to."""


SHORTCUT = FileFamily(part=ShortcutPart, trait=ShortcutTrait, verdict=ShortcutVerdict)
