"""The command ``svc ask``: asks one question; progress goes to stderr, the answer to stdout."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc._folder_stream import archive_name
from svc.cli.stdin_file import stdin_file
from svc.errors import TurnTimeoutError
from svc.messages import AnswerStatus, Message, MessageType, SessionFile, State, status_of
from svc.progress import Meter, progress_line
from svc.untrusted.markdown import unfolded
from svc.untrusted.status_line import StatusLine
from svc.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from svc._counted_body import OnProgress
    from svc.session import AsyncSession

UNANSWERED_EXIT_CODE = 3
SEND_SECONDS = 0.2  # between two reports on a file that is sent
_NOTES = {
    AnswerStatus.PARTLY_ANSWERED: "Partly answered: the answer says what is missing.",
    AnswerStatus.NOT_ANSWERED: "Not answered: this is not a negative result.",
    AnswerStatus.NOT_EXAMINED: "Not examined: the evidence was not read; this is not a negative result.",
}


@click.command()
@click.argument("question")
@click.option(
    "--attach",
    "files",
    multiple=True,
    metavar="PATH",
    type=click.Path(exists=True, readable=True, allow_dash=True, path_type=Path),
    help="Attach a file, an archive, a folder, or - for stdin (repeatable).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: session_id, answer, answer_status, messages.",
)
@click.option("--session", "session_id", metavar="ID", help="Continue session ID (svc session list shows them).")
@click.option(
    "--all",
    "is_about_all",
    is_flag=True,
    help="Ask about all files of the session; without it, a question with --attach is about its files only.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Cancel the question after SECONDS.",
)
def ask(
    question: str,
    files: tuple[Path, ...],
    *,
    as_json: bool,
    session_id: str | None,
    is_about_all: bool,
    timeout_seconds: float | None,
) -> None:
    """Ask a question and print the answer.

    QUESTION may be "-" to read it from stdin. Progress goes to stderr, the answer, in Markdown, to stdout.

    A question with --attach is about these files only; one without means the latest files of its session.

    What is piped in is attached as "stdin" if nothing else is attached. Each member of an archive or a folder is read
    by the tool for its kind.

    \b
      svc ask --attach /var/log/auth.log "Who was brute-forced, and did anyone get in?"
      svc ask --attach case.zip --attach /var/log "What happened on this host?"
      journalctl -u ssh | svc ask "Who got in?"
      svc ask --json - < question.txt

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.
    Exit codes: 0 answered or partly answered (stderr says which), 1 failed, 2 usage error, 3 not answered or not
    examined, 130 interrupted (the question is cancelled).
    """
    is_explicit = any(str(file) == "-" for file in files)
    is_question_piped = question == "-"
    if is_question_piped:
        if is_explicit:
            raise click.UsageError("only one of QUESTION and --attach can be read from stdin (-)")
        question = sys.stdin.read()
    if not question.strip():
        raise click.UsageError(
            'the question is empty. Example: svc ask "Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"'
        )
    try:
        with stdin_file(is_explicit=is_explicit, is_wanted=not (is_question_piped or files)) as piped:
            paths = [file for file in files if str(file) != "-"] + ([piped] if piped else [])
            session_id, messages = asyncio.run(
                _ask(question, paths, session_id, timeout_seconds, is_about_all=is_about_all)
            )
    except KeyboardInterrupt:
        echo("interrupted; the question was cancelled", err=True)
        sys.exit(130)
    answer = "".join(str(m.get_content()) for m in messages if m.message_type == MessageType.RESULT)
    status = status_of(messages)
    if as_json:
        shown = {"session_id": session_id, "answer": answer, "answer_status": status, "messages": messages}
        echo_json(shown)
    else:
        echo(unfolded(answer))
        echo(f"Continue with: svc ask --session {session_id} ...", err=True)
    if status in _NOTES:
        echo(_NOTES[status], err=True)
    if status in (AnswerStatus.NOT_ANSWERED, AnswerStatus.NOT_EXAMINED):
        sys.exit(UNANSWERED_EXIT_CODE)


def named(files: Sequence[Path]) -> list[tuple[Path, str]]:
    """The names to attach files by: their own, after that of their folder if several have the same."""
    named = [(file, archive_name(file) if file.is_dir() else file.name) for file in dict.fromkeys(files)]
    counts = Counter(name for _, name in named)
    return [(file, f"{file.resolve().parent.name}-{name}" if counts[name] > 1 else name) for file, name in named]


async def _ask(
    question: str,
    files: Sequence[Path],
    session_id: str | None,
    timeout_seconds: float | None,
    *,
    is_about_all: bool,
) -> tuple[str, list[Message]]:
    """The session's id and the turn's messages."""
    from svc.client import AsyncSvc  # the networking libraries are imported when a command needs them

    async with AsyncSvc() as client:
        session = await (client.resume_session(session_id) if session_id else client.create_session())
        status = StatusLine(sys.stderr, time.monotonic)
        about = []
        for file, name in named(files):
            about.append(await session.attach_file_from_disk(file, name, on_progress=_reporting(name, status)))
            status.clear()
        if is_about_all:
            about = list((await session.refresh()).evidence)
            if not about:
                raise click.UsageError("--all: no file is attached to this session. Attach one: --attach PATH")
        try:
            async with asyncio.timeout(timeout_seconds):
                messages = await _follow(session, question, about, status)
        except TimeoutError as error:
            raise TurnTimeoutError(
                f"no answer within {timeout_seconds:g} s; the turn was cancelled. Use a longer --timeout, "
                "or ask for less at once."
            ) from error
    return session.session_id, messages


def _reporting(name: str, status: StatusLine) -> OnProgress:
    """A callback that shows how much of a file was sent."""
    meter = Meter(name, "byte", clock=time.monotonic, every_seconds=SEND_SECONDS)

    def report(done: int, total: int) -> None:
        if (due := meter.report(done, total)) is not None:
            status.show(f"... {progress_line('sending', due)}")

    return report


async def _follow(
    session: AsyncSession, question: str, about: Sequence[SessionFile], status: StatusLine
) -> list[Message]:
    """The turn's messages; INFOs are printed as they come, how far a task is in one line that changes."""
    messages = []
    try:
        async with aclosing(session.stream(question, files=about)) as turn:
            async for message in turn:
                messages.append(message)
                if message.message_type == MessageType.INFO and message.state != State.END and message.content:
                    _show(message, status)
    finally:
        status.clear()
    return messages


def _show(info: Message, status: StatusLine) -> None:
    if info.progress:
        status.show(f"... {progress_line(info.actor, info.progress)}")
        return
    status.clear()
    echo(f"... {info.content}", err=True)
