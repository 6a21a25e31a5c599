"""Progress is for terminals; a notice is for everybody."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from svc import Message, MessageType, State, TaskProgress
from svc.cli.activity import Activity
from svc.messages import NOTICE_TITLE

NOTICE = Message(message_type=MessageType.INFO, title=NOTICE_TITLE, content="the model did not answer\x1b[2J")
OTHERS = (
    Message(message_type=MessageType.INFO, content="reading auth.log"),
    Message(message_type=MessageType.INFO, content="43 %", actor="a", progress=TaskProgress(task="t", done=1, total=2)),
    Message(message_type=MessageType.INFO, content="Answered.", state=State.END),
    Message(message_type=MessageType.RESULT, content="the answer"),
    Message(message_type=MessageType.INFO),
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(kind: str = "xterm") -> Iterator[Terminal]:
    """Stderr is a terminal of that kind."""
    with pytest.MonkeyPatch.context() as patch:
        stream = Terminal()
        patch.setenv("TERM", kind)
        patch.setattr("sys.stderr", stream)
        yield stream


def follow(*, is_quiet: bool) -> None:
    with Activity(is_quiet=is_quiet) as activity:
        activity.sending("a.log")(1, 2)
        for message in (*OTHERS, NOTICE):
            activity.show(message)


def test_in_a_pipe_nothing_but_a_notice_is_printed(capsys: pytest.CaptureFixture[str]):
    follow(is_quiet=False)

    assert capsys.readouterr() == ("", "the model did not answer\n")


def test_quiet_shows_no_progress_on_a_terminal():
    with terminal() as stream:
        follow(is_quiet=True)

    assert stream.getvalue() == "the model did not answer\n"


def test_on_a_terminal_one_line_is_shown_and_erased():
    with terminal() as stream, Activity() as activity:
        activity.show(OTHERS[0])
    shown = stream.getvalue()

    assert "connecting" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")
    assert "reading auth.log" in shown


def test_a_dumb_terminal_gets_no_escape_sequences():
    with terminal("dumb") as stream:
        follow(is_quiet=False)

    assert "\x1b" not in stream.getvalue()


def counted(done: int, actor: str = "auth_log") -> Message:
    progress = TaskProgress(task="auth.log", done=done, total=100, unit="byte")
    return Message(message_type=MessageType.INFO, content="…", actor=actor, progress=progress)


def note(text: str, actor: str = "auth_log", state: State = State.RUNNING_AGENT) -> Message:
    return Message(message_type=MessageType.INFO, content=text, actor=actor, state=state)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (note("read 20 lines"), "auth_log: 43 % of auth.log; read 20 lines"),
        (note("read 20 events", "events"), "read 20 events"),
        (note("reading b.log", state=State.CALLING_TOOL), "reading b.log"),
    ],
)
def test_what_counted_work_has_found_is_shown_after_its_percentage(message: Message, shown: str):
    with terminal(), Activity() as activity:
        activity.show(counted(43))
        activity.show(message)

        assert [task.description for task in activity._progress.tasks] == [shown]


def test_after_work_that_has_ended_its_percentage_is_not_shown():
    with terminal(), Activity() as activity:
        activity.show(counted(100))
        activity.show(note("read 20 lines"))

        [task] = activity._progress.tasks
        assert (task.description, task.total, task.completed) == ("read 20 lines", None, 0)


def test_the_time_goes_on_after_a_part_of_the_work_has_ended():
    with terminal(), Activity() as activity:
        activity.sending("auth.log")(100, 100)
        activity.show(counted(100))

        assert not activity._progress.tasks[0].finished
