"""Find any of many indicators in a text. Pure, and linear in the text for lists of any length.

Addresses, hosts, hashes and mail addresses are looked up word by word; everything else (paths, keys, names) is looked
for only in texts that have its longest word.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

from svc.assistant.skills.indicators.intel.values import Listed
from svc.untrusted.defang import plain, refang

EXACT, IN_NETWORK, SUBDOMAIN = "exact", "address in the network", "subdomain"
SEPARATE_URL, SEPARATE_ACCOUNT = "host and path in separate fields", "name and domain in separate fields"
HOST_ONLY = "host of the URL only"
MAX_NAME_CHARS = 256  # of a name of the DNS; of longer ones the end
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)")
_IPV6 = re.compile(r"(?<![\w:])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,34}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w])")
_HOST = re.compile(r"(?<![\w-])[\w-]{1,63}+(?:\.[\w-]{1,63}+)++")
_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,128}(?![0-9A-Za-z])")
_EMAIL = re.compile(r"(?<![\w.+%'-])[\w.+%'-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++")
_WORD = re.compile(r"\w+")
_DEFANGED = re.compile(r"[\[({]\s?(?:\.|dot)|hxxp|\[:|\[at\]|\[@", re.IGNORECASE)
_ESCAPED = re.compile(r"%[2-7][0-9A-Fa-f]")
_URL = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?:[^/?#@]*@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?::\d+)?(?P<rest>.*)",
    re.I | re.S,
)
_HIVES = (
    (r"HKEY_LOCAL_MACHINE|HKLM|\\REGISTRY\\MACHINE", r"(?:HKEY_LOCAL_MACHINE|HKLM|\\REGISTRY\\MACHINE)"),
    (
        r"HKEY_CURRENT_USER|HKCU",
        r"(?:HKEY_CURRENT_USER|HKCU|(?:HKEY_USERS|HKU|\\REGISTRY\\USER)\\[\w.-]{1,80})",
    ),
    (r"HKEY_USERS|HKU", r"(?:HKEY_USERS|HKU|\\REGISTRY\\USER)"),
    (r"HKEY_CLASSES_ROOT|HKCR", r"(?:HKEY_CLASSES_ROOT|HKCR)"),
)
_HASH_TYPES = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})

Hit = tuple[int, str, str]
"""The index of an indicator, what the text has, and how they match."""


class Matcher:
    """Indicators, ready to be looked for in many texts."""

    def __init__(self, listed: Sequence[Listed]) -> None:
        self.listed = listed
        self._addresses: dict[str, list[int]] = {}
        self._networks: dict[tuple[int, int], dict[int, list[int]]] = {}
        self._words: dict[str, dict[str, list[int]]] = {"domain": {}, "hash": {}, "email": {}}
        self._urls: dict[str, list[tuple[int, str, str]]] = {}
        self._phrases: dict[str, list[tuple[int, re.Pattern[str]]]] = {}
        self._pairs: dict[str, list[tuple[int, str, str]]] = {}
        self._has_escapes = False
        for index, one in enumerate(listed):
            self._add(index, one)

    def _add(self, index: int, one: Listed) -> None:
        if one.type in ("ipv4", "ipv6"):
            self._addresses.setdefault(one.value, []).append(index)
        elif one.type in ("ipv4_cidr", "ipv6_cidr"):
            network = ipaddress.ip_network(one.value)
            known = self._networks.setdefault((network.version, network.prefixlen), {})
            known.setdefault(int(network.network_address), []).append(index)
        elif one.type in ("domain", "email"):
            self._words[one.type].setdefault(_ascii(one.value.lower()), []).append(index)
        elif one.type in _HASH_TYPES:
            self._words["hash"].setdefault(one.value, []).append(index)
        elif one.type == "url" and (parts := _URL.fullmatch(one.value)) is not None:
            host = _ascii(parts["host"].strip("[]").lower())
            self._urls.setdefault(host, []).append((index, one.value, parts["rest"]))
        else:
            self._add_phrase(index, one)

    def _add_phrase(self, index: int, one: Listed) -> None:
        value = re.sub(r"\A%\w{2,30}%(?=\\)", "", one.value)
        words = _WORD.findall(value.lower())
        if one.type == "account" and "\\" in value:
            domain, _, name = value.lower().partition("\\")
            if anchors := _WORD.findall(name):
                self._pairs.setdefault(max(anchors, key=len), []).append((index, domain, name))
        pattern = _phrase_pattern(value, one.type)
        if one.type == "registry_key":
            words = _WORD.findall(value.lower().partition("\\")[2]) or words
        if words:
            self._phrases.setdefault(max(words, key=len), []).append((index, pattern))
            self._has_escapes = self._has_escapes or "\\" in value

    def find(self, text: str) -> list[Hit]:
        """Every indicator that the text has; each once, by its strongest match."""
        if _ESCAPED.search(text):
            text = f"{text}\n{unquote(text)}"
        if _DEFANGED.search(text):
            text = f"{text}\n{plain(refang(text))}"
        best: dict[int, Hit] = {}
        for hit in self._hits(text):
            known = best.get(hit[0])
            if known is None or (known[2] != EXACT and hit[2] == EXACT) or known[2] == HOST_ONLY:
                best[hit[0]] = hit
        return list(best.values())

    def _hits(self, text: str) -> Iterator[Hit]:
        ips, hosts = self._ips(text), self._hosts(text)
        for written, address in ips:
            for index in self._addresses.get(address, ()):
                yield index, written, EXACT
            yield from self._in_networks(written, address)
        yield from self._domains(hosts)
        for pattern, name in ((_HASH, "hash"), (_EMAIL, "email")):
            if known := self._words[name]:
                for word in set(pattern.findall(text)):
                    for index in known.get(_ascii(word.lower()), ()):
                        yield index, word, EXACT
        if self._urls:
            yield from self._url_hits(text, {address for _, address in ips} | {_ascii(host.lower()) for host in hosts})
        if self._phrases or self._pairs:
            yield from self._phrase_hits(text)

    def _ips(self, text: str) -> list[tuple[str, str]]:
        if not (self._addresses or self._networks or self._urls):
            return []
        found = [(word, address) for word in set(_IPV4.findall(text)) if (address := _normal(word))]
        if text.count(":") > 1:
            found += [(word, address) for word in set(_IPV6.findall(text)) if (address := _normal(word))]
        return found

    def _in_networks(self, written: str, address: str) -> Iterator[Hit]:
        if not self._networks:
            return
        one = ipaddress.ip_address(address)
        for (version, length), known in self._networks.items():
            if version == one.version:
                shift = one.max_prefixlen - length
                for index in known.get(int(one) >> shift << shift, ()):
                    yield index, written, IN_NETWORK

    def _hosts(self, text: str) -> set[str]:
        return set(_HOST.findall(text)) if self._words["domain"] or self._urls else set()

    def _domains(self, hosts: set[str]) -> Iterator[Hit]:
        known = self._words["domain"]
        for host in hosts if known else ():
            labels = _ascii(host[-MAX_NAME_CHARS:].lower()).split(".")
            for start in range(len(labels) - 1):
                for index in known.get(".".join(labels[start:]), ()):
                    yield index, host, SUBDOMAIN if start else EXACT

    def _url_hits(self, text: str, hosts: set[str]) -> Iterator[Hit]:
        plain_text = f"{text}\n{unquote(text)}" if "%" in text else text
        for host in hosts & self._urls.keys():
            for index, url, rest in self._urls[host]:
                wanted = unquote(rest) if "%" in rest else rest
                if wanted.strip("/") == "":
                    yield index, host, EXACT
                elif _is_in(plain_text, host, wanted):
                    yield index, url, EXACT
                elif _bounded(wanted).search(plain_text):
                    yield index, f"{host} {wanted}", SEPARATE_URL
                else:
                    yield index, host, HOST_ONLY

    def _phrase_hits(self, text: str) -> Iterator[Hit]:
        if self._has_escapes and "\\\\" in text:
            text = f"{text}\n" + text.replace("\\\\", "\\")
        words = set(_WORD.findall(text.lower()))
        for anchor in words & self._phrases.keys():
            for index, pattern in self._phrases[anchor]:
                if (match := pattern.search(text)) is not None:
                    yield index, match[0], EXACT
        for anchor in words & self._pairs.keys():
            for index, domain, name in self._pairs[anchor]:
                if _bounded(domain).search(text) and _bounded(name).search(text):
                    yield index, f"{domain} {name}", SEPARATE_ACCOUNT


def _is_in(text: str, host: str, rest: str) -> bool:
    """Whether a URL's host, an optional port and the rest are in the text; the rest is not the beginning of another."""
    pattern = rf"(?<![\w-]){re.escape(host)}\]?(?::\d{{1,5}})?{re.escape(rest)}(?![\w%-])"
    return re.search(pattern, text, re.IGNORECASE) is not None


@lru_cache(maxsize=65_536)
def _bounded(value: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return re.compile(f"{before}{re.escape(value)}{after}", re.IGNORECASE)


def _phrase_pattern(value: str, type_: str) -> re.Pattern[str]:
    """A whole path, key or name; a key also before its values and subkeys."""
    body = re.escape(value)
    if type_ == "registry_key":
        for hive, any_spelling in _HIVES:
            if (match := re.match(rf"(?:{hive})(?=[\\:])", value, re.IGNORECASE)) is not None:
                body = any_spelling + re.escape(value[match.end() :].lstrip(":"))
                break
        return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)
    starts = r"(?<![\w-])" if re.match(r"\w", value) else r"(?<=\w)" if value.startswith("\\") else ""
    if type_ == "account":
        starts = r"(?<![\w.@-])"
    ends = r"(?![\w-]|\.\w)" if type_ != "account" else r"(?![\w@-]|\.\w)"
    return re.compile(f"{starts}{body}{ends}", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def _normal(word: str) -> str:
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host
