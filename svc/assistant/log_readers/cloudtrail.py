"""Read AWS CloudTrail: ``Records``, JSON lines, one event, ``lookup-events``, EventBridge, Athena and Lake exports.

Field names are joined with dots, as in Sigma's CloudTrail rules (``userIdentity.type``,
``requestParameters.userName``). Exports with other names (``event_name``, ``eventname``, ``EventName``) and with
nested parts as JSON text get the original names. Format: CloudTrail's record contents, versions 1.0x.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.json_objects import MAX_LINE_BYTES, Skipped, object_of, read_objects
from svc.assistant.log_readers.lines import Lines, ReadItem, Unread
from svc.assistant.log_readers.parts import part_of
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_BYTES = 64 * 1024 * 1024  # of a document that is decoded at once; a larger one is read object by object
MAX_TARGETS = 60  # of a record's fields, in which an excerpt looks for request parameters
MAX_VALUE_CHARS = 120  # of a value in an excerpt
MAX_WRAPPERS = 4  # around one event: a collector's record, EventBridge's, the event as text

_MEMBERS = (
    "eventVersion", "userIdentity", "eventTime", "eventSource", "eventName", "awsRegion", "sourceIPAddress",
    "userAgent", "errorCode", "errorMessage", "requestParameters", "responseElements", "additionalEventData",
    "requestID", "eventID", "readOnly", "resources", "eventType", "apiVersion", "managementEvent",
    "recipientAccountId", "serviceEventDetails", "sharedEventID", "vpcEndpointId", "vpcEndpointAccountId",
    "eventCategory", "tlsDetails", "sessionCredentialFromConsole", "edgeDeviceDetails", "insightDetails", "addendum",
)  # fmt: skip
_IDENTITY = (
    "type", "principalId", "arn", "accountId", "accessKeyId", "userName", "sessionContext", "invokedBy",
    "identityProvider", "sessionIssuer", "attributes", "mfaAuthenticated", "creationDate", "webIdFederationData",
    "federatedProvider", "inScopeOf", "sourceIdentity", "credentialId", "onBehalfOf",
)  # fmt: skip
_WRAPPERS = ("CloudTrailEvent", "detail", "eventJson", "event_json", "event", "_source", "_raw", "message", "result",
             "record", "log", "data", "cloudtrail", "aws")  # fmt: skip
_HEAD_NAMES = (
    re.compile(rb'"event[_ ]?source\\?"\s*:', re.IGNORECASE), re.compile(rb'"event[_ ]?name\\?"\s*:', re.IGNORECASE),
)  # fmt: skip
_TEXT = json.JSONEncoder(ensure_ascii=False)
_NOT_NAME = re.compile(r"[^a-z0-9]+")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00| UTC)?")


class _File(msgspec.Struct):
    Records: list[msgspec.Raw] | None = None
    Events: list[msgspec.Raw] | None = None


_WHOLE = "its records are in a list or on several lines each"


def is_cloudtrail(head: bytes) -> bool:
    """Return whether a file's first bytes are CloudTrail's."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return False
    return b'"CloudTrailEvent"' in text or all(name.search(text) for name in _HEAD_NAMES)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is the record's position in the file, from 1."""
    part = part_of(content)
    form = part.carry(_Arrangement)
    records = form.look(content) if part.is_first else None
    if form.is_lines:
        yield from read_lines(content)
    elif records is not None:
        part.refuse(_WHOLE)
        yield from _from_records(records)
    else:
        part.refuse(_WHOLE)
        yield from _from_objects(content)
    if form.is_cut and form.is_lines and not part.is_paused:
        yield Gap(text=f"the file has more than {MAX_BYTES:,} bytes and was read line by line")


class _Arrangement:
    """How the records of a file are arranged."""

    def __init__(self) -> None:
        self.is_cut = self.is_lines = False

    def look(self, content: BinaryIO) -> list[msgspec.Raw] | None:
        """Find it out from the file's content; return the records if the file is one document."""
        content.seek(0)
        whole = content.read(MAX_BYTES + 1)
        content.seek(0)
        self.is_cut = len(whole) > MAX_BYTES
        records = None if self.is_cut else _document(whole)
        self.is_lines = records is None and isinstance(object_of(_first_line(whole)), dict)
        return records


