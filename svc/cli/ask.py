"""The command ``svc ask``: asks one question; the answer goes to stdout, progress and warnings to stderr."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from svc.cli import attachments
from svc.cli.activity import Activity
from svc.cli.answer_document import AnswerDocument, answer_document
from svc.cli.answer_view import show_answer
from svc.cli.called import as_called
from svc.cli.conversation import all_findings, ask_in, attach, open_session
from svc.cli.options import language_option, model_option, quiet_option
from svc.cli.stdin_file import question_from_stdin
from svc.messages import AnswerStatus
from svc.untrusted.terminal import echo, echo_json

UNANSWERED_EXIT_CODE = 3
TERMINATED_EXIT_CODE = 128 + signal.SIGTERM  # as shells report it
NOTES = {
    AnswerStatus.PARTLY_ANSWERED: "Partly answered: the answer says what is missing.",
    AnswerStatus.NOT_ANSWERED: "Not answered: this is not a negative result.",
    AnswerStatus.NOT_EXAMINED: "Not examined: the evidence was not read; this is not a negative result.",
}
_EXAMPLE = 'svc ask "Who was brute-forced, and did anyone get in?" --attach /var/log/auth.log'


class Request(msgspec.Struct, kw_only=True, frozen=True):
    """What ``svc ask`` is asked, except for the question and the files."""

    session_id: str | None = None
    is_continued: bool = False
    model: str | None = None
    language: str | None = None
    is_about_all: bool = False
    timeout_seconds: float | None = None
    is_quiet: bool = False


@click.command()
@click.argument("words", metavar="[QUESTION]", nargs=-1)
@click.option(
    "-a",
    "--attach",
    "files",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=str, allow_dash=True),
    help='Attach a file, an archive, a folder, a quoted pattern ("logs/*.log"), or - for stdin (repeatable).',
)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Continue your last session on this machine.")
@click.option("--session", "session_id", metavar="ID", help="Continue session ID (svc sessions list shows them).")
@model_option
@language_option
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
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: session_id, question, status, answer, findings, indicators, coverage, messages.",
)
@quiet_option
def ask(words: tuple[str, ...], files: tuple[str, ...], *, as_json: bool, **request: object) -> None:
    """Ask a question and print the answer.

    QUESTION may be "-", or omitted, to read it from stdin. If it is an argument and nothing else is attached, what is
    piped in is attached as "stdin".

    A question with --attach is about these files only; one without means the latest files of its session. Each member
    of an archive or a folder is read by the tool for its kind.

    \b
      svc ask --attach /var/log/auth.log "Who was brute-forced, and did anyone get in?"
      svc ask --attach case.zip --attach "logs/*.log" "What happened on this host?"
      svc ask --continue "And what did that address do next?"
      journalctl -u ssh | svc ask "Who got in?"
      svc ask --json - < question.txt
      svc ask "Indicators as JSON" --attach report.txt | jq -r ".[].value"

    The answer goes to stdout: rendered on a terminal, otherwise Markdown. An answer that is only data, such as JSON or
    CSV, is printed as it is. Progress is shown on a terminal only; warnings and errors go to stderr.

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.

    Exit codes: 0 answered or partly answered (stderr says which), 1 failed, 2 usage error, 3 not answered or not
    examined, 130 interrupted, 143 terminated (the question is cancelled).
    """
    asked = msgspec.convert(request, Request)
    check_session_options(
        session_id=asked.session_id, is_continued=asked.is_continued, model=asked.model, language=asked.language
    )
    question, is_piped = _question(words, files)
    with attachments.attachments(files, is_stdin_wanted=not is_piped) as paths:
        try:
            document = asyncio.run(_ask(question, paths, asked))
        except KeyboardInterrupt:
            echo("interrupted; the question was cancelled", err=True)
            sys.exit(130)
        except asyncio.CancelledError:
            echo("terminated; the question was cancelled", err=True)
            sys.exit(TERMINATED_EXIT_CODE)
    if as_json:
        echo_json(document)
    else:
        show_answer(document.answer)
    _finish(document, is_hint_wanted=not as_json and not asked.is_quiet)


def check_session_options(
    *, session_id: str | None, is_continued: bool, model: str | None, language: str | None
) -> None:
    """Raise click.UsageError for options that cannot be combined: what a session has stays as it is."""
    if session_id and is_continued:
        raise click.UsageError("--session and --continue exclude each other")
    if (session_id or is_continued) and (model or language):
        raise click.UsageError("--model and --language are those of a new session; omit --session and --continue")


def _question(words: Sequence[str], files: Sequence[str]) -> tuple[str, bool]:
    """The question, and whether it was read from stdin."""
    if len(words) > 1:
        raise click.UsageError(_too_many(words))
    is_explicit = words == ("-",)
    is_piped = is_explicit or not words
    if is_piped and attachments.STDIN in files:
        raise click.UsageError("only one of QUESTION and --attach can be read from stdin (-)")
    question = question_from_stdin(is_explicit=is_explicit) if is_piped else words[0]
    if not question.strip():
        problem = "the question is empty" if words else "Missing argument 'QUESTION'"
        raise click.UsageError(f"{problem}. Example: {_EXAMPLE}")
    return question, is_piped


def _too_many(words: Sequence[str]) -> str:
    files = [word for word in words if attachments.is_file_here(word)]
    if not files:
        return f'QUESTION must be one argument: put quotes around it: svc ask "{" ".join(words)}"'
    return (
        f"{files[0]} is a file. Did you mean {attachments.attach_hint(files[0])}? Put quotes around a pattern, so that "
        '--attach gets all of it: --attach "logs/*.log"'
    )


def _hint(question: str, attached: Sequence[str]) -> None:
    """A file that the question names is not attached by that."""
    for word in attachments.unattached_files(question, attached):
        echo(f"{word} is not attached. Did you mean {attachments.attach_hint(word)}?", err=True)


@contextlib.contextmanager
def _cancelled_by_sigterm() -> Iterator[None]:
    """Cancel the running task at the first SIGTERM, so that its question is cancelled at the service; the second kills.

    On Windows, where no loop handles signals, a process is ended without notice.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        if task is not None:
            task.cancel()

    try:
        loop.add_signal_handler(signal.SIGTERM, cancel)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows; not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


