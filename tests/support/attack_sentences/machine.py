"""Sentences of the documentation that this machine has: manual pages, read-me files, changelogs and packages' pages.

What is there depends on the machine, so no test has a limit on it; ``python -m tests.benchmarks.analyst --own``
measures it. The halves are halves of the files, by a digest of their path: no page is in both.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.support.attack_sentences import Half

MAX_BYTES = 400_000  # of one file
SENTENCES_PER_FILE = 4
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_BLOCK = re.compile(r"```.*?```|^ {4}.*$", re.DOTALL | re.MULTILINE)
_ROFF_FONT = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\[&/,|^]")
_ROFF_WORDS = re.compile(r"\.(?:B|I|BR|IR|RB|RI|Nm|Xr|Ar|Fl|Cm|Pa) ")
_CHANGE = re.compile(r"^\s+[*-] (.*(?:\n\s{4,}(?![*-]).*)*)", re.MULTILINE)
_NAMES = re.compile(r"README|NEWS|TODO|FAQ|HACKING|\.txt|\.md|\.rst|changelog", re.IGNORECASE)


def documented(half: Half, count: int) -> list[str]:
    """Sentences of the machine's documentation, from as many files as there are; none on a bare machine."""
    files = sorted(_files(), key=lambda path: hashlib.sha256(str(path).encode()).digest())
    mine = [path for path in files if (hashlib.sha256(str(path).encode()).digest()[1] % 2 == 1) == (half == "open")]
    found: dict[str, None] = {}
    for path in mine:
        kept = [one for one in _sentences(path) if one not in found]
        found.update(dict.fromkeys(kept[:: max(1, len(kept) // SENTENCES_PER_FILE)][:SENTENCES_PER_FILE]))
        if len(found) >= count:
            break
    return list(found)[:count]


def _files() -> Iterator[Path]:
    for section in ("man1", "man3", "man5", "man7", "man8"):
        yield from Path("/usr/share/man", section).glob("*.gz")
    for path in Path("/usr/share/doc").rglob("*"):
        if _NAMES.search(path.name) and path.is_file():
            yield path
    yield from Path(sysconfig.get_path("purelib")).glob("*.dist-info/METADATA")


def _sentences(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(MAX_BYTES)
    except (OSError, EOFError):  # a dangling link, or a file that only its owner reads
        return
    text = raw.decode("utf-8", "replace")
    if path.parent.name.startswith("man"):
        paragraphs = list(_roff_paragraphs(text))
    elif path.name.lower().startswith("changelog"):
        paragraphs = _CHANGE.findall(text)
    else:
        body = text.partition("\n\n")[2] if path.name == "METADATA" else text
        paragraphs = re.split(r"\n\s*\n", _BLOCK.sub("", body))
    for paragraph in paragraphs:
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
            letters = sum(char.isalpha() or char == " " for char in sentence)
            if 4 <= len(sentence.split()) <= 45 and letters >= 0.75 * len(sentence):
                yield sentence


def _roff_paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.splitlines():
        words = _ROFF_WORDS.sub("", line) if _ROFF_WORDS.match(line) else line
        if words.startswith((".", "'")) or not words.strip():
            yield " ".join(lines)
            lines = []
        else:
            lines.append(_ROFF_FONT.sub("", words).replace("\\-", "-").replace("\\e", "\\"))
    yield " ".join(lines)
