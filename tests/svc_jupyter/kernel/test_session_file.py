"""The file by which a restarted kernel finds its session."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from svc_jupyter.kernel import session_file
from svc_jupyter.kernel.session_file import Owner
from tests.support.made_keys import UNKNOWN_KEY

OWNER = Owner("kernel-1", "local", "")


def test_a_session_is_found_again(tmp_path: Path):
    session_file.save(tmp_path / "new", OWNER, "s1", "stable")
    session_file.save(tmp_path / "new", OWNER, "s2", None)
    record = session_file.load(tmp_path / "new", OWNER)

    assert record is not None
    assert (record.session_id, record.model) == ("s2", None)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Owner("kernel-2", "local", ""), id="another kernel"),
        pytest.param(Owner("kernel-1", "https://svc.example.org", ""), id="another service"),
        pytest.param(Owner("kernel-1", "local", "abc"), id="another key"),
    ],
)
def test_nobody_elses_session_is_found(tmp_path: Path, other: Owner):
    session_file.save(tmp_path, OWNER, "s1", None)

    assert session_file.load(tmp_path, other) is None


def test_the_file_is_for_its_user_alone_and_holds_no_key(tmp_path: Path):
    key = UNKNOWN_KEY
    session_file.save(tmp_path, Owner("k", "https://svc.example.org", session_file.key_id(key)), "s1", None)
    path = tmp_path / session_file.FILE_NAME

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key not in path.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kernels.json", "kernels.json.lock"]


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"owner": 1}]', "\x00"])
def test_a_broken_file_counts_as_empty(tmp_path: Path, content: str):
    (tmp_path / session_file.FILE_NAME).write_text(content)

    assert session_file.load(tmp_path, OWNER) is None
    session_file.save(tmp_path, OWNER, "s1", None)
    assert session_file.load(tmp_path, OWNER) is not None


def test_what_nobody_used_for_a_month_is_dropped(tmp_path: Path):
    session_file.save(tmp_path, Owner("old", "local", ""), "s1", None)
    path = tmp_path / session_file.FILE_NAME
    records = json.loads(path.read_text())
    records[0]["used"] -= session_file.KEEP_SECONDS + 1
    path.write_text(json.dumps(records))

    session_file.save(tmp_path, OWNER, "s2", None)

    assert session_file.load(tmp_path, Owner("old", "local", "")) is None


def test_kernels_that_write_at_once_lose_nothing(tmp_path: Path):
    owners = [Owner(f"kernel-{n}", "local", "") for n in range(8)]
    threads = [threading.Thread(target=session_file.save, args=(tmp_path, o, "s", None)) for o in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(session_file.load(tmp_path, owner) for owner in owners)
