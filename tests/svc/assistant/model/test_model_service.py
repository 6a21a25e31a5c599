"""The model behind a real service: from the environment to the wire, and nothing secret in between."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from svc import MessageType, Svc
from svc.assistant.model import ModelAssistant
from svc.assistant.model.tool_verdict import NOT_MENTIONED
from svc.doctor import examine_model
from svc.errors import TurnCancelledError, UpstreamError
from tests.support.fake_upstream import KEY, calls, hangs, refuses, says
from tests.support.live import live_process, wait_until

LOG = "\n".join(
    f"Nov 20 03:12:{second:02} web1 sshd[{second + 100}]: Failed password for root from 192.0.2.7 port 22 ssh2"
    for second in range(12)
)


def model_environment(upstream, **limits):
    named = {"SVC_MODEL_URL": upstream.url, "SVC_MODEL_NAME": "tiny", "SVC_MODEL_KEY": KEY, "SVC_MODEL_RETRIES": "0"}
    return named | limits


@pytest.fixture
def ask_model(start_service, configuration_of):
    """A session of a service that asks this upstream."""

    with ExitStack() as clients:

        def open_session(upstream, **limits):
            service = start_service(lambda: ModelAssistant(configuration_of(upstream, **limits)))
            client = clients.enter_context(Svc(service.key, service.base_url))
            return client.create_session(name="model")

        yield open_session


def test_a_question_over_the_wire_is_answered_by_the_model(start_upstream, ask_model):
    upstream = start_upstream(
        calls(("auth_log", {"input": "auth.log"})), says("It was `192[.]0[.]2[.]7`.", thinking="let me see")
    )
    session = ask_model(upstream)
    session.attach_file("auth.log", LOG)

    response = session.query("who was it?")

    own_text, heading, added = response.text().partition(f"\n\n**{NOT_MENTIONED}**")
    assert (own_text, bool(heading)) == ("It was `192[.]0[.]2[.]7`.", True)
    assert "root" in added
    [result] = [message for message in response.messages if message.message_type == MessageType.RESULT]
    assert result.answer_status is not None
    assert response.usage.total_tokens == 330
    kinds = {message.message_type for message in response.messages}
    assert kinds >= {MessageType.INFO, MessageType.THINKING, MessageType.SOURCE, MessageType.RESULT}
    assert [message.actor for message in response.messages if message.message_type == MessageType.RESULT] == ["model"]


def test_the_next_question_includes_the_first(start_upstream, ask_model):
    upstream = start_upstream(says("Blue."), says("I said blue."))
    session = ask_model(upstream)
    session.query("which colour?")
    session.query("what did you say?")
    assert [message["content"] for message in upstream.requests[1]["messages"][1:]] == [
        "which colour?", "Blue.\n", "what did you say?",
    ]  # fmt: skip


def test_without_fallback_the_turn_ends_with_upstream_error(start_upstream, ask_model):
    session = ask_model(start_upstream(refuses(500)), fallback=False, retries=0)
    with pytest.raises(UpstreamError, match=r"did not answer \(it returned status 500\)"):
        session.query("who was it?")


def test_a_turn_that_is_cancelled_on_the_wire_ends_the_request(start_upstream, ask_model):
    upstream = start_upstream(hangs("It"))
    session = ask_model(upstream)

    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(session.query, "who was it?")
        wait_until(lambda: upstream.requests, "the request")
        assert session.cancel()
        with pytest.raises(TurnCancelledError):
            turn.result(20)
    wait_until(lambda: upstream.gone, "the stream to be given up")


def test_a_service_started_with_the_variables_asks_the_model_and_logs_no_secret(
    start_upstream, tmp_path, local_state, monkeypatch
):
    upstream = start_upstream(refuses(401, f"the key {KEY} is wrong"))
    for name, value in model_environment(upstream).items():
        monkeypatch.setenv(name, value)

    with Svc() as client:
        response = client.create_session().query("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H for mr-secret")
    text = response.text()

    assert text.startswith(f"*The model at {upstream.host} did not answer (it does not accept the key of SVC_MODEL_KEY")
    assert "9.8" in text
    log = (local_state / "service.log").read_text()
    assert '"model did not answer"' in log
    assert KEY not in log
    assert "mr-secret" not in log


def test_a_service_in_a_process_of_its_own_answers_with_the_model(start_upstream, tmp_path):
    upstream = start_upstream(says("Hello."))
    name = "svc.assistant.model:ModelAssistant"
    with (
        live_process(tmp_path, name, **model_environment(upstream)) as service,
        Svc(service.key, service.base_url) as client,
    ):
        assert client.create_session().query("hello").text() == "Hello.\n"


def serve(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "svc.cli.main", "serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/s.db"]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_without_the_extra_the_service_says_what_to_install(start_upstream, tmp_path):
    missing = tmp_path / "pydantic_ai.py"
    missing.write_text("raise ModuleNotFoundError(\"No module named 'pydantic_ai'\", name='pydantic_ai')\n")
    done = serve(tmp_path, PYTHONPATH=str(tmp_path), **model_environment(start_upstream(says("x"))))
    assert done.returncode != 0
    assert "pydantic_ai is not installed. Run: pip install 'svc-jupyter[model]'" in done.stderr


def test_an_incomplete_model_configuration_is_rejected_at_startup(tmp_path):
    done = serve(tmp_path, SVC_MODEL_NAME="tiny")
    assert done.returncode != 0
    assert "SVC_MODEL_NAME is set, but SVC_MODEL_URL is not" in done.stderr


def test_without_a_model_its_library_is_not_imported():
    program = "import svc.service.server.serve, svc.assistant.model, sys; sys.exit('pydantic_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


MODEL_CHECKS = [
    pytest.param([says("x")], {}, "ok", "{host} responds and has tiny", id="reachable"),
    pytest.param(
        [says("x")], {"SVC_MODEL_NAME": "huge"}, "note", "{host} responds, but does not list huge", id="no such"
    ),
    pytest.param(
        [says("x")],
        {"SVC_MODEL_URL": "http://127.0.0.1:9/v1"},
        "wrong",
        "the list of models is unusable",
        id="out of reach",
    ),
    pytest.param(
        [says("x")],
        {"SVC_MODEL_REQUESTS": "x"},
        "wrong",
        "SVC_MODEL_REQUESTS='x' is not valid: it must be a whole number",
        id="bad",
    ),
]


@pytest.mark.parametrize(("script", "changes", "status", "text"), MODEL_CHECKS)
def test_doctor_says_whether_the_model_is_reachable(start_upstream, script, changes, status, text):
    upstream = start_upstream(*script)
    check = examine_model(model_environment(upstream) | changes)
    assert (check.name, check.status) == ("model", status)
    assert text.format(host=upstream.host) in check.text
    assert KEY not in check.text


def test_doctor_does_not_mention_an_unconfigured_model():
    assert examine_model({}) is None
