"""Decide which skills to run for a question, on which inputs and in which order. Pure.

A prompt that asks for several things gets a skill for each, in the prompt's order. Only words in the question count,
not those in text pasted below it. If no word names a skill, the content decides: a file's label, or the look of the
prompt. ``candidates`` lists the skills that the words name; a test prints this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from svc.assistant.analyst.clauses import CLAUSE_CHARS, CLAUSE_END, Clause, ClauseKind, clauses_of, pieces_of
from svc.assistant.analyst.languages import glossed, is_foreign
from svc.assistant.analyst.matching import (
    FILE_WORDS,
    GENERAL,
    GREETING,
    LOOK,
    UNSUPPORTED,
    fits,
    is_for,
    is_readable,
    reads,
)
from svc.assistant.analyst.questions.comparisons import comparison_of
from svc.assistant.analyst.questions.conditions import CONDITIONS, conditioned, encoded_conditions, is_strict
from svc.assistant.analyst.questions.event_answers import asks_about_events
from svc.assistant.analyst.questions.following import FOLLOWING, following_question, following_questions
from svc.assistant.analyst.questions.login_sides import login_side
from svc.assistant.analyst.questions.orders import order_of
from svc.assistant.analyst.questions.record_questions import RECORDS, encoded, record_questions
from svc.assistant.analyst.questions.spans.reading import span_of
from svc.assistant.analyst.questions.spans.relative import relative_of
from svc.assistant.analyst.questions.states import asks_state, is_negated, is_polar
from svc.assistant.analyst.questions.subjects import (
    Named,
    Subject,
    is_general_knowledge,
    may_describe,
    origin,
    subjects_of,
    values_of,
)
from svc.assistant.analyst.questions.tactics import tactic_of
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.log_readers.host.configuration import CONFIG_FILES
from svc.assistant.skills.asked.chosen import conditions_in
from svc.assistant.skills.attack.tool import describes
from svc.assistant.skills.catalogue import SKILLS, enabled, skill_named
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import TurnFile

PROMPT = "prompt"  # the name of the prompt as a source of evidence
GIVEN, QUOTED = "text given by the model", "text quoted from the evidence"  # source names of texts that are not files
MAX_QUESTION_CHARS = 2_000
SAMPLE_CHARS = 50_000  # of a prompt; bounds the time of planning, which runs in the service's event loop
QUESTION_LINES = 3  # of a first paragraph that ends with neither ":" nor "?"
LONG_REST_CHARS = 60  # after a colon: pasted material, not the question
MATERIAL_LINES = 3
PASTE_CHARS = 16  # of pasted text without white space; less is left over from words about the answer's format
BY_WORDS = "“"  # how the reason of a skill begins that the words of the question name
_CODE = re.compile(r"`[^`\n]{3,}`")
_LOOKUP = "attack"  # the skill for a question about a subject, without evidence
_LISTING = "indicators"  # the skill for any text that no other skill is made for
_FENCE = re.compile(r"```[^\n]{0,200}\n(.*?)(?:```|\Z)", re.DOTALL)
_NEGATION = re.compile(
    r"\b(?:do not|don't|dont|without|no need to|never|except|instead of)(?: \w+){0,2} $", re.IGNORECASE
)
EVENTS = "events"
_LOGINS = "auth_log"
_OF_TEXTS = frozenset({"indicators", "token"})  # find values in any text, which does not say what happened
_ALL_FILES = re.compile(
    r"\b(?:all|both|every|each|any)\b[^.?!\n]{0,30}\b(?:files?|attach\w+|logs?|reports?|documents?|evidence)\b",
    re.IGNORECASE,
)
_QUESTION_WORDS = re.compile(
    r"\b(?:what|which|who|where|when|how|is|are|does|did|tell|say|check|inspect|triage|read|look|show|list|find|explain"
    r"|review|analy[sz]e|examine)\b",
    re.IGNORECASE,
)  # a clause with one of these asks something; without, a skill's word may be there by chance


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one tool over one input: a file of the turn, or a text, whose name in evidence is ``text_name``."""

    skill: Skill
    input: TurnFile | str
    options: dict[str, str] = {}
    text_name: str = PROMPT

    @property
    def name(self) -> str:
        """The input's name in evidence."""
        return self.text_name if isinstance(self.input, str) else self.input.name


class PlannedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with its calls; ``reason`` is the words or the content for which it was chosen.

    ``is_fallback``: nothing else reads these inputs, and the question does not ask for what the skill does.
    """

    skill: Skill
    calls: tuple[Call, ...]
    reason: str
    is_fallback: bool = False


class DisabledSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that would have run if its toolset were not disabled in the session, and the names of its inputs.

    ``is_named``: the words of the question name it.
    """

    skill: Skill
    inputs: tuple[str, ...]
    is_named: bool


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The skills to run, the clauses of the question, and what the answer must list as not done.

    ``unsupported``: requests that no tool can answer. ``unanswered``: requests for which a tool exists but no evidence
    was attached. ``files``: those that the question is about.
    ``is_general``: the question is neither about evidence nor about an entry of a table.
    ``has_paste``: the prompt contains material besides the question. For archives (``collection_plan``), ``unread`` are
    pairs of a member's name and why no tool gets it, ``collections`` a line in Markdown for each archive, and ``notes``
    pairs of an archive's name and what to know about it. ``disabled`` are the skills that were left out because their
    toolsets are disabled.
    """

    skills: tuple[PlannedSkill, ...] = ()
    unsupported: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    is_general: bool = False
    has_paste: bool = False
    files: tuple[TurnFile, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    collections: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    disabled: tuple[DisabledSkill, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question with everything that may answer it.

    ``text`` is the question itself, without pasted material; ``glossed`` is ``text`` with English words added for a
    question in another language. ``skills`` are those of the session's model, without the disabled ones;
    ``disabled`` names these.
    """

    prompt: str
    text: str
    glossed: str
    language: str = "en"
    files: tuple[TurnFile, ...] = ()
    options: dict[str, str] = {}
    skills: tuple[Skill, ...] = ()
    disabled: frozenset[str] = frozenset()

    @property
    def sample(self) -> str:
        """The beginning of the prompt, by which its content is recognized."""
        return self.prompt[:SAMPLE_CHARS]


class SkillCandidate(msgspec.Struct, frozen=True):
    """A skill that the question names: the word, its clause, where it begins, and whether it is a strong word."""

    skill: Skill
    word: str
    clause: str
    position: int
    is_strong: bool


def question_of(prompt: str) -> str:
    """The question at the beginning (or end) of a prompt, without the material pasted below it."""
    text = _FENCE.sub("\n", prompt[:SAMPLE_CHARS]).strip("\n")
    lines = text.split("\n")
    question: list[str] = []
    for line in lines:
        if question and not line.strip():
            break
        if not line.strip():
            continue
        question.append(line)
        if line.rstrip().endswith((":", "?")) or len(question) == QUESTION_LINES:
            break
    last = lines[-1].strip()
    if len(lines) > len(question) + 1 and not lines[-2].strip() and last.endswith("?"):
        question.append(last)
    return _before_paste("\n".join(question)[:MAX_QUESTION_CHARS])


def _before_paste(question: str) -> str:
    """The part before a colon that introduces pasted material; else the whole line."""
    head, colon, rest = question.partition(": ")
    is_paste = colon and len(rest) > LONG_REST_CHARS and any(_search(skill.strong, head) for skill in SKILLS)
    return head if is_paste else question


def meant(files: Sequence[TurnFile]) -> list[TurnFile]:
    """The files that words such as "the log" mean: as the client said, else those that came with the question."""
    return [file for file in files if file.is_meant] or [file for file in files if file.is_new]


def read_question(
    prompt: str,
    files: Sequence[TurnFile],
    *,
    use_experimental: bool = False,
    disabled: frozenset[str] = frozenset(),
    now: str = "",
    language: str = "en",
) -> Question:
    """Return the question that a prompt asks.

    Args:
        prompt: As the user wrote it, without words about the answer's format.
        files: The session's files.
        use_experimental: Whether the session's model has the experimental skills.
        disabled: The names of the skills that are disabled in the session.
        now: Date and time, ISO 8601, for tools that compare with it; "" if it is not known.
        language: The question's, as a BCP 47 tag.
    """
    text = question_of(prompt)
    return Question(
        prompt=prompt,
        text=text,
        glossed=glossed(text, language),
        language=language,
        files=tuple(files),
        options=window_of(text) | {"question": text} | ({"now": now} if now else {}) | records_of(text, language),
        skills=enabled(use_experimental=use_experimental, disabled=disabled),
        disabled=disabled,
    )


