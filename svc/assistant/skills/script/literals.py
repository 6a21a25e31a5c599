"""Evaluate the string expressions of PowerShell, Visual Basic and JavaScript, without executing anything.

Every string of the script is first marked (``OPEN`` text ``CLOSE``), so that quoting no longer matters. Then rewriters
run until nothing changes: concatenation, formatting, replacement, reversal, character codes, and variables that are set
to one string. An expression that no rewriter understands stays unchanged.

Sources: PowerShell's about_Operators, about_Quoting_Rules and about_Special_Characters; the VBA language reference
(Chr, StrReverse, Replace); ECMAScript (string escapes, fromCharCode, unescape, Array.prototype.join).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import unquote

from svc.assistant.skills.decode.plausibility import text_of
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.marks import CLOSE, LITERAL, OPEN, literal
from svc.assistant.skills.script.powershell_forms import (
    aliases,
    bytes_as_text,
    reversed_arrays,
    reversed_by_matches,
    without_split_options,
)

_BETWEEN = "\ue002"  # in an opening sequence that nothing closes
MAX_ROUNDS = 12
MIN_BROKEN_WORDS = 4  # between strings that variables hold
MAX_VARIABLES = 400
MAX_VALUE_CHARS = 200_000  # of a variable that replaces its uses
MAX_TEXT_CHARS = 1_000_000  # of a script that grows by inserted variables

_SCANNERS = {
    Language.POWERSHELL: re.compile(
        r"<#.*?#>|@'\r?\n(.*?)\r?\n'@|@\"\r?\n(.*?)\r?\n\"@|(?P<unclosed>(?:<#|@'\r?\n|@\"\r?\n).*)|"
        r"(?<![\w`])#[^\n]*|'((?:[^']|'')*)'|(?<!`)\"((?:[^\"`]|`.|\"\")*)\"", re.DOTALL,
    ),
    Language.VBA: re.compile(
        r"(?<![\w\"])'[^\n]*|^[ \t]*rem [^\n]*|\"((?:[^\"\n]|\"\")*)\"", re.IGNORECASE | re.MULTILINE
    ),
    Language.JAVASCRIPT: re.compile(
        r"//[^\n]*|/\*.*?\*/|(?P<unclosed>/\*.*)|"
        r"(?<!\\)(?:'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`)", re.DOTALL
    ),
}  # fmt: skip
EVALUATED = frozenset(_SCANNERS)
"""The languages whose string expressions are evaluated."""
_TICKS = {"n": "\n", "t": "\t", "r": "\r", "0": "", "a": "", "b": "", "f": "", "v": ""}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", "v": "", "0": ""}
_JS_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u\{?([0-9A-Fa-f]{4})\}?|(\r?\n)|(.))", re.DOTALL)


def marked(text: str, language: Language) -> str:
    """Return ``text`` with its strings unescaped between OPEN and CLOSE, and without its comments."""
    without_marks = text.replace(OPEN, "").replace(CLOSE, "").replace(_BETWEEN, "")
    return _marked(without_marks, language).replace(_BETWEEN, "")


def _marked(text: str, language: Language) -> str:
    def mark(match: re.Match[str]) -> str:
        groups = match.groupdict()
        if groups.get("unclosed") is not None:  # what follows is code, not a comment or a string
            return _marked(_without_opening(match[0]), language)
        inside = [group for group in match.groups() if group is not None]
        return OPEN + _unescaped(inside[0], match[0], language) + CLOSE if inside else ""

    return _SCANNERS[language].sub(mark, text)


def _without_opening(text: str) -> str:
    """Return ``text`` with no sequence like the one at its beginning, which nothing in it closes."""
    return text.replace(text[:2], text[0] + _BETWEEN + text[1])


def _unescaped(inside: str, whole: str, language: Language) -> str:
    if language is Language.JAVASCRIPT:
        return _JS_ESCAPE.sub(_js_character, inside)
    if language is Language.VBA or (whole[0] == '"' and "`" not in inside):
        return inside.replace('""', '"')
    if whole[0] == "'":
        return inside.replace("''", "'")
    return re.sub(r"`(.)", lambda match: _TICKS.get(match[1], match[1]), inside, flags=re.DOTALL)


def _js_character(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return _character(int(match[1] or match[2], 16))
    return "" if match[3] else _ESCAPES.get(match[4], match[4])


def _character(code: int) -> str:
    is_text = 0 < code < 0xD800 or 0xDFFF < code < 0xE000 or 0xE001 < code < 0x110000
    return chr(code) if is_text else ""


def unmarked(text: str) -> str:
    """Return marked ``text`` with its strings in quotes again."""
    return re.sub(LITERAL, _quoted, text).replace(OPEN, "").replace(CLOSE, "")


def _quoted(match: re.Match[str]) -> str:
    return f"'{match[1]}'" if '"' in match[1] and "'" not in match[1] else f'"{match[1]}"'


def evaluate_strings(text: str, language: Language) -> tuple[str, list[str]]:
    """Return marked ``text`` after all rewriters, and the names of those that changed it, in order."""
    names: list[str] = ["words broken into pieces"] if _BROKEN_WORD.search(text) else []
    for _ in range(MAX_ROUNDS):
        before = text
        for name, rewrite in (*_REWRITERS[language], *_SHARED):
            if rewrite is _concatenated and len(_BROKEN_WORD.findall(text)) >= MIN_BROKEN_WORDS:
                names.append("words broken into pieces")
            changed = rewrite(text)
            if changed != text and len(changed) <= MAX_TEXT_CHARS:
                text = changed
                names.append(name)
        if text == before:
            break
    return text, list(dict.fromkeys(names))


_JOINED = re.compile(rf"{LITERAL}\s{{0,40}}[+&]\s{{0,40}}(?={OPEN})")
_BROKEN_WORD = re.compile(rf"[A-Za-z.]{CLOSE}\s{{0,10}}[+&]\s{{0,10}}{OPEN}[A-Za-z]")
_PARENTHESES = re.compile(rf"(?<![\w\])}}.$])\(\s{{0,20}}({LITERAL})\s{{0,20}}\)")


def _concatenated(text: str) -> str:
    return (
        _JOINED.sub(lambda match: f"{OPEN}{match[1]}{CLOSE}\0", text).replace(f"{CLOSE}\0{OPEN}", "").replace("\0", "")
    )


def _without_parentheses(text: str) -> str:
    return _PARENTHESES.sub(r"\1", text)


_NAME = {
    Language.POWERSHELL: r"\$\{?([A-Za-z_][\w:]{0,60})\}?",
    Language.VBA: r"\b([A-Za-z_]\w{0,60})",
    Language.JAVASCRIPT: r"\b([A-Za-z_$][\w$]{0,60})",
}


def _variables(language: Language) -> Callable[[str], str]:
    """Return a rewriter that inserts the value of every variable that is only ever set to known strings."""
    assigned = re.compile(
        rf"(?<![\w.$]){_NAME[language]}\s{{0,10}}(\+?=)(?!=)\s{{0,10}}(?:\1\s{{0,10}}[&+]\s{{0,10}})?(?:{LITERAL}(?=\s*(?:[;\n\r)|}}]|$)))?",
        re.IGNORECASE,
    )
    before = r"(?<![\w.])" if language is Language.POWERSHELL else r"(?<![\w.$])"
    after = r"(?![\w$]|\s{0,10}\+?=(?!=)|\s{0,5}\(|\.length\b|\s{1,5}as\b)"
    used = re.compile(before + _NAME[language] + after, re.IGNORECASE)

    def put_in(text: str) -> str:
        values = _values(assigned, text)
        if not values:
            return text
        return _outside(text, lambda part: used.sub(lambda match: values.get(match[1].lower(), match[0]), part))

    return put_in


def _values(assigned: re.Pattern[str], text: str) -> dict[str, str]:
    """Return marked values by name in lower case, without variables that are ever set to something else."""
    values: dict[str, str] = {}
    unknown: set[str] = set()
    for match in assigned.finditer(text):
        name, operator, value = match[1].lower(), match[2], match[3]
        is_longer = operator == "+=" or bool(re.search(r"=\s*[$\w]", match[0]))
        if value is None or (name in values and not is_longer):
            unknown.add(name)
        elif len(values) < MAX_VARIABLES:
            values[name] = ((values.get(name, "") if is_longer else "") + value)[:MAX_VALUE_CHARS]
    return {name: literal(value) for name, value in values.items() if name not in unknown}


def _set_again(text: str) -> str:
    """Insert the value of a PowerShell variable that is assigned several times, up to its next assignment."""
    places: dict[str, list[re.Match[str]]] = {}
    for match in _ASSIGNED.finditer(text):
        places.setdefault(match[1].lower(), []).append(match)
    changes: list[tuple[int, int, str]] = []
    for name, found in places.items():
        if not 2 <= len(found) <= MAX_SET_AGAIN:
            continue
        for match, after in pairwise(found):
            if match[2] is None or len(match[2]) > MAX_VALUE_CHARS:
                continue
            end = _STATEMENT_END.search(text, after.end())
            stop = end.start() if end else len(text)
            changes += [
                (one.start(), one.end(), literal(match[2]))
                for one in _USED.finditer(text, match.end(), stop)
                if one[1].lower() == name
            ]
    return _changed(text, changes)


def _changed(text: str, changes: list[tuple[int, int, str]]) -> str:
    """Apply replacements that do not overlap, outside the marked strings only."""
    inside = [(match.start(), match.end()) for match in re.finditer(LITERAL, text)]
    pieces, last, at = [], 0, 0
    for start, end, value in sorted(changes):
        while at < len(inside) and inside[at][1] <= start:
            at += 1
        if start < last or (at < len(inside) and inside[at][0] < start):
            continue
        pieces += [text[last:start], value]
        last = end
    return "".join([*pieces, text[last:]])


MAX_SET_AGAIN = 40
_STATEMENT_END = re.compile(r"[;\n]")
_USED = re.compile(rf"(?<![\w.]){_NAME[Language.POWERSHELL]}(?![\w:]|\s{{0,10}}[+-]?=(?!=)|\.length\b)", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"(?<![\w.$]){_NAME[Language.POWERSHELL]}\s{{0,10}}=(?!=)\s{{0,10}}(?:{LITERAL}(?=\s{{0,200}}(?:[;\n\r|}}]|$)))?",
    re.IGNORECASE,
)


def _outside(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` outside the marked strings only."""
    pieces = re.split(f"({OPEN}[^{CLOSE}]*{CLOSE})", text)
    return "".join(piece if piece.startswith(OPEN) else change(piece) for piece in pieces)


