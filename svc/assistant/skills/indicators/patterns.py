"""A pattern for each type of indicator, and the checks that a pattern cannot make. Pure functions over one string.

Every pattern is linear: each part is bounded, and a match can start at a boundary only. Hosts are checked against the
public list of top-level domains (publicsuffixlist) and the tables in ``words.toml``, addresses with ipaddress, and
cryptocurrency addresses by their checksum (base58check; BIP 173 and 350).
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache

import msgspec
from publicsuffixlist import PublicSuffixList

from svc.assistant.knowledge import load
from svc.assistant.skills.indicators.findings import Scope
from svc.untrusted.defang import DOT, plain

_D = rf"[.{DOT}]"
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST_LABEL = rf"(?:_?{_LABEL})"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|0?\d?\d)"
_IPV4 = rf"{_OCTET}(?:{_D}{_OCTET}){{3}}"

URL = re.compile(
    r"(?<![A-Za-z0-9])(?:https?|s?ftps?|wss?|ssh|tcp|udp|ldaps?|rmi|dns|smb|s3|gs|gopher|telnet|rtmps?"
    r"|mms|irc|git|tftp|file|vnc|rdp)"
    r"://[^\s<>\"'`{}|^\\]{2,4000}",
    re.IGNORECASE,
)
URL_WITHOUT_SCHEME = re.compile(
    rf"(?<![\w@./\\:{DOT}-])(?P<host>{_IPV4}|{_HOST_LABEL}(?:{_D}{_HOST_LABEL}){{1,10}})(?P<port>:\d{{1,5}})?/"
    r"[^\s<>\"'`{}|^\\]{1,4000}"
)
ADDRESS_LIST = re.compile(rf"(?:/\d{{1,2}})?(?:[/,;]{_IPV4}(?:/\d{{1,2}})?){{0,200}}")
"""What follows the first address of several that slashes, commas or semicolons join."""
NESTED_URL = re.compile(r"(?<=.)https?(?:://|%3A%2F%2F)[^\s&\"'<>]+", re.IGNORECASE)
EMAIL = re.compile(
    rf"(?<![\w.+%-])(?P<local>[A-Za-z0-9_](?:[\w.+%'-]|{DOT}){{0,63}})@"
    rf"(?P<host>{_HOST_LABEL}(?:{_D}{_HOST_LABEL}){{1,10}}|\[{_IPV4}\]|\[(?i:IPv6):[0-9A-Fa-f:.]{{2,45}}\])(?![\w@]|-\w)"
)
IPV4 = re.compile(
    rf"(?<![\w.{DOT}-])(?<![A-Za-z]/)(?<!==)(?P<ip>{_IPV4})(?:/(?P<bits>\d{{1,2}})(?![\w./])"
    rf"|:(?P<port>\d{{1,5}})(?![\w:])|(?!\w|{_D}\d|-(?!{_IPV4}(?![\w.-]))\d))"
)
IPV4_AFTER_DASH = re.compile(rf"(?<=\d-)(?<!\w\w-)(?P<ip>{_IPV4})(?![\w-]|{_D}\d)")
IPV6 = re.compile(
    rf"(?<![\w:.%])(?P<ip>(?=[0-9A-Fa-f:.]{{0,39}}:[0-9A-Fa-f:.]{{0,39}}:)[0-9A-Fa-f:]{{2,45}}(?<=:){_IPV4}|[0-9A-Fa-f:]{{3,45}})"
    r"(?:%\w{1,15})?(?:/(?P<bits>\d{1,3})(?![\w.]))?(?![\w]|:\w)"
)
DOMAIN = re.compile(
    rf"(?<![\w@{DOT}-])(?<![\w]\.)(?P<host>{_HOST_LABEL}(?:{_D}{_HOST_LABEL}){{1,10}})(?::(?P<port>\d{{1,5}})(?!\w))?(?![\w@]|-\w)"
)
HASH = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\bmd5)|(?<=\bsha1)|(?<=\bsha256)|(?<=\bsha512))[0-9a-f]{32,128}(?![A-Za-z0-9])",
    re.IGNORECASE,
)
LABELLED_HASH = re.compile(
    r"\b(?P<label>imp[ _-]?hash|import hash|authentihash|ja3s?(?![a-z0-9])|pehash|vhash"
    r"|rich(?:[ _-]?header)?(?:[ _-]?hash)|ssdeep|tlsh|telfhash)"
    r"(?:[ _-](?:hash|digest|fingerprint))?[^A-Za-z0-9\n]{1,8}(?:is |hash )?[^A-Za-z0-9\n]{0,3}"
    r"(?P<hash>[A-Za-z0-9/+:]{16,200})",
    re.IGNORECASE,
)
HASH_LABELS = (
    "imphash",
    "imp hash",
    "imp_hash",
    "imp-hash",
    "import hash",
    "authentihash",
    "ja3",
    "pehash",
    "vhash",
    "rich",
    "ssdeep",
    "tlsh",
    "telfhash",
)
SSDEEP = re.compile(r"(?<![\w/+:])(?P<block>\d{1,10}):[A-Za-z0-9/+]{3,64}:[A-Za-z0-9/+]{3,64}(?![\w/+:])")
TLSH = re.compile(r"(?<![A-Za-z0-9])T1[0-9A-F]{70}(?![A-Za-z0-9])")
CVE = re.compile(
    r"(?<![A-Za-z0-9])CVE[-_ \u2010-\u2015]{1,2}([12]\d{3})[-_\u2010-\u2015](\d{4,19})(?![A-Za-z0-9])", re.IGNORECASE
)
ATTACK = re.compile(
    r"(?<![A-Za-z0-9.])(?P<id>(?i:TA00\d\d|T1\d{3}(?:\.\d{3})?)|(?:[SG][01]|M1)\d{3}|DS00\d\d)(?![A-Za-z0-9]|\.\d)"
)
COIN = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<legacy>[13][1-9A-HJ-NP-Za-km-z]{25,34})|(?P<segwit>(?:bc1"
    r"|BC1)[02-9ac-hj-np-zAC-HJ-NP-Z]{11,71})"
    r"|(?P<ethereum>0x[0-9A-Fa-f]{40})|(?P<monero>[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}))(?![A-Za-z0-9])"
)
ASN = re.compile(r"[Aa][Ss][Nn]?(?P<gap>:? ?)(?P<number>\d{1,10})(?![A-Za-z0-9]|[.-]\d)")
MAC = re.compile(
    r"(?<![A-Za-z0-9:.-])(?:[0-9A-Fa-f]{2}(?P<sep>[:-])(?:[0-9A-Fa-f]{2}(?P=sep)){4}[0-9A-Fa-f]{2}"
    r"|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4})"
    r"(?![A-Za-z0-9:-]|\.\w)"
)
FILE_NAME = re.compile(
    r"(?<![\w./\\@-])(?P<name>[\w$][\w.+~$()-]{0,120}\.(?P<ending>[A-Za-z0-9]{2,16}))(?![\w@(]|[.-]\w|[/\\])"
)
ANALYTICS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<tracker>(?:UA|ua)-\d{6,10}-\d{1,4})|(?P<adsense>(?:pub|PUB)-\d{16}))(?![A-Za-z0-9])"
)
TLP = re.compile(
    r"(?<![A-Za-z0-9])TLP[:\-_ ]{0,3}(?P<colour>RED|AMBER(?:\+STRICT)?|GREEN|WHITE|CLEAR)(?![A-Za-z0-9])", re.IGNORECASE
)
PIPE = re.compile(r"\\\\\.\\pipe\\[\w.{}$-]{1,120}", re.IGNORECASE)
MUTEX = re.compile(
    r"(?<![\w\\])(?P<named>(?:Global|Local)\\[\w{}.!$-]{3,120})|\bmutex(?:es)?\b(?: name"
    r"| object)?(?:\s?[:=]\s?|\s(?:named|called|is)?\s?(?=[\"'“`]))[\"'“`]?(?P<labelled>[\w{}.!$\\-]{4,120})",
    re.IGNORECASE,
)
USER_AGENT = re.compile(
    r"\b(?i:mozilla)/\d\.\d{1,2} \([^()\n\"]{1,400}(?:\([^()\n\"]{0,100}\)[^()\n\"]{0,200})?\)"
    r"(?: (?:(?!(?i:mozilla)/)[A-Za-z][\w.!;-]{0,60}/[\w.+-]{1,60}"
    r"|\([^()\n\"]{1,200}\)|(?i:mobile|safari|like gecko|gecko)(?![\w/]))){0,20}"
    r"|(?<![\w/.])(?:curl|Wget|python-requests|Python-urllib|aiohttp|Go-http-client|libwww-perl|okhttp"
    r"|Java|sqlmap|Nikto|masscan|zgrab|Nmap Scripting Engine|WinHTTP|"
    r"PowerShell|axios|node-fetch|HeadlessChrome|Ruby|GuzzleHttp|Apache-HttpClient|Hydra)/\d[\w.+-]{0,30}(?<![.])"
)
USER_AGENT_FIELD = re.compile(
    r"(?<![\w-])user-agent ?: ?[\"']?"
    r"(?P<agent>(?!mozilla/)[A-Za-z][\w.-]{1,40}(?:[/ ]v?\d[\w.]{0,20})?(?: \([^()\n]{1,200}\))?)"
    r"(?=[ \t]{0,5}(?:$|[\"';,|]))",
    re.IGNORECASE | re.MULTILINE,
)
VERSION = re.compile(
    r"(?<![\w-])(?P<word>[A-Za-z]{1,16})[\s:=(\"']{0,3}v?\.?(?P<number>\d{1,5}(?:\.\d{1,5}){3})(?![\w]|\.\d)"
)

_LISTED_WORDS = re.compile(r"(?:,[A-Za-z]{1,20}){1,8}$")


class WordTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of ``words.toml``."""

    source: str
    version: str
    date: datetime.date
    file_like_tlds: frozenset[str]
    word_tlds: frozenset[str]
    code_objects: frozenset[str]
    package_roots: frozenset[str]
    special_tlds: frozenset[str]
    internal_tlds: frozenset[str]
    documentation_domains: frozenset[str]
    common_domains: frozenset[str]
    file_endings: frozenset[str]
    version_words: frozenset[str]
    caseless_types: frozenset[str]
    type_order: tuple[str, ...]
    scope_notes: dict[str, str]
    empty_hashes: dict[str, str]


