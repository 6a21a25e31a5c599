"""Choose one of the answers that a prompt or a schema allows, by the value that was found. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.analyst.asked_values import Results, Value
from svc.assistant.analyst.format_types import Choice
from svc.assistant.analyst.yes_or_no import decide, is_yes_no_question

_ALIKE = (
    {
        "benign",
        "legitimate",
        "legit",
        "ordinary",
        "clean",
        "safe",
        "ham",
        "harmless",
        "normal",
        "genuine",
        "not malicious",
    },
    {"phishing", "phish", "phishing mail"},
    {"malicious", "bad", "harmful", "malware", "dangerous", "evil"},
    {"spam", "junk"},
    {"suspicious", "unusual", "needs review"},
    {"medium", "moderate"},
    {"info", "informational", "none"},
    {"yes", "true", "y", "affected", "vulnerable"},
    {"no", "false", "n", "not affected", "not vulnerable"},
    {"ipv4", "ip", "ip address", "ip_address", "ipv4 address", "address"},
    {"ipv6", "ip", "ip address", "ip_address", "ipv6 address", "address"},
    {"domain", "domain name", "domain_name", "hostname", "fqdn"},
    {"url", "uri", "link"},
    {"email", "e-mail", "mail", "email address", "email_address"},
    *({kind, "hash", "file hash", "file_hash"} for kind in ("md5", "sha1", "sha256", "sha512")),
)
"""Words for the same verdict or type of indicator."""
_UNKNOWN_WORDS = frozenset(
    {"unknown", "cannot tell", "undetermined", "unclear", "inconclusive", "not sure", "n/a", "cannot determine",
     "unsure", "insufficient information", "not enough information", "not examined"}
)  # fmt: skip
_ID = re.compile(r"\b(?:T\d{4}(?:\.\d{3})?|TA\d{4}|CWE-\d{1,5}|CVE-\d{4}-\d{4,19})\b(?!\.\d)", re.IGNORECASE)


def chosen(choices: Sequence[Choice], results: Results) -> str | None:
    """The label of the choice that the findings support; None if they support none, or several."""
    values: list[Value] = []
    if is_yes_no_question(results.question):
        values.append(decide(results.question, results.groups, is_examined=results.is_examined))
    values += [results.value("answer"), results.value("verdict")]
    if any(_ID.search(choice.text) for choice in choices):
        values += [results.value(name) for name in ("technique", "cwe", "cve")]
    else:
        values += [results.value("severity")] if any(_is_severity(choice) for choice in choices) else []
    for value in values:
        if isinstance(value, str) and (label := matching(choices, value)) is not None:
            return label
    return unknown_of(choices)


def unknown_of(choices: Sequence[Choice]) -> str | None:
    """The label of the choice that says that the answer is unknown."""
    return next((choice.label for choice in choices if choice.text.lower().strip(" .") in _UNKNOWN_WORDS), None)


def other_of(choices: Sequence[Choice]) -> str | None:
    """The label of the choice for a known value that none of the others means."""
    return next((choice.label for choice in choices if choice.text.lower() in ("other", "others")), None)


def matching(choices: Sequence[Choice], value: str) -> str | None:
    """The label of the one choice that means the value."""
    for fits in (_is_same, _has_id, _is_alike, _has_words):
        found = [choice.label for choice in choices if fits(choice.text, value)]
        if len(found) == 1:
            return found[0]
    return None


def _is_same(text: str, value: str) -> bool:
    return text.lower().strip(" .") == value.lower()


def _has_id(text: str, value: str) -> bool:
    return _ID.fullmatch(value) is not None and value.upper() in (one.upper() for one in _ID.findall(text))


def _is_alike(text: str, value: str) -> bool:
    return any(text.lower().strip(" .") in words and value.lower() in words for words in _ALIKE)


def _has_words(text: str, value: str) -> bool:
    return len(value) > 2 and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _is_severity(choice: Choice) -> bool:
    return choice.text.lower() in ("critical", "high", "medium", "low")
