"""Read ASN.1's basic encoding (X.690) as far as Kerberos and LDAP need it: tags, lengths, integers, text. Pure.

A value that the capture cut short is read as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_ELEMENTS = 2_000  # of one value: a forged message may have a million empty ones
MAX_LENGTH_BYTES = 4


def element(data: bytes, at: int) -> tuple[int, bytes, int]:
    """The tag at ``at``, its content and where it ends. Raises IndexError if the head is incomplete."""
    tag, size = data[at], data[at + 1]
    at += 2
    if size & 0x80:
        count = size & 0x7F
        if not 1 <= count <= MAX_LENGTH_BYTES or at + count > len(data):
            raise IndexError("the length is not readable")
        size = int.from_bytes(data[at : at + count], "big")
        at += count
    return tag, data[at : at + size], at + size


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements that follow one another; up to the first that is not readable."""
    at = 0
    for _ in range(MAX_ELEMENTS):
        if at >= len(data):
            return
        try:
            tag, content, at = element(data, at)
        except IndexError:
            return
        yield tag, content


def whole_size(data: bytes) -> int:
    """The size of the element at the beginning with its head; 0 if the head is incomplete or not readable."""
    try:
        return element(data[:8], 0)[2]
    except IndexError:
        return 0


def members(data: bytes) -> dict[int, bytes]:
    """The members of a SEQUENCE with context tags, by their number; each without its tag."""
    found: dict[int, bytes] = {}
    for tag, content in elements(inner(data)):
        if tag & 0xE0 == 0xA0:
            found.setdefault(tag & 0x1F, content)
    return found


def inner(data: bytes) -> bytes:
    """The content of the first element; b"" if there is none."""
    return next((content for _, content in elements(data)), b"")


def number(data: bytes) -> int | None:
    """The value of an INTEGER or ENUMERATED; None if there is none."""
    content = inner(data)
    return int.from_bytes(content, "big", signed=True) if 0 < len(content) <= 8 else None


def text(data: bytes) -> str:
    """Characters, with a replacement for what is not UTF-8."""
    return data.decode("utf-8", errors="replace")
