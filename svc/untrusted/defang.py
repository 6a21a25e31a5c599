"""Undo and redo the ways in which people make indicators harmless: hxxp, [.], (dot), [at] … Pure, line by line.

``refang`` never adds or removes a line break, so line numbers hold. A dot that was written harmless becomes DOT, a
character of its own, so that whoever reads on knows that a writer meant a host there, not a file or a version.
"""

from __future__ import annotations

import re

DOT = "\ue000"  # private use: never part of a text that means anything
_OPEN, _CLOSE = r"[\[({<⟨【]", r"[\])}>⟩】]"
_SPACE = r"[ \t]{0,2}"

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ue000]")
_SCHEMES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<http>h[tx*_]{1,3}p|h\[?[tx]{2}\]?p|\[h[tx]{2}p\]|hxxx?p|hppt|meow|h[tx]{2}\[p\])(?P<s>\[?s\]?|x)?"
    r"|(?P<ftp>f[xt*]p)(?P<fs>s)?"
    r")(?P<sep>[ \t]?\[?\(?:\]?\)?(?://|\\\\|\[//\]|\(//\)|\[/\]\[/\])[\])]?|\[:?//\])",
    re.IGNORECASE,
)
_BRACKETED_SCHEME = re.compile(
    r"(?<=[A-Za-z])[\[({]://[\])}]|(?<=[A-Za-z])[\[({]:[\])}]//|(?<=[A-Za-z]):[\[({]//[\])}]"
)
_DOT = re.compile(
    rf"{_SPACE}{_OPEN}{_SPACE}(?:\.|,|dot|DOT|Dot|punkt|d0t){_SPACE}{_CLOSE}{_SPACE}(?=[\w\[(-])"
    r"|(?<=[\w\])])\[\.(?=\w)|(?<=\w)\.\](?=\w)|(?<=\w)\(\.(?=\w)|(?<=\w)\.\)(?=\w)|(?<=\w)\\\.(?=(?:com"
    r"|net|org|info|ru|cn|io|top|xyz|biz)\b)"
    r"|(?<=\w)[\u3002\uff0e\uff61](?=\w)|(?<=\w)\[\.?(?=(?:com|net|org|info|ru|cn|io)\b)(?!\.?\w+\[)|(?<=[a-z0-9])_dot_(?=[a-z])"
)
_TAIL_BRACKET = re.compile(rf"(?<={DOT})([A-Za-z0-9-]{{2,63}})\](?![\w.])")
_AT = re.compile(rf"{_SPACE}{_OPEN}{_SPACE}(?:@|at|AT|At|et){_SPACE}{_CLOSE}{_SPACE}(?=[\w-])|_at_(?=[\w-]+{DOT})")
_COLON_OR_SLASH = re.compile(r"(?<=[\w\])])[\[({]([:/])[\])}](?=[\w/\[:]|$)", re.MULTILINE)
_SPELLED_DOT = re.compile(
    r"(?<=\w) (?:DOT|dot) (?=(?:[\w-]+ (?:DOT|dot) )?(?:com|net|org|info|biz|ru|cn|io|onion|co|de|uk|top|xyz)\b)"
)
_SPELLED_AT = re.compile(rf"(?<=\w) (?:AT|at) (?=[\w-]+{DOT})")

# One scan that tells whether any of the substitutions above can change the text: most logs hold no harmless form
_MARK = re.compile(
    r"[\[({<⟨【][ \t]{0,2}(?:[.,:/@]|dot|punkt|d0t|at\b|et\b|s\])|[.:/][\])}]|[\u3002\uff0e\uff61]|_(?:dot|at)_| (?:dot"
    r"|at) |\\\.(?=[a-z]{2,4}\b)"
    r"|x{1,3}ps?[\[(]?:|\*\*ps?|meow:|h(?:_|ppt)|\]ps?|\[p\]|ps?\]:|tps?:\\\\|fxp",
    re.IGNORECASE,
)


def refang(text: str) -> str:
    """``text`` as it was before it was made harmless; a dot put back is DOT. Has as many lines as ``text``."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    if _MARK.search(text) is None:
        return text
    text = _SCHEMES.sub(_scheme, text)
    text = _BRACKETED_SCHEME.sub("://", text)
    text = _DOT.sub(DOT, text)
    text = _TAIL_BRACKET.sub(r"\1", text)
    text = _COLON_OR_SLASH.sub(r"\1", text)
    text = _SPELLED_DOT.sub(DOT, text)
    text = _SPELLED_AT.sub("@", text)
    return _AT.sub("@", text)


def _scheme(match: re.Match[str]) -> str:
    if match["ftp"]:
        return f"ftp{'s' if match['fs'] else ''}://"
    return f"http{'s' if match['s'] else ''}://"


def plain(value: str) -> str:
    """A value with every DOT as an ordinary dot."""
    return value.replace(DOT, ".")


_FIRST_SCHEME = re.compile(r"^(h)tt(ps?)(?=://)|^(f)t(ps?)(?=://)", re.IGNORECASE)


def defang(value: str, kind: str) -> str:
    """An indicator made harmless to read and to copy: hxxp, [.] and [@]; kinds that cannot be clicked stay."""
    if kind == "url":
        start = _FIRST_SCHEME.sub(lambda m: f"{m[1] or m[3]}xx{m[2]}" if m[1] else f"{m[3]}x{m[4]}", value)
        head, separator, rest = start.partition("://")
        host, slash, path = (rest if separator else head).partition("/")
        return f"{head if separator else ''}{separator}{host.replace('.', '[.]')}{slash}{path}"
    if kind in ("domain", "ipv4", "ipv4_cidr", "email", "xmpp"):
        return value.replace("@", "[@]").replace(".", "[.]")
    if kind in ("ipv6", "ipv6_cidr"):
        return value.replace(":", "[:]", 1)
    return value
