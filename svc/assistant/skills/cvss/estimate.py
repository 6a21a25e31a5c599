"""Estimate the CVSS 3.1 base metrics of a vulnerability from its description, with the words for each.

A published record is scored by people who know more than its text. This gives what records with such words usually
have: the class of the vulnerability sets typical values, and words that state a condition replace them
(``estimate.toml``). It does not score a vector; ``tool.py`` does. Pure; every pattern is bounded.
"""

from __future__ import annotations

import datetime
import re
from functools import cache

import msgspec

from svc.assistant.knowledge import load

BASE_METRICS = ("AV", "AC", "PR", "UI", "S", "C", "I", "A")
MAX_DESCRIPTION_CHARS = 12_000  # of one description; published ones have 4,000 at most
MIN_DESCRIPTION_CHARS = 20
WORDS_CHARS = 80  # of the words shown for a metric

_SUBJECT = re.compile(
    r"\b(?:vulnerab\w+|attackers?|exploit\w*|flaw|weakness|injection|overflow|cross[- ]site|XSS|CSRF|use[- ]after[- ]"
    r"free|out[- ]of[- ]bounds|denial|privilege escalation|escalat\w+ privileges?|traversal|bypass\w*|code execution"
    r"|memory corruption|Transient DOS|issue was addressed|dereference|deadlock|race condition|clear-?text|credentials"
    r"|search path|insecure direct object|clickjacking|cross-origin|symbolic link|link following|privilege management"
    r"|hard-?coded|crash(?:es|ed|ing)?|arbitrary (?:code|files?|commands?)|authenticated|unauthenticated"
    r"|issue (?:has been|was) discovered|(?:app|user|website) (?:may|could|might) (?:be able to|gain)"
    r"|unsigned|unauthori[sz]ed|untrusted|uninitiali[sz]ed|unbounded|malformed|world-readable|backtracking|assertion|forged?"
    r"|physical access|stack traces?|(?:specially )?crafted|malicious|"
    r"does not (?:properly )?(?:check|validate|verify|restrict"
    r"|sanitize|limit|require|enforce|neutralize|escape)|without (?:verifying|checking|validating|authenticat\w+)"
    r"|(?:disclos|expos|leak)(?:es|ed|ing|ure)"
    r"|CVE-\d{4}-\d{4,})\b",
    re.IGNORECASE,
)


class VulnerabilityClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class of vulnerability; ``metrics`` are its usual values in the order of BASE_METRICS."""

    name: str
    words: str
    metrics: str
    and_words: str = ""
    not_words: str = ""


class MetricRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that state values of metrics: ``sets`` has them as ``PR:L`` or ``C:N I:N``."""

    sets: str
    words: str
    reason: str
    kinds: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    not_words: str = ""


class EstimateTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``estimate.toml``."""

    source: str
    version: str
    date: datetime.date
    kind: list[VulnerabilityClass]
    rule: list[MetricRule]


class EstimatedMetric(msgspec.Struct, frozen=True):
    """A value with its reason; ``words`` are those of the text, "" if the value is only usual for the class."""

    metric: str
    value: str
    reason: str
    words: str


class Estimate(msgspec.Struct, frozen=True):
    """The class of a vulnerability, the words that show it, and its eight base metrics."""

    kind: str
    words: str
    metrics: tuple[EstimatedMetric, ...]


@cache
def table() -> EstimateTable:
    """The words, loaded once per process."""
    return load("estimate.toml", EstimateTable, __package__)


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE | re.DOTALL)


def describes_vulnerability(text: str) -> bool:
    """Whether a text has the words of a vulnerability's description at all."""
    return len(text.strip()) >= MIN_DESCRIPTION_CHARS and _SUBJECT.search(text[:MAX_DESCRIPTION_CHARS]) is not None


def estimate(description: str) -> Estimate | None:
    """Return the estimated base metrics of a description, or None if no class of vulnerability fits it."""
    text = re.sub(r"\s+", " ", description[:MAX_DESCRIPTION_CHARS]).strip()
    found = _kind_of(text)
    if found is None:
        return None
    kind, words = found
    stated = _stated(text, kind.name)
    usual = dict(zip(BASE_METRICS, kind.metrics.split(), strict=True))
    metrics = tuple(
        stated.get(metric) or EstimatedMetric(metric, usual[metric], f"usual for {kind.name}", "")
        for metric in BASE_METRICS
    )
    return Estimate(kind.name, words, metrics)


def _kind_of(text: str) -> tuple[VulnerabilityClass, str] | None:
    for kind in table().kind:
        match = _pattern(kind.words).search(text)
        if match is None or not _occurs(kind.and_words, text, default=True) or _occurs(kind.not_words, text):
            continue
        return kind, match[0][:WORDS_CHARS]
    return None


def _occurs(words: str, text: str, *, default: bool = False) -> bool:
    return _pattern(words).search(text) is not None if words else default


def _stated(text: str, kind: str) -> dict[str, EstimatedMetric]:
    """The metrics that words of the text state; the first rule for a metric decides."""
    stated: dict[str, EstimatedMetric] = {}
    for rule in table().rule:
        values = dict(value.split(":") for value in rule.sets.split())
        if (rule.kinds and kind not in rule.kinds) or kind in rule.unless or stated.keys() >= values.keys():
            continue
        match = _pattern(rule.words).search(text)
        if match is None or _occurs(rule.not_words, text):
            continue
        for metric, value in values.items():
            stated.setdefault(metric, EstimatedMetric(metric, value, rule.reason, match[0][:WORDS_CHARS]))
    return stated
