"""Archives become their members: each has an outcome, within limits, and nothing is left behind."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from svc.assistant.analyst.collection_plan import READABLE_LABELS
from svc.assistant.collections.expanded import ExpandedFiles
from svc.assistant.collections.expanding import UNPACKING_MODULE, Expansion
from svc.assistant.collections.request import UnpackLimits
from svc.assistant.collections.spool import remove_stale, spool_root
from svc.assistant.file_types.identify import identify
from svc.assistant.turn import TurnFile
from svc.assistant.workers.pool import Workers
from tests.support.collections import CASES, HELD, OPEN, READ, Case, zipped


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[Workers]:
    made = Workers(preload=(UNPACKING_MODULE,))
    await made.start()
    yield made
    await made.close()


def attached(name: str, data: bytes, path: Path | None = None, *, is_new: bool = True) -> TurnFile:
    if path is not None:
        path.write_bytes(data)
    mime_type, label = identify(data[:65_536], name)
    return TurnFile(
        name=name, size=len(data), sha256="", mime_type=mime_type, label=label, source=path or data, is_new=is_new
    )


async def expanded(expansion: Expansion, *files: TurnFile) -> ExpandedFiles:
    async with aclosing(expansion.expand(files)) as items:
        [result] = [item async for item in items if isinstance(item, ExpandedFiles)]
    return result


def content(file: TurnFile) -> bytes:
    return file.source if isinstance(file.source, bytes) else file.source.read_bytes()


def test_there_are_thirty_collections_half_of_them_held():
    assert (len(CASES), len(OPEN), len(HELD)) == (30, 15, 15)


@pytest.mark.parametrize("is_on_disk", [True, False], ids=["disk", "memory"])
@pytest.mark.parametrize("case", CASES, ids=[f"{'held' if case in HELD else 'open'}-{case.name}" for case in CASES])
@pytest.mark.asyncio(loop_scope="module")
async def test_every_member_has_its_outcome(case: Case, is_on_disk: bool, workers: Workers, tmp_path: Path):
    archive = attached(case.name, case.make(), tmp_path / "upload" if is_on_disk else None)
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path / "root")
    try:
        result = await expanded(expansion, archive)
        members = {file.name: file for file in result.files}
        reasons = {one.name: one.reason for one in result.not_examined}
        for member, reason in case.expected.items():
            name = f"{case.name}/{member}" if member else f"{case.name} (its members)"
            if reason == READ:
                assert hashlib.sha256(content(members[name])).hexdigest() == members[name].sha256
            else:
                assert reason in reasons[name]
        for member, data in case.contents.items():
            assert content(members[f"{case.name}/{member}"]) == data
        notes = "\n".join(
            [*(note for _, note in result.notes), reasons.get(f"{case.name} (the rest of its members)", "")]
        )
        assert all(note in notes for note in case.notes)
        assert not set(members) & set(reasons)
    finally:
        await expansion.close()
    assert not list((tmp_path / "root").glob("*"))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_compressed_tar_is_an_archive_from_then_on(workers: Workers, tmp_path: Path):
    [case] = [case for case in CASES if case.name == "case.tar.gz"]
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path)
    result = await expanded(expansion, attached(case.name, case.make()))
    assert result.files[0].label == "tar"
    assert [one.form for one in result.archives] == ["TAR, compressed with gzip"]
    await expansion.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_other_files_and_single_compressed_files_stay_as_they_are(workers: Workers, tmp_path: Path):
    import gzip

    files = (attached("a.log", b"text\n"), attached("auth.log.1.gz", gzip.compress(b"Failed password\n" * 9)))
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path)
    result = await expanded(expansion, *files)
    assert result == ExpandedFiles(files=files)
    await expansion.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_members_keep_whether_the_archive_is_new_and_important_ones_come_first(workers: Workers, tmp_path: Path):
    raw = zipped([("notes.txt", b"text\n"), ("etc/crontab", b"* * * * * root id\n"), ("var/log/auth.log", b"text\n")])
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path)
    result = await expanded(expansion, attached("c.zip", raw, is_new=False))
    assert [file.name for file in result.files] == [
        "c.zip",
        "c.zip/var/log/auth.log",
        "c.zip/etc/crontab",
        "c.zip/notes.txt",
    ]
    assert not any(file.is_new for file in result.files)
    await expansion.close()


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (UnpackLimits(members=3), "the limit of 3 members is reached"),
        (UnpackLimits(total_bytes=1_000), "the limit of 1,000 unpacked bytes is reached"),
    ],
    ids=["members", "bytes"],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_limit_of_the_turn_is_reported_for_each_member(
    limits: UnpackLimits, reason: str, workers: Workers, tmp_path: Path
):
    raw = zipped([(f"{number}.log", b"x" * 400) for number in range(5)])
    for source in (None, tmp_path / "upload"):
        expansion = Expansion(
            workers, labels=READABLE_LABELS, root=tmp_path / "root", limits=limits, memory_limits=limits
        )
        result = await expanded(expansion, attached("c.zip", raw, source))
        left_out = [one for one in result.not_examined if reason in one.reason]
        assert "c.zip (the rest of its members)" in {one.name for one in left_out}
        assert len(left_out) + len(result.files) == 1 + 5 + 1
        await expansion.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_the_limits_hold_for_all_archives_of_a_turn_together(workers: Workers, tmp_path: Path):
    raw = zipped([(f"{number}.log", b"x" * 400) for number in range(5)])
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path, memory_limits=UnpackLimits(members=7))
    result = await expanded(expansion, attached("a.zip", raw), attached("b.zip", raw))
    assert len(result.files) == 2 + 7
    await expansion.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_member_over_its_limit_is_cut_and_the_cut_is_reported(workers: Workers, tmp_path: Path):
    limits = UnpackLimits(member_bytes=100_000)
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path, memory_limits=limits)
    data = b"".join(b"%d line\n" % number for number in range(200_000))
    result = await expanded(expansion, attached("c.zip", zipped([("long.txt", data)])))
    [_, member] = result.files
    assert data.startswith(content(member))
    assert f"only the first {member.size:,} bytes were unpacked" in dict(result.notes)["c.zip"]
    await expansion.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_closing_early_deletes_what_was_unpacked_and_frees_the_workers(workers: Workers, tmp_path: Path):
    raw = zipped([(f"{number}.log", bytes([65 + number]) * 9_000_000) for number in range(6)])
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path / "root")
    archives = [attached(f"{number}.zip", raw, tmp_path / f"{number}") for number in range(2)]
    async with aclosing(expansion.expand(archives)) as items:
        await anext(items)
        assert list((tmp_path / "root").glob("*/0*"))
    await expansion.close()
    assert not list((tmp_path / "root").glob("*"))


@pytest.mark.asyncio(loop_scope="module")
async def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(workers: Workers, tmp_path: Path):
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "000001").write_bytes(b"evidence")
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path)
    upload = tmp_path.parent / f"{tmp_path.name}-upload"
    result = await expanded(expansion, attached("c.zip", zipped([("a.log", b"text\n")]), upload))
    await remove_stale(tmp_path)
    assert not (tmp_path / "left").exists()
    assert content(result.files[1]) == b"text\n"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o700}
    await expansion.close()


def test_the_folder_is_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))
    assert spool_root() == tmp_path / "unpacked"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_worker_that_dies_is_an_outcome(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    raw = zipped([(f"{number}.log", b"text\n") for number in range(3)])
    expansion = Expansion(workers, labels=READABLE_LABELS, root=tmp_path)
    job = msgspec.structs.replace(expansion.job(attached("c.zip", raw)), tool="os:abort")
    monkeypatch.setattr(expansion, "job", lambda archive: job)
    result = await expanded(expansion, attached("c.zip", raw))
    [outcome] = result.not_examined
    assert outcome.name == "c.zip (its members)"
    assert outcome.reason.startswith("unpacking did not finish: ")
    await asyncio.wait_for(expansion.close(), 5)
