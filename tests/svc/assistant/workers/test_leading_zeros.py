"""A log that begins with zeros is read after them, and the answer says so; a binary file is not touched."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.workers.leading_zeros import after_zeros
from tests.support.inline_analyst import ask

LINE = b"Nov 21 02:05:14 gate-1 sshd[702]: Failed password for root from 203.0.113.31 port 40101 ssh2\n"


@pytest.mark.parametrize("zeros", [16, 4_096, HEAD_BYTES + 1_000])
async def test_the_records_after_zeros_are_read(zeros: int):
    asked = await ask("who failed to log in?", ("auth.log", bytes(zeros) + LINE * 3))
    assert "`root` (3" in asked.markdown
    assert f"its first {zeros:,} bytes are zeros" in asked.markdown


def test_zeros_in_the_middle_hide_no_type():
    assert identify(LINE * 5 + bytes(3_000) + LINE * 5, "auth.log") == identify(LINE * 10, "auth.log")


@pytest.mark.parametrize("content", [LINE, bytes(4) + LINE, bytes(64), bytes(64) + bytes(range(256)) * 8, b""])
def test_other_files_stay_as_they_are(content: bytes):
    stream, zeros = after_zeros(io.BytesIO(content))
    assert (zeros, stream.read()) == (0, content)


def test_offsets_count_from_behind_the_zeros():
    stream, zeros = after_zeros(io.BytesIO(bytes(100) + LINE))
    assert (zeros, stream.seek(0, io.SEEK_END), stream.seek(4)) == (100, len(LINE), 4)
    assert stream.read() == LINE[4:]
