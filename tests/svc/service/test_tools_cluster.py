"""``svc serve --tools``: the setting is checked, and a question is answered as without it."""

from __future__ import annotations

from pathlib import Path

import pytest

import svc
from svc.assistant.analyst import Analyst
from svc.errors import ConfigError
from svc.messages import MessageType
from svc.service.app import build
from svc.service.settings import Settings, settings_from
from tests.support.assistants.scripted import Echo
from tests.support.dask_processes import dask_scheduler, dask_workers
from tests.support.live import ProcessService
from tests.support.part_logs import log_of

QUESTION = "was there an attack?"


@pytest.mark.parametrize("text", ["dask://10.0.0.5:8786", "dask+tls://dask.example.org:8786"])
def test_the_address_of_a_cluster_is_a_setting(text):
    assert settings_from({"SVC_TOOLS": text}).tools == text


@pytest.mark.parametrize("text", ["tcp://a:1", "dask://a", "dask://me:pw@a:1"])
def test_another_address_is_refused(text):
    with pytest.raises(ConfigError, match=f"--tools='{text}' is not valid"):
        settings_from({}, {"tools": text})


def test_an_assistant_without_tools_of_its_own_refuses_a_cluster(tmp_path):
    with pytest.raises(ConfigError, match="runs no tools on a cluster; leave --tools out"):
        build(Echo(), database=tmp_path / "db", settings=Settings(tools="dask://127.0.0.1:1"))
    build(Analyst(), database=tmp_path / "db", settings=Settings(tools="dask://127.0.0.1:1"))


def answer_of(service: ProcessService, folder: Path, *, is_logged: bool) -> tuple[str, list[str]]:
    """The answer, and the findings as they are sent."""
    with svc.Svc(service.key, service.base_url) as client:
        session = client.create_session(log_session=is_logged)
        for name in ("auth.log", "winlogbeat.jsonl"):
            session.attach_file_from_disk(folder / name)
        response = session.query(QUESTION)
        return response.text(), [one.content for one in response.messages if one.message_type is MessageType.SOURCE]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_service_with_a_cluster_answers_as_one_without(tmp_path):
    for name in ("auth.log", "winlogbeat.jsonl"):
        (tmp_path / name).write_bytes(log_of(name, 300, seed=3))
    with dask_scheduler(tmp_path) as scheduler, dask_workers(scheduler, tmp_path):
        (tmp_path / "remote").mkdir()
        (tmp_path / "local").mkdir()
        address = scheduler.replace("tcp", "dask")
        remote = ProcessService(tmp_path / "remote", "svc.assistant.analyst:Analyst", SVC_TOOLS=address)
        local = ProcessService(tmp_path / "local", "svc.assistant.analyst:Analyst")
        try:
            expected = answer_of(local, tmp_path, is_logged=True)
            assert expected[1]
            assert answer_of(remote, tmp_path, is_logged=True) == expected
            assert answer_of(remote, tmp_path, is_logged=False) == expected
        finally:
            for service in (remote, local):
                service.process.terminate()
                service.process.wait(60)
