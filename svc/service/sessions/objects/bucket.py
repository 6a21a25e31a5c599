"""An object store behind ``obstore``: what the service asks of it, and its failures in words that have no key in them.

``obstore`` repeats requests that failed on the way or with a 5xx, with growing pauses. Its messages have addresses,
which may have a signature in them, so none is passed on or logged: a failure is described by its status and the
provider's error code. Facts: docs/how_to/postgresql.md, "Attached files in an object store".
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec
import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from svc.errors import ConfigError
from svc.service.sessions.objects.address import ObjectAddress
from svc.service.sessions.objects.profile import profile_options

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

PART_BYTES = 5 << 20  # the least that S3 takes as a part; an upload holds about four of them
PARTS = 10_000  # of an upload, at most, at all three providers
PARTS_AT_ONCE = 2
PIECE_BYTES = 8 << 20  # of a file that is fetched, in one request
LISTED = 1_000  # keys in one page
_RETRIES = 6
_RETRY_SECONDS = 30.0  # a request of a user waits no longer, and is answered with 503
_REQUEST_SECONDS = 60.0  # for PIECE_BYTES: 140 KB a second
_CONNECT_SECONDS = 5.0
_CODE = re.compile(r"<Code>(\w{1,60})</Code>|\"code\":\s*\"([A-Za-z]\w{0,60})")
_STATUS = re.compile(r"(?:status code:|with status) (\d{3})")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|specified bucket does not exist")
_NO_KEYS = re.compile(r"169\.254\.|metadata\.google|/latest/(?:api/token|meta-data)|/metadata/identity")
"""The machine's identity was asked for keys, because nothing else has any, and has none."""

Failure = Literal["gone", "exists", "no_bucket", "denied", "refused", "unreachable"]


