"""Findings in columns, compressed: the form of a session's findings file. Pure.

The file is gzip. Its text is JSON Lines: the first line is ``{"format": "svc findings 1", "findings": N}``; every other
line is a block of consecutive findings of one kind, worst first over the whole file:

    {"kind": "indicator", "count": 2000, "same": {"severity": "info"}, "columns": {"title": […], "facts.value": […]}}

A column is a field of a finding (docs/skills.md) or, as ``facts.NAME``, one of its facts. A value that all findings of
the block share is in ``same``. Each line is a gzip member of its own, so that blocks are written and copied without
compressing them again. Why no Parquet or Arrow: docs/decisions.md.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, cast

import msgspec

LABEL = "svc_findings"
"""The type of such a file in a session's list of files. No content that a user attaches is detected as this."""
TITLE = "findings file"
"""The title of the ``source`` message that names the file."""
FORMAT = "svc findings 1"
BLOCK = 2_000  # findings in one block
_READ_BYTES = 65_536
_LEVEL = 1  # of compression: level 6 takes four times as long and saves a fifth
FACTS = "facts."
"""Before the name of a column that is a fact."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the ``source`` message that names the file: it holds all ``findings`` of the answer.

    ``in_message`` is how many of them, the most severe, are also in the ``source`` message before it.
    """

    findings_file: str
    sha256: str
    size: int
    findings: int
    in_message: int


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    findings: int


class _FindingFields(Protocol):
    """What is needed of a finding: a struct whose field ``facts`` is a struct."""

    @property
    def kind(self) -> str: ...

    @property
    def facts(self) -> msgspec.Struct: ...


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive findings of one kind; ``columns`` are decoded when they are asked for."""

    kind: str
    count: int
    same: dict[str, object]
    columns: dict[str, msgspec.Raw]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, the facts last and in the order of their struct."""
        named = [*self.same, *self.columns]
        return tuple(sorted(named, key=lambda name: name.startswith(FACTS)))

    def column(self, name: str) -> Sequence[object]:
        """The values of a column, one for each finding."""
        return self.typed_column(name, object)

    def typed_column(self, name: str, kind: object) -> Sequence[object]:
        """The values of a column as values of this type; raises msgspec.ValidationError if one is not."""
        if name in self.same:
            return [msgspec.convert(self.same[name], kind)] * self.count
        values: list[object] = msgspec.json.decode(self.columns[name], type=_list_of(kind))
        return values


@lru_cache
def _list_of(kind: object) -> object:
    return list[object] if kind is object else list[kind]  # type: ignore[valid-type]


def pack_block(findings: Sequence[_FindingFields]) -> bytes:
    """Encode findings of one kind as one gzip member."""
    first = findings[0]
    own = [name for name in _fields(first) if name != "facts"]
    named: dict[str, list[object]] = {name: [getattr(one, name) for one in findings] for name in own}
    facts = [one.facts for one in findings]
    named |= {f"{FACTS}{name}": [getattr(one, name) for one in facts] for name in _fields(first.facts)}
    same = {name: values[0] for name, values in named.items() if values.count(values[0]) == len(values)}
    columns = {name: values for name, values in named.items() if name not in same}
    return pack_line({"kind": first.kind, "count": len(findings), "same": same, "columns": columns})


def pack_line(line: Mapping[str, object]) -> bytes:
    """Encode one line as a gzip member."""
    return gzip.compress(msgspec.json.encode(line) + b"\n", _LEVEL, mtime=0)


def pack_header(findings: int) -> bytes:
    """Encode the first line of a file with this many findings."""
    return pack_line({"format": FORMAT, "findings": findings})


def unpack_block(member: bytes) -> Block:
    """Decode a block that ``pack_block`` made."""
    return msgspec.json.decode(zlib.decompress(member, wbits=_GZIP), type=Block)


def members(file: bytes) -> Iterator[tuple[bytes, Block]]:
    """Yield each block of a findings file as it is stored and decoded.

    Raises:
        ValueError: It is not such a file, or it is damaged.
    """
    lines = _lines(file)
    try:
        _, line = next(lines, (b"", b""))
        header = msgspec.json.decode(line, type=_Header)
        if header.format != FORMAT:
            raise ValueError(
                f"the format of the findings file is {header.format[:40]!r}; this version reads {FORMAT!r}"
            )
        count = 0
        for member, line in lines:
            block = msgspec.json.decode(line, type=Block)
            count += block.count
            yield member, block
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError(f"the findings file is damaged: {error}") from error
    if count != header.findings:
        raise ValueError(f"the findings file is damaged: it holds {count:,} of {header.findings:,} findings")


def _lines(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each gzip member with its text."""
    view, start = memoryview(file), 0
    while start < len(file):
        reader, pieces, at = zlib.decompressobj(wbits=_GZIP), [], start
        while not reader.eof and at < len(file):
            pieces.append(reader.decompress(view[at : at + _READ_BYTES]))
            at += min(_READ_BYTES, len(file) - at)
        if not reader.eof:
            raise zlib.error("it ends too early")
        end = at - len(reader.unused_data)
        yield bytes(view[start:end]), b"".join(pieces)
        start = end


def reference(content: str | bytes) -> Reference | None:
    """The reference in a JSON ``source`` message; None if the message is another one."""
    try:
        return msgspec.json.decode(content, type=Reference)
    except msgspec.MsgspecError:
        return None


_GZIP = zlib.MAX_WBITS | 16


def _fields(struct: object) -> tuple[str, ...]:
    return cast("msgspec.Struct", struct).__struct_fields__
