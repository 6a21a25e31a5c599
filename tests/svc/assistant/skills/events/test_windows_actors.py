"""Who did it decides how severe it is: people at the console, setup, services with an old password, attackers."""

from __future__ import annotations

from io import BytesIO

import pytest

from svc.assistant.analyst.questions.event_answers import event_answer
from svc.assistant.findings import AnyFinding, Finding, Severity
from svc.assistant.skills.events import answer, tool
from svc.assistant.skills.events.answer import are_independent
from svc.assistant.skills.events.findings import RuleHit, TacticIndicator
from tests.support.evtx_writer import Record, evtx

CONSOLE = {
    "TargetUserName": "mara", "LogonType": "2", "LogonProcessName": "User32", "IpAddress": "127.0.0.1",
    "WorkstationName": "OLDNAME", "ProcessName": r"C:\Windows\System32\svchost.exe", "SubStatus": "0xc000006a",
}  # fmt: skip


def found(*events: tuple[int, dict[str, str]], channel: str = "Security", seconds: int = 3) -> list[AnyFinding]:
    records = [
        Record(number=100 + at, event_id=event_id, data=data, channel=channel, computer="PC01.example.test",
               time=f"2026-03-02T08:{at * seconds // 60:02}:{at * seconds % 60:02}+00:00")
        for at, (event_id, data) in enumerate(events)
    ]  # fmt: skip
    content = BytesIO(evtx(records))
    return [one for one in tool.inspect(content, source="a.evtx") if isinstance(one, Finding)]


def worst(findings: list[AnyFinding]) -> Severity:
    return min((one.severity for one in findings), key=list(Severity).index)


@pytest.mark.parametrize("failures", [3, 7, 15])
@pytest.mark.parametrize("logon_type", ["2", "7", "11"])
def test_mistyped_passwords_at_the_console_are_no_attack(failures: int, logon_type: str):
    typed = CONSOLE | {"LogonType": logon_type}
    findings = found(*[(4625, typed)] * failures, (4624, typed))

    assert worst(findings) in (Severity.MEDIUM, Severity.LOW, Severity.INFO)
    assert "Compromised" not in answer.verdict(findings)


def test_a_program_that_tries_passwords_locally_is_an_attack():
    tried = CONSOLE | {"ProcessName": r"C:\Users\eve\guess.exe"}
    findings = found(*[(4625, tried)] * 9, (4624, tried))

    assert "Compromised account" in answer.verdict(findings)


def test_many_accounts_at_the_console_are_an_attack():
    names = ["ann", "bob", "cid", "dan", "eve", "fay"]
    findings = found(*[(4625, CONSOLE | {"TargetUserName": name}) for name in names])

    assert {one.facts.pattern for one in findings if one.kind == "logon_source"} == {"password spraying"}


@pytest.mark.parametrize(("failures", "is_compromised"), [(8, False), (15, False), (25, True)])
def test_a_service_with_an_old_password_is_asked_about_until_it_fails_often(failures: int, is_compromised: bool):
    checked = {"TargetUserName": "svc_backup", "IpAddress": "::ffff:192.0.2.80"}
    findings = found(
        *[(4771, checked | {"Status": "0x18"})] * failures,
        (4768, checked | {"Status": "0x0", "TicketEncryptionType": "0x12", "PreAuthType": "2"}),
        seconds=10,
    )

    assert ("Compromised" in answer.verdict(findings)) is is_compromised
    assert worst(findings) is (Severity.CRITICAL if is_compromised else Severity.MEDIUM)


CHANGES = [
    (4720, {"TargetUserName": "x"}),
    (4732, {"TargetUserName": "Administrators", "TargetSid": "S-1-5-32-544", "MemberSid": "S-1-5-21-1-2-3-1001"}),
    (4719, {"AuditPolicyChanges": "%%8448"}),
    (1102, {}),
]