@cache
def words() -> WordTables:
    """The tables, loaded once per process."""
    return load("words.toml", WordTables, __package__)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False)


@cache
def _is_tld(label: str) -> bool:
    return label in words().special_tlds or _suffixes().publicsuffix(label) is not None


CHAT_HOST = re.compile(r"(?<![^.-])(?:jabber|xmpp)|(?:jabber|xmpp)(?![^.-])", re.IGNORECASE)
"""At the start or end of a part of the name: other names contain these letters, too."""


def is_host(name: str, *, is_certain: bool) -> bool:
    """Whether a dotted name is a host. ``is_certain``: it is part of a URL or a mail address, or it was defanged."""
    labels = plain(name).split(".")
    tld = labels[-1].lower()
    if not _is_tld(tld):
        return is_certain and DOT in name and tld.isalpha() and len(tld) >= 2
    if is_certain or DOT in name:
        return True
    return not (tld in words().file_like_tlds or _is_program_text(labels, tld) or _is_loose_internal(labels, tld))


def _is_loose_internal(labels: list[str], tld: str) -> bool:
    return tld in words().special_tlds - {"onion", "i2p"} and (
        len(labels) < 3 or tld in ("test", "bit", "eth", "invalid")
    )


def _is_program_text(labels: list[str], tld: str) -> bool:
    first, last = labels[0].lower(), labels[-1]
    if not (last.islower() or (last.isupper() and all(label.upper() == label for label in labels))):
        return True  # System.Net; the end of a sentence and the start of the next
    if len(labels) > 2 and first in words().package_roots and tld not in ("com", "org", "net", "edu", "gov"):
        return True
    return tld in words().word_tlds and (
        first in words().code_objects or labels[-2].lower() in words().code_objects or _is_camel(labels[-2])
    )


