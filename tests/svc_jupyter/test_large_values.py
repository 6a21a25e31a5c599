"""A large DataFrame is converted piece by piece to the same bytes as at once, with progress, and stops when told."""

from __future__ import annotations

import asyncio
import io
import random
from contextlib import aclosing
from pathlib import Path

import numpy
import pandas
import pytest

from svc_jupyter import attachments
from svc_jupyter.attachments import Attached, Attachment, LargeValue, find, from_value, from_variable
from svc_jupyter.errors import AskError
from svc_jupyter.kernel import sending
from svc_jupyter.question import TaskReport

OPEN_SEEDS, HELD_SEEDS = range(12), range(300, 312)
DAYS = pandas.date_range("2026-01-01", periods=400)


def frame_of(seed: int) -> pandas.DataFrame | pandas.Series:
    """A table with types, indexes, names and sizes by chance."""
    chance = random.Random(seed)
    rows = chance.choice([2_001, 3_000, 5_217])
    columns: dict[str, object] = {
        "n": range(rows),
        "day": numpy.resize(DAYS.values, rows),
        "at": pandas.date_range("2026-01-01", periods=rows, freq="37s", tz=chance.choice([None, "Europe/Berlin"])),
        "part": [chance.random() if number % 7 else None for number in range(rows)],
        "text": pandas.Series(
            [chance.choice(['a,"b"\n', "é", "", None, "=1+1", "\ud800"]) for _ in range(rows)], dtype=object
        ),
        "kind": pandas.Categorical([chance.choice("xyz") for _ in range(rows)]),
        "list": [[1, "a"]] * rows,
    }
    names = chance.sample(sorted(columns), chance.randint(3, 7))
    frame = pandas.DataFrame({name: columns[name] for name in names})
    match chance.randrange(5):
        case 0:
            frame.index = frame.index + 5
        case 1:
            frame.index = pandas.MultiIndex.from_arrays([range(rows), ["é"] * rows], names=["i", None])
        case 2:
            frame.columns = pandas.MultiIndex.from_arrays([names, names])
        case 3:
            frame = pandas.concat([frame, frame.iloc[:, :1]], axis=1)
    return frame[names[0]] if seed % 11 == 10 and frame.columns.nlevels == 1 else frame


def in_pieces(value: object, name: str = "frame") -> Attachment:
    large = from_variable(name, value)
    assert isinstance(large, LargeValue)
    pieces = list(large.pieces())
    assert [done for done, _ in pieces] == sorted(done for done, _ in pieces)
    assert (pieces[-1][0], len(pieces) > 1) == (large.total, True)
    return large.converted([content for _, content in pieces])


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "LARGE_CELLS", 2_000)
    monkeypatch.setattr(attachments, "LARGE_ITEMS", 10)
    monkeypatch.setattr(attachments, "PIECE_ITEMS", 3)


