"""Find the value that a name asks for in the findings: "CWE ID", ``technique``, "number of failed logins". Pure.

A name has a type (``_THINGS``), and only a value of that type is taken: a technique is never given for a weakness. Of
several results the worst counts, then the one that the tool ranks first. What no finding has is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import msgspec

from svc.assistant.analyst.plan import question_of
from svc.assistant.analyst.questions.chosen_rows import asked_rows
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.analyst.yes_or_no import decide, is_yes_no_question
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import of_kind, worst_first

MAX_ROWS = 50_000  # of an answer in a data format; the findings have all
MAX_SEARCHED = 2_000  # findings searched for a value
Scalar = str | int | float | bool | None
TableRow = dict[str, "Scalar | list[Scalar]"]
Value = Scalar | list[Scalar] | list[TableRow]
Row = dict[str, Value]
Groups = Sequence[tuple[Skill, Sequence[AnyFinding]]]
_RANK = {severity.value: rank for rank, severity in enumerate(Severity)}

TYPES: dict[str, tuple[str, ...]] = {
    "domains": ("domain",),
    "domain": ("domain",),
    "domain_names": ("domain",),
    "domain_name": ("domain",),
    "hostnames": ("domain",),
    "ips": ("ipv4", "ipv6"),
    "ip": ("ipv4", "ipv6"),
    "ip_addresses": ("ipv4", "ipv6"),
    "ip_address": ("ipv4", "ipv6"),
    "addresses": ("ipv4", "ipv6"),
    "urls": ("url",),
    "url": ("url",),
    "hashes": ("md5", "sha1", "sha256", "sha512"),
    "hash": ("md5", "sha1", "sha256", "sha512"),
    "emails": ("email",),
    "email": ("email",),
    "email_addresses": ("email",),
    "cves": ("cve",),
}
"""Names of indicators, with their types."""
_SYNONYMS = {
    "address": ("source", "value", "ip"),
    "description": ("description", "text", "summary", "what"),
    "finding": ("title",),
    "host": ("host", "computer", "hosts"),
    "id": ("id", "cwe", "technique", "cve", "technique_id", "cwe_id"),
    "indicator": ("value",),
    "ioc": ("value",),
    "ip": ("source", "value", "address"),
    "name": ("name", "account", "value", "title"),
    "text": ("text", "excerpt"),
    "time": ("time", "first"),
    "number": ("score", "count", "failures"),
    "count": ("count", "failures", "hits"),
    "attempts": ("failures", "attempts"),
    "evidence": ("excerpt", "evidence"),
}


class Thing(msgspec.Struct, frozen=True):
    """What a name asks for: the fields that may hold it, and how its values look; no field: no tool knows it."""

    words: re.Pattern[str]
    fields: tuple[str, ...]
    looks: re.Pattern[str] = re.compile(r"", re.DOTALL)


def _thing(words: str, fields: str, looks: str = "") -> Thing:
    return Thing(re.compile(rf"(?:^|_)(?:{words})(?=_|$)"), tuple(fields.split()), re.compile(looks, re.DOTALL))


_NUMBER_LOOKS = r"\A-?\d++(?:\.\d++)?\Z"
_THINGS = (
    _thing(
        "threat_actors?|actors?|threat_groups?|groups?|apt|attribution|attribute|campaign_name|malware_famil(?:y|ies)|"
        "country|motive|motivation|patch|exploit_code|author",
        "",
    ),
    _thing("(?:cvss_)?(?:base_)?vectors?(?:_string)?", "vector", r"\A[A-Z][\w.]*+:"),
    _thing("base_score|impact_score", "base_score score", _NUMBER_LOOKS),
    _thing("(?:cvss_)?scores?", "score base_score", _NUMBER_LOOKS),
    _thing("cwes?|cweid|weakness(?:es)?", "id cwe cwe_id cwes", r"CWE-\d"),
    _thing("cves?|cveid", "id cve value", r"CVE-\d"),
    _thing("(?:sub_?)?techniques?|mitre|att_?ck|attack|ttps?", "id technique technique_id techniques", r"T\d{4}"),
    _thing("tactics?", "tactics tactic"),
    _thing("verdict|classification|label|class|category|assessment|disposition|judge?ment", "verdict rating"),
    _thing("plain_?text|decoded|clear_?text|decodes?", "text"),
    _thing("(?:failed|failures?)(?:_log_?ins?|_attempts|_count)?", "failures", _NUMBER_LOOKS),
    _thing("accounts?|user_?names?|users?|who", "account user success_accounts"),
    _thing("sources?(?:_ip|_address)?|attackers?(?:_ip)?|src(?:_ip)?", "source ip client"),
    _thing("hash_type|type_of_hash|kind_of_hash|what_hash", "candidates"),
    _thing("rating", "rating severity"),
)
_GENERIC = re.compile(
    r"(?:final_)?(?:answers?|results?|values?|responses?|conclusion|output|prediction|decision|findings?|solution|"
    r"correct_answer|option|label|word|number|count|total)\Z"
)
_REASONS = re.compile(
    r"(?:^|_)(?:reason(?:s|ing)?|explanations?|rationale|justifications?|why|analysis|comments?|thoughts?|details)\Z"
)
_YES_NO_NAME = re.compile(
    r"(?:is|was|has|did|are|does)_\w+|affected|vulnerable|malicious|phishing|suspicious|compromised"
)
_SUCCESS = re.compile(
    r"\b(?:got|get|gets|let|broke|break|logged|log) in(?:to)?\b|\bsucce\w+|\bcompromised\b|\baccepted\b|\bbreached\b",
    re.IGNORECASE,
)
_SUCCESS_KINDS = re.compile(r"success|accepted")
_LOGIN_KINDS = re.compile(r"\A(?:auth|logon)_")
_DEFAULTS = {
    "weakness": "id",
    "cwe": "id",
    "behaviour_technique": "id",
    "attack_technique": "id",
    "cvss_score": "score",
    "decoded": "text",
    "hash_kind": "candidates",
    "cve": "id",
    "indicator": "value",
    "auth_success": "account",
    "auth_source": "source",
}
"""What "the answer" is for findings of a kind if the question does not name it."""


def normalize(name: str) -> str:
    """``cweId`` and "CWE ID" as ``cwe_id``."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", split.lower().replace("att&ck", "attack")).strip("_")


