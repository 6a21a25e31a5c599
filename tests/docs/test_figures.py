"""Figures in the prose of the pages are those of the code."""

from __future__ import annotations

import pytest

from svc import _retry
from svc.local import IDLE_SECONDS
from svc.service.access.user_keys import MAX_KEYS
from svc.service.operations import SPARE_FILES
from svc.service.turns.turns import RESTART_NOTICE
from svc_jupyter.answers.redaction import MIN_CHARACTERS, REDACTED
from svc_jupyter.kernel import loop_thread, session_file
from svc_jupyter.magics import live_output
from svc_jupyter.report import cases, dask_executor, parameters
from tests.docs import pages

DAY_SECONDS = 86_400
NUMERALS = {1: "an hour", 4: "four", 5: "five", 10: "ten"}


@pytest.mark.parametrize(
    ("page", "figure"),
    [
        pytest.param("notebook.md", f"at least every {loop_thread.POLL_SECONDS:g} s", id="poll"),
        pytest.param("notebook.md", f"every {loop_thread.ASYNC_POLL_SECONDS:g} s", id="poll in a coroutine"),
        pytest.param("notebook.md", f"at most {loop_thread.CLOSE_SECONDS:g} s", id="leave"),
        pytest.param("notebook.md", f"at most {NUMERALS[round(1 / live_output.REDRAW_SECONDS)]} times", id="redraw"),
        pytest.param("notebook.md", f"unused for {session_file.KEEP_SECONDS // DAY_SECONDS} days", id="kernels.json"),
        pytest.param("reports.md", f"at most {parameters.SECRET_BYTES:,} bytes", id="secret"),
        pytest.param("reports.md", f"{cases.MAX_CASES:,} cases", id="cases"),
        pytest.param("reports.md", f"at most {NUMERALS[dask_executor.MAX_WORKER_DEATHS]} times", id="worker deaths"),
        pytest.param("reports.md", f"at least {NUMERALS[MIN_CHARACTERS]} characters", id="redaction"),
        pytest.param("reports.md", f"`{REDACTED}`", id="redacted"),
        pytest.param("wire.md", f"{MAX_KEYS} valid keys", id="keys"),
        pytest.param("wire.md", f'says "{RESTART_NOTICE}"', id="restarted turn"),
        pytest.param("wire.md", f"the service may add {SPARE_FILES} more", id="files"),
        pytest.param("wire.md", f"up to {_retry.MAX_DELAY_SECONDS:g} s", id="delay"),
        pytest.param("wire.md", f"after {_retry.CALL_LIMIT_SECONDS:g} s of failures", id="call"),
        pytest.param("wire.md", f"after {_retry.STREAM_LIMIT_SECONDS:g} s without a new message", id="stream"),
        pytest.param("decisions.md", f"after {NUMERALS[IDLE_SECONDS // 3_600]} without requests", id="idle"),
    ],
)
def test_the_page_has_the_figure(page: str, figure: str):
    assert figure in " ".join(pages.prose(page).split())
