"""A rule that covers several techniques or an ordinary and a severe form: the event decides what a hit says."""

from __future__ import annotations

import pytest

from svc.assistant.log_readers.windows import Header, windows_event
from svc.assistant.sigma.compile import Rejected, compile_text
from svc.assistant.sigma.derived import derived
from svc.assistant.sigma.engine import Rule, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.events.matches.rule_hits import RuleHits

RULE = r"""
title: Remote pipe
id: 0a3c7a52-0c9e-4f0c-8f6a-5f3d1c0b7a11
status: test
tags: [attack.lateral-movement, attack.t1569.002, attack.t1053.005, attack.t1021.002]
logsource: {product: windows, service: security}
detection:
  selection: {EventID: 5145}
  service: {RelativeTargetName: svcctl}
  task: {RelativeTargetName: atsvc}
  condition: selection
decides:
  - {when: service, techniques: [T1569.002]}
  - {when: task, techniques: [t1053.005], level: high}
level: medium
"""


def rule(text: str = RULE) -> Rule:
    [compiled] = compile_text(text, file="a.yml")
    assert isinstance(compiled, Rule), compiled
    return compiled


def pipe(name: str) -> Event:
    return windows_event(Header(number=1, event_id=5145, channel="Security", host="DC1.lab.example"),
                         {"RelativeTargetName": name})  # fmt: skip


@pytest.mark.parametrize(
    ("name", "techniques", "level"),
    [
        ("svcctl", ("T1569.002",), "medium"),
        ("atsvc", ("T1053.005",), "high"),
        ("spoolss", ("T1021.002",), "medium"),
    ],
)
def test_the_first_condition_that_holds_decides(name: str, techniques: tuple[str, ...], level: str):
    [hit] = RuleEngine([rule()]).feed([pipe(name)])

    assert (hit.rule.techniques, hit.rule.level) == (techniques, level)


def test_a_finding_has_the_techniques_of_its_events_most_frequent_first_and_the_worst_severity():
    hits = RuleHits()
    for hit in RuleEngine([rule()]).feed([pipe("svcctl"), pipe("atsvc"), pipe("svcctl")]):
        hits.add(hit)

    [finding] = hits.findings(Place("a.evtx", has_records=True))

    assert finding.techniques == ("T1569.002", "T1053.005")
    assert finding.severity == "high"
    assert finding.facts.count == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("techniques: [T1569.002]", "techniques: [T1110]"), "not among the rule's tags"),
        (("when: service", "when: nowhere"), "nowhere"),
        (("level: high}", "level: huge}"), "is a list of `when`"),
        (("level: high}", "severity: high}"), "is a list of `when`"),
        (("when: service, ", ""), "is a list of `when`"),
    ],
)
def test_a_wrong_decision_is_rejected_with_the_reason(change: tuple[str, str], reason: str):
    [rejected] = compile_text(RULE.replace(*change), file="a.yml")

    assert isinstance(rejected, Rejected)
    assert reason in rejected.reason


def test_the_host_account_is_the_computer_account_of_the_host_that_logged():
    assert derived(pipe("svcctl"), "derived.host_account") == "DC1$"
    assert derived(windows_event(Header(number=1, event_id=1), {}), "derived.host_account") is None