_SEARCHES = SUMMARIES | {"beacon_search", "proxy_summary"}
"""Kinds that say how far something was searched, and are there although nothing was found."""


def main_findings(skill: Skill, findings: Sequence[AnyFinding]) -> Sequence[AnyFinding]:
    """The findings of the first of the skill's kinds that occurs; summaries only if nothing else does."""
    for kind in [kind for kind in skill.kinds if kind not in _SEARCHES] + list(skill.kinds):
        if found := of_kind(findings, kind):
            return found
    return []


def row_of(finding: AnyFinding) -> Row:
    """A finding as one row: its facts first, then the fields that every finding has."""
    evidence = finding.evidence[0] if finding.evidence else None
    techniques: list[Scalar] = [*finding.techniques]
    common: Row = {
        "title": finding.title,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "why": finding.why,
        "techniques": techniques,
        "evidence": evidence.source if evidence else None,
        "line": (evidence.line or evidence.record) if evidence else None,
        "excerpt": evidence.excerpt if evidence else None,
    }
    facts = cast("Row", columns(finding))
    return {"kind": finding.kind} | facts | {name: value for name, value in common.items() if name not in facts}


def without_empty(row: Row) -> Row:
    """The row's fields that have a value."""
    return {name: value for name, value in row.items() if value not in (None, "", [])}


