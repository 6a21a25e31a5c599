"""Words that ask who tried to log in, for every skill that reads logins or logons."""

from __future__ import annotations

_SOMEONE = r"anyone|anybody|someone|somebody|they|he|she|it|attackers?|intruders?|bots?|hackers?"
_ENTER = r"got|get|gotten|getting|broke|break|broken|breaking|logged|log|logging|let"
_UNUSUAL = r"unusual|suspicious|strange|odd|abnormal|anomalous"
_LOGINS = r"log-?ins?|log-?ons?|sign-?ins?"

LOGIN_QUESTIONS = (
    r"\bbrut(?:e|ed)[- ]?forc\w*",
    r"\bfailed (?:ssh |password )?(?:log-?ins?|log-?ons?|passwords?|attempts?|auth\w*|sign-?ins?)\b",
    r"\b(?:log-?in|log-?on|authentication|password) (?:failures?|attempts?)\b",
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
