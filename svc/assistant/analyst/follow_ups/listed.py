"""Plan the search for the indicators of a list, and the run of YARA rules, over the other files of a question. Pure.

The list is read first, by the skill for threat intelligence; what it found is then given to the search of each file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clauses import CLAUSE_CHARS, Clause, ClauseKind
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.plan import BY_WORDS, Call, Plan, PlannedSkill, Question, merged, pasted
from svc.assistant.collections.expanded import ExpandedFiles
from svc.assistant.file_types.intel import INTEL_LABELS, LIST_LABEL
from svc.assistant.findings import kind_of, with_facts
from svc.assistant.skills.catalogue import skill_named
from svc.assistant.skills.indicators.intel.findings import ListedIndicator
from svc.assistant.skills.indicators.intel.tool import Wanted, searchable
from svc.assistant.skills.indicators.yara.tool import RuleFiles
from svc.assistant.spool import of_kind
from svc.assistant.turn import TurnFile, open_source

INTEL, SEARCH, YARA = "threat_intel", "indicator_search", "yara"
MAX_RULE_BYTES = 8 << 20
_LISTS = frozenset({"stix", "misp", "openioc", LIST_LABEL})
_MAY_BE_LIST = frozenset({"txt", "csv", "tsv", "json", "markdown", "log", "html", "eml"})
_LIST_NAME = re.compile(
    r"(?<![a-z])(?:iocs?|indicators?|observables?|watch-?list|block-?list|deny-?list|feed|stix|misp|intel|threats?)(?![a-z])",
    re.IGNORECASE,
)
_THINGS = (
    r"(?:indicators?|iocs?|observables?|these|those|them|addresses|ips?|domains?|hash(?:es)?|urls?|values|entries|"
    r"list|feed|bundle|event|matche?s?|hits?|accounts?|names|e-?mails|it)"
)
_ASKS = re.compile(
    rf"\b{_THINGS}\b[^.?!\n]{{0,80}}\b(?:in|against|across|within|appear\w*|occur\w*|show\w*|seen|see|match\w*|hit\w*|present|"
    rf"found|mention\w*|contain\w*|exist\w*|observed|touch\w*|contact\w*)\b"
    rf"|\b(?:contain|match|hit|search|look|hunt|sweep|check|scan|compare|cross-?check|correlate|mention|find|have|seen?)\w*\b"
    rf"[^.?!\n]{{0,80}}\b{_THINGS}\b"
    rf"|\bknown (?:bad|iocs?|indicators?)\b|\b(?:ioc|indicator)s? (?:sweep|search|hunt|check|match)",
    re.IGNORECASE,
)
_ASKS_RULES = re.compile(r"\b(?:rules?|yara|signatures?|match\w*|scan\w*|hits?)\b", re.IGNORECASE)
_LISTING_ONLY = re.compile(
    r"\b(?:extract|list|explain|describe|summari[sz]e|what does|what(?:'s| is) in|contents?)\b", re.IGNORECASE
)


def with_searches(plan: Plan, question: Question, expanded: ExpandedFiles) -> Plan:
    """The plan with a search of the other files for what a list names, and a run of rules, if the question has both."""
    plan = _about_intel(_with_yara(plan, question), question)
    given, others = _split(plan.files, question)
    if not others:
        given, others = _split(question.files, question)
    is_pasted = not given and bool(pasted(question).strip()) and _ASKS.search(question.text) is not None
    if not (given or is_pasted) or not others or {INTEL, SEARCH} & question.disabled:
        return plan
    asks = _ASKS.search(question.text) is not None
    is_open = any(clause.kind is ClauseKind.OPEN for clause in plan.clauses) or not plan.clauses
    if not asks and not (is_open and any(file.label in _LISTS for file in given)):
        return plan
    if not asks and _LISTING_ONLY.search(question.text):
        return plan
    return _planned(plan, question, given or [pasted(question)], others, expanded, asks=asks)


def _about_intel(plan: Plan, question: Question) -> Plan:
    """The plan for threat intelligence alone: whatever is asked about it, what it contains is the answer."""
    if not plan.skills or any(planned.skill.name != INTEL for planned in plan.skills) or not plan.clauses:
        return plan
    asks_search = _ASKS.search(question.text) is not None and not _LISTING_ONLY.search(question.text)
    is_list = any(file.label in _LISTS for file in plan.files)
    skills = (SEARCH,) if asks_search and is_list else (INTEL,)
    clause = Clause(text=question.text[:CLAUSE_CHARS], kind=ClauseKind.NAMED, skills=skills)
    return msgspec.structs.replace(plan, clauses=(clause,))


def _split(files: Sequence[TurnFile], question: Question) -> tuple[list[TurnFile], list[TurnFile]]:
    """The files that are lists, and the others that are evidence."""
    given = [file for file in files if file.label in _LISTS]
    if not given:
        given = [
            file for file in files if file.label in _MAY_BE_LIST and _LIST_NAME.search(file.name.rpartition("/")[2])
        ]
    others = [file for file in files if file not in given and file.label not in INTEL_LABELS and file.size]
    return given, others


def _planned(
    plan: Plan,
    question: Question,
    given: Sequence[TurnFile | str],
    others: Sequence[TurnFile],
    expanded: ExpandedFiles,
    *,
    asks: bool,
) -> Plan:
    archives = {one.name for one in expanded.archives}
    intel, search = skill_named(INTEL), skill_named(SEARCH)
    now = {"now": question.options["now"]} if "now" in question.options else {}
    reading = tuple(Call(skill=intel, input=one, options=now | {"is_list": "yes"}) for one in given)
    calls = tuple(
        Call(skill=search, input=one, options={"is_opened": "yes"} if one.name in archives else {}) for one in others
    )
    names = {one.name for one in given if isinstance(one, TurnFile)}
    kept = [_without(planned, names) for planned in plan.skills if _is_kept(planned, asks=asks)]
    skills = [
        PlannedSkill(skill=intel, calls=reading, reason="the list of indicators"),
        *([] if asks else [planned for planned in kept if planned.calls]),
        PlannedSkill(skill=search, calls=calls, reason="a list is attached together with other files"),
        *([planned for planned in kept if planned.calls] if asks else []),
    ]
    clauses = plan.clauses
    if asks:
        mine = [clause for clause in plan.clauses if _ASKS.search(clause.text)] or list(plan.clauses[:1])
        clause = Clause(text=question.text[:CLAUSE_CHARS], kind=ClauseKind.NAMED, skills=(SEARCH,))
        clauses = (clause, *(one for one in plan.clauses if one not in mine))
    files = [one for one in given if isinstance(one, TurnFile)]
    return msgspec.structs.replace(
        plan,
        skills=tuple(skills),
        clauses=clauses,
        unanswered=() if asks else plan.unanswered,
        unsupported=() if asks else plan.unsupported,
        files=tuple(dict.fromkeys([*plan.files, *files, *others])),
        is_general=False,
    )


def _is_kept(planned: PlannedSkill, *, asks: bool) -> bool:
    """Whether the question asks for more than the search: what its words name, or an open question's triage."""
    if planned.skill.name in (INTEL, "indicators", "hash_kind"):
        return False
    return not asks or planned.reason.startswith(BY_WORDS) or planned.skill.name == YARA


