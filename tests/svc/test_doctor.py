"""``svc doctor``: what is well, what is wrong and what to do, for people and as JSON; never a key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest

import svc
from svc import doctor as doctor_module
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.config import Config
from svc.doctor import examine, load_knowledge
from svc.messages import AnswerStatus
from tests.support.assistants.scripted import Crash, Slow
from tests.support.live import StartService, free_port
from tests.support.local_services import local_service_pid
from tests.support.made_keys import UNKNOWN_KEY

NOW = 1_795_200_000.0
TODAY = date(2026, 11, 20)


def doctor(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "svc.cli.main", "doctor", *words]
    environment = os.environ | {"PYTHONUTF8": "1", "COLUMNS": "200"} | environ
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def statuses(environ: dict[str, str]) -> dict[str, str]:
    return {check.name: check.status for check in examine(TODAY, NOW, environ).checks}


def environ_of(config: Config, **changes: str) -> dict[str, str]:
    return {"SVC_API_KEY": config.api_key, "SVC_BASE_URL": config.base_url} | changes


def test_with_nothing_configured_the_local_service_is_started_and_described(scripted_local: Path):
    done = doctor("--json")

    found = json.loads(done.stdout)
    assert (done.returncode, found["is_well"], found["service"]) == (0, True, "local")
    assert [check["name"] for check in found["checks"] if check["status"] == "ok"] == [
        "configuration", "local service", "service", "key", "stream", "question",
        "state folder",
    ]  # fmt: skip
    assert found["local"]["folder"] == str(scripted_local)
    assert found["local"]["log"] == str(scripted_local / "service.log")
    assert found["local"]["pid"] == local_service_pid(scripted_local)
    assert found["local"]["database_bytes"] >= (scripted_local / "service.db").stat().st_size > 0
    assert 0 <= found["local"]["age_seconds"] < 60
    sizes = [found["local"][name] for name in ("database_bytes", "log_bytes", "files_bytes", "results_bytes")]
    assert sizes[2:] == [0, 0]
    assert found["local"]["total_bytes"] >= sum(sizes)
    assert (found["version"], found["service_version"]) == (svc.__version__, svc.__version__)


def test_the_text_output_has_the_same_content(scripted_local: Path):
    done = doctor()

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith(f"svc {svc.__version__}, Python 3.")
    assert str(scripted_local / "service.log") in done.stdout
    assert done.stdout.rstrip().endswith("No problems found.")


def test_the_probe_leaves_no_session(scripted_service: Config, client: svc.Svc):
    before = {session.id for session in client.list_sessions()}

    assert statuses(environ_of(scripted_service)) == {
        "configuration": "ok", "service": "ok", "key": "ok", "stream": "ok", "question": "ok",
        "knowledge": "note",
    }  # fmt: skip
    assert {session.id for session in client.list_sessions()} == before


def test_a_hosted_service_is_shown_with_its_addresses(scripted_service: Config):
    found = examine(TODAY, NOW, environ_of(scripted_service))

    assert (found.service, found.base_url, found.ws_url) == (
        "hosted", scripted_service.base_url, scripted_service.ws_url,
    )  # fmt: skip
    assert found.local is None
    timed = {check.name for check in found.checks if check.milliseconds is not None}
    assert {"service", "key", "stream", "question"} <= timed


def test_the_key_is_never_shown(scripted_service: Config):
    environ = environ_of(scripted_service)
    shown = "".join(done.stdout + done.stderr for done in (doctor(**environ), doctor("--json", **environ)))

    assert "key of SVC_API_KEY with SHA-256" in shown
    assert scripted_service.api_key not in shown
    assert scripted_service.api_key[4:16] not in shown


def test_a_failed_check_exits_with_1_and_says_what_to_do():
    done = doctor(SVC_API_KEY=UNKNOWN_KEY, SVC_BASE_URL=f"http://127.0.0.1:{free_port()}")

    assert done.returncode == 1
    assert "Check that the service runs and the address is right." in done.stdout
    assert "1 of 4 checks found a problem." in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("environ", "wrong", "text"),
    [
        pytest.param({"SVC_BASE_URL": "https://svc.example.org"}, "configuration", "Set SVC_API_KEY", id="no-key"),
        pytest.param({"SVC_API_KEY": "svc_ x"}, "configuration", "Copy it again", id="broken-key"),
        pytest.param(
            {"SVC_API_KEY": UNKNOWN_KEY, "SVC_BASE_URL": "http://svc.example.org"}, "configuration", "Use https://",
            id="in-the-open",
        ),
    ],
)  # fmt: skip
def test_an_invalid_configuration_fails_and_skips_the_other_checks(environ: dict[str, str], wrong: str, text: str):
    found = examine(TODAY, NOW, environ)

    assert [check.name for check in found.checks if check.status == "wrong"] == [wrong]
    assert text in found.checks[0].text
    assert not found.is_well
    assert {check.name for check in found.checks} == {"configuration", "knowledge"}


def test_a_wrong_key_is_distinguished_from_an_unreachable_service(scripted_service: Config):
    key = scripted_service.api_key
    wrong = UNKNOWN_KEY
    assert key != wrong

    assert statuses(environ_of(scripted_service, SVC_API_KEY=wrong)) == {
        "configuration": "ok", "service": "ok", "key": "wrong", "knowledge": "note",
    }  # fmt: skip


def test_an_unreachable_stream_address_fails_the_check(scripted_service: Config):
    environ = environ_of(scripted_service, SVC_WS_URL=f"ws://127.0.0.1:{free_port()}")

    found = statuses(environ)
    assert (found["stream"], found["question"]) == ("wrong", "skipped")


def test_a_local_service_that_cannot_start_fails_the_check_and_names_its_log(
    scripted_local: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SVC_LOCAL_SERVE_ARGS", "--assistant no.such:Thing")

    found = examine(TODAY, NOW, {})

    wrong = {check.name: check.text for check in found.checks if check.status == "wrong"}
    assert list(wrong) == ["local service"]
    assert str(scripted_local / "service.log") in wrong["local service"]
    assert "no.such" in wrong["local service"].partition("Its last lines: ")[2]
    assert len(wrong["local service"].splitlines()) == 1
    assert found.local is not None
    assert found.local.log_bytes > 0


def test_every_knowledge_table_has_its_age():
    tables = {table.name: table for table in load_knowledge(TODAY)}

    assert {"attack", "cwe", "cvss/metrics", "file_types/magic", "publicsuffixlist", "rules"} <= set(tables)
    for table in tables.values():
        assert table.age_days == (TODAY - table.date).days
        assert table.version
        assert table.source


def test_the_tables_of_the_user_are_included(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path))
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "team.json").write_text(
        '{"source": "a team", "version": "7", "date": "2026-01-02", "rules": []}'
    )
    (tmp_path / "kev.json").write_text(
        '{"source": "CISA", "version": "8", "date": "2026-01-03", "vulnerabilities": []}'
    )

    tables = {table.name: table.version for table in load_knowledge(TODAY)}

    assert (tables["rules/team"], tables["kev"]) == ("7", "8")


def test_old_knowledge_is_noted_with_its_versions_and_does_not_fail():
    later = max(table.date for table in load_knowledge(TODAY)) + timedelta(days=366)

    found = examine(later, NOW, {"SVC_BASE_URL": "https://svc.example.org"})

    noted, tables = found.checks[-1], {table.name: table for table in load_knowledge(TODAY)}
    assert noted.status == "note"
    for name in ("attack", "cwe"):
        assert f"{name} {tables[name].version} of {tables[name].date}" in noted.text
    assert "answers from them state the date" in noted.text
    assert noted.text.endswith("Update with: svc rules update --attack FILE|URL --cwe FILE|URL --kev FILE|URL")


def test_current_knowledge_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path))
    shipped = load_knowledge(TODAY)

    found = examine(min(table.date for table in shipped), NOW, {"SVC_BASE_URL": "https://svc.example.org"}).checks[-1]

    assert "kev" in {table.name for table in shipped}
    assert found.status == "ok"
    assert "Older than a year" not in found.text


class Empty(Assistant):
    """Answers nothing."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Answer(markdown=" ")


