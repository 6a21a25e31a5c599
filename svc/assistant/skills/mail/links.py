"""The links of a mail, each with what makes it suspicious. Pure; nothing is looked up.

Registrable domains come from the public suffix list (publicsuffixlist), hosts with a role from ``hosts.toml``, and
often abused top-level domains from ``suspicious_tlds.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from ipaddress import ip_address
from itertools import count
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from publicsuffixlist import PublicSuffixList

from svc.assistant.knowledge import load
from svc.assistant.skills.mail.brands import brand_in_host, imitated_brand
from svc.assistant.skills.mail.html import MARKS, Link, link_mark

MAX_URLS = 500  # different ones of one mail
MANY_LABELS = 5
LONG_HOST = 45
HOSTS_KEPT = 10_000  # whose registrable domain is remembered


class Hosts(msgspec.Struct, frozen=True):
    """The lists of ``hosts.toml``."""

    source: str
    version: str
    date: date
    free_mail: frozenset[str]
    shorteners: frozenset[str]
    free_hosting: tuple[str, ...]
    redirectors: tuple[str, ...]
    bulk_senders: frozenset[str]
    link_wrappers: frozenset[str]
    recorders_below: frozenset[str]
    inner_servers: tuple[str, ...]
    border_servers: tuple[str, ...]
    open_senders: tuple[str, ...]


class _Group(msgspec.Struct, frozen=True):
    what: str
    weight: float
    tlds: frozenset[str]


class _Tlds(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    groups: tuple[_Group, ...]


class ScoredSign(msgspec.Struct, frozen=True):
    """One thing that makes a link suspicious; ``points`` as in the mail's score."""

    name: str
    description: str
    points: float


class LinkTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A link in a mail. ``org`` is the registrable domain, or the host if it has none; ``place`` as in Link."""

    url: str
    text: str
    place: str
    host: str
    org: str
    has_image: bool
    signs: tuple[ScoredSign, ...]
    is_hidden: bool = False
    brand: str = ""
    numbers: tuple[int, ...] = ()
    """The places of the link in the mail, as marked in its text (``html.link_mark``)."""

    @property
    def points(self) -> float:
        """The sum of its signs."""
        return sum(sign.points for sign in self.signs)


@cache
def hosts() -> Hosts:
    """The table of hosts with a role."""
    return load("hosts.toml", Hosts, __package__)


@cache
def _tlds() -> _Tlds:
    return load("suspicious_tlds.toml", _Tlds, __package__)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=HOSTS_KEPT)
def organisation(host: str) -> str:
    """Return the registrable domain of a host (``mail.a.co.uk``: ``a.co.uk``), or the host itself if it has none."""
    host = host.lower().strip(".")
    if _is_ip(host):
        return host
    try:
        return _suffixes().privatesuffix(host) or host
    except (ValueError, UnicodeError):
        return host


def is_public_name(host: str) -> bool:
    """Whether a host's name ends in a top-level domain that exists, or in one of a private network."""
    host = host.lower()
    return host.endswith(_PRIVATE_ENDINGS) or bool(_suffixes().publicsuffix(host, accept_unknown=False))


_PRIVATE_ENDINGS = (
    ".local", ".localdomain", ".lan", ".internal", ".intern", ".intra", ".corp", ".home", ".private", ".test",
    ".example",
)  # fmt: skip

_IN_TEXT = re.compile(r"(?:\b(?:https?|ftp)://|(?<![\w@.-])www\d?\.)[^\s<>\"'\u00a0]{2,4000}", re.IGNORECASE)
_TRAILING = ".,;:!?)]}>*'\""


def is_bulk_sender(org: str) -> bool:
    """Whether a registrable domain sends, and counts clicks, for others; in the table # stands for a number."""
    return org in hosts().bulk_senders or _NUMBER.sub("#", org) in hosts().bulk_senders


_NUMBER = re.compile(r"\d+")