_INTERPOLATED = re.compile(r"\$(?:\{([A-Za-z_]\w{0,60})\}|([A-Za-z_]\w{0,60})|\(\s*\$([A-Za-z_]\w{0,60})\s*\))")
_SET = re.compile(rf"\$\{{?([A-Za-z_]\w{{0,60}})\}}?\s{{0,10}}=\s{{0,10}}{LITERAL}")


def _interpolated(text: str) -> str:
    """Insert variables that are set once into PowerShell's "…$name…"."""
    counts: dict[str, list[str]] = {}
    for match in _SET.finditer(text):
        counts.setdefault(match[1].lower(), []).append(match[2])
    values = {name: found[0] for name, found in counts.items() if len(found) == 1 and len(found[0]) < 2_000}
    if not values:
        return text

    def put_in(match: re.Match[str]) -> str:
        name = (match[1] or match[2] or match[3]).lower()
        return values.get(name, match[0]) if name in values and "$" not in values[name] else match[0]

    return re.sub(LITERAL, lambda match: literal(_INTERPOLATED.sub(put_in, match[1])), text)


_FORMAT = re.compile(
    rf"\(?\s{{0,20}}{LITERAL}\s{{0,20}}-f\s{{0,20}}((?:{LITERAL}\s{{0,20}},\s{{0,20}})*{LITERAL})\s{{0,20}}\)?",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    rf"{LITERAL}\s{{0,20}}(?:\.replace\s{{0,5}}\(|-[ci]?replace\s{{0,10}}\(?)\s{{0,20}}{LITERAL}\s{{0,20}},\s{{0,20}}{LITERAL}\s{{0,20}}\)?",
    re.IGNORECASE,
)
_NUMBER = r"(?:0x[0-9A-Fa-f]{1,4}|\d{1,5})"
_CHAR = re.compile(rf"(?:\[(?:system\.)?char\]\s{{0,5}}\(?\s{{0,5}}({_NUMBER})\s{{0,5}}\)?)", re.IGNORECASE)
_CODES = re.compile(
    rf"(?:(?:-join|\[string\]::join\({LITERAL}\s{{0,5}},)\s{{0,10}})?\({{0,4}}\s{{0,10}}(?:\[char\[\]\]\s{{0,10}})?\(?@?\({{0,4}}\s{{0,10}}"
    rf"(?P<codes>{_NUMBER}(?:\s{{0,10}},\s{{0,10}}{_NUMBER}){{2,}})\s{{0,10}}\){{0,4}}"
    rf"(?P<loop>\s{{0,10}}\|\s{{0,10}}(?:%|foreach(?:-object)?)\s{{0,10}}\{{[^{{}}]{{0,120}}\}})?\s{{0,10}}\){{0,4}}(?:\s{{0,10}}-join\s{{0,10}}{LITERAL}\s{{0,10}}\)?)?",
    re.IGNORECASE,
)  # fmt: skip
_TEXT_CODES = re.compile(
    rf"\(?{LITERAL}\s{{0,5}}(?:\.split\(|-split)\s{{0,5}}\(?{LITERAL}\s{{0,5}}\){{0,4}}\s{{0,10}}\|\s{{0,10}}(?:%|foreach(?:-object)?)\s{{0,10}}(?P<loop>\{{[^{{}}]{{0,160}}\}})\s{{0,10}}\){{0,4}}(?:\s{{0,10}}-join\s{{0,10}}{LITERAL})?",
    re.IGNORECASE,
)
_BACKWARDS = re.compile(
    rf"(?:-join\s{{0,5}}\(?)?\s{{0,5}}{LITERAL}\s{{0,5}}\[\s{{0,5}}-1\s{{0,5}}\.\.\s{{0,5}}-[^\]]{{1,60}}\]\s{{0,5}}\)?(?:\s{{0,5}}-join\s{{0,5}}{LITERAL})?",
    re.IGNORECASE,
)
_PICKED = re.compile(
    rf"{LITERAL}\s{{0,5}}(?:\.tostring\(\))?\[\s{{0,5}}(\d{{1,4}}(?:\s{{0,5}},\s{{0,5}}\d{{1,4}})*)\s{{0,5}}\](?P<join>(?:\s{{0,5}}\+\s{{0,5}}{LITERAL})?\s{{0,5}}-join\s{{0,5}}{LITERAL})?",
    re.IGNORECASE,
)
_FROM_BASE64 = re.compile(
    rf"(?:\[(?:system\.)?text\.encoding\]::(?P<encoding>\w+)\.getstring\s{{0,5}}\(\s{{0,5}})\[?(?:system\.)?convert\]::frombase64string\s{{0,5}}\(?\s{{0,5}}{LITERAL}\s{{0,5}}\){{0,4}}",
    re.IGNORECASE,
)
_KNOWN = (
    (re.compile(r"\$env:comspec|\$\{env:comspec\}", re.I), "C:\\WINDOWS\\system32\\cmd.exe"),
    (re.compile(r"\$pshome\b", re.I), "C:\\Windows\\System32\\WindowsPowerShell\\v1.0"),
    (re.compile(r"\$shellid\b", re.I), "Microsoft.PowerShell"),
    (re.compile(r"\$\{?verbosepreference\}?(?:\.tostring\(\))?", re.I), "SilentlyContinue"),
    (re.compile(r"\$env:public\b", re.I), "C:\\Users\\Public"),
)
_PICKS_KNOWN = re.compile(r"\s{0,5}\[")
_TICK = re.compile(r"(?<=[\w$-])`(?=\w)|(?<![\w`])`(?=[A-Za-z]{2})")