def _order(row: Row) -> tuple[int, float, float]:
    """Worst first, then the tool's own ranking, then the highest score."""
    rank, score = row.get("rank"), row.get("score")
    return (
        _RANK.get(str(row.get("severity")), len(_RANK)),
        float(rank) if isinstance(rank, int) else 0,
        -float(score) if isinstance(score, int | float) else 0,
    )


class Results:
    """The findings of a turn as rows, the one that answers first, and the question that they answer."""

    def __init__(self, groups: Groups, question: str, *, is_examined: bool) -> None:
        self.groups = groups
        self._prompt = question
        self.question: str = _question_in(question)
        question = self.question
        self.is_examined = is_examined
        main = [main_findings(skill, findings) for skill, findings in groups]
        self.main: list[Row] = [
            row_of(finding) for findings in main for finding in islice(worst_first(findings), MAX_ROWS)
        ]
        self.left_out: int = sum(map(len, main)) - len(self.main)
        self.main.sort(key=_order)
        self.every: list[Row] = [row_of(finding) for _, findings in groups for finding in findings[:MAX_SEARCHED]]
        self.every.sort(key=_order)
        self.asked: list[Row] = [dict(row) for row in asked_rows([one for _, found in groups for one in found])]
        """What a question about records asks for: instead of the findings."""
        if self.asked:
            self.main, self.left_out = self.asked, 0
            return
        if _SUCCESS.search(question):
            self.every = _of_successes(self.every)
            self.main = [row for row in self.every if _is_success(row)][:MAX_ROWS] or _of_successes(self.main)

    @property
    def answering(self) -> Sequence[AnyFinding]:
        """The findings that answer the question: if it is who got in, without failed logins."""
        every = [finding for _, findings in self.groups for finding in findings[:MAX_SEARCHED]]
        if not _SUCCESS.search(self.question):
            return every
        return [one for one in every if not _LOGIN_KINDS.match(one.kind) or _SUCCESS_KINDS.search(one.kind)]

    @property
    def first(self) -> list[Row]:
        """All rows, those of the main kind first."""
        return [*self.main[:1], *self.every]

    def value(self, name: str) -> Value:
        """The value for a name, or None."""
        requested = normalize(name)
        if requested in TYPES and requested.endswith("s"):
            return _together(self.all_values(name)) or self._field(requested)
        if _REASONS.search(requested):
            return self.reason()
        if _GENERIC.match(requested):
            return self._answer(requested)
        thing = _thing_in(requested)
        if thing is None and _YES_NO_NAME.fullmatch(requested):
            return decide(name.replace("_", " "), self.groups, is_examined=self.is_examined) or self._field(requested)
        if thing is None:
            return self._field(requested)
        if _is_name_of(requested, thing):
            return next((row["name"] for row in self._having(thing) if row.get("name")), None)
        return next(self.values(thing), None)

    def reason(self) -> Scalar:
        """Why, in the tool's words; None if nothing was found."""
        for row in self.first:
            for name in ("why", "words", "what", "title"):
                value = row.get(name)
                if isinstance(value, list):
                    value = ", ".join(str(one) for one in value)
                if isinstance(value, str) and value:
                    return value
        return None

    def values(self, thing: Thing) -> Iterator[Scalar]:
        """All values of a thing, the one that answers first; they may repeat."""
        rows = self.first
        if "failures" in thing.fields:
            rows = sorted(rows, key=lambda row: "summary" not in str(row.get("kind")))
        for row in rows:
            yield from _values_in(row, thing)

    def all_values(self, name: str) -> list[Scalar]:
        """The values of all rows for a name in the plural, without repetition; for "the answer" what is asked for."""
        requested = normalize(name)
        types = TYPES.get(requested)
        if types is not None and any(row.get("type") in types for row in self.every):
            return [*dict.fromkeys(_scalar(row["value"]) for row in self.main if row.get("type") in types)]
        if _GENERIC.match(requested) or not requested:
            return self._answers()
        thing = _thing_in(requested)
        if thing is None:
            singular = requested.removesuffix("s")
            found = [_field_of(row, one) for row in self.main for one in (requested, singular)]
            return [*dict.fromkeys(_scalar(value) for value in _flat(found) if value is not None)]
        return self._of_thing(thing)

    def _of_thing(self, thing: Thing) -> list[Scalar]:
        """The different values of a thing; what only lists candidates counts if nothing else has it."""
        rows = self.first if "failures" not in thing.fields else []
        rows = _distinct([row for row in rows if not _is_alternative(row)], thing) if thing.fields else []
        return [_scalar(row[thing.fields[0]]) for row in rows] or [*dict.fromkeys(self.values(thing))]

    def rows_for(self, names: Sequence[str]) -> list[Row]:
        """The rows that a table with these columns has: of the type that the first column names, else the main ones."""
        for name in names:
            types = TYPES.get(normalize(name))
            if types is not None and any(row.get("type") in types for row in self.main):
                return [row for row in self.main if row.get("type") in types]
            thing = _thing_in(normalize(name))
            if thing is not None:
                return _distinct([row for row in self._having(thing) if not _is_alternative(row)], thing)
        return [row for row in self.main if not _is_alternative(row)]

    def _having(self, thing: Thing) -> list[Row]:
        return [row for row in self.first if next(_values_in(row, thing), None) is not None]

    def _field(self, requested: str) -> Value:
        for row in self.first:
            value = _field_of(row, requested)
            if value not in (None, "", []):
                if requested == "severity" and value == Severity.INFO.value:
                    return min((str(one["severity"]) for one in self.every), key=lambda one: _RANK.get(one, 9))
                return value
        return None

    def _answer(self, requested: str) -> Value:
        """The value that the question asks for."""
        if requested in ("number", "count", "total"):
            things = _things_in(normalize(self.question))
            named = (value for thing in things for value in self.values(thing))
            return next((value for value in [*named, *self._answers()] if _is_number(value)), None)
        if is_yes_no_question(self.question):
            return decide(self.question, self.groups, is_examined=self.is_examined)
        answers = self._answers()
        is_plural = any(one.endswith("s") and _word(one, normalize(self.question)) for one in TYPES)
        return _together(answers) if is_plural else next(iter(answers), None)

    def _answers(self) -> list[Scalar]:
        question = normalize(self.question)
        named = [(match.start(), types) for one, types in TYPES.items() for match in [_word(one, question)] if match]
        if named and any(row.get("type") in min(named)[1] for row in self.main):
            types = min(named)[1]
            return [*dict.fromkeys(_scalar(row["value"]) for row in self.main if row.get("type") in types)]
        things = _things_in(question)
        if things:
            asked = sorted((self._of_thing(thing) for thing in things), key=self._is_given)
            return next((values for values in asked if values), []) if things[0].fields else []
        return self._defaults()

    def _is_given(self, values: Sequence[Scalar]) -> bool:
        """Whether the prompt itself has the first value: "What does this vector score?" does not ask for the vector."""
        return (
            bool(values) and str(values[0]).partition("/")[2] != "" and str(values[0]).partition("/")[2] in self._prompt
        )

    def _defaults(self) -> list[Scalar]:
        """What "the answer" is for the kinds of the findings."""
        found: list[Scalar] = []
        for row in [*self.main, *self.every]:
            name = _DEFAULTS.get(str(row.get("kind")), "verdict" if "verdict" in row else "")
            value = row.get(name) if name and not _is_alternative(row) else None
            found += [_scalar(one) for one in _flat([value])][: None if name != "candidates" else 1]
        return [*dict.fromkeys(value for value in found if value not in (None, ""))]


