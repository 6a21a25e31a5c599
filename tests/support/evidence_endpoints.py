"""Generators of login and process logs; they register in ``evidence_base.KINDS``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.evidence_base import ATTACKER, at, iso, kind, lines, logins, plain, table

LOGIN = ("logon_success", ("mara", ATTACKER))


@kind("table of logins", "df.csv", *LOGIN)
def _dataframe() -> bytes:
    rows = ((plain(s), src, user, "success" if ok else "failure") for s, user, src, ok in logins())
    return table(["time", "src", "user", "result"], rows)


@kind("JSON lines of logins", "logins.jsonl", *LOGIN, held=True)
def _jsonl() -> bytes:
    return lines(
        {"timestamp": iso(s), "source_ip": src, "username": user, "outcome": "SUCCEEDED" if ok else "FAILED"}
        for s, user, src, ok in logins()
    )


@kind("spreadsheet of logins", "vpn.csv", *LOGIN, held=True)
def _spreadsheet() -> bytes:
    rows = (
        (at(s).strftime("%m/%d/%Y %I:%M:%S %p"), f"CORP\\{user}", src, "vpn-1", "TRUE" if ok else "FALSE")
        for s, user, src, ok in logins()
    )
    return table(["Date", "User Name", "Client IP", "Gateway", "Success"], rows, ";")


@kind("Okta System Log", "okta.json", *LOGIN)
def _okta() -> bytes:
    return json.dumps(
        [
            {
                "uuid": f"u{n}", "published": iso(s), "eventType": "user.session.start", "version": "0",
                "severity": "INFO" if ok else "WARN", "displayMessage": "User login to Okta",
                "actor": {"id": f"00u{n}", "type": "User", "alternateId": f"{user}@corp.example", "displayName": user},
                "client": {"ipAddress": src, "userAgent": {"rawUserAgent": "Mozilla/5.0"},
                           "geographicalContext": {"country": "Germany"}},
                "outcome": {"result": "SUCCESS" if ok else "FAILURE", "reason": None if ok else "INVALID_CREDENTIALS"},
                "authenticationContext": {"externalSessionId": "x"}, "target": [],
            }
            for n, (s, user, src, ok) in enumerate(logins())
        ],
        indent=1,
    ).encode()  # fmt: skip


@kind("Entra sign-ins from the portal", "InteractiveSignIns.csv", *LOGIN, held=True)
def _entra_portal() -> bytes:
    header = ["Date (UTC)", "Request ID", "Correlation ID", "User ID", "User", "Username", "User type", "Application",
              "IP address", "Location", "Status", "Sign-in error code", "Failure reason", "Client app"]  # fmt: skip
    rows = (
        (iso(s), f"r{n}", f"c{n}", f"id-{user}", user.title(), f"{user}@corp.example", "Member", "Office 365", src,
         "Berlin, DE", "Success" if ok else "Failure", "" if ok else "50126",
         "Other." if ok else "Invalid username or password", "Browser")
        for n, (s, user, src, ok) in enumerate(logins())
    )  # fmt: skip
    return table(header, rows)


@kind("Entra sign-ins from Graph", "signins.json", *LOGIN)
def _entra_graph() -> bytes:
    return json.dumps(
        {
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#auditLogs/signIns",
            "value": [
                {"id": f"s{n}", "createdDateTime": iso(s), "userDisplayName": user, "appDisplayName": "Azure Portal",
                 "userPrincipalName": f"{user}@corp.example", "ipAddress": src, "clientAppUsed": "Browser",
                 "status": {"errorCode": 0 if ok else 50126, "failureReason": "Other." if ok else "Invalid password"},
                 "location": {"city": "Berlin", "countryOrRegion": "DE"}}
                for n, (s, user, src, ok) in enumerate(logins())
            ],
        }
    ).encode()  # fmt: skip


@kind("SigninLogs of Log Analytics", "query_data.csv", *LOGIN, held=True)
def _signin_logs() -> bytes:
    header = ["TimeGenerated [UTC]", "OperationName", "ResultType", "ResultDescription", "Identity", "IPAddress",
              "UserPrincipalName", "AppDisplayName"]  # fmt: skip
    rows = (
        (at(s).strftime("%m/%d/%Y, %I:%M:%S.000 %p"), "Sign-in activity", 0 if ok else 50126,
         "" if ok else "Invalid username or password.", user.title(), src, f"{user}@corp.example", "Office 365")
        for s, user, src, ok in logins()
    )  # fmt: skip
    return table(header, rows)


@kind("Microsoft 365 unified audit log", "AuditLog.csv", *LOGIN)
def _unified_audit() -> bytes:
    rows = (
        (iso(s), f"{user}@corp.example", "UserLoggedIn" if ok else "UserLoginFailed",
         json.dumps({"CreationTime": iso(s)[:19], "Id": f"{n}", "Operation": "UserLoggedIn" if ok else
                     "UserLoginFailed", "Workload": "AzureActiveDirectory", "ClientIP": src, "UserId":
                     f"{user}@corp.example", "ResultStatus": "Success" if ok else "Failed", "RecordType": 15}))
        for n, (s, user, src, ok) in enumerate(logins())
    )  # fmt: skip
    return table(["CreationDate", "UserIds", "Operations", "AuditData"], rows)


@kind("Google Workspace login audit", "login.json", *LOGIN, held=True)
def _workspace() -> bytes:
    return json.dumps(
        {
            "kind": "admin#reports#activities",
            "items": [
                {"kind": "admin#reports#activity", "id": {"time": iso(s), "uniqueQualifier": f"{n}",
                 "applicationName": "login"}, "actor": {"email": f"{user}@corp.example", "profileId": "1"},
                 "ipAddress": src, "events": [{"type": "login", "name": "login_success" if ok else "login_failure",
                 "parameters": [{"name": "login_type", "value": "google_password"}]}]}
                for n, (s, user, src, ok) in enumerate(logins())
            ],
        }
    ).encode()  # fmt: skip


def _sshd(user: str, src: str, *, ok: bool) -> str:
    return f"{'Accepted' if ok else 'Failed'} password for {user} from {src} port 50123 ssh2"


@kind("Splunk export as JSON", "splunk.json", *LOGIN)
def _splunk() -> bytes:
    return lines(
        {"preview": False, "offset": n, "result": {"_time": iso(s), "host": "web-3", "source": "/var/log/auth.log",
         "sourcetype": "linux_secure", "_raw": f"{at(s):%b %e %H:%M:%S} web-3 sshd[{900 + n}]: "
         f"{_sshd(user, src, ok=ok)}"}}
        for n, (s, user, src, ok) in enumerate(logins())
    )  # fmt: skip


@kind("SIEM export with raw lines", "siem.csv", *LOGIN, held=True)
def _siem() -> bytes:
    rows = (
        (iso(s), "web-3", "auth", f"{at(s):%b %e %H:%M:%S} web-3 sshd[{900 + n}]: {_sshd(user, src, ok=ok)}")
        for n, (s, user, src, ok) in enumerate(logins())
    )
    return table(["@timestamp", "host.name", "log.source", "message"], rows)


@kind("log table with program and message", "journal.csv", *LOGIN, held=True)
def _program_and_message() -> bytes:
    rows = (
        (iso(s), "web-3", "sshd", 900 + n, _sshd(user, src, ok=ok)) for n, (s, user, src, ok) in enumerate(logins())
    )
    return table(["timestamp", "hostname", "program", "pid", "message"], rows)


@kind("Duo authentication log", "duo.json", *LOGIN)
def _duo() -> bytes:
    return json.dumps(
        {"authlogs": [
            {"txid": f"t{n}", "timestamp": int(at(s).timestamp()), "isotimestamp": iso(s), "event_type":
             "authentication", "user": {"key": "k", "name": user}, "access_device": {"ip": src, "hostname": None},
             "result": "success" if ok else "denied", "reason": "user_approved" if ok else "user_mistake",
             "factor": "duo_push", "application": {"name": "VPN"}}
            for n, (s, user, src, ok) in enumerate(logins())
        ]}
    ).encode()  # fmt: skip


@kind("Elastic ECS authentication", "ecs-auth.ndjson", *LOGIN, held=True)
def _ecs_login() -> bytes:
    return lines(
        {"@timestamp": iso(s), "event": {"category": ["authentication"], "action": "user_login", "type": ["start"],
         "outcome": "success" if ok else "failure", "dataset": "app.auth"}, "source": {"ip": src},
         "user": {"name": user}, "host": {"name": "web-3"}, "ecs": {"version": "8.11.0"}}
        for s, user, src, ok in logins()
    )  # fmt: skip


@kind("Defender DeviceLogonEvents", "DeviceLogonEvents.csv", *LOGIN, held=True)
def _device_logons() -> bytes:
    header = ["Timestamp", "DeviceId", "DeviceName", "ActionType", "LogonType", "AccountDomain", "AccountName",
              "RemoteIP", "RemoteDeviceName", "FailureReason"]  # fmt: skip
    rows = (
        (iso(s), "d1", "srv-1", "LogonSuccess" if ok else "LogonFailed", "RemoteInteractive", "corp", user, src, "",
         "" if ok else "InvalidUserNameOrPassword")
        for s, user, src, ok in logins()
    )  # fmt: skip
    return table(header, rows)


Process = tuple[float, str, str, str, str, str]
COMMANDS = (
    (r"C:\Windows\explorer.exe", r"C:\Windows\System32\notepad.exe", "notepad.exe C:\\notes.txt"),
    (r"C:\Windows\System32\services.exe", r"C:\Windows\System32\svchost.exe", "svchost.exe -k netsvcs -p"),
    (r"C:\Windows\System32\cmd.exe", r"C:\Windows\System32\vssadmin.exe", "vssadmin.exe delete shadows /all /quiet"),
    (r"C:\Windows\System32\cmd.exe", r"C:\Windows\System32\rundll32.exe",
     r"rundll32.exe C:\windows\System32\comsvcs.dll, MiniDump 624 C:\temp\l.dmp full"),
)  # fmt: skip
PROCESS = ("rule_hit", ("vssadmin",))


def processes() -> Iterator[tuple[float, str, str, str]]:
    """Second, parent, program, command line: ordinary ones, deleted shadow copies, a dump of LSASS."""
    for number in range(20):
        yield (number * 30, *COMMANDS[number % 2])
    yield (700, *COMMANDS[2])
    yield (760, *COMMANDS[3])


@kind("Defender DeviceProcessEvents", "AdvancedHunting.csv", *PROCESS)
def _device_processes() -> bytes:
    header = ["Timestamp", "DeviceName", "ActionType", "FileName", "FolderPath", "ProcessCommandLine", "AccountName",
              "ProcessId", "InitiatingProcessFileName", "InitiatingProcessFolderPath",
              "InitiatingProcessCommandLine", "InitiatingProcessId", "SHA256"]  # fmt: skip
    rows = (
        (iso(s), "ws-17.corp.example", "ProcessCreated", image.rpartition("\\")[2], image, command, "bob", 4_000 + n,
         parent.rpartition("\\")[2], parent, "", 3_000, "a" * 64)
        for n, (s, parent, image, command) in enumerate(processes())
    )  # fmt: skip
    return table(header, rows)


@kind("CrowdStrike Falcon Data Replicator", "fdr.jsonl", *PROCESS, held=True)
def _fdr() -> bytes:
    return lines(
        {"event_simpleName": "ProcessRollup2", "aid": "f" * 32, "cid": "c" * 32, "ComputerName": "WS-17",
         "timestamp": str(int(at(s).timestamp() * 1000)), "TargetProcessId": str(7_000 + n), "event_platform": "Win",
         "ImageFileName": image.replace("C:", r"\Device\HarddiskVolume3"), "CommandLine": command,
         "ParentBaseFileName": parent.rpartition("\\")[2], "UserName": "bob", "SHA256HashData": "a" * 64}
        for n, (s, parent, image, command) in enumerate(processes())
    )  # fmt: skip


@kind("CrowdStrike detections", "detections.json", "product_alert", ("Credential dumping",))
def _falcon_detections() -> bytes:
    return json.dumps(
        {"resources": [
            {"detection_id": f"ldt:{n}", "created_timestamp": iso(n * 60), "max_severity_displayname": severity,
             "device": {"hostname": "WS-17", "device_id": "d", "platform_name": "Windows"}, "status": "new",
             "behaviors": [{"timestamp": iso(n * 60), "filename": "rundll32.exe", "cmdline": COMMANDS[3][2],
              "display_name": name, "tactic": "Credential Access", "technique": "OS Credential Dumping",
              "technique_id": "T1003", "severity": 70, "user_name": "bob"}]}
            for n, (name, severity) in enumerate([("Credential dumping", "High"), ("Suspicious script", "Medium")])
        ]}
    ).encode()  # fmt: skip


@kind("Sysmon events as a table", "sysmon.csv", *PROCESS, held=True)
def _sysmon_table() -> bytes:
    header = ["UtcTime", "Computer", "ProcessGuid", "ProcessId", "Image", "CommandLine", "ParentImage", "User"]
    rows = (
        (at(s).strftime("%Y-%m-%d %H:%M:%S.000"), "WS-17", f"{{{n}}}", 4_000 + n, image, command, parent, r"CORP\bob")
        for n, (s, parent, image, command) in enumerate(processes())
    )
    return table(header, rows)


@kind("osquery results", "osqueryd.results.log", *PROCESS)
def _osquery() -> bytes:
    return lines(
        {"name": "pack_process_events", "hostIdentifier": "ws-17", "calendarTime": "x", "unixTime":
         int(at(s).timestamp()), "action": "added", "columns": {"path": image, "cmdline": command, "pid":
         str(4_000 + n), "parent": "3000", "uid": "1000", "time": str(int(at(s).timestamp()))}}
        for n, (s, _, image, command) in enumerate(processes())
    )  # fmt: skip


@kind("Velociraptor process list", "Windows.System.Pslist.json", *PROCESS, held=True)
def _velociraptor() -> bytes:
    return lines(
        {"Pid": 4_000 + n, "Ppid": 3_000, "TokenIsElevated": True, "Name": image.rpartition("\\")[2],
         "CommandLine": command, "Exe": image, "Username": r"CORP\bob", "CreateTime": iso(s),
         "Hash": {"MD5": "a" * 32}}
        for n, (s, _, image, command) in enumerate(processes())
    )  # fmt: skip


@kind("EvtxECmd export", "EvtxECmd_Output.csv", *PROCESS)
def _evtxecmd() -> bytes:
    header = ["RecordNumber", "EventRecordId", "TimeCreated", "EventId", "Level", "Provider", "Channel", "ProcessId",
              "ThreadId", "Computer", "UserName", "MapDescription", "PayloadData1", "Payload"]  # fmt: skip
    rows = (
        (n, n, plain(s), 1, "Info", "Microsoft-Windows-Sysmon", "Microsoft-Windows-Sysmon/Operational", 1, 2, "WS-17",
         "", "Process creation", "", json.dumps({"EventData": {"Data": [
             {"@Name": "Image", "#text": image}, {"@Name": "CommandLine", "#text": command},
             {"@Name": "ParentImage", "#text": parent}]}}))
        for n, (s, parent, image, command) in enumerate(processes())
    )  # fmt: skip
    return table(header, rows)


@kind("Hayabusa timeline", "hayabusa.csv", "product_alert", ("LSASS",))
def _hayabusa() -> bytes:
    header = ["Timestamp", "RuleTitle", "Level", "Computer", "Channel", "EventID", "RecordID", "Details"]
    rows = [
        (plain(n * 9) + ".000 +00:00", "Logon (Network)", "info", "DC1", "Sec", 4624, n, "TgtUser: ann")
        for n in range(20)
    ]
    rows.append((plain(300) + ".000 +00:00", "LSASS Memory Dump", "crit", "DC1", "Sysmon", 10, 99, "SrcProc: x.exe"))
    return table(header, rows)


@kind("Chainsaw report", "sigma.csv", "product_alert", ("Shadow Copies",), held=True)
def _chainsaw() -> bytes:
    header = ["timestamp", "detections", "path", "count", "Event.System.Provider", "Event ID", "Record ID", "Computer",
              "Event Data", "level"]  # fmt: skip
    rows = [
        (iso(n * 60), name, "C:\\logs\\s.evtx", 1, "Sysmon", 1, n, "WS-17", "CommandLine: x", level)
        for n, (name, level) in enumerate([("Shadow Copies Deletion", "high"), ("Whoami Execution", "medium")])
    ]
    return table(header, rows)


@kind("PECmd prefetch export", "PECmd_Output.csv", "process_tree", ("MIMIKATZ",))
def _pecmd() -> bytes:
    header = ["Note", "SourceFilename", "SourceCreated", "SourceModified", "ExecutableName", "Hash", "Size", "Version",
              "RunCount", "LastRun", "PreviousRun0", "Volume0Name", "Directories", "FilesLoaded"]  # fmt: skip
    rows = [
        ("", f"C:\\Windows\\Prefetch\\{name}-1A2B3C4D.pf", plain(n), plain(n), name, "1A2B3C4D", 5_000, "Windows 10",
         3, plain(n * 60), "", "C:", "\\VOLUME{1}\\TEMP", f"\\VOLUME{{1}}\\TEMP\\{name}")
        for n, name in enumerate(["NOTEPAD.EXE", "MIMIKATZ.EXE", "CHROME.EXE"])
    ]  # fmt: skip
    return table(header, rows)


@kind("MFTECmd file table", "MFTECmd_Output.csv", held=True)
def _mftecmd() -> bytes:
    header = ["EntryNumber", "SequenceNumber", "InUse", "ParentEntryNumber", "ParentPath", "FileName", "Extension",
              "FileSize", "IsDirectory", "Created0x10", "Created0x30", "LastModified0x10"]  # fmt: skip
    rows = [
        (40 + n, 1, True, 5, ".\\Windows\\Temp", name, name[-4:], 900, False, plain(n), "", plain(n))
        for n, name in enumerate(["a.log", "mimikatz.exe", "lsass.dmp"])
    ]
    return table(header, rows)


@kind("Amcache export", "Amcache_UnassociatedFileEntries.csv", held=True)
def _amcache() -> bytes:
    header = ["ApplicationName", "ProgramId", "FileKeyLastWriteTimestamp", "SHA1", "IsOsComponent", "FullPath", "Name",
              "FileExtension", "LinkDate", "ProductName", "Size"]  # fmt: skip
    rows = [
        ("Unassociated", "0006", plain(n * 60), "b" * 40, False, f"c:\\temp\\{name}", name, ".exe", plain(0), "", 9)
        for n, name in enumerate(["tool.exe", "mimikatz.exe"])
    ]
    return table(header, rows)


@kind("Elastic ECS processes", "ecs-process.ndjson", *PROCESS)
def _ecs_process() -> bytes:
    return lines(
        {"@timestamp": iso(s), "event": {"category": ["process"], "type": ["start"], "action": "start"},
         "host": {"name": "ws-17", "os": {"type": "windows"}}, "user": {"name": "bob", "domain": "CORP"},
         "process": {"executable": image, "command_line": command, "pid": 4_000 + n,
                     "parent": {"executable": parent, "pid": 3_000}}, "ecs": {"version": "8.11.0"}}
        for n, (s, parent, image, command) in enumerate(processes())
    )  # fmt: skip


@kind("table of commands", "history.csv", *PROCESS, held=True)
def _commands() -> bytes:
    rows = ((plain(s), "ws-17", "bob", command) for s, _, _, command in processes())
    return table(["ts", "hostname", "username", "cmdline"], rows)


@kind("SentinelOne deep visibility", "deepvis.csv", *PROCESS, held=True)
def _sentinelone() -> bytes:
    header = ["event.time", "endpoint.name", "event.type", "src.process.image.path", "tgt.process.image.path",
              "tgt.process.cmdline", "src.process.user"]  # fmt: skip
    rows = (
        (iso(s), "WS-17", "Process Creation", parent, image, command, "CORP\\bob")
        for s, parent, image, command in processes()
    )
    return table(header, rows)