def records_of(text: str, language: str) -> dict[str, str]:
    """The option with what a question asks of the records of a log; empty if it asks nothing of them."""
    if is_foreign(language):
        return {}  # records are searched for the question's own words, and its question words are English
    pieces = [" ".join(text[start:stop].split())[:CLAUSE_CHARS] for start, stop in pieces_of(text)]
    if following := following_questions(pieces):
        return {FOLLOWING: following} | _records_of([one for one in pieces if following_question(one) is None])
    return _records_of(pieces)


def _records_of(pieces: Sequence[str]) -> dict[str, str]:
    """The options with what clauses ask of records, and with the conditions that these must fulfil."""
    spans = {piece: span for piece in pieces if (span := span_of(piece)) is not None}
    related = {piece: relative for piece in pieces if (relative := relative_of(piece)) is not None}
    others = [piece for piece in pieces if piece not in spans and piece not in related]
    ends = [side for span in spans.values() for side in (span.first, span.second)]
    sides = [(side.text, side.conditions) for side in (*ends, *(one.side for one in related.values()))]
    sides += [(piece, one.conditions) for piece, one in related.items()]
    chosen = [*conditioned(others), *sides]
    strict = {clause for clause, one in chosen if is_strict(one)}
    asked = [one for one in record_questions(others) if one.clause not in strict]
    if chosen:
        return {RECORDS: encoded(asked), CONDITIONS: encoded_conditions(chosen)}
    return {RECORDS: encoded(asked)} if asked else {}


_STATES = frozenset({"listing", "registryexport", *CONFIG_FILES})
"""Types of files that show how something was at one moment, as a log does not."""
_WITHOUT_PASSWORD = re.compile(r"\b(?:no|without (?:an? )?) ?passwords?\b", re.IGNORECASE)
"""Negates no verb: what it describes is there or not."""


def make_plan(question: Question) -> Plan:
    """Return what to run for a new question; ``follow_up`` decides about questions that refer to earlier ones."""
    if not question.files and (about := _without_evidence(question)) is not None:
        return about
    shows_state = any(file.label in _STATES for file in question.files)
    if (asks_state(question.text) and not shows_state) or (
        is_polar(question.text) and is_negated(_WITHOUT_PASSWORD.sub("open", question.text))
    ):  # the verdicts of tools answer it neither with yes nor with no
        question = msgspec.structs.replace(question, options=question.options | {"question": ""})
    named = candidates(question)
    absent = [skill for skill in SKILLS if skill not in question.skills and skill.name not in question.disabled]
    unsupported = tuple(what for what, words in UNSUPPORTED if _search(words, question.glossed)) + tuple(
        _experimental_only(skill)
        for skill in absent
        if _search(skill.strong, question.glossed) or skill.looks.search(question.sample)
    )
    clauses = clauses_of(question.text, question.language, _namer(question, named))
    skills = _by_words(named, question) if named else []
    is_for_content = any(clause.kind in (ClauseKind.OPEN, ClauseKind.PARTICULAR) for clause in clauses)
    if is_for_content or not (clauses or unsupported):
        skills = merged(skills, _by_content(question, has_skills=bool(skills)))
    elif not skills and not unsupported:
        skills = _by_content(question)
    if _is_about_events(question, named):
        skills = _with_events(skills, question)
    if FOLLOWING in question.options or login_side(question.text) or _chooses_logins(question):
        skills = _with_logins(skills, question)
    is_bare = not (skills or unsupported or question.files or has_paste(question))
    if is_bare and GENERAL.search(question.glossed) and may_describe(question.text) and describes(question.text):
        lookup = skill_named(_LOOKUP)
        skills = [_plan_skill(lookup, [question.prompt], question, "a question about a subject")]
        clauses = (Clause(text=question.text[:CLAUSE_CHARS], kind=ClauseKind.NAMED, skills=(_LOOKUP,)),)
    is_general = is_bare and (not named or is_general_knowledge(question.text))
    experimental = [skill for skill in absent if any(file.is_new and is_for(skill, file) for file in question.files)]
    return Plan(
        skills=tuple(skills),
        unsupported=tuple(dict.fromkeys([*unsupported, *map(_experimental_only, experimental)])),
        unanswered=() if is_general else _unanswered(named, skills, question),
        clauses=() if GREETING.fullmatch(question.prompt) else clauses,
        is_general=is_general and not skills,
        has_paste=has_paste(question),
        files=_files_meant(question, skills),
    )