def _without_ticks(text: str) -> str:
    return _outside(text, lambda part: _TICK.sub("", part))


def _formatted(match: re.Match[str]) -> str:
    values = re.findall(LITERAL, match[2])
    filled = re.sub(r"\{(\d{1,3})\}", lambda m: values[int(m[1])] if int(m[1]) < len(values) else m[0], match[1])
    return literal(filled)


def _replacement(match: re.Match[str]) -> str:
    old = re.sub(r"\\(.)", r"\1", match[2]) if "-" in match[0].split(CLOSE)[1] else match[2]
    return literal(match[1].replace(old, match[3])) if old else match[0]


def _from_codes(match: re.Match[str]) -> str:
    if "char" not in match[0].lower():
        return match[0]
    return literal(_characters(re.findall(_NUMBER, match["codes"]), match["loop"] or ""))


def _from_text_codes(match: re.Match[str]) -> str:
    if "char" not in match["loop"].lower():
        return match[0]
    pieces = re.split("[" + re.escape(match[2]) + "]", match[1]) if match[2] else [match[1]]
    is_hex = "16" in match["loop"]
    codes = [f"0x{piece.strip()}" if is_hex else piece.strip() for piece in pieces if piece.strip()]
    return (
        literal(_characters(codes, match["loop"])) if all(re.fullmatch(_NUMBER, code) for code in codes) else match[0]
    )


