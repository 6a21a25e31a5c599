"""session.ask awaited at a cell's top level, in real kernels and in IPython."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from svc import MessageType, Svc
from tests.support.kernels import Execution, Kernel

START = "from svc_jupyter import session"


def is_working(seen: Execution) -> bool:
    return "waiting" in seen.shown()


def test_an_awaited_question_shows_its_steps_and_is_the_cells_value(shared_kernel: Kernel):
    seen = shared_kernel.run(f"{START}\nanswer = await session.ask('count 3', new=True)\nanswer")

    steps, answer = seen.displays
    assert steps["data"]["text/plain"].startswith("3 steps, ")
    assert answer["data"]["text/markdown"] == "count 3 (after 0)"


def test_it_is_the_session_of_the_magic(shared_kernel: Kernel):
    shared_kernel.run("%svc --new echo one")

    assert "echo two (after 1)" in shared_kernel.run(f"{START}\nawait session.ask('echo two')").shown()


def test_files_and_values_are_attached(shared_kernel: Kernel, tmp_path: Path):
    (tmp_path / "a.log").write_text("x")
    code = (
        f"{START}\nfrom pathlib import Path\npath = Path({str(tmp_path / 'a.log')!r})\n"
        "await session.ask('files', new=True, attach={'rows': [{'a': 1}], 'path': path})"
    )

    seen = shared_kernel.run(code)

    assert seen.displays[-1]["data"]["text/markdown"] == "rows.jsonl (8), a.log (1)"
    assert "sending rows.jsonl: list of 1 record, 8 bytes, begins" in seen.shown()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param("session.ask('fail the upstream is away')", "AskError: the upstream is away", id="failed turn"),
        pytest.param("session.ask('wait', timeout_seconds=0.3)", "AskError: no answer within 0.3 s", id="timeout"),
        pytest.param("session.ask('q', attach=['nowhere.log'])", "AskError: no such file", id="no file"),
        pytest.param(
            "session.ask('q', attach='a.log')", "AskError: attach takes a list or a dict: ", id="a text for a list"
        ),
        pytest.param("session.ask('q', attach=['{x}'])", "AskError: no such file: ", id="braces are a name"),
    ],
)
def test_an_error_is_one_line(shared_kernel: Kernel, call: str, error: str):
    seen = shared_kernel.run(f"{START}\nawait {call}")

    assert seen.error.startswith(error)
    assert "\n" not in seen.error


def test_an_interrupt_cancels_the_turn_and_the_session_goes_on(kernel: Kernel, scripted_local: Path):
    interrupted: list[float] = []

    def interrupt() -> None:
        interrupted.append(time.monotonic())
        kernel.interrupt()

    seen = kernel.run(f"{START}\nawait session.ask('wait')", when=is_working, then=interrupt)
    seconds = time.monotonic() - interrupted[0]

    [record] = json.loads((scripted_local / "kernels.json").read_text())
    with Svc() as client:
        last = client.resume_session(record["session_id"]).history()[-1]
    assert seen.error == "Interrupted: the turn was cancelled on the service; the session continues."
    assert seen.displays[0]["data"]["text/plain"].startswith("interrupted after 1 step")
    assert (last.message_type, last.status_code) == (MessageType.ERROR, 499)
    assert seconds < 30  # the turn itself does not end
    assert "echo next" in kernel.run("await session.ask('echo next')").shown()


def test_questions_at_once_wait_for_each_other_while_the_loop_goes_on(shared_kernel: Kernel):
    code = (
        f"{START}\nimport asyncio\nticks = 0\n"
        "async def tick():\n    global ticks\n    while True:\n        ticks += 1\n        await asyncio.sleep(0.01)\n"
        "ticking = asyncio.create_task(tick())\n"
        "answers = await asyncio.gather(session.ask('count 5 20', new=True), session.ask('echo b'))\n"
        "ticking.cancel()\nprint([a.text for a in answers], ticks > 3)"
    )

    seen = shared_kernel.run(code)

    assert seen.text == "['count 5 20 (after 0)', 'echo b (after 1)'] True\n"
    assert "waiting for the previous question to finish" in seen.shown()


def test_a_terminal_awaits_too(scripted_local: Path):
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "--quick", "-c"]
    program = f"{START}\nanswer = await session.ask('count 2')\nprint(answer.text)"

    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=60)

    assert done.stdout.splitlines()[-1] == "count 2 (after 0)", done.stderr


def test_outside_of_ipython_it_says_what_to_use():
    program = f"{START}\nimport asyncio\nasyncio.run(session.ask('x'))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert "AskError: session.ask works in notebooks and IPython." in done.stderr
