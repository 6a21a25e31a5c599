"""Which events of audit logs are milder than a rule's action alone says: failures, demotions, hardening, deployments.

A rule for an audit log names an action. The same action is less than an incident if it failed, if the changed role was
the stronger one before, or if a protection was turned on. A tool that deploys configuration makes and updates things
all day; what it deletes or disables keeps its level, and so does everything above medium, because an agent's name can
be forged. Looking at a setting changes nothing. Products record that in many forms, so it is decided here for all of
them. A rule that looks at failures or reads itself keeps its level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from svc.assistant.findings import Severity
from svc.assistant.sigma.action_words import MAX_VALUE_CHARS, changes, is_closing
from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.direction import is_safer
from svc.assistant.sigma.engine import Rule
from svc.assistant.sigma.event import Event

OUR_RULES = "The svc-jupyter maintainers"
"""The author of our rules; the level of others' rules is theirs."""


MAX_COMMAND_CHARS = 4_000


class Milder(StrEnum):
    """Why an event says less than its action."""

    FAILED = "Every one of these attempts failed."
    DEMOTION = "Each of these changes replaced a stronger role by a weaker one."
    HARDENING = "Each of these changes turned a protection on or restricted access."
    DEPLOYMENT = "By agent or name, a tool that deploys configuration made these changes, and none removed anything."
    OWN = "Each of these accounts changed its own password."
    READ = "Each of these actions only looked at something."
    MANAGED = "Management software started each of these programs from its installation folder."


_FAILURES = re.compile(
    r"fail|den(?:y|ied)|block|reject|refus|lock(?:ed|out)|fraud|phish|threat|attack|violat|anomal|suspicious|malicious"
    r"|malware|limit|unauthori|forbid|prevent|quarantin|alert|detect|bypass|challenge|invalid|risk|error|throttl",
    re.IGNORECASE,
)
"""Actions that are failures or detections themselves."""
_OUTCOMES = re.compile(r"outcome|result|status|error|success|granted|decision|reason|code\Z", re.IGNORECASE)
_STRONG = re.compile(r"admin|owner|super|root|power.?user|maintainer|manager|full", re.IGNORECASE)
_EVASION = frozenset(["defense-evasion", "stealth", "defense-impairment"])  # before and since ATT&CK 19
_SETTINGS = _EVASION | {"credential-access", "collection", "exfiltration"}
"""Tactics of rules about settings: what protects, and what lets data out."""
_READING = frozenset(
    ["get", "list", "describe", "view", "viewed", "read", "search", "searched", "query", "check", "show", "lookup"]
)
_READ_LAST = frozenset(["get", "view", "viewed", "read", "describe"])  # "ip_allow_list" is no read
_SECRET = re.compile(r"secret|password|bypass|recover|backup.?code|key|token|credential|export|download", re.IGNORECASE)
"""What an attacker wants to see: looking at it is the incident."""
_CHANGING = _EVASION | {"persistence", "privilege-escalation", "impact"}
"""Tactics of actions that change something."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DEPLOYERS = re.compile(
    r"terraform|opentofu|pulumi|cloudformation|crossplane|argocd-|flux-|(?:helm|kustomize|source)-controller"
    r"|config-connector|cdk-deploy|atlantis|ansible|githubactions|gitlab-runner|azure-?devops",
    re.IGNORECASE,
)
"""Programs that create and update resources from a description of them, as their agents are called."""
_AGENTS = ("useragent", "user_agent", "calleruseragent", "callersupplieduseragent", "rawuseragent", "ua")
_DEPLOYING_ACCOUNTS = re.compile(
    r"(?:^|[^a-z])(?:terraform|pulumi|argocd|github-actions|gitlab-ci|jenkins|atlantis|azure-pipelines|scim"
    r"|(?:user|account|okta|aad)-?provisioning|provisioner|dirsync|directory.?sync|hr-?sync|workday-?import)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Accounts of such tools and of provisioning, as they are usually named."""
_MANAGEMENT = re.compile(
    r"^[a-z]:\\(?:windows\\ccm\\ccmexec|actions-runner\\bin\\runner\.\w{1,20}|programdata\\chocolatey\\choco"
    r"|program files(?: \(x86\))?\\(?:microsoft intune management extension|azureconnectedmachineagent|tanium|veeam"
    r"|bigfix enterprise|puppet labs|zabbix agent[ \w]{0,3}|nsclient\+\+|admin arsenal|dell\\supportassistagent)"
    r"\\[\w. \\-]{1,120})\.exe$"
    r"|^/(?:usr|opt|sbin|library|home/runner)/(?:[\w./-]{1,200}/)?(?:puppet|salt-minion|salt-call|chef-client"
    r"|ansible[\w-]{0,20}|unattended-upgrade\w{0,4}|packagekitd|zabbix_agentd?2?|nrpe|nagios|munki\w{0,20}|jamf"
    r"|managedsoftwareupdate|runner\.worker)$",
    re.IGNORECASE,
)
"""Where software that deploys, backs up, monitors or builds is installed."""
_FOREIGN = re.compile(
    r"https?://|\\\\\w|-e(?:nc|ncodedcommand)\b|downloadstring|frombase64|/dev/tcp|comsvcs|\bsam\b|\bntds\b|lsass|mimikatz",
    re.IGNORECASE,
)
"""What management software rarely needs on a command line."""
_ACCOUNTS = (
    ("actor.alternateId", "target.alternateId"),
    ("initiatedBy.user.userPrincipalName", "targetResources.userPrincipalName"),
    ("actor_user_id", "user_id"),
    ("userIdentity.userName", "requestParameters.userName"),
    ("actors.user.name", "resources.name"),
    ("User", "Target"),
)
"""Fields with the account that acts and the one that is changed."""
_REMOVAL = re.compile(
    r"delet|remov|destroy|disabl|deactivat|stop|detach|purg|revok|suspend|leave|disassociat|schedule.?key",
    re.IGNORECASE,
)


