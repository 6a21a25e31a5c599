"""A kernel that dies while a question runs: what the next one finds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from queue import Empty

import pytest

from svc import Session, State, Svc
from tests.support.kernels import Kernel
from tests.support.live import wait_until


def outputs_of(kernel: Kernel) -> str:
    """What the cell has shown until now, and a notebook would keep."""
    shown = ""
    try:
        while True:
            message = kernel.client.get_iopub_msg(timeout=0.5)
            shown += str(message["content"].get("data", ""))
    except Empty:
        return shown


def is_under_way(session: Session) -> bool:
    return session.state == State.RUNNING_AGENT and session.num_messages > 1


@pytest.mark.slow
def test_the_question_of_a_dead_kernel_does_not_go_on(scripted_local: Path, tmp_path: Path):
    with Kernel(tmp_path / "kernel") as kernel:
        kernel.run("%load_ext svc_jupyter")
        kernel.client.execute("%svc wait for ever")
        with Svc() as client:
            wait_until(lambda: any(is_under_way(one) for one in client.list_sessions()), "the question to run")
            kept = scripted_local / "kernels.json"  # the kernel writes down which turn runs
            wait_until(lambda: kept.exists() and any(one["turn"] for one in json.loads(kept.read_text())), "the turn")
            left = outputs_of(kernel)
            kernel.restart()
            kernel.run("%load_ext svc_jupyter")
            answered = kernel.run("%svc echo again")

            assert "working" not in left
            assert re.search(r"no answer after \d+ s, asked \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", left), left
            assert answered.status == "ok", answered.error
            assert "The question that ran when the kernel ended was cancelled." in answered.shown()
            assert [one.state for one in client.list_sessions()] == [State.AGENT_DONE]
            assert [one.turns for one in client.list_sessions()] == [2]