@pytest.mark.parametrize(("event_id", "data"), CHANGES, ids=[str(event_id) for event_id, _ in CHANGES])
def test_what_setup_does_as_system_is_low_and_what_a_user_does_is_not(event_id: int, data: dict[str, str]):
    by_setup = found((event_id, data | {"SubjectUserSid": "S-1-5-18", "SubjectUserName": "PC01$"}))
    by_user = found((event_id, data | {"SubjectUserSid": "S-1-5-21-1-2-3-1000", "SubjectUserName": "eve"}))

    assert worst(by_setup) in (Severity.LOW, Severity.INFO)
    assert worst(by_user) in (Severity.HIGH, Severity.MEDIUM)


@pytest.mark.parametrize(("target", "severity"), [("PC01$", Severity.CRITICAL), ("PC02$", Severity.LOW)])
def test_zerologon_is_the_account_of_the_host_that_logs(target: str, severity: Severity):
    data = {"SubjectUserName": "ANONYMOUS LOGON", "TargetUserName": target, "SamAccountName": "-"}

    assert worst(found((4742, data))) is severity


NEW_CREDENTIALS = (4624, {"LogonType": "9", "LogonProcessName": "seclogo", "TargetUserName": "ann", "IpAddress": "::1"})


def test_pass_the_hash_is_not_claimed_from_one_event():
    findings = found(NEW_CREDENTIALS)

    assert worst(findings) is Severity.MEDIUM
    assert answer.verdict(findings).startswith("**Signs of Lateral Movement")


def indicator(what: str, number: int, severity: Severity) -> TacticIndicator:
    return TacticIndicator("execution", ["T1059"], what, 1, "", severity, number, "")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([("a", 1, "high"), ("b", 2, "medium")], True),
        ([("a", 1, "high"), ("b", 1, "high")], False),  # two rules, one event
        ([("a", 1, "high"), ("a", 2, "high")], False),  # one rule, two tactics
        ([("a", 1, "high"), ("b", 2, "low")], False),
        ([("a", 1, "medium"), ("b", 2, "medium")], False),  # administrators do both
        ([("a", 1, "medium"), ("b", 1, "medium"), ("c", 2, "critical")], True),
    ],
)
def test_likely_needs_two_independent_facts(facts: list[tuple[str, int, str]], expected: bool):
    assert are_independent([indicator(what, number, Severity(level)) for what, number, level in facts]) is expected


SID = "S-1-5-21-1111111111-2222222222-3333333333-1105"
NEW = {"SubjectUserName": "ann", "TargetUserName": "temp7", "TargetSid": SID}
MEMBER = {"SubjectUserName": "bob", "TargetUserName": "Administrators", "MemberName": "-", "MemberSid": SID}


def hits(findings: list[AnyFinding]) -> dict[str, RuleHit]:
    return {one.title: one.facts for one in findings if isinstance(one.facts, RuleHit)}


@pytest.mark.parametrize("order", [1, -1])
def test_a_rule_says_who_acted_and_on_which_account_whose_name_may_stand_in_another_event(order: int):
    by_rule = hits(found(*[(4720, NEW), (4732, MEMBER)][::order]))

    created, added = by_rule["User account created (event 4720)"], by_rule["Member added to a privileged group"]
    assert (created.accounts, created.targets) == (["ann"], ["temp7"])
    assert (added.accounts, added.targets) == (["bob"], ["temp7", "Administrators"])


def test_a_member_whose_name_no_event_states_stays_an_identifier():
    (added,) = (facts for title, facts in hits(found((4732, MEMBER))).items() if title.startswith("Member added"))
    assert added.targets == [SID, "Administrators"]


@pytest.mark.parametrize(
    "question",
    ["Which accounts were created?", "Who created the account?", "Which accounts were created, and by whom?"],
)
def test_the_answer_names_the_new_account_and_its_maker(question: str):
    told = event_answer(question, found((4720, NEW)), lambda subject: "")
    assert told is not None
    assert "by `ann` on `temp7`" in told[0]
