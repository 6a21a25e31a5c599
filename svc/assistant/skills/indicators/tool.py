"""Extract the indicators of a report or a log: what, how often, first seen in which line, and whether each matters.

Decides what is an indicator and what only looks like one (version numbers, file names, program text), and reports
what was left out and why. Patterns: ``patterns.py``, ``paths.py``; defanging: ``svc/untrusted/defang.py``. A log
repeats its words, so each different word (between white space) is examined once: 10 MB take seconds.
"""

from __future__ import annotations

import ipaddress
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import accumulate
from operator import attrgetter
from urllib.parse import unquote

import msgspec

from svc.assistant.file_types.text_shape import readable_lines
from svc.assistant.file_types.xml_entities import entity_dangers
from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, ToolEvent, with_facts
from svc.assistant.knowledge.kev import kev_note
from svc.assistant.skills.indicators import patterns as looks
from svc.assistant.skills.indicators.context import EvidenceLines, lines_of
from svc.assistant.skills.indicators.findings import IndicatorFacts, Scope, Within, XmlAttack
from svc.assistant.skills.indicators.paths import registry_keys, unix_paths, windows_paths
from svc.untrusted.defang import DOT, defang, plain, refang

MAX_INDICATORS = 2_500_000  # different ones of one text: what fits into a worker's memory
STEPS = 5  # of reading a text, for the progress
EXCERPT_CHARS = 240  # of what shows an attack on an XML parser
IBM_AS_400 = 400  # a computer, not an autonomous system


class _Hit(msgspec.Struct, gc=False):
    """An indicator while it is being counted; ``line`` counts from 1."""

    kind: str
    value: str
    line: int
    count: int
    was_defanged: bool = False
    within: Within = ""
    note: str = ""
    ports: set[int] | None = None  # few have any, and an empty set takes as much memory as the rest


class _UniqueWords(msgspec.Struct):
    """Every different word of a text in one string, one per line, with its count and the line it is first seen in.

    A list of a million indicators has as many words: arrays take a third of the memory that lists and their numbers do.
    """

    text: str
    starts: array[int]
    counts: array[int]
    lines: array[int]

    def at(self, position: int) -> tuple[int, int]:
        """The count and the first line of the word that holds ``position``."""
        index = bisect_right(self.starts, position) - 1
        return self.counts[index], self.lines[index]


class _Ledger:
    """The indicators found so far and what was left out; equal indicators are counted together."""

    def __init__(self) -> None:
        self.hits: dict[str, dict[str, _Hit]] = {}  # by type and value
        self.count = 0
        self.left_out: dict[str, Counter[str]] = {}
        self.refused = 0

    def add(
        self,
        kind: str,
        raw: str,
        count: int,
        line: int,
        *,
        within: Within = "",
        note: str = "",
        port: int | None = None,
    ) -> None:
        value = plain(raw)
        folded = _folded(kind, value)
        known = self.hits.setdefault(kind, {})
        hit = known.get(folded)
        if hit is None:
            if self.count >= MAX_INDICATORS:
                self.refused += 1
                return
            self.count += 1
            hit = known[folded] = _Hit(kind, folded, line, 0, within=within, note=note)
        hit.count += count
        hit.line = min(hit.line, line)
        hit.was_defanged |= DOT in raw
        hit.within = hit.within if within else ""
        if port:
            hit.ports = {port, *(hit.ports or ())}

    def of_types(self, *kinds: str) -> Iterator[_Hit]:
        """The indicators of these types."""
        return (hit for kind in kinds for hit in self.hits.get(kind, {}).values())

    def leave_out(self, reason: str, value: str, count: int) -> None:
        self.left_out.setdefault(reason, Counter())[plain(value)] += count


