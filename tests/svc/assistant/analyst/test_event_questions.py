"""Ordinary questions about the logs of services: each is answered in the first line from what was found in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from svc.assistant.analyst.questions.event_subjects import spoken, subject_of
from tests.support.inline_analyst import ask

SOURCES = Path(__file__).parent.parent / "sources"
OPEN = (
    ("cloud/gcp/attack.json", "From which addresses?", r"\*\*1 address:\*\* `203.{3}0.{3}113.{3}66`"),
    ("cloud/gcp/attack.json", "When did it start?", r"\*\*2026-03-05 20:01:00 UTC\*\*"),
    ("cloud/gcp/attack.json", "Which techniques were used?", r"\*\*7 techniques:\*\* `T1562.008`.*`T1098.003`"),
    ("cloud/gcp/attack.json", "Was logging turned off?", r"\*\*Yes:\*\* `GCP log sink"),
    ("cloud/gcp/attack.json", "Was anything made public?", r"\*\*Yes:\*\* `GCP firewall rule open to the world`"),
    ("cloud/gcp/attack.json", "Were any secrets read?", r"\*\*Cannot tell\*\*.*matched nothing in 8 events"),
    ("cloud/gcp/attack.json", "Was an administrator added?", r"\*\*Yes:\*\* `GCP privileged IAM role granted`"),
    ("identity/entra/audit.json", "Who disabled MFA?", r"\*\*Found:\*\* `Entra ID MFA.* by `ben"),
    ("identity/entra/sign_ins_quiet.jsonl", "Which logins failed?", r"\*\*2 failed logins\*\* from 1 source: `ann`"),
    ("identity/entra/sign_ins.json", "Did anyone log in from abroad?", r"Cannot tell.*Logins were accepted from `192"),
    ("saas/github/attack.jsonl", "How many events are there?", r"\*\*28 events\*\*, 2026-03-04 08:00:00 to"),
    ("saas/github/attack.jsonl", "Were any secrets read?", r"\*\*Cannot tell\*\*"),
    ("saas/github/attack.jsonl", "Did dev-1 disable MFA?", r"\*\*Yes:\*\* `GitHub SSO.* by `dev-1`"),
    (
        "saas/github/quiet.jsonl",
        "Is anything suspicious here?",
        r"\*\*No sign found of an attack:\*\*.*Matches of low severity",
    ),
    ("saas/zscaler/nss_attack.log", "Was data exfiltrated?", r"\*\*Possibly:\*\* `Upload to a public file sharing"),
    ("saas/zscaler/nss_attack.log", "How many requests are there?", r"\*\*12 requests\*\*"),
    ("saas/zscaler/nss_attack.log", "What did alice do?", r"\*\*`alice.*:\*\* `Program downloaded"),
)
HELD = (
    ("identity/okta/attack.jsonl", "Which logins failed?", r"\*\*Found:\*\* .*Okta MFA"),
    ("identity/okta/attack.jsonl", "Were any API keys created?", r"\*\*Yes:\*\* `Okta API token created`"),
    ("identity/okta/attack.jsonl", "Was logging turned off?", r"\*\*Yes:\*\* `Okta log stream"),
    ("cloud/azure/attack.json", "Was data exfiltrated?", r"\*\*Possibly:\*\* `Azure disk or snapshot exported`"),
    ("cloud/azure/attack.json", "Was an administrator added?", r"\*\*Possibly:\*\* `Azure role assigned`"),
    ("cloud/kubernetes/attack.jsonl", "Were any secrets read?", r"\*\*Yes:\*\* `Kubernetes secrets listed`"),
    ("cloud/kubernetes/attack.jsonl", "From which addresses?", r"\*\*2 addresses:\*\*"),
    (
        "cloud/kubernetes/attack.jsonl",
        "Was an administrator added?",
        r"\*\*Yes:\*\* `Kubernetes cluster administrator binding created`",
    ),
    ("network/squid/attack.log", "Was anything made public?", r"\*\*Cannot tell\*\*"),
    ("network/squid/attack.log", "What did alice do?", r"\*\*`alice`:\*\*"),
    ("saas/gitlab/attack.jsonl", "Which logins failed?", r"\*\*1 failed login\*\* from 1 source: `ann`"),
    ("saas/slack/attack.jsonl", "Was anything made public?", r"\*\*Yes:\*\* `Slack channel made public`"),
    ("identity/duo/attack.jsonl", "Which techniques were used?", r"\*\*1 technique:\*\* `T1621`"),
)


@pytest.mark.parametrize(("sample", "question", "first"), OPEN + HELD)
async def test_an_ordinary_question_is_answered_in_the_first_line(sample: str, question: str, first: str):
    path = SOURCES / sample
    asked = await ask(question, (path.name, path.read_bytes()))
    assert re.search(first, asked.markdown.partition("\n")[0]), asked.markdown[:500]


async def test_admin_changes_are_all_that_rules_describe_and_the_limit_is_stated():
    path = SOURCES / "identity/okta/attack.jsonl"
    first = (await ask("Which admin changes were made?", (path.name, path.read_bytes()))).markdown.partition("\n")[0]

    assert first.startswith("**Found:**"), first
    assert len(re.findall(r"\((?:high|medium|low)\)", first)) > 3, first
    assert "Changes that no rule describes are not in this list" in first


async def test_the_answer_shows_the_setting_that_was_turned_off_and_not_the_one_that_was_turned_on():
    changed = {
        "id": "1",
        "date_create": 1778486561,
        "action": "pref.two_factor_auth_changed",
        "actor": {"type": "user", "user": {"id": "W1", "name": "ann", "email": "ann@example.org", "team": "T1"}},
        "context": {"ip_address": "192.0.2.7", "ua": "Mozilla/5.0", "location": {"type": "workspace", "id": "T1"}},
    }
    on = changed | {"details": {"new_value": "REQUIRED", "previous_value": "NOT_REQUIRED"}}
    off = changed | {"details": {"new_value": "NOT_REQUIRED", "previous_value": "REQUIRED"}}
    log = "\n".join(map(json.dumps, (on, off)))
    first = (await ask("Was MFA disabled for anyone?", ("slack.jsonl", log.encode()))).markdown.partition("\n")[0]

    assert re.match(r"\*\*(?:Yes|Possibly):\*\* `Slack .*line 2", first), first


async def test_what_was_not_recorded_is_not_denied():
    path = SOURCES / "cloud/gcp/quiet.jsonl"
    for question in ("Which logins failed?", "Did anyone disable MFA?", "Was an administrator added?"):
        first = (await ask(question, (path.name, path.read_bytes()))).markdown.partition("\n")[0]
        assert not re.match(r"\*\*No\b", first), first


def test_an_action_is_read_as_words_without_its_service():
    assert spoken("google.iam.admin.v1.CreateServiceAccountKey") == "Create Service Account Key"
    assert spoken("org.disable_two_factor_requirement") == "org disable two factor requirement"


@pytest.mark.parametrize("text", ["Did the user log in?", "What is T1110?", "Who logged in?", "Is this mail phishing?"])
def test_other_questions_have_no_such_subject(text: str):
    assert subject_of(text) is None
