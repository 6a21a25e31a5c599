"""OpenAI's own client for Node: each feature is honoured, or refused by its name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from svc.assistant.analyst import Analyst
from svc.service.settings import Settings
from tests.support.live import ThreadService
from tests.support.npm_packages import run
from tests.support.npm_workspace import WORKSPACE, install

SCRIPT = Path(__file__).parents[2] / "support" / "openai_matrix.mjs"
HONOURED = {
    "answer": ["chat.completion", 1, "stop", True, True],
    "headers": [True, True, "temperature, seed"],
    "models": [["svc-1.1", "svc-1.2-experimental"], "svc-1.1"],
    "conversation": True,
    "json_object": "object",
    "json_schema": {"cwe": "CWE-89"},
    "parse_helper": {"cwe": "CWE-89"},
    "required_function": ["tool_calls", None, "map", {"cwe": "CWE-89"}],
    "file": True,
    "image": "string",
    "max_tokens": "length",
    "stop": False,
    "streamed": [True, True, "stop", True],
    "stream_helper": True,
    "abort": {"error": "APIUserAbortError", "status": None, "code": None, "param": None},
}
BAD = ("BadRequestError", 400, "invalid_request")
REFUSED = {
    "stream": ("BadRequestError", 400, "stream_unsupported", "stream"),
    "n": (*BAD, "n"),
    "logprobs": (*BAD, "logprobs"),
    "logit_bias": (*BAD, "logit_bias"),
    "modalities": (*BAD, "modalities"),
    "audio": (*BAD, "audio"),
    "web_search_options": (*BAD, "web_search_options"),
    "functions": (*BAD, "functions"),
    "tools": (*BAD, "tools"),
    "tool_choice": (*BAD, "tool_choice"),
    "stops": (*BAD, "stop"),
    "schema": (*BAD, "response_format.json_schema.schema"),
    "linked_image": (*BAD, "messages[0].content[0].image_url.url"),
    "stored_file": (*BAD, "messages[0].content[0].file.file_data"),
    "model": ("NotFoundError", 404, "model_not_found", "model"),
    "key": ("AuthenticationError", 401, "invalid_api_key", None),
    "responses": ("NotFoundError", 404, "not_found", None),
    "embeddings": ("NotFoundError", 404, "not_found", None),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    install()
    project = tmp_path_factory.mktemp("project")
    shutil.copy(SCRIPT, project)
    (project / "node_modules").symlink_to(WORKSPACE / "node_modules", target_is_directory=True)
    settings = [Settings(stop_seconds=0.3), Settings(stop_seconds=0.3, chat_streaming=True)]
    plain, streaming = (ThreadService(tmp_path_factory.mktemp("service"), Analyst(), one) for one in settings)
    try:
        addresses = (plain.key, plain.base_url, streaming.base_url, streaming.key)
        return json.loads(run("node", SCRIPT.name, *addresses, cwd=project))
    finally:
        plain.stop()
        streaming.stop()


@pytest.mark.parametrize("feature", HONOURED)
def test_a_feature_is_honoured(found: dict[str, Any], feature: str):
    assert found[feature] == HONOURED[feature]


@pytest.mark.parametrize("feature", REFUSED)
def test_a_feature_is_refused_by_its_name(found: dict[str, Any], feature: str):
    refusal = found[feature]
    assert (refusal["error"], refusal["status"], refusal["code"], refusal["param"]) == REFUSED[feature]


def test_every_feature_is_expected(found: dict[str, Any]):
    assert set(found) == {*HONOURED, *REFUSED}
