"""The verdict, the facts and the next steps of each skill follow from its findings, whichever of them there are.

Each check also runs on random parts of the findings: a sentence that is right because of one sample's other findings
is wrong there.
"""

from __future__ import annotations

import html
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest

from svc.assistant.analyst.render import rated
from svc.assistant.findings import AnyFinding, Finding, Severity
from svc.assistant.skills.catalogue import SECTIONS, section_of, skill_named
from svc.assistant.skills.skill import Section
from tests.support.evidence_kinds import KINDS
from tests.support.ordinary_inputs import ordinary_inputs
from tests.support.sample_inputs import held_set, open_set
from tests.svc.assistant.analyst.test_ratings import CAPTURE
from tests.svc.assistant.skills.test_coverage import EITHER, UNDERSTOOD, run

SHARES = (0.8, 0.5, 0.5, 0.3)  # of the findings that a part keeps
ORDINARY = 4
MATTERS = frozenset([Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM])
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_IDENTIFIER = re.compile(r"\b(?:T\d{4}(?:\.\d{3})?|CVE-\d{4}-\d{4,})\b")
_NUMBER = re.compile(r"(?<![\w.:/-])\d{1,3}(?:,\d{3})+(?![\w-])|(?<![\w.:/-])\d+(?:\.\d+)?(?![\w:/-]|\.\d)")
_SEVERITY = re.compile(r"\b(?:critical|high|medium)\b(?! confidence)")
_NO_COUNT = re.compile(
    r"3 needs a check, 5 is suspicious, 7\.5 is phishing or fraud|"  # the scale of a mail's score
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d\b"
)
NAMED = 6
ROUNDED = 0.051  # a figure may be rounded to a tenth
_DENIAL = re.compile(r"\*{0,2}(?:No|Nothing|None)\b")
_SHORTENED = re.compile(r"… \(\+[\d,]+ characters\)$|…$")
_PIECES = re.compile(r"[<>]")  # of "Jo <jo@example.org>", whose parts are two fields
_DEFANGED = (("[.]", "."), ("[@]", "@"), ("[:]", ":"), ("hxxp", "http"), ("␊", " "), ("␍", " "), ("␉", " "))


def contents(skill: str) -> dict[str, bytes]:
    """Evidence of the skill's kinds, and ordinary inputs."""
    kinds = sorted(UNDERSTOOD[skill] | EITHER.get(skill, frozenset()))
    found = {f"{kind} {number}": made()[kind] for number, made in enumerate((open_set, held_set)) for kind in kinds}
    if skill == "pcap":
        found["capture"] = CAPTURE
    if skill == "events":
        found.update((name, kind.evidence()[1]) for name, kind in KINDS.items())
    return found | dict(list(ordinary_inputs(skill).items())[:ORDINARY])


@cache
def samples(skill: str) -> tuple[tuple[str, tuple[AnyFinding, ...]], ...]:
    """The findings of each input, whole and in parts."""
    found = []
    for name, content in contents(skill).items():
        whole = tuple(event for event in run(skill, content) if isinstance(event, Finding))
        chance = random.Random(name)
        parts = [tuple(one for one in whole if chance.random() < share) for share in SHARES]
        found += [(name, findings) for findings in (whole, *parts) if findings]
    return tuple(found)


def texts(value: object) -> Iterator[str]:
    """Every scalar in it as text."""
    if isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from texts(member)
    else:
        yield str(value)


def plain(text: str) -> str:
    """As it was before it was shortened, defanged and put on one line."""
    text = _SHORTENED.sub("", html.unescape(text).strip())
    for made, original in _DEFANGED:
        text = text.replace(made, original)
    return " ".join(text.rstrip("[.").split()).casefold()


def statements(section: Section, findings: Sequence[AnyFinding]) -> str:
    return "\n".join([section.verdict(findings), *section.facts(findings)])


every_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.skill.name)


@every_section
def test_what_is_quoted_is_in_a_finding(section: Section) -> None:
    wrong = []
    for name, findings in samples(section.skill.name):
        evidence = plain("\n".join(texts(msgspec.to_builtins(findings))))
        quoted = {plain(span[2]) for span in _CODE_SPAN.finditer(statements(section, findings))}
        wrong += [(name, one) for one in quoted if any(piece.strip() not in evidence for piece in _PIECES.split(one))]
    assert wrong == []


