"""Twenty schemas of programs that ask for data: what each asks, and what its answer must hold. Two halves by id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Facts = Callable[[Any], bool]

BRUTE_FORCE = "\n".join(
    [
        *(
            f"Mar  3 04:1{n // 6}:{n % 6}0 gate sshd[{700 + n}]: Failed password for root from 203.0.113.61 port "
            f"{40_000 + n} ssh2"
            for n in range(30)
        ),
        "Mar  3 04:15:05 gate sshd[800]: Accepted password for root from 203.0.113.61 port 41000 ssh2",
    ]
)
LURE = """From: "Payroll" <payroll@paymaster.example>
Reply-To: collect@dropbox.example
To: kim@example.org
Subject: URGENT: confirm your bank account today
Date: Tue, 3 Mar 2026 08:15:00 +0000
Authentication-Results: mx.example.org; spf=fail smtp.mailfrom=paymaster.example; dmarc=fail

Your salary will be suspended. Verify your password at http://203.0.113.90/login within 24 hours.
"""
NOTES = (
    "The loader phoned 198.51.100.44 and evil-updates.example, dropped a file with the MD5 "
    "9e107d9d372bb6826bd81d3542a419d6 and mailed ops@evil-updates.example."
)
VECTOR = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"


@dataclass(frozen=True)
class AnswerSchema:
    """A question, the schema of its answer, and what must be true of the data."""

    id: str
    question: str
    schema: dict[str, Any]
    facts: Facts


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def _nullable(kind: str, **more: Any) -> dict[str, Any]:
    return {"anyOf": [{"type": kind, **more}, {"type": "null"}]}


TEXT, NUMBER, BOOLEAN = {"type": "string"}, {"type": "number"}, {"type": "boolean"}

OPEN = [
    AnswerSchema(
        "nested",
        f"Score {VECTOR}",
        _object({"score": _object({"base_score": NUMBER, "severity": TEXT}), "vector": TEXT}),
        lambda d: d["score"] == {"base_score": 9.8, "severity": "Critical"} or d["score"]["base_score"] == 9.8,
    ),
    AnswerSchema(
        "enum",
        f"Score {VECTOR}",
        _object({"severity": {"type": "string", "enum": ["none", "low", "medium", "high", "critical"]}}),
        lambda d: d["severity"] == "critical",
    ),
    AnswerSchema(
        "union",
        f"Score {VECTOR}",
        _object({"base_score": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}}),
        lambda d: d["base_score"] == 9.8,
    ),
    AnswerSchema(
        "optional",
        f"Score {VECTOR}",
        _object({"base_score": NUMBER, "owner": _nullable("string"), "ticket": _nullable("integer")}),
        lambda d: d == {"base_score": 9.8, "owner": None, "ticket": None},
    ),
    AnswerSchema(
        "array_of_objects",
        f"Extract the indicators.\n\n{NOTES}",
        _object({"indicators": {"type": "array", "items": _object({"type": TEXT, "value": TEXT})}}),
        lambda d: {"198.51.100.44", "9e107d9d372bb6826bd81d3542a419d6"} <= {i["value"] for i in d["indicators"]},
    ),
    AnswerSchema(
        "array_of_strings",
        f"Which IP addresses are in this text?\n\n{NOTES}",
        _object({"ips": {"type": "array", "items": TEXT}}),
        lambda d: d["ips"] == ["198.51.100.44"],
    ),
    AnswerSchema(
        "date",
        f"When was the successful login?\n\n{BRUTE_FORCE}",
        _object({"successful_login_time": _nullable("string", format="date-time"), "user": _nullable("string")}),
        lambda d: d["user"] in ("root", None),
    ),
    AnswerSchema(
        "ref",
        f"Did an attack succeed?\n\n{BRUTE_FORCE}",
        _object(
            {"compromised": BOOLEAN, "source": {"$ref": "#/$defs/Host"}},
            **{"$defs": {"Host": _object({"ip": _nullable("string"), "hostname": _nullable("string")})}},
        ),
        lambda d: d["compromised"] is True and d["source"]["ip"] == "203.0.113.61",
    ),
    AnswerSchema(
        "recursive",
        f"Build the tree of what happened.\n\n{BRUTE_FORCE}",
        {
            **_object({"root": {"$ref": "#/$defs/Node"}}),
            "$defs": {
                "Node": _object({"title": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}})
            },
        },
        lambda d: bool(d["root"]["title"]),
    ),
    AnswerSchema(
        "mapping",
        f"How many failed logins per source?\n\n{BRUTE_FORCE}",
        _object({"failures": {"type": "object", "additionalProperties": {"type": "integer"}}}),
        lambda d: d["failures"] == {"203.0.113.61": 30},
    ),
]
HELD = [
    AnswerSchema(
        "deep",
        f"Is this mail phishing?\n\n{LURE}",
        _object(
            {
                "verdict": _object(
                    {
                        "is_phishing": BOOLEAN,
                        "detail": _object({"sender": _nullable("string"), "subject": _nullable("string")}),
                    }
                )
            }
        ),
        lambda d: d["verdict"]["is_phishing"] is True,
    ),
    AnswerSchema(
        "titled_enum",
        f"Is this mail phishing?\n\n{LURE}",
        _object(
            {
                "classification": {
                    "title": "Classification",
                    "type": "string",
                    "enum": ["benign", "spam", "phishing", "unknown"],
                }
            }
        ),
        lambda d: d["classification"] == "phishing",
    ),
    AnswerSchema(
        "discriminated_union",
        f"Score {VECTOR}",
        {
            **_object({"result": {"oneOf": [{"$ref": "#/$defs/Scored"}, {"$ref": "#/$defs/Failed"}]}}),
            "$defs": {
                "Scored": _object({"kind": {"const": "scored", "type": "string"}, "base_score": NUMBER}),
                "Failed": _object({"kind": {"const": "failed", "type": "string"}, "reason": TEXT}),
            },
        },
        lambda d: d["result"] == {"kind": "scored", "base_score": 9.8},
    ),
    AnswerSchema(
        "all_of_ref",
        f"Score {VECTOR}",
        _object(
            {"score": {"allOf": [{"$ref": "#/$defs/Score"}], "description": "The score"}},
            **{"$defs": {"Score": _object({"base_score": {**NUMBER, "minimum": 0, "maximum": 10}})}},
        ),
        lambda d: d["score"]["base_score"] == 9.8,
    ),
    AnswerSchema(
        "top_level_array_of_enum",
        f"Which kinds of indicators are in it?\n\n{NOTES}",
        _object(
            {
                "indicators": {
                    "type": "array",
                    "minItems": 1,
                    "items": _object(
                        {"value": TEXT, "type": {"type": "string", "enum": ["ip", "domain", "md5", "email", "other"]}}
                    ),
                }
            }
        ),
        lambda d: {"value": "198.51.100.44", "type": "ip"} in d["indicators"],
    ),
    AnswerSchema(
        "type_list",
        f"Who logged in?\n\n{BRUTE_FORCE}",
        _object({"user": {"type": ["string", "null"]}, "failed_count": {"type": ["integer", "null"]}}),
        lambda d: d["user"] in ("root", None) and d["failed_count"] in (30, None),
    ),
    AnswerSchema(
        "dates_and_patterns",
        f"Summarise the mail.\n\n{LURE}",
        _object(
            {
                "date": {"anyOf": [{"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}"}, {"type": "null"}]},
                "subject": _nullable("string"),
                "score": {"type": ["number", "null"], "minimum": 0, "maximum": 100},
            }
        ),
        lambda d: d["subject"] is None or "URGENT" in d["subject"],
    ),
    AnswerSchema(
        "recursive_optional",
        "Map to a CWE: user input is concatenated into an SQL query.",
        {
            "$ref": "#/$defs/Weakness",
            "$defs": {
                "Weakness": _object(
                    {"cwe": _nullable("string"), "parent": {"anyOf": [{"$ref": "#/$defs/Weakness"}, {"type": "null"}]}}
                )
            },
        },
        lambda d: d["cwe"] == "CWE-89",
    ),
    AnswerSchema(
        "map_of_objects",
        f"Which hosts are involved?\n\n{BRUTE_FORCE}",
        {
            **_object(
                {
                    "hosts": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Host"}},
                    "compromised": _nullable("boolean"),
                }
            ),
            "$defs": {"Host": _object({"role": _nullable("string")})},
        },
        lambda d: d["compromised"] is True,
    ),
    AnswerSchema(
        "mixed",
        f"Triage this log.\n\n{BRUTE_FORCE}",
        _object(
            {
                "severity": {"enum": ["critical", "high", "medium", "low", "info", None]},
                "confidence": {"anyOf": [{"enum": ["high", "medium", "low"]}, {"type": "null"}]},
                "summary": TEXT,
                "findings": {
                    "type": "array",
                    "maxItems": 5,
                    "items": _object({"title": TEXT, "severity": TEXT, "techniques": {"type": "array", "items": TEXT}}),
                },
                "labels": {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 40}},
            }
        ),
        lambda d: d["severity"] in ("critical", "high") and len(d["findings"]) > 0,
    ),
]