def _folded(kind: str, value: str) -> str:
    """The spelling by which equal indicators are recognised: hosts and hashes in lower case, the rest unchanged."""
    if kind in looks.words().caseless_types:
        return value.lower()
    if kind == "url" and "://" in value:
        scheme, _, rest = value.partition("://")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        return f"{scheme.lower()}://{authority.lower()}{rest[len(authority) :]}"
    return value


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield an IndicatorFacts for each indicator, by type and then by first line; then a Gap for each reason to leave
    something out.

    Args:
        content: The text, with indicators as they are or defanged.
        source: Its name in the evidence.
    """
    original = EvidenceLines(content)
    yield Progress(text=f"reading {len(original):,} lines, {len(content):,} characters of {source}")
    fanged = refang(content)
    yield Progress.of(source, 1, STEPS, "step")
    words = _unique_words(fanged)
    yield Progress.of(source, 2, STEPS, "step")
    yield Progress(text=f"{len(words.counts):,} different words in {len(original):,} lines")
    yield from _xml_attacks(content, source)
    ledger = _Ledger()
    _find_in_lines(fanged, ledger)
    yield Progress.of(source, 3, STEPS, "step")
    rest = _find_hosts(words, ledger, _versions(fanged))
    yield Progress(text=f"{ledger.count:,} addresses, hosts and paths so far; hashes and identifiers next")
    yield Progress.of(source, 4, STEPS, "step")
    _find_identifiers(words, ledger)
    _find_file_names(words, rest, ledger)
    del fanged, words, rest  # as large as the text, and no longer needed
    types = sorted(filter(ledger.hits.get, ledger.hits), key=_rank)
    yield Progress(text=f"found {ledger.count:,} indicators of {len(types):,} types in {source}")
    for name in types:
        for hit in sorted(ledger.of_types(name), key=attrgetter("line")):
            yield _finding(hit, original, source)
    coverage = _coverage(content)
    if unread := coverage.total - coverage.understood:
        yield Gap(text=f"{unread:,} of {coverage.total:,} lines are not readable text: binary, or in another encoding")
    yield from _gaps(ledger)
    yield coverage


def indicators_of(content: str, /, *, source: str) -> Iterator[Finding[IndicatorFacts]]:
    """Yield the indicators alone, for tools that look for them in a text that they found."""
    for item in inspect(content, source=source):
        if isinstance(item, Finding):
            yield from with_facts((item,), IndicatorFacts)


def _xml_attacks(content: str, source: str) -> Iterator[Finding[XmlAttack]]:
    for danger in entity_dangers(content):
        yield Finding(
            title=danger.title,
            severity=danger.severity,
            why=danger.why,
            evidence=(Evidence(source=source, excerpt=danger.value[:EXCERPT_CHARS], line=danger.line),),
            facts=XmlAttack(attack=danger.attack, value=danger.value, line=danger.line),
        )


def _coverage(content: str) -> Coverage:
    understood, total = readable_lines(content)
    return Coverage(
        read_as="text" if understood else "content without readable text",
        unit="line",
        understood=understood,
        total=total,
        looked_for="IP addresses, domains, URLs, mail addresses, hashes, file paths, registry keys, CVEs and other IDs",
        not_covered="whether an indicator is malicious is not known offline, and encoded content was not decoded",
    )


def _rank(kind: str) -> int:
    order = looks.words().type_order
    return order.index(kind) if kind in order else len(order)


def _unique_words(text: str) -> _UniqueWords:
    numbers: dict[str, int] = {}
    counts, lines = array("L"), array("L")
    for line_number, line in enumerate(lines_of(text), start=1):
        for word in line.split():
            number = numbers.setdefault(word, len(counts))
            if number == len(counts):
                counts.append(1)
                lines.append(line_number)
            else:
                counts[number] += 1
    starts = array("L", accumulate((len(word) + 1 for word in numbers), initial=0))
    return _UniqueWords("\n".join(numbers), starts, counts, lines)


def _find_in_lines(text: str, ledger: _Ledger) -> None:
    """Find the indicators that may contain spaces, in the whole text.

    Each pattern runs only if the text has a characteristic substring of its type: most texts have few of them.
    """
    upper_marks = "HK" in text or "hk" in text
    finders: list[tuple[str, bool, Callable[[str], Iterator[tuple[int, str]]]]] = [
        ("registry_key", upper_marks, registry_keys),
        ("file_path", "\\" in text, windows_paths),
        ("file_path", "/" in text, unix_paths),
        ("named_pipe", "\\pipe\\" in text.lower(), _matches(looks.PIPE, 0)),
        ("mutex", "utex" in text or "Global\\" in text or "Local\\" in text or "MUTEX" in text, _mutexes),
        ("user_agent", "/" in text or "gent" in text or "GENT" in text, _user_agents),
        ("cve", "CVE" in text or "cve" in text or "Cve" in text, _cves),
        ("asn", "AS" in text or "as" in text, _asns),
        ("tlp", "TLP" in text or "tlp" in text or "Tlp" in text, _tlps),
    ]
    for kind, is_likely, find in finders:
        if is_likely:
            _count_lines(kind, text, find(text), ledger)
    _find_labelled_hashes(text, ledger)


def _find_labelled_hashes(text: str, ledger: _Ledger) -> None:
    lowered = text.lower()
    if not any(label in lowered for label in looks.HASH_LABELS):
        return
    by_label: dict[str, list[tuple[int, str]]] = {}
    for match in looks.LABELLED_HASH.finditer(text):
        kind = re.sub(r"[ _-]", "", match["label"].lower()).replace("importhash", "imphash")
        by_label.setdefault(kind, []).append((match.start(), match["hash"].strip(":/+")))
    for kind, found in by_label.items():
        _count_lines(kind, text, iter(found), ledger)


def _matches(pattern: re.Pattern[str], group: int | str) -> Callable[[str], Iterator[tuple[int, str]]]:
    return lambda text: ((match.start(), match[group]) for match in pattern.finditer(text))


def _user_agents(text: str) -> Iterator[tuple[int, str]]:
    """Those of known programs anywhere, and any that a header field names, in the order of the text."""
    known = [(match.start(), match[0]) for match in looks.USER_AGENT.finditer(text)]
    starts = {start for start, _ in known}
    named = [
        (match.start("agent"), match["agent"])
        for match in looks.USER_AGENT_FIELD.finditer(text)
        if match.start("agent") not in starts
    ]
    yield from sorted([*known, *named])


def _mutexes(text: str) -> Iterator[tuple[int, str]]:
    for match in looks.MUTEX.finditer(text):
        yield match.start(), (match["named"] or match["labelled"]).rstrip(".,;")


def _cves(text: str) -> Iterator[tuple[int, str]]:
    return ((match.start(), f"CVE-{match[1]}-{match[2]}") for match in looks.CVE.finditer(text))


def _tlps(text: str) -> Iterator[tuple[int, str]]:
    return ((match.start(), f"TLP:{match['colour'].upper()}") for match in looks.TLP.finditer(text))


def _asns(text: str) -> Iterator[tuple[int, str]]:
    for match in looks.ASN.finditer(text):
        number = int(match["number"])
        is_written_out = match[0][:3].upper() == "ASN" or (match["gap"] and match[0].startswith("AS"))
        is_word = match["gap"] and not is_written_out  # "as 5"
        if is_word or (match.start() and text[match.start() - 1].isalnum()) or not 0 < number < 1 << 32:
            continue
        if is_written_out or (number > 9 and number != IBM_AS_400):
            yield match.start(), f"ASN{number}"


def _count_lines(kind: str, text: str, found: Iterator[tuple[int, str]], ledger: _Ledger) -> None:
    line, counted = 1, 0
    for start, value in found:
        line += text.count("\n", counted, start)
        counted = start
        ledger.add(kind, value, 1, line)


def _versions(text: str) -> Counter[str]:
    """How often each four-part number follows a word that makes it a version."""
    known = looks.words().version_words
    return Counter(match["number"] for match in looks.VERSION.finditer(text) if match["word"].lower() in known)


def _find_hosts(words: _UniqueWords, ledger: _Ledger, versions: Counter[str]) -> str:
    """Find URLs, mail addresses, IP addresses and names, in this order; what one step found, the next does not see."""
    rest = _find_urls(words, words.text, ledger)
    rest = _find_emails(words, rest, ledger)
    rest = _find_addresses(words, rest, ledger, versions)
    return _find_domains(words, rest, ledger)


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    blanked, position = StringIO(), 0  # a list of the pieces would take several times as much memory
    for start, end in spans:
        blanked.write(text[position:start])
        blanked.write(" " * (end - start))
        position = end
    blanked.write(text[position:])
    return blanked.getvalue()


def _is_range(after: str) -> bool:
    """Whether what follows an address makes it a range, or the first of several addresses, and not a URL."""
    return after.lstrip("/").isdigit() or looks.ADDRESS_LIST.fullmatch(after) is not None


def _find_urls(words: _UniqueWords, text: str, ledger: _Ledger) -> str:
    spans = []
    for match in looks.URL.finditer(text):
        is_listed = match.start() > 0 and text[match.start() - 1] == ","
        url = looks.trimmed_url(match[0], is_listed=is_listed)
        if len(url) > url.find("://") + 3:
            _add_url(url, *words.at(match.start()), ledger)
            spans.append((match.start(), match.start() + len(url)))
    text = _blanked(text, spans)
    spans = []
    for match in looks.URL_WITHOUT_SCHEME.finditer(text):
        is_address = looks.ipv4(match["host"]) is not None
        url = looks.trimmed_url(match[0], is_listed=False)
        after = url[len(match["host"]) :]
        is_range = is_address and not match["port"] and _is_range(after)
        if (
            is_range
            or not (is_address or looks.is_host(match["host"], is_certain=False))
            or url.endswith(match["host"])
        ):
            continue
        _add_url(url, *words.at(match.start()), ledger)
        spans.append((match.start(), match.start() + len(url)))
    return _blanked(text, spans)


def _add_url(url: str, count: int, line: int, ledger: _Ledger, *, within: Within = "") -> None:
    url = url.replace("&amp;", "&")  # as HTML writes it
    ledger.add("url", url, count, line, within=within)
    host, port = looks.host_and_port(url)
    _add_host(host, count, line, ledger, within="url", port=port)
    for name in () if within else looks.names_in(url):
        ledger.add("domain", name, count, line, within="url")
    for nested in () if within else looks.NESTED_URL.finditer(url, 8):
        inner = looks.trimmed_url(unquote(nested[0]), is_listed=False)
        _add_url(inner, count, line, ledger, within="url")


def _add_host(host: str, count: int, line: int, ledger: _Ledger, *, within: Within, port: int | None = None) -> None:
    address = looks.ipv4(host)
    if address is not None:
        ledger.add("ipv4", host if DOT in host else address, count, line, within=within, port=port)
    elif (ip6 := looks.ipv6(host)) is not None:
        ledger.add("ipv6", ip6, count, line, within=within, port=port)
    elif (
        re.fullmatch(r"[\w.\-" + DOT + "]+", host)
        and ("." in host or DOT in host)
        and looks.is_host(host, is_certain=True)
    ):
        ledger.add("domain", host, count, line, within=within, port=port)


def _find_emails(words: _UniqueWords, text: str, ledger: _Ledger) -> str:
    spans = []
    for match in looks.EMAIL.finditer(text):
        host = match["host"].strip("[]")
        host = host[5:] if host[:5].lower() == "ipv6:" else host
        if not (looks.ipv4(host) or looks.ipv6(host) or looks.is_host(host, is_certain=True)):
            continue
        count, line = words.at(match.start())
        is_chat = looks.CHAT_HOST.search(host) is not None
        ledger.add("xmpp" if is_chat else "email", match[0].lstrip("'"), count, line)
        _add_host(host, count, line, ledger, within="email")
        spans.append(match.span())
    return _blanked(text, spans)


def _find_addresses(words: _UniqueWords, text: str, ledger: _Ledger, versions: Counter[str]) -> str:
    spans = []
    for pattern in (looks.IPV4, looks.IPV4_AFTER_DASH):
        for match in pattern.finditer(text):
            _add_ipv4(match, *words.at(match.start()), ledger, versions)
            spans.append(match.span())
    for match in looks.IPV6.finditer(text):
        ip = looks.ipv6(match["ip"])
        if ip is None:
            continue
        count, line = words.at(match.start())
        if match["bits"] and int(match["bits"]) <= 128:
            ledger.add("ipv6_cidr", f"{ip}/{match['bits']}", count, line)
        else:
            ledger.add("ipv6", ip, count, line)
        spans.append(match.span())
    return _blanked(text, sorted(spans))


def _add_ipv4(match: re.Match[str], count: int, line: int, ledger: _Ledger, versions: Counter[str]) -> None:
    raw, found = match["ip"], match.groupdict()
    address = looks.ipv4(raw)
    if address is None:
        return
    if DOT not in raw and versions[raw]:
        ledger.leave_out("version numbers, not addresses", raw, versions[raw])
        count -= versions.pop(raw)
        if count <= 0:
            return
    value = raw if DOT in raw else address
    bits = found.get("bits")
    if bits and int(bits) <= 32:
        ledger.add("ipv4_cidr", f"{value}/{bits}", count, line)
        host_bits = (1 << (32 - int(bits))) - 1
        if int(ipaddress.IPv4Address(address)) & host_bits:  # an address with its mask, not a network
            ledger.add("ipv4", value, count, line, within="cidr")
    else:
        port = found.get("port")
        ledger.add("ipv4", value, count, line, port=int(port) if port and 0 < int(port) < 65_536 else None)


def _find_domains(words: _UniqueWords, text: str, ledger: _Ledger) -> str:
    spans = []
    for match in looks.DOMAIN.finditer(text):
        host, start = match["host"], match.start()
        before, after = text[start - 1 : start], text[match.end("host") : match.end("host") + 1]
        count, line = words.at(start)
        is_defanged = DOT in host
        if not is_defanged and (
            after in ("(", "=") or before in ("$", "\\", "%") or text[start - 2 : start] in ("::", "->")
        ):
            continue
        if not looks.is_host(host, is_certain=False):
            if before not in ("/", "\\"):
                _leave_out_name(host, count, ledger)
            continue
        port = match["port"]
        ledger.add("domain", host, count, line, port=int(port) if port and 0 < int(port) < 65_536 else None)
        spans.append(match.span("host"))
    return _blanked(text, spans)


def _leave_out_name(host: str, count: int, ledger: _Ledger) -> None:
    if looks.is_host(host, is_certain=True):
        ledger.leave_out("names that look like files or program text, not hosts", host, count)


def _find_identifiers(words: _UniqueWords, ledger: _Ledger) -> None:
    text = words.text
    labelled = {
        hit.value
        for hit in ledger.of_types("imphash", "authentihash", "ja3", "ja3s", "pehash", "richhash", "richheaderhash")
    }
    for match in looks.HASH.finditer(text):
        kind = looks.hash_kind(match[0])
        if kind and match[0].lower() not in labelled:
            ledger.add(
                kind, match[0], *words.at(match.start()), note=looks.words().empty_hashes.get(match[0].lower(), "")
            )
    for match in looks.SSDEEP.finditer(text):
        if looks.is_ssdeep(match[0]):
            ledger.add("ssdeep", match[0], *words.at(match.start()))
    for match in looks.TLSH.finditer(text):
        ledger.add("tlsh", match[0], *words.at(match.start()))
    for match in looks.MAC.finditer(text):
        ledger.add("mac", match[0], *words.at(match.start()))
    for match in looks.ANALYTICS.finditer(text):
        ledger.add("analytics_id", match[0], *words.at(match.start()))
    _find_attack_ids(words, ledger)
    _find_coins(words, ledger)


def _find_attack_ids(words: _UniqueWords, ledger: _Ledger) -> None:
    kinds = {
        "T1": "attack_technique",
        "TA": "attack_tactic",
        "S": "attack_software",
        "G": "attack_group",
        "M": "attack_mitigation",
    }
    found = [(match["id"].upper(), match.start()) for match in looks.ATTACK.finditer(words.text)]
    is_about_attack = any(identifier.startswith("T") for identifier, _ in found) or "ATT&CK" in words.text
    for identifier, start in found:
        kind = kinds.get(identifier[:2]) or kinds.get(identifier[:1])
        if kind and (identifier.startswith("T") or is_about_attack):
            ledger.add(kind, identifier, *words.at(start))


def _find_coins(words: _UniqueWords, ledger: _Ledger) -> None:
    for match in looks.COIN.finditer(words.text):
        count, line = words.at(match.start())
        bitcoin = match["legacy"] or match["segwit"]
        if not bitcoin:
            ledger.add("ethereum" if match["ethereum"] else "monero", match[0], count, line)
        elif looks.is_bitcoin(bitcoin):
            ledger.add("bitcoin", bitcoin, count, line)
        elif match["segwit"]:
            ledger.leave_out("look like Bitcoin addresses, but fail the checksum", bitcoin, count)


def _find_file_names(words: _UniqueWords, text: str, ledger: _Ledger) -> None:
    endings = looks.words().file_endings
    in_paths = {hit.value.rpartition(" ")[2] for hit in ledger.of_types("file_path") if " " in hit.value}
    for match in looks.FILE_NAME.finditer(text):
        if match["ending"].lower() in endings and match["name"] not in in_paths:
            ledger.add("file_name", match["name"], *words.at(match.start()))


def _finding(hit: _Hit, lines: EvidenceLines, source: str) -> Finding[IndicatorFacts]:
    scope = _scope(hit)
    note = hit.note or looks.words().scope_notes.get(scope, "") or (kev_note(hit.value) if hit.kind == "cve" else "")
    defanged = defang(hit.value, hit.kind)
    return Finding(
        title=f"{hit.kind}: {defanged}",
        why=note,
        evidence=(Evidence(source=source, excerpt=lines.excerpt(hit.line, hit.value), line=hit.line),),
        techniques=(hit.value,) if hit.kind == "attack_technique" else (),
        facts=IndicatorFacts(
            type=hit.kind,
            value=hit.value,
            defanged=defanged,
            count=hit.count,
            line=hit.line,
            scope=scope,
            note=note,
            ports=sorted(hit.ports or ()),
            was_defanged=hit.was_defanged,
            within=hit.within,
        ),
    )


def _scope(hit: _Hit) -> Scope:
    match hit.kind:
        case "ipv4" | "ipv6" | "ipv4_cidr" | "ipv6_cidr":
            return looks.scope_of(hit.value.partition("/")[0])
        case "domain":
            return looks.domain_scope(hit.value)
        case "email" | "xmpp" | "url":
            host = hit.value.rpartition("@")[2] if hit.kind != "url" else looks.host_and_port(hit.value)[0]
            if (address := looks.ipv4(host) or looks.ipv6(host)) is not None:
                return looks.scope_of(address)
            return looks.domain_scope(host) if "." in host else "internal"
        case _:
            return ""


def _gaps(ledger: _Ledger) -> Iterator[Gap]:
    for reason, values in ledger.left_out.items():
        examples = ", ".join(value[:60] for value, _ in values.most_common(5))
        yield Gap(text=f"left out: {reason}: {len(values):,} ({examples}{', …' if len(values) > 5 else ''})")
    if ledger.refused:
        more = f"{ledger.refused:,} more mentions were not listed"
        yield Gap(text=f"kept the first {MAX_INDICATORS:,} indicators; {more}", in_headline=True)
    if not ledger.count:
        yield Gap(text="no indicator found")
