"""Findings of severity medium and above on ordinary files: the files of this machine and the generated ordinary ones.

    python -m tests.benchmarks.precision [FOLDER …] [--skill NAME …] [--each N] [--seconds N] [--show N]

Run it by hand; ``tests/svc/assistant/skills/test_precision.py`` checks the generated part. Each file goes to the skills
that are made for its type: to every skill that claims it, and texts also to those for text. At most ``--each``
files of one type per skill, spread over the folders by a hash of the path. Printed for each skill: files, findings of
severity critical or high, of medium, and what they were. The aim is that no ordinary file has one of severity high or
above; read what is listed before calling it a mistake, because folders may hold test data and private keys.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.skills.skill import Skill
from tests.support.ordinary_inputs import ordinary_inputs
from tests.support.run_tool import GRAVE, findings_of

FOLDERS = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/share", "/usr/local", "/etc", "/var/log", "/var/lib/dpkg/info",
    sys.prefix,
)  # fmt: skip
MAX_BYTES = 1024 * 1024
SCANNED = 400_000  # names; a whole system has more
TEXT_SKILLS = ("indicators", "decode", "cvss", "token", "cve", "hash_kind", "weakness", "behaviours")
TEXT_TYPES = frozenset({"txt", "markdown", "log", "html", "ini", "yaml", "json", "csv", "xml"})


@dataclass
class Row:
    """One skill's figures. ``points`` are the scores of verdicts, where a skill has them."""

    files: int = 0
    grave_files: int = 0
    grave: int = 0
    medium: int = 0
    titles: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    points: list[float] = field(default_factory=list)

    def count(self, name: str, found: Sequence[AnyFinding]) -> None:
        """Add one file's findings."""
        grave = [finding for finding in found if finding.severity in GRAVE]
        self.files += 1
        self.grave_files += bool(grave)
        self.grave += len(grave)
        self.medium += sum(finding.severity is Severity.MEDIUM for finding in found)
        self.titles.update(f"{finding.severity.value}: {finding.kind}: {finding.title[:90]}" for finding in grave)
        self.examples += [f"{name}: {finding.title[:90]} ({_shown(finding)})" for finding in grave]
        for finding in found:
            facts = columns(finding)
            score = facts.get("score", facts.get("points"))
            if finding.kind.endswith("verdict") and isinstance(score, int | float):
                self.points.append(float(score))


def _shown(finding: AnyFinding) -> str:
    return " ".join(finding.evidence[0].excerpt.split())[:90] if finding.evidence else ""


def spread(folders: Sequence[str]) -> Iterator[Path]:
    """The regular files below the folders, in the order of a hash of their paths."""
    found: list[str] = []
    for folder in folders:
        for top, names, files in os.walk(folder):
            names.sort()
            found += [os.path.join(top, name) for name in files]  # noqa: PTH118 - a hundred thousand names
            if len(found) >= SCANNED:
                break
    found.sort(key=lambda path: hashlib.md5(path.encode("utf-8", "replace"), usedforsecurity=False).digest())
    for name in found:
        path = Path(name)
        try:
            if path.is_file() and not path.is_symlink() and 0 < path.stat().st_size <= MAX_BYTES:
                yield path
        except OSError:
            continue


def skills_for(label: str, name: str, skills: Sequence[Skill]) -> list[Skill]:
    """The skills that are made for a file of this type."""
    return [
        skill
        for skill in skills
        if label in skill.claims | skill.also
        or (label in TEXT_TYPES and skill.name in TEXT_SKILLS)
        or (skill.name == "code_review" and name.endswith((".py", ".js", ".sh", ".rb", ".php", ".java", ".c")))
    ]


def measure(folders: Sequence[str], skills: Sequence[Skill], each: int, seconds: float) -> dict[str, Row]:
    """Run the skills over the generated files, then over the machine's for as long as ``seconds``."""
    ends_at = time.monotonic() + seconds
    rows: dict[str, Row] = defaultdict(Row)
    taken: Counter[tuple[str, str]] = Counter()
    for skill in skills:
        for name, content in ordinary_inputs(skill.name).items():
            rows[skill.name].count(f"generated: {name}", findings_of(skill, content, name))
    for path in spread(folders):
        if time.monotonic() > ends_at:
            break
        try:
            with path.open("rb") as opened:
                label = identify(opened.read(HEAD_BYTES), path.name)[1]
            wanted = [skill for skill in skills_for(label, path.name, skills) if taken[skill.name, label] < each]
            content = path.read_bytes() if wanted else b""
        except OSError:
            continue
        for skill in wanted:
            taken[skill.name, label] += 1
            started = time.perf_counter()
            rows[skill.name].count(str(path), findings_of(skill, content, path.name))
            if (seconds := time.perf_counter() - started) > 20:
                print(f"{skill.name}: {path} took {seconds:.0f} s", file=sys.stderr)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--skill", action="append", default=[])
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--show", type=int, default=10)
    chosen = parser.parse_args()
    skills = [skill for skill in SKILLS if not chosen.skill or skill.name in chosen.skill]
    rows = measure(chosen.folders, skills, chosen.each, chosen.seconds)
    print("| Skill | Files | Files with high+ | Findings high+ | medium | Score: median, highest |")
    print("|---|---|---|---|---|---|")
    for skill in skills:
        row = rows[skill.name]
        points = sorted(row.points)
        scored = f"{points[len(points) // 2]:g}, {points[-1]:g}" if points else "-"
        print(f"| {skill.name} | {row.files} | {row.grave_files} | {row.grave} | {row.medium} | {scored} |")
    for skill in skills:
        row = rows[skill.name]
        for title, count in row.titles.most_common(chosen.show):
            print(f"  {skill.name}: {count} x {title}")
        for example in row.examples[: chosen.show]:
            print(f"    {example}")


if __name__ == "__main__":
    main()
