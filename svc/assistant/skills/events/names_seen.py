"""Collect what the events of a log name (accounts, hosts, addresses, domains, hashes, processes), for comparing inputs.

A record that has two names for one thing (an account with its SID, a host with its address) is kept as the proof of it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from svc.assistant.findings import NameOccurrence, NameSort, NamesSeen, OneThing, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, base_name

MAX_TRACKED = 20_000  # different names of a log
MAX_NAMES = 5_000  # told of a log: those of detections, then the first ones
MAX_PROOFS = 2_000
MAX_COMMON = 500
MAX_NAME_CHARS = 300
MAX_COMMAND_CHARS = 2_000
SHARED_BY = 5  # accounts that log in from one address: a gateway, a VPN or a proxy
_DNS_PORT = "53"
_MINUTE = 16  # characters of a time: 2026-11-20T03:12
_ACCOUNTS = {
    "TargetUserName": ("TargetDomainName", ("TargetUserSid", "TargetSid")),
    "SubjectUserName": ("SubjectDomainName", ("SubjectUserSid",)),
    "AccountName": ("AccountDomain", ("AccountSid", "AccountUpn")),
    "InitiatingProcessAccountName": (
        "InitiatingProcessAccountDomain", ("InitiatingProcessAccountSid", "InitiatingProcessAccountUpn"),
    ),
    "SamAccountName": ("TargetDomainName", ("UserPrincipalName",)),
    "User": ("", ("UserSid",)),
    "cs-username": ("", ()),
    "userIdentity.arn": ("", ()),
    "userPrincipalName": ("", ("onPremisesSecurityIdentifier",)),
}  # fmt: skip
"""A field with an account: the field with its domain, and the fields with other names of the same account."""
_ADDRESSES = ("IpAddress", "SourceIp", "DestinationIp", "c-ip", "ClientAddress", "src_ip", "dst_ip")
_DOMAINS = ("QueryName", "DestinationHostname", "cs-host", "RemoteUrl", "query")
_HOSTS = ("WorkstationName", "Workstation", "host_name", "DestinationDeviceName")
_HASHES = ("Hashes", "SHA256", "SHA1", "MD5", "sha256", "sha1", "md5")
_DNS_SERVERS = frozenset(
    {"DestinationIp", "id.resp_h", "dest_ip", "dst_ip", "dnsserver", "serverip", "server_ip", "DstIpAddr"}
)
_SORTS: dict[str, NameSort] = (
    dict.fromkeys(_ACCOUNTS, NameSort.ACCOUNT)
    | dict.fromkeys(_ADDRESSES, NameSort.ADDRESS)
    | dict.fromkeys(_DOMAINS, NameSort.DOMAIN)
    | dict.fromkeys(_HOSTS, NameSort.HOST)
    | dict.fromkeys(_HASHES, NameSort.HASH)
)
_HASH = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{64}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{32})(?![0-9A-Fa-f])")
_LEASE = re.compile(
    r"DHCP(?:ACK|OFFER)(?:\([\w.-]{1,40}\))?(?: on| to)? (?P<address>[0-9a-fA-F.:]{3,45})"
    r"(?: to)? (?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?: \((?P<host>[\w.-]{1,100})\)| (?P<name>[\w.-]{1,100}))"
)
_ANSWER_ADDRESS = re.compile(r"(?<![\w.:])(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?![\w.])")
_OF_SITES = frozenset({"proxy", "webserver", "dns_query"})
_NOTHING = frozenset({"", "-", "n/a", "none", "null", "(null)", "unknown"})
_FAILED_LOGONS = frozenset({4625, 4771, 4776})
_LEASED = (("IP Address", "Host Name"), ("assigned_addr", "host_name"), ("assigned_ip", "host_name"))
_WITH_ADDRESSES = (
    ("message", "program"), *((address,) for address, _ in _LEASED), ("WorkstationName", "IpAddress"), ("LocalIP",),
    ("SourceIp", "Initiated"),
)  # fmt: skip
"""Fields that records have together in which a host has an address (``_addresses_of_hosts``)."""


class _SeenName:
    """One name while a log is read."""

    __slots__ = ("count", "number", "severity", "time")

    def __init__(self, number: int, time: str) -> None:
        self.count, self.number, self.time = 1, number, time
        self.severity = Severity.INFO


_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_Name = tuple[NameSort, str]


class NameCollector:
    """Collects the names of all events that were read."""

    def __init__(self) -> None:
        self._seen: dict[_Name, _SeenName] = {}
        self._whole: dict[str, dict[str, _SeenName]] = {field: {} for field in _SORTS}
        """Those of ``_seen`` that are the whole value of a field, by field; accounts have a domain, too."""
        self._proofs: dict[tuple[_Name, _Name], tuple[str, int]] = {}
        self._users: dict[str, set[str]] = {}
        self._common: dict[str, None] = {}

    def add(self, event: Event) -> None:
        """Note what an event names."""
        fields, whole = event.fields, self._whole
        shape = _shape_of(tuple(fields))
        if event.host:
            self._note(_own_host(event), event)
        for field, sort in shape.named:
            value = fields[field]
            if (seen := whole[field].get(value)) is not None:
                seen.count += 1
                continue
            names = list(_names(field, fields))
            for name in names:
                self._note(name, event)
            noted = self._seen.get((sort, value)) if names == [(sort, value)] else None
            if noted is not None and sort is not NameSort.ACCOUNT:
                whole[field][value] = noted
        process = _process(event) if event.category == "process_creation" else []
        for name in process:
            self._note(name, event)
        self._prove(event, shape, process)

    def detected(self, event: Event, severity: Severity, group: Sequence[tuple[str, str]] | None = None) -> None:
        """Note that a rule matched an event, so an analyst should look at what the event names.

        Of related events, this holds only for what they share (``group``): an account whose password was guessed did
        nothing.
        """
        shared = None if group is None else {value for _, value in group}
        for name in set(_all_names(event)):
            if shared is not None and shared.isdisjoint((name[1], name[1].rpartition("\\")[2])):
                continue
            seen = self._seen.get(name)
            if seen is not None and _RANK[severity] < _RANK[seen.severity]:
                seen.severity, seen.number, seen.time = severity, event.number, event.time

    def _note(self, name: _Name, event: Event) -> None:
        seen = self._seen.get(name)
        if seen is not None:
            seen.count += 1
        elif len(self._seen) < MAX_TRACKED:
            self._seen[name] = _SeenName(event.number, event.time)

    def _prove(self, event: Event, shape: _Shape, process: Sequence[_Name]) -> None:
        """Keep what the event says about two names of one thing, and about addresses that many use."""
        fields, category = event.fields, event.category
        if shape.has_user and event.event_id not in _FAILED_LOGONS and fields.get("Outcome") != "failure":
            self._note_user(fields["IpAddress"], fields["TargetUserName"])
        is_lookup = category == "dns_query"
        if (is_lookup or fields.get("DestinationPort") == _DNS_PORT) and len(self._common) < MAX_COMMON:
            self._common.update(dict.fromkeys(fields[name] for name in fields if name in _DNS_SERVERS))
        if not (shape.accounts or shape.has_addresses or len(process) == 2 or is_lookup):
            return
        for one, other, why in _proofs(event, shape, process):
            key = (one, other)
            if key not in self._proofs and len(self._proofs) < MAX_PROOFS:
                self._proofs[key] = why, event.number
                self._note(one, event)
                self._note(other, event)

    def _note_user(self, address: str, account: str) -> None:
        """Count the accounts that log in from an address, up to the number that shows that many use it."""
        if address in _NOTHING or account.lower() in _NOTHING or account.endswith("$"):
            return
        users = self._users.get(address)
        if users is None:
            if len(self._users) >= MAX_TRACKED:
                return
            users = self._users[address] = set()
        if len(users) < SHARED_BY:
            users.add(account.lower())
            if len(users) == SHARED_BY and len(self._common) < MAX_COMMON:
                self._common[address] = None

    def names_seen(self, place: Place) -> NamesSeen:
        """Return the names: those of detections first."""
        ranked = sorted(self._seen.items(), key=lambda item: _RANK[item[1].severity])
        return NamesSeen(
            names=tuple(
                NameOccurrence(sort, value, seen.count, seen.number, seen.time, seen.severity)
                for (sort, value), seen in islice(ranked, MAX_NAMES)
            ),
            one_thing=tuple(
                OneThing(*one, *other, why, number) for (one, other), (why, number) in self._proofs.items()
            ),
            common=tuple(filter(None, self._common)),
            has_records=place.has_records,
        )


class _Shape(NamedTuple):
    """What the fields of some records can name: records of a log have the same fields."""

    named: tuple[tuple[str, NameSort], ...]
    """Fields that name something, in the order of the record: the first names of a log are kept."""
    accounts: tuple[tuple[str, tuple[str, ...]], ...]
    """Fields with an account, and those with other names of it."""
    has_user: bool
    has_addresses: bool
    """Whether an address may be a host's."""


