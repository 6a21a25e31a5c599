"""Which words of prose are indicators, and how each is written so that nothing makes a link of it.

Decides on single words, outside code; keeps no table of its own. Facts: the Public Suffix List (what a top-level domain
is), RFC 3986 (schemes), GitHub Flavored Markdown "Autolinks (extension)" (what renderers turn into links).
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_WEB = re.compile(r"(?:(h)tt|(f)t)(ps?)(?=:[/\\])", re.IGNORECASE)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{0,30})(:/{2,}|:\\\\)([^/?#\s]*)", re.IGNORECASE)
_SAFE_SCHEMES = ("hxxp", "hxxps", "fxp", "fxps")
_RUNS_CODE = re.compile(r"^(javascript|vbscript|data|file|blob|mailto|tel|about|view-source|xmpp):", re.IGNORECASE)
_DEFANGED = re.compile(r"\[(?:\.|@|:|://|dot|at)\]|\((?:dot|\.)\)|\bhxxps?\b|\bfxps?://", re.IGNORECASE)
_MAIL = re.compile(r"[^\s@<>\"'(),;]+@[^\s@<>\"'(),;]*[^\W_][^\s@<>\"'(),;]*")
_IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d]|\.\d)")
_DOMAIN = re.compile(r"(?<![\w.@-])(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+([^\W\d_][\w-]{1,30})(?![\w-])")
_FILE_ENDINGS = frozenset(("ai", "app", "cc", "java", "md", "mov", "pl", "ps", "pub", "py", "rs", "sh", "so", "zip"))
"""Top-level domains that end file names as often: shown as code, defanged only where more speaks for a host."""


def defang(word: str) -> str | None:
    """The word as it may stand in an answer where it holds an indicator, else None. Defanging twice changes nothing.

    The caller shows what comes back as code: a file name that could be a domain comes back as it is.
    """
    word = _WEB.sub(lambda match: ("hxx" if match[1] else "fx") + match[3].lower(), word)
    if _ADDRESS.search(word):
        return _bare(_ADDRESS.sub(_address, word))
    if _RUNS_CODE.match(word) or ("@" in word and _MAIL.search(word)):
        return _bare(_MAIL.sub(_mail, word))
    bare = _bare(word)
    if bare != word or _DEFANGED.search(word) or _is_ipv6(word):
        return bare
    match = _DOMAIN.search(word)
    return word if match and _is_top_level(match[1]) else None


def _bare(word: str) -> str:
    """The word with its IPv4 addresses and domains defanged."""
    return _DOMAIN.sub(_domain, _IPV4.sub(_ipv4, word))


def _address(match: re.Match[str]) -> str:
    scheme, mark, host = match.groups()
    if not scheme.lower().endswith(_SAFE_SCHEMES):
        mark = f"[:]{mark[1:]}"
    return scheme + mark + re.sub(r"(?<!\[)@(?!\])", "[@]", _dots(host))


def _mail(match: re.Match[str]) -> str:
    user, _, domain = match[0].rpartition("@")
    return match[0] if user.endswith("[") else f"{user}[@]{_dots(domain)}"


def _ipv4(match: re.Match[str]) -> str:
    return _dots(match[0]) if all(int(part) <= 255 for part in match[0].split(".")) else match[0]


def _domain(match: re.Match[str]) -> str:
    ending = match[1].lower()
    is_file_name = ending in _FILE_ENDINGS and not match[0].lower().startswith("www.")
    return match[0] if is_file_name or not _is_top_level(ending) else _dots(match[0])


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
    try:
        ascii_ending = ending.lower().encode("idna").decode("ascii")
    except UnicodeError:  # no name of the DNS is written so
        return False
    return _suffixes().publicsuffix(f"x.{ascii_ending}") is not None


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # loaded with the first answer, not with the extension

    return PublicSuffixList(accept_unknown=False)
