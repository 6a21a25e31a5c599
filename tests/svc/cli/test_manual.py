"""Help, completion and the manual are made from the commands, so each command is in them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner, Result

import svc
from svc.cli.main import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="svc")


def commands(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            yield from commands(
                click.Context(context.command.get_command(context, name), parent=context, info_name=name)
            )


EVERY = [one for one in commands(click.Context(main, info_name="svc")) if not one.command.hidden]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(option: str):
    for context in EVERY:
        shown = run(*context.command_path.split()[1:], option)
        assert shown.exit_code == 0
        assert shown.stdout.startswith("Usage: ")


def test_every_option_and_command_says_what_it_does():
    for context in EVERY:
        assert context.command.help, context.command_path
        for parameter in context.command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, (context.command_path, parameter.name)


def test_help_is_also_a_command():
    assert run("help").stdout == run("--help").stdout
    assert run("help", "ask").stdout == run("ask", "-h").stdout
    assert "Delete sessions with their messages" in run("help", "sessions", "delete").stdout
    assert "No such command 'no'" in run("help", "no").output
    assert run("help", "ask", "no").exit_code == 2


def test_the_exit_codes_are_in_the_help():
    for page in (run("--help").stdout, run("ask", "--help").stdout, run("man").stdout):
        assert re.search(r"3\D{1,30}not answered", page.replace("\n", " "))
        assert "130" in page


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_shown(option: str):
    assert run(option).stdout == f"svc, version {svc.__version__}\n"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        pytest.param(["aks", "q"], "Did you mean 'ask'?", id="open: letters swapped"),
        pytest.param(["session", "list"], "Did you mean 'sessions'?", id="open: singular"),
        pytest.param(["Who got in?"], 'To ask a question: svc ask "Who got in?"', id="open: a question"),
        pytest.param(["xyz"], "svc help lists the commands", id="open: nothing near"),
        pytest.param(["stat"], "Did you mean 'status'?", id="held: shortened"),
        pytest.param(["reprot", "run"], "Did you mean 'report'?", id="held: a plug-in"),
        pytest.param(["sessions", "lst"], "Did you mean 'list'?", id="held: below"),
        pytest.param(["ask", "--atach", "x", "q"], "Did you mean '--attach'?", id="held: option"),
    ],
)
def test_a_misspelt_command_gets_a_hint(words: list[str], hint: str):
    failed = run(*words)

    assert failed.exit_code == 2
    assert hint in failed.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(shell: str):
    script = run("completion", shell).stdout

    assert "_SVC_COMPLETE" in script
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True, timeout=30)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash")
def test_tab_completes_in_bash():
    asked = {"COMP_WORDS": "svc sess", "COMP_CWORD": "1", "_SVC_COMPLETE": "bash_complete"}
    program = "from svc.cli.main import main; main(prog_name='svc')"
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | asked, capture_output=True, text=True)

    assert done.stdout == "plain,sessions\n"


def test_the_man_page_has_every_command_and_option():
    page = run("man").stdout

    assert page.startswith('.TH "SVC" "1"')
    plain = page.replace("\\-", "-")
    for context in EVERY:
        path = " ".join(context.command_path.split()[1:])
        assert re.search(rf'^\.SS ".*{path}', plain, re.MULTILINE), path
        for parameter in context.command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[-1] in plain


def test_no_line_of_the_man_page_is_an_unknown_request():
    known = {".TH", ".SH", ".SS", ".PP", ".nf", ".fi", ".TP"}

    assert {line.split()[0] for line in run("man").stdout.splitlines() if line.startswith((".", "'"))} <= known


@pytest.mark.skipif(shutil.which("man") is None, reason="man-db")
def test_man_renders_the_page_without_a_warning():
    page = run("man").stdout
    done = subprocess.run(["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in done.stdout