@lru_cache(maxsize=1_000)
def _shape_of(fields: tuple[str, ...]) -> _Shape:
    there = set(fields)
    accounts = (
        (field, tuple(other for other in others if other in there))
        for field, (_, others) in _ACCOUNTS.items()
        if field in there
    )
    return _Shape(
        named=tuple((field, _SORTS[field]) for field in fields if field in _SORTS),
        accounts=tuple(item for item in accounts if item[1]),
        has_user={"IpAddress", "TargetUserName"} <= there,
        has_addresses=any(there.issuperset(group) for group in _WITH_ADDRESSES),
    )


def _all_names(event: Event) -> Iterator[_Name]:
    fields = event.fields
    if event.host:
        yield _own_host(event)
    for field, _ in _shape_of(tuple(fields)).named:
        yield from _names(field, fields)
    if event.category == "process_creation":
        yield from _process(event)


def _process(event: Event) -> list[_Name]:
    """A started process by its command line, and by its number, host and minute."""
    fields = event.fields
    found: list[_Name] = []
    if command := fields.get("CommandLine"):
        found.append((NameSort.PROCESS, command[:MAX_COMMAND_CHARS]))
    number = fields.get("ProcessId") or fields.get("NewProcessId", "")
    if number and event.host and len(event.time) > _MINUTE and (image := fields.get("Image", "")):
        found.append((NameSort.PROCESS, process_name(base_name(image), number, event.host, event.time[:_MINUTE])))
    return found


