"""Decompress the first bytes of a compressed file, within limits, to see what it holds. Pure."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED_LABELS = frozenset({"gzip", "bzip2", "xz", "zst"})
MAX_MEMORY = 64 * 1024 * 1024  # of a decompressor; what needs more is not looked into
_WINDOW_LOG = 26  # of Zstandard: 64 MB
_GZIP = 31  # zlib's window bits for a gzip header


def _zstd(head: bytes, size: int) -> bytes:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
    return zstd.ZstdDecompressor(options=options).decompress(head, size)


_STARTS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": lambda head, size: zlib.decompressobj(_GZIP).decompress(head, size),
    "bzip2": lambda head, size: bz2.BZ2Decompressor().decompress(head, size),
    "xz": lambda head, size: lzma.LZMADecompressor(memlimit=MAX_MEMORY).decompress(head, size),
    "zst": _zstd,
}


def start_of_packed(head: bytes, label: str, size: int) -> bytes:
    """Return at most ``size`` bytes that a compressed file begins with; b"" if they cannot be read.

    Args:
        head: The first bytes of the compressed file.
        label: One of PACKED_LABELS.
        size: The most bytes to return.
    """
    try:
        return _STARTS[label](head, size)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError):
        return b""