def urls_in_text(text: str) -> Iterator[Link]:
    """Yield the addresses in a plain text, which many mail clients make clickable."""
    for number, match in enumerate(_IN_TEXT.finditer(text)):
        url = match.group().rstrip(_TRAILING)
        yield Link(url=url if "://" in url else f"http://{url}", place="text", number=number)


def marked_text(text: str) -> str:
    """A plain text with a mark after each of its addresses, numbered as in ``urls_in_text``."""
    numbers = count()
    return _IN_TEXT.sub(lambda found: f"{found[0]} {link_mark(next(numbers))}", MARKS.sub("", text))


def unwrapped(url: str) -> str:
    """Return the original address from a link that a mail scanner, or a service that counts clicks, rewrote."""
    parts = _split(url)
    if parts is None:
        return url
    if is_bulk_sender(organisation(parts[0])):
        inside = _COUNTED.search(parts[1])
        return unquote(inside[1]) if inside else url
    if not _is_below(parts[0], hosts().link_wrappers):
        return url
    query = dict(parse_qsl(urlsplit(url).query)[:20])
    inner = query.get("url") or query.get("a") or query.get("u", "").replace("-", "%").replace("_", "/")
    return unquote(inner) if "://" in unquote(inner) else url


_COUNTED = re.compile(r"[/=](https?(?::|%3a)(?:/|%2f){2}[^/&?#]{3,2000})", re.IGNORECASE)
"""The address that some services that count clicks keep readable in theirs."""


def _is_below(host: str, domains: frozenset[str]) -> bool:
    """Whether a host is one of these domains or below one."""
    labels = host.split(".")
    return any(".".join(labels[at:]) in domains for at in range(len(labels)))


@lru_cache(maxsize=8)  # the same one twice: as it is, and as what a scanner may have rewritten
def _split(url: str) -> tuple[str, str, int | None, str] | None:
    """Host, path with query, port and userinfo; None if it is not a web address."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        found = re.match(r"\s*\w+://(?:[^/@]*@)?([^/:?#]+)", url)
        return (found[1].lower(), "", None, "") if found else None
    if parts.scheme.lower() not in ("http", "https", "ftp") or not host:
        return None
    rest = parts.path + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    return unquote(host).lower().strip("."), rest, port, parts.netloc.rpartition("@")[0]


class MailContext(msgspec.Struct, frozen=True):
    """Whose mail it is: registrable domains of the sender, and recipients' addresses.

    A link to the sender's own domain gets no sign for its host or path.
    """

    own: frozenset[str]
    recipients: frozenset[str]


def read_urls(links: Sequence[Link], around: MailContext) -> list[LinkTarget]:
    """Return each different link once, in order, up to MAX_URLS."""
    found: dict[tuple[str, str], LinkTarget] = {}
    numbers: dict[tuple[str, str], list[int]] = {}
    for link in sorted(links, key=lambda one: one.is_hidden):
        key = (link.url, link.text)
        numbers.setdefault(key, []).append(link.number)
        if key not in found and len(found) < MAX_URLS and (url := _read(link, around)) is not None:
            found[key] = url
    return [msgspec.structs.replace(url, numbers=tuple(numbers[key])) for key, url in found.items()]


def _read(link: Link, around: MailContext) -> LinkTarget | None:
    address = unwrapped(link.url)
    scheme = address.strip().partition(":")[0].lower()
    if scheme in ("data", "javascript", "vbscript"):
        sign = ScoredSign("scheme", f"a {scheme}: address, which runs or shows content of the mail itself", 4.0)
        return LinkTarget(
            url=address[:2_000], text=link.text, place=link.place, host="", org="", has_image=link.has_image,
            signs=(sign,),
        )  # fmt: skip
    parts = _split(address if not address.startswith("//") else f"http:{address}")
    if parts is None:
        return None
    host, rest, port, user = parts
    org = organisation(host)
    signs: list[ScoredSign] = []
    if org not in around.own:
        signs += _signs_of_host(host, org, rest)
        signs += _signs_of_path(rest, org, around.recipients)
    if user:
        signs.append(ScoredSign("userinfo", "userinfo before an @ imitates a host", 4.0))
    if port not in (None, 80, 443) and org not in around.own:
        signs.append(ScoredSign("port", f"the unusual port {port}", 1.5))
    signs += _signs_of_words(link, org, around.own)
    return LinkTarget(
        url=address[:4_000], text=link.text, place=link.place, host=host, org=org, has_image=link.has_image,
        signs=tuple(signs), brand=brand_in_host(host), is_hidden=link.is_hidden,
    )  # fmt: skip


_SHORT_PATH = re.compile(r"/[A-Za-z0-9]{3,9}")
_SHORT_ORG = 8  # with its suffix


def is_free_hosting(host: str, path: str = "/") -> bool:
    """Whether it is free hosting."""
    domains, pages = _free_hosting()
    return (host + path).startswith(pages) or _is_below(host, domains)


@cache
def _free_hosting() -> tuple[frozenset[str], tuple[str, ...]]:
    """Domains, and hosts with the start of a path."""
    places = hosts().free_hosting
    pages = tuple(place for place in places if "/" in place)
    return frozenset(places) - frozenset(pages), pages


def suspicious_tld(host: str) -> float:
    """Return the points of the host's top-level domain; 0 for an ordinary one."""
    ending = host.rpartition(".")[2]
    return next((group.weight for group in _tlds().groups if ending in group.tlds), 0.0)


