"""Words that ask who tried to log in, for every skill that reads logins or logons, and what such a question asks."""

from __future__ import annotations

import re

from svc.assistant.skills.logins.findings import LoginQuestion

_SOMEONE = r"anyone|anybody|someone|somebody|they|he|she|it|attackers?|intruders?|bots?|hackers?"
_ENTER = r"got|get|gotten|getting|broke|break|broken|breaking|logged|log|logging|let"
_UNUSUAL = r"unusual|suspicious|strange|odd|abnormal|anomalous"
_LOGINS = r"log-?ins?|log-?ons?|sign-?ins?"

LOGIN_QUESTIONS = (
    r"\bbrut(?:e|ed)[- ]?forc\w*",
    r"\bfailed (?:ssh |password )?(?:log-?ins?|log-?ons?|passwords?|attempts?|auth\w*|sign-?ins?)\b",
    r"\b(?:log-?in|log-?on|authentication|password) (?:failures?|attempts?)\b",
    rf"\b(?:{_LOGINS}) (?:have |had |that )?fail(?:ed|s)?\b",
    r"\b(?:who|users?|accounts?|people) (?:has |have |had )?failed(?:$|[ ]?[?!.,;]| (?:and|or|most|from|at|on|over)\b)",
    r"\bfailed to (?:log|sign|auth|connect)\w*",
    r"\bpassword[- ](?:spray|guess)\w*",
    r"\bcredential stuffing\b",
    r"\bwho (?:has |was |had )?(?:logged|got|gotten|let|broke|broken|tried to (?:log|get)) ?(?:on|in)\b",
    rf"\b(?:{_SOMEONE})\b[^.?!\n]{{0,20}}\b(?:{_ENTER}) ?(?:on|in)\b",
    rf"\b(?:successful|accepted|unauthori[sz]ed|{_UNUSUAL}) (?:\w+ )?(?:{_LOGINS}|access(?:es)?)\b",
    rf"\b(?:{_LOGINS})\b[^.?!\n]{{0,40}}\b(?:{_UNUSUAL}|success\w*|accepted|worked)\b",
    r"\b(?:log-?ins?|log-?ons?|success(?:es)?|logged in)\b[^.?!\n]{0,30}\bafter (?:\w+ )?(?:failures?|failed)",
    r"\bssh\b[^.?!\n]{0,40}\b(?:attack|attempt|fail|log-?in|intru)\w*",
    r"\baccounts?\b[^.?!\n]{0,40}\b(?:attack|compromis|broken into|taken over|target|guess)\w*",
)

_ENTRY = (
    r"\b(?:got|gets?|getting|gotten|let|broken?|breaks?|made it|came|come) (?:\w+ )?in(?:to|side)?\b",
    (
        r"\b(?:who|whom|any(?:one|body)|some(?:one|body)|which|what|they|he|she|attacker|intruder|users?|accounts?|"
        r"source\w*|address\w*|ips?)\b(?:(?!\b(?:tr(?:y|ied)|fail\w*|attempt\w*|unable)\b)[^.?!\n]){0,40}"
        r"\b(?:log(?:ged|s|ging)?|sign(?:ed|s)?)[- ]?(?:in|on)\b"
    ),
    r"\b(?:successful\w*|accepted)\b[^.?!\n]{0,30}\b(?:log-?(?:in|on)s?|sign-?ins?|logged|auth\w*|connect\w*|access\w*)",
    r"\b(?:log-?(?:in|on)s?|sign-?ins?|authentications?|passwords?)\b[^.?!\n]{0,30}\b(?:succe\w+|accepted|worked)",
    r"\b(?:gain\w*|ha[sd]|have|obtain\w*|g[eo]t\w*) (?:\w+ )?access\b|\bentered\b|\bentry\b",
    r"\bwer\b[^.?!\n]{0,40}\b(?:rein|hinein|eingeloggt|angemeldet|zugriff|zugang|eingedrungen)",
    r"\bjemand\w*\b[^.?!\n]{0,40}\b(?:rein|hinein|eingeloggt|angemeldet|zugriff|zugang|eingedrungen)",
    r"\b(?:qui|quelqu.un)\b[^.?!\n]{0,40}\b(?:entr[ée]|connect[ée]|acc[ée]d[ée]|r[ée]ussi|p[ée]n[ée]tr[ée])",
    r"(?:\bqui[ée]n|\balguien)\b[^.?!\n]{0,40}\b(?:entr[óo]|inici[óo]|accedi[óo]|logr[óo]|consigui[óo])",
    r"誰が.{0,12}(?:ログイン|侵入|入)|ログインに成功|侵入され",
)
_COMPROMISE = (
    r"\b(?:compromis|hack|breach|pwn|taken over|broken into|intru[ds])\w*",
    r"\bkompromittiert|\bcompromet?tid|\bcomprometid|侵害",
)
_ATTACK = (
    r"\bsucce\w+\b[^.?!\n]{0,40}\b(?:brut\w+|attack\w*|guess\w*|spray\w*|stuffing)",
    r"\b(?:brut\w+|attack\w*|guess\w*|spray\w*|stuffing)\b[^.?!\n]{0,40}\b(?:succe\w+|work(?:ed)?)\b",
    r"\bdid (?:it|they|any|anyone) (?:work|succeed)\b",
)
_ODD = (rf"\b(?:{_UNUSUAL}|anomal\w+|out of (?:the )?ordinary|weird|rare|ungewöhnlich\w*)\b",)
_YES_NO = re.compile(
    r"\s*(?:(?:and|or|but|so|then|also|please|tell me|check|say|if|whether)[ ,]+){0,4}"
    r"(?:did|do|does|was|were|is|are|has|have|had|can|could|any|whether|if|ist|hat|wurden?|gab|konnte|est-ce|alguien)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[?.!;\n]|,? (?:and|but|und|et|y) |, ")