def _show_partial(answer: str) -> None:
    """Show what a cancelled question found, unless the caller expects JSON."""
    echo("cancelled; what was found until then:", err=True)
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("as_json"):
        show_answer(answer)


async def _ask(question: str, files: Sequence[tuple[Path, str]], asked: Request) -> AnswerDocument:
    from svc.client import AsyncSvc  # the networking libraries are imported when a command needs them

    with _cancelled_by_sigterm(), Activity(is_quiet=asked.is_quiet) as activity:
        async with AsyncSvc() as client:
            session = await open_session(
                client,
                session_id=asked.session_id,
                is_continued=asked.is_continued,
                model=asked.model,
                language=asked.language,
            )
            with activity.paused():
                _hint(question, [name for _, name in files] + [file.name for file in session.files])
            about = await attach(session, files, activity)
            if asked.is_about_all:
                about = list((await session.refresh()).evidence)
                if not about:
                    raise click.UsageError("--all: no file is attached to this session. Attach one: --attach PATH")
            messages = await ask_in(
                session, question, about, activity, asked.timeout_seconds, show_partial=_show_partial
            )
            findings = await all_findings(session, messages)
    return answer_document(session.session_id, question, messages, findings)


def _finish(document: AnswerDocument, *, is_hint_wanted: bool) -> None:
    """Warn about an answer that is not one, and exit accordingly."""
    if document.status in NOTES:
        echo(NOTES[document.status], err=True)
    if is_hint_wanted and sys.stdout.isatty() and sys.stderr.isatty():
        echo(as_called(f'Continue with: svc ask --continue "…"   (session {document.session_id})'), err=True)
    if document.status in (AnswerStatus.NOT_ANSWERED, AnswerStatus.NOT_EXAMINED):
        sys.exit(UNANSWERED_EXIT_CODE)
