"""The company that a name, a text or a host refers to, and whether a domain belongs to it. Pure.

Names and domains: ``brands.toml``. Look-alikes are found by confusable letters (``confusables.toml``) and by one edit.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import cache
from itertools import pairwise

import msgspec
from publicsuffixlist import PublicSuffixList

from svc.assistant.knowledge import load

SHORTEST_EDITED = 6  # letters of a name that one changed letter may still point at: shorter ones are other words
_SERVICE = re.compile(
    r"\b(?:support|service|services|security|team|account|accounts|alert|alerts|online|bank|banking|customer|client|card|"
    r"notification|notifications|help|billing|department|center|centre|verification|info|noreply|no-reply)\b"
)


class Brand(msgspec.Struct, frozen=True):
    """A company. ``everyday`` words mean it only beside a service word; a domain without a dot has any suffix."""

    name: str
    words: tuple[str, ...]
    domains: tuple[str, ...]
    everyday: tuple[str, ...] = ()


class _Brands(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    brands: tuple[Brand, ...]


class _Confusables(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    letters: dict[str, str]


@cache
def _confusable() -> dict[int, str]:
    """By the character's number: the Latin letter that it looks like."""
    letters = load("confusables.toml", _Confusables, __package__).letters
    return {ord(char): letter for letter, chars in letters.items() for char in chars}


@cache
def _foreign_letters() -> dict[int, str]:
    return {code: letter for code, letter in _confusable().items() if code > 127}


@cache
def _brands() -> tuple[Brand, ...]:
    return load("brands.toml", _Brands, __package__).brands


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


@cache
def _patterns() -> list[tuple[Brand, re.Pattern[str]]]:
    return [
        (
            brand,
            re.compile(
                r"(?<![a-z0-9])(?:" + "|".join(re.escape(folded(word)) for word in brand.words) + r")(?![a-z0-9])"
            ),
        )
        for brand in _brands()
        if brand.words
    ]


@cache
def _everyday() -> list[tuple[Brand, re.Pattern[str]]]:
    return [
        (brand, re.compile(r"(?<![a-z0-9])(?:" + "|".join(map(re.escape, brand.everyday)) + r")(?![a-z0-9])"))
        for brand in _brands()
        if brand.everyday
    ]


@cache
def _by_first_token() -> dict[str, list[int]]:
    """The companies' places in ``_patterns`` by the first token of each of their words; "" for words without one."""
    found: dict[str, list[int]] = {}
    for place, (brand, _) in enumerate(_patterns()):
        for word in map(folded, brand.words):
            token = _TOKEN.search(word)
            found.setdefault(token[0] if token and word.isascii() else "", []).append(place)
    return found


_TOKEN = re.compile(r"[a-z0-9]+")


def _named_in(text: str) -> list[tuple[Brand, re.Pattern[str]]]:
    """The companies of which a folded text may contain a word, in the table's order."""
    index = _by_first_token()
    places = set(index.get("", ()))
    for token in set(_TOKEN.findall(text)) & index.keys():
        places.update(index[token])
    return [_patterns()[place] for place in sorted(places)]


def folded(text: str) -> str:
    """Lower case without accents, invisible characters and foreign letters that look like Latin ones."""
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKD", text).translate(_foreign_letters())
    return _NOT_ASCII.sub(_without_marks, text).casefold()


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def _without_marks(found: re.Match[str]) -> str:
    return "".join(char for char in found[0] if unicodedata.category(char) not in ("Mn", "Cf"))


def brands_in(text: str) -> list[Brand]:
    """Return the companies that a short text (a name, a subject) mentions."""
    text = folded(text[:1_000])
    found = [brand for brand, pattern in _named_in(text) if pattern.search(text)]
    words = text.split()
    for left, right in pairwise(words[:60]):  # a name written as two words, or folded by a field's lines
        if len(left + right) >= SHORTEST_EDITED and (name := _tokens().get(left + right)):
            found += [brand for brand in (brand_named(name),) if brand not in found]
    for brand, pattern in _everyday():
        if pattern.search(text) and _SERVICE.search(text) and brand not in found:
            found.append(brand)
    return found


def everyday_brand(name: str) -> Brand | None:
    """The company whose everyday word is all that a sender's name says."""
    plain = folded(name[:100]).strip()
    return next((brand for brand, _ in _everyday() if plain in brand.everyday), None)


