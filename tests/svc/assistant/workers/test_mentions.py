"""Which lines mention a value: counted in blocks, with the same result as line by line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from svc.assistant.turn import TurnFile
from svc.assistant.workers import mentions

PARTS = (b"mara", b"MARA", b"mara.", b"mara.x", b"amara", b"-mara", b"mar", b"a", b" ", b" ", b"\n", b"x", b".", b"-")


def file_of(source: bytes | Path, name: str = "f") -> TurnFile:
    return TurnFile(name=name, size=1, sha256="", mime_type="text/plain", label="txt", source=source)


def line_by_line(data: bytes) -> tuple[int, int, int]:
    """Lines with the name, all lines, the first with the name, up to a line with a null byte."""
    lines = data.splitlines()
    end = next((number for number, line in enumerate(lines) if b"\0" in line), len(lines))
    pattern = mentions._pattern("mara")
    found = [number for number, line in enumerate(lines[:end], start=1) if pattern.search(line)]
    return len(found), end, found[0] if found else 0


@pytest.mark.parametrize("seed", range(5))
def test_blocks_give_what_lines_give(seed: int, monkeypatch):
    monkeypatch.setattr(mentions, "BLOCK", 64)
    chance = random.Random(seed)
    for _ in range(300):
        parts = (*PARTS, b"\0") if chance.random() < 0.2 else PARTS
        words = (chance.choice(parts) for _ in range(chance.randint(0, 120)))
        lines = [line[:50] for line in b"".join(words).split(b"\n")]
        data = b"\n".join(lines)
        found, total, first = line_by_line(data)
        said = mentions.mentioning_lines([file_of(data)], ["mara"])
        if not total:
            assert said == {}
        elif not found:
            assert said["mara"].startswith("none of ")
        else:
            assert said["mara"].startswith(f"{found:,} of {total:,} line")
            assert said["mara"].endswith(f"first line {first:,} of f")


def test_the_part_that_was_searched_is_said(monkeypatch):
    monkeypatch.setattr(mentions, "MAX_BYTES", 2 << 20)
    data = b"a line\n" * 1_000_000
    assert " of the first 2 MiB mentions it" in mentions.mentioning_lines([file_of(data)], ["mara"])["mara"]


def test_several_files_and_names(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"x\nroot 203.0.113.9\n")
    said = mentions.mentioning_lines([file_of(b"root\n", "one"), file_of(path, "two")], ["ROOT", "203.0.113.9"])
    assert said == {
        "ROOT": "2 of 3 lines mention it, first line 1 of one",
        "203.0.113.9": "1 of 3 lines mentions it, first line 2 of two",
    }