class BucketError(Exception):
    """A request that failed for good. The text says why, without an address or a key."""

    def __init__(self, kind: Failure, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class ListedObject(msgspec.Struct, frozen=True):
    """An object of a listing: its key below the prefix, its size, and when it was stored by the store's own clock."""

    key: str
    size: int
    stored: float


class Bucket:
    """The objects below a prefix. Every method raises BucketError."""

    def __init__(self, store: ObjectStore, label: str) -> None:
        """``label``: its address, as messages name it."""
        self._store = store
        self.label = label

    def __repr__(self) -> str:
        return f"Bucket({self.label!r})"

    async def put(self, key: str, content: bytes) -> None:
        """Store a small object."""
        with _translated():
            await obstore.put_async(self._store, key, content, use_multipart=False)

    async def create(self, key: str, content: bytes) -> bool:
        """Store a small object unless there is one with this key; returns whether it was stored."""
        try:
            with _translated():
                await obstore.put_async(self._store, key, content, mode="create")
        except BucketError as error:
            if error.kind != "exists":
                raise
            return False
        return True

    async def upload(self, key: str, pieces: AsyncIterator[bytes], limit_bytes: int) -> None:
        """Store what ``pieces`` yields, in parts; nothing is stored if it raises.

        Args:
            key: The object's key.
            pieces: The content.
            limit_bytes: Its size at most, which decides the size of the parts.
        """
        part_bytes = max(PART_BYTES, -(-limit_bytes // PARTS))
        with _translated():
            await obstore.put_async(self._store, key, pieces, chunk_size=part_bytes, max_concurrency=PARTS_AT_ONCE)

    async def read(self, key: str, *, limit_bytes: int) -> bytes | None:
        """The first bytes of a small object; None if there is none."""
        try:
            with _translated():
                found = await obstore.get_async(self._store, key)
                size = found.meta["size"]
                return bytes(await found.buffer_async()) if size <= limit_bytes else b""
        except BucketError as error:
            if error.kind != "gone":
                raise
            return None

    async def pieces(self, key: str, size: int) -> AsyncIterator[bytes]:
        """The content of an object of this size, piece by piece, in requests of their own."""
        for start in range(0, size, PIECE_BYTES):
            length = min(PIECE_BYTES, size - start)
            with _translated():
                piece = bytes(await obstore.get_range_async(self._store, key, start=start, length=length))
            yield piece

    async def find(self, key: str) -> ListedObject | None:
        """The object with this key; None if there is none."""
        try:
            with _translated():
                found = await obstore.head_async(self._store, key)
        except BucketError as error:
            if error.kind != "gone":
                raise
            return None
        return ListedObject(key, found["size"], found["last_modified"].timestamp())

    async def listed(self) -> AsyncIterator[Sequence[ListedObject]]:
        """All objects directly below the prefix, page by page."""
        with _translated():
            async for page in obstore.list(self._store, chunk_size=LISTED):
                yield [
                    ListedObject(one["path"], one["size"], one["last_modified"].timestamp())
                    for one in page
                    if "/" not in one["path"]
                ]

    async def copy(self, key: str, new_key: str) -> None:
        """Store the object under another key, too, without fetching it."""
        with _translated():
            await obstore.copy_async(self._store, key, new_key)

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, if they are there."""
        for start in range(0, len(keys), LISTED):
            try:
                with _translated():
                    await obstore.delete_async(self._store, [*keys[start : start + LISTED]])
            except BucketError as error:
                if error.kind != "gone":  # a local folder says so
                    raise


def open_bucket(address: ObjectAddress, environment: Mapping[str, str] = os.environ) -> Bucket:
    """The bucket, not looked at yet. Keys are read from the environment, the profile or the machine's identity.

    Raises:
        ConfigError: What they say cannot be used.
    """
    client: ClientConfig = {
        "timeout": timedelta(seconds=_REQUEST_SECONDS),
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "allow_http": any(environment.get(name, "").lower() in ("true", "1") for name in _ALLOW_HTTP),
    }
    retries: RetryConfig = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)}
    options: dict[str, Any] = {"client_options": client, "retry_config": retries}
    if address.scheme == "s3":
        options |= profile_options(environment, Path.home())
    for name in _ENDPOINTS:
        _check_endpoint(name, environment.get(name, ""))
    _check_endpoint("endpoint_url of the profile", options.get("endpoint", ""))
    if address.scheme == "az":
        if not (account := environment.get("AZURE_STORAGE_ACCOUNT_NAME")):
            raise ConfigError(f"{address} is in a storage account that is not named: set AZURE_STORAGE_ACCOUNT_NAME")
        options["account_name"] = account
    try:
        store: ObjectStore = from_url(str(address), **options)
    except (BaseError, ValueError):
        raise ConfigError(
            f"{address} cannot be opened: what the environment says about its keys or its region is not valid"
        ) from None  # the cause may repeat them
    return Bucket(store, str(address))


def _check_endpoint(name: str, value: str) -> None:
    """Raise ConfigError for an address that ``obstore`` would fail on without a word about it."""
    try:
        parts = urlsplit(value)
        is_valid = not value or (parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ConfigError(f"{name} is not the address of an object store; it must be like https://s3.example.org:9000")


_ENDPOINTS = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AZURE_STORAGE_ENDPOINT")
_ALLOW_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn what ``obstore`` raises into a BucketError. The cause is dropped: its text has addresses."""
    try:
        yield
    except FileNotFoundError as error:
        kind: Failure = "no_bucket" if _NO_BUCKET.search(str(error)) else "gone"
        raise BucketError(kind, _reason(kind, str(error))) from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise BucketError("denied", _reason("denied", str(error))) from None
    except (AlreadyExistsError, PreconditionError) as error:
        raise BucketError("exists", _reason("exists", str(error))) from None
    except (BaseError, OSError, ValueError) as error:
        kind = _kind(str(error))
        raise BucketError(kind, _reason(kind, str(error))) from None


def _kind(text: str) -> Failure:
    status = _STATUS.search(text)
    if _NO_KEYS.search(text):
        return "denied"
    if _NO_BUCKET.search(text):
        return "no_bucket"
    if status is not None:
        return "unreachable" if status[1].startswith("5") or status[1] == "429" else "refused"
    return "refused" if "builder error" in text else "unreachable"


def _reason(kind: Failure, text: str) -> str:
    """What happened, made of the status and the provider's code alone."""
    code, status = _CODE.search(text), _STATUS.search(text)
    named = [f"status {status[1]}"] if status is not None else []
    named += [code[1] or code[2]] if code is not None else []
    if _NO_KEYS.search(text):
        return "no keys were found for it in the environment, in a profile or from the machine's identity"
    if "builder error" in text:
        return "its endpoint uses http, which is allowed only with AWS_ALLOW_HTTP=true"
    return f"{_WORDS[kind]} ({', '.join(named)})" if named else _WORDS[kind]


_WORDS: dict[Failure, str] = {
    "gone": "the object is not there",
    "exists": "the object is there already",
    "no_bucket": "there is no such bucket",
    "denied": "access was denied",
    "refused": "it refused the request",
    "unreachable": "it cannot be reached",
}
