"""%svc and %%svc in real kernels, over a real local service with a scripted assistant."""

from __future__ import annotations

import html
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError

from svc import InteractiveSession, MessageType, Svc
from tests.support.kernels import Execution, Kernel, execute, notebook_of


def is_working(seen: Execution) -> bool:
    return "waiting" in seen.shown()


SessionOf = Callable[[], InteractiveSession]


@pytest.fixture
def session(scripted_local: Path) -> Iterator[SessionOf]:
    """The kernel's one session, as the SDK sees it beside the kernel; there is one after the first question."""
    with ExitStack() as stack:

        def resume() -> InteractiveSession:
            [record] = json.loads((scripted_local / "kernels.json").read_text())
            return stack.enter_context(Svc()).resume_session(record["session_id"])

        yield resume


def test_a_cell_shows_its_steps_and_then_its_answer(shared_kernel: Kernel):
    seen = shared_kernel.run("%%svc --new --into answer\ncount 3")
    kernel_text = shared_kernel.run("print(answer.text, len(answer.messages), sep='|')").text

    steps, answer = seen.displays
    assert seen.status == "ok"
    assert steps["data"]["text/plain"].startswith("3 steps, ")
    assert steps["data"]["text/html"].startswith("<details><summary>3 steps, ")
    assert answer["data"]["text/markdown"] == "count 3 (after 0)"
    assert kernel_text == "count 3 (after 0)|5\n"


def test_an_answer_that_examined_nothing_is_marked_in_its_cell_its_variable_and_the_transcript(
    kernel: Kernel, tmp_path: Path
):
    (tmp_path / "empty.log").touch()
    asked = f"%%svc --new --into answer --attach {tmp_path}/empty.log\nstatus not_examined **No failed login.**"
    shown = kernel.run(asked).displays[-1]["data"]
    told = kernel.run("print(answer.status, answer.coverage[0]['state'], answer.coverage[0]['name'], answer.raw)").text
    panel = kernel.run("%svc panel").displays[-1]["data"]
    history = kernel.run("%svc history").displays[-1]["data"]["text/plain"]

    notice = "⚠ **Not examined.** The evidence was not read: this is not a negative result."
    assert shown["text/markdown"] == f"{notice}\n\n**No failed login.**"
    assert shown["text/plain"].startswith("⚠ Not examined. ")
    assert told == "not_examined not examined empty.log **No failed login.**\n"
    assert notice in panel["text/markdown"]
    assert "not examined" in history


def test_a_line_asks_and_the_session_goes_on(kernel: Kernel):
    kernel.run("%svc echo one")
    seen = kernel.run('%svc echo "two" {braces} $HOME \\n # what?')

    assert seen.displays[-1]["data"]["application/vnd.svc.answer+json"]["text"] == (
        'echo "two" {braces} $HOME \\n # what? (after 1)'
    )


def test_every_line_of_a_cell_is_shown(shared_kernel: Kernel):
    seen = shared_kernel.run("%svc --new echo one\n%svc echo two")

    assert [d["data"]["text/markdown"] for d in seen.displays if "text/markdown" in d["data"]] == [
        "echo one (after 0)",
        "echo two (after 1)",
    ]


def test_a_fresh_session_knows_nothing(kernel: Kernel):
    kernel.run("%svc echo one")

    assert "echo two (after 0)" in kernel.run("%svc --new echo two").shown()


def test_another_model_starts_a_fresh_session_and_says_so(shared_kernel: Kernel):
    shared_kernel.run("%svc --new --model stable echo one")
    same = shared_kernel.run("%svc --model svc-1.1 echo two").shown()
    other = shared_kernel.run("%svc --model svc-1.2-experimental echo three").shown()

    assert "(after 1)" in same
    assert "Started a new session: the previous one uses svc-1.1." in other
    assert "(after 0)" in other


def test_values_are_filled_in_once_and_only_when_asked(shared_kernel: Kernel):
    shared_kernel.run("a, b = '{b}', 'secret'")

    assert "echo {a} (after 0)" in shared_kernel.run("%svc --new echo {a}").shown()
    assert "echo {b} (after 1)" in shared_kernel.run("%svc --fill echo {a}").shown()
    assert "echo secret (after 2)" in shared_kernel.run("def f(b):\n    %svc --fill echo {b}\nf(b)").shown()
    assert shared_kernel.run("%svc --fill echo {nothing}").error.startswith("AskError: --fill: no variable nothing.")