def process_name(image: str, number: str, host: str, minute: str) -> str:
    """Return the name of a process: no host has two with the same number in one minute."""
    plain = str(int(number, 16)) if number.lower().startswith("0x") and len(number) < 12 else number
    return f"{image} (process {plain} on {host.partition('.')[0].lower()}, started {minute})"


def _names(field: str, fields: dict[str, str]) -> Iterator[_Name]:
    """The names in one field of an event."""
    value, sort = fields[field], _SORTS[field]
    if len(value) > MAX_NAME_CHARS or value.lower() in _NOTHING:
        return
    if sort is NameSort.ACCOUNT:
        if name := _account(field, fields):
            yield sort, name
    elif sort is NameSort.HASH:
        for digest in _HASH.findall(value):
            yield sort, digest.lower()
    else:
        for part in value.split("\n", 3)[:3] if "\n" in value else (value,):
            yield sort, part.strip()


def _account(field: str, fields: dict[str, str]) -> str:
    """The account with its domain, if the event has it."""
    name, domain = fields.get(field, ""), fields.get(_ACCOUNTS[field][0], "")
    if len(name) + len(domain) > MAX_NAME_CHARS:
        return _with_domain.__wrapped__(name, domain)
    return _with_domain(name, domain)


@lru_cache(maxsize=5_000)
def _with_domain(name: str, domain: str) -> str:
    name, domain = name.strip(), domain.strip()
    if name.lower() in _NOTHING or "\n" in name:
        return ""
    return name if domain.lower() in _NOTHING or "@" in name or "\\" in name else f"{domain}\\{name}"


def _proofs(event: Event, shape: _Shape, process: Sequence[_Name]) -> Iterator[tuple[_Name, _Name, str]]:
    """Pairs of names that the event shows to be one thing."""
    fields = event.fields
    for field, others in shape.accounts:
        if not (name := _account(field, fields)):
            continue
        for other in others:
            written = fields[other].strip()
            if written.lower() not in _NOTHING and len(written) <= MAX_NAME_CHARS:
                yield (NameSort.ACCOUNT, name), (NameSort.ACCOUNT, written), "the account in one record"
    if len(process) == 2:
        yield process[0], process[1], "the process in one record"
    if shape.has_addresses or event.category == "dns_query":
        yield from _addresses_of_hosts(event)


def _addresses_of_hosts(event: Event) -> Iterator[tuple[_Name, _Name, str]]:
    fields = event.fields
    if "message" in fields and fields.get("program", "").startswith(("dhcpd", "dnsmasq-dhcp")):
        lease = _LEASE.search(fields["message"][:MAX_COMMAND_CHARS])
        if lease is not None:
            yield _host(lease["host"] or lease["name"]), (NameSort.ADDRESS, lease["address"]), "DHCP lease"
    for address_field, host_field in _LEASED:
        leased_to = fields.get(host_field) or (event.host if "MAC Address" in fields else "")
        if (address := fields.get(address_field)) and (host := leased_to):
            yield _host(host), (NameSort.ADDRESS, address), "DHCP lease"
    workstation, source = fields.get("WorkstationName", ""), fields.get("IpAddress", "")
    if workstation.lower() not in _NOTHING and is_address(source):
        yield _host(workstation), (NameSort.ADDRESS, source), "logon"
    own = fields.get("LocalIP") or (fields.get("SourceIp", "") if fields.get("Initiated", "").lower() == "true" else "")
    if event.host and is_address(own):
        yield _host(event.host), (NameSort.ADDRESS, own), "connection of the host"
    if event.category == "dns_query" and (name := fields.get("QueryName")):
        answers = fields.get("QueryResults") or fields.get("answers") or ""
        for address in _ANSWER_ADDRESS.findall(answers[:MAX_COMMAND_CHARS])[:8]:
            yield (NameSort.DOMAIN, name), (NameSort.ADDRESS, address), "DNS answer"


def _own_host(event: Event) -> _Name:
    """The host of an event; of a request it is the site that was asked for."""
    return (NameSort.DOMAIN if event.category in _OF_SITES else NameSort.HOST), event.host


def _host(name: str) -> _Name:
    return NameSort.HOST, name.strip()


def is_address(value: str) -> bool:
    """Whether a value is an IP address."""
    try:
        ipaddress.ip_address(value.removeprefix("::ffff:"))
    except ValueError:
        return False
    return True
