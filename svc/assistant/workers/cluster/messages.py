"""What the service and a process host say to each other about one job.

Down go a ``RemoteJob``, what earlier parts found if there are any, the user's own tables if ``TablesWanted`` asks for
them, and then single bytes as for ``process.py``. Up come frames with a first byte that says who made them: the host or
the worker process.
"""

from __future__ import annotations

import msgspec

from svc.assistant.workers.process import HEADER_BYTES, JobRequest

FROM_HOST, FROM_PROCESS = b"h", b"p"
MAX_DOWN_BYTES = 1 << 30  # of a frame to a host: a state or the user's tables


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job whose input is ``file``, a relative path in ``folder``, which both machines have.

    ``tables`` is the digest of the user's own tables; "" if there are none. The paths of ``request`` are empty.
    """

    request: JobRequest
    folder: str
    file: str
    size: int
    sha256: str
    tables: str


class TablesWanted(msgspec.Struct, frozen=True, tag="tables_wanted"):
    """The host does not have the tables."""


class Accepted(msgspec.Struct, frozen=True, tag="accepted"):
    """The host has all that it needs but the input, which it checks now."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The host cannot run the job; ``reason`` says why."""

    reason: str


class ProcessEnd(msgspec.Struct, frozen=True, kw_only=True, tag="process_end"):
    """The process ended without a last frame: its exit code, and the limit for which it was killed from outside."""

    code: int | None
    excess: str | None


HostFrame = TablesWanted | Accepted | Refused | ProcessEnd

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(HostFrame)


def pack_host(frame: HostFrame) -> bytes:
    """Encode a frame of the host."""
    return _framed(FROM_HOST + _encoder.encode(frame))


def pack_process(body: bytes) -> bytes:
    """Pass on a frame of the worker process."""
    return _framed(FROM_PROCESS + body)


def unpack_host(body: bytes) -> HostFrame:
    """Decode a frame of the host, without its first byte."""
    frame: HostFrame = _decoder.decode(body)
    return frame


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(HEADER_BYTES, "big") + body