def test_a_file_is_attached_once_and_replaced_by_other_content(kernel: Kernel, tmp_path: Path):
    log = tmp_path / "a b.log"
    log.write_text("one")
    first = kernel.run(f'%svc --attach "{log}" --attach {{b"xyz"}} files')
    kernel.run("data = b'xyz'")
    second = kernel.run(f'%svc --attach "{log}" --attach {{data}} files')
    third = kernel.run(f'%svc --attach "{log}" files')
    log.write_text("other")
    fourth = kernel.run(f'%svc --attach "{log}" files')

    assert first.error.startswith("AskError: --attach")
    assert second.displays[-1]["data"]["text/markdown"] == "a b.log (3), data (3)"
    assert third.displays[-1]["data"]["text/markdown"] == "a b.log (3)"
    assert fourth.displays[-1]["data"]["text/markdown"] == "a b.log (5)"
    assert "a b.log changed since it was attached" in fourth.shown()


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        pytest.param("%svc --attach nowhere.log q", "AskError: no such file: nowhere.log (in ", id="no file"),
        pytest.param("%svc --atach x q", "AskError: unknown option --atach. Did you mean --attach?", id="no option"),
        pytest.param("%svc --new", "AskError: the question is missing.", id="no question"),
        pytest.param(
            "%svc sesion lst", "AskError: no such command. Did you mean %svc session list [TEXT]?", id="mistyped"
        ),
        pytest.param("%%svc\n\n", "AskError: the question is missing.", id="empty cell"),
        pytest.param("%svc --model nonesuch q", "AskError: ", id="no model"),
        pytest.param("%svc fail the upstream is away", "AskError: the upstream is away", id="failed turn"),
        pytest.param(
            "%svc --timeout 0.3 wait", "AskError: no answer within 0.3 s; the turn was cancelled.", id="timeout"
        ),
    ],
)
def test_an_error_is_one_line_and_the_next_question_works(shared_kernel: Kernel, cell: str, error: str):
    seen = shared_kernel.run(cell)

    assert seen.status == "error"
    assert seen.error.startswith(error)
    assert "\n" not in seen.error
    assert shared_kernel.run("%svc echo again").status == "ok"


@pytest.mark.parametrize("line", ["%svc", "%svc help", "%svc --help"])
def test_help_shows_options_and_examples(shared_kernel: Kernel, line: str):
    text = shared_kernel.run(line).text

    for part in (
        "--attach FILE",
        "--into NAME",
        "--timeout SECONDS",
        "%%svc --attach /var/log/auth.log --into answer",
        "%svc session resume [ID] ",
    ):
        assert part in text


def test_a_line_gives_its_answer_and_shows_it_once(shared_kernel: Kernel):
    def answers(code: str) -> list[str]:
        data = [display["data"] for display in shared_kernel.run(code).displays]
        return [one["text/markdown"] for one in data if "application/vnd.svc.answer+json" in one]

    for code in ("%svc --new echo a", "answer = %svc --new echo a", "answer = %svc --new echo a\nanswer",
                 "for one in [1]:\n    answer = %svc --new echo a", "%%svc --new --into answer\necho a"):  # fmt: skip
        assert answers(code) == ["echo a (after 0)"]
    assert answers("answer") == answers("display(answer)") == ["echo a (after 0)"]
    assert answers("display(answer, answer)") == ["echo a (after 0)"] * 2
    assert shared_kernel.run("print(type(answer).__name__, type(_).__name__)").text == "Answer Answer\n"
    assert shared_kernel.run("known = %svc session\nprint(known)").text.endswith("None\n")


@pytest.mark.parametrize("line", ["%%svc?", "%svc?"])
def test_a_question_mark_shows_examples(shared_kernel: Kernel, line: str):
    shown = shared_kernel.run(line).pages[0]["data"]["text/plain"]

    for part in ("--attach FILE", "%%svc --attach /var/log/auth.log --into answer", "%svc session list"):
        assert part in shown


