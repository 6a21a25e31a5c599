"""Attached files in an S3 bucket while the store, the network or the service fails: nothing is half, lost or left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from svc.assistant.turn import FileUnreadableError, StoredFile, open_source
from svc.errors import ConfigError, SessionFileNotFoundError, UnavailableError
from svc.service.sessions.database_mark import MARK
from svc.service.sessions.files import ORPHAN_SECONDS, chunks_of
from svc.service.sessions.objects import files as objects_module
from svc.service.sessions.objects.files import ObjectFiles
from svc.service.store.records import FileRecord
from svc.service.store.sqlite import SqliteStore
from tests.support.object_stores import BUCKET, PREFIX, object_files, s3_bucket
from tests.support.s3_server import SECRET_KEY, S3Fault, S3Object, S3Request, S3Server, s3_server
from tests.support.store_records import session

MIB = 1 << 20
LARGE = bytes(range(256)) * (11 * MIB // 256)  # three parts, two pieces

SLOW = pytest.mark.slow
FURTHER = [pytest.param(one, marks=SLOW) for one in ("cut", "cut_body", "denied")]


class Place:
    """A service's files in a bucket, with its machine."""

    def __init__(self, server: S3Server, store: SqliteStore, root: Path) -> None:
        self.server = server
        self.store = store
        self.root = root
        self.objects = server.make_bucket(BUCKET)
        self.files = self.another(root)

    def another(self, root: Path, **options: int) -> ObjectFiles:
        return object_files(s3_bucket(self.server), self.store, root, **options)

    @property
    def keys(self) -> set[str]:
        return {key.removeprefix(f"{PREFIX}/") for key in self.objects} - {MARK}

    async def attach(self, content: bytes, name: str = "a") -> FileRecord:
        received = await self.files.receive(chunks_of([content]), 100 * MIB)
        record = FileRecord(
            id=received.id, name=name, size=received.size, sha256=received.sha256, mime_type="", label="txt"
        )
        stored = await self.store.add_file("s", record, limit=100)
        assert stored is not None
        await self.files.publish(received.id, stored)
        return stored

    async def read(self, file: FileRecord) -> bytes:
        return await asyncio.to_thread(read_all, self.files.source(file))

    def fail(self, fault: S3Fault, *, times: int = 1_000, only: str = "") -> None:
        """Let the next requests fail, or those that are ``part`` or of a method."""
        left = [times]

        def decide(request: S3Request) -> S3Fault | None:
            if only and not (request.is_part if only == "part" else request.method == only):
                return None
            left[0] -= 1
            return fault if left[0] >= 0 else None

        self.server.fault = decide

    def heal(self) -> None:
        self.server.fault = lambda _: None

    def fetched(self) -> list[Path]:
        return [*(self.root / "0" / "files").iterdir()]


@pytest.fixture
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture
async def place(server: S3Server, tmp_path: Path) -> AsyncIterator[Place]:
    store = SqliteStore(tmp_path / "svc.db")
    await store.open()
    await store.add_session(session())
    made = Place(server, store, tmp_path / "fetched")
    await made.files.open()
    yield made
    made.files.close()
    await store.close()


@pytest.mark.parametrize("fault", ["cut_body", *(pytest.param(one, marks=SLOW) for one in ("slow_down", "cut"))])
async def test_an_upload_goes_on_after_a_failure_that_passes(place: Place, fault: S3Fault):
    place.fail(fault, times=2, only="part")
    file = await place.attach(LARGE)
    place.heal()
    assert await place.read(file) == LARGE


@pytest.mark.parametrize("fault", ["cut_body", *(pytest.param(one, marks=SLOW) for one in ("slow_down", "cut"))])
async def test_a_fetch_goes_on_after_a_failure_that_passes(place: Place, fault: S3Fault):
    file = await place.attach(LARGE)
    place.fail(fault, times=2, only="GET")
    assert await place.read(file) == LARGE