_LOGIN_TEXTS = frozenset({"authlog", "syslog", "applog", "journal", "log", "txt"})
"""Types of files whose logins the skill for them reads."""


def _is_about_events(question: Question, named: Sequence[SkillCandidate]) -> bool:
    """Whether logs are read as events, too; logins are in logs of every kind."""
    names = {one.skill.name for one in named}
    if _LOGINS in names and names <= {_LOGINS, EVENTS} and not _has_sides(question):
        return any(file.label not in _LOGIN_TEXTS for file in _current(question.files, question))
    if FOLLOWING in question.options or login_side(question.text):
        return any(file.label not in _LOGIN_TEXTS for file in _current(question.files, question))
    is_asked = RECORDS in question.options or tactic_of(question.text) is not None
    return is_asked or asks_about_events(question.glossed)


def _chooses_logins(question: Question) -> bool:
    """Whether a question has conditions for logins, which the skill for them alone reads in a text."""
    return any(one.logins for _, one in conditions_in(question.options.get(CONDITIONS, "")))


def _has_sides(question: Question) -> bool:
    """Whether a question compares two things, or asks for their order: each is looked for in the records."""
    return any(read(question.text) is not None for read in (order_of, comparison_of, span_of, relative_of))


def _with_logins(skills: Sequence[PlannedSkill], question: Question) -> list[PlannedSkill]:
    """The plan of a question for logins, or for what came after one: texts are read by the skill for logins."""
    texts = [file for file in _current(question.files, question) if file.label in _LOGIN_TEXTS]
    if not texts or _LOGINS in question.disabled:
        return list(skills)
    return merged(skills, [_plan_skill(skill_named(_LOGINS), texts, question, "logins are asked for")])


_TABLES = frozenset({"csv", "tsv", "jsonl", "json"})
"""Types of files whose rows can be counted even if they are no events."""


def _with_events(skills: Sequence[PlannedSkill], question: Question) -> list[PlannedSkill]:
    """The plan of a question about events: logs are read as such, not only by the skill whose word it contains."""
    events, current = skill_named(EVENTS), _current(question.files, question)
    logs = [file for file in current if is_for(events, file)]
    asked = [file for file in current if fits(events, file) or _is_table(file)] if RECORDS in question.options else []
    if not (logs or asked) or EVENTS in question.disabled:
        return list(skills)
    names = {file.name for file in logs}
    others = [one for one in skills if one.skill.name not in _OF_TEXTS or names.isdisjoint(c.name for c in one.calls)]
    planned = merged(others, by_files(logs, question))
    rows = [
        file
        for file in asked
        if file.name not in names and (_has_sides(question) or not any(_is_named_for(one, file) for one in skills))
    ]
    return merged(planned, [_plan_skill(events, rows, question, "its records are asked for")] if rows else [])


def _is_table(file: TurnFile) -> bool:
    """Whether a file is a table, by its content or, as one of lines that begin with a time, by its name."""
    return file.label in _TABLES or (file.label in _PLAIN and file.name.lower().endswith((".csv", ".tsv")))


_PLAIN = frozenset({"log", "txt"})


def _is_named_for(planned: PlannedSkill, file: TurnFile) -> bool:
    """Whether the words of the question name a skill that is made for the file."""
    return planned.reason.startswith(BY_WORDS) and is_for(planned.skill, file)


def _without_evidence(question: Question) -> Plan | None:
    """The plan for a question about a subject by its usual name, or about hashes, addresses, domains and URLs alone."""
    text = question.prompt.strip()
    if (values := values_of(text)) is not None:
        return _plan_values(values, question)
    subjects = [] if has_paste(question) else subjects_of(text)
    return _plan_subjects(subjects, question) if subjects else None