def brand_counts(text: str) -> dict[str, int]:
    """Count how often a long text (already folded) names each company; others are left out."""
    counts = {brand.name: len(pattern.findall(text)) for brand, pattern in _named_in(text)}
    return {name: count for name, count in counts.items() if count}


def brand_named(name: str) -> Brand:
    """The company of this name in the table."""
    return next(brand for brand in _brands() if brand.name == name)


def belongs_to(host: str, brand: Brand) -> bool:
    """Whether the host is under a domain of the company."""
    host = host.lower().strip(".")
    for domain in brand.domains:
        if "." in domain:
            if host == domain or host.endswith(f".{domain}"):
                return True
        elif _registered_label(host) == domain:
            return True
    return False


@cache
def _registered_label(host: str) -> str:
    try:
        registered = _suffixes().privatesuffix(host)
    except (ValueError, UnicodeError):
        return ""
    return registered.partition(".")[0] if registered else ""


@cache
def brand_in_host(host: str) -> str:
    """The name of the company whose domain the host is under; "" for any other."""
    host = host.lower().strip(".")
    domains, labels = _by_domain()
    parts = host.split(".")
    places = [domains[name] for at in range(len(parts)) if (name := ".".join(parts[at:])) in domains]
    if (label := _registered_label(host)) in labels:
        places.append(labels[label])
    return _brands()[min(places)].name if places else ""


@cache
def _by_domain() -> tuple[dict[str, int], dict[str, int]]:
    """The first company's place in the table by each domain, and by each of the names that have any suffix."""
    domains: dict[str, int] = {}
    labels: dict[str, int] = {}
    for place, brand in enumerate(_brands()):
        for domain in brand.domains:
            (domains if "." in domain else labels).setdefault(domain, place)
    return domains, labels


@cache
def _tokens() -> dict[str, str]:
    """Words of one piece that stand for a company in a host, with its name."""
    tokens: dict[str, str] = {}
    for brand in _brands():
        words = [word.replace(" ", "").replace("'", "") for word in brand.words]
        for word in words + [domain.partition(".")[0] for domain in brand.domains if "." not in domain]:
            if len(word) >= 4 and word.isascii() and word.isalnum():
                tokens.setdefault(word, brand.name)
    return tokens


@cache
def imitated_brand(host: str, org: str) -> str:
    """Return the company that a host imitates, or "": by a label, by confusable letters, or by one edit."""
    if brand_in_host(host):
        return ""
    try:
        shown = host.encode("ascii").decode("idna") if "xn--" in host else host
    except UnicodeError:
        shown = host
    pieces = [piece for piece in re.split(r"[.\-_]", folded(shown)) if piece]
    registered = re.sub(r"[^a-z0-9]", "", folded(org.partition(".")[0]))
    named = {*pieces[:-1], *(form for piece in pieces[:-1] for form in _swapped(piece))}
    for token, name in _tokens().items():
        if token in named:
            return name
        if len(token) >= SHORTEST_EDITED and (token in registered or _is_one_edit(registered, token)):
            return name
    return _by_label(folded(shown).split("."))


def _by_label(labels: list[str]) -> str:
    """A company's whole domain written as labels in front of another: paypal.com.example.net."""
    joined = ".".join(labels)
    for brand in _brands():
        for domain in brand.domains:
            if "." in domain and len(domain) > 7 and joined.startswith((f"{domain}.", f"www.{domain}.")):
                return brand.name
    return ""


def _swapped(piece: str) -> tuple[str, str]:
    """With the letters that digits and pairs stand for; a 1 may be an l or an i."""
    plain = piece.replace("rn", "m").replace("vv", "w")
    return plain.translate(_confusable()), plain.replace("1", "i").translate(_confusable())


def _is_one_edit(left: str, right: str) -> bool:
    """Whether one inserted, dropped, changed or swapped letter makes one of the other."""
    if left == right or abs(len(left) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    rest_left, rest_right = left[start:], right[start:]
    return (
        rest_left[1:] == rest_right[1:]
        or rest_left[1:] == rest_right
        or rest_left == rest_right[1:]
        or (rest_left[:2] == rest_right[:2][::-1] and rest_left[2:] == rest_right[2:])
    )
