"""The things that findings are about (accounts, addresses, hosts …) and their figures, by the names of fields. Pure.

A field's name says what its value is, so that every tool's findings can be listed, counted and compared in the same
way. A finding's *subject* is what its figures belong to; other things are in it, too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.pcap.findings import PcapIndicator


class Noun(msgspec.Struct, frozen=True, kw_only=True):
    """A sort of thing: its names, the words for it in a question, and the fields that hold it."""

    one: str
    many: str
    words: re.Pattern[str]
    fields: frozenset[str]


def _noun(one: str, words: str, fields: str, many: str = "") -> Noun:
    pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
    return Noun(one=one, many=many or f"{one}s", words=pattern, fields=frozenset(fields.split()))


_OF_ADDRESSES = (
    "source client server ip address addresses target success_sources clients answers outside by_source.source "
    "by_client.client"
)
ADDRESS = _noun("address", r"(?:ip )?address(?:es)?|ips?", _OF_ADDRESSES, "addresses")
IPV4 = _noun("IPv4 address", r"ipv4s?(?: address(?:es)?)?", _OF_ADDRESSES, "IPv4 addresses")
IPV6 = _noun("IPv6 address", r"ipv6s?(?: address(?:es)?)?", _OF_ADDRESSES, "IPv6 addresses")
ACCOUNT = _noun(
    "account",
    r"accounts?|users?|user ?names?|identit(?:y|ies)|people|persons?|logins? names?",
    "account user identity success_accounts accounts by_account.account sudo.user sudo.target commands.user nodes.user",
)
HOST = _noun(
    "host",
    r"hosts?|machines?|computers?|servers?|systems?|devices?|endpoints?|workstations?",
    "host hosts computer by_host.host target server address client",
)
NOUNS = (
    _noun("technique", r"(?:sub-?)?techniques?|ttps?|mitre|att&ck", "techniques"),
    _noun("tactic", r"tactics?", "tactics named"),
    _noun("rule", r"rules?|detections?|alerts?|signatures?", "rule_hit", "rules"),
    ACCOUNT,
    _noun(
        "source",
        r"sources?|attackers?|clients?|source addresses|source ips?|visitors?|origins?",
        "source client success_sources clients by_source.source by_client.client",
    ),
    IPV4,
    IPV6,
    ADDRESS,
    _noun("domain", r"domains?|host ?names?|names? looked up", "domain org"),
    _noun("link", r"links?|urls?|uris?", "url"),
    _noun("attachment", r"attachments?|attached files?", "attachment"),
    _noun("process", r"process(?:es)?|programs?|executables?|images?", "nodes.image by_program.program", "processes"),
    _noun("command", r"commands?|command lines?", "nodes.command commands.command sudo.command"),
    _noun("MD5 hash", r"md-?5s?(?: hash(?:es)?)?", "md5", "MD5 hashes"),
    _noun("SHA-1 hash", r"sha-?1s?(?: hash(?:es)?)?", "sha1", "SHA-1 hashes"),
    _noun("SHA-256 hash", r"sha-?256s?(?: hash(?:es)?)?", "sha256", "SHA-256 hashes"),
    _noun("SHA-512 hash", r"sha-?512s?(?: hash(?:es)?)?", "sha512", "SHA-512 hashes"),
    _noun("hash", r"hash(?:es)?|checksums?", "sha256 md5 hash", "hashes"),
    _noun("file", r"files?|members?|paths? of files", "member file"),
    _noun("path", r"paths?|pages?|requested paths?", "by_path.path"),
    _noun("user agent", r"user[- ]agents?|agents?|browsers?", "agents agent"),
    _noun("call", r"(?:api )?calls?", "call calls"),
    _noun("port", r"ports?", "port server_port open"),
    _noun("service", r"services?|protocols?", "service services protocols.protocol"),
    _noun("sender", r"senders?", "sender"),
    _noun("recipient", r"recipients?", "to"),
    _noun("CVE", r"cves?|vulnerabilit(?:y|ies)", "cve", "CVEs"),
    _noun("mail address", r"e?-?mail addresses|e-?mails?", "email sender", "mail addresses"),
    _noun("registry key", r"registry(?: keys?)?", "registry_key"),
    HOST,
)
"""In the order in which a question is searched for them."""
_MEMBER_KINDS = {"mail_attachment": "attachment", "archive_member": "member"}
_INDICATOR_FIELDS = {
    "ipv4": "address", "ipv6": "address", "address": "address", "domain": "domain", "url": "url", "host": "domain",
    "md5": "hash", "sha1": "hash", "sha256": "hash", "sha512": "hash", "email": "email", "cve": "cve",
    "file_name": "file", "file_path": "file", "registry_key": "registry_key", "attack_technique": "techniques",
}  # fmt: skip
_SUBJECTS = (
    "account", "identity", "source", "client", "address", "domain", "url", "ip", "host", "value", "name", "whom",
    "sender", "server", "service", "call", "user",
)  # fmt: skip
SUMMARIES = frozenset(
    [
        "auth_summary",
        "events_summary",
        "web_summary",
        "unix_summary",
        "pcap_summary",
        "archive_summary",
        "network_summary",
        "event_tactics",
        "timeline",
        "process_tree",
        "asked_records",
    ]
)
"""Kinds that sum up others: they have no subject."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a finding: the fields that hold it, its unit, and the words for it in a question."""

    one: str
    many: str
    words: re.Pattern[str]
    fields: frozenset[str]