def _together(values: Sequence[Scalar]) -> Scalar:
    """Several values as one text; one as it is."""
    return ", ".join(map(str, values)) if len(values) > 1 else next(iter(values), None)


def _question_in(prompt: str) -> str:
    """The question of a prompt, without what follows its colon."""
    question = question_of(prompt)
    head, _, rest = question.partition(": ")
    return head if len(rest) > 30 else question


def _of_successes(rows: list[Row]) -> list[Row]:
    """Without failed logins, if the question is who got in: they would be taken for the answer."""
    return [
        row
        for row in rows
        if not _LOGIN_KINDS.match(str(row.get("kind"))) or _SUCCESS_KINDS.search(str(row.get("kind")))
    ]


def _is_success(row: Row) -> bool:
    return _LOGIN_KINDS.match(str(row.get("kind"))) is not None


def _word(name: str, question: str) -> re.Match[str] | None:
    return re.search(rf"(?:^|_){name}(?=_|$)", question)


def _things_in(normalized: str) -> list[Thing]:
    """The things that a name or a question names, in its order; first one that no tool knows."""
    found = [
        (bool(thing.fields), match.start(), number)
        for number, thing in enumerate(_THINGS)
        for match in [thing.words.search(normalized)]
        if match
    ]
    return [_THINGS[number] for _, _, number in sorted(found)]


