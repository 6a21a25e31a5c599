"""Schemas and messages of programs that want data: the answer parses, matches and holds what was asked for."""

import json
from collections.abc import Iterator

import jsonschema
import openai
import pytest

from svc.assistant.analyst import Analyst
from svc.service.settings import Settings
from tests.support.answer_schemas import HELD, OPEN, AnswerSchema
from tests.support.live import ThreadService

ORDER = """
            As a genius expert, your task is to understand the content and provide
            the parsed objects in json that match the following json_schema:


            {schema}

            Make sure to return an instance of the JSON, not the schema itself
"""
FENCE = "\n\nReturn the correct JSON response within a ```json codeblock. not the JSON_SCHEMA"
RETRY = "Correct your JSON ONLY RESPONSE, based on the following errors:\n1 validation error for Answer"
SHAPE = {
    "properties": {"cwe": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "reason": {"type": "string"}},
    "required": ["cwe", "reason"],
    "title": "Answer",
    "type": "object",
}
FLAW = "Map this to a CWE: the login form concatenates user input into an SQL query, which allows SQL injection."


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    service = ThreadService(tmp_path_factory.mktemp("service"), Analyst(), Settings(stop_seconds=0.3))
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as made:
        yield made
    service.stop()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in (*OPEN, *HELD)])
def test_the_answer_matches_the_schema_and_holds_the_facts(client: openai.OpenAI, case: AnswerSchema):
    [answer] = client.chat.completions.create(
        model="stable",
        messages=[{"role": "user", "content": case.question}],
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": case.schema, "strict": True}},
    ).choices
    assert answer.message.refusal is None
    data = json.loads(answer.message.content)
    jsonschema.validate(data, case.schema)
    assert case.facts(data), data


def asked(client: openai.OpenAI, *messages: tuple[str, str]) -> str:
    conversation = [{"role": role, "content": content} for role, content in messages]
    [answer] = client.chat.completions.create(model="stable", messages=conversation).choices
    return answer.message.content


def test_a_schema_of_the_system_message_holds_for_a_question_that_asks_for_json(client: openai.OpenAI):
    order = ("system", ORDER.format(schema=json.dumps(SHAPE, indent=2)))
    fenced = asked(client, order, ("user", FLAW + FENCE))
    assert fenced.startswith("```json\n")
    assert json.loads(fenced.removeprefix("```json").strip().removesuffix("```"))["cwe"] == "CWE-89"

    again = asked(client, order, ("user", FLAW + FENCE), ("assistant", fenced), ("user", RETRY))
    assert again == fenced

    bare = asked(client, order, ("user", FLAW + " Answer in JSON."))
    assert json.loads(bare)["cwe"] == "CWE-89"


def test_a_complaint_about_prose_is_a_question_like_any_other(client: openai.OpenAI):
    first = asked(client, ("user", FLAW))
    again = asked(client, ("user", FLAW), ("assistant", first), ("user", RETRY))
    assert again != first