@pytest.mark.parametrize(
    "fault", ["slow_down", "wrong_bytes", *(pytest.param(one, marks=SLOW) for one in ("cut", "cut_body", "denied"))]
)
async def test_an_upload_that_fails_for_good_leaves_nothing(place: Place, fault: S3Fault):
    place.fail(fault, only="part")
    with pytest.raises(UnavailableError, match="could not be stored in the object store") as caught:
        await place.files.receive(chunks_of([LARGE]), 100 * MIB)
    assert caught.value.retry_after
    assert SECRET_KEY not in str(caught.value)
    place.heal()
    assert (place.keys, place.server.uploads) == (set(), {})
    assert await place.store.journaled_files() == {}


async def test_an_upload_of_a_store_that_is_away_is_swept_later(place: Place):
    place.fail("cut")
    with pytest.raises(UnavailableError, match="it cannot be reached; try again"):
        await place.files.receive(chunks_of([b"small"]), 100 * MIB)
    assert "cannot be stored or fetched at the moment" in str(await place.files.warnings())
    place.heal()
    file = await place.attach(b"later")
    assert await place.files.warnings() == []
    assert await place.read(file) == b"later"


@pytest.mark.parametrize(
    "fault", ["slow_down", "wrong_bytes", *(pytest.param(one, marks=SLOW) for one in ("cut", "cut_body", "denied"))]
)
async def test_a_fetch_that_fails_for_good_leaves_no_half_file(place: Place, fault: S3Fault):
    file = await place.attach(LARGE, "auth.log")
    place.fail(fault, only="GET")
    with pytest.raises(FileUnreadableError, match=r"auth\.log") as caught:
        await place.read(file)
    assert SECRET_KEY not in str(caught.value)
    assert place.fetched() == []
    assert place.files._cache.used_bytes == 0
    place.heal()
    assert await place.read(file) == LARGE


async def test_a_wrong_content_is_never_read_to_its_end(place: Place):
    file = await place.attach(LARGE)
    (key,) = [key for key in place.objects if MARK not in key]
    place.objects[key] = S3Object(LARGE[:-1] + b"!")
    opened = await place.files.open_file(file)
    assert len(await anext(opened.chunks)) < len(LARGE)
    with pytest.raises(FileUnreadableError, match="its SHA-256 differs"):
        await anext(opened.chunks)


async def test_a_lost_object_is_reported_and_comes_back_with_the_same_content(place: Place):
    file = await place.attach(b"evidence")
    for key in [key for key in place.objects if MARK not in key]:
        del place.objects[key]
    with pytest.raises(SessionFileNotFoundError, match="is missing in the object store"):
        await place.files.open_file(file)
    assert "the content of 1 attached files is missing" in str(await place.files.warnings())
    again = await place.attach(b"evidence", "b")
    assert again.id == file.id
    assert await place.read(file) == b"evidence"


async def test_what_cannot_be_erased_now_is_erased_by_a_sweep(place: Place):
    file = await place.attach(b"secret")
    assert await place.read(file) == b"secret"
    await place.store.remove_file("s", file)
    place.fail("slow_down")
    await place.files.remove([file.id])
    assert place.fetched() == []  # here it is gone at once
    assert place.keys == {file.id}
    place.heal()
    await place.files.sweep()
    assert place.keys == set()
    assert await place.store.journaled_files() == {}


async def test_a_sweep_erases_by_age_and_only_what_no_session_has(place: Place):
    attached = await place.attach(b"attached")
    orphan = await place.files.receive(chunks_of([b"orphan"]), MIB)
    young = await place.files.receive(chunks_of([b"young"]), MIB)
    place.objects[f"{PREFIX}/notes.txt"] = S3Object(b"somebody else's")
    place.objects[f"{PREFIX}/below/{orphan.id}"] = S3Object(b"somebody else's")
    place.objects[f"{PREFIX}/.probe-{orphan.id}"] = S3Object(b"of a killed service")
    for key, stored in place.objects.items():
        if young.id not in key:
            stored.changed -= ORPHAN_SECONDS + 60
    await place.files.sweep()
    assert place.keys == {attached.id, young.id, "notes.txt", f"below/{orphan.id}"}
    assert set(await place.store.journaled_files()) == {young.id}


async def test_no_sweep_in_the_place_of_another_database(place: Place):
    orphan = await place.files.receive(chunks_of([b"orphan"]), MIB)
    for stored in place.objects.values():
        stored.changed -= ORPHAN_SECONDS + 60
    place.objects[f"{PREFIX}/{MARK}"] = S3Object(b"another")
    await place.files.sweep()
    assert place.keys == {orphan.id}