def milder(rule: Rule, event: Event) -> Milder | None:
    """Return why an event of an audit log is milder than the action that one of our rules names; None if it is not."""
    if rule.author != OUR_RULES:
        return None
    if event.category == "process_creation":
        return Milder.MANAGED if rule.severity is Severity.MEDIUM and _is_managed(event.fields) else None
    if event.category or event.product in ("windows", "linux"):
        return None
    if event.fields.get("Outcome") == "failure" and not _is_about_failures(rule):
        return Milder.FAILED
    if (
        is_read(event.fields.get("Action") or event.fields.get("eventName", ""))
        and _CHANGING.issuperset(rule.tactics)
        and not _is_about_reads(rule)
    ):
        return Milder.READ
    changed = [(before, after) for before, after, _ in changes(event.fields)]
    if "privilege-escalation" in rule.tactics and changed and all(_is_demotion(*change) for change in changed):
        return Milder.DEMOTION
    if changed and all(is_closing(*change) for change in changed):
        return Milder.HARDENING
    if not _SETTINGS.isdisjoint(rule.tactics) and is_safer(
        event.fields, is_about_settings=not _EVASION.isdisjoint(rule.tactics)
    ):
        return Milder.HARDENING
    if rule.severity is not Severity.MEDIUM:
        return None
    if _is_own_password(event.fields):
        return Milder.OWN
    return Milder.DEPLOYMENT if is_deployment(event.fields) else None


def _is_about_failures(rule: Rule) -> bool:
    """Whether a rule decides about failures itself, or looks for what is refused or detected by its nature."""
    if rule.source.is_general or _FAILURES.search(rule.title):
        return bool(_FAILURES.search(rule.title))
    return any(
        _OUTCOMES.search(check.field) or (is_positive and any(_FAILURES.search(value) for value in check.values))
        for check, is_positive in _checks(rule.condition)
    )


def _is_about_reads(rule: Rule) -> bool:
    """Whether a rule names an action that only looks at something."""
    checks = _checks(rule.condition)
    return any(is_positive and any(is_read(value) for value in check.values) for check, is_positive in checks)


def is_read(action: str) -> bool:
    """Whether the first or last word of an action's last part says that it only looks at something, and no secret."""
    part = re.split(r"[./:]", action[:MAX_VALUE_CHARS])[-1]
    words = [word.lower() for word in _WORDS.findall(part)]
    if not words or _SECRET.search(part):
        return False
    return words[0] in _READING or (" " not in part and words[-1] in _READ_LAST)


def _checks(node: Node, *, is_positive: bool = True) -> Iterator[tuple[Check, bool]]:
    """Yield the comparisons of a condition, and whether they are not negated."""
    match node:
        case Every(nodes) | Some(nodes):
            for inner in nodes:
                yield from _checks(inner, is_positive=is_positive)
        case Not(inner):
            yield from _checks(inner, is_positive=not is_positive)
        case Check():
            yield node, is_positive


def _is_demotion(before: str, after: str) -> bool:
    return bool(_STRONG.search(before)) and not _STRONG.search(after)


def is_deployment(fields: Mapping[str, str]) -> bool:
    """Whether the agent is one that deploys configuration, and the action takes nothing away."""
    if _REMOVAL.search(fields.get("Action", "")[:MAX_VALUE_CHARS]):
        return False
    agents = (value for name, value in fields.items() if name.rpartition(".")[2].lower() in _AGENTS)
    if _DEPLOYING_ACCOUNTS.search(fields.get("User", "")[:MAX_VALUE_CHARS]):
        return True
    return any(_DEPLOYERS.search(value[:MAX_VALUE_CHARS]) for value in agents)


def _is_own_password(fields: Mapping[str, str]) -> bool:
    """Whether the action is a change of a password, and the account that acts is the one that is changed."""
    if "password" not in fields.get("Action", "").lower():
        return False
    named = ((fields.get(actor), fields.get(target)) for actor, target in _ACCOUNTS)
    return any(actor and actor == target for actor, target in named)


def _is_managed(fields: Mapping[str, str]) -> bool:
    """Whether software for management started the program, with nothing on its command line from elsewhere."""
    if _FOREIGN.search(fields.get("CommandLine", "")[:MAX_COMMAND_CHARS]):
        return False
    return _MANAGEMENT.search(fields.get("ParentImage", "")[:MAX_VALUE_CHARS]) is not None
