"""An event log as a whole: logons counted once, ways in, process trees, gaps, rules, tactics, the time of day."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Iterable

import pytest

from svc.assistant.findings import Finding, Gap, Progress, Severity
from svc.assistant.skills.events.findings import AccountEvents, HostEvents, ReasonCount
from svc.assistant.skills.events.tool import inspect
from svc.assistant.skills.logins.findings import AccountFailures

SYSMON = "Microsoft-Windows-Sysmon/Operational"


def event(event_id: int, second: float, *, channel: str = "Security", host: str = "DC1", **fields: object) -> dict:
    minute, rest = divmod(second, 60)
    hour, minute = divmod(int(minute), 60)
    time = f"2026-11-20T{3 + hour:02}:{minute:02}:{rest:06.3f}Z"
    return {"EventID": event_id, "Channel": channel, "Computer": host, "@timestamp": time, **fields}


def run(events: Iterable[dict], **options: str) -> list[object]:
    content = "\n".join(json.dumps(one) for one in events).encode()
    return list(inspect(io.BytesIO(content), source="host.json", **options))


def found(events: Iterable[dict], kind: str, **options: str) -> list[Finding]:
    return [item for item in run(events, **options) if isinstance(item, Finding) and item.kind == kind]


def failed(second: float, account: str = "ann", source: str = "203.0.113.9", status: str = "0xc000006a") -> dict:
    return event(4625, second, TargetUserName=account, IpAddress=source, LogonType="3", SubStatus=status)


def logon(second: float, account: str = "ann", source: str = "203.0.113.9", logon_type: str = "3") -> dict:
    return event(4624, second, TargetUserName=account, IpAddress=source, LogonType=logon_type)


def checked(second: float, account: str = "ann", status: str = "0xc000006a") -> dict:
    return event(4776, second, TargetUserName=account, Workstation="KALI", Status=status)


def process(number: int, parent: int, image: str, second: float = 0.0, **fields: object) -> dict:
    return event(
        1, second, channel=SYSMON, ProcessGuid=f"{{{number:08}}}", ParentProcessGuid=f"{{{parent:08}}}",
        ProcessId=str(number), ParentProcessId=str(parent), Image=image, CommandLine=f"{image} /x", **fields,
    )  # fmt: skip


def test_failures_are_counted_per_source_and_account():
    [source] = found([failed(n, account=f"user{n % 3}") for n in range(30)], "logon_source")
    assert source.facts.failures == 30
    assert source.facts.by_account == [AccountFailures(f"user{n}", 10) for n in range(3)]
    assert (source.facts.first, source.facts.last) == (
        "2026-11-20T03:00:00.000Z",
        "2026-11-20T03:00:29.000Z",
    )
    assert (source.facts.pattern, source.severity) == ("brute force", Severity.MEDIUM)  # nobody got in
    assert source.facts.by_reason == [ReasonCount("wrong password", 30)]


def test_one_attempt_per_account_is_password_spraying():
    [source] = found([failed(n, account=f"user{n}") for n in range(12)], "logon_source")
    assert source.facts.pattern == "password spraying"
    assert source.techniques == ("T1110.003",)


ATTEMPTS = {
    "the check first": [checked(0), failed(0.2)],
    "the check last": [failed(0), checked(0.4)],
    "Kerberos's check": [
        event(4771, 0, TargetUserName="ann", IpAddress="::ffff:203.0.113.9", Status="0x18"),
        failed(0.1),
    ],
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_an_attempt_recorded_by_two_events_counts_once(attempt: list[dict]):
    [source] = found(attempt, "logon_source")
    assert (source.facts.source, source.facts.failures) == ("203.0.113.9", 1)


def test_many_attempts_recorded_twice_count_once_each():
    attempts = [one for n in range(40) for one in (checked(n), failed(n + 0.1))]
    [source] = found(attempts, "logon_source")
    assert source.facts.failures == 40


def test_validations_without_a_matching_event_count():
    [source] = found([checked(n * 10) for n in range(6)], "logon_source")
    assert (source.facts.source, source.facts.failures) == ("kali", 6)


def test_a_success_after_a_run_of_failures_is_critical():
    [entry] = found([*(failed(n) for n in range(8)), logon(9)], "logon_success")
    assert (entry.severity, entry.facts.streak, entry.facts.account) == (Severity.CRITICAL, 8, "ann")
    assert entry.evidence[0].line == 9


def test_one_mistyped_password_is_not_a_finding():
    assert found([failed(0), logon(5)], "logon_success") == []


def test_two_spellings_of_an_account_are_one():
    events = [failed(0, "ANN"), failed(1, "ann"), {**failed(2, "Ann"), "TargetDomainName": "LAB"}]
    [account] = found(events, "logon_account")
    assert (account.facts.account, account.facts.failures) == ("ann", 3)


def test_an_account_requesting_many_weak_cipher_tickets_is_reported():
    tickets = [
        event(4769, n, TargetUserName="ann@LAB", ServiceName=f"sql{n}", TicketEncryptionType="0x17", IpAddress="::1")
        for n in range(4)
    ]
    [finding] = found(tickets, "weak_tickets")
    assert (finding.severity, len(finding.facts.services)) == (Severity.HIGH, 4)
    assert finding.techniques == ("T1558.003",)


WAYS = {
    "remote desktop": (logon(0, logon_type="10"), "remote desktop logon", "T1021.001"),
    "network": (logon(0), "network logon", "T1021.002"),
    "share": (
        event(5140, 0, SubjectUserName="ann", ShareName=r"\\*\ADMIN$", IpAddress="203.0.113.9"),
        "administrative share access",
        "T1021.002",
    ),
    "program on a share": (
        event(5145, 0, SubjectUserName="ann", ShareName=r"\\*\C$", RelativeTargetName="a.exe", IpAddress="203.0.113.9"),
        "administrative share access",
        "T1021.002",
    ),
    "PsExec's pipe": (event(18, 0, channel=SYSMON, PipeName=r"\PSEXESVC"), "named pipe of a remote", "T1569.002"),
    "WMI": (process(2, 1, "cmd.exe", ParentImage=r"C:\Windows\System32\wbem\WmiPrvSE.exe"), "via WMI", "T1047"),
    "service": (
        event(7045, 0, channel="System", ServiceName="x", ImagePath="%COMSPEC% /c a"),
        "service installed",
        "T1543.003",
    ),
}


@pytest.mark.parametrize(("one", "way", "technique"), WAYS.values(), ids=WAYS)
def test_remote_logon_methods_are_named(one: dict, way: str, technique: str):
    [finding] = found([one], "remote_access")
    assert way in finding.facts.way
    assert finding.techniques == (technique,)


def test_a_local_logon_is_not_lateral_movement():
    assert found([logon(0, source="127.0.0.1"), logon(1, source="-")], "remote_access") == []


def test_processes_are_listed_under_their_parents():
    [tree] = found(
        [
            process(2, 1, "cmd.exe", ParentImage="explorer.exe"),
            process(3, 2, "whoami.exe", 1),
            process(4, 2, "net.exe", 2),
        ],
        "process_tree",
    )
    assert [node.image for node in tree.facts.nodes] == ["explorer.exe", "cmd.exe", "whoami.exe", "net.exe"]
    assert [node.depth for node in tree.facts.nodes] == [0, 1, 2, 2]
    assert [node.record for node in tree.facts.nodes] == [None, 1, 2, 3]


def test_a_start_recorded_by_sysmon_and_security_is_one_process():
    twice = [
        process(6700, 16, r"C:\a\cmd.exe"),
        event(4688, 1, NewProcessName=r"C:\a\cmd.exe", NewProcessId="0x1a2c", ProcessId="0x10"),
    ]
    [tree] = found(twice, "process_tree")
    assert tree.facts.processes == 2  # with the parent that started before


def test_without_guids_a_parent_is_the_last_process_of_its_id_and_name():
    def start(pid: int, parent: int, image: str, parent_image: str, second: int) -> dict:
        names = {"NewProcessName": image, "ParentProcessName": parent_image}
        return event(4688, second, NewProcessId=hex(pid), ProcessId=hex(parent), **names)

    events = [
        start(20, 4, "a.exe", "s.exe", 0),
        start(20, 4, "b.exe", "s.exe", 50),
        start(30, 20, "c.exe", "b.exe", 60),
    ]
    [tree] = found(events, "process_tree")
    assert {node.image: node.depth for node in tree.facts.nodes} == {"s.exe": 0, "a.exe": 1, "b.exe": 1, "c.exe": 2}


def test_processes_without_ids_share_no_parent():
    starts = [
        event(4688, second, NewProcessName=rf"C:\a\{name}.exe") for second, name in enumerate(["one", "two", "three"])
    ]
    trees = found(starts, "process_tree")
    assert [[node.depth for node in tree.facts.nodes] for tree in trees] == [[0]] * len(trees)


def test_a_chain_of_thousands_of_processes_is_read():
    chain = [process(n + 1, n, "cmd.exe", n / 100) for n in range(1, 5_000)]
    assert found(chain, "process_tree")


def test_a_process_that_is_its_own_parent_is_read():
    assert run([process(2, 2, "cmd.exe"), process(3, 2, "cmd.exe"), process(2, 3, "cmd.exe")])


def test_a_cleared_log_is_a_gap_that_names_the_account():
    events = [*(event(4634, n) for n in range(5)), event(1102, 9, SubjectUserName="bob", SubjectDomainName="LAB")]
    [gap] = found(events, "log_gap")
    assert (gap.severity, gap.facts.account) == (Severity.HIGH, r"LAB\bob")
    [tactics] = found(events, "event_tactics")
    assert tactics.facts.named == ["defense-impairment"]


def test_a_clearing_at_the_start_of_a_log_is_less_severe():
    events = [event(1102, 0, SubjectUserName="bob"), *(failed(n) for n in range(1, 30))]
    [tactics] = found(events, "event_tactics")
    assert tactics.facts.named[0] == "credential-access"
    assert "defense-impairment" not in tactics.facts.named


def test_a_long_silence_in_a_busy_log_is_reported():
    events = [event(4634, n) for n in range(300)] + [event(4634, 300 + 7_200 + n) for n in range(300)]
    [gap] = found(events, "log_gap")
    assert (gap.facts.gap, gap.facts.seconds) == ("silence", 7_201)


def test_what_happens_once_among_hundreds_is_rare():
    usual = [process(n, 1, r"C:\Windows\System32\svchost.exe", n) for n in range(2, 200)]
    rare = found([*usual, process(999, 1, r"C:\Temp\odd.exe", 300)], "rare")
    assert {finding.facts.value for finding in rare} >= {"odd.exe", r"c:\temp"}


def test_only_the_requested_time_of_day_is_counted():
    events = [failed(0), failed(3_600), failed(7_200)]
    items = run(events, after="04:00:00", before="04:30:00")
    [source] = [item for item in items if isinstance(item, Finding) and item.kind == "logon_source"]
    assert source.facts.failures == 1
    assert any("2 events outside" in item.text for item in items if isinstance(item, Gap))


def test_the_summary_counts_and_names_events():
    [summary] = found([logon(0), logon(1), failed(2)], "events_summary")
    facts = summary.facts
    assert (facts.events, facts.by_host, facts.by_account) == (3, [HostEvents("DC1", 3)], [AccountEvents("ann", 3)])
    assert [(kind.id, kind.meaning, kind.count) for kind in facts.by_kind] == [
        (4624, "logon", 2),
        (4625, "failed logon", 1),
    ]


def test_the_timeline_is_chronological():
    events = [*(failed(n) for n in range(8)), logon(9), event(1102, 20, SubjectUserName="bob")]
    [timeline] = found(events, "timeline")
    times = [moment.time for moment in timeline.facts.moments]
    assert times == sorted(times)
    assert len(times) >= 2


def test_progress_comes_first_and_with_figures():
    progress = [item.text for item in run(logon(n) for n in range(250)) if isinstance(item, Progress)]
    assert progress[0] == "reading host.json"
    assert progress[1].startswith("read 200 events")
    assert progress[-1].startswith("read 250 events")


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", b"\x00\x01\x02" * 100, b"[]", b"{}"])
def test_a_file_that_is_not_an_event_log_is_a_gap(content: bytes):
    items = list(inspect(io.BytesIO(content), source="x"))
    assert not any(isinstance(item, Finding) for item in items)
    assert any(isinstance(item, Gap) for item in items)


ODD = [
    {"TargetUserName": "", "IpAddress": "", "LogonType": ""},
    {"TargetUserName": "\x00|`<b>", "IpAddress": "[x](http://evil.test)", "LogonType": "99", "Status": "zz"},
    {"ProcessId": "0xzz", "NewProcessId": "0xfffffffffffffffffffff", "ParentProcessName": "\\\\\\"},
    {"ShareName": "\\", "RelativeTargetName": "\\", "ServiceName": None},
    {"@timestamp": "9999-99-99T99:99:99Z"},
]


@pytest.mark.parametrize("fields", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("event_id", [1, 3, 18, 1102, 4624, 4625, 4648, 4688, 4769, 4771, 4776, 5140, 5145, 7045])
def test_unusual_values_raise_no_exception(event_id: int, fields: dict):
    assert run([event(event_id, 0, channel=channel) | fields for channel in ("Security", "System", SYSMON)] * 3)


class WindowsAttack:
    """Failed logons with known truth, as the host, one or two domain controllers or all of them log each attempt."""

    def __init__(self, seed: int) -> None:
        rand = random.Random(seed)
        self.events: list[dict] = []
        self.truth: Counter[str] = Counter()
        sources = [(f"203.0.113.{n + 5}", f"WS{n}") for n in range(rand.randrange(2, 9))]
        second = 0.0
        for number in range(120):
            second += rand.uniform(4, 20)
            address, name = rand.choice(sources)
            account = rand.choice(["ann", "ben", "svc-sql"])
            shape = rand.choice(["host", "host and controller", "controller", "two controllers"])
            if number < len(sources):  # the host's own event names both the workstation and its address
                (address, name), shape = sources[number], "host"
            check = checked(second, account) | {"Workstation": name}
            own = failed(second + 0.3, account, address) | {"WorkstationName": name, "Computer": "SRV1"}
            self.events += {
                "host": [own], "host and controller": [check, own], "controller": [check],
                "two controllers": [check, check | {"Computer": "PDC"}],
            }[shape]  # fmt: skip
            self.truth[address] += 1


@pytest.mark.parametrize("seed", range(30))
def test_attempts_count_once_for_their_address_whichever_hosts_log_them(seed: int):
    attack = WindowsAttack(seed)
    assert {f.facts.source: f.facts.failures for f in found(attack.events, "logon_source")} == attack.truth
    tried = found(attack.events, "logon_account")
    assert sum(row.failures for one in tried for row in one.facts.by_source) == attack.truth.total()


def test_a_workstation_name_used_by_two_addresses_is_a_source_of_its_own():
    events = [
        failed(0, source="203.0.113.5") | {"WorkstationName": "KALI"},
        failed(10, source="203.0.113.6") | {"WorkstationName": "KALI"},
        checked(20),
    ]
    sources = {one.facts.source: one.facts.failures for one in found(events, "logon_source")}
    assert sources == {"203.0.113.5": 1, "203.0.113.6": 1, "kali": 1}


def test_every_accepted_logon_is_a_finding_with_the_failures_before_it():
    events = [failed(0), *(logon(n + 1, account=f"user{n}") for n in range(1_500))]
    logons = found(events, "logon")
    assert sum(one.facts.count for one in logons) == 1_500
    assert {one.facts.failures_before for one in logons} == {1}


def test_the_usual_source_of_an_account_is_not_compromised_by_mistyping():
    events = [*(logon(n) for n in range(5)), *(failed(n + 10) for n in range(6)), logon(20)]
    [entry] = found(events, "logon_success")
    assert entry.severity is Severity.MEDIUM