def _signs_of_host(host: str, org: str, rest: str) -> Iterator[ScoredSign]:
    if (number := _sign_of_number(host)) is not None:
        yield number
        return
    name = _signs_of_name(host, org)
    yield from (sign for sign in name if sign.name in _IMITATIONS)
    if org in hosts().shorteners and host.removeprefix("www.") == org:
        yield ScoredSign("shortener", "a URL shortener, which hides the destination", 2.0)
    elif _SHORT_PATH.fullmatch(rest) and len(org) <= _SHORT_ORG and not brand_in_host(host):
        yield ScoredSign("shortener", "a very short address that looks like that of a URL shortener", 1.0)
    if is_free_hosting(host, rest):
        yield ScoredSign("free_hosting", "free hosting: anybody can publish a page there", 2.0)
    if (host + rest).startswith(hosts().redirectors):
        yield ScoredSign("redirect", "an open redirect of a well-known site", 2.0)
    yield from (sign for sign in name if sign.name not in _IMITATIONS)


_IMITATIONS = ("look_alike", "punycode")


@lru_cache(maxsize=HOSTS_KEPT)
def _sign_of_number(host: str) -> ScoredSign | None:
    if _is_ip(host):
        return ScoredSign("ip", "an IP address instead of a host name", 0.0 if _is_inside(host) else 4.0)
    if re.fullmatch(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}", host):
        return ScoredSign("ip", "an IP address written as a number", 4.5)
    return None


@lru_cache(maxsize=HOSTS_KEPT)
def _signs_of_name(host: str, org: str) -> tuple[ScoredSign, ...]:
    signs = []
    if imitated := imitated_brand(host, org):
        signs.append(ScoredSign("look_alike", f"imitates {imitated}; the domain is {org}", 4.5))
    if "xn--" in host or not host.isascii():
        signs.append(ScoredSign("punycode", "non-ASCII letters in the host (IDN)", 2.0))
    if (points := suspicious_tld(host)) > 0:
        signs.append(ScoredSign("tld", f"the often abused top-level domain .{host.rpartition('.')[2]}", points))
    if host.count(".") >= MANY_LABELS or len(host) > LONG_HOST:
        signs.append(ScoredSign("long_host", "a host with many labels", 1.0))
    if looks_random(org):
        signs.append(ScoredSign("random", "a random-looking domain", 1.0))
    return tuple(signs)


