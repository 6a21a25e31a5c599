"""What the mail skill flags, on both halves of the mails of many kinds and on anybody's own folders or mboxes.

    python -m tests.benchmarks.mail
    python -m tests.benchmarks.mail --traps FOLDER_OR_MBOX --ham FOLDER_OR_MBOX
    python -m tests.benchmarks.mail --signals

``--bare`` takes the filters' verdicts out of the header first. ``--signals`` prints for each signal in how many traps
and in how many ordinary mails it is, and both rates without it: what the weights in ``score.py`` are set by.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from svc.assistant.skills.mail.mailbox import split_mails
from svc.assistant.skills.mail.score import SUSPICIOUS_POINTS, Judgement
from svc.assistant.skills.mail.tool import judge_mail
from tests.support.mail_variety.build import HALVES, hard_ham, lures
from tests.support.mail_variety.messy import messy_ham, messy_lures
from tests.support.mail_variety.structures import structured

FLAGGED = ("phishing", "fraud", "suspicious")
_FILTERS = re.compile(
    rb"^(?:X-(?:Spam|Rspamd|Pm-Spam|Forefront|Microsoft-Antispam|MS-Exchange-Organization-(?:SCL|PCL)|SID)[\w-]*|"
    rb"Authentication-Results):.*\n(?:[ \t].*\n)*",
    re.IGNORECASE | re.MULTILINE,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each set, and the signals if asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traps", type=Path)
    parser.add_argument("--ham", type=Path)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--signals", action="store_true")
    given = parser.parse_args(arguments)
    traps: list[Judgement] = []
    ham: list[Judgement] = []
    for name, mails, is_trap in _sets(given.traps, given.ham):
        judged = [judge_mail(_bared(raw) if given.bare else raw) for raw in mails]
        (traps if is_trap else ham).extend(judged)
        print(line(name, judged))
    if given.signals:
        print("\n".join(signals(traps, ham)))


def _sets(traps: Path | None, ham: Path | None) -> Iterator[tuple[str, Iterator[bytes], bool]]:
    if traps or ham:
        yield from ((str(path), _stored(path), is_trap) for path, is_trap in ((traps, True), (ham, False)) if path)
        return
    for half in HALVES:
        yield f"{half}: traps", (raw for _, raw in lures(half, is_marked=True)), True
        yield f"{half}: traps without filters' verdicts", (raw for _, raw in lures(half, is_marked=False)), True
        yield f"{half}: newsletters and notices", (raw for _, raw in hard_ham(half)), False
    for half in (*HALVES, "late", "fresh_open", "fresh_held"):
        yield f"{half}: messy traps without verdicts", (raw for _, raw in messy_lures(half)), True
        yield f"{half}: messy ordinary mails", (raw for _, raw in messy_ham(half)), False
    for half in HALVES:
        yield f"{half}: traps of many structures", (raw for _, raw in structured("lures", half)), True
        yield f"{half}: ordinary mails of many structures", (raw for _, raw in structured("ham", half)), False


def _stored(path: Path) -> Iterator[bytes]:
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    for file in files:
        yield from (raw for _, raw in split_mails(file.read_bytes()))


def _bared(raw: bytes) -> bytes:
    head, blank, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    return _FILTERS.sub(b"", head + b"\n").rstrip(b"\n") + blank + body


def line(name: str, judged: Sequence[Judgement]) -> str:
    """One row: how many are flagged, and each verdict's number."""
    flagged = sum(one.name in FLAGGED for one in judged)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in Counter(one.name for one in judged).most_common())
    return f"{name:45} {flagged:5,} of {len(judged):5,} flagged ({flagged / max(1, len(judged)):.2f}): {counts}"


def signals(traps: Sequence[Judgement], ham: Sequence[Judgement]) -> Iterator[str]:
    """A row for each signal: its share on both sides, and the flagged shares if it had no points."""
    yield f"\n{'signal':24} {'traps':>6} {'ham':>6}   without it: traps, ham"
    names = Counter(signal.name for one in (*traps, *ham) for signal in one.signals)
    for name, _ in names.most_common():
        rates = [
            sum(any(s.name == name for s in one.signals) for one in side) / max(1, len(side)) for side in (traps, ham)
        ]
        without = [_flagged_without(name, side) for side in (traps, ham)]
        yield f"{name:24} {rates[0]:6.2f} {rates[1]:6.2f} {without[0]:16.3f} {without[1]:6.3f}"


def _flagged_without(name: str, judged: Sequence[Judgement]) -> float:
    left = (sum(signal.points for signal in one.signals if signal.name != name) for one in judged)
    return sum(score >= SUSPICIOUS_POINTS for score in left) / max(1, len(judged))


if __name__ == "__main__":
    main()
