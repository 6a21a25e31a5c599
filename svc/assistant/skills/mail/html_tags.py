"""HTML as a stream of tags and text, in one pass, whatever it contains. Pure.

Why not ``html.parser``: before CPython 3.13.6 it is quadratic on unclosed tags and comments: minutes for
a mail of 300 kB. A tag ends at the first ``>`` outside quotes; what never ends is text. Character references: ``html``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec

MAX_ATTRIBUTES = 60  # of one tag
MAX_UNCLOSED_QUOTES = 50  # after that many, quotes no longer protect a ">"

_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9:_-]{0,40}")
_TAG_REST = re.compile(r"""(?:[^>"']|"[^"]*+"|'[^']*+')*+>""")
_ATTRIBUTE = re.compile(
    r"""([A-Za-z_:@][\w:.\-]{0,60}+)(?:\s{0,20}=\s{0,20}(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s"'>]{1,8000}+)))?""",
)
_COMMENT_END = re.compile(r"--!?>")
_RAW = frozenset(["script", "style", "textarea", "title", "xmp"])


class Tag(msgspec.Struct, frozen=True):
    """A tag by its name in lower case; ``is_end`` for ``</name>``. Of attributes given twice the first counts."""

    name: str
    is_end: bool = False
    attributes: dict[str, str] = {}


def read_tags(markup: str) -> Iterator[Tag | str]:
    """Tags and the text between them, in order; comments, declarations and conditional comments are left out."""
    yield from _Scanner(markup).items()


class _Scanner:
    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._position = 0
        self._without: set[str] = set()  # ends that were looked for and do not come any more
        self._unclosed = 0

    def items(self) -> Iterator[Tag | str]:
        """Everything, from the start."""
        markup = self._markup
        while self._position < len(markup):
            start = markup.find("<", self._position)
            if start < 0:
                yield html.unescape(markup[self._position :])
                return
            if start > self._position:
                yield html.unescape(markup[self._position : start])
            self._position = start + 1
            item = self._tag()
            if item is not None:
                yield item
            if isinstance(item, Tag) and not item.is_end and item.name in _RAW:
                yield from self._raw(item.name)

    def _tag(self) -> Tag | str | None:
        markup, start = self._markup, self._position
        if markup.startswith("!--", start):
            self._skip_comment(start + 3)
            return None
        if markup[start : start + 1] in ("!", "?"):
            self._skip_to_bracket(start)
            return None
        name = _NAME.match(markup, start)
        if name is None:
            return "<"
        end = self._end_of_tag(name.end())
        if end is None:
            self._position = len(markup)
            return None
        self._position = end
        word = name.group().lower()
        if word.startswith("/"):
            return Tag(word[1:], is_end=True)
        return Tag(word, attributes=_attributes(markup[name.end() : end - 1]))

    def _end_of_tag(self, start: int) -> int | None:
        if self._unclosed < MAX_UNCLOSED_QUOTES:
            match = _TAG_REST.match(self._markup, start)
            if match is not None:
                return match.end()
            self._unclosed += 1
        end = self._find(">", start)
        return None if end < 0 else end + 1

    def _find(self, wanted: str, start: int) -> int:
        if wanted in self._without:
            return -1
        found = self._markup.find(wanted, start)
        if found < 0:
            self._without.add(wanted)
        return found

    def _skip_comment(self, start: int) -> None:
        """Browsers end a comment at ``-->``, at ``--!>``, and at once if it begins with ``>`` or ``->``."""
        for ending in (">", "->"):
            if self._markup.startswith(ending, start):
                self._position = start + len(ending)
                return
        found = None if "-->" in self._without else _COMMENT_END.search(self._markup, start)
        if found is not None:
            self._position = found.end()
            return
        self._without.add("-->")
        self._skip_to_bracket(start)

    def _skip_to_bracket(self, start: int) -> None:
        end = self._find(">", start)
        self._position = len(self._markup) if end < 0 else end + 1

    def _raw(self, name: str) -> Iterator[str]:
        """The text of an element in which no tag counts but its own end."""
        wanted = f"</{name}"
        if wanted in self._without:
            return
        match = re.compile(re.escape(wanted), re.IGNORECASE).search(self._markup, self._position)
        if match is None:
            self._without.add(wanted)
            return
        if match.start() > self._position:
            yield html.unescape(self._markup[self._position : match.start()])
        self._position = match.start()


def _attributes(body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(body):
        value = next((group for group in match.groups()[1:] if group is not None), "")
        found.setdefault(match[1].lower(), html.unescape(value))
        if len(found) >= MAX_ATTRIBUTES:
            break
    return found