def _measure(one: str, words: str, fields: str, many: str = "") -> Measure:
    pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
    return Measure(one=one, many=many or f"{one}s", words=pattern, fields=frozenset(fields.split()))


_ATTEMPT = r"fail\w*(?: (?:log|sign)[- ]?(?:ins?|ons?))?|failed attempts?|attempts?|tries|rejected \w+|wrong passwords?"
MEASURES = (
    _measure("failed login", _ATTEMPT, "failures by_account.failures by_source.failures"),
    _measure("failed request", r"failed requests?|errors?|4xx|5xx", "failed by_client.failed"),
    _measure("request", r"requests?|hits?|visits?|page views?", "requests by_client.requests pcap_http.count"),
    _measure(
        "connection", r"connections?|flows?|sessions?|beacons?", "flows pcap_beacon.count beaconing.count network.count"
    ),
    _measure("packet", r"packets?|frames?", "packets"),
    _measure("byte", r"bytes?|data|traffic|volume", "bytes by_client.bytes sent"),
    _measure("DNS query", r"(?:dns )?quer(?:y|ies)|look-?ups?", "queries", "DNS queries"),
    _measure("call", r"(?:api )?calls?", "cloud_identity.count cloud_call.count cloud_refused.count by_account.count"),
    _measure("mention", r"mentions?|occurrences?|times|often", "indicator.count"),
    _measure("port tried", r"ports?", "pcap_scan.count port_scan.count", "ports tried"),
    _measure(
        "accepted login",
        r"(?:successful |accepted )?(?:log|sign)[- ]?(?:ins?|ons?)|success(?:es)?|accepted",
        "successes auth_success.count logon.count cloud_login.count",
    ),
    _measure("event", r"events?|records?|entries|lines?", "by_account.count by_host.count by_program.count events"),
    _measure("match", r"match(?:es)?|detections?|alerts?", "rule_hit.count", "matches"),
)
"""In the order in which a question is searched for them."""


class NamedThing(msgspec.Struct, frozen=True, kw_only=True):
    """A value in a finding: the field that holds it, and the row of a table that it is in, if it is."""

    value: str
    field: str
    finding: AnyFinding
    row: dict[str, object] | None = None

    @property
    def is_subject(self) -> bool:
        """Whether the finding's own figures belong to it."""
        return self.row is None and self.field == subject_field(self.finding)


def facts_of(finding: AnyFinding) -> dict[str, object]:
    """The finding's facts as columns."""
    return columns(finding)


def subject_field(finding: AnyFinding) -> str:
    """The field that names what a finding is about; "" if it sums up others."""
    if finding.kind in SUMMARIES or finding.kind == "rule_hit":
        return ""
    facts = facts_of(finding)
    if isinstance(finding.facts, IndicatorFacts | PcapIndicator):
        return "value"
    return next((name for name in _SUBJECTS if isinstance(facts.get(name), str) and facts[name]), "")


def things_in(finding: AnyFinding) -> Iterator[NamedThing]:
    """Every named value of a finding, those of its tables too."""
    for field, held in facts_of(finding).items():
        for item in held if isinstance(held, list) else [held]:
            if isinstance(item, dict):
                yield from (
                    NamedThing(value=value, field=f"{field}.{name}", finding=finding, row=item)
                    for name, value in item.items()
                    if isinstance(value, str) and value
                )
            elif isinstance(item, str) and item:
                yield NamedThing(value=item, field=field, finding=finding)
            elif isinstance(item, int) and field in ("port", "server_port"):
                yield NamedThing(value=str(item), field=field, finding=finding)
    yield from (NamedThing(value=one, field="techniques", finding=finding) for one in finding.techniques)


def is_noun(thing: NamedThing, noun: Noun) -> bool:
    """Whether a value is a thing of this sort."""
    facts, field = thing.finding.facts, thing.field
    if noun in (IPV4, IPV6):
        return is_noun(thing, ADDRESS) and (":" in thing.value) == (noun is IPV6)
    if noun.one == "rule":
        return thing.finding.kind == "rule_hit" and field == "rule"
    if isinstance(facts, IndicatorFacts | PcapIndicator):
        return field == "value" and not noun.fields.isdisjoint((facts.type, _INDICATOR_FIELDS.get(facts.type, "")))
    if noun.one in ("attachment", "file") and field == "name":
        return _MEMBER_KINDS.get(thing.finding.kind, "") in noun.fields
    if field not in noun.fields:
        return False
    if noun is ADDRESS:
        return is_address(thing.value)
    if noun is HOST and thing.finding.kind == "pcap_http":
        return field in ("client", "server")
    if noun is HOST and field in ("address", "client", "server", "target"):
        return thing.finding.kind.startswith("pcap_")
    return not (noun is ACCOUNT and field == "user" and thing.finding.kind == "pcap_credential" and not thing.value)


