"""How long a job may take."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import msgspec
import pytest

from svc.assistant.workers.job_limits import (
    announcement,
    is_packed,
    is_small,
    limits_for,
    size_of,
    turn_limit,
    unpacked_bytes,
)
from svc.assistant.workers.process import Limits

MIB = 1_048_576


@pytest.mark.parametrize(
    ("size", "cpu_seconds", "wall_seconds"),
    [
        (0, 20, 50),
        (2_000, 20, 50),
        (MIB, 50, 125),
        (3 * MIB, 110, 275),
        (8 * MIB, 240, 600),
        (900 * MIB, 2_024, 5_060),
        (2_048 * MIB, 4_320, 10_800),
    ],
)
def test_the_time_is_in_proportion_to_the_input(size: int, cpu_seconds: int, wall_seconds: float):
    limits = limits_for(Limits(), size, b"text")
    assert (limits.cpu_seconds, limits.wall_seconds) == (cpu_seconds, wall_seconds)
    assert limits.memory_bytes == Limits().memory_bytes


def test_a_lower_limit_of_the_pool_stays():
    assert limits_for(Limits(cpu_seconds=1, wall_seconds=0.5), 0, b"") == Limits(cpu_seconds=1, wall_seconds=0.5)


def zipped() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a", "x")
    return target.getvalue()


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(b"x"), bz2.compress(b"x"), lzma.compress(b"x"), zipped()],
    ids=["gzip", "bzip2", "xz", "zip"],
)
def test_what_is_compressed_counts_as_what_it_unpacks_to(packed: bytes, tmp_path):
    (tmp_path / "file").write_bytes(packed)
    assert is_packed(packed)
    assert is_packed(tmp_path / "file")
    assert limits_for(Limits(), MIB // 10, packed).cpu_seconds == 79


def test_sizes_of_paths_and_of_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert [size_of(tmp_path / "file"), size_of(b"123"), size_of(tmp_path / "gone")] == [5, 3, 0]
    assert not is_packed(tmp_path / "gone")
    assert [is_small(65_536), is_small(65_537)] == [True, False]


def test_what_a_compressed_log_may_unpack_to_limits_its_time():
    packed = gzip.compress(b"x")
    assert limits_for(Limits(), 900 * MIB, packed) == limits_for(Limits(), 512 * MIB, b"text")


@pytest.mark.parametrize(
    ("counted", "seconds"),
    [(0, 1_800), (8 * MIB - 1, 1_800), (512 * MIB, 3_600), (2_048 * MIB, 9_000), (10**14, 43_200)],
)
def test_a_turn_has_more_time_for_more_input_up_to_a_limit(counted: int, seconds: float):
    assert turn_limit(1_800, 3_600, 43_200, counted) == seconds


def test_a_longer_limit_of_all_turns_stays():
    assert turn_limit(90_000, 3_600, 43_200, 2_048 * MIB) == 90_000
    assert turn_limit(60, 0, 43_200, 2_048 * MIB) == 60


def test_a_small_compressed_file_cannot_claim_more_than_is_read():
    assert unpacked_bytes(100 * MIB, gzip.compress(b"x")) == 512 * MIB
    assert unpacked_bytes(MIB, b"text") == MIB


def told(megabytes: int, **limits: float) -> str:
    size = megabytes * 1_000_000
    return announcement("auth.log", size, size, msgspec.structs.replace(limits_for(Limits(), size, b"text"), **limits))


def test_what_a_large_input_takes_is_said_before():
    assert told(60) == ""
    assert told(100) == "auth.log (100 MB): reading it usually takes 1 minute; the limit is 17 minutes"
    assert told(2_000) == "auth.log (2,000 MB): reading it usually takes 4 to 17 minutes; the limit is 168 minutes"


def test_a_limit_that_may_be_too_low_is_said_before_and_first():
    assert told(2_000, wall_seconds=600) == (
        "the limit of 10 minutes may be too short for auth.log (2,000 MB): reading it usually takes 4 to 17 minutes. "
        "The answer is about the part that was read until then (raise SVC_TURN_SECONDS for more time)"
    )
