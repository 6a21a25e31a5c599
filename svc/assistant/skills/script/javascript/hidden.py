"""What an evaluation found that cannot be read in the script itself.

A text counts as hidden if most of its pieces of six characters are missing from the script: one that is put together
from readable parts, as addresses often are, is not. A name counts as hidden if it is nowhere as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.script.javascript.evaluation import Evaluation

PIECE_CHARS = 6
MIN_CHARS = 12  # of a text that can be judged
COMPARED_CHARS = 600  # at the beginning of a text
MAX_READABLE_SHARE = 0.5  # of the pieces of a hidden text
MAX_NAMED = 12
_BLANKS = re.compile(r"[\s\"'\\]+")
_NAME = re.compile(r"\.([A-Za-z]{3,40})(?=\(| = )|new ActiveXObject\(\"([\w.]{4,60})\"|^require\(\"([\w:/-]{2,40})\"")
_ADDRESS = re.compile(r"(?:https?:)?//[\w.:-]{4,200}")
_ORDINARY = frozenset(["then", "call", "apply", "toString", "join", "split"])


class HiddenParts(msgspec.Struct, frozen=True):
    """Names of objects and methods, addresses, and texts for the page that cannot be read in the script."""

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    texts: int

    def lines(self) -> Iterator[str]:
        """Yield what is hidden as lines for a reader."""
        if self.names:
            yield f"Names built at run time: {', '.join(self.names[:MAX_NAMED])}"
        if self.addresses:
            yield f"Hidden address: {', '.join(self.addresses[:MAX_NAMED])}"
        if self.texts:
            yield f"Hidden text: {self.texts} for the page"


def _plain(text: str) -> str:
    return _BLANKS.sub("", text).lower()


def is_hidden_text(text: str, script: str) -> bool:
    """Whether ``text`` cannot be read in ``script``, not even in parts."""
    return _is_missing(_plain(text[: COMPARED_CHARS * 2]), _plain(script))


def _is_missing(text: str, shown: str) -> bool:
    text = text[:COMPARED_CHARS]
    if len(text) < MIN_CHARS:
        return False
    pieces = [text[index : index + PIECE_CHARS] for index in range(len(text) - PIECE_CHARS + 1)]
    return sum(piece in shown for piece in pieces) < MAX_READABLE_SHARE * len(pieces)


def hidden_in(script: str, found: Evaluation) -> HiddenParts:
    """Return what of ``found`` cannot be read in ``script`` or, for names, in code that it executes."""
    shown = _plain(script)
    readable = shown + "".join(_plain(one.text) for one in found.executed if not _is_missing(_plain(one.text), shown))
    names: dict[str, None] = {}
    addresses: dict[str, None] = {}
    for call in found.calls:
        for match in _NAME.finditer(call[:2_000]):
            name = match[1] or match[2] or match[3]
            if name not in _ORDINARY and name.lower() not in readable:
                names[name] = None
        for address in _ADDRESS.findall(call[:4_000])[:4]:
            if _is_missing(address.lower(), readable):
                addresses[address] = None
    pages = [one for one in found.executed if one.how == "text written into the page"]
    return HiddenParts(
        tuple(sorted(names, key=len, reverse=True)),
        tuple(addresses),
        sum(_is_missing(_plain(one.text), shown) for one in pages),
    )
