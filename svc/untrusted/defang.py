"""Write indicators so that nothing follows them, and read the ways in which others do so: hxxp, [.], (dot), [at].

``defang_word`` decides which words of prose are indicators; ``defang`` writes a value whose kind is known;
``defang_text`` treats every word of a text; ``break_links`` takes the life out of everything that a renderer could link
without deciding what it is. All build on the same schemes and the same way to write a host.

``refang`` undoes what other writers did and never adds or removes a line break. A dot that was written harmless becomes
DOT, a character of its own, which tells later readers that the writer meant a host there, not a file or a version.

Facts: the Public Suffix List (what a top-level domain is), RFC 3986 (schemes), GitHub Flavored Markdown "Autolinks
(extension)" (what renderers turn into links). Cases for every language: ``tests/wire/defang_cases.json``.
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from svc.untrusted.characters import without_hidden

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

DOT = "\ue000"  # private use: never part of a text that means anything
_OPEN, _CLOSE = r"[\[({<⟨【]", r"[\])}>⟩】]"
_ANY = r"[\[\](){}<>⟨⟩【】]"
_SPACE = r"[ \t]{0,2}"
_TOP = (
    r"(?:com|net|org|info|biz|edu|gov|mil|int|ru|su|cn|io|co|de|uk|fr|nl|it|es|pl|br|in|jp|kr|ir|tr|ua|us|eu|ca|au|ch|at|be"
    r"|cz|se|no|fi|dk|ro|hu|gr|pt|me|tv|cc|tk|ml|ga|cf|gq|pw|ws|to|top|xyz|club|site|online|icu|shop|live|life|app|dev"
    r"|space|website|store|tech|vip|win|host|press|fun|work|cloud|link|click|monster|onion|example|tld)(?![\w-])"
)
"""Ends of names that a writer may have spelled so that no rule of brackets finds them: the commonest of them."""

_SCHEMES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<http>h[tx*_]{1,3}p|h\[?[tx]{2}\]?p|\[h[tx]{2}p\]|hxxx?p|hppt|h00p|meow|h[tx]{2}\[p\]|x{4})(?P<s>\[?s\]?|x)?"
    r"|(?P<ftp>f[xt*]p|ftx)(?P<fs>s)?"
    r")(?P<sep>[ \t]?\[?\(?:\]?\)?(?:/{2,3}|\\\\|\[//\]|\(//\)|\[/\]\[/\])[\])]?|\[:?//\])",
    re.IGNORECASE,
)
_PLAIN_SCHEME = re.compile(
    r"(?<![A-Za-z0-9])[\[(]?(?P<http>https?|hxxps?)[\])]?(?:__|//|[ \t]?[!&@*]?:/{1,3}|[ \t]:/{2,3})[ \t]{0,2}"
    rf"(?=[\w-]{{1,63}}(?:{_SPACE}{_ANY}{{0,3}}[.,{DOT}]{_ANY}{{0,3}}{_SPACE}[\w-]{{1,63}}){{1,6}}(?![\w.-]))",
    re.IGNORECASE,
)
_BRACKETED_SCHEME = re.compile(
    r"(?<=[A-Za-z])[\[({]://[\])}]|(?<=[A-Za-z])[\[({]:[\])}]//|(?<=[A-Za-z]):[\[({]//[\])}]"
)
_DOT = re.compile(
    rf"{_SPACE}{_OPEN}(?:{_SPACE}{_OPEN}){{0,6}}{_SPACE}(?:\.|,|dot|DOT|Dot|punkt|punto|d0t){_SPACE}{_CLOSE}{{1,4}}"
    r"[ \t]{0,3}(?=[\w\[(-])"
    r"|(?<=[\w\])])\[\.(?=\w)|(?<=\w)\.\](?=\w)|(?<=\w)\(\.(?=\w)|(?<=\w)\.\)(?=\w)|(?<=\w)\\\.(?=(?:com"
    r"|net|org|info|ru|cn|io|top|xyz|biz)\b)"
    r"|(?<=\w)[\u3002\uff0e\uff61](?=\w)|(?<=\w)\[\.?(?=(?:com|net|org|info|ru|cn|io)\b)(?!\.?\w+\[)|(?<=[a-z0-9])_dot_(?=[a-z])"
    rf"|(?<=\w)dot\](?={_TOP})|(?<=\w)\[dot(?={_TOP})|(?<=[a-z0-9])DOT(?={_TOP})|(?<=\w)-dot-(?={_TOP}(?![.@]))"
    rf"|(?<={DOT}com)[ \t]{{0,4}}\[[ \t]{{0,3}}\.(?=[a-z]{{2,3}}(?![\w.]))"
)
_ODD_ADDRESS = re.compile(
    r"(?<![\w.])\d{1,3}(?:[\[\](){}\\]{0,10}\.[\[\](){}\\]{0,10}\d{1,3}){3}(?![\w\\])(?!\.\d)"
    r"|(?<=://)\d{1,3}(?:,\d{1,3}){3}(?![\w,])"
)
_ODD_NAME = re.compile(
    r"(?<![\w.\[\](){}/\\-])[\[({]?[\w-]{1,63}(?:[\[\](){}]{0,3}\.[\[\](){}]{0,3}[\w-]{1,63}){1,8}(?![\w(\[{.-])"
)
_ODD_DOT = re.compile(r"[\[\](){}]{0,3}\.[\[\](){}]{0,3}")
_ESCAPED_NAME = re.compile(
    rf"(?<![\w\\/:.-])(?:[\w-]{{1,63}}[ \t]?\\{{0,6}}\.[ \t]?){{0,6}}[\w-]{{1,63}}[ \t]?\\{{1,6}}\.[ \t]?{_TOP}"
)
_ESCAPED_SLASHES = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp):\\?/\\?/[^\s\"'<>]{1,4000}", re.IGNORECASE)
_SPACED_NAME = re.compile(
    rf"(?<=://)(?=[^\s/]{{1,200}} )(?:[\w-]{{1,63}}[ \t]?[.{DOT}][ \t]?){{1,6}}{_TOP}(?P<path>[ \t]?/(?=\S|$))?"
)
_COMMA_NAME = re.compile(rf"(?<=://)(?:[\w-]{{1,63}},){{1,5}}{_TOP}(?![,.])")
_CUT_SLASH = re.compile(rf"(?<=://)[\w.{DOT}:-]{{1,200}}(?:[\[(]/[\])]?|/[\])])(?=\w)")
_ENCODED_ADDRESS = re.compile(r"(?<![^\s\"'<>(,;\[])(?:\w{1,20}=)?https?%3A%2F%2F[^\s\"'<>&]{3,2000}", re.IGNORECASE)
_TAIL_BRACKET = re.compile(rf"(?<={DOT})([A-Za-z0-9-]{{2,63}})\](?![\w.])")
_AT = re.compile(
    rf"{_SPACE}{_OPEN}{_SPACE}(?:@|at|AT|At|et|ET|arroba){_SPACE}{_CLOSE}{_SPACE}(?=[\w-])|_at_(?=[\w-]{{1,63}}{DOT})"
)
_HYPHEN = re.compile(rf"(?<=[A-Za-z0-9])\[-\](?=[\w-]{{1,63}}[.{DOT}\[])")
_COLON_OR_SLASH = re.compile(r"(?<=[\w\])])[\[({]([:/])[\])}](?=[\w/\[:]|$)", re.MULTILINE)
_COLONS = re.compile(r"(?<=[0-9A-Fa-f:\]])\[:\](?=[0-9A-Fa-f\[])|\[:\](?=[0-9A-Fa-f]{1,4}:)")
_SPELLED_DOT = re.compile(rf"(?<=\w) {{1,2}}(?:DOT|dot) {{1,2}}(?=(?:[\w-]+ (?:DOT|dot) )?{_TOP})")
_SPELLED_AT = re.compile(rf"(?<=\w) (?:AT|at) (?=[\w-]{{1,63}}{DOT})")
_HOST_AFTER = rf"(?=(?:[\w-]{{1,63}}[.{DOT}]){{1,4}}{_TOP})"
_SPACED_AT = re.compile(
    rf"(?<=\w)(?: {{0,2}}@ {{1,2}}| {{1,2}}@ {{0,2}})(?=[\w-]{{1,63}}{DOT})"
    rf"|(?<=\w) {{1,2}}(?:@|AT) {{1,2}}{_HOST_AFTER}|(?<=[a-z0-9])AT{_HOST_AFTER}(?=[a-z0-9])"
)

# One scan that tells whether any of the substitutions above can change the text: most logs hold no harmless form
_MARK = re.compile(
    r"[\[({<⟨【][ \t]{0,2}(?:[.,:/@\[(-]|dot|punkt|punto|d0t|arroba|at\b|et\b|s\])|[.:/][\])}]|[\[\](){}]\.|\.[\[({]"
    r"|[\u3002\uff0e\uff61]|_(?:dot|at)_|-dot-| (?:dot|at) |DOT|AT|[ @]@|@ |dot\]|\[dot"
    r"|\\{1,6}\. ?(?:[a-z]|\d)|x{1,3}ps?[\[(]?:|\*\*ps?|meow:|h(?:_|ppt|00p)|\]ps?|\[p\]|ps?\]:|tps?:\\|f(?:xp|tx)|x{4}"
    r"|tps?(?:__|//|[ \t]?[!&@*]?:/ ?|[ \t]:/|:///)(?!/?[\w.-])|tps?(?:__|//|[!&@* \t]:)|http:///|https:///|https?%3A|://[^\s/.]{1,63},"
    r"|[\w:]\\/|:// |://[\w.-]{1,200} ",
    re.IGNORECASE,
)


def refang(text: str) -> str:
    """``text`` as it was before it was made harmless; a dot put back is DOT. Has as many lines as ``text``."""
    text = without_hidden(text).replace(DOT, "")
    if _MARK.search(text) is None:
        return text
    text = _ESCAPED_SLASHES.sub(lambda match: match[0].replace("\\/", "/"), text)
    text = _ENCODED_ADDRESS.sub(_unquoted, text)
    text = _SCHEMES.sub(_scheme, text)
    text = _BRACKETED_SCHEME.sub("://", text)
    text = _ODD_ADDRESS.sub(_odd_address, text)
    text = _DOT.sub(DOT, text)
    text = _PLAIN_SCHEME.sub(lambda match: f"http{'s' if match['http'][-1] in 'sS' else ''}://", text)
    text = _ESCAPED_NAME.sub(lambda match: _ESCAPED_DOT.sub(DOT, match[0]), text)
    text = _ODD_NAME.sub(_odd_name, text)
    text = _TAIL_BRACKET.sub(r"\1", text)
    text = _COLONS.sub(":", text)
    text = _COLON_OR_SLASH.sub(r"\1", text)
    text = _CUT_SLASH.sub(lambda match: match[0].rstrip("[](/)") + "/", text)
    text = _COMMA_NAME.sub(lambda match: match[0].replace(",", DOT), text)
    text = _SPACED_NAME.sub(lambda match: re.sub(r"[ \t]", "", match[0]).replace(".", DOT), text)
    text = _HYPHEN.sub("-", text)
    text = _SPELLED_DOT.sub(DOT, text)
    text = _SPELLED_AT.sub("@", text)
    text = _AT.sub("@", text)
    return _SPACED_AT.sub("@", text)


_ESCAPED_DOT = re.compile(r"[ \t]?\\{0,6}\.[ \t]?")


def _unquoted(match: re.Match[str]) -> str:
    """An address that is percent-encoded as a whole; it stays as it is if it holds white space."""
    found = unquote(match[0])
    return match[0] if any(char.isspace() or not char.isprintable() for char in found) else found


def _odd_address(match: re.Match[str]) -> str:
    parts = re.findall(r"\d+", match[0])
    is_plain = len(match[0]) == sum(map(len, parts)) + 3 and "." in match[0]
    return match[0] if is_plain or any(int(part) > 255 for part in parts) else DOT.join(parts)


def _odd_name(match: re.Match[str]) -> str:
    """A name with stray brackets at its dots, as ``www].evil].com``; brackets of code are in pairs around something."""
    raw = match[0]
    opened, bare = raw[0] in "[({", raw.lstrip("[({")
    name = _ODD_DOT.sub(DOT, bare)
    if len(name) == len(bare) or re.fullmatch(_TOP, name.rpartition(DOT)[2], re.IGNORECASE) is None:
        return raw
    is_code = re.search(r"[\])}]\.(?![\[\](){}])", bare) is not None and raw.count("]") + raw.count(")") == 1
    if is_code and not (opened and bare[:3].lower() == "www"):
        return raw
    return name if not opened or bare[:3].lower() == "www" else raw[0] + name


def _scheme(match: re.Match[str]) -> str:
    if match["ftp"]:
        return f"ftp{'s' if match['fs'] else ''}://"
    return f"http{'s' if match['s'] else ''}://"


def plain(value: str) -> str:
    """A value with every DOT as an ordinary dot."""
    return value.replace(DOT, ".")


_LINKED_SCHEMES = (
    "about", "blob", "data", "file", "ftp", "ftps", "javascript", "ldap", "ldaps", "mailto", "sftp", "smb", "tel",
    "vbscript", "view-source", "ws", "wss", "xmpp",
)  # fmt: skip
"""Schemes that a program may act on when they are followed, besides http and https."""

_WEB = re.compile(r"htt(ps?)(?=:[/\\])|ft(ps?)(?=:[/\\])", re.IGNORECASE)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{0,30})(:/{2,}|:\\\\)([^/?#\s]*)", re.IGNORECASE)
_SAFE_SCHEMES = ("hxxp", "hxxps", "fxp", "fxps")
_LINKED = re.compile(rf"^(?:{'|'.join(_LINKED_SCHEMES)}):", re.IGNORECASE)
_BREAKABLE = re.compile(r"tps?:|://|www\.|@", re.IGNORECASE)  # without any of these there is nothing to break
_WEB_ANYWHERE = re.compile(r"htt(ps?)(?=:)|ft(ps?)(?=:)", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"(?<!hxxp)(?<!hxxps)(?<!fxp)(?<!fxps)(?<=[A-Za-z0-9])://", re.IGNORECASE)
_LINKED_ANYWHERE = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(_LINKED_SCHEMES)}):(?=\S)", re.IGNORECASE)
_WWW = re.compile(r"(www)\.", re.IGNORECASE)
_AT_ANYWHERE = re.compile(r"(?<=[^\s\[(@])@(?=[^\s\])@])")
_DEFANGED = re.compile(r"\[(?:\.|@|:|://|dot|at)\]|\((?:dot|\.)\)|\bhxxps?\b|\bfxps?://", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_MAIL = re.compile(r"[^\s@<>\"'(),;]{1,300}@[^\s@<>\"'(),;]{0,300}[^\W_][^\s@<>\"'(),;]*")
_IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d]|\.\d)")
_DOMAIN = re.compile(
    r"(?<![^\W_])(?<![.@-])(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+([^\W\d_][\w-]{0,61}[^\W_])(?![^\W_]|-+[^\W_])"
)
_FILE_ENDINGS = frozenset(("ai", "app", "cc", "java", "md", "mov", "pl", "ps", "pub", "py", "rs", "sh", "so", "zip"))
"""Top-level domains that end file names as often: shown as code, defanged only if more speaks for a host."""

_SPECIAL_USE = frozenset(("corp", "example", "home", "internal", "invalid", "lan", "local", "localhost", "test"))
"""Not in the Public Suffix List: names of RFC 2606, RFC 6761 and RFC 6762, and those that networks use internally."""


def defang(value: str, kind: str) -> str:
    """Return an indicator so that it cannot be followed; kinds that cannot be followed stay as they are.

    Args:
        value: The indicator.
        kind: Its type as ``svc.assistant.skills.indicators`` names it: ``url``, ``domain``, ``ipv4``, ``email`` …
    """
    match kind:
        case "url":
            scheme, separator, rest = _WEB.sub(_web, value).partition("://")
            host, slash, path = (rest if separator else scheme).partition("/")
            return f"{scheme if separator else ''}{separator}{_dots(host)}{slash}{path}"
        case "domain" | "ipv4" | "ipv4_cidr":
            return _dots(value)
        case "email" | "xmpp":
            return _dots(_ats(value))
        case "ipv6" | "ipv6_cidr":
            return value.replace(":", "[:]", 1)
        case _:
            return value


def defang_text(text: str) -> str:
    """Return a text with every word that is an indicator defanged; spaces stay as they are."""
    return _WORD.sub(lambda match: defang_word(match[0]) or match[0], text)


def break_links(text: str) -> str:
    """Return prose in which no renderer finds an address to link; it decides nothing about hosts and names."""
    return _LINKED_ANYWHERE.sub(r"\1[:]", _inert(text))


def _inert(text: str) -> str:
    """The text without what GFM and linkify link: ``www.``, a scheme and ``@``, in whatever company.

    They link more than one expects: after punctuation, within a word, without a host. Twice changes nothing more.
    """
    if _BREAKABLE.search(text) is None:
        return text
    text = _ANY_SCHEME.sub("[:]//", _WEB_ANYWHERE.sub(_web, text))
    return _AT_ANYWHERE.sub("[@]", _WWW.sub(r"\1[.]", text))


def defang_word(word: str) -> str | None:
    """Return the word so that it cannot be followed if it holds an indicator, else None. Twice changes nothing more.

    The caller shows what it returns as code: a file name that could be a domain comes back as it is.
    """
    found = _defanged(word)
    shown = word if found is None else found
    safe = _inert(shown)
    if safe != shown:  # what was in between may have hidden a domain
        return _bare(safe)
    return found


def _defanged(word: str) -> str | None:
    """The word with the indicators that it is known to hold defanged, else None."""
    word = _WEB.sub(_web, word)
    if _ADDRESS.search(word):
        return _bare(_ADDRESS.sub(_address, word))
    if _LINKED.match(word) or ("@" in word and _MAIL.search(word)):
        return _bare(_MAIL.sub(_mail, word))
    bare = _bare(word)
    if bare != word or _DEFANGED.search(word) or _is_ipv6(word):  # no program links a bare IPv6 address
        return bare
    match = _DOMAIN.search(word)
    return word if match and _is_top_level(match[1]) else None


def _web(match: re.Match[str]) -> str:
    """The scheme as ``hxxp``, ``hxxps``, ``fxp`` or ``fxps``; the groups hold the end of either."""
    return f"hxx{match[1].lower()}" if match[1] else f"fx{match[2].lower()}"


def _ats(text: str) -> str:
    return re.sub(r"(?<!\[)@(?!\])", "[@]", text)


def _bare(word: str) -> str:
    """The word with its IPv4 addresses and domains defanged."""
    return _DOMAIN.sub(_domain, _IPV4.sub(_ipv4, word))


def _address(match: re.Match[str]) -> str:
    scheme, mark, host = match.groups()
    if not scheme.lower().endswith(_SAFE_SCHEMES):
        mark = f"[:]{mark[1:]}"
    return scheme + mark + _ats(_dots(host))


def _mail(match: re.Match[str]) -> str:
    user, _, domain = match[0].rpartition("@")
    return match[0] if user.endswith("[") else f"{user}[@]{_dots(domain)}"


def _ipv4(match: re.Match[str]) -> str:
    return _dots(match[0]) if all(int(part) <= 255 for part in match[0].split(".")) else match[0]


def _domain(match: re.Match[str]) -> str:
    if match[0].lower().startswith("www."):  # GFM links it whatever comes after
        return _dots(match[0])
    ending = match[1].lower()
    return match[0] if ending in _FILE_ENDINGS or not _is_top_level(ending) else _dots(match[0])


def _dots(host: str) -> str:
    return re.sub(r"(?<!\[)\.(?!\])", "[.]", host)


def _is_ipv6(word: str) -> bool:
    core = word.strip("[](){},;.\"'").split("/")[0]
    if core.count(":") < 2:
        return False
    try:
        ipaddress.IPv6Address(core)
    except ValueError:
        return False
    return True


def _is_top_level(ending: str) -> bool:
    if ending.lower() in _SPECIAL_USE or ending.lower().startswith("xn--"):
        return True
    try:
        ascii_ending = ending.lower().encode("idna").decode("ascii")
    except UnicodeError:  # no name of the DNS is written so
        return False
    return _suffixes().publicsuffix(f"x.{ascii_ending}") is not None


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # loaded with the first answer, not with the extension

    return PublicSuffixList(accept_unknown=False)
