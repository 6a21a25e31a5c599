"""What analysts ask of event logs by subject: MFA, administrators, logging, keys, secrets, exposure, theft. Pure.

A subject has the words of the questions about it, and the words of the rules and actions that are about it.
"""

from __future__ import annotations

import re

import msgspec

from svc.assistant.findings import AnyFinding
from svc.assistant.skills.events.findings import RuleHit

_OF_LOGINS = "initial-access"
_SEVERAL = re.compile(r",| or |/", re.IGNORECASE)  # a title of several things does not say which of them happened


class EventSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A subject: its words in a question, in the title of a rule, and in the name of an action.

    ``techniques`` belong to this subject alone. ``tactics``: each rule with one of them is about it, unless it is about
    logins. ``is_certain``: a finding proves it; else it is only a sign of it. ``limit`` is what such an answer leaves
    out.
    """

    words: re.Pattern[str]
    titles: re.Pattern[str]
    techniques: tuple[str, ...] = ()
    tactics: frozenset[str] = frozenset()
    is_certain: bool = True
    limit: str = ""

    def is_in(self, finding: AnyFinding) -> bool:
        """Whether a finding is about the subject."""
        if self._has_tactic(finding):
            return True
        if self.titles.search(finding.title) or self._names_action(finding):
            return True
        return any(one in self.techniques for one in finding.techniques)

    def is_proven_by(self, finding: AnyFinding) -> bool:
        """Whether a finding says that it happened, not only that it or something else did."""
        if self._has_tactic(finding):
            return True
        is_plain = self.titles.search(finding.title) is not None and not _SEVERAL.search(finding.title)
        return self.is_certain and (is_plain or self._names_action(finding))

    def _has_tactic(self, finding: AnyFinding) -> bool:
        tactics = finding.facts.tactics if isinstance(finding.facts, RuleHit) else []
        return not self.tactics.isdisjoint(tactics) and _OF_LOGINS not in tactics

    def _names_action(self, finding: AnyFinding) -> bool:
        actions = finding.facts.actions if isinstance(finding.facts, RuleHit) else []
        return any(self.titles.search(spoken(action)) for action in actions)


def spoken(action: str) -> str:
    """The name of an action as words: ``create key`` of ``google.iam.admin.v1.CreateKey``; not the service's name."""
    last = action[:200].rpartition(".")[2]
    named = last if re.search(r"[a-z][A-Z]", last) else action[:200]
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", named)
    return re.sub(r"[._:/-]+", " ", apart)


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _pair(first: str, second: str) -> str:
    """Both, in any order, within one sentence."""
    gap = r"\b[^?.;\n]{0,60}?\b"
    return rf"\b(?:(?:{first}){gap}(?:{second})|(?:{second}){gap}(?:{first}))\b"


