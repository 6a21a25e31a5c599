"""Failed attempts, demotions and hardening are milder than the action that a rule names."""

from __future__ import annotations

import io
import json

import msgspec
import pytest

from svc.assistant.findings import AnyFinding, Finding, Severity
from svc.assistant.sigma.condition import Check, Every, Node, Not
from svc.assistant.sigma.engine import LogSource, Rule
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.matches.attempts import OUR_RULES, Milder, milder
from svc.assistant.skills.events.tool import inspect

ACTION = Check("Action", "equals", ("role_granted",))


def rule(condition: Node = ACTION, *, author: str = OUR_RULES, title: str = "Acme role granted") -> Rule:
    return Rule(
        id="1", title=title, level="high", author=author, source=LogSource("acme", "audit"), condition=condition,
        tactics=("privilege-escalation", "defense-evasion"),
    )  # fmt: skip


def event(category: str = "", **fields: str) -> Event:
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return Event(
        number=1, offset=None, time="", product="acme", service="audit", category=category, host="", event_id=None,
        fields={"Action": "role_granted", **named}, excerpt="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"Outcome": "failure"}, Milder.FAILED),
        ({"Outcome": "success"}, None),
        ({"details__new_value": "member", "details__old_value": "admin"}, Milder.DEMOTION),
        ({"details__new_value": "admin", "details__old_value": "member"}, None),
        ({"details__new_value": "owner", "details__old_value": "admin"}, None),
        ({"details.new_value..tag": "member_only", "details.previous_value..tag": "team_admin"}, Milder.DEMOTION),
        ({"new": "true", "old": "false", "target.property": "DEVICE_APPROVAL"}, Milder.HARDENING),
        ({"new": "false", "old": "true", "target.property": "DEVICE_APPROVAL"}, None),
        ({"new": "true", "old": "false", "target.property": "PUBLIC_SHARING"}, None),
        ({"new": "true", "old": "false", "target.property": "MFA_BYPASS"}, None),
        ({"operation_detail": "Two-Factor Authentication: from Off to On"}, Milder.HARDENING),
        ({"operation_detail": "Two-Factor Authentication: from On to Off"}, None),
        ({"change_description": "Role changed from Administrator to End User"}, Milder.DEMOTION),
        (
            {"new_value": '{"mfa": true, "name": "a"}', "old_value": '{"mfa": false, "name": "a"}', "setting": "mfa"},
            Milder.HARDENING,
        ),
        ({"new_value": '{"mfa": false}', "old_value": '{"mfa": true}', "setting": "mfa"}, None),
        (
            {
                "new_value": '{"state": "enabled"}',
                "old_value": '{"state": "enabledForReportingButNotEnforced"}',
                "Target": "conditional access policy",
            },
            Milder.HARDENING,
        ),
    ],
)
def test_why_an_event_is_milder_than_its_action(fields: dict[str, str], why: Milder | None):
    assert milder(rule(), event(**fields)) is why


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("ListServiceAccounts", Milder.READ),
        ("google.logging.v2.ConfigServiceV2.GetSink", Milder.READ),
        ("MICROSOFT.AUTHORIZATION/POLICIES/READ", Milder.READ),
        ("Viewed policy 'Standard'", Milder.READ),
        ("device_view", Milder.READ),
        ("bypass_view", None),
        ("GetSecretValue", None),
        ("ip_allow_list", None),
        ("update_ip_allow_list", None),
        ("getaway.create", None),
        ("DeleteSink", None),
    ],
)
def test_looking_at_a_setting_is_milder_than_changing_it(action: str, why: Milder | None):
    changing = rule(Check("target", "contains", ("account",)))

    assert milder(changing, event(Action=action)) is why


def test_a_rule_that_names_a_read_keeps_its_level():
    reading = rule(Check("Action", "equals", ("GetPolicy",)))

    assert milder(reading, event(Action="GetPolicy")) is None


def test_members_of_objects_before_and_after_a_change_are_compared():
    fields = {"content.after.role": "Group Member", "content.before.role": "Group Admin"}

    assert milder(rule(), event(**fields)) is Milder.DEMOTION
    assert milder(rule(), event(**dict(zip(fields, reversed(fields.values()), strict=True)))) is None


