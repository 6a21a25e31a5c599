"""What the cluster decides without a machine: addresses, programs, tables, repeated frames, a window of bytes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

import svc.assistant
from svc.assistant.findings import InputKind
from svc.assistant.workers.cluster.address import ClusterAddress
from svc.assistant.workers.cluster.messages import RemoteJob
from svc.assistant.workers.cluster.program import LIBRARIES, own_program
from svc.assistant.workers.cluster.shared_files import CheckedFiles, CheckStoppedError
from svc.assistant.workers.cluster.tables import NO_TABLES, Tables, pack, unpack
from svc.assistant.workers.cluster.task import WINDOW_BYTES, _Window
from svc.assistant.workers.process import JobRequest, Limits
from svc.assistant.workers.seen_frames import OtherFramesError, SeenFrames
from svc.errors import ConfigError

NO_EVIDENCE = {
    "pydantic", "pydantic-ai-slim", "pydantic-core", "openai", "filelock", "platformdirs", "distributed", "psutil",
    "backports.tarfile",
}  # fmt: skip
"""What the assistant imports for other work than reading: a model, its own files, this cluster, processes. The last one
shares the name `backports` with a library that reads."""


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("dask://10.0.0.5:8786", "tcp://10.0.0.5:8786"),
        ("dask+tls://dask.example.org:8786/", "tls://dask.example.org:8786"),
        ("dask://[::1]:8786", "tcp://[::1]:8786"),
    ],
)
def test_an_address_is_read(text, url):
    assert ClusterAddress.parse(text).url == url


@pytest.mark.parametrize(
    "text",
    [
        "tcp://a:1",
        "dask://a",
        "dask://a:x",
        "dask://:8786",
        "dask://me:pw@a:1",
        "dask://a:1/b",
        "dask://a:1?b",
        "dask://a:99999",
    ],
)
def test_another_address_is_refused(text):
    with pytest.raises(ConfigError, match=r"write dask://HOST:PORT"):
        ClusterAddress.parse(text)


@pytest.mark.parametrize(
    ("url", "is_exposed"),
    [("tcp://127.0.0.1:1", False), ("tcp://10.0.0.5:1", True), ("tls://10.0.0.5:1", False), ("tcp://[::1]:1", False)],
)
def test_an_address_on_a_network_without_tls_is_exposed(url, is_exposed):
    assert ClusterAddress(url).is_exposed is is_exposed


def test_a_program_equals_itself():
    assert own_program().difference(own_program()) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "9"}, "svc 9 instead of "),
        ({"python": "3.99"}, "Python 3.99 instead of "),
        ({"digest": "x"}, "was built from other sources"),
        ({"libraries": {**own_program().libraries, "evtx": "9"}}, "evtx 9 instead of "),
        ({"libraries": {}}, "instead of "),
        ({"libraries": {**own_program().libraries, "new": "1"}}, "new 1 instead of none"),
    ],
)
def test_a_difference_of_programs_is_named(change, words):
    assert words in own_program().difference(msgspec.structs.replace(own_program(), **change))


def test_every_library_that_reads_evidence_is_compared():
    texts = [file.read_text("utf-8") for file in Path(svc.assistant.__file__).parent.rglob("*.py")]
    modules = {name for text in texts for name in re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE)}
    names = metadata.packages_distributions()
    found = {name.lower().replace("_", "-") for one in modules - sys.stdlib_module_names for name in names.get(one, [])}
    found.discard("svc-jupyter")
    assert "evtx" in found
    assert found - NO_EVIDENCE <= set(LIBRARIES)


def test_tables_come_out_as_they_went_in(tmp_path):
    (tmp_path / "own" / "rules").mkdir(parents=True)
    (tmp_path / "own" / "a.toml").write_bytes(b"a")
    (tmp_path / "own" / "rules" / "b.json").write_bytes(b"\0b")
    tables = pack(tmp_path / "own")
    unpack(tables, tmp_path / "new")
    assert {
        file.relative_to(tmp_path / "new").as_posix(): file.read_bytes() for file in (tmp_path / "new").rglob("*.*")
    } == {
        "a.toml": b"a",
        "rules/b.json": b"\0b",
    }
    assert pack(tmp_path / "nothing") == NO_TABLES


@pytest.mark.parametrize("name", ["../a", "/tmp/a"])
def test_tables_lead_nowhere_else(name, tmp_path):

    data = msgspec.msgpack.encode([(name, b"x")])
    with pytest.raises(ValueError, match="is not a name in a folder"):
        unpack(Tables(data, hashlib.sha256(data).hexdigest()), tmp_path / "new")
    with pytest.raises(ValueError, match="do not have their digest"):
        unpack(Tables(data, "0"), tmp_path / "new")


def seen(*bodies: bytes) -> SeenFrames:
    frames = SeenFrames()
    frames.begin()
    assert all(frames.is_new(body) for body in bodies)
    frames.begin()
    return frames


def test_a_second_run_yields_only_what_the_first_did_not():
    frames = seen(b"a", b"b")
    assert [frames.is_new(body) for body in (b"a", b"b", b"c")] == [False, False, True]
    frames.end()
    frames.begin()
    assert [frames.is_new(body) for body in (b"a", b"b", b"c", b"d")] == [False, False, False, True]


@pytest.mark.parametrize("bodies", [(b"a", b"x"), (b"b", b"a"), (b"ab", b"")])
def test_a_second_run_that_differs_is_noticed_before_anything_new(bodies):
    frames = seen(b"a", b"b")
    assert not frames.is_new(bodies[0])
    with pytest.raises(OtherFramesError):
        frames.is_new(bodies[1])


def test_a_second_run_that_ends_early_is_noticed():
    frames = seen(b"a", b"b")
    assert not frames.is_new(b"a")
    with pytest.raises(OtherFramesError):
        frames.end()


async def test_no_more_than_a_window_is_on_the_way():
    window = _Window()
    await window.sent(WINDOW_BYTES - 1)
    sending = asyncio.create_task(window.sent(1))
    await asyncio.sleep(0)
    assert not sending.done()
    window.taken(1)
    await sending


def remote_job(folder: Path, sha256: str) -> RemoteJob:
    request = JobRequest(tool="", input=InputKind.TEXT, name="", limits=Limits())
    return RemoteJob(request=request, folder=str(folder), file="0", size=3, sha256=sha256, tables="")


def test_a_file_is_hashed_once_and_again_after_a_change(tmp_path):

    (tmp_path / "0").write_bytes(b"abc")
    job = remote_job(tmp_path, hashlib.sha256(b"abc").hexdigest())
    files, reads = CheckedFiles(), []
    for _ in range(2):
        assert files.check(job, lambda done, _: reads.append(done), lambda: False) == tmp_path / "0"
    assert reads == [3]
    os.utime(tmp_path / "0", (1, 1))
    files.check(job, lambda done, _: reads.append(done), lambda: False)
    assert reads == [3, 3]


def test_a_check_that_nobody_waits_for_stops(tmp_path):
    (tmp_path / "0").write_bytes(b"abc")
    with pytest.raises(CheckStoppedError):
        CheckedFiles().check(remote_job(tmp_path, ""), lambda *_: None, lambda: True)


def test_a_file_that_is_not_renamed_yet_is_found_under_its_name(tmp_path):

    (tmp_path / "0").write_bytes(b"abc")
    job = remote_job(tmp_path, hashlib.sha256(b"abc").hexdigest())
    job = msgspec.structs.replace(job, file="0.part")
    assert CheckedFiles().check(job, lambda *_: None, lambda: False) == tmp_path / "0"