_MFA = r"mfa|2fa|2sv|(?:two|multi|second)[- ]?(?:factor|step)\w*|2-step|strong authentication|authenticators?|passkeys?"
_REMOVED = (
    r"disabl\w*|remov\w*|delet\w*|deactivat\w*|turn\w* off|switch\w* off|(?:is|are|was|were|got|been) off|reset\w*"
    r"|bypass\w*|weaken\w*|unenrol\w*|exempt\w*|stop\w*|revok\w*|turned off|destroy\w*|clear\w*|wip\w*|tamper\w*"
    r"|to (?:off|optional|false|not required)"
)
_MADE = (
    r"add\w*|creat\w*|grant\w*|got|gets|assign\w*|promot\w*|ma[dk]e|made|new|bec[ao]me|elevat\w*|attach\w*|given|gave|gain\w*"
    r"|generat\w*|issu\w*|regist\w*|mint\w*|invit\w*"
)
_CHANGED = rf"chang\w*|modif\w*|updat\w*|edit\w*|alter\w*|{_REMOVED}|{_MADE}|lock\w*|suspend\w*|renam\w*|unlock\w*"
_GONE = r"delet\w*|remov\w*|suspend\w*|lock\w*|disabl\w*|deactivat\w*|block\w*"
_ADMIN = r"admin\w*|owners?|privileg\w*|super ?users?|root user|power user"
_ADMIN_TITLE = (
    r"admin\w*|owners?|privileged (?:\w+ ){0,2}(?:roles?|accounts?|access|groups?)|super ?users?|root user|power user"
)
_LOGGING = (
    r"log(?:ging|s)?|audit\w*|monitoring|trails?|sinks?|diagnostic\w*|cloudtrail|guardduty|flow logs?|telemetry"
    r"|log streaming|event stream\w*"
)
_KEY = (
    r"(?:api |access |deploy |ssh |service account )?keys?|(?:api |access )?tokens?|credentials?"
    r"|client secrets?|pats?"
)
_OF_SECRETS = r"secrets?|passwords?|credentials?|vaults?|lsass|private keys?|key vault|bitlocker keys?|tokens?"
_READ = (
    r"read|access(?:ed)?|retriev\w*|dump\w*|list(?:ed)?|view\w*|export\w*|expos\w*|leak\w*|stol\w*|steal\w*|fetch\w*"
    r"|taken|download\w*|get"
)
_WAS_READ = _READ.replace("access(?:ed)?|", "accessed|").replace("|get", "")
_PUBLIC = (
    r"public(?:ly)?|open(?:ed)? to (?:the |every|any|all)\w*|to the (?:world|internet|web|public)|anonymous(?:ly)?"
    r"|everyone|exposed|external(?:ly)?|outside"
)
ABROAD = EventSubject(
    words=_pattern(
        r"\b(?:from )?(?:abroad|overseas|foreign|other countr\w+|another countr\w+|unusual (?:location|countr)\w*"
        r"|a? ?new (?:location|countr)\w*|impossible travel|elsewhere)\b"
    ),
    titles=_pattern(
        r"\bcountr(?:y|ies)\b|\bimpossible travel\b|\b(?:new|unfamiliar|unusual|atypical|blocked) (?:location|travel)"
        r"|\banonymi[sz]\w+|\bby location\b"
    ),
    is_certain=False,
)
SUBJECTS = (
    EventSubject(
        words=_pattern(
            r"\badmin(?:istrat(?:ive|ion|ors?))?'?s?'? (?:changes?|actions?|activit(?:y|ies)|operations?)\b"
            r"|\b(?:configuration|settings?|security|privileged) changes\b"
        ),
        titles=_pattern(r"(?!)"),
        tactics=frozenset(
            ["persistence", "privilege-escalation", "defense-evasion", "defense-impairment", "stealth", "impact"]
        ),
        limit=" Changes that no rule describes are not in this list; the kinds of events are below.",
    ),
    EventSubject(
        words=_pattern(_pair(_MFA, rf"{_REMOVED}|chang\w*")),
        titles=_pattern(rf"{_pair(_MFA, _REMOVED)}|\b(?:{_MFA})\b[^?]{{0,40}}\bchanged\b"),
        techniques=("T1556.006",),
    ),
    EventSubject(
        words=_pattern(_pair(_LOGGING, _REMOVED)),
        titles=_pattern(
            _pair(rf"(?:{_LOGGING}|log stream)", rf"{_REMOVED}|tamper\w*")
            + r"|\b(?:audit log|logging|log export)\b[^?]{0,30}\bchanged\b"
        ),
        techniques=("T1562.008", "T1070.001"),
    ),
    EventSubject(
        words=_pattern(_pair(_ADMIN, _MADE)),
        titles=_pattern(_pair(_ADMIN_TITLE, rf"{_MADE}|role (?:or privilege )?changed")),
        techniques=("T1098.003", "T1098.006"),
    ),
    EventSubject(
        words=_pattern(_pair(_KEY, _MADE)),
        titles=_pattern(_pair(_KEY, rf"{_MADE}|added|reset")),
        techniques=("T1098.001", "T1098.004"),
    ),
    EventSubject(
        words=_pattern(_pair(_OF_SECRETS, _READ)),
        titles=_pattern(_pair(_OF_SECRETS, _WAS_READ)),
        techniques=("T1003.001", "T1555.005"),
    ),
    EventSubject(
        words=_pattern(
            rf"\b(?:made|make|became|become|is|are|was|were|been|set|turned|open(?:ed)?|shared?"
            rf"|publish\w*)\b[^?.;\n]{{0,40}}?\b(?:{_PUBLIC})\b"
            r"|\bexposed\b|\bexposure\b|\bopen to the (?:world|internet)\b|\bpublish\w*"
        ),
        titles=_pattern(
            r"\b(?:made|opened?|access|shared|granted|exposed|repository|link)\b[^?]{0,40}\b(?:public"
            r"|anonymous|the world"
            r"|the web|internet|everyone|external|outside|every address|open link)\b"
            r"|\b(?:public|anonymous|external|open)\b[^?]{0,20}\b(?:access|space|link|account|bucket)\b"
            r"|\b(?:public|anonymous|external) sharing\b"
            r"|\bexposed\b|\bopen to the\b|\bpublished\b|\bshared (?:to|outside|externally|publicly)\b"
        ),
    ),
    EventSubject(
        words=_pattern(
            r"\bexfiltrat\w*|\bdata (?:theft|loss|leak\w*|breach)\b|\bupload\w*|"
            + _pair(
                r"data|files?|mails?|documents?|code|anything|information|repositor\w+|mailbox\w*",
                r"download\w*|export\w*|copied|taken|sent out|leaves?|left|leak\w*|stol\w*|steal\w*",
            )
        ),
        titles=_pattern(
            r"\bexfiltrat\w*|\bupload\w*|(?<!\blog )\bexport\w*|\bmass (?:use|download)\w*"
            r"|\bdownloaded in bulk\b|\bforwarding\b"
            r"|\b(?:data|file|mailbox|message|repository|snapshot|backup)s?\b[^?]{0,40}\b(?:download\w*|transfer\w*"
            r"|shared|outside|copied|copying)\b|\bdata theft\b"
        ),
        techniques=(
            "T1020", "T1030", "T1041", "T1048", "T1114.002", "T1114.003", "T1213", "T1530", "T1537", "T1567",
            "T1567.002",
        ),
        is_certain=False,
    ),
    ABROAD,
    EventSubject(
        words=_pattern(_pair(r"passwords?", r"chang\w*|reset\w*|updat\w*")),
        titles=_pattern(_pair(r"passwords?", r"chang\w*|reset\w*|updat\w*")),
    ),
    EventSubject(
        words=_pattern(_pair(r"(?:user )?accounts?|users?|members?", _GONE)),
        titles=_pattern(rf"\b(?:accounts?|users?|members?)\b[^?]{{0,40}}\b(?:{_GONE})\b"),
        techniques=("T1531",),
    ),
    EventSubject(
        words=_pattern(_pair(r"(?:user )?accounts?|users?|identit(?:y|ies)|members?|guests?", _CHANGED)),
        titles=_pattern(
            _pair(
                r"accounts?|users?|members?|guests?|identit(?:y|ies)|administrators?|admin|owner"
                r"|roles?|passwords?|mfa"
                r"|two-?(?:factor|step)|privileges?",
                rf"{_CHANGED}|access",
            )
        ),
        techniques=("T1098", "T1098.003", "T1136", "T1136.001", "T1136.003", "T1531", "T1556.006"),
    ),
)  # fmt: skip
"""In the order in which a question is compared with them."""


def subject_of(text: str) -> EventSubject | None:
    """The first subject that a question is about."""
    return next((one for one in SUBJECTS if one.words.search(text)), None)