def test_commands_are_carried_out_and_what_is_none_is_asked(shared_kernel: Kernel):
    made = shared_kernel.run("%svc session new 'Ticket 4711'")
    asked = shared_kernel.run("%svc session hijacking in this log?")
    renamed = shared_kernel.run("%svc session rename other")
    failed = shared_kernel.run("%svc session resume abcdef")

    assert "Ticket 4711" in made.displays[0]["data"]["text/plain"]
    assert "<table>" in made.displays[0]["data"]["text/html"]
    assert asked.displays[-1]["data"]["text/markdown"] == "session hijacking in this log? (after 0)"
    assert renamed.text == "Renamed the session to 'other'.\n"
    assert failed.error.startswith("AskError: no session has the ID or name 'abcdef'.")


def test_a_resumed_session_is_found_after_a_restart(kernel: Kernel):
    kernel.run("%svc session new first\n%svc echo one\n%svc session new second")
    kernel.run("%svc session resume 'first'")
    kernel.restart()

    assert "echo two (after 1)" in kernel.run("%svc echo two").shown()


def test_another_model_stays_for_new_sessions(shared_kernel: Kernel):
    shared_kernel.run("%svc model experimental")

    assert "svc-1.2-experimental" in shared_kernel.run("%svc session new\n").shown()
    shared_kernel.run("%config SvcMagics.model = None")


def test_an_answer_for_the_cell_below_says_so_beside_its_data(shared_kernel: Kernel):
    plain = shared_kernel.run("%svc --new echo one").displays[-1]
    below = shared_kernel.run("%svc --new --cell echo one").displays[-1]

    assert below["data"] == plain["data"]
    assert below["metadata"]["application/vnd.svc.answer+json"]["place"] == "cell_below"
    assert "place" not in plain["metadata"]["application/vnd.svc.answer+json"]
    assert below["metadata"]["application/vnd.svc.answer+json"]["turn"]


def test_a_variable_is_previewed_before_it_is_sent(shared_kernel: Kernel):
    seen = shared_kernel.run("rows = [{'a': 1}, {'a': 2}]\n%svc --new --attach {rows} files")

    assert 'sending rows.jsonl: list of 2 records, 16 bytes, begins {"a":1} {"a":2}' in html.unescape(seen.shown())
    assert seen.displays[-1]["data"]["text/markdown"] == "rows.jsonl (16)"


def test_an_interrupt_cancels_the_turn_on_the_service(kernel: Kernel, session: SessionOf):
    seen = kernel.run("%svc wait", when=is_working, then=kernel.interrupt)

    last = session().history()[-1]
    assert seen.error == "Interrupted: the turn was cancelled on the service; the session continues."
    assert seen.displays[0]["data"]["text/plain"].startswith("interrupted after 1 step")
    assert (last.message_type, last.status_code) == (MessageType.ERROR, 499)
    assert "echo next" in kernel.run("%svc echo next").shown()


ANSWER = "application/vnd.svc.answer+json"
MARK = "⚠ Partial answer. The question was cancelled before all evidence was read: this is not a negative result."


@pytest.mark.parametrize("is_cell", [True, False], ids=["cell", "awaited"])
def test_an_interrupted_cell_keeps_what_was_found_marked_as_partial(kernel: Kernel, *, is_cell: bool):
    asking = "%%svc --into found\nstop" if is_cell else "from svc_jupyter import session\nawait session.ask('stop')"

    seen = kernel.run(asking, when=is_working, then=kernel.interrupt)

    assert seen.status == "error"
    assert seen.error.startswith("Interrupted: the turn was cancelled on the service; what it had found until then")
    [shown] = [one for one in seen.displays if ANSWER in one["data"]]
    assert shown["data"]["text/plain"].startswith(f"{MARK}\n\n1 failed login in 2 of 9 lines")
    assert shown["data"]["text/markdown"].startswith("⚠ **Partial answer.**")
    assert shown["data"][ANSWER]["is_partial"] is True
    assert shown["data"][ANSWER]["status"] == "partly_answered"
    if is_cell:
        again = kernel.run("print(found.is_partial, found.text.splitlines()[0])\nfound")
        assert again.text == f"True {MARK}\n"
        assert again.displays[-1]["data"]["text/markdown"].startswith("⚠ **Partial answer.**")
    [whole] = [one for one in kernel.run("%%svc\necho next").displays if ANSWER in one["data"]]
    assert "is_partial" not in whole["data"][ANSWER]
    assert "Partial" not in whole["data"]["text/plain"]


