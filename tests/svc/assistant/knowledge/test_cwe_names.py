"""Names of a newer CWE list in our table: renamed, new and deprecated weaknesses."""

from __future__ import annotations

import datetime

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.cwe import FILE_NAME, Cwe, CweTable
from tests.svc.assistant.knowledge.cwe_names import TABLE, merged, rendered

LISTED = r"""export default {
  date: '2030-01-02',
  weaknesses: [
    { id: 'CWE-1', name: "User's Path: '\\dir'", status: 'Draft', usage: 'Allowed' },
    { id: 'CWE-2', name: 'DEPRECATED: Old', status: 'Deprecated', usage: 'Prohibited' },
    {
      id: 'CWE-3',
      name:
        'New One',
      status: 'Incomplete',
    },
  ],
};
"""


def _weakness(number: int) -> Cwe:
    return Cwe(id=number, name="Old Name", level="base", status="stable", parents=[7])


def test_names_are_replaced_new_weaknesses_added_and_deprecated_ones_left_out() -> None:
    table = CweTable(source="", licence="x", version="1", date=None, weaknesses=[_weakness(1), _weakness(2)])
    newer = merged(table, LISTED, "9.1")
    assert newer.weaknesses == [
        Cwe(id=1, name="User's Path: '\\dir'", level="base", status="draft", parents=[7]),
        Cwe(id=3, name="New One", level="", status="incomplete", parents=[]),
    ]
    assert (newer.version, newer.date) == ("9.1", datetime.date(2030, 1, 2))
    assert msgspec.json.decode(rendered(newer), type=CweTable) == newer


def test_the_shipped_table_is_written_by_this_module() -> None:
    assert TABLE.read_text() == rendered(load(FILE_NAME, CweTable))
