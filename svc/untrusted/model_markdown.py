"""Make a model's Markdown harmless: no images, which would be fetched, no HTML, no links.

Evidence may have told the model what to write, and an address with evidence in it would leak that evidence. Code
stays as it is; in the rest, what could be active becomes text. If renderers could disagree about what is code, or a
parser still finds something active, GitHub's with its autolinks among them, the whole is written again
(``markdown.py``). Pure. Rules: CommonMark 0.31 (4.5 fenced code, 6.1 code spans, 6.3 links), GFM (6.9 autolinks).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from svc.untrusted.characters import printable
from svc.untrusted.defang import break_links
from svc.untrusted.gfm import is_inert
from svc.untrusted.markdown import safe_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile("`+")
_PLAIN_BLOCK = re.compile(r"(`{3,}|~{3,})[\w+#-]*\n(?:.*\n)*?\1\s*")
_LIVE = frozenset({"image", "html_inline", "html_block", "link_open"})
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ACTIVE = re.compile(r"[`\\$]|~~~|<[A-Za-z/!?]|\][ \t]?[(\[:]|\{[:#.]?[ ]?\w+=|(?<!:)//")
"""In text: what begins code elsewhere, HTML, links, definitions, attributes and hosts, and what escapes them."""


class PartKind(StrEnum):
    """How Markdown reads a part of a text."""

    TEXT = "text"
    SPAN = "span"
    BLOCK = "block"


class MarkdownPart(msgspec.Struct, frozen=True):
    """A part of a text; all parts in order are the text."""

    form: PartKind
    text: str


def harmless(markdown: str) -> str:
    """Return the text without active content; one in which nothing could be active is returned as it is."""
    by_part = "".join(part.text if part.form is not PartKind.TEXT else _disarmed(part.text) for part in parts(markdown))
    return by_part if _is_plain(by_part) and is_harmless(by_part) else safe_markdown(by_part)


def is_harmless(markdown: str) -> bool:
    """Whether parsers that let HTML through, GitHub's and CommonMark's, find neither image, nor HTML, nor link."""
    return is_inert(markdown) and not any(token.type in _LIVE for token in _all_tokens(_parser().parse(markdown)))


def _is_plain(markdown: str) -> bool:
    """Whether all renderers agree what is code, and nothing else has a sign of something active."""
    found = parts(markdown)
    starts = ["\n\n", *(part.text for part in found)]
    return printable(markdown) == markdown and all(map(_is_quiet, found, starts))


def _is_quiet(part: MarkdownPart, before: str) -> bool:
    match part.form:
        case PartKind.TEXT:
            text = html.unescape(part.text)
            return break_links(text) == text and _ACTIVE.search(part.text) is None
        case PartKind.SPAN:
            return "\n" not in part.text and part.text.count("`") == 2  # marked reads more backticks in its own way
        case PartKind.BLOCK:
            return before.endswith("\n\n") and _PLAIN_BLOCK.fullmatch(part.text) is not None


def parts(markdown: str) -> list[MarkdownPart]:
    """Text, code spans and fenced blocks, in order."""
    found: list[MarkdownPart] = []
    gathered: list[str] = []
    fence = ""
    for line in markdown.splitlines(keepends=True):
        opening = _FENCE.match(line.rstrip())
        if fence:
            gathered.append(line)
            if opening is None or not _closes(opening[1], fence, line):
                continue
            found.append(MarkdownPart(PartKind.BLOCK, "".join(gathered)))
            gathered, fence = [], ""
        elif opening is not None:
            found += _with_spans("".join(gathered))
            gathered, fence = [line], opening[1]
        else:
            gathered.append(line)
    rest = "".join(gathered)
    return [*found, MarkdownPart(PartKind.BLOCK, rest)] if fence else [*found, *_with_spans(rest)]


def _closes(ticks: str, fence: str, line: str) -> bool:
    return ticks[0] == fence[0] and len(ticks) >= len(fence) and not line.strip().strip(fence[0])


def _with_spans(text: str) -> Iterator[MarkdownPart]:
    """A text's parts; a code span ends within its paragraph."""
    for paragraph in re.split(r"(\n[ \t]*\n)", text):
        yield from _spans(paragraph)


def _spans(text: str) -> Iterator[MarkdownPart]:
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    partner: list[int | None] = [None] * len(runs)
    nearest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        partner[index] = nearest.get(end - start)
        nearest[end - start] = index
    done, index = 0, 0
    while index < len(runs):
        closing = partner[index]
        if closing is None:
            index += 1
            continue
        start, end = runs[index][0], runs[closing][1]
        if start > done:
            yield MarkdownPart(PartKind.TEXT, text[done:start])
        yield MarkdownPart(PartKind.SPAN, text[start:end])
        done, index = end, closing + 1
    if done < len(text):
        yield MarkdownPart(PartKind.TEXT, text[done:])


def _disarmed(text: str) -> str:
    """Text in which images, links, link definitions, HTML and addresses are shown as text."""
    for active, shown in (("![", "!&#91;"), ("](", "&#93;("), ("]:", "&#93;:")):
        text = text.replace(active, shown)
    return break_links(_TAG.sub("&lt;", text))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable("table")


def _all_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all_tokens(token.children or ())
