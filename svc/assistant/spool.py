"""Many findings in little memory: a sequence whose findings are packed in columns and decoded when they are read.

A million indicators take some 80 MB in this form, and more than a gigabyte as objects. Nothing is written to disk,
since the findings of an unlogged session may not be. Few findings stay as they are: most answers pay nothing for it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import TypeVar, cast, overload

import msgspec

from svc import findings_file
from svc.assistant.findings import AnyFinding, Facts, Finding, Severity, kind_of
from svc.findings_file import BLOCK, Block

T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R")

KEPT = 10_000  # findings that stay objects: about 20 MB
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class _Source(msgspec.Struct, frozen=True):
    """The source of an Evidence, without the rest."""

    source: str


class _Packed(msgspec.Struct, frozen=True):
    """Consecutive findings of one kind, as a member of a findings file."""

    facts: type[Facts]
    count: int
    severities: frozenset[Severity]
    member: bytes

    def block(self) -> Block:
        return findings_file.unpack_block(self.member)

    def findings(self) -> list[AnyFinding]:
        return _decoded(self.block(), self.facts)


class Spool(Sequence[AnyFinding]):
    """Findings in the order in which they were found. Reading one by its index decodes its block, the last of which is
    kept.
    """

    def __init__(self, packed: Sequence[_Packed]) -> None:
        self._packed = packed
        self._length = sum(one.count for one in packed)
        self._last: tuple[int, list[AnyFinding]] = (-1, [])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[AnyFinding]:
        for one in self._packed:
            yield from one.findings()

    @overload
    def __getitem__(self, index: int) -> AnyFinding: ...

    @overload
    def __getitem__(self, index: slice) -> list[AnyFinding]: ...

    def __getitem__(self, index: int | slice) -> AnyFinding | list[AnyFinding]:
        if isinstance(index, slice):
            chosen = range(*index.indices(self._length))
            if chosen.step == 1:
                return list(islice(self, chosen.start, chosen.stop))
            return [self[at] for at in chosen]
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        for number, one in enumerate(self._packed):
            if at < one.count:
                if self._last[0] != number:
                    self._last = (number, one.findings())
                return self._last[1][at]
            at -= one.count
        raise IndexError(index)

    @property
    def packed(self) -> Sequence[_Packed]:
        """The blocks."""
        return self._packed


class Mapped(Sequence[R]):
    """The values that a function makes of findings, made when they are read: a million rows take gigabytes."""

    def __init__(self, make: Callable[[AnyFinding], R], findings: Sequence[AnyFinding]) -> None:
        self._make = make
        self._findings = findings

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[R]:
        return map(self._make, self._findings)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> list[R]: ...

    def __getitem__(self, index: int | slice) -> R | list[R]:
        if isinstance(index, slice):
            return [self._make(finding) for finding in self._findings[index]]
        return self._make(self._findings[index])


class SpoolWriter:
    """Collects findings one by one."""

    def __init__(self) -> None:
        self._open: list[AnyFinding] = []
        self._packed: list[_Packed] = []

    def add(self, finding: AnyFinding) -> None:
        """Add a finding after the others."""
        self._open.append(finding)
        if len(self._open) >= (BLOCK if self._packed else KEPT):
            self._pack()

    def extend(self, findings: Iterable[AnyFinding]) -> None:
        """Add all of these; blocks of a spool are not decoded."""
        if isinstance(findings, Spool):
            self._pack()
            self._packed += findings.packed
            return
        for finding in findings:
            self.add(finding)

    def findings(self) -> Sequence[AnyFinding]:
        """All findings: a list if there are few."""
        if not self._packed:
            return self._open
        self._pack()
        return Spool(tuple(self._packed))

    def _pack(self) -> None:
        self._packed += _pack(self._open)
        self._open = []


def collected(*groups: Iterable[AnyFinding]) -> Sequence[AnyFinding]:
    """The findings of all groups, in their order."""
    writer = SpoolWriter()
    for group in groups:
        writer.extend(group)
    return writer.findings()


def worst_first(findings: Sequence[AnyFinding]) -> Iterator[AnyFinding]:
    """The findings by severity; those of one severity in their order."""
    if not isinstance(findings, Spool):
        yield from sorted(findings, key=lambda finding: _RANK[finding.severity])
        return
    for severity in Severity:
        for one in findings.packed:
            if severity in one.severities:
                yield from (finding for finding in one.findings() if finding.severity is severity)


def of_kind(findings: Sequence[AnyFinding], *kinds: str) -> Sequence[AnyFinding]:
    """The findings of these kinds."""
    if isinstance(findings, Spool):
        return Spool([one for one in findings.packed if kind_of(one.facts) in kinds])
    return [finding for finding in findings if finding.kind in kinds]


def without_kind(findings: Sequence[AnyFinding], kind: str) -> Sequence[AnyFinding]:
    """The findings of all other kinds."""
    if isinstance(findings, Spool):
        return Spool([one for one in findings.packed if kind_of(one.facts) != kind])
    return [finding for finding in findings if finding.kind != kind]


def kinds_of(findings: Sequence[AnyFinding]) -> set[str]:
    """The kinds that occur."""
    if isinstance(findings, Spool):
        return {kind_of(one.facts) for one in findings.packed}
    return {finding.kind for finding in findings}


def facts_values(findings: Sequence[AnyFinding], facts: type[Facts], *names: str) -> Iterator[tuple[object, ...]]:
    """The values of these fields of each finding that holds ``facts``; other fields are not decoded."""
    read = attrgetter(*names)
    if not isinstance(findings, Spool):
        yield from (_as_tuple(read(one.facts)) for one in findings if isinstance(one.facts, facts))
        return
    for one in findings.packed:
        if one.facts is facts:
            block = one.block()
            yield from zip(*(block.column(f"{findings_file.FACTS}{name}") for name in names), strict=True)


def source_counts(findings: Sequence[AnyFinding]) -> Counter[str]:
    """How many findings have evidence from each input, by its name."""
    counts: Counter[str] = Counter()
    if not isinstance(findings, Spool):
        for finding in findings:
            counts.update({evidence.source for evidence in finding.evidence})
        return counts
    for one in findings.packed:
        for evidence in cast("Sequence[list[_Source]]", one.block().typed_column("evidence", list[_Source])):
            counts.update({each.source for each in evidence})
    return counts


def file_pieces(findings: Sequence[AnyFinding]) -> tuple[bytes, ...]:
    """The findings file, worst first, in pieces."""
    if isinstance(findings, Spool):
        blocks = [one for severity in Severity for one in _of_severity(findings.packed, severity)]
    else:
        blocks = _pack(list(worst_first(findings)))
    return (findings_file.pack_header(len(findings)), *(one.member for one in blocks))


def digest(pieces: Iterable[bytes]) -> str:
    """The SHA-256 of a file in pieces, in hex."""
    known = hashlib.sha256()
    for piece in pieces:
        known.update(piece)
    return known.hexdigest()


def read_file(data: bytes, facts: Mapping[str, type[Facts]]) -> Sequence[AnyFinding]:
    """The findings of a file's content, as ``file_pieces`` made it, but for kinds that are not in ``facts``.

    Raises:
        ValueError: It is damaged, or another version wrote it.
    """
    packed = []
    checked: set[str] = set()
    for member, block in findings_file.members(data):
        if block.kind not in facts:
            continue
        if block.kind not in checked:
            checked.add(block.kind)
            _decoded(block, facts[block.kind])
        severities = frozenset(cast("Sequence[Severity]", block.typed_column("severity", Severity)))
        packed.append(_Packed(facts[block.kind], block.count, severities, member))
    return Spool(packed)


def _pack(findings: Sequence[AnyFinding]) -> list[_Packed]:
    packed = []
    for _, run in groupby(findings, key=lambda finding: type(finding.facts)):
        alike = list(run)
        for start in range(0, len(alike), BLOCK):
            part = alike[start : start + BLOCK]
            severities = frozenset(finding.severity for finding in part)
            packed.append(_Packed(type(part[0].facts), len(part), severities, findings_file.pack_block(part)))
    return packed


def _of_severity(packed: Iterable[_Packed], severity: Severity) -> Iterator[_Packed]:
    for one in packed:
        if one.severities == {severity}:
            yield one
        elif severity in one.severities:
            yield from _pack([finding for finding in one.findings() if finding.severity is severity])


def _decoded(block: Block, facts: type[Facts]) -> list[AnyFinding]:
    """The findings of a block. Made field by field, which takes a third of the time of a conversion of each finding."""
    try:
        known = _structs(block, facts, findings_file.FACTS, {})
        return _structs(block, Finding, "", {"facts": known})
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise ValueError(f"the findings file is of another version: {error}") from error


def _structs(block: Block, struct: type[T], prefix: str, known: Mapping[str, Sequence[object]]) -> list[T]:
    types = _field_types(struct)
    columns = {
        name: known[name] if name in known else block.typed_column(prefix + name, kind) for name, kind in types.items()
    }
    if not columns:
        return [struct() for _ in range(block.count)]
    return [struct(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


@lru_cache
def _field_types(struct: type[msgspec.Struct]) -> dict[str, object]:
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


def _as_tuple(values: object) -> tuple[object, ...]:
    return values if isinstance(values, tuple) else (values,)
