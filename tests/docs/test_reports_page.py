"""docs/reports.md has every option, mode, status and exit code of ``svc report``, and no others."""

from __future__ import annotations

import re

import click
import pytest

from svc_jupyter.answers.replay import MODES
from svc_jupyter.report.command import report
from svc_jupyter.report.diff import Change
from svc_jupyter.report.export import FORMATS
from svc_jupyter.report.folder import INDEX_NAME, MANIFEST_NAME
from svc_jupyter.report.outcome import CHANGED_EXIT_CODE, EXIT_CODES
from svc_jupyter.report.record import FILE_NAME, AnswerRecord, CaseRecord, RunRecord
from tests.docs import pages

PAGE = "reports.md"
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
COMMANDS = {
    "Running a notebook": ("run",),
    "Comparing runs": ("diff",),
    "Managing the store": ("answers list", "answers show", "answers prune"),
}
"""By the heading below which their options are listed."""


def command(path: str) -> click.Command:
    found: click.Command = report
    for name in path.split():
        assert isinstance(found, click.Group)
        found = found.commands[name]
    return found


def options_in_help(path: str) -> set[str]:
    """What ``svc report … --help`` shows."""
    with click.Context(command(path), info_name=path) as context:
        text = command(path).get_help(context)
    return set(OPTION.findall(text.partition("Options:")[2]))


@pytest.mark.parametrize("heading", COMMANDS)
def test_the_options_are_those_of_the_commands(heading: str):
    tables = pages.rows(pages.section(PAGE, heading))
    in_tables = {option for row in tables for cell in row[:2] for option in OPTION.findall(cell)}
    in_help = {option for path in COMMANDS[heading] for option in options_in_help(path)}

    assert in_help <= in_tables
    assert {option for option in in_tables if option.startswith("--")} <= in_help


def test_every_command_is_on_the_page():
    groups = [(name, found) for name, found in report.commands.items()]
    paths = [f"{name} {sub}" for name, found in groups if isinstance(found, click.Group) for sub in found.commands]
    paths += [name for name, found in groups if not isinstance(found, click.Group)]

    assert sorted(paths) == sorted(path for listed in COMMANDS.values() for path in listed)


def test_the_statuses_and_exit_codes_are_those_of_the_command():
    table = pages.rows(pages.section(PAGE, "Status and exit codes"))

    assert {row[0].strip("`"): int(row[1]) for row in table} == {str(s): code for s, code in EXIT_CODES.items()}
    assert f"{CHANGED_EXIT_CODE} for changed answers" in pages.section(PAGE, "Status and exit codes")


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        pytest.param("Stored answers", MODES, id="modes"),
        pytest.param("Running a notebook", FORMATS, id="formats"),
        pytest.param("Comparing runs", tuple(Change), id="changes"),
        pytest.param("The output folder", (INDEX_NAME, FILE_NAME, MANIFEST_NAME), id="files"),
        pytest.param("The output folder", RunRecord.__struct_fields__, id="run"),
        pytest.param("The output folder", CaseRecord.__struct_fields__, id="case"),
        pytest.param("The output folder", AnswerRecord.__struct_fields__, id="answer"),
    ],
)
def test_the_page_has_every_word(heading: str, words: tuple[str, ...]):
    assert set(words) <= pages.code_words(pages.section(PAGE, heading))
