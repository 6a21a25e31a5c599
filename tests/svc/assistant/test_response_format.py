"""A client's schema is checked before it is used, and an answer is validated against it in bounded time."""

import subprocess
import sys
import time

import pytest

from svc.assistant.response_format import (
    MAX_DEPTH,
    REQUIRED_OBJECT,
    REQUIRED_SCHEMA,
    UnsupportedSchemaError,
    answer_problem,
    check_schema,
    problem_of,
)


def chain(depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def doubling(levels):
    """A schema whose references double at each level."""
    named = {
        f"l{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/l{n + 1}"} for side in "ab"}}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/l0", "$defs": named | {f"l{levels}": {"type": "string"}}}


REFUSED = [
    pytest.param([], "it must be an object", id="no object"),
    pytest.param({"type": "text"}, "'text', which is not a type", id="type"),
    pytest.param({"properties": []}, "schema.properties must be an object", id="properties"),
    pytest.param({"type": "object", "required": "cwe"}, "schema.required is not valid", id="required"),
    pytest.param({"if": {}}, "uses the keyword 'if', which is not supported", id="keyword"),
    pytest.param({"$ref": "https://schemas.example/a.json"}, "must refer to a part of this schema", id="remote"),
    pytest.param({"$ref": "#/$defs/a"}, "which the schema does not have", id="dangling"),
    pytest.param({"$ref": "#"}, "is recursive", id="recursive"),
    pytest.param(
        {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "is recursive", id="recursive part"
    ),
    pytest.param(chain(MAX_DEPTH + 5), "is nested deeper than 20 levels", id="deep"),
    pytest.param(chain(3_000), "nested", id="very deep"),
    pytest.param(doubling(18), "more than 5,000 parts", id="doubling"),
    pytest.param({"description": "x" * 60_000}, "the limit is 50,000", id="long"),
    pytest.param({"type": "string", "pattern": "(a+)+$"}, "is too complex", id="pattern"),
    pytest.param({"type": "string", "pattern": "a?" * 30 + "a" * 30}, "is too complex", id="optional pattern"),
    pytest.param({"type": "string", "pattern": "("}, "not a valid regular expression", id="no pattern"),
]


@pytest.mark.parametrize(("schema", "reason"), REFUSED)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema, reason):
    start = time.process_time()
    with pytest.raises(UnsupportedSchemaError, match=reason.replace("$", r"\$")):
        check_schema(schema)
    assert time.process_time() - start < 2


def test_references_and_notes_are_resolved():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Finding",
        "$defs": {"id": {"type": "string", "pattern": r"^CWE-\d+$", "description": "a CWE"}},
        "type": "object",
        "properties": {"cwe": {"$ref": "#/$defs/id"}},
    }
    resolved = check_schema(schema)
    assert resolved == {"type": "object", "properties": {"cwe": {"type": "string", "pattern": r"^CWE-\d+$"}}}
    assert problem_of(resolved, {"cwe": "CWE-79"}) == ""
    assert problem_of(resolved, {"cwe": "T1059"}) == "the value at $.cwe does not match `pattern`"


@pytest.mark.parametrize(
    ("instructions", "answer", "problem"),
    [
        ("Be brief.", "**No.**", ""),
        (f"Be brief.\n\n{REQUIRED_OBJECT}", '{"a": 1}', ""),
        (REQUIRED_OBJECT, "[1]", "it is not a JSON object"),
        (REQUIRED_OBJECT, '```json\n{"a": 1}\n```', "it is not JSON"),
        (f'{REQUIRED_SCHEMA}\n{{"type": "integer"}}', "3", ""),
        (f'{REQUIRED_SCHEMA}\n{{"type": "integer"}}', '"3"', "the value at $ does not match `type`"),
    ],
)
def test_an_answer_is_validated_against_what_the_instructions_require(instructions, answer, problem):
    assert answer_problem(instructions, answer) == problem


def test_a_service_starts_without_the_library_that_checks_schemas():
    program = "import svc.service.server.serve, sys; sys.exit('jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
