"""Expand the words of a script as the Windows command shell and the Unix shells would, without executing anything.

Expanded are carets, empty quotes, variables and their substrings (cmd); escapes, ``$'…'``, printf, decoding pipes,
variables and their substrings (Unix). Anything else stays unchanged.

Sources: Microsoft's pages of ``set`` and ``cmd``; POSIX.1-2024 2.2 and 2.6 (quoting, expansions), bash's manual
(ANSI-C quoting, substring expansion).
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable

MAX_ROUNDS = 8
MAX_VALUE_CHARS = 8_000
CMD_ROUNDS = 2  # cmd expands once with % and once with !
MAX_LINE_CHARS = 8_191  # of a command line of cmd (Microsoft, "Command prompt line string limitation")
MAX_EXPANDED_CHARS = 100_000  # of a batch file after expansion
MAX_VARIABLES = 1_000
MAX_TEXT_CHARS = 1_000_000

_CMD_KNOWN = {
    "comspec": "C:\\Windows\\system32\\cmd.exe", "systemroot": "C:\\Windows", "windir": "C:\\Windows",
    "programfiles": "C:\\Program Files", "public": "C:\\Users\\Public", "programdata": "C:\\ProgramData",
    "os": "Windows_NT", "systemdrive": "C:", "allusersprofile": "C:\\ProgramData",
    "pathext": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC", "processor_architecture": "AMD64",
}  # fmt: skip
_CMD_SET = re.compile(
    r"(?:^|[\s@(&|])set\s+(?:\"([^\"=\n]{1,80})=([^\"\n]*)\"|([^\"=\s&|/][^=\n&|]{0,80})=([^\n&|]*))", re.IGNORECASE
)
_CMD_USE = re.compile(
    r"([%!])([^%!\n:=\s]{1,80})(?::~(-?\d{1,5})(?:,(-?\d{1,5}))?|:([^%!=\n]{1,60})=([^%!\n]{0,60}))?\1"
)
_CARET = re.compile(r"\^(?=[^\s\n])")
_EMPTY_QUOTES = re.compile(r"(?<=\w)\"\"(?=\w)")


def expand_cmd(text: str) -> tuple[str, list[str]]:
    """Return ``text`` as cmd would read it, and the names of what was expanded."""
    names = []
    plain = _EMPTY_QUOTES.sub("", _CARET.sub("", text))
    if plain != text:
        names.append("escape characters between letters")
    values = dict(_CMD_KNOWN)
    expanded: list[str] = []
    size = 0
    for line in plain.split("\n"):
        done = _cmd_line(line, values)
        expanded.append(done)
        size += len(done)
        if size > max(MAX_EXPANDED_CHARS, 2 * len(plain)):
            break
    joined = "\n".join(expanded)
    if joined != plain:
        is_hidden = re.search(r"[%!]\w+:~|%%\w+%|%\w+%%|!\w+!!|\w%\w{1,3}%\w", plain)
        names.append("substrings of variables" if is_hidden else "variables")
    return joined, names


def _cmd_line(line: str, values: dict[str, str]) -> str:
    """Expand one line command by command, because later commands see the variables that earlier ones set."""
    done = []
    for piece in re.split(r"(&&?)", line):
        whole = _cmd_expanded(piece, values)
        for match in _CMD_SET.finditer(whole):
            name, value = (match[1], match[2]) if match[1] else (match[3], match[4])
            if len(values) < MAX_VARIABLES:
                values[name.strip().lower()] = value[:MAX_VALUE_CHARS]
        done.append(whole)
    return "".join(done)


def _cmd_expanded(text: str, values: dict[str, str]) -> str:
    def put_in(match: re.Match[str]) -> str:
        name = match[2].lower()
        is_part = match[3] is not None or match[5] is not None
        if name not in values or (name in _CMD_KNOWN and values[name] == _CMD_KNOWN[name] and not is_part):
            return match[0]
        if match[3] is not None:
            return _part_of(values[name], int(match[3]), None if match[4] is None else int(match[4]))
        if match[5] is not None:
            return re.sub(re.escape(match[5]), lambda _: match[6], values[name], flags=re.IGNORECASE)
        return values[name]

    for _ in range(CMD_ROUNDS):
        changed = _CMD_USE.sub(put_in, text)
        if changed == text:
            break
        text = changed[: max(MAX_LINE_CHARS, len(text))]
    return text


def _part_of(value: str, start: int, length: int | None) -> str:
    start = max(0, len(value) + start) if start < 0 else start
    if length is None:
        return value[start:]
    return value[start:length] if length < 0 else value[start : start + length]


_ANSI = re.compile(r"\$'((?=[^']*\\(?:x[0-9A-Fa-f]|[0-7]{2}))(?:[^'\\]|\\.)*)'")
_ANSI_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_PRINTED = re.compile(
    r"(?:\$\(|`)\s*(?:printf|echo\s+-n?e)\s+[\"']?((?:\\x[0-9A-Fa-f]{2}|\\0?[0-7]{3}|[\w/.-])++)[\"']?\s*(?:\)|`)"
)
_PIPED = re.compile(
    r"(?P<writer>echo|printf)\s+(?P<options>-\w+\s+)?(?:'(?P<raw>[^'\n]{2,})'|\"(?P<quoted>[^\"$`\n]{2,})\"|(?P<bare>[^\s\"'|;&`$()]{2,}))"
    r"\s*\|\s*(?P<filter>base64\s+-(?:d|D|-decode|di)|rev|xxd\s+-r\s+-p|xxd\s+-p\s+-r|xxd\s+-ps\s+-r|base32\s+-d"
    r"|tr\s+[\"']?(?:A-Za-z|a-zA-Z)[\"']?\s+[\"']?(?:N-ZA-Mn-za-m|n-za-mN-ZA-M)[\"']?"
    r"|openssl\s+(?:enc\s+-)?base64\s+-d(?:\s+-A)?)"
)
_HERE_STRING = re.compile(r"base64\s+-(?:d|D|-decode)\s*<<<\s*[\"']?([A-Za-z0-9+/=]{4,})[\"']?")
_IN_SUBSHELL = re.compile(r"(?:\$\(|`)\s*\0([^\0]*)\0\s*(?:\)|`)")
_ECHOED = re.compile(r"\0([^\0]*)\0")
_SHELL_EMPTY = re.compile(r"(?<=[\w/])(?:''|\"\")(?=[\w/])|(?<=\s)(?:''|\"\")(?=\w)|(?<=\w)\$[@*](?=\w)")
_INNER_QUOTES = re.compile(r"(?<=[A-Za-z])(?:'([A-Za-z]{1,3})'|\"([A-Za-z]{1,3})\")(?=[A-Za-z\s]|$)")
_ESCAPED_LETTERS = re.compile(r"(?<![\\\w\"'])(?:\\?[a-zA-Z]){2,}(?![\w\"'])")
_BRACES = re.compile(r"(?:(?<=[;&|(]\s)|(?<=[;&|(])|^)\{([\w./:@=-]+(?:,[\w./:@=-]+)+)\}")
_IFS = re.compile(r"(?<=[\w'\"])(?:\$\{IFS(?:%\?\?|:0:1|%%\?|%\S)?\}|\$IFS(?:\$\d)?)(?=[\w/'\"$-])")
_SHELL_SET = re.compile(
    r"(?:^|[;&|\s(])(?:export\s+|local\s+|readonly\s+|declare\s+)?([A-Za-z_]\w{0,60})=(?:\"([^\"$`\n]*)\"|'([^'\n]*)'|([^\s;&|\"'$`()]+))(?=[\s;&|)]|$)",
    re.MULTILINE,
)
_SHELL_SET_ANY = re.compile(r"(?:^|[;&|\s(])([A-Za-z_]\w{0,60})\+?=", re.MULTILINE)
_SHELL_USE = re.compile(
    r"\$(?:\{([A-Za-z_]\w{0,60})(?::(-?\d{1,5}| -\d{1,5})(?::(\d{1,5}))?|(//?)([^/}\n]{1,40})/([^}\n]{0,40}))?\}"
    r"|([A-Za-z_]\w{0,60}))"
)
_SHELL_REMOVED = re.compile(r"\\\n")


def expand_shell(text: str) -> tuple[str, list[str]]:
    """Return ``text`` as a Unix shell would read it, and the names of what was expanded."""
    names: list[str] = []
    text = text.replace("\0", "")
    for _ in range(MAX_ROUNDS):
        before = text
        for name, rewrite in _SHELL_REWRITERS:
            changed = rewrite(text)
            if changed != text and len(changed) <= MAX_TEXT_CHARS:
                text = changed
                names.append(name)
        if text == before:
            break
    return text, list(dict.fromkeys(names))


def _ansi(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] or match[2]:
            return chr(int(match[1] or match[2], 16))
        if match[3]:
            return chr(int(match[3], 8) & 0xFF)
        return {"n": "\n", "t": "\t", "r": "\r", "e": ""}.get(match[4], match[4])

    return _ANSI_ESCAPE.sub(character, text).replace("\0", "")


def _piped(match: re.Match[str]) -> str:
    given = match["raw"] or match["quoted"] or match["bare"]
    if match["writer"] == "printf" or "e" in (match["options"] or ""):
        given = _ansi(given)
    try:
        out = _through(given, match["filter"])
    except (ValueError, binascii.Error):
        return match[0]
    return f"\0{out}\0" if _is_text(out) else match[0]


def _through(given: str, filter_name: str) -> str:
    """Return ``given`` after a decoding filter: rev, tr (ROT13), xxd, base32 or base64."""
    if filter_name == "rev":
        return given[::-1]
    if filter_name.startswith("tr"):
        return codecs.encode(given, "rot13")
    if filter_name.startswith("xxd"):
        return bytes.fromhex(given).decode("utf-8")
    if filter_name.startswith("base32"):
        return base64.b32decode(given).decode("utf-8")
    return base64.b64decode(given + "=" * (-len(given) % 4), validate=True).decode("utf-8")


def _is_text(text: str) -> bool:
    return all(char.isprintable() or char in "\r\n\t" for char in text)


def _here_string(match: re.Match[str]) -> str:
    try:
        out = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4), validate=True).decode("utf-8")
    except (ValueError, binascii.Error):
        return match[0]
    return f"\0{out}\0" if _is_text(out) else match[0]


def _decoded_pipes(text: str) -> str:
    """Replace pipes that only decode by their output: bare in ``$(…)``, else as an ``echo`` command."""
    text = _HERE_STRING.sub(_here_string, _PIPED.sub(_piped, text))
    text = _IN_SUBSHELL.sub(lambda match: match[1], text)
    return _ECHOED.sub(lambda match: f"echo '{match[1].rstrip()}'", text)


def _without_backslashes(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        return match[0].replace("\\", "") if match[0].count("\\") >= 2 else match[0]

    return _ESCAPED_LETTERS.sub(plain, text)


def _shell_variables(text: str) -> str:
    counts: dict[str, int] = {}
    for match in _SHELL_SET_ANY.finditer(text):
        counts[match[1]] = counts.get(match[1], 0) + 1
    values: dict[str, str] = {}
    for match in _SHELL_SET.finditer(text):
        if counts.get(match[1]) == 1 and len(values) < MAX_VARIABLES:
            values[match[1]] = (match[2] or match[3] or match[4] or "")[:MAX_VALUE_CHARS]
    if not values:
        return text

    def put_in(match: re.Match[str]) -> str:
        name = match[1] or match[7]
        value = values.get(name)
        if value is None:
            return match[0]
        if match[2] is not None:
            return _part_of(value, int(match[2]), None if match[3] is None else int(match[3]))
        if match[4] is not None:
            return value.replace(match[5], match[6], -1 if match[4] == "//" else 1)
        return value

    return _SHELL_USE.sub(put_in, text)


_SHELL_REWRITERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("line continuation", lambda text: _SHELL_REMOVED.sub(" ", text)),
    ("$'…' quoting", lambda text: _ANSI.sub(lambda match: _ansi(match[1]), text)),
    ("printf", lambda text: _PRINTED.sub(lambda match: _ansi(match[1]) if "\\" in match[1] else match[0], text)),
    ("decoding pipes", _decoded_pipes),
    ("empty quotes", lambda text: _SHELL_EMPTY.sub("", text)),
    ("quotes inside words", lambda text: _INNER_QUOTES.sub(lambda match: match[1] or match[2], text)),
    ("backslashes before letters", _without_backslashes),
    ("$IFS instead of spaces", lambda text: _IFS.sub(" ", text)),
    ("braces instead of spaces", lambda text: _BRACES.sub(lambda match: match[1].replace(",", " "), text)),
    ("variables", _shell_variables),
)  # fmt: skip
