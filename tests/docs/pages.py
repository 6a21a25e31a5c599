"""The Markdown pages in ``docs/``, as the tests of this folder read them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def names() -> list[str]:
    """The pages that people write, by their path in ``docs/``; Sphinx writes others below ``generated``."""
    found = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    return [path.as_posix() for path in found if not {"generated", "_build"} & set(path.parts)]


@cache
def text(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


@cache
def prose(name: str) -> str:
    """The page without its code blocks."""
    return _CODE_BLOCK.sub("", text(name))


def headings(name: str) -> list[str]:
    """The headings as they are shown, without Markdown."""
    return [found.replace("`", "") for found in _HEADING.findall(prose(name))]


def section(name: str, heading: str) -> str:
    """What is below the heading, up to the next one of the same or a higher level."""
    parts = re.split(r"^(#{1,6}) (.+)$", prose(name), flags=re.MULTILINE)
    rows = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))
    start = next(index for index, row in enumerate(rows) if row[1].replace("`", "") == heading)
    found = [rows[start][2]]
    for level, _, body in rows[start + 1 :]:
        if len(level) <= len(rows[start][0]):
            break
        found.append(body)
    return "\n".join(found)


def rows(markdown: str) -> list[list[str]]:
    """The cells of every table row, without heads and rules."""
    lines = markdown.splitlines()
    found = []
    for index, line in enumerate(lines):
        is_head = index + 1 < len(lines) and re.match(r"^\|[-|: ]+\|$", lines[index + 1])
        if line.startswith("|") and not is_head and not re.match(r"^\|[-|: ]+\|$", line):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            found.append([cell.strip().replace("\\|", "|") for cell in cells])
    return found


def code_words(markdown: str) -> set[str]:
    """Everything set as code in a text without code blocks, and each word in it."""
    spans = [span for paragraph in re.split(r"\n\s*\n", markdown) for span in re.findall(r"`([^`]+)`", paragraph)]
    return {*spans, *(word for span in spans for word in re.findall(r"[A-Za-z_][\w./+-]*|\d+", span))}
