"""``svc status`` and ``svc stop``: neither starts the local service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from svc.cli.main import main
from svc.local import find, find_or_start, stop
from tests.support.live import ThreadService
from tests.support.made_keys import UNKNOWN_KEY


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_local_service_is_shown_and_stopped(local_state: Path):
    never = run("status")
    assert (never.exit_code, "is not running" in never.stdout, local_state.exists()) == (1, True, False)
    assert "is not running" in run("stop").stderr
    assert not local_state.exists()

    config = find_or_start()
    shown, as_json = run("status"), json.loads(run("status", "--json").stdout)
    assert shown.exit_code == 0
    assert f"local, {config.base_url}" in shown.stdout
    assert config.api_key not in shown.stdout + json.dumps(as_json)
    assert (as_json["kind"], as_json["is_running"], as_json["health"]) == ("local", True, "ok")
    assert as_json["models"][0]["id"] == "svc-1.1"
    assert find() == config

    stopped = run("stop")
    assert (stopped.exit_code, f"(PID {as_json['pid']})" in stopped.stderr) == (0, True)
    assert (run("status").exit_code, find(), stop()) == (1, None, None)
    assert json.loads(run("status", "--json").stdout)["base_url"] is None


def test_a_hosted_service_is_shown(service: ThreadService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_BASE_URL", service.base_url)
    monkeypatch.setenv("SVC_API_KEY", service.key)
    monkeypatch.delenv("SVC_WS_URL", raising=False)

    shown = run("status")

    assert shown.exit_code == 0
    assert f"hosted, {service.base_url}" in shown.stdout
    assert service.key not in shown.stdout


def test_a_service_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("SVC_API_KEY", UNKNOWN_KEY)

    failed = run("status")

    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "Error:" in failed.stderr