def _thing_in(normalized: str) -> Thing | None:
    return next(iter(_things_in(normalized)), None)


def _is_name_of(requested: str, thing: Thing) -> bool:
    """Whether the name of a thing with an ID is asked for: ``technique_name``."""
    return requested.endswith(("_name", "_title")) and bool(thing.looks.pattern)


def _is_alternative(row: Row) -> bool:
    """Whether the row is a less likely candidate for the same text."""
    rank = row.get("rank")
    return isinstance(rank, int) and rank > 1


def _values_in(row: Row, thing: Thing) -> Iterator[Scalar]:
    if row.get("is_denied") is True:
        return
    for name in thing.fields:
        for value in _flat([row.get(name)]):
            single = _scalar(value)
            if single not in (None, "") and thing.looks.match(str(single)):
                yield single


def _distinct(rows: Sequence[Row], thing: Thing) -> list[Row]:
    """One row for each value; if the value is a field of its own in some rows, only these: others list candidates."""
    own = [row for row in rows if _has_own(row, thing)]
    kept: dict[Scalar, Row] = {}
    for row in own or rows:
        for value in _values_in(row, thing):
            kept.setdefault(value, row)
            if own:
                break
    return [row | {thing.fields[0]: value} for value, row in kept.items()]


def _has_own(row: Row, thing: Thing) -> bool:
    value = row.get(thing.fields[0]) if thing.fields else None
    return isinstance(value, str | int | float) and thing.looks.match(str(value)) is not None


def _flat(values: Sequence[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, list):
            yield from value
        elif value is not None:
            yield value


def _scalar(value: object) -> Scalar:
    if isinstance(value, dict):
        return cast("Scalar", value.get("id") or value.get("name") or next(iter(value.values()), None))
    return cast("Scalar", value)


def _is_number(value: Scalar) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", str(value)) is not None


def field_of(row: Row, name: str) -> Value:
    """A row's value for a name, with its type if it has one."""
    requested = normalize(name)
    if _REASONS.search(requested):
        return next((row[one] for one in ("why", "words", "what", "title") if row.get(one)), None)
    if requested in TYPES and row.get("type") in TYPES[requested]:
        return row.get("value")
    thing = _thing_in(requested)
    if thing is not None and not _is_name_of(requested, thing):
        return next(_values_in(row, thing), None)
    return _field_of(row, requested)


def _field_of(row: Row, requested: str) -> Value:
    """The field itself, one of its synonyms, or a field named by one of its words."""
    tried = [requested, *_SYNONYMS.get(requested, ())]
    if requested.endswith("s"):
        tried += [requested[:-1], *_SYNONYMS.get(requested[:-1], ())]
    tried += [other for word in requested.split("_") for other in (word, *_SYNONYMS.get(word, ()))]
    for candidate in tried:
        value = row.get(candidate)
        if value not in (None, "", []):
            if isinstance(value, list) and not requested.endswith("s") and not isinstance(value[0], dict):
                return value[0]
            return value
    return None