def _first_line(content: bytes) -> bytes:
    text = content[:MAX_LINE_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    return text[: end if (end := text.find(b"\n")) >= 0 else None].strip(b", \r")


def _from_records(records: list[msgspec.Raw]) -> Iterator[ReadItem]:
    unread = 0
    for number, raw in enumerate(records, start=1):
        event = _event(object_of(bytes(raw)), number, None)
        if event is None:
            unread += 1
        else:
            yield event
    if unread:
        yield Gap(text=f"{unread:,} records are not CloudTrail events")
        yield Unread(unread)


def read_lines(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events of a file with one on each line; an event's number is its line."""
    part, lines = part_of(content), Lines.in_parts(content)
    for number, offset, line in lines:
        event = _event(object_of(line.strip(", ").encode(errors="replace")), number, offset)
        if event is None:
            lines.foreign.append(number)
        else:
            yield event
    if not part.is_paused:
        yield from lines.gaps("CloudTrail records")


def _from_objects(content: BinaryIO) -> Iterator[ReadItem]:
    """Read events over several lines each."""
    skipped = Skipped()
    for number, found in read_objects(content, skipped):
        event = _event(found, number, None)
        if event is None:
            skipped.foreign.append(number)
        else:
            yield event
    yield from skipped.gaps("a CloudTrail record")


def _document(content: bytes) -> list[msgspec.Raw] | None:
    """Return the records of a file that is one document; None if it is not."""
    try:
        found = msgspec.json.decode(content, type=_File | list[msgspec.Raw])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None
    if isinstance(found, list):
        return found
    return found.Records if found.Records is not None else found.Events


@cache
def _names() -> dict[str, str]:
    return {_NOT_NAME.sub("", name.lower()): name for name in _MEMBERS}


@cache
def _identity_names() -> dict[str, str]:
    return {_NOT_NAME.sub("", name.lower()): name for name in _IDENTITY}


def _unwrapped(found: object) -> Mapping[str, object] | None:
    """Return the record inside other objects and texts; None if there is none."""
    for _ in range(MAX_WRAPPERS):
        if isinstance(found, str):
            found = object_of(found) if found.lstrip().startswith("{") else None
        if not isinstance(found, dict):
            return None
        if "eventName" in found and "CloudTrailEvent" not in found:
            return found
        inner = next((found[name] for name in _WRAPPERS if isinstance(found.get(name), dict | str)), None)
        if inner is None or (isinstance(inner, str) and not inner.lstrip().startswith("{")):
            break
        found = inner
    return _renamed(found) if isinstance(found, dict) else None


def _renamed(found: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return a record of an export with CloudTrail's own names; None if it is no such record."""
    names = _names()
    record = {names.get(_NOT_NAME.sub("", name.lower()), name): value for name, value in found.items()}
    return record if "eventName" in record and "eventSource" in record else None


def _identity(value: object) -> object:
    """Return the identity with the original names: Athena's are in lower case."""
    if not isinstance(value, dict):
        return value
    names = _identity_names()
    return {names.get(name.replace("_", "").lower(), name): _identity(inner) for name, inner in value.items()}


def _event(found: object, number: int, offset: int | None) -> Event | None:
    record = _unwrapped(found)
    if record is None or not isinstance(record.get("eventName"), str):
        return None
    fields: dict[str, str] = {}
    for name, value in record.items():
        member = object_of(value) if isinstance(value, str) and value.startswith(("{", "[")) else None
        member = value if member is None else member
        flatten(fields, name, _identity(member) if name == "userIdentity" else member)
    return Event(
        number=number,
        offset=offset,
        time=_time(fields.get("eventTime", "")),
        product="aws",
        service="cloudtrail",
        category="",
        host=fields.get("recipientAccountId", ""),
        event_id=None,
        fields=fields,
        excerpt=_excerpt(fields),
    )


def _time(text: str) -> str:
    """Return a time as ISO 8601 with milliseconds; CloudTrail's times are in UTC in every export."""
    found = _TIME.fullmatch(text)
    return text if found is None else f"{found[1]}T{found[2]}.{(found[3] or '')[:3]:0<3}Z"


def _excerpt(fields: dict[str, str]) -> str:
    """Return the members that say what was done, by whom, to what and from where, then the other parameters.

    A record is too long to be shown, and begins with a page about the account.
    """
    targets = [name for name in islice(fields, MAX_TARGETS) if name.startswith("requestParameters.")]
    names = ("eventName", "userIdentity.arn", *targets[:1], "sourceIPAddress", "errorCode", "eventSource", *targets[1:])
    pairs = (f'"{name}": {_TEXT.encode(fields[name][:MAX_VALUE_CHARS])}' for name in names if fields.get(name))
    return f"{{{', '.join(pairs)}}}"[:MAX_EXCERPT_CHARS]