def test_eight_thousand_steps_are_drawn_a_few_times(shared_kernel: Kernel):
    seen = shared_kernel.run("%svc --new count 8000")

    seconds = float(seen.displays[0]["data"]["text/plain"].removesuffix(" s").rpartition(" ")[2])
    assert seen.displays[0]["data"]["text/plain"].startswith("8,000 steps, ")
    assert seen.displays[-1]["data"]["text/markdown"] == "count 8000 (after 0)"
    assert seen.updates <= 10 * seconds + 3


@pytest.mark.slow
def test_a_killed_service_is_started_again_and_the_turn_is_answered(
    kernel: Kernel, scripted_local: Path, session: SessionOf
):
    def kill() -> None:
        os.kill(json.loads((scripted_local / "service.json").read_text())["pid"], signal.SIGKILL)

    seen = kernel.run("%svc count 40 50", when=lambda seen: "   0." in seen.shown(), then=kill)
    again = kernel.run("%svc count 3")

    assert seen.status == "ok" or seen.error.startswith("AskError: ")
    assert again.displays[-1]["data"]["text/markdown"].startswith("count 3 (after ")
    history = session().history()
    assert [message.seq for message in history] == list(range(1, len(history) + 1))


def test_a_restarted_kernel_finds_its_session(kernel: Kernel):
    kernel.run("%svc echo one")
    kernel.restart()

    assert "echo two (after 1)" in kernel.run("%svc echo two").shown()


@pytest.mark.slow
def test_two_kernels_have_sessions_of_their_own(kernel: Kernel, tmp_path: Path):
    with Kernel(tmp_path / "other") as other:
        kernel.run("%svc echo one")
        seen = other.run("%svc echo two")

    assert "echo two (after 0)" in seen.shown()


@pytest.mark.slow
def test_a_deleted_session_is_replaced_and_said_so(kernel: Kernel, session: SessionOf):
    kernel.run("%svc echo one")
    session().delete()

    seen = kernel.run("%svc echo two")

    assert "Started a new session" in seen.shown()
    assert "echo two (after 0)" in seen.shown()


def test_in_batch_there_are_two_displays_that_never_vary(scripted_local: Path, tmp_path: Path):
    first = execute(notebook_of("%%svc\ncount 3"), tmp_path)
    second = execute(notebook_of("%%svc\ncount 3"), tmp_path)

    steps, answer = first.cells[1].outputs
    assert [o.data for o in first.cells[1].outputs] == [o.data for o in second.cells[1].outputs]
    assert steps.data["text/plain"] == "3 steps"
    assert answer.data["text/markdown"] == "count 3 (after 0)"


def test_in_batch_a_failed_question_fails_the_run(scripted_local: Path, tmp_path: Path):
    notebook = notebook_of("%svc fail as the test wants", "print('never')")

    with pytest.raises(CellExecutionError, match="AskError: as the test wants"):
        execute(notebook, tmp_path)

    assert notebook.cells[1].outputs[-1].ename == "AskError"
    assert notebook.cells[2].outputs == []


FRAME = (
    "import pandas\nframe = pandas.DataFrame({'n': range(600_000), 'text': 'x'})\n"
    "from svc_jupyter import session\n"
    "import svc._folder_stream, time\n_read = svc._folder_stream._CountedBody.read\n"
    "def _slow(self, size=-1):\n    time.sleep(0.1)\n    return _read(self, size)\n"
    "svc._folder_stream._CountedBody.read = _slow"
)
ASKED_NOTHING = "Interrupted: nothing was asked; the session continues."


@pytest.mark.parametrize("call", ["%svc --attach {frame} files", "await session.ask('files', attach={'frame': frame})"])
@pytest.mark.parametrize("phase", ["converting", "sending"])
def test_an_interrupt_before_the_question_is_sent_says_that_nothing_was_asked(
    shared_kernel: Kernel, call: str, phase: str
):
    shared_kernel.run(FRAME)
    shared_kernel.run("%svc --new echo a")

    seen = shared_kernel.run(call, when=lambda seen: f"{phase}: " in seen.shown(), then=shared_kernel.interrupt)

    assert seen.error == ASKED_NOTHING
    last = seen.displays[0]["data"]
    assert last["text/plain"].startswith("interrupted after ")
    assert re.search(rf"{phase}: \d+ % of frame\.csv</pre>", last["text/html"])
    assert "0 files attached" in shared_kernel.run("%svc files").shown()
    assert "echo next (after 1)" in shared_kernel.run("%svc echo next").shown()