def _without(planned: PlannedSkill, names: set[str]) -> PlannedSkill:
    return msgspec.structs.replace(planned, calls=tuple(call for call in planned.calls if call.name not in names))


def _with_yara(plan: Plan, question: Question) -> Plan:
    """Run attached rules over the other files if the question asks for it, or asks for nothing in particular."""
    rules = [file for file in question.files if file.label == "yararule"]
    meant = [file for file in plan.files if file.label not in INTEL_LABELS and file.size]
    others = meant or [file for file in question.files if file.label not in INTEL_LABELS and file.size]
    is_open = any(clause.kind is ClauseKind.OPEN for clause in plan.clauses)
    if not rules or not others or YARA in question.disabled or not (_ASKS_RULES.search(question.text) or is_open):
        return plan
    skill = skill_named(YARA)
    calls = tuple(Call(skill=skill, input=one) for one in others)
    planned = PlannedSkill(skill=skill, calls=calls, reason="YARA rules are attached together with other files")
    intel = PlannedSkill(
        skill=skill_named(INTEL),
        calls=tuple(Call(skill=skill_named(INTEL), input=one) for one in rules),
        reason="YARA rules",
    )
    asked = _ASKS_RULES.search(question.text) is not None
    kept = [one for one in plan.skills if not asked or one.reason.startswith(BY_WORDS)]
    clauses = plan.clauses
    if asked:
        clauses = (Clause(text=question.text[:CLAUSE_CHARS], kind=ClauseKind.NAMED, skills=(YARA,)),)
    return msgspec.structs.replace(
        plan,
        skills=tuple(merged([intel, planned], kept)),
        clauses=clauses,
        files=tuple(dict.fromkeys([*plan.files, *rules, *others])),
        unanswered=() if asked else plan.unanswered,
        is_general=False,
    )


def independent(waiting: Sequence[PlannedSkill]) -> Sequence[PlannedSkill]:
    """The first skills, up to one that needs what those before it find."""
    needs = (at for at, planned in enumerate(waiting) if at and planned.skill.name == SEARCH)
    return waiting[: next(needs, len(waiting))]


def with_given(planned: PlannedSkill, results: Sequence[SkillResult], plan: Plan) -> PlannedSkill:
    """The search with what the lists were found to name, or the scan with the text of the rules."""
    if planned.skill.name == SEARCH:
        options = {"wanted": msgspec.json.encode(_wanted(results, plan)).decode()}
    elif planned.skill.name == YARA:
        texts = [_text(file) for file in plan.files if file.label == "yararule"]
        options = {"rules": msgspec.json.encode(RuleFiles(texts, _unread(plan))).decode()}
    else:
        return planned
    calls = tuple(msgspec.structs.replace(call, options=call.options | options) for call in planned.calls)
    return msgspec.structs.replace(planned, calls=calls)


def _wanted(results: Sequence[SkillResult], plan: Plan) -> Wanted:
    lists = [result for result in results if result.skill.name == INTEL]
    found = [
        finding
        for result in lists
        for finding in with_facts(of_kind(result.findings, kind_of(ListedIndicator)), ListedIndicator)
    ]
    lost = [
        int(match[1].replace(",", ""))
        for result in lists
        for _, text in result.left_out
        if (match := re.match(r"([\d,]+) entr(?:y|ies) of the list", text))
    ]
    return Wanted(values=searchable(iter(found)), unsearchable=sum(lost), unread=_unread(plan))


def _unread(plan: Plan) -> list[str]:
    """The inputs that no search gets, each with the reason."""
    empty = [(file.name, "the file is empty") for file in plan.files if not file.size]
    return [f"{name} ({reason})" for name, reason in (*plan.unread, *empty)]


def _text(file: TurnFile) -> str:
    with open_source(file.source) as stream:
        return stream.read(MAX_RULE_BYTES).decode("utf-8", "replace")