def _characters(codes: list[str], loop: str) -> str:
    key = re.search(rf"-bxor\s*({_NUMBER})", loop, re.IGNORECASE)
    mask = _number(key[1]) if key else 0
    return "".join(_character(_number(code) ^ mask) for code in codes)


def _number(text: str) -> int:
    return int(text, 16) if text.lower().startswith("0x") else int(text)


def _picked(match: re.Match[str]) -> str:
    indexes = [int(index) for index in match[2].split(",")]
    if (len(indexes) > 1 and not match["join"]) or max(indexes) >= len(match[1]):
        return match[0]
    tail = match[4] or ""
    return literal("".join(match[1][index] for index in indexes) + tail)


def _decoded(match: re.Match[str]) -> str:
    try:
        data = base64.b64decode(match[2] + "=" * (-len(match[2]) % 4))
    except binascii.Error:
        return match[0]
    if match["encoding"].lower() == "unicode":
        return literal(data.decode("utf-16-le", "replace"))
    found = text_of(data)
    return literal(found[0]) if found else match[0]


def _known_values(text: str) -> str:
    for pattern, value in _KNOWN:
        written = literal(value).replace("\\", r"\\")  # as a template of re.sub
        text = re.sub(f"(?:{pattern.pattern})(?={_PICKS_KNOWN.pattern})", written, text, flags=re.IGNORECASE)
    return text


