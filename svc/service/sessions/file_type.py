"""The type of an attached file: detected from its first bytes, refined by the client's hint if these are ambiguous.
Pure.
"""

from __future__ import annotations

import re

from svc.assistant.file_types.identify import HEAD_BYTES, identify

__all__ = ["HEAD_BYTES", "detect_type"]

_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,63}/[a-z0-9!#$&^_.+-]{1,63}")
_TEXT, _BINARY = "text/plain", "application/octet-stream"


def detect_type(head: bytes, name: str, hint: str | None = None) -> tuple[str, str]:
    """Detect the MIME type and label of a file.

    Args:
        head: The first ``HEAD_BYTES`` of the file.
        name: The user's name for it.
        hint: A MIME type from the client. It counts only if the content is just plain text or unknown binary data.
    """
    mime, label = identify(head, name)
    claimed = (hint or "").partition(";")[0].strip().lower()
    is_ambiguous = (mime, label) == (_TEXT, "txt") or mime == _BINARY
    if not is_ambiguous or not _MIME.fullmatch(claimed) or claimed in (_TEXT, _BINARY):
        return mime, label
    is_text = claimed.startswith("text/") or claimed in ("application/json", "application/jsonl")
    return (claimed, claimed.rpartition("/")[2]) if is_text == (mime == _TEXT) else (mime, label)
