"""Stored answers: one key, one file, whole, shared, without keys."""

from __future__ import annotations

import base64
import os
import threading
from pathlib import Path

import msgspec
import pytest

from svc import Message, MessageType, MimeType
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.store import Entry, StoreError, key_of
from tests.support.made_keys import UNKNOWN_KEY

BASE = {"model": "", "language": "en", "question": "who?", "files": [("a.log", "00")], "before": ""}


def entry(key: str, *, before: str = "", text: str = "an answer", saved: float = 1.0) -> Entry:
    return Entry(
        key=key,
        before=before,
        question="who?",
        asked_model="",
        language="en",
        files=[("a.log", "00")],
        model="svc-1",
        session_id="s",
        saved=saved,
        notes=[],
        messages=[Message(message_type=MessageType.RESULT, content=text)],
    )


def key(start: str) -> str:
    return start.ljust(64, "0")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"model": "stable"}, id="model"),
        pytest.param({"language": "de"}, id="language"),
        pytest.param({"question": "who? "}, id="question"),
        pytest.param({"files": [("b.log", "00")]}, id="name of a file"),
        pytest.param({"files": [("a.log", "01")]}, id="content of a file"),
        pytest.param({"files": []}, id="no file"),
        pytest.param({"before": key("1")}, id="question before"),
    ],
)
def test_everything_that_the_answer_follows_from_is_in_its_key(other: dict[str, object]):
    assert key_of(**BASE) == key_of(**BASE)
    assert key_of(**{**BASE, **other}) != key_of(**BASE)


def test_the_order_of_files_does_not_count():
    files = [("a", "1"), ("b", "2")]

    assert key_of(**{**BASE, "files": files}) == key_of(**{**BASE, "files": files[::-1]})


def test_an_answer_is_found_again_whole_and_without_keys(tmp_path: Path):
    secret = UNKNOWN_KEY
    answer_store.save(tmp_path, entry(key("ab"), text=f"it said {secret}"))

    found = answer_store.load(tmp_path, key("ab"))

    assert found is not None
    assert found.is_verified
    assert found.entry.text == "it said svc_(redacted)"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{key('ab')}.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', "\x00"])
def test_a_broken_file_is_no_answer(content: str, tmp_path: Path):
    answer_store.save(tmp_path, entry(key("ab")))
    (tmp_path / "ab" / f"{key('ab')}.json").write_text(content)

    assert answer_store.load(tmp_path, key("ab")) is None
    assert list(answer_store.entries(tmp_path)) == []


def test_a_file_under_another_answers_name_is_no_answer(tmp_path: Path):
    answer_store.save(tmp_path, entry(key("ab")))
    (tmp_path / "ab" / f"{key('ab')}.json").rename(tmp_path / "ab" / f"{key('ab1')}.json")

    assert answer_store.load(tmp_path, key("ab1")) is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "x" * 64, "A" * 64])
def test_what_is_no_key_is_no_path(name: str, tmp_path: Path):
    assert answer_store.load(tmp_path, name) is None
    with pytest.raises(StoreError, match="not an answer's key"):
        answer_store.save(tmp_path, entry(name))


def test_runs_that_write_the_same_answer_at_once_leave_a_whole_one(tmp_path: Path):
    threads = [
        threading.Thread(target=answer_store.save, args=(tmp_path, entry(key("ab"), text=str(n) * 50_000)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = answer_store.load(tmp_path, key("ab"))
    assert found is not None
    assert len(set(found.entry.text)) == 1
    assert len(list((tmp_path / "ab").iterdir())) == 1


def test_pruning_takes_what_nobody_used_and_keeps_what_a_used_one_follows(tmp_path: Path):
    first, second, other = key("1"), key("2"), key("3")
    for item in (entry(first), entry(second, before=first), entry(other)):
        answer_store.save(tmp_path, item)
        os.utime(tmp_path / item.key[:2] / f"{item.key}.json", (100, 100))
    answer_store.touch(tmp_path, second)

    removed = answer_store.prune(tmp_path, unused_since=200)

    assert [item.key for item in removed] == [other]
    assert {item.key for item in answer_store.entries(tmp_path)} == {first, second}


@pytest.mark.parametrize(
    ("start", "message"),
    [
        pytest.param("1", "the keys of 2 answers in .* begin with 1", id="two"),
        pytest.param("9", "no key of an answer in .* begins with 9", id="none"),
    ],
)
def test_one_answer_is_found_by_the_start_of_its_key(start: str, message: str, tmp_path: Path):
    answer_store.save(tmp_path, entry(key("1a")))
    answer_store.save(tmp_path, entry(key("1b")))

    assert answer_store.find(tmp_path, "1A").entry.key == key("1a")
    with pytest.raises(StoreError, match=message):
        answer_store.find(tmp_path, start)


def test_named_secrets_are_nowhere_in_a_stored_answer_and_its_key_stays(tmp_path: Path):
    drawing = base64.b64encode(b"<svg><text>web-1 to hush&amp;1</text></svg>").decode()
    said = entry(key("1234"), text='héll"o and 1234').messages
    said.append(Message(message_type=MessageType.RESULT, mime_type=MimeType.SVG, content=drawing, title="hush&1"))
    asked = msgspec.structs.replace(
        entry(key("1234")), question="is hush&1 1234?", files=[("hush&1.log", "1234")], notes=["hush&1"], messages=said
    )

    answer_store.save(tmp_path, asked, ("hush&1", 'héll"o', "1234"))

    stored = answer_store.load(tmp_path, key("1234"))
    assert stored is not None
    found = stored.entry
    assert found.question == "is svc_(redacted) svc_(redacted)?"
    assert found.files == [("svc_(redacted).log", "1234")]
    assert found.messages[0].content == "svc_(redacted) and svc_(redacted)"
    assert base64.b64decode(str(found.messages[1].content)) == b"<svg><text>web-1 to svc_(redacted)</text></svg>"
    assert "hush" not in str(found)