def _is_ip(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_inside(host: str) -> bool:
    address = ip_address(host.strip("[]"))
    return address.is_private or address.is_loopback


def looks_random(org: str) -> bool:
    """Whether a domain's name has digits among its letters or no vowels for long."""
    label = org.partition(".")[0]
    if len(label) < 8 or "xn--" in label:
        return False
    digits = sum(char.isdigit() for char in label)
    has_run = re.search(r"[bcdfghjklmnpqrstvwxz]{6,}", label) is not None
    return (3 <= digits < len(label) and re.search(r"\d[a-z]+\d", label) is not None) or has_run


_LOGIN_WORDS = re.compile(
    r"(?:^|[/_.?=&-])(?:log-?[io]n|sign-?in|signon|webscr|verif\w*|confirm\w*|account\w*|update\w*|secure\w*|banking"
    r"|password\w*|unlock|auth\w*|billing|wallet|validat\w*|ebayisapi|cgi-bin|recover\w*|webmail)",
    re.IGNORECASE,
)
_COMPROMISED = re.compile(
    r"/(?:wp-(?:includes|content|admin)|\.[a-z][\w-]+/|images/[\w/.-]+\.(?:php|html?)|~\w+/)", re.IGNORECASE
)
_BRAND_PATH = re.compile(
    r"/[^?#]{0,300}?(paypal|ebay|amazon|apple|microsoft|office365|outlook|netflix|chase|wellsfargo|dhl|docusign|onedrive|sharepoint"
    r"|facebook|bankofamerica|citibank|usaa|barclays|hsbc|natwest|lloyds|halifax|wamu|dropbox)",
    re.IGNORECASE,
)
_NESTED = re.compile(r"[?&=](?:https?://|https?%3a%2f%2f)(?:[\w.-]+@)?([\w.-]+)", re.IGNORECASE)


def _signs_of_path(rest: str, org: str, recipients: frozenset[str]) -> Iterator[ScoredSign]:
    if _LOGIN_WORDS.search(rest[:500]):
        yield ScoredSign("login_words", "login words in the path", 1.0)
    if _COMPROMISED.search(rest[:500]):
        yield ScoredSign("compromised", "a page in a folder that normally holds none (compromised site)", 1.5)
    if match := _BRAND_PATH.search(rest[:300]):
        yield ScoredSign("brand_path", f"{match[1].lower()} is in the path, not in the domain", 2.5)
    nested = _NESTED.search(rest)
    if nested and organisation(nested[1].lower()) != org:
        yield ScoredSign("nested", "another URL inside it", 0.5)
    lowered = unquote(rest).lower()
    if "#" in rest and any(address and address in lowered.partition("#")[2] for address in recipients):
        yield ScoredSign("recipient", "the recipient's address at its end", 2.0)
    elif "?" in rest and any(address and address in lowered.partition("?")[2] for address in recipients):
        yield ScoredSign("recipient", "the recipient's address in it", 0.7)
    if rest.count("%") > 12 and sum(rest.count(f"%{code}") for code in ("6", "7", "4", "5")) > 10:
        yield ScoredSign("encoded", "percent-encoded letters", 1.5)


_SHOWN_HOST = re.compile(
    r"(?:https?://|\b(?=[\w-]{1,100}\.))((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12})(?![\w@.-]{0,100}@)\b", re.IGNORECASE
)


def _signs_of_words(link: Link, org: str, own: frozenset[str]) -> Iterator[ScoredSign]:
    """Link text that shows a different domain from the one the link leads to."""
    shown = _SHOWN_HOST.search(link.text[:300]) if link.text and "@" not in link.text[:300] else None
    if shown is None:
        return
    shown_org = organisation(shown[1])
    if shown_org == org or not _suffixes().publicsuffix(shown_org, accept_unknown=False):
        return
    is_address = re.match(r"\s*(?:https?://|www\.)", link.text, re.IGNORECASE) is not None
    if org in own or is_bulk_sender(org):
        return  # the sender's click tracking
    if org.partition(".")[0] == shown_org.partition(".")[0]:
        return
    points = 4.0 if brand_in_host(shown[1]) else 3.0 if is_address else 1.0
    yield ScoredSign("mismatch", f"the link text shows {shown_org}, the link leads to {org}", points)
