"""The attachments of a mail: type by content, what makes each dangerous, and the members of an attached archive.

Pure; opens archives one level deep, within the limits of ``archive/members.py``. Dangers:
``archive/dangerous_names.py``.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.file_types import identify as file_types
from svc.assistant.findings import Severity
from svc.assistant.skills.archive.dangerous_names import Danger, dangers, is_archive
from svc.assistant.skills.archive.members import Budget, read_zip
from svc.assistant.skills.mail.documents import DocumentBudget
from svc.assistant.skills.mail.html import read_page
from svc.assistant.skills.mail.message import Attachment

MAX_ATTACHMENTS = 100  # of one mail
OPENED_BYTES = 64 * 1024 * 1024  # of one attached archive
_POINTS = {
    Severity.CRITICAL: 6.0, Severity.HIGH: 5.0, Severity.MEDIUM: 2.5, Severity.LOW: 1.0, Severity.INFO: 0.0
}  # fmt: skip


class InspectedAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """One attachment. ``members`` are the names in an archive; ``label`` is the type by content."""

    name: str
    claimed: str
    label: str
    size: int
    sha256: str
    md5: str
    dangers: tuple[Danger, ...]
    members: tuple[str, ...] = ()
    is_inline: bool = False
    examined: str = ""
    """What was done with its content: for example opened, or not examined and why."""
    urls: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """Its weight in the mail's score."""
        return max((_POINTS[danger.severity] for danger in self.dangers), default=0.0)


def read_attachments(attachments: Sequence[Attachment], budget: DocumentBudget) -> Iterator[InspectedAttachment]:
    """Inspect the first MAX_ATTACHMENTS."""
    for attachment in attachments[:MAX_ATTACHMENTS]:
        yield _read(attachment, budget)


def _read(attachment: Attachment, budget: DocumentBudget) -> InspectedAttachment:
    data, name = attachment.data, attachment.name
    label = "eml" if attachment.nested else file_types.identify(data, name)[1] if data else "empty"
    found = dangers(name, label, data)
    members: list[str] = []
    if is_archive(label):
        found += _in_archive(data, members) if label == "zip" else [_unopened(label)]
    if label in ("html", "svg", "xml") or name.lower().endswith((".htm", ".html", ".shtml", ".svg")):
        found += _in_page(data)
    document = budget.examine(label, data, name)
    if document is not None:
        found += document.dangers
    return InspectedAttachment(
        name=name, claimed=attachment.claimed, label=label, size=len(data), sha256=hashlib.sha256(data).hexdigest(),
        md5=hashlib.md5(data, usedforsecurity=False).hexdigest(), dangers=tuple(found), members=tuple(members[:50]),
        is_inline=attachment.is_inline, examined=document.how if document else _how(label, attachment),
        urls=document.urls if document else (),
    )  # fmt: skip


def _how(label: str, attachment: Attachment) -> str:
    if not attachment.data:
        return "empty"
    if attachment.nested or label in _READ or attachment.claimed == "text/calendar":
        return "read"
    if attachment.claimed.startswith("image/") or label in _IMAGES:
        return "not examined: text and QR codes in images are not read"
    return "not examined beyond its type and name"


_READ = frozenset(["html", "svg", "xml", "zip", "ics", "eml"])
_IMAGES = frozenset(["png", "jpeg", "gif", "bmp", "webp", "tiff", "ico", "heif"])


def _unopened(label: str) -> Danger:
    severity = Severity.MEDIUM if label in ("rar", "sevenzip", "cab") else Severity.LOW
    return Danger("archive", f"an archive ({label}); its members were not examined", severity)


def _in_archive(data: bytes, members: list[str]) -> Iterator[Danger]:
    notes: list[str] = []
    is_locked = False
    for member in read_zip(io.BytesIO(data), notes, Budget(OPENED_BYTES)):
        members.append(member.name)
        is_locked |= member.is_encrypted
        head = member.data[: file_types.HEAD_BYTES] if member.data else b""
        label = file_types.identify(head, member.name)[1] if head else ""
        for danger in dangers(member.name, label, member.data):
            yield Danger(danger.name, f"member {member.name}: {danger.description}", danger.severity)
        if len(members) >= 200:
            break
    if is_locked:
        yield Danger("password", "password-protected, which keeps scanners out", Severity.MEDIUM)
    for note in notes:
        yield Danger("damaged", note, Severity.LOW)


def _in_page(data: bytes) -> Iterator[Danger]:
    page = read_page(data.decode("utf-8", "replace"))
    text = data[:200_000].decode("latin-1")
    if page.secret_inputs:
        yield Danger("login_page", "an HTML page that asks for a password or card number", Severity.HIGH)
    if re.search(
        r"atob\s*\(|fromCharCode|document\.write|unescape\s*\(|eval\s*\(|window\.location|location\.href|base64,", text
    ):
        yield Danger(
            "smuggling", "an HTML page with a script that unpacks content or redirects (HTML smuggling)", Severity.HIGH
        )
    elif page.scripts:
        yield Danger("page_script", "an HTML page with a script", Severity.MEDIUM)
