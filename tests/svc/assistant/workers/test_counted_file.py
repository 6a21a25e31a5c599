"""Whatever form a tool needs, the bytes of its file are counted: without doing of the tool, and exactly."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svc.assistant.findings import InputKind, Progress, ToolEvent
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.workers import process
from svc.assistant.workers.counted_file import open_counted
from svc.messages import TaskProgress

LINES = b"".join(b"%d some text of a log\n" % number for number in range(100_000))
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def reader(content: object, *, source: str) -> Iterator[ToolEvent]:
    if hasattr(content, "read"):
        while content.read(70_000):
            pass
    else:
        for _ in content:  # type: ignore[attr-defined]
            pass
    yield Progress(text="read")


def counts(
    content: bytes,
    kind: InputKind,
    tool: Callable[..., Iterator[ToolEvent]],
    path: Path | None,
    *,
    searches: bool = False,
) -> list[TaskProgress]:
    if path is not None:
        path.write_bytes(content)
    request = process.JobRequest(
        tool="",
        input=kind,
        name="a.log",
        limits=process.Limits(),
        path=str(path) if path else None,
        looks_for_instructions=searches,
    )
    sent: list[Progress] = []
    list(process._events(tool, request, content, sent.append))
    return [one.counted for one in sent if one.counted is not None]


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", InputKind)
def test_every_form_of_input_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: InputKind, packed: str, is_on_disk: bool
):
    monkeypatch.setattr(process, "COUNT_SECONDS", 0)
    content = PACKED[packed](LINES)
    seen = counts(content, kind, reader, tmp_path / "a" if is_on_disk else None)

    assert seen[-1] == TaskProgress(task="a.log", done=len(content), total=len(content), unit="byte")
    assert all(0 < one.done <= one.total for one in seen)
    assert [one.done for one in seen] == sorted(one.done for one in seen)


def test_the_search_for_instructions_is_counted_on_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(process, "COUNT_SECONDS", 0)
    seen = counts(LINES, InputKind.LINES, reader, tmp_path / "a", searches=True)
    assert [one.done for one in seen].count(len(LINES)) >= 2


def test_reports_are_throttled(tmp_path: Path):
    assert len(counts(LINES, InputKind.LINES, reader, tmp_path / "a")) <= 3


def test_reading_again_counts_from_the_beginning_and_jumping_never_exceeds_the_size():
    seen: list[tuple[int, int]] = []
    stream = open_counted(None, LINES, lambda done, total: seen.append((done, total)))
    stream.read(1_000_000)
    stream.seek(0)
    stream.read(300_000)
    assert seen[-1][0] < 1_000_000
    for _ in range(10):
        stream.seek(-1_000_000, io.SEEK_END)
        stream.read()
    assert seen[-1] == (len(LINES), len(LINES))
    assert stream.tell() == len(LINES)
    stream.close()


def test_a_counted_file_reads_as_the_file():
    stream = open_counted(None, LINES, lambda *_: None)
    with stream:
        assert (stream.read(), stream.seek(5), stream.readline()) == (LINES, 5, LINES[5:].split(b"\n")[0] + b"\n")
        assert stream.seek(-3, io.SEEK_END) == len(LINES) - 3
        assert stream.read() == LINES[-3:]


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_every_skill_reports_how_far_it_is_without_its_doing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, skill: object
):
    monkeypatch.setattr(process, "COUNT_SECONDS", 0)
    line = b"Nov 20 03:12:07 web sshd[1]: Failed password for root from 198.51.100.7 port 1 ssh2\n"
    records = json.dumps({"note": "x"}).encode() + b"\n"
    content = line * 4_000 + records
    tool = process._load(skill.tool)  # type: ignore[attr-defined]
    seen = counts(content, skill.input, tool, tmp_path / "a")  # type: ignore[attr-defined]
    assert seen
    assert all(one.total == len(content) or one.unit != "byte" for one in seen)
