"""Texts that are not encoded, of many kinds and languages, in two halves: what a decoder must leave alone.

Programs, logs, tables, numbers, addresses and identifiers from the files of this folder, and sentences of
``attack_sentences.everyday``, which make up a hundred in each half.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.attack_sentences import Half, everyday

COUNT = 100


def plain_texts(half: Half) -> list[str]:
    """``COUNT`` texts that nobody has encoded."""
    lines = (Path(__file__).parent / f"{half}.txt").read_text(encoding="utf-8").splitlines()
    written = [line.replace("\u23ce", "\n") for line in lines if line and not line.startswith("# ")]
    return [*written, *everyday(half)][:COUNT]
