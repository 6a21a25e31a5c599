"""The styles that a mail's own ``<style>`` blocks give to its elements: simple selectors only. Pure.

It reads selectors by tag, class and id, also below plain tags (``td .note``). It leaves out rules that depend on the
reader's screen or pointer (``@media`` with a condition, ``:hover``), because honest mails hide parts on small screens.
A later rule replaces an earlier one, the element's own style replaces both, and ``!important`` wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_SHEET_CHARS = 100_000
MAX_RULES = 3_000
MAX_SELECTOR_CHARS, MAX_BLOCK_CHARS = 2_000, 8_000
_COMMENT_START, _COMMENT_END = "/*", "*/"
_BRACE = re.compile(r"[{}]")
_APPLIES_TO_ALL = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*\Z", re.IGNORECASE)
_COMPOUND = re.compile(r"(?P<tag>[a-z][a-z0-9]{0,20})?(?P<marks>(?:[.#][\w-]{1,80}){0,6})\Z", re.IGNORECASE)
_MARK = re.compile(r"[.#][\w-]{1,80}")
_PLAIN_TAG = re.compile(r"[a-z][a-z0-9]{0,20}\Z", re.IGNORECASE)

Declarations = dict[str, tuple[str, bool]]
"""From a property to its value and whether it is important."""


class StyleSheet:
    """What the blocks of one mail say so far."""

    def __init__(self) -> None:
        self._rules: dict[str, list[tuple[str, frozenset[str], Declarations]]] = {}
        self._count = 0
        self._chars = 0

    def add(self, text: str) -> None:
        """Read another block."""
        text = text[: max(0, MAX_SHEET_CHARS - self._chars)]
        self._chars += len(text)
        text = _without_comments(text)
        start, depth, head, applies = 0, 0, "", [True]
        for brace in _BRACE.finditer(text):
            piece = text[start : brace.start()].rpartition(";")[2] if brace[0] == "{" else text[start : brace.start()]
            start = brace.end()
            if brace[0] == "{":
                head = piece.strip()
                is_group = head.startswith("@")
                applies.append(applies[-1] and (not is_group or _APPLIES_TO_ALL.match(head) is not None))
                depth += 1
            elif depth:
                if applies[-1] and head and not head.startswith("@"):
                    self._keep(head, piece)
                applies.pop()
                depth, head = depth - 1, ""

    def style_of(self, tag: str, attributes: Mapping[str, str]) -> str:
        """The style of an element: what the rules say, then its own ``style``."""
        own = attributes.get("style", "")
        if not self._rules:
            return own
        classes = attributes.get("class", "").lower().split()[:20]
        marks = {f".{one}" for one in classes} | {f"#{attributes['id'].lower()}" if attributes.get("id") else ""}
        merged: Declarations = {}
        for key in (tag, *sorted(marks)):
            for wanted, needed, found in self._rules.get(key, ()):
                if wanted in ("", tag) and needed <= marks:
                    _merge(merged, found)
        _merge(merged, _declarations(own))
        return "; ".join(f"{name}: {value}" for name, (value, _) in merged.items())

    def _keep(self, head: str, block: str) -> None:
        if len(head) > MAX_SELECTOR_CHARS or self._count >= MAX_RULES:
            return
        found = _declarations(block[:MAX_BLOCK_CHARS])
        for selector in head.lower().split(",") if found else ():
            *above, last = selector.split() or [""]
            compound = _COMPOUND.match(last)
            if not last or compound is None or not all(_PLAIN_TAG.match(one) for one in above):
                continue
            marks = _MARK.findall(compound["marks"])
            key = marks[0] if marks else (compound["tag"] or "")
            self._rules.setdefault(key, []).append((compound["tag"] or "", frozenset(marks), found))
            self._count += 1


def _without_comments(text: str) -> str:
    pieces, at = [], 0
    while (start := text.find(_COMMENT_START, at)) >= 0:
        pieces.append(text[at:start])
        end = text.find(_COMMENT_END, start + 2)
        if end < 0:
            return "".join(pieces)
        at = end + 2
    return "".join([*pieces, text[at:]]).replace("<!--", " ").replace("-->", " ")


def _declarations(block: str) -> Declarations:
    found: Declarations = {}
    for one in block.split(";"):
        name, colon, value = one.partition(":")
        plain, important, _ = value.partition("!")
        if colon and name.strip():
            _merge(found, {name.strip().lower(): (plain.strip(), bool(important))})
    return found


def _merge(into: Declarations, found: Declarations) -> None:
    for name, (value, is_important) in found.items():
        if is_important or not into.get(name, ("", False))[1]:
            into[name] = (value, is_important)
