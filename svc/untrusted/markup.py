"""Markdown that is safe by itself: what comes from evidence can close no code span, cell or block. Pure.

Evidence goes through ``code_span`` or ``code_block``, other words that are not ours through ``escape``. Indicators are
defanged before they are shown outside a block. Rules: CommonMark 0.31 (6.1 code spans), GFM tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_CELL_CHARS = 160  # of a piece of evidence in a table; the whole stands in the findings
TABLE_ROWS = 25  # that a reader looks through; all rows stand in the findings

_SPECIAL = re.compile(r"([\\`*_\[\]~$|!])")
_BLOCK_START = re.compile(r"^(\s*)([#+\-=:>]|\d{1,9}(?=[.)]))")
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff0-\ufffb]"
)
_URL = re.compile(r"\b(h)tt(ps?)(:|\[:\])//", re.IGNORECASE)
_OTHER_SCHEME = re.compile(
    r"\b(ftps?|sftp|ssh|smb|file|ldaps?|ws|wss|javascript|data|tcp|udp|telnet|git|irc)://", re.IGNORECASE
)
_DOT = re.compile(
    r"(?<![^\s(])v?\d+(?:\.\d+){1,2}(?![^\s,;:)])"  # a version or a number is no address: it stays
    r"|(?<=[^\s\[\](){}])\.(?=[^\s\[\](){}.])"
)
_COLONS = re.compile(r"^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*$")


def visible(text: str) -> str:
    """``text`` on one line; what cannot be seen (controls, bidirectional marks, zero widths) as ``\\xNN``."""
    return _INVISIBLE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    char = match.group()
    if char in "\t\n\r":
        return {"\t": " ", "\n": "\\n", "\r": "\\r"}[char]
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def cut(text: str, limit: int = MAX_CELL_CHARS) -> str:
    """``text``, or its first ``limit`` characters and how many are left."""
    return text if len(text) <= limit else f"{text[:limit]}… (+{len(text) - limit:,} characters)"


def code_span(text: str, *, limit: int = MAX_CELL_CHARS) -> str:
    """``text`` as it is, on one line, as a code span that it cannot end; empty text is shown as ``(empty)``."""
    shown = visible(cut(text, limit))
    if not shown.strip():
        return "(empty)"
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in (shown[0], shown[-1]) or (shown[0] == shown[-1] == " ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_block(text: str, language: str = "text", *, limit: int = 4_000) -> str:
    """``text`` line by line as a fenced block that it cannot end."""
    lines = [visible(line) for line in cut(text, limit).splitlines()] or [""]
    fence = "`" * max(3, max((len(run) for line in lines for run in re.findall("`+", line)), default=0) + 1)
    return "\n".join((f"{fence}{language}", *lines, fence))


def escape(text: str) -> str:
    """Words that are not ours as plain Markdown text: no markup, no HTML, no link, on one line."""
    shown = _SPECIAL.sub(r"\\\1", visible(defang(text))).replace("&", "&amp;").replace("<", "&lt;")
    return _BLOCK_START.sub(_as_text, shown)


def _as_text(start: re.Match[str]) -> str:
    """What would begin a heading, list or quote, so that it does not: ``1\\.``, ``\\#``."""
    return f"{start[1]}{start[2]}\\" if start[2].isdigit() else f"{start[1]}\\{start[2]}"


def defang(text: str) -> str:
    """``text`` with addresses that no click follows: ``hxxps://evil[.]com``, ``a[@]b[.]org``, ``2001[:]db8[:][:]1``."""
    text = _URL.sub(r"\1xx\2\3//", text)
    text = _OTHER_SCHEME.sub(r"\1[:]//", text)
    if text.count(":") >= 2 and _COLONS.match(text):
        text = text.replace(":", "[:]")
    text = _DOT.sub(lambda match: "[.]" if match[0] == "." else match[0], text)
    return text.replace("@", "[@]").replace("[[@]]", "[@]")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], limit: int = TABLE_ROWS) -> str:
    """A Markdown table of cells that are Markdown already; beyond ``limit`` rows it says how many are left out."""
    lines = [_row(headers), _row(["---"] * len(headers)), *(_row(row) for row in rows[:limit])]
    if len(rows) > limit:
        lines += ["", f"… and {len(rows) - limit:,} more (all {len(rows):,} are in the findings)."]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(markdown: str) -> str:
    """One cell; a backslash before a pipe gets a space between, since renderers count such backslashes differently."""
    return markdown.replace("\n", " ").replace("\\|", "\\ |").replace("|", "\\|")


def bullets(items: Sequence[str]) -> str:
    """A list of lines that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 account``, ``3,117 failures``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
