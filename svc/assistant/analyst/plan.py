"""Decide what to run for a question, in which order and why, from the prompt, the files' types and their content. Pure.

Several asks of one prompt are all planned, in the prompt's order. Words count in the question, not in what was pasted
under it. If no words tell what is asked, the content does: a file's label, the look of a text. ``candidates`` lists the
skills that the words name; a test prints this table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.matching import FILE_WORDS, LOOK, NOT_YET, is_for, is_readable, reads
from svc.assistant.analyst.translation import glossed
from svc.assistant.skills.catalogue import SKILLS, enabled, skill_named
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import TurnFile

PROMPT = "prompt"  # what evidence from the prompt is called
MAX_QUESTION_CHARS = 2_000
SAMPLE_CHARS = 50_000  # of a prompt, by which its content is known; planning runs in the service's loop
QUESTION_LINES = 3  # of a first paragraph that ends with neither ":" nor "?"
LONG_REST_CHARS = 60  # after a colon: pasted material, not the question
MATERIAL_LINES = 3
_LISTING = "indicators"  # the skill that lists what any text names
_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_NOT = re.compile(r"\b(?:do not|don't|dont|without|no need to|never|except|instead of)(?: \w+){0,2} $", re.IGNORECASE)
_ALL_FILES = re.compile(
    r"\b(?:all|both|every|each|any)\b[^.?!\n]{0,30}\b(?:files?|attach\w+|logs?|reports?|documents?|evidence)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:what|which|who|where|when|how|is|are|does|did|tell|say|check|inspect|triage|read|look|show|list|find|explain"
    r"|review|analy[sz]e|examine)\b",
    re.IGNORECASE,
)  # in a clause: more than a word that happens to stand there
_CLAUSE_END = re.compile(r"[;\n]|[.?!](?=\s|$)|,? (?:and|then|also|plus)\b", re.IGNORECASE)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one tool over one input: a file of the turn, or a text, which evidence calls ``text_name``."""

    skill: Skill
    input: TurnFile | str
    options: dict[str, str] = {}
    text_name: str = PROMPT

    @property
    def name(self) -> str:
        """What evidence calls the input."""
        return self.text_name if isinstance(self.input, str) else self.input.name


class PlannedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that answers one thing that was asked: its calls, and the words or the content that led there."""

    skill: Skill
    calls: tuple[Call, ...]
    because: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do. ``cannot`` are asks that no tool does; ``unread`` are files that no tool that is asked reads.

    ``without`` are asks that a tool could answer and that came with nothing for it to read.
    """

    asks: tuple[PlannedSkill, ...] = ()
    cannot: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    unread: tuple[TurnFile, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, with everything that may answer it.

    ``text`` is the part of the prompt that asks; ``glossed`` the same with the English words for what is asked in
    another language. ``skills`` are those that the session's model has.
    """

    prompt: str
    text: str
    glossed: str
    files: tuple[TurnFile, ...] = ()
    options: dict[str, str] = {}
    skills: tuple[Skill, ...] = ()

    @property
    def sample(self) -> str:
        """The beginning of the prompt, by which its content is known."""
        return self.prompt[:SAMPLE_CHARS]


class SkillCandidate(msgspec.Struct, frozen=True):
    """A skill that the question names: the word, its clause, where it begins, and whether it is a strong word."""

    skill: Skill
    word: str
    clause: str
    position: int
    is_strong: bool


def question_of(prompt: str) -> str:
    """The part of the prompt that asks, without what was pasted under it."""
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
    """A line that introduces something with a colon asks before the colon."""
    head, colon, rest = question.partition(": ")
    is_paste = colon and len(rest) > LONG_REST_CHARS and any(_search(skill.strong, head) for skill in SKILLS)
    return head if is_paste else question


def read_question(
    prompt: str, files: Sequence[TurnFile], *, use_experimental: bool = False, now: str = "", language: str = "en"
) -> Question:
    """Return the question that a prompt asks.

    Args:
        prompt: As the user wrote it, without words about the answer's format.
        files: The session's files.
        use_experimental: Whether the session's model has the experimental skills.
        now: Date and time, ISO 8601, for tools that compare with it; "" if it is not known.
        language: BCP 47 tag; words for what is asked are known in it and in English.
    """
    text = question_of(prompt)
    return Question(
        prompt=prompt,
        text=text,
        glossed=glossed(text, language),
        files=tuple(files),
        options=window_of(text) | {"question": text} | ({"now": now} if now else {}),
        skills=enabled(use_experimental=use_experimental),
    )


def plan(question: Question) -> Plan:
    """Return what to run for a new question; ``follow_up`` decides about questions that refer to earlier ones."""
    named = candidates(question)
    absent = [skill for skill in SKILLS if skill not in question.skills]
    cannot = tuple(what for what, words in NOT_YET if _search(words, question.glossed)) + tuple(
        _left_to_experimental(skill)
        for skill in absent
        if _search(skill.strong, question.glossed) or skill.looks.search(question.sample)
    )
    if named:
        asks = _by_words(named, question) or _by_content(question) or [_planned(named[0], named, question)]
    else:
        asks = [] if cannot else _by_content(question)
    made_for = [skill for skill in absent if any(file.is_new and is_for(skill, file) for file in question.files)]
    return Plan(
        asks=tuple(asks),
        cannot=tuple(dict.fromkeys([*cannot, *map(_left_to_experimental, made_for)])),
        without=_without(named, asks) if asks else (),
        unread=_unread(asks, question.files),
    )


def candidates(question: Question) -> list[SkillCandidate]:
    """Return the skills that the question names, in its order; if it names none, those that the whole prompt names."""
    named = _named_in(question.glossed, question.skills)
    if named or len(question.text) < len(question.prompt) // 2:
        return named
    return _named_in(question.prompt[:MAX_QUESTION_CHARS], question.skills)


def _unread(asks: Sequence[PlannedSkill], files: Sequence[TurnFile]) -> tuple[TurnFile, ...]:
    """The files that no planned skill reads: new ones, and those that no skill at all can read."""
    used = {call.name for ask in asks for call in ask.calls}
    return tuple(
        file
        for file in files
        if file.name not in used
        and (file.is_new or not is_readable(file))
        and not any(reads(ask.skill, file) for ask in asks)
    )


def _left_to_experimental(skill: Skill) -> str:
    return f"{skill.can} (ask the experimental model)"


def _search(words: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that is not taken back ("don't decode")."""
    return next((m for m in words.finditer(text) if not _NOT.search(text, max(0, m.start() - 40), m.start())), None)


def _named_in(text: str, skills: Sequence[Skill]) -> list[SkillCandidate]:
    """The skills that a text names, in its order; weak words count in clauses without strong ones."""
    strong = [(skill, match) for skill in skills for match in [_search(skill.strong, text)] if match]
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
    """The part of the sentence in which the match stands."""
    ends = list(_CLAUSE_END.finditer(text))
    start = max((m.end() for m in ends if m.end() <= match.start()), default=0)
    stop = min((m.start() for m in ends if m.start() >= match.end()), default=len(text))
    return text[start:stop]


def _by_words(named: Sequence[SkillCandidate], question: Question) -> list[PlannedSkill]:
    """One planned skill for each candidate; if the same words name several, those that have something to read.

    A skill that reads no text is not asked about the bare words of a question; if it cannot read the files that came
    with it, the skills that are made for these files are asked in its place.
    """
    planned = [(candidate, _planned(candidate, named, question)) for candidate in named]
    bare = [
        all(isinstance(call.input, str) for call in ask.calls) and not _has_material(candidate.skill, question)
        for candidate, ask in planned
    ]
    full = [candidate for (candidate, _), is_bare in zip(planned, bare, strict=True) if not is_bare]
    taken = {candidate.clause for candidate in full}
    taken |= {one.clause for one in named if any(_search(other.skill.strong, one.clause) for other in full)}
    kept: list[PlannedSkill] = []
    for (candidate, ask), is_bare in zip(planned, bare, strict=True):
        if is_bare and (candidate.clause in taken or "txt" not in candidate.skill.labels):
            continue
        taken.add(candidate.clause)
        kept.append(ask)
        if is_bare and (instead := _instead(kept, question)):
            kept[-1:] = instead
    return kept


def _without(named: Sequence[SkillCandidate], asks: Sequence[PlannedSkill]) -> tuple[str, ...]:
    """What was asked in words of its own and is in no ask: nothing was attached for it."""
    asked = {ask.skill for ask in asks}
    covered = {name for skill in asked for name in skill.covers}
    answered = {one.clause for one in named if one.skill in asked or one.skill.name in covered}
    lost = [
        one
        for one in named
        if one.clause not in answered and (_search(one.skill.strong, one.clause) or _ASKS.search(one.clause))
    ]
    return tuple(dict.fromkeys(f"“{one.clause.strip()[:80]}”: {one.skill.title}" for one in lost))


def _instead(kept: Sequence[PlannedSkill], question: Question) -> list[PlannedSkill]:
    """Skills for the files that came with the question and that no planned skill reads, by what the files are."""
    read = {call.name for ask in kept for call in ask.calls}
    brought = [file for file in _brought(question.files, question) if file.name not in read and is_readable(file)]
    asked = {ask.skill.name for ask in kept[:-1]}
    return [ask for ask in _by_files(brought, question) if ask.skill.name not in asked]


def _planned(candidate: SkillCandidate, named: Sequence[SkillCandidate], question: Question) -> PlannedSkill:
    """The candidate's skill with its inputs: files that its clause names, else those it fits, else the prompt."""
    others = [other for other in named if other is not candidate]
    rivals = [
        other.skill
        for other in others
        if other.clause == candidate.clause or _search(other.skill.strong, candidate.clause)
    ]
    can_read = [file for file in question.files if reads(candidate.skill, file)]
    left_to_rivals = [file for file in can_read if _is_rivals(candidate.skill, rivals, file)]
    readable = [file for file in can_read if file not in left_to_rivals]
    in_clause = [file for file in readable if _names(candidate.clause, file)]
    brought = _brought(left_to_rivals + readable, question)
    if brought and all(file in left_to_rivals for file in brought):
        readable = in_clause  # what came with the question is a rival's; an earlier file is not meant
    elsewhere = {file.name for other in others for file in readable if _names(other.clause, file)}
    chosen = in_clause or [file for file in readable if file.name not in elsewhere] or readable
    if not in_clause and not elsewhere:
        chosen = _brought(_fitting(candidate.skill, chosen), question)
    inputs: list[TurnFile | str] = list(chosen)
    has_material = not in_clause and _has_material(candidate.skill, question)
    if has_material and not elsewhere and not FILE_WORDS.search(candidate.clause):
        inputs = [question.prompt]  # "decode this: …": files of earlier questions are not meant
    elif has_material or not inputs:
        inputs.insert(0, question.prompt)
    return _made(candidate.skill, inputs, question, f"“{candidate.word[:80]}”")


def _made(skill: Skill, inputs: Sequence[TurnFile | str], question: Question, because: str) -> PlannedSkill:
    given = {name: value for name, value in question.options.items() if name in skill.takes}
    calls = tuple(Call(skill=skill, input=one, options=given) for one in inputs)
    return PlannedSkill(skill=skill, because=because, calls=calls)


def _names(clause: str, file: TurnFile) -> bool:
    return file.name.lower() in clause.lower()


def _is_rivals(skill: Skill, rivals: Sequence[Skill], file: TurnFile) -> bool:
    """Whether the same words ask a skill that is made for this file: one made for other files leaves it alone."""
    return bool(skill.claims) and not is_for(skill, file) and any(is_for(rival, file) for rival in rivals)


def _fitting(skill: Skill, files: Sequence[TurnFile]) -> list[TurnFile]:
    """The files that the skill is made for, where there are some: a report beside the log is not searched for logins.

    A skill that is made for no kind of file in particular takes all.
    """
    return [file for file in files if is_for(skill, file)] or list(files)


def _brought(files: Sequence[TurnFile], question: Question) -> list[TurnFile]:
    """The files that came with this question; all of them if none did, or if all are asked for."""
    brought = [] if _ALL_FILES.search(question.text) else [file for file in files if file.is_new]
    return brought or list(files)


def _has_material(skill: Skill, question: Question) -> bool:
    """Whether the prompt itself contains what the skill is for, besides the files."""
    rest = question.sample.replace(question.text, "", 1)
    if rest.count("\n") >= MATERIAL_LINES and skill.name == _LISTING:
        return True
    return bool(skill.content.search(rest if rest.strip() else question.sample))


def _by_content(question: Question) -> list[PlannedSkill]:
    """If no words tell what is asked: what the files are, else what the prompt looks like."""
    readable = _brought([file for file in question.files if is_readable(file)], question)
    if readable:
        return _by_files(readable, question)
    sample, prompt = question.sample, [question.prompt]
    for skill in question.skills:
        if skill.looks.search(sample):
            return [_made(skill, prompt, question, f"what the prompt looks like: {skill.title}")]
    decoding, listing = skill_named("decode"), skill_named(_LISTING)
    is_pasted = sample.count("\n") >= MATERIAL_LINES
    has_encoded = decoding.content.search(sample) is not None
    if has_encoded and not is_pasted:
        return [_made(decoding, prompt, question, "something encoded")]
    if listing.content.search(sample) and (is_pasted or LOOK.search(question.glossed)):
        return [_made(listing, prompt, question, "a text with indicators")]
    return [_made(decoding, prompt, question, "something encoded")] if has_encoded else []


def _by_files(files: Sequence[TurnFile], question: Question) -> list[PlannedSkill]:
    """Each file with the skills that are made for it, the others with the search for indicators."""
    asks = [
        _made(skill, mine, question, f"the kind of file: {skill.title}")
        for skill in question.skills
        for mine in [[file for file in files if is_for(skill, file)]]
        if mine
    ]
    claimed = {file.name for file in files if any(is_for(skill, file) for skill in question.skills)}
    listing = skill_named(_LISTING)
    others = [file for file in files if file.name not in claimed and reads(listing, file)]
    return asks + ([_made(listing, others, question, "a text")] if others else [])


_CLOCK = r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*(am|pm|h|o'clock)?"
_BETWEEN = re.compile(rf"\b(?:between|from) {_CLOCK} (?:and|to|until|till|-) {_CLOCK}", re.IGNORECASE)
_AFTER = re.compile(rf"\b(?:after|since|from) {_CLOCK}(?![\d./])", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|until|till) {_CLOCK}(?![\d./])", re.IGNORECASE)


def window_of(question: str) -> dict[str, str]:
    """``after`` and ``before`` as ``HH:MM:SS`` where the question limits the time of day; else nothing."""
    between = _BETWEEN.search(question)
    if between is not None:
        groups = between.groups()
        pair = {"after": _clock(groups[:4]), "before": _clock(groups[4:])}
    else:
        after, before = _AFTER.search(question), _BEFORE.search(question)
        pair = {"after": _clock(after.groups()) if after else "", "before": _clock(before.groups()) if before else ""}
    return {name: clock for name, clock in pair.items() if clock}


def _clock(groups: Sequence[str | None]) -> str:
    """``HH:MM:SS``, or "" where the words give no time of day ("after 5 failures")."""
    hour, minute, second, half = int(groups[0] or 0), groups[1], groups[2], (groups[3] or "").lower()
    if minute is None and not half:
        return ""
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return f"{hour:02}:{minute or '00'}:{second or '00'}" if hour < 24 and int(minute or 0) < 60 else ""
