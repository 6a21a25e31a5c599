"""The command ``svc chat``: a prompt with history, in one session; each line is a question or a command."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from svc.cli import attachments
from svc.cli.activity import Activity
from svc.cli.answer_document import answer_text
from svc.cli.answer_view import show_answer
from svc.cli.ask import NOTES, check_session_options
from svc.cli.conversation import ask_in, attach, open_session
from svc.cli.options import language_option, model_option
from svc.config import state_folder
from svc.errors import SvcError
from svc.messages import SessionFile, status_of
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from svc.client import AsyncSvc
    from svc.session import AsyncSession

HISTORY_NAME = "chat_history"
PROMPT = "svc> "
COMMANDS = {
    "/attach": ("PATH", "attach a file, a folder or a pattern; the next question is about it"),
    "/files": ("", "list the attached files"),
    "/new": ("", "start a new session; earlier files and questions are not part of it"),
    "/help": ("", "show these commands"),
    "/exit": ("", "leave, as Ctrl-D does"),
}
_COMMAND = re.compile(r"/[a-z]*+(?=\s|$)", re.IGNORECASE)  # "/etc/passwd changed?" is a question


@click.command()
@click.option(
    "-a",
    "--attach",
    "files",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=str),
    help='Attach a file, an archive, a folder, or a quoted pattern ("logs/*.log") first (repeatable).',
)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Continue your last session on this machine.")
@click.option("--session", "session_id", metavar="ID", help="Continue session ID (svc sessions list shows them).")
@model_option
@language_option
def chat(
    files: tuple[str, ...], *, is_continued: bool, session_id: str | None, model: str | None, language: str | None
) -> None:
    """Ask questions one after another, each with the earlier ones as context.

    Ctrl-C cancels the running question, Ctrl-D leaves. The up key shows earlier lines, Tab completes commands and
    paths.

    \b
      /attach PATH   attach a file, a folder or a pattern; the next question is about it
      /files         list the attached files
      /new           start a new session
      /help          show the commands
      /exit          leave

    The lines you type are kept in chat_history in your state folder, which only you can read. The service is the one in
    SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.
    """
    check_session_options(session_id=session_id, is_continued=is_continued, model=model, language=language)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("svc chat needs a terminal. In a pipe or a script, use svc ask")
    with asyncio.Runner() as runner:
        from svc.client import AsyncSvc  # the networking libraries are imported when a command needs them

        client = AsyncSvc()
        conversation = Chat(runner, client, model=model, language=language)
        try:
            conversation.open(session_id, is_continued=is_continued)
            for file in files:
                conversation.attach(file)
            conversation.run(_prompt_session())
        finally:
            runner.run(client.aclose())


class Chat:
    """One run of ``svc chat``. Questions run in ``runner``: Ctrl-C ends the one that runs, not the loop.

    Args:
        runner: The event loop.
        client: The service.
        model: Of new sessions.
        language: Of new sessions.
    """

    def __init__(
        self, runner: asyncio.Runner, client: AsyncSvc, *, model: str | None = None, language: str | None = None
    ) -> None:
        self._runner = runner
        self._client = client
        self._model = model
        self._language = language
        self._session: AsyncSession | None = None
        self._about: list[SessionFile] = []

    def open(self, session_id: str | None = None, *, is_continued: bool = False) -> None:
        """Open a session, by default a new one."""
        is_new = not (session_id or is_continued)
        with Activity():
            self._session = self._runner.run(
                open_session(
                    self._client,
                    session_id=session_id,
                    is_continued=is_continued,
                    model=self._model if is_new else None,
                    language=self._language if is_new else None,
                )
            )
        self._about = []
        echo(f"Session {self._session.session_id}. /help shows the commands, Ctrl-D leaves.")

    def run(self, prompts: PromptSession[str]) -> None:
        """Read and answer lines until Ctrl-D or ``/exit``."""
        while True:
            try:
                line = prompts.prompt(PROMPT).strip()
            except KeyboardInterrupt:  # clears what was typed
                continue
            except EOFError:
                return
            if line == "/exit":
                return
            if line:
                self._answer(line)

    def attach(self, path: str) -> None:
        """Attach files; the next question is about them."""
        with attachments.attachments([path], is_stdin_wanted=False) as files, Activity() as activity:
            attached = self._runner.run(attach(self._current, files, activity))
        self._about += attached
        for file in attached:
            echo(f"Attached {one_line(file.name)} ({file.size:,} bytes)")

    @property
    def _current(self) -> AsyncSession:
        assert self._session is not None  # open() was called
        return self._session

    def _answer(self, line: str) -> None:
        """One line; a failure ends neither the chat nor the session."""
        try:
            self._run_line(line)
        except KeyboardInterrupt:
            echo("cancelled", err=True)
        except (SvcError, OSError) as error:
            echo(f"Error: {error}", err=True)
        except click.ClickException as error:
            echo(f"Error: {error.format_message()}", err=True)

    def _run_line(self, line: str) -> None:
        match = _COMMAND.match(line)
        if match is None:
            self._ask(line)
            return
        command, rest = match[0].lower(), line[match.end() :].strip()
        if command == "/attach" and rest:
            self.attach(_unquoted(rest))
        elif command == "/files" and not rest:
            self._list_files()
        elif command == "/new" and not rest:
            self.open()
        elif command == "/help" and not rest:
            _show_help()
        else:
            echo(_unknown(command), err=True)

    def _ask(self, question: str) -> None:
        for word in attachments.unattached_files(question, [file.name for file in self._current.files]):
            echo(f"{word} is not attached. Did you mean /attach {word}?", err=True)
        with Activity() as activity:
            messages = self._runner.run(
                ask_in(self._current, question, self._about, activity, show_partial=show_answer)
            )
        self._about = []
        show_answer(answer_text(messages))
        if (status := status_of(messages)) in NOTES:
            echo(NOTES[status], err=True)

    def _list_files(self) -> None:
        files = self._current.evidence
        for file in files:
            echo(f"{file.size:>15,} bytes  {one_line(file.name)}")
        if not files:
            echo("No file is attached. Attach one: /attach PATH")


def _unknown(command: str) -> str:
    if command in COMMANDS:
        return f"Usage: {command} {COMMANDS[command][0]}".rstrip()
    near = get_close_matches(command, COMMANDS, n=1) or [name for name in COMMANDS if name.startswith(command)]
    hint = f"Did you mean {near[0]}?" if near and command != "/" else "/help lists the commands."
    return f"No such command {command}. {hint}"


def _show_help() -> None:
    for name, (argument, meaning) in COMMANDS.items():
        echo(f"{f'{name} {argument}':<14}{meaning}")
    echo("Anything else is a question.")


def _unquoted(path: str) -> str:
    """The path without quotes around it and, as Tab and shells write them, without escapes of spaces."""
    if len(path) > 1 and path[0] == path[-1] and path[0] in "\"'":
        return path[1:-1]
    return path.replace("\\ ", " ") if os.sep == "/" else path


def _prompt_session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.shortcuts import CompleteStyle

    from svc.cli.chat_completion import ChatCompleter

    path = state_folder() / HISTORY_NAME
    history: FileHistory | InMemoryHistory = FileHistory(str(path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        history = InMemoryHistory()
    return PromptSession(
        history=history,
        completer=ChatCompleter(COMMANDS),
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
    )
