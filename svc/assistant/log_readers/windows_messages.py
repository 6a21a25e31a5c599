"""Read the fields of a Windows event from its message, as the Event Viewer shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINES = 500  # of one message; Windows' own have up to 100
_LINE = re.compile(r"^(\s*)([A-Z][A-Za-z0-9 /()-]{1,60}):\s*(.*)$")
_SIDES = {
    "subject": "Subject", "creator subject": "Subject", "target subject": "Target", "new logon": "Target",
    "account for which logon failed": "Target", "target account": "Target", "new account": "Target",
    "account whose credentials were used": "Target", "account information": "Target", "member": "Member",
    "group": "Target",
}  # fmt: skip
_SIDED = {"Account Name": "UserName", "Account Domain": "DomainName", "Security ID": "Sid", "Logon ID": "LogonId"}
_PLAIN = {
    "Logon Type": "LogonType", "Source Network Address": "IpAddress", "Client Address": "IpAddress",
    "Source Address": "IpAddress", "Source Port": "IpPort", "Workstation Name": "WorkstationName",
    "Logon Process": "LogonProcessName", "Authentication Package": "AuthenticationPackageName", "Status": "Status",
    "Sub Status": "SubStatus", "New Process Name": "NewProcessName", "New Process ID": "NewProcessId",
    "Creator Process Name": "ParentProcessName", "Creator Process ID": "ProcessId",
    "Process Command Line": "CommandLine", "Service Name": "ServiceName", "Service File Name": "ServiceFileName",
    "Service Type": "ServiceType", "Service Start Type": "StartType", "Service Account": "AccountName",
    "Task Name": "TaskName", "Task Content": "TaskContent", "Share Name": "ShareName",
    "Share Path": "ShareLocalPath", "Relative Target Name": "RelativeTargetName", "Object Name": "ObjectName",
    "Object Type": "ObjectType", "Ticket Encryption Type": "TicketEncryptionType",
    "Ticket Options": "TicketOptions", "Failure Code": "Status", "Result Code": "Status",
    "Pre-Authentication Type": "PreAuthType", "Error Code": "Status", "Privileges": "PrivilegeList",
    "Caller Process Name": "ProcessName", "Source Workstation": "Workstation", "Logon Account": "TargetUserName",
}  # fmt: skip


def message_fields(message: str) -> Iterator[tuple[str, str]]:
    """Yield the fields in a message's text: Security's by their section, Sysmon's by their own names."""
    side = ""
    for line in re.split(r"\r?\n", message)[:MAX_LINES]:
        found = _LINE.match(line.replace("\t", " "))
        if found is None:
            continue
        name, value = found[2].strip(), found[3].strip()
        if not value:
            side = _SIDES.get(name.lower(), "")
        elif name in _PLAIN:
            yield _PLAIN[name], value
        elif name in _SIDED and side:
            yield f"{side}{_SIDED[name]}", value
        elif " " not in name:
            yield name, value
