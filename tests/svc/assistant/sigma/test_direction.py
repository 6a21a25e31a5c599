"""Whether a change of a setting makes something safer."""

from __future__ import annotations

import pytest

from svc.assistant.sigma.direction import is_looser, is_safer, is_safer_value, polarity


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("require_two_factor_authentication", 1),
        ("samlEnabled", 1),
        ("enableIpAccessLists", 1),
        ("prevent_forking_outside_group", 1),
        ("disable_public_page_sharing", 1),
        ("disable_clickjack_protection_headers", -1),
        ("PUBLIC_SHARING", -1),
        ("MFA_BYPASS", -1),
        ("allowBlobPublicAccess", -1),
        ("legacy_authentication", -1),
        ("external sharing with password", 0),
        ("theme", 0),
    ],
)
def test_the_name_of_a_setting_says_whether_it_is_safer_on(name: str, expected: int):
    assert polarity(name) == expected


@pytest.mark.parametrize(
    ("name", "loose", "strict"),
    [
        ("mfa", "off", "on"),
        ("mfa", "optional", "required"),
        ("guest access", "enabled", "disabled"),
        ("link policy", "anyone", "team_only"),
        ("visibility", "public", "private"),
        ("sharing outside the domain", "SHARING_ALLOWED", "SHARING_NOT_ALLOWED"),
        ("session_duration", "2592000", "86400"),
        ("session length: session timeout", "2 weeks", "30 minutes"),
        ("idle timeout", "never", "1 hour"),
        ("minimum password length", "6", "16"),
        ("required_approving_review_count", "1", "2"),
        ("audit log retention days", "7", "365"),
    ],
)
def test_values_before_and_after_say_the_direction(name: str, loose: str, strict: str):
    assert is_safer_value(name, loose, strict)
    assert not is_safer_value(name, strict, loose)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("theme", "off", "on"),
        ("message retention days", "30", "365"),
        ("message retention days", "365", "30"),
        ("session name", "first", "second"),
        ("session timeout", "30 minutes", "soon"),
        ("session timeout", "30 minutes", "0"),
        ("mfa", "totp", "webauthn"),
    ],
)
def test_a_direction_that_is_not_stated_is_not_safer(name: str, before: str, after: str):
    assert not is_safer_value(name, before, after)
    assert not is_safer_value(name, after, before)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Action": "ORG_UI_IP_ACCESS_LIST_ENABLED"}, True),
        ({"Action": "ORG_UI_IP_ACCESS_LIST_DISABLED"}, False),
        ({"Action": "ip_allowlist.config.activated"}, True),
        ({"Action": "shared_to_public_role_removed"}, True),
        ({"Action": "mfa_bypass_enabled"}, False),
        ({"Action": "mfa_requirement_updated"}, False),
        ({"Action": "audit_log_deleted"}, False),
        ({"Action": "sso_toggled", "enabled": "true"}, True),
        ({"Action": "sso_toggled", "enabled": "false"}, False),
        ({"Action": "sso_toggled", "actor.enabled": "true"}, False),
        ({"Action": "DeleteAllowlistGroup", "active": "true"}, False),
        ({"Action": "edit", "p.confKeys": "enableIpAccessLists", "p.confValues": "true"}, True),
        ({"Action": "edit", "p.confKeys": "enableIpAccessLists", "p.confValues": "false"}, False),
        ({"Action": "edit", "requireSymbols": "true", "requireNumbers": "true"}, True),
        ({"Action": "edit", "requireSymbols": "true", "requireNumbers": "false"}, False),
        ({"Action": "edit", "requireSymbols": "true", "minimumPasswordLength": "6"}, False),
        ({"Action": "edit", "visibility": "private", "previous_visibility": "public"}, True),
        ({"Action": "edit", "new_session_days": "30", "previous_session_days": "1"}, False),
        ({"Action": "edit", "new_session_timeout": "1", "previous_session_timeout": "30"}, True),
        (
            {"Action": "mfa", "new": '{"mfa": true, "updated_at": "2"}', "old": '{"mfa": false, "updated_at": "1"}'},
            True,
        ),
        ({"Action": "DeleteExclusion"}, True),
        ({"Action": "DeletePolicy"}, False),
        ({"Action": "UpdateLogBucket", "bucket.retentionDays": "400"}, True),
        ({"Action": "UpdateLogBucket", "bucket.retentionDays": "1"}, False),
        ({"Action": "UpdateChat", "chat.retentionDays": "400"}, False),
        (
            {"Action": "protected_branch_updated", "d.change": "allow_force_push", "d.from": "true", "d.to": "false"},
            True,
        ),
        (
            {"Action": "SharingPolicyChanged", "P.Name": "GuestsEnabled", "P.OldValue": "True", "P.NewValue": "False"},
            True,
        ),
        ({"Action": "set", "P.Name": "Guests\nMfa", "P.OldValue": "True\nFalse", "P.NewValue": "False\nTrue"}, True),
        ({"Action": "set", "P.Name": "Guests\nMfa", "P.OldValue": "True\nTrue", "P.NewValue": "False\nFalse"}, False),
        (
            {"Action": "x", "P.Name": "InvitesFrom", "P.OldValue": '["everyone"]', "P.NewValue": '["adminsAndGuests"]'},
            True,
        ),
        ({"Action": "mfa", "new": '{"mfa": true, "guests": true}', "old": '{"mfa": false, "guests": false}'}, False),
    ],
)
def test_everything_that_an_event_states_must_be_safer(fields: dict[str, str], expected: bool):
    assert is_safer(fields) is expected


def test_a_new_value_alone_counts_for_rules_about_settings_only():
    alone = {"Action": "mailbox_set", "forwardingEnabled": "false"}

    assert is_safer(alone)
    assert not is_safer(alone, is_about_settings=False)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Action": "edit", "new_session_timeout": "720", "previous_session_timeout": "30"}, True),
        ({"Action": "edit", "new_session_timeout": "30", "previous_session_timeout": "720"}, False),
        ({"Action": "edit", "d.field": "Idle timeout", "d.new": "never", "d.old": "30 minutes"}, True),
        ({"Action": "edit", "new_audit_log_retention": "30", "previous_audit_log_retention": "365"}, True),
        ({"Action": "Update", "operation_detail": "Meetings - Waiting Room: from On to Off"}, False),
        ({"Action": "edit", "newValue": "dark", "oldValue": "light"}, False),
        ({"Action": "role_changed", "new_role": "member", "old_role": "guest"}, False),
        ({"Action": "edit", "new_session_timeout": "30"}, False),
    ],
)
def test_a_limit_that_was_extended_and_a_minimum_that_was_lowered_are_looser(fields: dict[str, str], expected: bool):
    assert is_looser(fields) is expected
