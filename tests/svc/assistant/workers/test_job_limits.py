"""How long a job may take."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from svc.assistant.workers.job_limits import is_packed, is_small, limits_for, size_of
from svc.assistant.workers.process import Limits

MIB = 1_048_576


@pytest.mark.parametrize(
    ("size", "cpu_seconds", "wall_seconds"),
    [(0, 20, 50), (2_000, 20, 50), (MIB, 50, 125), (3 * MIB, 110, 275), (8 * MIB, 240, 600), (900 * MIB, 240, 600)],
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
