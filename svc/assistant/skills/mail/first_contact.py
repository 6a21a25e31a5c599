"""The sign of a lure that has no other: a stranger writes about tax, pay or an invoice and has something opened. Pure.

Offline, nothing tells a stranger's genuine invoice from a lure. Such a mail is therefore never called ordinary, unless
its domain is confirmed and it knows its recipient's full name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.skills.archive.dangerous_names import is_archive
from svc.assistant.skills.mail.attachments import InspectedAttachment
from svc.assistant.skills.mail.brands import folded

_OPENED = frozenset(
    ["pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "ods", "odt", "ole", "one", "rtf", "html", "svg", "xml", "csv"]
)  # fmt: skip
_NAME_PARTS = 2  # a first name alone is in the address, so that anybody knows it


def opened(attachments: Sequence[InspectedAttachment]) -> InspectedAttachment | None:
    """Return the first attachment that a recipient opens as a document, a page or an archive."""
    return next(
        (one for one in attachments if not one.is_inline and (one.label in _OPENED or is_archive(one.label))), None
    )


def knows_recipient(text: str, recipients: Sequence[tuple[str, str]]) -> bool:
    """Whether a folded text contains a recipient's full name. Numbers of customers and contracts are easily invented.

    Args:
        text: The mail's own text.
        recipients: Names and addresses, as in To and Cc.
    """
    words = set(re.findall(r"[a-z]+", re.sub(r"\S{1,300}@\S+", " ", text)))
    for name, address in recipients:
        local, _, domain = address.partition("@")
        own = {part for part in re.findall(r"[a-z]+", folded(f"{name} {local}")) if len(part) >= 3}
        own |= {part for part in re.findall(r"[a-z]+", domain.partition(".")[0]) if len(part) >= 3}
        if len(own & words) >= _NAME_PARTS:
            return True
    return False
