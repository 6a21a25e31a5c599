"""What an attached file is: by its first bytes, and by the sender's word where these do not tell. Pure."""

from __future__ import annotations

import re

from svc.assistant.file_types.identify import HEAD_BYTES, identify

__all__ = ["HEAD_BYTES", "read_type"]

_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,63}/[a-z0-9!#$&^_.+-]{1,63}")
_TEXT, _BINARY = "text/plain", "application/octet-stream"


def read_type(head: bytes, name: str, hint: str | None = None) -> tuple[str, str]:
    """MIME type and label of a file that starts with ``head``; the hint decides where the content says no more than
    that it is text, or not.
    """
    mime, label = identify(head, name)
    clean = (hint or "").partition(";")[0].strip().lower()
    is_open = (mime, label) == (_TEXT, "txt") or mime == _BINARY
    if not is_open or not _MIME.fullmatch(clean) or clean in (_TEXT, _BINARY):
        return mime, label
    says_text = clean.startswith("text/") or clean in ("application/json", "application/jsonl")
    return (clean, clean.rpartition("/")[2]) if says_text == (mime == _TEXT) else (mime, label)
