"""Things that several inputs of a question name: accounts, addresses, hosts, hashes, domains and processes. Pure.

A thing connects inputs only if a detection or a finding that an analyst must look at is about it, and if it is not one
that every network has (``identities``), because those connect all hosts alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.correlation.identities import Identity, Node, are_compatible, identity_of, is_inside
from svc.assistant.analyst.correlation.mentions import Mention, mentions_in
from svc.assistant.findings import Evidence, NameSort, OneThing, Severity

MAX_FINDINGS = 20_000  # of a question; the worst come first in none of them, so more are not compared
MAX_NODES = 100_000
MAX_ALIASES = 4
SAME_NAME = "name"
"""The noun of accounts or hosts that have the same name and that no record shows to be the same."""
COMMAND = "command line"
"""The noun of a command line that several hosts ran, or of which the host is not known."""
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_LEAST = _RANK[Severity.MEDIUM]
_NOUNS = ["address", "account", "host", "domain", "hash", "process", COMMAND, SAME_NAME]
_PREFERRED = {"nt": 0, "upn": 1, "fqdn": 0, "short": 1, "domain": 1, "process": 0, "bare": 2, "arn": 1}
"""Which of the names of one thing is shown, by the kind of name."""


class SharedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A thing in one input: the worst record that names it, with its time as written, and how severe that is."""

    evidence: Evidence
    time: str = ""
    severity: Severity = Severity.INFO


