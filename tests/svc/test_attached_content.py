"""``attach_file``: content, paths and open files, and what it refuses."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

import svc
from svc import AsyncSvc, Svc
from svc._folder_stream import upload_of
from svc.config import Config
from svc.errors import TooLargeError
from tests.support.assistants.stopping import Stopping
from tests.support.live import StartService


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "auth.log"
    path.write_bytes("failed login of müller\n".encode())
    return path


def read_back(client: Svc, *arguments: object, **options: object) -> tuple[str, bytes]:
    session = client.create_session()
    file = session.attach_file(*arguments, **options)
    return file.name, session.read_file(file)


def test_a_path_stands_alone_or_gets_a_name(client: Svc, log: Path):
    content = log.read_bytes()
    assert read_back(client, log) == ("auth.log", content)
    assert read_back(client, "web-3.log", log) == ("web-3.log", content)
    assert read_back(client, log.parent)[0] == f"{log.parent.name}.tar"


def test_an_open_file_is_sent_from_where_it_is_and_stays_open(client: Svc, log: Path):
    content = log.read_bytes()
    with log.open("rb") as file:
        file.seek(7)
        assert read_back(client, file) == ("auth.log", content[7:])
        assert read_back(client, "rest.log", file) == ("rest.log", b"")
        file.seek(0)
        seen: list[tuple[int, int]] = []
        read_back(client, file, on_progress=lambda *done: seen.append(done))
        assert seen[-1] == (len(content), len(content))
    with log.open(encoding="utf-8") as text:
        assert read_back(client, text) == ("auth.log", content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("ä\ud800", "ä?".encode()), (b"\x00\xff", b"\x00\xff"), (bytearray(b"ab"), b"ab"), (memoryview(b"cd"), b"cd"),
        (io.BytesIO(b"ef"), b"ef"), (io.StringIO("ü"), "ü".encode()), ("", b""),
    ],
)  # fmt: skip
def test_bytes_text_and_files_in_memory_get_a_name(client: Svc, content: object, expected: bytes):
    assert read_back(client, "a.bin", content) == ("a.bin", expected)


def test_a_pipe_is_sent_once(client: Svc):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        os.write(writing, b"piped")
        os.close(writing)
        assert read_back(client, "pipe", pipe) == ("pipe", b"piped")
        body = upload_of("pipe", pipe, None).body
        body().close()
        with pytest.raises(svc.InvalidRequestError, match="cannot be read from its start again"):
            body()
        assert not pipe.closed


def test_a_second_attempt_sends_the_same(log: Path):
    with log.open("rb") as file:
        body = upload_of(file, None, None).body
        assert [body().read(), body().read()] == [log.read_bytes()] * 2


class Upload:
    """What web frameworks give a route."""

    filename = "a.log"

    async def read(self) -> bytes:
        return b""


def closed() -> io.BytesIO:
    file = io.BytesIO(b"x")
    file.close()
    return file


@pytest.mark.parametrize(
    ("arguments", "text", "param"),
    [
        (lambda: ("a.csv", pandas.DataFrame({"a": [1]})), "the content is a DataFrame, which", "content"),
        (lambda: ("a.json", {"a": 1}), "the content is a dict, which", "content"),
        (lambda: ("a", 3), "the content is an int, which", "content"),
        (lambda: ("a",), "a name without content. Pass both, or a Path", "content"),
        (lambda: (b"abc",), "a name without content", "content"),
        (lambda: (io.BytesIO(b"x"),), "a BytesIO has no file name", "name"),
        (lambda: (3,), "an int has no file name", "name"),
        (lambda: (Path("a.log"), b"x"), "the file name is a PosixPath. Pass it as text", "name"),
        (lambda: ("a", closed()), r"the file \\(a BytesIO\\) is closed", "content"),
        (lambda: ("a", Upload()), "is read asynchronously. Await its content", "content"),
    ],
)  # fmt: skip
def test_another_type_is_refused_before_anything_is_sent(arguments: Callable[[], tuple], text: str, param: str):
    with pytest.raises(svc.InvalidRequestError, match=text.replace("\\\\", "\\")) as caught:
        upload_of(*[*arguments(), None][:2], None)
    assert caught.value.param == param


def test_a_file_open_for_writing_is_refused(tmp_path: Path):
    with (tmp_path / "a").open("wb") as file, pytest.raises(svc.InvalidRequestError, match="mode 'rb'"):
        upload_of(file, None, None)


async def test_the_asynchronous_session_takes_the_same(scripted_service: Config, log: Path):
    async with AsyncSvc(scripted_service.api_key, scripted_service.base_url) as client:
        session = await client.create_session()
        with log.open("rb") as file:
            files = [await session.attach_file(log), await session.attach_file("b", file)]
        assert [await session.read_file(file) for file in files] == [log.read_bytes()] * 2
        with pytest.raises(svc.InvalidRequestError, match="a dict"):
            await session.attach_file("a", {})  # type: ignore[arg-type]


def test_a_file_on_disk_that_is_too_large_is_refused_by_its_whole_size(start_service: StartService, tmp_path: Path):
    service = start_service(Stopping, max_upload_bytes=1_000_000)
    path = tmp_path / "auth.log"
    path.write_bytes(b"x" * 5_000_000)
    with Svc(service.key, service.base_url) as client:
        session = client.create_session()
        with pytest.raises(TooLargeError, match=r"5,000,000 bytes; the limit is 1,000,000"):
            session.attach_file_from_disk(path)