@every_section
def test_techniques_and_vulnerabilities_are_those_of_a_finding(section: Section) -> None:
    wrong = []
    for name, findings in samples(section.skill.name):
        known = set(_IDENTIFIER.findall("\n".join(texts(msgspec.to_builtins(findings)))))
        wrong += [(name, one) for one in _IDENTIFIER.findall(statements(section, findings)) if one not in known]
    assert wrong == []


def claims(section: Section, findings: Sequence[AnyFinding]) -> str:
    """What the verdict and the facts claim in the project's words, without what they quote."""
    text = html.unescape(_CODE_SPAN.sub("…", statements(section, findings)))
    for made, original in _DEFANGED:
        text = text.replace(made, original)
    return _NO_COUNT.sub(" ", text)


def is_known(stated: re.Match[str], known: Collection[float]) -> bool:
    """Whether a number is one of a row's; of "and 18 more" with what is named before it, which is at most ``NAMED``."""
    number = float(stated[0].replace(",", ""))
    named = range(NAMED + 1) if stated.string.startswith(" more", stated.end()) else (0,)
    return any(abs(number + before - one) < ROUNDED for before in named for one in known)


def numbers_of(findings: Sequence[AnyFinding]) -> set[float]:
    """Every number that rows can give: values, counts of rows that share a value, sums, and distinct values."""
    rows = msgspec.to_builtins(findings)
    written = {float(one.replace(",", "")) for one in _NUMBER.findall("\n".join(texts(rows)))}
    totals: defaultdict[str, float] = defaultdict(float)
    shared: Counter[tuple[str, str]] = Counter()
    sizes: set[float] = set()
    for row in rows:
        for name, value in [*row.items(), *row["facts"].items()]:
            if isinstance(value, int | float):
                totals[name] += value
            if isinstance(value, list | dict):
                sizes.add(float(len(value)))
                totals[name] += len(value)
            shared[name, repr(value)] += 1
    different = Counter(name for name, _ in shared)
    counted = {float(one) for one in (*totals.values(), *shared.values(), *different.values())}
    return written | sizes | counted | sums_of_counts(rows) | {0.0, float(len(rows))}


def sums_of_counts(rows: Sequence[dict[str, Any]]) -> set[float]:
    """The sum of the column ``count`` over the rows that share a value of another one, and over all but these."""
    groups: Counter[tuple[str, str, str]] = Counter()
    totals: Counter[str] = Counter()
    for facts in (row["facts"] for row in rows if isinstance(row["facts"].get("count"), int)):
        totals[facts["kind"]] += facts["count"]
        for name, value in facts.items():
            groups[facts["kind"], name, repr(value)] += facts["count"]
    rest = {float(totals[kind] - one) for (kind, _, _), one in groups.items()}
    return rest | {float(one) for one in groups.values()}


@every_section
def test_a_number_is_a_value_or_a_count_of_rows(section: Section) -> None:
    wrong = []
    for name, findings in samples(section.skill.name):
        known = numbers_of(findings)
        stated = _NUMBER.finditer(claims(section, findings))
        wrong += [
            (name, one.string[max(0, one.start() - 40) : one.end() + 30]) for one in stated if not is_known(one, known)
        ]
    assert wrong == []


@every_section
def test_a_severity_is_that_of_a_row(section: Section) -> None:
    wrong = []
    for name, findings in samples(section.skill.name):
        rows = "\n".join(texts(msgspec.to_builtins(findings))).casefold()
        stated = set(_SEVERITY.findall(claims(section, findings)))
        wrong += [(name, one) for one in stated if re.search(rf"\b{one}\b", rows) is None]
    assert wrong == []


@every_section
def test_nothing_is_denied_above_findings_that_matter(section: Section) -> None:
    wrong = []
    for name, findings in samples(section.skill.name):
        if any(finding.severity in MATTERS for finding in findings):
            lead = rated(section.verdict(findings), findings).partition("\n")[0]
            wrong += [(name, lead)] if _DENIAL.match(lead) else []
    assert wrong == []


def test_a_rule_without_a_tactic_is_a_detection() -> None:
    section = section_of(skill_named("events"))
    parts = [findings for _, findings in samples("events") if any(f.severity in MATTERS for f in findings)]
    without = [[one for one in findings if one.facts.__struct_config__.tag != "event_tactics"] for findings in parts]
    verdicts = [section.verdict(findings) for findings in without if any(f.severity in MATTERS for f in findings)]
    assert verdicts
    assert not any(verdict.startswith("**No ") for verdict in verdicts)
