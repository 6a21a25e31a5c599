"""Find what an instruction introduces: an example, a template, JSON, XML, a table header. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_PAYLOAD_CHARS = 8_000  # a longer one is evidence, not an example
_FENCE = re.compile(r"\A\s{0,3}(```|~~~)")
_TAG_LINE = re.compile(r"\A\s{0,12}<(/?)([A-Za-z_][\w.-]{0,40})(?: [^<>\n]{0,100})?>")
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{1,60}>|\[[A-Za-z][\w .-]{0,40}\]|\{[A-Za-z][\w .-]{0,40}\}|\.\.\.|…|_{3,}|\$[A-Z]+"
)
_EXAMPLE_LINE = re.compile(
    r"\A\s{0,6}(?:(?:final |last )?(?:answer|line|verdict|result)\b[^\n]{0,20}[:=]|\\?\$?\\boxed|CVSS:\d|AV:[NALP]/|"
    r"T\d{4}|CWE-\d)",
    re.IGNORECASE,
)


def payload_length(lines: Sequence[str], *, opens: bool, is_near: bool) -> int:
    """How many of the lines belong to the instruction before them.

    Args:
        lines: What follows the instruction, beginning with a line that is not empty.
        opens: Whether the instruction ends like "in this format:".
        is_near: Whether no empty line is in between.
    """
    if not lines:
        return 0
    first = lines[0]
    if _FENCE.match(first):
        return _fence_length(lines) if opens or is_near else 0
    if first.lstrip()[:1] in ("{", "[") and (opens or is_near):
        return _json_length(lines)
    if _TAG_LINE.match(first) and (opens or is_near):
        return _xml_length(lines)
    if first.lstrip().startswith("|") and (opens or is_near):
        return _count(lines, lambda line: line.lstrip().startswith("|"))
    if opens and (is_near or _EXAMPLE_LINE.match(first)):
        return _count(
            lines, lambda line: _PLACEHOLDER.search(line) is not None or _EXAMPLE_LINE.match(line) is not None
        )
    return 0


def _count(lines: Sequence[str], fits: object) -> int:
    count = 0
    while count < len(lines) and count < 60 and fits(lines[count]):  # type: ignore[operator]
        count += 1
    return count


def _fence_length(lines: Sequence[str]) -> int:
    size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if size > MAX_PAYLOAD_CHARS:
            return 0
        if number and _FENCE.match(line):
            return number + 1
    return 0


def _json_length(lines: Sequence[str]) -> int:
    """Lines up to the one that closes the bracket of the first; 0 if it is not closed or goes on with other text."""
    depth, size = 0, 0
    for number, line in enumerate(lines):
        size += len(line)
        if size > MAX_PAYLOAD_CHARS:
            return 0
        depth += sum(line.count(one) for one in "{[") - sum(line.count(one) for one in "}]")
        if depth <= 0:
            return number + 1
    return 0


def _xml_length(lines: Sequence[str]) -> int:
    """Lines up to the one with the closing tag of the first line's tag."""
    match = _TAG_LINE.match(lines[0])
    closing = f"</{match[2]}>" if match else ""
    size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if size > MAX_PAYLOAD_CHARS:
            return 0
        if closing in line:
            return number + 1
    return 0