_VBA_CHR = re.compile(r"\bchrw?\$?\s{0,5}\(\s{0,5}(&h[0-9a-f]{1,4}|\d{1,5})\s{0,5}\)", re.IGNORECASE)
_VBA_REVERSE = re.compile(rf"\bstrreverse\s{{0,5}}\(\s{{0,5}}{LITERAL}\s{{0,5}}\)", re.IGNORECASE)
_VBA_REPLACE = re.compile(
    rf"\breplace\s{{0,5}}\(\s{{0,5}}{LITERAL}\s{{0,5}},\s{{0,5}}{LITERAL}\s{{0,5}},\s{{0,5}}{LITERAL}[^()\n]{{0,40}}\)",
    re.IGNORECASE,
)
_VBA_CONTINUED = re.compile(r"[ \t]_[ \t]*\r?\n[ \t]*")
_JS_CODES = re.compile(
    rf"string\.from(?:charcode|codepoint)\s{{0,5}}\(\s{{0,10}}({_NUMBER}(?:\s{{0,10}},\s{{0,10}}{_NUMBER})*)\s{{0,10}}\)",
    re.IGNORECASE,
)
_JS_UNESCAPE = re.compile(
    rf"\b(?:window\.)?(unescape|decodeuricomponent|atob)\s{{0,5}}\(\s{{0,5}}{LITERAL}\s{{0,5}}\)", re.IGNORECASE
)
_JS_REVERSE = re.compile(rf"{LITERAL}\.split\({OPEN}{CLOSE}\)\.reverse\(\)\.join\({OPEN}{CLOSE}\)", re.IGNORECASE)
_JS_LIST = re.compile(
    rf"\[\s{{0,10}}((?:{LITERAL}\s{{0,10}},\s{{0,10}})*{LITERAL})\s{{0,10}}\](?P<reverse>\.reverse\(\))?\.join\(\s{{0,5}}{LITERAL}\s{{0,5}}\)",
    re.IGNORECASE,
)
_JS_REPLACE = re.compile(
    rf"{LITERAL}\.replace\(\s{{0,5}}(?:/([^/\n\\]{{1,40}})/([gi]{{0,2}})|{LITERAL})\s{{0,5}},\s{{0,5}}{LITERAL}\s{{0,5}}\)",
    re.IGNORECASE,
)
_JS_SPLIT = re.compile(rf"{LITERAL}\.split\({LITERAL}\)\.join\({LITERAL}\)", re.IGNORECASE)
_JS_MEMBER = re.compile(rf"(?<=[\w)\]])\[{OPEN}([A-Za-z_$][\w$]{{0,60}}){CLOSE}\]")