def _plan_values(values: Named, question: Question) -> Plan:
    skill = skill_named(values.skill)
    asked = question.text.strip(" ?!.")[:CLAUSE_CHARS]
    clauses = [Clause(text=asked, kind=ClauseKind.NAMED, skills=(skill.name,))]
    if values.is_verdict:
        clauses = [Clause(text=asked, kind=ClauseKind.UNSUPPORTED)]
    elif values.asks_reputation:
        clauses.append(Clause(text="whether it is known as malicious", kind=ClauseKind.UNSUPPORTED))
    unsupported = tuple(what for what, _ in UNSUPPORTED) if values.asks_reputation else ()
    planned = _plan_skill(skill, [question.prompt], question, f"prompt content: {skill.title}")
    return Plan(skills=(planned,), unsupported=unsupported, clauses=tuple(clauses), has_paste=True)


def _plan_subjects(subjects: Sequence[Subject], question: Question) -> Plan:
    planned = []
    for name in dict.fromkeys(one.skill for one in subjects):
        mine = [one for one in subjects if one.skill == name]
        asked = f"What is {' and '.join(one.entry for one in mine)}?"
        named = msgspec.structs.replace(question, options={"question": asked})
        planned.append(_plan_skill(skill_named(name), [question.prompt], named, f"“{mine[0].name}”"))
    clause = Clause(
        text=question.text[:CLAUSE_CHARS], kind=ClauseKind.NAMED, skills=tuple(one.skill.name for one in planned)
    )
    notes = tuple((one.name, f"read as {one.entry} ({origin()})") for one in subjects)
    return Plan(skills=tuple(planned), clauses=(clause,), notes=notes)


def without_disabled(plan: Plan, question: Question, whole: Plan) -> Plan:
    """The plan without disabled skills.

    Args:
        plan: The plan with the skills that are left; some rules plan a certain skill whatever the session has.
        question: What was planned.
        whole: The plan with all skills of the model: what of it is disabled was left out.
    """
    left_out = tuple(
        DisabledSkill(
            skill=planned.skill,
            inputs=tuple(call.name for call in planned.calls),
            is_named=planned.reason.startswith(BY_WORDS),
        )
        for planned in whole.skills
        if planned.skill.name in question.disabled and not planned.is_fallback
    )
    return msgspec.structs.replace(
        plan,
        skills=tuple(planned for planned in plan.skills if planned.skill.name not in question.disabled),
        disabled=left_out,
        is_general=plan.is_general and not left_out,
    )


def fallback(question: Question, ran: Sequence[PlannedSkill], unread: Sequence[TurnFile]) -> list[PlannedSkill]:
    """What to run on files that no skill of ``ran`` understood: the skills made for them, else the listing."""
    tried = {(planned.skill.name, call.name) for planned in ran for call in planned.calls}
    made_for = [planned for planned in by_files(unread, question) if not planned.is_fallback]
    return _untried(made_for, tried) or _untried(_listing_of(unread, question), tried)


def _untried(plan: Sequence[PlannedSkill], tried: set[tuple[str, str]]) -> list[PlannedSkill]:
    left = [
        msgspec.structs.replace(
            planned,
            calls=tuple(call for call in planned.calls if (planned.skill.name, call.name) not in tried),
            is_fallback=True,
        )
        for planned in plan
    ]
    return [planned for planned in left if planned.calls]


def _files_meant(question: Question, skills: Sequence[PlannedSkill]) -> tuple[TurnFile, ...]:
    """The files that the answer must account for: those that came with the question, and those that are read for it.

    Files of earlier questions are not meant by a question that brings its own material.
    """
    names = {call.name for planned in skills for call in planned.calls if not isinstance(call.input, str)}
    used = [file for file in question.files if file.name in names]
    if skills and not used and not any(file.is_new for file in question.files):
        return ()
    return tuple(dict.fromkeys([*_current(question.files, question), *used]))


def _namer(question: Question, named: Sequence[SkillCandidate]) -> Callable[[str], list[str]]:
    """What names the skills of a clause; those of the whole prompt if the question itself names none."""
    own = _with_files(question)
    if named and not _named_in(question.glossed, question.skills, own):
        return lambda _: [candidate.skill.name for candidate in named]
    return lambda text: [candidate.skill.name for candidate in _named_in(text, question.skills, own)]


