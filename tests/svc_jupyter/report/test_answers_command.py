"""svc report answers: listed, shown, pruned."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from svc import Message, MessageType
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.store import Entry
from svc_jupyter.report.command import report

KEY = "ab".ljust(64, "0")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    entry = Entry(
        key=KEY,
        before="",
        question="who?\x1b[31m\nreally",
        asked_model="",
        language="en",
        files=[("a.log", "00")],
        model="svc-1",
        session_id="s1",
        saved=0.0,
        notes=[],
        messages=[Message(message_type=MessageType.RESULT, content="**nobody**")],
    )
    answer_store.save(tmp_path, entry)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(report, ["answers", *arguments])
    return done.exit_code, done.output


def test_a_line_for_each(store: Path):
    code, text = run("list", "--store", str(store))

    assert code == 0
    assert text.startswith("ab0000000000  1970-01-01 00:00")
    assert text.endswith("svc-1  who? really\n")
    told = json.loads(run("list", "--json", "--store", str(store))[1])
    assert (told["key"], told["files"]) == (KEY, [["a.log", "00"]])


def test_one_is_shown_with_what_it_was_asked(store: Path):
    code, text = run("show", "ab", "--store", str(store))

    assert code == 0
    assert "file      a.log  00" in text
    assert text.endswith("nobody\n")
    assert "\x1b" not in text


def test_a_key_that_is_not_there_is_a_usage_error(store: Path):
    code, text = run("show", "ff", "--store", str(store))

    assert code == 2
    assert "begins with ff" in text


def test_what_nobody_used_is_pruned(store: Path):
    assert run("prune", "--days", "1", "--store", str(store))[1] == "0 deleted\n"
    os.utime(store / "ab" / f"{KEY}.json", (0, 0))

    assert "ab0000000000 deleted" in run("prune", "--days", "1", "--store", str(store))[1]
    assert list(answer_store.entries(store)) == []