def _vba_code(number: str) -> int:
    return int(number[2:], 16) if number[:2].lower() == "&h" else int(number)


def _sign(written: str, code: int) -> str:
    """A line's end, a quote or the like, which people write as a code; a letter stays as it is ``written``."""
    char = _character(code)
    return written if char.isalnum() or not char else literal(char)


def _js_decoded(match: re.Match[str]) -> str:
    if match[1].lower() != "atob":
        wide = re.sub(r"%u([0-9A-Fa-f]{4})", lambda code: _character(int(code[1], 16)), match[2])
        return literal(unquote(wide, errors="replace"))
    try:
        return literal(base64.b64decode(match[2] + "=" * (-len(match[2]) % 4)).decode("latin-1"))
    except binascii.Error:
        return match[0]


def _all_replaced(match: re.Match[str]) -> str:
    return literal(match[1].replace(match[2], match[3]) if match[2] else match[1])


def _js_list(match: re.Match[str]) -> str:
    items = re.findall(LITERAL, match[1])
    return literal((match.groups()[-1] or "").join(reversed(items) if match["reverse"] else items))


def _js_replacement(match: re.Match[str]) -> str:
    whole, plain, flags, fixed, new = match.groups()
    if plain is None:
        return literal(whole.replace(fixed, new, 1)) if fixed else match[0]
    if not re.fullmatch(r"[\w\s@#%&!~=,:;<>-]+", plain):
        return match[0]
    return literal(whole.replace(plain, new) if "g" in flags else whole.replace(plain, new, 1))


Rewriter = tuple[str, Callable[[str], str]]


def _sub(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str] | str) -> Callable[[str], str]:
    return lambda text: pattern.sub(by, text)


_SHARED: tuple[Rewriter, ...] = (
    ("string concatenation", _concatenated),
    ("parentheses around strings", _without_parentheses),
)
_REWRITERS: dict[Language, tuple[Rewriter, ...]] = {
    Language.POWERSHELL: (
        ("backticks", _without_ticks),
        ("aliases", aliases),
        ("split strings", without_split_options),
        ("reversal", reversed_by_matches),
        ("reversal", reversed_arrays),
        ("character codes", bytes_as_text),
        ("characters of known values", _known_values),
        ("character codes", _sub(_TEXT_CODES, _from_text_codes)),
        ("character codes", _sub(_CODES, _from_codes)),
        ("single characters", _sub(_CHAR, lambda match: _sign(match[0], _number(match[1])))),
        ("character codes", _sub(_CHAR, lambda match: literal(_character(_number(match[1]))))),
        ("the format operator", _sub(_FORMAT, _formatted)),
        ("replacement", _sub(_REPLACED, _replacement)),
        ("reversal", _sub(_BACKWARDS, lambda match: literal(match[1][::-1]))),
        ("characters of strings", _sub(_PICKED, _picked)),
        ("Base64", _sub(_FROM_BASE64, _decoded)),
        ("variables", _variables(Language.POWERSHELL)),
        ("variables", _set_again),
        ("variables", _interpolated),
    ),
    Language.VBA: (
        ("line continuation", _sub(_VBA_CONTINUED, " ")),
        ("single characters", _sub(_VBA_CHR, lambda match: _sign(match[0], _vba_code(match[1])))),
        ("character codes", _sub(_VBA_CHR, lambda match: literal(_character(_vba_code(match[1]))))),
        ("reversal", _sub(_VBA_REVERSE, lambda match: literal(match[1][::-1]))),
        ("replacement", _sub(_VBA_REPLACE, _all_replaced)),
        ("variables", _variables(Language.VBA)),
    ),
    Language.JAVASCRIPT: (
        ("character codes", _sub(_JS_CODES, lambda match: literal(_characters(re.findall(_NUMBER, match[1]), "")))),
        ("unescape or atob", _sub(_JS_UNESCAPE, _js_decoded)),
        ("reversal", _sub(_JS_REVERSE, lambda match: literal(match[1][::-1]))),
        ("joined arrays", _sub(_JS_LIST, _js_list)),
        ("joined arrays", _sub(_JS_SPLIT, _all_replaced)),
        ("replacement", _sub(_JS_REPLACE, _js_replacement)),
        ("string member access", _sub(_JS_MEMBER, r".\1")),
        ("variables", _variables(Language.JAVASCRIPT)),
    ),
}  # fmt: skip