async def test_a_start_erases_nothing_in_the_store(place: Place):
    orphan = await place.files.receive(chunks_of([b"orphan"]), MIB)
    for stored in place.objects.values():
        stored.changed -= 10 * ORPHAN_SECONDS
    other = place.another(place.root)
    await other.open()
    assert place.keys == {orphan.id}
    other.close()


async def test_a_start_waits_for_a_store_that_cannot_be_reached(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(objects_module, "WAIT_SECONDS", 0.05)
    place.fail("cut", times=20)
    other = place.another(place.root)
    await other.open()
    assert "waiting for the object store" in caplog.text
    assert SECRET_KEY not in caplog.text
    other.close()


@pytest.mark.parametrize(
    ("bucket", "denied", "expected"),
    [
        ("missing", False, r"s3://missing/team/svc cannot be used .*: there is no such bucket .*Create the bucket"),
        (BUCKET, True, r"access was denied \(status 403.*Give the service the rights to list, read, write and delete"),
    ],
)
async def test_a_bucket_that_cannot_be_used_ends_the_start(place: Place, bucket: str, denied: bool, expected: str):
    place.server.is_denied = denied
    files = object_files(s3_bucket(place.server, bucket), place.store, place.root)
    with pytest.raises(ConfigError, match=expected):
        await files.open()
    files.close()


async def test_an_empty_bucket_is_not_the_place_of_a_database_with_files(place: Place):
    await place.attach(b"evidence")
    place.server.make_bucket("empty")
    files = object_files(s3_bucket(place.server, "empty"), place.store, place.root)
    with pytest.raises(ConfigError, match=r"is not that of this database: it has no \.svc-database"):
        await files.open()
    files.close()
    strange = SqliteStore(place.root.parent / "restored.db")  # knows files, and no place yet
    await strange.open()
    await strange.add_session(session())
    record = FileRecord(id="0" * 32, name="a", size=1, sha256="0" * 64, mime_type="", label="txt")
    await strange.add_file("s", record, limit=1)
    files = object_files(s3_bucket(place.server, "empty"), strange, place.root)
    with pytest.raises(ConfigError, match="has none of the 1 files that the database knows"):
        await files.open()
    files.close()
    await strange.close()


async def test_what_a_killed_service_had_fetched_is_compared_before_it_is_read(place: Place):
    file, gone = await place.attach(b"evidence"), await place.attach(b"detached meanwhile", "b")
    assert (await place.read(file), await place.read(gone)) == (b"evidence", b"detached meanwhile")
    damaged = next(path for path in place.fetched() if path.name.startswith(file.id))
    damaged.write_bytes(b"evidenc!")
    (damaged.parent / f"{damaged.name}.part").write_bytes(b"half")
    await place.store.remove_file("s", gone)
    place.files.close()
    place.files = place.another(place.root)
    await place.files.open()
    assert place.fetched() == [damaged]
    assert await place.read(file) == b"evidence"
    place.root.chmod(0o755)
    place.files.close()
    place.files = place.another(place.root)
    await place.files.open()
    assert place.root.stat().st_mode & 0o777 == 0o700
    place.server.requests.clear()
    assert await place.read(file) == b"evidence"
    assert place.server.requests == []  # whole, so it is not fetched again


async def test_what_a_service_left_that_runs_no_more_is_erased(place: Place):
    file = await place.attach(b"evidence")
    second = place.another(place.root)
    await second.open()
    assert await asyncio.to_thread(read_all, second.source(file)) == b"evidence"
    assert len([*(place.root / "1" / "files").iterdir()]) == 1
    second.close()
    third = place.another(place.root.parent / "fetched")
    place.files.close()
    await third.open()  # takes the first folder, and nobody uses the second
    assert not (place.root / "1" / "files").exists()
    third.close()


async def test_a_stored_file_shows_no_key(place: Place):
    file = await place.attach(b"evidence")
    shown = f"{place.files.source(file)!r}{place.files._bucket!r}{place.files._bucket._store!r}{vars(place.files)!r}"
    assert SECRET_KEY not in shown


def read_all(source: Path | bytes | StoredFile) -> bytes:
    with open_source(source) as stream:
        return stream.read()
