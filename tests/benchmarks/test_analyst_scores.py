"""The scores of the benchmark are right on twenty small items whose figures were counted by hand."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from svc.assistant.findings import Finding
from svc.assistant.skills.cwe.findings import CweCandidate
from svc.assistant.skills.mail import tool as mail
from tests.benchmarks.analyst_rows import HALVES, Measured, line, repeatedly_decoded, rows
from tests.benchmarks.analyst_scores import Answered, Miss, by_label, in_terms_of, misses, parent, scores
from tests.benchmarks.analyst_sets import KINDS, load, mail_verdict, weaknesses
from tests.support.mails import TRAPS

RANKED = [  # wanted, named
    ("T1059.001", ["T1059.001", "T1027"]),
    ("T1059.001", ["T1059.001"]),
    ("T1059.001", ["T1027", "T1059.001"]),
    ("T1059.001", ["T1059.003", "T1105", "T1059.001"]),
    ("T1059.001", ["T1059.003"]),
    ("T1059.001", ["T1059"]),
    ("T1059.001", []),
    ("T1059.001", ["T1027", "T1105", "T1218", "T1059.001"]),
    ("T1105", ["T1105", "T1059.001"]),
    ("T1105", ["T1105"]),
    ("T1105", ["T1059.001", "T1105"]),
    ("T1105", ["T1027"]),
    ("T1105", []),
    ("T1105", ["T1027", "T1218", "T1003", "T1047", "T1105"]),
    ("T1105", ["T1027", "T1218", "T1003", "T1047", "T1082", "T1105"]),
    ("T1003", ["T1003"]),
    ("T1003", ["T1003.001"]),
    ("T1003", ["T1003.001", "T1003"]),
    ("T1003", []),
    ("T1003", ["T1003", "T1105", "T1027"]),
]
ITEMS = [
    Answered(name=str(number), wanted=wanted, ranked=tuple(ranked), seconds=number / 10, first_seconds=0.01)
    for number, (wanted, ranked) in enumerate(RANKED, start=1)
]


def test_shares_are_counted_over_all_items_and_precision_over_those_that_name_something():
    whole = scores(ITEMS)
    assert (whole.items, whole.answered) == (20, 17)
    assert whole.precision == pytest.approx(6 / 17)
    assert whole.recall == pytest.approx(13 / 20)
    assert whole.tops == pytest.approx({1: 6 / 20, 3: 10 / 20, 5: 12 / 20})
    assert whole.median_seconds == pytest.approx(1.05)
    assert whole.longest_seconds == pytest.approx(2.0)


def test_by_the_parent_a_sibling_is_right():
    whole = scores(in_terms_of(ITEMS, parent))
    assert whole.tops == pytest.approx({1: 11 / 20, 3: 13 / 20, 5: 15 / 20})


def test_labels_that_become_equal_count_as_one_place():
    [one] = in_terms_of([Answered(name="a", wanted="T1105", ranked=("T1059.001", "T1059.003", "T1105"))], parent)
    assert one.place == 2


def test_each_label_has_its_precision_and_recall():
    labels = by_label(ITEMS)
    assert {label: one.items for label, one in labels.items()} == {"T1003": 5, "T1059.001": 8, "T1105": 7}
    assert labels["T1059.001"].precision == pytest.approx(2 / 3)
    assert labels["T1059.001"].recall == pytest.approx(2 / 8)
    assert labels["T1003"].precision == pytest.approx(1.0)


def test_a_label_that_is_never_first_has_no_precision():
    assert by_label([Answered(name="a", wanted="T1105", ranked=("T1027",))])["T1105"].precision is None


def test_errors_are_classified_by_kind():
    assert {kind: [one.name for one in mine] for kind, mine in misses(ITEMS).items()} == {
        Miss.NOTHING: ["7", "13", "19"],
        Miss.RELATED: ["5", "6", "17"],
        Miss.LATER: ["3", "4", "8", "11", "14", "18"],
        Miss.BEYOND: ["15"],
        Miss.WRONG: ["12"],
    }


def test_no_items_are_no_scores():
    with pytest.raises(ValueError, match="nothing was measured"):
        scores([])


def test_lines_are_read_with_their_labels_and_thinned_evenly(tmp_path: Path):
    path = tmp_path / "cve.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {n}", "cwe": str(n)}) + "\n" for n in range(10)))
    labelled = load(path, limit=5)
    assert labelled.kind is KINDS["weaknesses"]
    assert [item.label for item in labelled.items] == ["CWE-0", "CWE-2", "CWE-4", "CWE-6", "CWE-8"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("spam-001.eml", "suspicious"),
        ("nice-001.eml", "ordinary"),
        ("phish/1.eml", "suspicious"),
        ("easy_ham/1.eml", "ordinary"),
        ("lateral-movement__a.evtx", "lateral-movement"),
        ("lateral_movement__a.json", "lateral-movement"),
        ("empire_persistence_run_keys.json", "persistence"),
        ("credential-access/a.evtx", "credential-access"),
        ("Credential Access/a.evtx", "credential-access"),
    ],
)
def test_a_file_has_its_label_from_its_name_or_its_folder(tmp_path: Path, name: str, label: str):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    assert [item.label for item in load(tmp_path).items] == [label]


def test_the_analyst_does_not_see_the_label(tmp_path: Path):
    (tmp_path / "spam-001.eml").write_text("From: a@b.example\nSubject: c\n\nd\n")
    [item] = load(tmp_path).items
    file = item.turn_file()
    assert file is not None
    assert "spam" not in file.name


def test_a_path_without_labels_is_refused(tmp_path: Path):
    (tmp_path / "a.eml").write_text("x")
    with pytest.raises(ValueError, match="nothing here has a label"):
        load(tmp_path)


def candidate(cwe: str, rank: int) -> Finding[CweCandidate]:
    facts = CweCandidate(
        block=1, rank=rank, id=cwe, name="", score=1.0, words=[], what="", fix=[], parents=[], table_version="1",
        table_date=None,
    )  # fmt: skip
    return Finding(title=cwe, facts=facts)


def test_findings_become_labels_in_their_order():
    found = [
        candidate("CWE-79", 2),
        candidate("CWE-89", 1),
        *(item for item in mail.inspect(BytesIO(TRAPS["inheritance"]), source="a.eml") if isinstance(item, Finding)),
    ]
    assert weaknesses(found) == ("CWE-89", "CWE-79")
    assert mail_verdict(found) == ("suspicious",)
    assert mail_verdict([]) == ()


def test_each_row_of_the_own_sets_names_its_tests_and_says_whether_the_aim_is_met():
    table = rows(None)
    assert len({row.name for row in table}) == len(table)
    assert all((Path(__file__).parents[2] / row.tests).exists() for row in table)
    least, most = (next(row for row in table if row.is_least is is_least) for is_least in (True, False))
    assert least.is_met(Measured(10, least.aim))
    assert not least.is_met(Measured(10, least.aim - 0.01))
    assert most.is_met(Measured(10, most.aim))
    assert not most.is_met(Measured(10, most.aim + 0.01))


def test_a_row_of_the_own_sets_is_measured_with_its_baseline():
    row = next(one for one in rows(None) if one.name.startswith("CVSS"))
    for half in HALVES:
        measured = row.measure(half)
        assert measured.baseline is not None
        assert row.aim < measured.figure <= 1
        assert measured.baseline < measured.figure
        assert f" {half} " in line(row, half, measured)
        assert f"pytest {row.tests}" in line(row, half, measured)


@pytest.mark.parametrize(
    ("text", "plain"), [("aGVsbG8gd29ybGQ=", "hello world"), ("hello%20world", "hello world"), ("hello", "hello")]
)
def test_the_simple_decoder_repeats_what_fits(text: str, plain: str):
    assert repeatedly_decoded(text) == plain
