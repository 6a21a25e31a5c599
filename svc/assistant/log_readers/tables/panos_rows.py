"""Read PAN-OS log lines, which have no header: their columns are in the order of the syslog field descriptions."""

from __future__ import annotations

import csv
import re

_START = re.compile(
    r"(?:[^,]{0,200}\s)?\d?,\d{4}/\d\d/\d\d \d\d:\d\d:\d\d,[0-9A-Z]{1,20},(?P<type>TRAFFIC|THREAT),", re.ASCII
)
_COMMON = (
    "", "Receive Time", "Serial #", "Type", "Threat/Content Type", "", "Generate Time", "Source address",
    "Destination address", "NAT Source IP", "NAT Destination IP", "Rule", "Source User", "Destination User",
    "Application", "Virtual System", "Source Zone", "Destination Zone", "Inbound Interface", "Outbound Interface",
    "Log Action", "", "Session ID", "Repeat Count", "Source Port", "Destination Port", "NAT Source Port",
    "NAT Destination Port", "Flags", "IP Protocol", "Action",
)  # fmt: skip
_OWN = {
    "TRAFFIC": (
        "Bytes", "Bytes Sent", "Bytes Received", "Packets", "Start Time", "Elapsed Time", "Category", "",
        "Sequence Number", "Action Flags", "Source Country", "Destination Country",
    ),
    "THREAT": (
        "URL/Filename", "Threat/Content Name", "Category", "Severity", "Direction", "Sequence Number", "Action Flags",
        "Source Country", "Destination Country",
    ),
}  # fmt: skip


def panos_row(line: str) -> dict[str, str] | None:
    """The columns of a traffic or threat log's line; None for any other line."""
    start = _START.match(line)
    if start is None:
        return None
    cells = next(csv.reader([line]), [])
    names = (*_COMMON, *_OWN[start["type"]])
    if len(cells) < len(_COMMON):
        return None
    return {name: cell for name, cell in zip(names, cells, strict=False) if name and cell}