def _is_camel(label: str) -> bool:
    return (label[:1].isupper() and not label.isupper()) or bool(re.search(r"[a-z][A-Z]", label))


def trimmed_url(url: str, *, is_listed: bool) -> str:
    """A URL without the punctuation of the sentence around it. ``is_listed``: it is an item of a list with commas."""
    cut = re.search(r"[,;](?=[A-Za-z]{2,6}://)", url)
    url = url[: cut.start()] if cut else url
    tail = _LISTED_WORDS.search(url)
    url = url.partition(",")[0] if is_listed else url[: tail.start()] if tail and "?" not in url else url
    while url:
        last = url[-1]
        if last in ".,;:!?*'\"\u201c\u201d\u2019\u00bb\u2026" + DOT or (
            last in ")]" and url.count(last) > url.count("([".__getitem__(last == "]"))
        ):
            url = url[:-1]
            continue
        if url.endswith(("__", "~~")):  # of Markdown
            url = url[:-2]
            continue
        break
    for closing, opening in (")(", "]["):
        depth = 0
        for index, char in enumerate(url):
            depth += (char == opening) - (char == closing)
            if depth < 0:
                return url[:index].rstrip(".,;:!?*")
    return url


def host_and_port(url: str) -> tuple[str, int | None]:
    """The host of a URL, with DOT if it was defanged, or "" if it has none, and its port."""
    authority = re.split(r"[/?#]", url.partition("://")[2] if "://" in url else url, maxsplit=1)[0].rpartition("@")[2]
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        return host, _port(port.lstrip(":"))
    host, _, port = authority.partition(":")
    return host.rstrip("." + DOT), _port(port)