class Proof(msgspec.Struct, frozen=True):
    """A record that shows that two names are one thing, and what kind of record it is."""

    why: str
    evidence: Evidence


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that several inputs name. ``value`` is one of its names, ``aliases`` are others.

    ``proofs`` are the records that show the names to be one thing. ``connects``: because of it the inputs tell one
    story.
    """

    noun: str
    value: str
    places: dict[str, SharedPlace]
    severity: Severity
    aliases: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] = ()
    connects: bool = True


class _Thing(msgspec.Struct):
    """All mentions of one thing."""

    identities: dict[Node, Identity]
    mentions: list[Mention]
    proofs: list[Proof]

    @property
    def places(self) -> dict[str, SharedPlace]:
        worst: dict[str, Mention] = {}
        for mention in self.mentions:
            known = worst.get(mention.input)
            if known is None or _RANK[mention.severity] < _RANK[known.severity]:
                worst[mention.input] = mention
        return {
            name: SharedPlace(evidence=one.evidence, time=one.time, severity=one.severity)
            for name, one in sorted(worst.items())
        }

    @property
    def severity(self) -> Severity:
        return min((mention.severity for mention in self.mentions), key=_RANK.__getitem__)

    @property
    def noun(self) -> str:
        sorts = {identity.sort for identity in self.identities.values()}
        return str(next(sort for sort in (NameSort.HOST, NameSort.DOMAIN, *NameSort) if sort in sorts))

    def values(self) -> list[str]:
        """The names as written, the fullest first, each once whatever its case."""
        written: dict[str, tuple[int, str]] = {}
        for mention in self.mentions:
            rank = _PREFERRED.get(mention.identity.node[0], 3) + mention.value.endswith("$")
            written.setdefault(mention.value.lower(), (rank, mention.value))
        return [value for _, value in sorted(written.values(), key=lambda one: one[0])]


class _Classes:
    """Names that mean one thing, joined by what records show (a union-find)."""

    def __init__(self) -> None:
        self._parents: dict[Node, Node] = {}

    def of(self, node: Node) -> Node:
        """Return the representative of a node."""
        root = node
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while (parent := self._parents.get(node, root)) != root:
            self._parents[node], node = root, parent
        return root

    def join(self, one: Node, other: Node) -> None:
        """Make two nodes one thing."""
        first, second = self.of(one), self.of(other)
        if first != second:
            self._parents[second] = first


def shared_things(results: Sequence[SkillResult], input_of: Callable[[str], str]) -> list[Shared]:
    """Return what is in two inputs or more, that of the worst findings and of most inputs first.

    Args:
        results: What ran.
        input_of: The input that a source of evidence is a part of.
    """
    examined = [result for result in results if result.is_examined]
    common = {address for result in examined for _, seen in result.names_seen for address in seen.common}
    mentions = [one for one in mentions_in(examined, input_of, MAX_FINDINGS) if not _is_common(one.identity, common)]
    own = _own_domains(mentions)
    mentions = [one for one in islice(mentions, MAX_NODES) if not _is_own(one.identity, own)]
    things = _joined(mentions, examined, common)
    found = [shared for thing in things if (shared := _shared(thing)) is not None]
    found += _namesakes(things, {input_of(name) for result in examined for name in result.inputs})
    return sorted(found, key=lambda one: (_RANK[one.severity], -len(one.places), _NOUNS.index(one.noun)))


def _is_common(identity: Identity, common: set[str]) -> bool:
    return identity.sort is NameSort.ADDRESS and identity.name in common


def _own_domains(mentions: Iterable[Mention]) -> frozenset[str]:
    """The domains of the network itself: of its hosts, and of those who get its mail."""
    return frozenset(mention.identity.domain for mention in mentions if mention.identity.domain and mention.is_own)


def _is_own(identity: Identity, own: frozenset[str]) -> bool:
    name = identity.name
    return identity.sort is NameSort.DOMAIN and any(name == one or name.endswith(f".{one}") for one in own)


def _joined(mentions: Sequence[Mention], results: Sequence[SkillResult], common: set[str]) -> list[_Thing]:
    """The things that the mentions are about."""
    classes = _Classes()
    _join_hosts(classes, mentions)
    proofs = list(_proofs(results, common))
    _join_proofs(classes, proofs)
    things: dict[Node, _Thing] = {}
    for mention in mentions:
        thing = things.setdefault(classes.of(mention.identity.node), _Thing({}, [], []))
        thing.identities[mention.identity.node] = mention.identity
        thing.mentions.append(mention)
    for one, other, proof in proofs:
        root = classes.of(one.node)
        if root == classes.of(other.node) and root in things:
            things[root].proofs.append(proof)
    return list(things.values())


def _join_hosts(classes: _Classes, mentions: Iterable[Mention]) -> None:
    """``WS-17`` is ``ws-17.corp.example`` if no other domain has a host of that name."""
    full: dict[str, set[Node]] = defaultdict(set)
    for mention in mentions:
        if mention.identity.node[0] == "fqdn":
            full[mention.identity.name].add(mention.identity.node)
    for name, nodes in full.items():
        if len(nodes) == 1:
            classes.join(next(iter(nodes)), ("short", name))


_Proven = tuple[Identity, Identity, Proof]


def _proofs(results: Iterable[SkillResult], common: set[str]) -> Iterator[_Proven]:
    """The pairs of names that a record shows to be one thing."""
    for result in results:
        for name, seen in result.names_seen:
            for one in seen.one_thing:
                first, second = _pair(one, name)
                if first is None or second is None or _is_common(first, common) or _is_common(second, common):
                    continue
                line, record = (None, one.number) if seen.has_records else (one.number, None)
                evidence = Evidence(source=name, excerpt="", line=line, record=record)
                yield first, second, Proof(one.why, evidence)


def _pair(one: OneThing, place: str) -> tuple[Identity | None, Identity | None]:
    return identity_of(one.sort, one.value, place), identity_of(one.other_sort, one.other, place)


def _join_proofs(classes: _Classes, proofs: Sequence[_Proven]) -> None:
    """Join what records show to be one thing; an address that two hosts had, or two domains have, is neither."""
    owners: dict[Node, set[Node]] = defaultdict(set)
    hosts: dict[Node, set[str]] = defaultdict(set)
    for one, other, _ in proofs:
        if other.sort is NameSort.ADDRESS and one.sort is not NameSort.ADDRESS:
            owners[other.node].add(classes.of(one.node))
        if other.node[0] == "running":
            hosts[one.node].add(other.domain)
    for one, other, _ in proofs:
        if other.sort is NameSort.ADDRESS and len(owners[other.node]) > 1:
            continue
        if len(hosts[one.node]) > 1:
            continue  # a command line of several hosts is no process
        if one.sort is NameSort.HOST and other.sort is NameSort.ADDRESS and not is_inside(other.name):
            continue  # hosts behind one gateway have the same address outside
        classes.join(one.node, other.node)


def _shared(thing: _Thing) -> Shared | None:
    places = thing.places
    if len(places) < 2 or _RANK[thing.severity] > _LEAST:
        return None
    noun = thing.noun
    if noun == NameSort.PROCESS and all(node[0] == "process" for node in thing.identities):
        noun = COMMAND
        if sum(_RANK[place.severity] <= _LEAST for place in places.values()) < 2:
            return None  # ordinary in one of them
    value, *others = thing.values()
    return Shared(
        noun=noun,
        value=value,
        places=places,
        severity=thing.severity,
        aliases=tuple(others[:MAX_ALIASES]),
        proofs=_first_of_each(thing.proofs) if others else (),
    )


def _first_of_each(proofs: Sequence[Proof]) -> tuple[Proof, ...]:
    """The first proof of each kind."""
    return tuple({proof.why: proof for proof in reversed(proofs)}.values())[::-1]


def _namesakes(things: Iterable[_Thing], inputs: set[str]) -> Iterator[Shared]:
    """Accounts, and hosts, of the same name in several inputs that no record shows to be the same."""
    by_name: dict[tuple[NameSort, str], list[_Thing]] = defaultdict(list)
    for thing in things:
        for sort, name in {(one.sort, one.name) for one in thing.identities.values() if one.name}:
            if sort in (NameSort.ACCOUNT, NameSort.HOST):
                by_name[sort, name].append(thing)
    for (_, name), same in by_name.items():
        whole = {place for thing in same for place in thing.places}
        if all(node[0] == "upn" for thing in same for node in thing.identities):
            continue  # addresses of different domains are known to be different
        if len(same) < 2 or len(whole) < 2 or any(len(thing.places) == len(whole) for thing in same):
            continue
        severity = min((thing.severity for thing in same), key=_RANK.__getitem__)
        if _RANK[severity] > _LEAST:
            continue
        merged = _Thing({}, [mention for thing in same for mention in thing.mentions], [])
        yield Shared(
            noun=SAME_NAME,
            value=name,
            places=merged.places,
            severity=severity,
            aliases=tuple(merged.values()[:MAX_ALIASES]),
            connects=_may_be_one(same),
        )


def _may_be_one(same: Sequence[_Thing]) -> bool:
    """Whether accounts of one name probably belong together: their domains agree, or each of them needs a look."""
    accounts = [
        (thing, identity)
        for thing in same
        for identity in thing.identities.values()
        if identity.sort is NameSort.ACCOUNT
    ]
    domains = {identity.domain.partition(".")[0] for _, identity in accounts if identity.domain}
    if len(domains) > 1 or not accounts:
        return False
    agree = any(
        one is not other and are_compatible(first, second) for one, first in accounts for other, second in accounts
    )
    return agree or all(_RANK[thing.severity] <= _LEAST for thing in same)


def connected(shared: Iterable[Shared]) -> Mapping[str, frozenset[str]]:
    """Return for each input all inputs that are connected with it, by one thing or by several in a row."""
    groups: dict[str, set[str]] = {}
    for one in shared:
        if not one.connects:
            continue
        joined = set(one.places).union(*(groups.get(name, set()) for name in one.places))
        for name in joined:
            groups[name] = joined
    return {name: frozenset(group) for name, group in groups.items()}
