"""Take the names of a newer CWE version into ``cwe.json``, from a list that has no relations between weaknesses.

``npm pack @secvisogram/csaf-validator-lib`` (MIT; 2.0.10 was used) has ``lib/cwec/VERSION.js`` with the identifier,
name and status of each weakness. Run with that file:

    python -m tests.svc.assistant.knowledge.cwe_names 4.17.js

Weaknesses that the table does not have yet get no abstraction and no parents; deprecated ones stay out. The official
XML has everything and is to be preferred (docs/contributing.md, "Releasing").
"""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from pathlib import Path

import msgspec

from svc.assistant.knowledge.cwe import Cwe, CweTable

TABLE = Path("svc/assistant/knowledge/cwe.json")
_ENTRY = re.compile(
    r"id: 'CWE-(?P<id>\d+)',\s+name:\s+(?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"),\s+status: '(?P<status>\w+)'"
)
_DATE = re.compile(r"date: '(\d{4}-\d\d-\d\d)'")


def merged(table: CweTable, listed: str, version: str) -> CweTable:
    """The table with the names of a newer list, and the weaknesses that only the list has."""
    stated = _DATE.search(listed)
    if stated is None:
        raise ValueError("the list states no date")
    known = {entry.id: entry for entry in table.weaknesses}
    for match in _ENTRY.finditer(listed):
        status = match["status"].lower()
        if status == "deprecated":
            known.pop(int(match["id"]), None)
            continue
        name = re.sub(r"\\(.)", r"\1", match["name"][1:-1])
        entry = known.get(int(match["id"])) or Cwe(id=int(match["id"]), name="", level="", status="", parents=[])
        known[entry.id] = msgspec.structs.replace(entry, name=name, status=status)
    return msgspec.structs.replace(
        table,
        source=f"MITRE CWE {version} (identifiers, names and status); abstraction and parents of view 1000 of CWE 4.14",
        version=version,
        date=date.fromisoformat(stated[1]),
        weaknesses=sorted(known.values(), key=lambda entry: entry.id),
    )


def rendered(table: CweTable) -> str:
    """The table as JSON with one weakness on each line."""
    fields = msgspec.to_builtins(table)
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in fields.pop("weaknesses"))
    head = "".join(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n" for name, value in fields.items())
    return f'{{\n{head} "weaknesses": [\n{rows}\n ]\n}}\n'


if __name__ == "__main__":
    newer = Path(sys.argv[1])
    current = msgspec.json.decode(TABLE.read_bytes(), type=CweTable)
    TABLE.write_text(rendered(merged(current, newer.read_text(), newer.stem)))
