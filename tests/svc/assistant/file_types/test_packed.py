"""A log compressed as one file has the log's label; bombs, damage and other contents keep that of the compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
import tracemalloc

import pytest

from svc.assistant.file_types.identify import identify

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINE = b"Nov 20 03:12:%02d web-3 sshd[7]: Failed password for root from 192.0.2.7 port 40%02d ssh2\n"
AUTH = b"".join(LINE % (n % 60, n % 60) for n in range(300))
PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


@pytest.mark.parametrize("label", PACKERS)
def test_a_log_inside_is_recognised(label: str):
    assert identify(PACKERS[label](AUTH), "messages-1.bin")[1] == "authlog"


@pytest.mark.parametrize("label", PACKERS)
@pytest.mark.parametrize(
    "content", [b"", b"plain words\n" * 50, b"\x00" * 5_000, gzip.compress(AUTH), b"ustar" * 500], ids=range(5)
)
def test_other_contents_keep_the_label_of_the_compression(label: str, content: bytes):
    assert identify(PACKERS[label](content), "x")[1] == label


@pytest.mark.parametrize("label", PACKERS)
def test_damage_never_raises(label: str):
    packed = PACKERS[label](AUTH)
    random_bytes = random.Random(17)
    for _ in range(60):
        spoilt = bytearray(packed)
        for _ in range(3):
            spoilt[random_bytes.randrange(len(spoilt))] = random_bytes.randrange(256)
        identify(bytes(spoilt[: random_bytes.randrange(1, len(spoilt))]), "x.gz")


@pytest.mark.parametrize("label", PACKERS)
def test_a_bomb_is_decompressed_no_further_than_its_start(label: str):
    bomb = PACKERS[label](b"A" * 50_000_000)
    tracemalloc.start()
    try:
        identify(bomb[:65_536], "x")
        assert tracemalloc.get_traced_memory()[1] < 16_000_000  # an xz file asks for a dictionary of 8 MB
    finally:
        tracemalloc.stop()