@pytest.mark.parametrize(
    ("action", "agent", "level", "why"),
    [
        ("role_created", "APN/1.0 HashiCorp/1.0 Terraform/1.9.5", "medium", Milder.DEPLOYMENT),
        ("role_created", "argocd-application-controller/v2.11", "medium", Milder.DEPLOYMENT),
        ("role_deleted", "APN/1.0 HashiCorp/1.0 Terraform/1.9.5", "medium", None),
        ("role_created", "APN/1.0 HashiCorp/1.0 Terraform/1.9.5", "high", None),
        ("role_created", "aws-cli/2.17.32", "medium", None),
    ],
)
def test_what_a_deployment_tool_creates_is_milder(action: str, agent: str, level: str, why: Milder | None):
    created = event(Action=action, userAgent=agent)

    assert milder(msgspec.structs.replace(rule(), level=level), created) is why


def test_what_an_account_for_deployment_creates_is_milder():
    medium = msgspec.structs.replace(rule(), level="medium")

    assert milder(medium, event(User="terraform@example.org")) is Milder.DEPLOYMENT
    assert milder(medium, event(User="terrance@example.org")) is None


def test_an_own_new_password_is_milder_than_that_of_another_account():
    medium = msgspec.structs.replace(rule(), level="medium")
    target = {"Action": "password_changed", "actor__alternateId": "eve@example.org"}

    assert milder(medium, event(**target, target__alternateId="eve@example.org")) is Milder.OWN
    assert milder(medium, event(**target, target__alternateId="root@example.org")) is None


@pytest.mark.parametrize(
    ("parent", "command", "why"),
    [
        (r"C:\Windows\CCM\CcmExec.exe", "powershell.exe -ExecutionPolicy Bypass -File a.ps1", Milder.MANAGED),
        (r"C:\Program Files\Zabbix Agent 2\zabbix_agent2.exe", "sc query spooler", Milder.MANAGED),
        ("/opt/puppetlabs/puppet/bin/puppet", "systemctl restart rsyslog", Milder.MANAGED),
        (r"C:\Windows\CCM\CcmExec.exe", "powershell.exe -enc SQBFAFgA", None),
        (r"C:\Windows\CCM\CcmExec.exe", "msiexec /i http://203.0.113.9/a.msi", None),
        (r"C:\Users\eve\Windows\CCM\CcmExec.exe", "sc query spooler", None),
        ("/tmp/puppet", "systemctl restart rsyslog", None),
    ],
)
def test_what_management_software_starts_is_milder(parent: str, command: str, why: Milder | None):
    started = event("process_creation", ParentImage=parent, CommandLine=command)

    assert milder(msgspec.structs.replace(rule(), level="medium"), started) is why
    assert milder(rule(), started) is None


def test_a_rule_about_failures_keeps_its_level():
    failed = event(Outcome="failure")

    assert milder(rule(title="Acme login denied"), failed) is None
    assert milder(rule(Check("Action", "equals", ("login_failed",))), failed) is None
    assert milder(rule(Every((ACTION, Not(Check("status", "equals", ("500",)))))), failed) is None
    assert milder(rule(author="another author"), failed) is None
    assert milder(rule(), event("process_creation", Outcome="failure")) is None


def role_changed(before: str, after: str) -> bytes:
    """A line of Asana's audit log."""
    record = {
        "gid": "1", "created_at": "2026-04-02T03:14:15.900Z", "event_type": "user_workspace_admin_role_changed",
        "event_category": "admin_settings", "actor": {"actor_type": "user", "email": "mallory@example.org"},
        "resource": {"resource_type": "user"}, "details": {"old_value": before, "new_value": after},
    }  # fmt: skip
    return json.dumps(record).encode() + b"\n"


def hits(*lines: bytes) -> list[AnyFinding]:
    found = inspect(io.BytesIO(b"".join(lines)), source="a")
    return [one for one in found if isinstance(one, Finding) and one.kind == "rule_hit"]


def test_a_finding_states_why_its_severity_is_limited():
    [found] = hits(role_changed("super_admin", "user"))

    assert found.severity is Severity.LOW
    assert found.why.endswith("Each of these changes replaced a stronger role by a weaker one.")


def test_one_serious_event_among_milder_ones_keeps_the_severity():
    demotion = role_changed("super_admin", "user")

    [found] = hits(demotion, role_changed("user", "super_admin"), demotion)

    assert found.severity is Severity.MEDIUM
    assert "weaker" not in found.why
