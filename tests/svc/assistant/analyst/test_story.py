"""One timeline across inputs: ordered, with zones and years as far as they are known, and a short story of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.correlation.story import NOTHING_CONNECTS, STORY_LINES, story, timeline
from svc.assistant.findings import (
    AnyFinding,
    Coverage,
    Evidence,
    FactsT,
    Finding,
    NameOccurrence,
    NameSort,
    NamesSeen,
    Severity,
)
from svc.assistant.skills.answer_parts import folded
from svc.assistant.skills.catalogue import skill_named
from svc.assistant.skills.events.findings import RuleHit
from svc.assistant.skills.logins.findings import AuthSummary
from svc.assistant.skills.pcap.findings import PcapUpload

ATTACKER = "192.0.2.7"
"""In all findings, so that their inputs are connected."""


def made(facts: type[FactsT], **fields: object) -> FactsT:
    """Facts in which nothing else is stated."""
    return facts(**(dict.fromkeys(facts.__struct_fields__) | fields))


def finding(title: str, source: str, first: str | None, severity: Severity = Severity.HIGH) -> AnyFinding:
    facts = made(PcapUpload, first=first, client=ATTACKER)
    return Finding(
        title=title, facts=facts, severity=severity, evidence=(Evidence(source=source, excerpt="", record=7),)
    )


def zone_of(source: str, zone: str) -> AnyFinding:
    return Finding(title="", facts=made(AuthSummary, zone=zone), evidence=(Evidence(source=source, excerpt=""),))


def result(*findings: AnyFinding, skill: str = "pcap", understood: int = 1) -> SkillResult:
    names = tuple(dict.fromkeys(one.evidence[0].source for one in findings))
    coverage = Coverage(read_as="log", unit="line", understood=understood, total=1, looked_for="")
    return SkillResult(
        skill=skill_named(skill), findings=findings, inputs=names, coverage=tuple((name, coverage) for name in names)
    )


def told(results: Sequence[SkillResult]) -> list[tuple[str, str]]:
    return [(moment.at.isoformat() if moment.at else "", moment.what) for moment in timeline(results)]


def test_moments_of_all_inputs_are_in_the_order_of_time():
    results = [
        result(finding("third", "a.pcap", "2026-11-20T11:00:00Z")),
        result(
            finding("first", "b.pcap", "2026-11-20T10:30:00+02:00"), finding("second", "b.pcap", "2026-11-20T09:00:00")
        ),
    ]
    assert told(results) == [
        ("2026-11-20T08:30:00+00:00", "first"),
        ("2026-11-20T09:00:00+00:00", "second"),
        ("2026-11-20T11:00:00+00:00", "third"),
    ]
    assert [moment.remark for moment in timeline(results)] == ["UTC", "(zone not stated)", "UTC"]


def test_the_zone_that_a_log_states_holds_for_all_its_times():
    results = [result(zone_of("a.log", "+02:00"), finding("x", "a.log", "2026-11-20T11:00:00"))]
    assert told(results) == [("2026-11-20T09:00:00+00:00", "x")]


def test_a_time_without_a_year_gets_the_year_of_the_others_and_is_marked():
    results = [result(finding("x", "a.log", "--11-20T11:00:00")), result(finding("y", "b.log", "2026-11-20T10:00:00Z"))]
    assert told(results) == [("2026-11-20T10:00:00+00:00", "y"), ("2026-11-20T11:00:00+00:00", "x")]
    assert timeline(results)[1].remark == "(year not stated, zone not stated)"


def test_a_leap_day_without_a_year_is_no_error():
    results = [result(finding("x", "a.log", "--02-29T11:00:00")), result(finding("y", "b.log", "2026-11-20T10:00:00Z"))]
    assert told(results)[0] == ("2026-02-28T11:00:00+00:00", "x")


def test_damaged_times_are_times_that_are_not_known():
    for damaged in ("2026-13-45T99:00:00", "yesterday", ""):
        [moment] = timeline([result(finding("x", "a.log", damaged))])
        assert moment.at is None


def shown(results: Sequence[SkillResult]) -> str:
    """The whole story as it is in the answer."""
    made = story(results)
    return "\n\n".join(filter(None, [made.lead, made.lines, folded(made.folds)]))


def test_a_rule_that_matched_names_its_host_and_its_span():
    facts = made(RuleHit, first="2026-11-20T10:00:00Z", last="2026-11-20T10:05:00Z", hosts=["ws-17"])
    seen = NamesSeen(names=(NameOccurrence(NameSort.ADDRESS, ATTACKER, 1, 3, ""),), has_records=True)
    evidence = (Evidence(source="e.evtx", excerpt="", record=3),)
    hit = Finding(title="LSASS dump", facts=facts, severity=Severity.CRITICAL, evidence=evidence)
    assert told([result(hit, skill="events")]) == [("2026-11-20T10:00:00+00:00", "LSASS dump on ws-17")]
    matched = msgspec.structs.replace(result(hit, skill="events"), names_seen=(("e.evtx", seen),))
    text = shown([matched, result(finding("y", "b.log", None))])
    assert "1. 2026-11-20 10:00:00 to 10:05:00 UTC LSASS dump on ws-17 (critical; `e.evtx` record 3)" in text


def test_details_without_a_time_are_left_out_if_the_input_has_moments_with_one():
    dated, detail = finding("x", "a.eml", "2026-11-20T10:00:00Z"), finding("SPF fail", "a.eml", None)
    assert [what for _, what in told([result(dated, detail)])] == ["x"]
    assert [what for _, what in told([result(detail)])] == ["SPF fail"]


def test_what_does_not_matter_and_what_was_not_examined_are_not_told():
    results = [
        result(finding("info", "a.log", "2026-11-20T10:00:00Z", Severity.LOW)),
        result(finding("unread", "b.log", "2026-11-20T10:00:00Z"), understood=0),
    ]
    assert timeline(results) == []


def test_there_is_a_story_only_across_several_inputs():
    one = result(finding("x", "a.log", "2026-11-20T10:00:00Z"))
    other = result(finding("y", "b.log", None))
    assert shown([one]) == ""
    text = shown([one, other])
    assert "**What happened, across 2 inputs**" in text
    assert "1. 2026-11-20 10:00:00 UTC x (high; `a.log` record 7)" in text
    assert "2. y (high; `b.log` record 7; time not known)" in text


def test_every_kind_of_evidence_is_in_the_story_however_many_moments_another_has():
    many = [
        finding(f"many {number}", "a.log", f"2026-11-20T10:{number:02}:00Z", Severity.CRITICAL) for number in range(40)
    ]
    other = finding("the other", "b.log", "2026-11-21T10:00:00Z", Severity.MEDIUM)
    text = shown([result(*many), result(other, skill="mail")])
    assert "the other" in story([result(*many), result(other, skill="mail")]).lines
    assert f"{STORY_LINES}. " in text
    assert f"{STORY_LINES + 1}. " not in text
    assert f"({41 - STORY_LINES} further moments below)" in text
    assert f"<summary>{41 - STORY_LINES} further moments</summary>" in text
    assert f"{41 - STORY_LINES - 5:,} more in `answer.findings`." in text


def test_the_same_moment_in_several_inputs_is_told_once():
    same = [finding("x", name, "2026-11-20T10:00:00Z") for name in ("a.log", "b.log", "c.log")]
    text = shown([result(*same, finding("y", "d.log", "2026-11-20T11:00:00Z"))])
    assert "1. 2026-11-20 10:00:00 UTC x (high; `a.log` record 7; also in 2 other inputs)" in text
    assert "2. 2026-11-20 11:00:00 UTC y" in text
    assert "3. " not in text


def test_what_evidence_says_stays_text():
    text = shown(
        [
            result(finding("**bold** <b>x</b> [a](http://evil.example)", "a`b.log", "2026-11-20T10:00:00Z")),
            result(finding("y", "b.log", None)),
        ]
    )
    assert "<b>" not in text
    assert "**bold**" not in text
    assert "](http" not in text


def test_moments_that_nothing_connects_are_one_timeline_and_no_story():
    def by(client: str, name: str, clock: str) -> SkillResult:
        facts = made(PcapUpload, first=f"2026-11-20T{clock}Z", client=client)
        found = Finding(
            title=name, facts=facts, severity=Severity.HIGH, evidence=(Evidence(source=name, excerpt="", record=1),)
        )
        return result(found)

    results = [by("192.0.2.7", "a.log", "10:00:00"), by("192.0.2.8", "b.log", "09:00:00")]
    told = story(results)
    assert told.lead == told.lines == ""
    assert told.links == NOTHING_CONNECTS
    assert [fold.title for fold in told.folds] == ["2 moments"]
    assert story(results, is_one_case=True).lead.startswith("**What happened, across 2 inputs**")
