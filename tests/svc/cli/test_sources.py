"""``svc rules add-source`` as people run it: a definition proves itself on a sample, and errors say where and what."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from svc.assistant import knowledge
from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadAs, Unread
from svc.assistant.log_readers.tables import user_sources
from svc.assistant.log_readers.tables.kinds import Kind
from svc.assistant.log_readers.tables.reader import read
from svc.assistant.sigma.event import Event
from svc.assistant.workers.kept_results import program_state
from svc.cli.main import main
from tests.support import ROOT
from tests.svc.assistant.sources.expected import Expected

DEFINITION = """\
source = "Acme's manual, chapter 7"
version = "1"
date = 2026-11-22

[[kinds]]
name = "Acme door log"
needs = [["Badge Time", "door", "badge.holder"]]
product = "acme"
service = "doors"
category = "activity"
zone = "Europe/Berlin"
columns = { time = ["Badge Time"], user = ["badge.holder"], action = ["what"], outcome = ["granted"] }
fields = { DoorName = ["door"] }
when = [{ column = "what", matches = "^heartbeat$", skip = true }]
"""
SAMPLE = "".join(
    f'{{"Badge Time":"18.11.2026 02:1{n}:03","door":"vault","badge":{{"holder":"eve"}},"what":"open","granted":"no"}}\n'
    for n in range(4)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path / "knowledge"))
    yield tmp_path / "knowledge" / "sources"
    user_sources.forget()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, arguments)])


def add(tmp_path: Path, definition: str = DEFINITION, *samples: str, name: str = "acme.toml") -> Result:
    file = tmp_path / name
    file.write_text(definition)
    options: list[object] = []
    for number, sample in enumerate(samples or (SAMPLE,)):
        (tmp_path / f"{number}.jsonl").write_text(sample)
        options += ["--sample", tmp_path / f"{number}.jsonl"]
    return run("add-source", file, *options)


def test_a_definition_is_proved_stored_listed_used_and_removed(tmp_path: Path, folder: Path):
    before = program_state(knowledge.user_folder())
    assert identify(SAMPLE.encode(), "x.jsonl")[1] != "eventtable"
    added = add(tmp_path)
    assert added.exit_code == 0
    assert "Acme door log, 4 events, 2026-11-18T01:10:03.000Z to 2026-11-18T01:13:03.000Z" in added.output
    assert "time=Badge Time, user=badge.holder" in added.output
    assert (folder / "acme.toml").is_file()
    assert "source acme: Acme door log, version 1 of 2026-11-22" in run("list").output
    assert identify(SAMPLE.encode(), "x.jsonl")[1] == "eventtable"
    items = list(read(io.BytesIO(SAMPLE.encode())))
    assert [item.form for item in items if isinstance(item, ReadAs)] == ["Acme door log (mapped columns)"]
    assert {item.fields["DoorName"] for item in items if isinstance(item, Event)} == {"vault"}
    assert program_state(knowledge.user_folder()) != before  # what was kept of earlier runs is not used again
    assert run("remove-source", "acme").output == "removed acme\n"
    assert identify(SAMPLE.encode(), "x.jsonl")[1] != "eventtable"
    assert "no such source definition: 'acme'" in run("remove-source", "acme").output


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("needs =", "needz =", "unknown field `needz` (kinds[0], line 7)"),
        ("action =", "acton =", "unknown role 'acton'; did you mean 'action'? (kinds[0].columns, line 12)"),
        ('"door", ', '"dor", ', "lacks the columns dor of `needs`; it has Badge Time, door"),
        ("[[kinds]]", "[[kinds", "not TOML"),
        ('version = "1"', "version = 1", "Expected `str`, got `int` (version, line 2)"),
        ('version = "1"\n', "", "missing required field `version`"),
        (
            '"activity"',
            '"activities"',
            "unknown category 'activities'; did you mean 'activity'? (kinds[0].category, line 10)",
        ),
        ("Europe/Berlin", "Europe/Berlim", "unknown time zone 'Europe/Berlim'"),
        ("^heartbeat$", "(h+)+$", "a repeat contains another repeat or a choice (kinds[0].when[0].matches, line 14)"),
        ("^heartbeat$", "heart.*beat", "needs ^ at the beginning"),
        ("^heartbeat$", "(", "no valid regular expression"),
        ("Acme door log", "![x](http://192.0.2.1)", "a name has 1 to 100 letters"),
        ('product = "acme"', 'product = "a|b"', "a log source has at most 64 letters"),
        ('needs = [["Badge Time", "door", "badge.holder"]]', "needs = []", "name the columns by which"),
        ('["Badge Time", "door", "badge.holder"]', '["time"]', "would claim other tables"),
        ('DoorName = ["door"]', 'DoorName = { columns = ["door"], part = "v" }', "has no group"),
        ("[[kinds]]", "#" + "x" * 300_000 + "\n[[kinds]]", "the limit is 262,144"),
        ("18.11.2026", "18.11.2026", ""),
    ],
)
def test_an_error_says_where_it_is_and_what_to_do(tmp_path: Path, folder: Path, old: str, new: str, problem: str):
    result = add(tmp_path, DEFINITION.replace(old, new))
    if not problem:
        assert result.exit_code == 0
        return
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())
    assert not folder.exists()


@pytest.mark.parametrize(
    ("sample", "problem"),
    [
        (SAMPLE + '{"other": 1}\n', "1 record without a column of an event"),
        (SAMPLE + "{broken\n", "4 records are read, 1 are not"),
        (SAMPLE.replace('"open"', '"heartbeat"'), "0 records are read"),
        (SAMPLE.replace("18.11.2026", "soon"), "no time that could be read"),
        ("hello\n", "the sample is not a table"),
        ("", "the sample is not a table"),
        ('{"time": "2026-11-18T03:00:00Z", "user": "eve", "result": "x"}\n', "lacks the columns badgetime"),
    ],
)
def test_a_sample_that_is_not_read_whole_proves_nothing(tmp_path: Path, folder: Path, sample: str, problem: str):
    result = add(tmp_path, DEFINITION, sample)
    assert result.exit_code == 1
    assert problem in result.output
    assert not folder.exists()


def test_records_that_the_definition_leaves_out_are_reported_and_do_not_fail_the_proof(tmp_path: Path):
    both = SAMPLE + SAMPLE.replace('"open"', '"heartbeat"')
    assert "Acme door log, 4 events" in add(tmp_path, DEFINITION, both).output
    items = list(read(io.BytesIO(both.encode())))
    [gap] = [item.text for item in items if isinstance(item, Gap)]
    assert gap.startswith("4 records are not events")
    assert not [item for item in items if isinstance(item, Unread)]


def test_each_kind_needs_a_sample(tmp_path: Path):
    second = DEFINITION.partition("[[kinds]]")[2].replace("Acme door log", "Acme gate log").replace('"door"', '"gate"')
    both = f"{DEFINITION}\n[[kinds]]{second}"
    assert "no sample is of the kind Acme gate log" in add(tmp_path, both).output
    assert add(tmp_path, both, SAMPLE, SAMPLE.replace('"door"', '"gate"')).exit_code == 0


def test_a_kind_that_is_not_read_proves_itself_by_being_recognised(tmp_path: Path):
    unread = DEFINITION.replace("is_utc = true", "") + 'unread = "it lists doors, not events: ask about their names"\n'
    assert "recognised and not read" in add(tmp_path, unread).output


def test_a_definition_takes_precedence_over_ours_if_it_names_as_many_columns(tmp_path: Path):
    okta = (
        '{"eventType": "x", "actor.alternateId": "eve", "outcome.result": "NO", "published": "2026-11-18T03:00:00Z"}\n'
    )
    own = DEFINITION.replace(
        '["Badge Time", "door", "badge.holder"]', '["eventType", "actor.alternateId", "outcome.result"]'
    )
    own = own.replace('["Badge Time"]', '["published"]').replace('DoorName = ["door"]', 'DoorName = ["eventType"]')
    assert "Acme door log, 1 events" in add(tmp_path, own, okta).output


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "x" * 80, ".hidden", "a\x1b[31m"])
def test_a_name_is_a_file_name(tmp_path: Path, folder: Path, name: str):
    (tmp_path / "acme.toml").write_text(DEFINITION)
    (tmp_path / "s.jsonl").write_text(SAMPLE)
    result = run("add-source", tmp_path / "acme.toml", "--sample", tmp_path / "s.jsonl", "--name", name)
    stored = [file.relative_to(folder.parent) for file in folder.rglob("*")] if folder.exists() else []
    assert result.exit_code == 1 or stored == [Path("sources/acme.toml")]
    assert "\x1b" not in result.output
    assert run("remove-source", name).exit_code == 1 or name == ""


def test_a_stored_definition_that_was_damaged_is_reported_and_the_others_are_used(tmp_path: Path, folder: Path):
    add(tmp_path)
    (folder / "<b>broken.toml").write_text(DEFINITION.replace("needs", "![x](http://192.0.2.1)"))
    assert "unreadable" in run("list").output
    items = list(read(io.BytesIO(SAMPLE.encode())))
    [gap] = [item.text for item in items if isinstance(item, Gap)]
    assert gap.startswith("source definition ?b?broken cannot be used: not TOML")
    assert "](" not in gap
    assert len([item for item in items if isinstance(item, Event)]) == 4


def test_the_example_in_the_documentation_works(tmp_path: Path):
    blocks = re.findall(r"```(toml|json)\n(.*?)```", (ROOT / "docs" / "how_to" / "sources.md").read_text(), re.DOTALL)
    result = add(tmp_path, blocks[0][1], blocks[1][1])
    assert "Acme door log, 1 events, 2026-11-18T01:14:03.000Z" in result.output
    page = (ROOT / "docs" / "how_to" / "sources.md").read_text()
    assert [name for name in Kind.__struct_fields__ if f"`{name}`" not in page] == []
    msgspec.toml.decode(blocks[2][1], type=Expected)
