"""What is quoted of an audit record says what was done, by whom, to what and from where."""

from __future__ import annotations

import io
import json
from pathlib import Path

from svc.assistant.log_readers.tables.excerpts import QUOTED_CHARS
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event
from svc.assistant.skills.events.tool import read_events

SOURCES = Path(__file__).parent.parent / "sources"
ROLES = {"Action", "User", "SourceIp"}
OKTA = {
    "actor": {"id": "00u1", "type": "User", "alternateId": "ann@example.org", "displayName": "Ann" * 40},
    "client": {"userAgent": {"rawUserAgent": "Mozilla/5.0 " * 20}, "ipAddress": "203.0.113.7"},
    "eventType": "user.mfa.factor.reset_all",
    "outcome": {"result": "SUCCESS"},
    "published": "2026-03-04T08:00:00.000Z",
    "uuid": "0af0-11",
    "target": [{"id": "00u2", "type": "User", "alternateId": "ben@example.org"}],
}
CLOUDTRAIL = {
    "eventVersion": "1.10",
    "userIdentity": {"type": "IAMUser", "principalId": "A" * 300, "arn": "arn:aws:iam::111122223333:user/ann"},
    "eventTime": "2026-03-04T08:00:00Z",
    "eventSource": "iam.amazonaws.com",
    "eventName": "AttachUserPolicy",
    "sourceIPAddress": "203.0.113.7",
    "requestParameters": {"userName": "ben", "policyArn": "arn:aws:iam::aws:policy/AdministratorAccess"},
}


def event_of(content: bytes) -> Event:
    return next(item for item in read_events(io.BytesIO(content)) if isinstance(item, Event))


def excerpt_of(record: object) -> str:
    return event_of(json.dumps(record).encode()).excerpt


def test_a_long_record_begins_with_action_actor_target_and_address():
    assert excerpt_of(OKTA).startswith(
        '{"eventType": "user.mfa.factor.reset_all", "actor.alternateId": "ann@example.org", '
        '"target.alternateId": "ben@example.org", "client.ipAddress": "203.0.113.7", "outcome.result": "SUCCESS"'
    )
    assert len(excerpt_of(OKTA)) <= MAX_EXCERPT_CHARS


def test_an_event_of_cloudtrail_begins_with_action_actor_target_and_address():
    assert excerpt_of(CLOUDTRAIL).startswith(
        '{"eventName": "AttachUserPolicy", "userIdentity.arn": "arn:aws:iam::111122223333:user/ann", '
        '"requestParameters.userName": "ben", "sourceIPAddress": "203.0.113.7"'
    )
    assert "policy/AdministratorAccess" in excerpt_of(CLOUDTRAIL)


def test_a_short_record_and_a_row_of_a_table_stay_as_they_are():
    short = {"eventType": "user.session.start", "actor": {"alternateId": "a"}, "outcome": {"result": "SUCCESS"}}
    row = b"eventtype,actor.alternateid,outcome.result,published\nuser.session.start,a,SUCCESS,2026-03-04T08:00:00Z\n"

    assert excerpt_of(short) == json.dumps(short)
    assert event_of(row).excerpt == "user.session.start,a,SUCCESS,2026-03-04T08:00:00Z"


def test_excerpts_of_audit_logs_show_who_did_what_from_where():
    events = [event_of(file.read_bytes()) for file in sorted(SOURCES.glob("*/*/*attack*.jsonl"))]
    audited = [one for one in events if one.fields.keys() >= ROLES]
    wanted = [(one, word) for one in audited for role in ROLES for word in one.fields[role].split(" ")]
    missing = [(one.excerpt, value) for one, value in wanted if value not in one.excerpt[: 2 * QUOTED_CHARS]]

    assert len(audited) >= 40
    assert missing == []