class Refusing(Assistant):
    """Reads nothing."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Answer(markdown="I did not read it.", status=AnswerStatus.NOT_EXAMINED)


@pytest.mark.parametrize(
    ("assistant", "says"),
    [(Crash, "internal error"), (Empty, "the answer is empty"), (Refusing, "not examined"), (Slow, "within 0.5 s")],
)
def test_a_question_that_dies_fails_the_check(
    assistant: type[Assistant], says: str, start_service: StartService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doctor_module, "QUESTION_SECONDS", 0.5 if assistant is Slow else 20)
    service = start_service(assistant)

    found = examine(TODAY, NOW, {"SVC_API_KEY": service.key, "SVC_BASE_URL": service.base_url})

    assert [check.name for check in found.checks if check.status == "wrong"] == ["question"]
    (question,) = (check for check in found.checks if check.name == "question")
    assert says in question.text
    assert not found.is_well


def test_the_question_is_answered_by_the_embedded_analyst(local_state: Path):
    found = examine(TODAY, NOW, {})

    (question,) = (check for check in found.checks if check.name == "question")
    assert (question.status, question.text) == ("ok", "asked 'Who logged in?' about a log of 3 lines: answered")
    with svc.Svc() as client:
        assert client.list_sessions() == []


def test_an_installation_without_the_front_end_has_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor_module.resources, "files", lambda package: tmp_path)

    found = examine(TODAY, NOW, {"SVC_BASE_URL": "https://svc.example.org"})

    (noted,) = (check for check in found.checks if check.name == "front end")
    assert noted.status == "note"
    assert "pip install --force-reinstall svc-jupyter" in noted.text


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        ("click>=999,<1000", f"click {version('click')} (needs <1000,>=999). Repair: pip install 'click<1000,>=999'"),
        ("no-such-library>=1", "no-such-library (missing) (needs >=1)"),
        ("click>=1", None),
        ("no-such-library>=1; sys_platform == 'no-such-platform'", None),
        ("no-such-library>=1; extra == 'server'", None),
    ],
)
def test_a_library_of_another_version_is_named(requirement: str, says: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor_module, "requires", lambda name: [requirement])

    found = examine(TODAY, NOW, {"SVC_BASE_URL": "https://svc.example.org"})

    noted = [check for check in found.checks if check.name == "packages"]
    assert len(noted) == (says is not None)
    for check in noted:
        assert says in check.text
        assert check.status == "note"
