"""Further forms in which PowerShell writes strings: aliases, reversal by .NET, bytes, splitting with options. Pure.

Each is a rewriter of marked text (``literals.py``): an expression that is not understood stays unchanged.
"""

from __future__ import annotations

import re

from svc.assistant.skills.script.marks import CLOSE, LITERAL, OPEN, literal

MAX_ALIASES = 40
_NUMBER = r"(?:0x[0-9A-Fa-f]{1,4}|\d{1,5})"
_ALIAS = re.compile(
    rf"(?<![\w$.-])(?:sal|nal|set-alias|new-alias)\s{{1,10}}(?:-name\s{{1,10}})?{OPEN}?([\w.-]{{1,40}}){CLOSE}?\s{{1,10}}"
    rf"(?:-value\s{{1,10}})?{OPEN}?([A-Za-z][\w.-]{{1,60}}){CLOSE}?",
    re.IGNORECASE,
)
_CALLED = re.compile(rf"(?<![\w$.:\\-])([A-Za-z][\w.-]{{0,39}})(?=\s{{0,5}}(?:[($]|{OPEN}|\Z))")
_RIGHT_TO_LEFT = re.compile(
    rf"(?:\[(?:system\.)?string\]::join\(\s{{0,5}}{OPEN}{CLOSE}\s{{0,5}},\s{{0,5}}|-join\s{{0,5}})?\({{0,4}}\s{{0,5}}"
    rf"\[regex\]::matches\(\s{{0,5}}{LITERAL}\s{{0,5}},\s{{0,5}}{OPEN}\.{CLOSE}\s{{0,5}},\s{{0,5}}{OPEN}righttoleft{CLOSE}\s{{0,5}}\)"
    rf"(?:\s{{0,5}}\){{0,3}}\s{{0,5}}\|\s{{0,5}}(?:%|foreach(?:-object)?)\s{{0,5}}\{{[^{{}}]{{0,60}}\}})?\s{{0,5}}\){{0,4}}"
    rf"(?:\s{{0,5}}-join\s{{0,5}}{OPEN}{CLOSE}\s{{0,5}}\)?)?",
    re.IGNORECASE,
)
_ARRAY_REVERSE = re.compile(
    rf"\$(?P<name>\w{{1,60}})\s{{0,10}}=\s{{0,10}}(?:\[char\[\]\]\s{{0,5}}\(?)?{LITERAL}\)?(?:\.tochararray\(\))?(?P<between>[^{OPEN}{CLOSE}]{{0,200}}?)"
    rf"\[(?:system\.)?array\]::reverse\(\s{{0,5}}\$(?P=name)\s{{0,5}}\)",
    re.IGNORECASE,
)
_JOIN_ONE = re.compile(rf"-join\s{{0,5}}(?:\(\s{{0,5}}{LITERAL}\s{{0,5}}\)|{LITERAL}(?!\s{{0,5}}[,\[]))", re.IGNORECASE)
_BYTES = re.compile(
    rf"\[(?:system\.)?text\.encoding\]::(?P<encoding>\w{{3,20}})\.getstring\(\s{{0,5}}(?:\[byte\[\]\]\s{{0,5}})?\(?\s{{0,5}}@?\(?\s{{0,5}}"
    rf"(?P<codes>{_NUMBER}(?:\s{{0,10}},\s{{0,10}}{_NUMBER}){{2,}})\s{{0,5}}\){{1,4}}",
    re.IGNORECASE,
)
_SPLIT_OPTIONS = re.compile(
    rf"(\.split\(\s{{0,5}}{OPEN}[^{OPEN}{CLOSE}]{{1,20}}{CLOSE})\s{{0,5}},\s{{0,5}}\[(?:system\.)?stringsplitoptions\]::\w{{4,20}}",
    re.IGNORECASE,
)
_CHAR_ARRAY = re.compile(rf"{LITERAL}\.tochararray\(\)(?=\s{{0,5}}-join\b)", re.IGNORECASE)


def aliases(text: str) -> str:
    """Write the commands that the script's own aliases stand for."""
    found = {match[1].lower(): match[2] for match in list(_ALIAS.finditer(text))[:MAX_ALIASES]}
    if not found:
        return text
    plain = _ALIAS.sub("", text)
    pieces = re.split(f"({OPEN}[^{CLOSE}]*{CLOSE})", plain)
    return "".join(
        piece if piece.startswith(OPEN) else _CALLED.sub(lambda match: found.get(match[1].lower(), match[1]), piece)
        for piece in pieces
    )


def reversed_by_matches(text: str) -> str:
    """Undo ``[regex]::Matches(text, '.', 'RightToLeft')``."""
    return _RIGHT_TO_LEFT.sub(lambda match: literal(match[1][::-1]), text)


def reversed_arrays(text: str) -> str:
    """Undo ``[array]::Reverse`` of a variable that holds the letters of a string."""
    turned = _ARRAY_REVERSE.sub(lambda match: f"${match['name']} = {literal(match[2][::-1])}{match['between']}", text)
    return _JOIN_ONE.sub(lambda match: literal(match[1] if match[1] is not None else match[2]), turned)


def bytes_as_text(text: str) -> str:
    """Decode ``GetString`` of bytes that are written as numbers."""
    return _BYTES.sub(_text_of_bytes, text)


def _text_of_bytes(match: re.Match[str]) -> str:
    codes = [int(code, 16 if code.lower().startswith("0x") else 10) for code in re.findall(_NUMBER, match["codes"])]
    if any(code > 255 for code in codes):
        return match[0]
    is_wide = match["encoding"].lower() == "unicode"
    return literal(bytes(codes).decode("utf-16-le" if is_wide else "utf-8", "replace"))


def without_split_options(text: str) -> str:
    """Leave out what ``Split`` does with empty parts, and ``ToCharArray`` where all is joined again."""
    return _CHAR_ARRAY.sub(r"" + OPEN + r"\1" + CLOSE, _SPLIT_OPTIONS.sub(r"\1", text))