_KINDS = tuple(
    (kind, re.compile("|".join(patterns), re.IGNORECASE))
    for kind, patterns in (
        (LoginQuestion.ENTRY, _ENTRY),
        (LoginQuestion.ATTACK, _ATTACK),
        (LoginQuestion.COMPROMISE, _COMPROMISE),
        (LoginQuestion.UNUSUAL, _ODD),
    )
)


_NAME = r"[`'\"\u2018\u201c]?([A-Za-z][\w.-]{0,60}\w)[`'\"\u2019\u201d]?"
_NAMED = (
    re.compile(rf"\b(?i:did|has|had|could) {_NAME} (?:ever |also |really )?(?:log|sign|g[eo]t|enter|succe|do any)"),
    re.compile(
        r"\b(?:log(?:ged|s)?|sign(?:ed|s)?|g[eo]t|gets|broke|break) ?-?(?:in|on|into)(?: successfully)? "
        rf"(?:as|to|from|using|by|for|with) (?:user |account |the )?{_NAME}"
    ),
    re.compile(
        rf"\b(?:is|was|has|had|did|if|whether) (?:the |our |my |his |her |their )?{_NAME}(?:[\u2019']s)?"
        r" (?:user |admin |service )?(?:account|user|login)\b"
    ),
    re.compile(rf"\b(?:is|was|has|had|did|if|whether) (?:the )?(?:account|user|login) (?:of |named |called )?{_NAME}"),
)
_NO_NAME = re.compile(
    r"attack|hack|intru|breach|bot|user|account|people|person|malware|threat|actor|employee|staff|crim|source|address"
    r"|host|brute|login|logon|password|exploit|nobody|compromis|taken|broken"
    r"|(?:any|some|every|no) ?-?(?:one|body|thing)\Z|(?:they|he|she|we|you|i|who|all|many|most|both|what)\Z"
    r"|(?:an?|any|the|this|that|these|some|every|each|one|another|no|local|domain|service|system|other|same|new|old"
    r"|shared|privileged|disabled|affected|targeted|victim|active|valid|cloud|email|mail|there|it|or|and|of|in|been"
    r"|remote|ssh|rdp|vpn|console|external|internal|failed|successful|unusual|suspicious|further|later|several|such"
    r"|used|ever|still|able|locked|abused|misused|stolen|hijacked)\Z",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


def named_accounts(question: str) -> list[str]:
    """Return the accounts that a question names: "zoe" of "did zoe get in?" and of "was the zoe account hacked?"."""
    found = [match[1] for pattern in _NAMED for match in pattern.finditer(question)]
    return [name for name in dict.fromkeys(found) if not _NO_NAME.match(name)]


def asked_fields(question: str) -> dict[str, object]:
    """What a question asks, as fields of ``AuthSummary``."""
    kind, is_yes_no = asked(question)
    return {"question": kind, "is_yes_no": is_yes_no}


def asked(question: str) -> tuple[LoginQuestion, bool]:
    """Return what a question asks about logins, and whether it asks for yes or no about all of them.

    Of a question with several clauses, who got in comes before whether an attack succeeded. What happened to others is
    no "yes" to a question about one account or address.
    """
    is_of_one = bool(named_accounts(question) or _ADDRESS.search(question))
    for kind, pattern in _KINDS:
        found = pattern.search(question)
        if found is None:
            continue
        clause = _CLAUSES.split(question[: found.end()])[-1]
        return kind, not is_of_one and _YES_NO.match(clause) is not None
    return LoginQuestion.OTHER, False