def names_in(url: str) -> Iterator[str]:
    """The hosts that are whole parts of a URL's path or query, as in redirects."""
    for part in re.split(r"[/?&=#;]", url.partition("://")[2])[1:]:
        if DOMAIN.fullmatch(part) and is_host(part, is_certain=False):
            yield part


def _port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65_536 else None


def ipv4(text: str) -> str | None:
    """The address without leading zeros, or None if ``text`` is not one."""
    parts = plain(text).split(".")
    if len(parts) != 4 or not "".join(parts).isascii() or not all(map(str.isdigit, parts)):
        return None
    a, b, c, d = map(int, parts)
    return f"{a}.{b}.{c}.{d}" if max(a, b, c, d) < 256 else None


def ipv6(text: str) -> str | None:
    """``text`` as written but without a colon after it, or None if it is not an IPv6 address."""
    text = plain(text)
    text = text[:-1] if text.endswith(":") and not text.endswith("::") else text
    colons = text.count(":")
    if "::" not in text and colons != 7 and not (colons == 6 and "." in text):
        return None  # a time of day, mostly
    if colons < 2 or not any(char.isdigit() for char in text):
        return None
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return None
    return text


_DOCUMENTATION = tuple(  # RFC 5737, 3849, 9637
    ipaddress.ip_network(block)
    for block in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
)

_RANGES: tuple[tuple[Scope, Callable[[ipaddress.IPv4Address | ipaddress.IPv6Address], bool]], ...] = (
    ("loopback", lambda ip: ip.is_loopback),
    ("link-local", lambda ip: ip.is_link_local),
    ("multicast", lambda ip: ip.is_multicast),
    ("unspecified", lambda ip: ip.is_unspecified),
    ("reserved", lambda ip: ip.is_reserved),
)


def scope_of(address: str) -> Scope:
    """Return the range that an address belongs to."""
    ip = ipaddress.ip_address(address)
    mapped = getattr(ip, "ipv4_mapped", None)
    ip = mapped or ip
    if any(ip in network for network in _DOCUMENTATION if network.version == ip.version):
        return "documentation"
    if ip.version == 4 and _is_netmask(int(ip)):
        return "netmask"
    return next((scope for scope, is_in in _RANGES if is_in(ip)), "public" if ip.is_global else "private")


def _is_netmask(number: int) -> bool:
    inverted = number ^ 0xFFFFFFFF
    return number >= 0xFF000000 and inverted & (inverted + 1) == 0


def domain_scope(name: str) -> Scope:
    """Return internal, tor, documentation, common (seen everywhere, rarely an indicator) or public."""
    labels = name.lower().split(".")
    tld = labels[-1]
    if tld in words().internal_tlds:
        return "internal"
    if tld == "onion":
        return "tor"
    tails = {".".join(labels[start:]) for start in range(len(labels))}
    if tails & words().documentation_domains:
        return "documentation"
    return "common" if tails & words().common_domains else "public"


HASH_KINDS = {32: "md5", 40: "sha1", 56: "sha224", 62: "jarm", 64: "sha256", 96: "sha384", 128: "sha512"}


def hash_kind(text: str) -> str | None:
    """The type of hash by the number of hex digits; None if no hash has that length or all digits are zero."""
    return HASH_KINDS.get(len(text)) if text.strip("0") else None


def is_ssdeep(text: str) -> bool:
    """Whether the block size is one that ssdeep uses: three times a power of two."""
    block, first, second = text.split(":")
    size = int(block) // 3
    return int(block) % 3 == 0 and size > 0 and size & (size - 1) == 0 and len(first) + len(second) >= 20


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def is_bitcoin(address: str) -> bool:
    """Whether the checksum of a Bitcoin address is right."""
    if address.lower().startswith("bc1"):
        return (address.islower() or address.isupper()) and _is_bech32(address.lower())
    number = 0
    for char in address:
        number = number * 58 + _BASE58.index(char)
    raw = number.to_bytes(25, "big") if number < 1 << 200 else b""
    return raw[-4:] == hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] and raw[:1] in (b"\0", b"\5")


def _is_bech32(address: str) -> bool:
    """BIP 173 and 350: the remainder of the polynomial is 1 (bech32) or 0x2bc830a3 (bech32m)."""
    prefix, _, rest = address.rpartition("1")
    values = [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix]
    remainder = 1
    for value in values + [_BECH32.index(char) for char in rest]:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            remainder ^= generator if top >> bit & 1 else 0
    return remainder in (1, 0x2BC830A3)