def _with_files(question: Question) -> frozenset[str]:
    """The names of the skills that claim a file of the question."""
    return frozenset(skill.name for skill in question.skills if any(is_for(skill, file) for file in question.files))


def merged(first: Sequence[PlannedSkill], second: Sequence[PlannedSkill]) -> list[PlannedSkill]:
    """Both plans; a skill that is in both runs once over the inputs of both."""
    merged: dict[str, PlannedSkill] = {}
    for planned in [*first, *second]:
        known = merged.get(planned.skill.name)
        if known is None:
            merged[planned.skill.name] = planned
            continue
        names = {call.name for call in known.calls}
        calls = known.calls + tuple(call for call in planned.calls if call.name not in names)
        merged[planned.skill.name] = msgspec.structs.replace(known, calls=calls)
    return list(merged.values())


def candidates(question: Question) -> list[SkillCandidate]:
    """Return the skills that the question names, in its order; if it names none, those that the whole prompt names."""
    own = _with_files(question)
    named = _named_in(question.glossed, question.skills, own)
    if named or len(question.text) < len(question.prompt) // 2:
        return named
    return _named_in(question.prompt[:MAX_QUESTION_CHARS], question.skills, own)


def _experimental_only(skill: Skill) -> str:
    return f"{skill.can} (only the experimental model can)"


