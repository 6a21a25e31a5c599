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
    pytest.param({"$ref": "#"}, "refers to nothing but itself", id="itself"),
    pytest.param(
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "refers to nothing but itself",
        id="each other",
    ),
    pytest.param({"allOf": {}}, "schema.allOf must be a list", id="all of nothing"),
    pytest.param({"allOf": [{"type": "string"}, {"type": "null"}]}, "parts that differ in 'type'", id="conflict"),
    pytest.param(
        {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}]},
        "parts that differ in 'additionalProperties'",
        id="closed part",
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


TREE = {"properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}}}
TWICE = {
    "anyOf": [{"properties": {"in": {"$ref": "#"}}, "required": [name], "type": "object"} for name in ("in", "out")]
}


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"in": value}
    return value


def test_a_schema_that_refers_to_itself_is_checked_at_each_level():
    tree = check_schema(TREE)
    assert problem_of(tree, {"name": "a", "children": [{"name": "b", "children": []}]}) == ""
    wrong = {"name": "a", "children": [{"name": "b", "children": [{"name": 3}]}]}
    assert problem_of(tree, wrong) == "the value at $.children.0.children.0.name does not match `type`"


def test_a_union_of_parts_that_refer_to_themselves_takes_no_doubling_time():
    schema = check_schema(TWICE)
    short, long = (measured(lambda levels=levels: problem_of(schema, nested(levels))) for levels in (10, 20))
    assert long < 50 * short  # each level twice would be 1,000 times as long
    assert problem_of(schema, nested(20)) == "the value at $ does not match `anyOf`"
    assert problem_of(schema, nested(900)) == "the value is nested too deeply"


def measured(work):
    start = time.process_time()
    work()
    return max(time.process_time() - start, 0.001)


def test_parts_are_joined():
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = check_schema(
        {"$defs": {"named": named}, "allOf": [{"$ref": "#/$defs/named"}, {"properties": {"size": {"type": "integer"}}}]}
    )
    assert schema == named | {"properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date-time", "2026-03-03T04:13:05Z", "--03-03T04:13:05"),
        ("date-time", "2026-03-03T04:13:05", "2026-02-30T04:13:05"),
        ("date", "2026-03-03", "20260303"),
        ("time", "04:13:05", "4:13"),
        ("email", "kim@example.org", "kim"),
        ("ipv4", "192.0.2.1", "192.0.2.256"),
        ("ipv6", "2001:db8::1", "192.0.2.1"),
        ("uri", "https://example.org/a", "example.org"),
        ("uuid", "6f1c1e0e-8d4b-4d8c-9a55-2b8f0a9d3c11", "6f1c1e0e"),
    ],
)
def test_a_string_has_the_format_that_a_program_parses(name, right, wrong):
    schema = check_schema({"type": "string", "format": name})
    assert problem_of(schema, right) == ""
    assert problem_of(schema, wrong) == "the value at $ does not match `format`"
    assert problem_of(check_schema({"type": "string", "format": "hostname of ours"}), wrong) == ""


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
