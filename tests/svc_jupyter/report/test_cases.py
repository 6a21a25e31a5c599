"""A sweep's file: one row, one case."""

from __future__ import annotations

from pathlib import Path

import pytest

from svc_jupyter.report.cases import load
from svc_jupyter.report.parameters import ParameterError

KNOWN = ["host", "day", "limit"]


def read(path: Path, text: str, **fixed: object) -> list[tuple[str, dict[str, object]]]:
    path.write_text(text)
    return [(case.name, dict(case.parameters.values)) for case in load(path, fixed, KNOWN, path.parent)]


def test_csv_cells_are_typed_and_fixed_values_hold_where_a_row_says_nothing(tmp_path: Path):
    rows = read(tmp_path / "s.csv", 'host,limit\nweb-1,3\n"a, b",x\n', day="mon", limit=1)

    assert rows == [
        ("web-1", {"day": "mon", "limit": 3, "host": "web-1"}),
        ("a-b", {"day": "mon", "limit": "x", "host": "a, b"}),
    ]


def test_json_lines_keep_their_types(tmp_path: Path):
    rows = read(tmp_path / "s.jsonl", '{"host": "007", "limit": [1, null]}\n\n{"host": "b"}\n')

    assert [values for _, values in rows] == [{"host": "007", "limit": [1, None]}, {"host": "b"}]


def test_names_are_safe_for_every_disk_and_differ(tmp_path: Path):
    rows = read(tmp_path / "s.csv", "case,host\n../../etc/x,1\nA,2\na,3\n,4\n" + "y" * 500 + ",5\n…,6\n")

    assert [name for name, _ in rows] == ["etc-x", "A", "a-2", "4", "y" * 80, "case"]


def test_a_secret_is_in_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "hush-1")

    assert [name for name, _ in read(tmp_path / "s.csv", "host,day\nweb-1,env:MY_TOKEN\n")] == ["web-1"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("s.csv", "hots\n1\n", "line 2: unknown parameter hots. Did you mean host?", id="unknown name"),
        pytest.param("s.csv", "host,day\n1\n", "line 2: the number of values differs from the 2 names", id="short row"),
        pytest.param("s.csv", "host\n1,2\n", "line 2: the number of values differs from the 1 names", id="long row"),
        pytest.param("s.csv", 'host\n"1\n', "line 1: unexpected end of data", id="open quote"),
        pytest.param("s.csv", "host\n", "has no cases", id="no rows"),
        pytest.param("s.csv", "", "has no cases", id="empty"),
        pytest.param("s.jsonl", "[1]\n", "line 1: expected a JSON object", id="a list"),
        pytest.param("s.jsonl", '{"host": 1}\n{\n', "line 2: invalid JSON", id="broken JSON"),
    ],
)
def test_what_is_no_sweep_says_where(name: str, text: str, message: str, tmp_path: Path):
    with pytest.raises(ParameterError, match=message):
        read(tmp_path / name, text)