def _search(words: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that is not negated ("don't decode")."""
    return next(
        (m for m in words.finditer(text) if not _NEGATION.search(text, max(0, m.start() - 40), m.start())), None
    )


def _named_in(text: str, skills: Sequence[Skill], own: frozenset[str]) -> list[SkillCandidate]:
    """The skills that a text names, in its order; weak words count in clauses without strong ones.

    The ``file_words`` of the skills in ``own`` are strong.
    """
    strong = [
        (skill, match)
        for skill in skills
        if (match := _search(skill.strong, text) or (_search(skill.file_words, text) if skill.name in own else None))
    ]
    named = [_candidate(skill, text, match, is_strong=True) for skill, match in strong]
    taken = {candidate.clause for candidate in named}
    covered = {name for candidate in named for name in (*candidate.skill.covers, candidate.skill.name)}
    for skill in skills:
        match = _search(skill.weak, text)
        if match is not None and skill.name not in covered and _clause(text, match) not in taken:
            named.append(_candidate(skill, text, match, is_strong=False))
    return sorted(named, key=lambda candidate: candidate.position)


def _candidate(skill: Skill, text: str, match: re.Match[str], *, is_strong: bool) -> SkillCandidate:
    return SkillCandidate(skill, match.group().strip(), _clause(text, match), match.start(), is_strong)


def _clause(text: str, match: re.Match[str]) -> str:
    """The clause of the sentence that contains the match."""
    ends = list(CLAUSE_END.finditer(text))
    start = max((m.end() for m in ends if m.end() <= match.start()), default=0)
    stop = min((m.start() for m in ends if m.start() >= match.end()), default=len(text))
    return text[start:stop]


def _by_words(named: Sequence[SkillCandidate], question: Question) -> list[PlannedSkill]:
    """One planned skill for each candidate; if the same words name several, those that have something to read.

    The bare words of a question are no evidence: only a skill that reads questions runs on them. If no file that came
    with the question can be read by the skill that it names, the skills made for these files are run instead.
    """
    planned = [(candidate, _plan_candidate(candidate, named, question)) for candidate in named]
    bare = [
        all(isinstance(call.input, str) for call in skill.calls) and not _has_material(candidate.skill, question)
        for candidate, skill in planned
    ]
    full = [candidate for (candidate, _), is_bare in zip(planned, bare, strict=True) if not is_bare]
    taken = {candidate.clause for candidate in full}
    taken |= {one.clause for one in named if any(_search(other.skill.strong, one.clause) for other in full)}
    kept: list[PlannedSkill] = []
    is_pasted = has_paste(question)
    for (candidate, skill), is_bare in zip(planned, bare, strict=True):
        if is_bare and (candidate.clause in taken or not (candidate.skill.reads_question or is_pasted)):
            continue
        taken.add(candidate.clause)
        kept.append(skill)
    if len(full) == len(named) or not (replacements := _replacements(kept, question)):
        return kept
    bare_names = {skill.skill.name for (_, skill), is_bare in zip(planned, bare, strict=True) if is_bare}
    asked = [skill for skill in kept if skill.skill.name not in bare_names or not skill.skill.labels]
    return merged(asked, replacements)


def _unanswered(named: Sequence[SkillCandidate], skills: Sequence[PlannedSkill], question: Question) -> tuple[str, ...]:
    """Clauses that name a skill of their own that is not planned, because nothing was attached for it."""
    running = {planned.skill for planned in skills}
    covered = {name for skill in running for name in skill.covers}
    answered = {one.clause for one in named if one.skill in running or one.skill.name in covered}
    missed = [
        one
        for one in named
        if one.clause not in answered and (_search(one.skill.strong, one.clause) or _QUESTION_WORDS.search(one.clause))
    ]
    titles: dict[str, list[str]] = {}
    for one in missed:
        asked = question.text if is_foreign(question.language) else one.clause
        titles.setdefault(asked.strip()[:80], []).append(one.skill.title)
    return tuple(f"“{clause}” ({' or '.join(dict.fromkeys(names))})" for clause, names in titles.items())


def _replacements(kept: Sequence[PlannedSkill], question: Question) -> list[PlannedSkill]:
    """Skills for the files that came with the question and that no planned skill reads, by what the files are."""
    read = {call.name for planned in kept for call in planned.calls}
    unread = [file for file in _current(question.files, question) if file.name not in read and is_readable(file)]
    return [planned for planned in by_files(unread, question) if not planned.is_fallback]


def _plan_candidate(candidate: SkillCandidate, named: Sequence[SkillCandidate], question: Question) -> PlannedSkill:
    """The candidate's skill with its inputs: files that its clause names, else those it fits, else the prompt."""
    others = [other for other in named if other is not candidate]
    rivals = [
        other.skill
        for other in others
        if other.clause == candidate.clause or _search(other.skill.strong, candidate.clause)
    ]
    can_read = [file for file in question.files if reads(candidate.skill, file)]
    left_to_rivals = [file for file in can_read if _belongs_to_rival(candidate.skill, rivals, file)]
    readable = [file for file in can_read if file not in left_to_rivals]
    in_clause = [file for file in readable if _mentions(candidate.clause, file)]
    current = _current(left_to_rivals + readable, question)
    if current and all(file in left_to_rivals for file in current):
        readable = in_clause  # the new files are all a rival's; an earlier file is not meant
    elsewhere = {file.name for other in others for file in readable if _mentions(other.clause, file)}
    chosen = in_clause or [file for file in readable if file.name not in elsewhere] or readable
    if not in_clause and not elsewhere:
        chosen = _current(_made_for(candidate.skill, chosen), question)
    inputs: list[TurnFile | str] = list(chosen)
    has_material = not in_clause and _has_material(candidate.skill, question)
    if has_material and not elsewhere and not FILE_WORDS.search(candidate.clause):
        inputs = [question.prompt]  # "decode this: …": files of earlier questions are not meant
    elif has_material or not inputs:
        inputs.insert(0, question.prompt)
    return _plan_skill(candidate.skill, inputs, question, f"“{candidate.word[:80]}”")


def _plan_skill(skill: Skill, inputs: Sequence[TurnFile | str], question: Question, reason: str) -> PlannedSkill:
    options = {name: value for name, value in question.options.items() if name in skill.takes}
    calls = tuple(Call(skill=skill, input=one, options=options) for one in inputs)
    return PlannedSkill(skill=skill, reason=reason, calls=calls)


def _mentions(clause: str, file: TurnFile) -> bool:
    """Whether the clause names the file, or a member of an archive by its last part."""
    base, words = file.name.rpartition("/")[2].lower(), clause.lower()
    return file.name.lower() in words or (
        "." in base and base in (word.strip("`'\"“”?!,;:.()") for word in words.split())
    )


def _belongs_to_rival(skill: Skill, rivals: Sequence[Skill], file: TurnFile) -> bool:
    """Whether the same words name a skill made for this file; one made for others then leaves it."""
    return bool(skill.claims) and any(
        fits(rival, file) and (not fits(skill, file) or rival.name in skill.defers_to) for rival in rivals
    )


def _made_for(skill: Skill, files: Sequence[TurnFile]) -> list[TurnFile]:
    """The files that the skill is made for; all of them if there are none or if it is made for no type in particular.

    So a report attached together with the log is not searched for logins.
    """
    return [file for file in files if fits(skill, file)] or list(files)


def _current(files: Sequence[TurnFile], question: Question) -> list[TurnFile]:
    return files_meant(files, question.text)


def files_meant(files: Sequence[TurnFile], text: str) -> list[TurnFile]:
    """The files that a question means; all of them if it means none of these, or if it says "all files"."""
    if _ALL_FILES.search(text):
        return list(files)
    if any(_is_named(text, file) for file in files):
        return [file for file in files if file.is_new or _is_named(text, file)]
    return meant(files) or list(files)


def _is_named(text: str, file: TurnFile) -> bool:
    """Whether a question names the file, by a name that is not an ordinary word, and not as a part of another name."""
    if "." not in file.name:
        return False
    lowered, name = text.lower(), file.name.lower()
    start = lowered.find(name)
    while start >= 0:
        before, after = lowered[max(start - 1, 0) : start], lowered[start + len(name) : start + len(name) + 2]
        is_longer = after[:1].isalnum() or after[:1] in ("_", "-") or (after[:1] in (".", "/") and after[1:].isalnum())
        if not is_longer and not (before.isalnum() or (before and before in "_-./")):
            return True
        start = lowered.find(name, start + 1)
    return False


def _has_material(skill: Skill, question: Question) -> bool:
    """Whether the prompt itself contains what the skill is for, besides the files."""
    rest = pasted(question)
    if rest.count("\n") >= MATERIAL_LINES and skill.name == _LISTING:
        return True
    return bool(skill.content.search(rest if rest.strip() else question.sample))


def pasted(question: Question) -> str:
    """The sample of the prompt without the question."""
    rest = question.sample
    for line in question.text.split("\n"):
        rest = rest.replace(line, "", 1)
    return rest


def has_paste(question: Question) -> bool:
    """Whether the prompt contains more than a question: text pasted around it, or quoted as code in it."""
    return len("".join(pasted(question).split())) >= PASTE_CHARS or _CODE.search(question.text) is not None


def _by_content(question: Question, *, has_skills: bool = False) -> list[PlannedSkill]:
    """The skills for what the files are, else for what the prompt looks like, unless its material has its skills."""
    readable = _current([file for file in question.files if is_readable(file)], question)
    if readable:
        return by_files(readable, question)
    if has_skills:
        return []
    sample, prompt = question.sample, [question.prompt]
    for skill in question.skills:
        if skill.looks.search(sample):
            return [_plan_skill(skill, prompt, question, f"prompt content: {skill.title}")]
    decoding, listing = skill_named("decode"), skill_named(_LISTING)
    is_pasted = sample.count("\n") >= MATERIAL_LINES
    has_encoded = decoding.content.search(sample) is not None
    if has_encoded and not is_pasted:
        return [_plan_skill(decoding, prompt, question, "encoded text")]
    if listing.content.search(sample) and (is_pasted or (LOOK.search(question.glossed) and has_paste(question))):
        return [_plan_skill(listing, prompt, question, "text with indicators")]
    return [_plan_skill(decoding, prompt, question, "encoded text")] if has_encoded else []


def by_files(files: Sequence[TurnFile], question: Question) -> list[PlannedSkill]:
    """Each file with the skills that are made for it, the others with the search for indicators as a fallback."""
    planned = [
        _plan_skill(skill, mine, question, f"file type: {skill.title}")
        for skill in question.skills
        for mine in [[file for file in files if fits(skill, file)]]
        if mine
    ]
    claimed = {file.name for file in files if any(fits(skill, file) for skill in question.skills)}
    return planned + _listing_of([file for file in files if file.name not in claimed], question)


def _listing_of(files: Sequence[TurnFile], question: Question) -> list[PlannedSkill]:
    """The search for indicators in texts that no skill is made for."""
    listing = skill_named(_LISTING)
    texts = [file for file in files if reads(listing, file)]
    if not texts or _LISTING in question.disabled:
        return []
    return [msgspec.structs.replace(_plan_skill(listing, texts, question, "text file"), is_fallback=True)]