@pytest.mark.parametrize("seed", [*OPEN_SEEDS, *HELD_SEEDS])
def test_the_pieces_are_what_pandas_writes(seed: int, monkeypatch: pytest.MonkeyPatch):
    value = frame_of(seed)
    columns = value.shape[1] if len(value.shape) > 1 else 1
    is_numbered = type(value.index).__name__ == "RangeIndex"
    expected = io.StringIO()
    monkeypatch.setattr(attachments, "PANDAS_PIECE_CELLS", 700)
    value.to_csv(expected, index=not is_numbered, chunksize=max(1, 700 // columns))

    item = in_pieces(value)

    written = expected.getvalue().replace("[1, 'a']", '[1, ""a""]')  # a nested cell is sent as JSON
    assert item.content == written.encode("utf-8", errors="replace")
    assert item.kind == from_value("frame", value).kind


def test_pandas_converts_the_same_pieces_by_itself():
    days = numpy.resize(DAYS.values, 250_000).astype("datetime64[s]")
    days[240_000] += numpy.timedelta64(1, "h")
    frame = pandas.DataFrame({"day": days})
    assert in_pieces(frame) == from_value("frame", frame)


def test_records_are_the_same_lines():
    records = [{"n": number, "x": numpy.int64(number)} for number in range(31)]
    assert in_pieces(records, "rows") == from_value("rows", records)


@pytest.mark.parametrize("value", [pandas.DataFrame({"a": [1]}), [{"a": 1}], {"a": 1}, "text", b"x", ["a"] * 100])
def test_what_is_small_is_converted_at_once(value: object):
    assert isinstance(from_variable("v", value), Attachment)


def test_the_limit_holds_and_nothing_of_the_rest_is_converted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attachments, "MAX_VARIABLE_BYTES", 200_000)
    monkeypatch.setattr(attachments, "PANDAS_PIECE_CELLS", 5_000)
    seen = []
    large = from_variable("frame", pandas.DataFrame({"a": ["x" * 20] * 50_000}))
    assert isinstance(large, LargeValue)
    with pytest.raises(AskError, match=r"^\{frame\} is more than that, DataFrame of 50,000 rows, 1 columns; "):
        seen += [done for done, _ in large.pieces()]
    with pytest.raises(AskError, match="cannot be converted to JSON"):
        list(from_variable("rows", [{"a": object()}] * 20).pieces())  # type: ignore[union-attr]


def test_the_same_variable_twice_is_one_attachment():
    frame = pandas.DataFrame({"a": range(50_000)})
    [item] = find(["{frame}", "{ frame }"], {"frame": frame})
    assert isinstance(item, LargeValue)


async def converted(*files: Attached) -> tuple[list[TaskReport], list[Attachment]]:
    reports: list[TaskReport] = []
    async with aclosing(sending.convert(files)) as items:
        async for item in items:
            if isinstance(item, list):
                return reports, item
            reports.append(item)
    raise AssertionError


async def test_the_first_sign_comes_before_the_first_piece_and_the_last_at_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sending, "REPORT_SECONDS", 0.0)
    frame = pandas.DataFrame({"a": range(250_000)})
    reports, [item, other] = await converted(from_variable("frame", frame), Attachment("b", b"x"))
    progress = [report.progress for report in reports]
    assert (progress[0].done, progress[-1].done, progress[0].total) == (0, 250_000, 250_000)
    assert (item, other) == (from_value("frame", frame), Attachment("b", b"x"))


async def test_a_conversion_that_nobody_waits_for_stops_at_its_next_piece():
    taken = []

    class Rows(list[dict[str, int]]):
        def __getitem__(self, item: object) -> object:
            taken.append(item)
            return super().__getitem__(item)  # type: ignore[index]

    large = from_variable("rows", Rows([{"a": 1}] * 10_000))
    async with aclosing(sending.convert([large])) as items:
        await anext(items)
    count = len(taken)
    await asyncio.sleep(0.1)
    assert len(taken) <= count + 1


class Session:
    """As much of a session as sending needs."""

    def __init__(self) -> None:
        self.files: list[object] = []
        self.sent: list[tuple[str, int]] = []
        self.stopped = asyncio.Event()

    def attach_file_from_disk(self, path: Path, name: str, *, on_progress: object) -> None:
        size = path.stat().st_size
        for done in range(0, size + 1, max(1, size // 1_000)):
            on_progress(done, size)  # type: ignore[operator]
            self.sent.append((name, done))


async def test_an_upload_that_nobody_waits_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "a.log"
    file.write_bytes(b"x" * 100_000)
    session = Session()
    slowed = session.attach_file_from_disk

    def slowly(path: Path, name: str, *, on_progress: object) -> None:
        def report(done: int, total: int) -> None:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0.001), loop).result()
            on_progress(done, total)  # type: ignore[operator]

        slowed(path, name, on_progress=report)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(session, "attach_file_from_disk", slowly)

    async def send() -> None:
        async with aclosing(sending.send(session, Attachment("a.log", file))) as steps:  # type: ignore[arg-type]
            async for _ in steps:
                pass

    task = asyncio.create_task(send())
    while not session.sent:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    count = 0
    while count != len(session.sent):
        count = len(session.sent)
        await asyncio.sleep(0.2)
    assert count < 1_000