def shown_value(thing: NamedThing, noun: Noun | None = None) -> str:
    """The value as it is listed: a rule by its title, an account without its ARN, a program without its folder."""
    if noun is not None and noun.one == "rule":
        return thing.finding.title
    value = thing.value
    if value.startswith("arn:") and "/" in value:
        return value.rpartition("/")[2]
    if thing.field == "nodes.image":
        return re.split(r"[\\/]", value)[-1]
    return value


def named_as(value: str, name: str) -> bool:
    """Whether a value is what a question names: without its domain, its ARN or its case."""
    value, name = value.lower(), name.lower()
    if value == name:
        return True
    short = re.split(r"[\\/]", value)[-1] if value.startswith("arn:") or "\\" in value else value
    return short == name or (name.startswith("www.") and value == name[4:])


def things_of(findings: Iterable[AnyFinding], noun: Noun) -> dict[str, list[NamedThing]]:
    """The things of one sort by their value, in the order of the findings."""
    found: dict[str, list[NamedThing]] = {}
    names: dict[str, str] = {}
    for finding in findings:
        for thing in things_in(finding):
            if is_noun(thing, noun):
                value = shown_value(thing, noun)
                if value not in ("(not named)", "(not stated)", "local", "-"):
                    key = names.setdefault(_folded(value, noun), value)
                    found.setdefault(key, []).append(thing)
    return found


def _folded(value: str, noun: Noun) -> str:
    value = value.lower()
    return re.split(r"[\\/]", value)[-1] if noun is ACCOUNT else value


def about(findings: Iterable[AnyFinding], name: str) -> list[AnyFinding]:
    """The findings that have the name as a value, or whose texts and evidence mention it; subjects come first."""
    subject, valued, mentioning = [], [], []
    pattern = mention_pattern(name)
    for finding in findings:
        things = [thing for thing in things_in(finding) if named_as(thing.value, name)]
        if any(thing.is_subject for thing in things):
            subject.append(finding)
        elif things:
            valued.append(finding)
        elif pattern.search(_texts(finding)):
            mentioning.append(finding)
    return [*subject, *valued, *mentioning]


def own_of(findings: Iterable[AnyFinding], name: str) -> list[AnyFinding]:
    """The findings whose subject has the name; without any, those that have it as a value. Not those that sum up."""
    single = [one for one in findings if one.kind not in SUMMARIES]
    valued = [one for one in single if any(named_as(thing.value, name) for thing in things_in(one))]
    return [one for one in valued if named_as(str(facts_of(one).get(subject_field(one))), name)] or valued


TABLE_LIMITS = frozenset({15, 20, 25, 30, 50, 100, 200})
"""How many rows tools keep of a table at most; one with so many may have lost others."""


def is_cut(things: Iterable[NamedThing]) -> bool:
    """Whether things are from a table that may hold only the first ones."""
    for thing in things:
        held = facts_of(thing.finding).get(thing.field.partition(".")[0])
        if isinstance(held, list) and len(held) in TABLE_LIMITS:
            return True
    return False


def mention_pattern(name: str) -> re.Pattern[str]:
    """Matches the name as a whole word, defanged or not; a part of a compound ("job-7.service") is a word, too.

    An address or a domain is not a part of a longer one.
    """
    written = re.escape(name).replace(r"\.", r"(?:\[\.\]|\.)")
    if not re.search(r"[.:]|\A[\d-]+\Z", name):
        return re.compile(rf"(?<!\w){written}(?!\w)", re.IGNORECASE)
    return re.compile(rf"(?<![\w.-]){written}(?![\w-]|\.\w)", re.IGNORECASE)


def _texts(finding: AnyFinding) -> str:
    values = [thing.value for thing in things_in(finding)]
    return "\n".join([finding.title, *values, *(one.excerpt for one in finding.evidence)])


def figures(thing: NamedThing) -> list[tuple[Measure, int]]:
    """The figures that belong to a thing: those of its finding if it is the subject, else those of its row."""
    kind, facts = thing.finding.kind, facts_of(thing.finding)
    if thing.row is not None:
        table = thing.field.partition(".")[0]
        named = {f"{table}.{name}": value for name, value in thing.row.items()}
    elif thing.is_subject:
        named = facts | {f"{kind}.{name}": value for name, value in facts.items()}
    else:
        return []
    return [
        (measure, value)
        for measure in MEASURES
        for name in measure.fields
        for value in [named.get(name)]
        if isinstance(value, int) and not isinstance(value, bool)
    ]


def is_address(value: str) -> bool:
    """Whether a value is an IP address."""
    try:
        ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return False
    return True


def worst(findings: Sequence[AnyFinding]) -> Severity:
    """The worst severity of findings, of which there is at least one."""
    order = list(Severity)
    return min((one.severity for one in findings), key=order.index)
