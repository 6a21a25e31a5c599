"""From a prompt, the files' real types and the session's history to what to run, in order, and why. Pure.

Several asks of one prompt are all planned, in the prompt's order. Words count where they stand in the question, not in
what was pasted under it. Where no words tell, the content does: a file's label, the look of a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.translation import glossed
from svc.assistant.skills.catalogue import FILE_WORDS, LOOK, NOT_YET, SKILLS, enabled, is_for, is_readable, reads
from svc.assistant.skills.decode import answer as decode
from svc.assistant.skills.indicators import answer as indicators
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import TurnFile

PROMPT = "prompt"  # what evidence from the prompt is called
MAX_QUESTION_CHARS = 2_000
SAMPLE_CHARS = 50_000  # of a prompt, by which its content is known; planning runs in the service's loop
QUESTION_LINES = 3  # of a first paragraph that ends with neither ":" nor "?"
LONG_REST_CHARS = 60  # after a colon: pasted material, not the question
MATERIAL_LINES = 3
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


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was asked: the calls that answer it and the words, or the content, that led there."""

    skill: Skill
    calls: tuple[Call, ...]
    because: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do. ``cannot`` are asks that no tool does; ``unread`` are files that no tool that is asked reads.

    ``without`` are asks that a tool could answer and that came with nothing for it to read.
    """

    asks: tuple[Ask, ...] = ()
    cannot: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    unread: tuple[TurnFile, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    skill: Skill
    word: str
    clause: str
    position: int


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


def plan(
    prompt: str, files: Sequence[TurnFile], *, use_experimental: bool = False, now: str = "", language: str = "en"
) -> Plan:
    """The plan for a new question; follow-ups are ``history.follow_up``'s business.

    ``now`` is the date and time, ISO 8601, for the tools that compare with it; "" where it is not known. ``language``:
    the words for what is asked are known in it, beside English.
    """
    question = question_of(prompt)
    skills = enabled(use_experimental=use_experimental)
    asked = glossed(question, language)
    found = _by_words(asked, skills) or (
        [] if len(question) < len(prompt) // 2 else _by_words(prompt[:MAX_QUESTION_CHARS], skills)
    )
    left = [skill for skill in SKILLS if skill not in skills]
    cannot = tuple(what for what, words in NOT_YET if _search(words, asked)) + tuple(
        _left_to_experimental(skill)
        for skill in left
        if _search(skill.strong, asked) or skill.looks.search(prompt[:SAMPLE_CHARS])
    )
    options = window_of(question) | {"question": question} | ({"now": now} if now else {})
    if found:
        asks = _asks(found, question, prompt, files, options, skills)
        asks = asks or _by_content(asked, prompt, files, options, skills)
        asks = asks or [_ask(found[0], found, question, prompt, files, options)]
    elif cannot:
        asks = []
    else:
        asks = _by_content(asked, prompt, files, options, skills)
    made_for = [skill for skill in left if any(file.is_new and is_for(skill, file) for file in files)]
    cannot = tuple(dict.fromkeys([*cannot, *map(_left_to_experimental, made_for)]))
    used = {call.name for ask in asks for call in ask.calls}
    asked_skills = [ask.skill for ask in asks]
    unread = tuple(
        file
        for file in files
        if file.name not in used
        and (file.is_new or not is_readable(file))
        and not any(reads(skill, file) for skill in asked_skills)
    )
    without = _without(found, asks) if asks else ()
    return Plan(asks=tuple(asks), cannot=cannot, without=without, unread=unread)


def _left_to_experimental(skill: Skill) -> str:
    return f"{skill.can} (ask the experimental model)"


def _search(words: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that is not taken back ("don't decode")."""
    return next((m for m in words.finditer(text) if not _NOT.search(text, max(0, m.start() - 40), m.start())), None)


def _by_words(question: str, skills: Sequence[Skill]) -> list[_Found]:
    """Skills in the order in which the question names them; weak words count in clauses without strong ones."""
    strong = [(skill, match) for skill in skills for match in [_search(skill.strong, question)] if match]
    found = [_Found(skill, match.group().strip(), _clause(question, match), match.start()) for skill, match in strong]
    taken = {entry.clause for entry in found}
    covered = {name for entry in found for name in entry.skill.covers} | {entry.skill.name for entry in found}
    for skill in skills:
        match = _search(skill.weak, question)
        if match is None or skill.name in covered or _clause(question, match) in taken:
            continue
        found.append(_Found(skill, match.group().strip(), _clause(question, match), match.start()))
    return sorted(found, key=lambda entry: entry.position)


def _clause(text: str, match: re.Match[str]) -> str:
    """The part of the sentence in which the match stands."""
    ends = list(_CLAUSE_END.finditer(text))
    start = max((m.end() for m in ends if m.end() <= match.start()), default=0)
    stop = min((m.start() for m in ends if m.start() >= match.end()), default=len(text))
    return text[start:stop]


def _asks(
    found: Sequence[_Found],
    question: str,
    prompt: str,
    files: Sequence[TurnFile],
    options: dict[str, str],
    skills: Sequence[Skill],
) -> list[Ask]:
    """One ask each; where the same words ask for several skills, those that have something to read.

    A skill that reads no text is not asked about the bare words of a question; where it cannot read the files that came
    with it, those that are made for these files are asked in its place.
    """
    asks = [(entry, _ask(entry, found, question, prompt, files, options)) for entry in found]
    bare = [
        all(isinstance(call.input, str) for call in ask.calls) and not _has_material(entry.skill, question, prompt)
        for entry, ask in asks
    ]
    full = [entry for (entry, _), is_bare in zip(asks, bare, strict=True) if not is_bare]
    taken = {entry.clause for entry in full}
    taken |= {entry.clause for entry, _ in asks if any(_search(other.skill.strong, entry.clause) for other in full)}
    kept: list[Ask] = []
    for (entry, ask), is_bare in zip(asks, bare, strict=True):
        if is_bare and (entry.clause in taken or "txt" not in entry.skill.labels):
            continue
        taken.add(entry.clause)
        kept.append(ask)
        if is_bare and (instead := _instead(kept, question, files, options, skills)):
            kept[-1:] = instead
    return kept


def _without(found: Sequence[_Found], asks: Sequence[Ask]) -> tuple[str, ...]:
    """What was asked in words of its own, and is in no ask: it came with nothing to read."""
    asked = {ask.skill for ask in asks}
    covered = {name for skill in asked for name in skill.covers}
    answered = {entry.clause for entry in found if entry.skill in asked or entry.skill.name in covered}
    lost = [
        entry
        for entry in found
        if entry.clause not in answered and (_search(entry.skill.strong, entry.clause) or _ASKS.search(entry.clause))
    ]
    return tuple(dict.fromkeys(f"“{entry.clause.strip()[:80]}”: {entry.skill.title}" for entry in lost))


def _instead(
    kept: Sequence[Ask],
    question: str,
    files: Sequence[TurnFile],
    options: dict[str, str],
    skills: Sequence[Skill],
) -> list[Ask]:
    """Asks about the files that came with the question and that nothing reads yet, by what they are."""
    read = {call.name for ask in kept for call in ask.calls}
    brought = [file for file in _brought(files, question) if file.name not in read and is_readable(file)]
    asked = {ask.skill.name for ask in kept[:-1]}
    return [ask for ask in _by_files(brought, options, skills) if ask.skill.name not in asked]


def _ask(
    entry: _Found,
    found: Sequence[_Found],
    question: str,
    prompt: str,
    files: Sequence[TurnFile],
    options: dict[str, str],
) -> Ask:
    rivals = [
        other.skill
        for other in found
        if other is not entry and (other.clause == entry.clause or _search(other.skill.strong, entry.clause))
    ]
    others = [file for file in files if reads(entry.skill, file) and _is_others(entry.skill, rivals, file)]
    readable = [file for file in files if reads(entry.skill, file) and file not in others]
    named = [file for file in readable if _names(entry.clause, file)]
    brought = _brought(others + readable, question)
    if brought and all(file in others for file in brought):
        readable = named  # what came with the question is the rival's; an earlier file is not meant
    elsewhere = {file.name for other in found if other is not entry for file in readable if _names(other.clause, file)}
    chosen = named or [file for file in readable if file.name not in elsewhere] or readable
    if not named and not elsewhere:
        chosen = _brought(_fitting(entry.skill, chosen), question)
    inputs: list[TurnFile | str] = list(chosen)
    has_material = not named and _has_material(entry.skill, question, prompt)
    if has_material and not elsewhere and not FILE_WORDS.search(entry.clause):
        inputs = [prompt]  # "decode this: …": files of earlier questions are not meant
    elif has_material or not inputs:
        inputs.insert(0, prompt)
    return _made(entry.skill, inputs, options, f"“{entry.word[:80]}”")


def _made(skill: Skill, inputs: Sequence[TurnFile | str], options: dict[str, str], because: str) -> Ask:
    given = {name: value for name, value in options.items() if name in skill.takes}
    return Ask(skill=skill, because=because, calls=tuple(Call(skill=skill, input=one, options=given) for one in inputs))


def _names(clause: str, file: TurnFile) -> bool:
    return file.name.lower() in clause.lower()


def _is_others(skill: Skill, rivals: Sequence[Skill], file: TurnFile) -> bool:
    """Whether the same words ask a skill that is made for this file: one made for other files leaves it alone."""
    return bool(skill.claims) and not is_for(skill, file) and any(is_for(rival, file) for rival in rivals)


def _fitting(skill: Skill, files: Sequence[TurnFile]) -> list[TurnFile]:
    """The files that the skill is made for, where there are some: a report beside the log is not searched for logins.

    A skill that is made for no kind of file in particular takes all.
    """
    return [file for file in files if is_for(skill, file)] or list(files)


def _brought(files: Sequence[TurnFile], question: str) -> list[TurnFile]:
    """The files that came with this question; all of them where none did, or all are asked for."""
    brought = [] if _ALL_FILES.search(question) else [file for file in files if file.is_new]
    return brought or list(files)


def _has_material(skill: Skill, question: str, prompt: str) -> bool:
    """Whether the prompt itself brings what the skill is for, beside the files."""
    sample = prompt[:SAMPLE_CHARS]
    rest = sample.replace(question, "", 1)
    if rest.count("\n") >= MATERIAL_LINES and skill is indicators.SECTION.skill:
        return True
    return bool(skill.content.search(rest if rest.strip() else sample))


def _by_content(
    question: str, prompt: str, files: Sequence[TurnFile], options: dict[str, str], skills: Sequence[Skill]
) -> list[Ask]:
    """No words tell what is wanted: what the files are, else what the prompt looks like."""
    readable = _brought([file for file in files if is_readable(file)], question)
    if readable:
        return _by_files(readable, options, skills)
    sample = prompt[:SAMPLE_CHARS]
    for skill in skills:
        if skill.looks.search(sample):
            return [_made(skill, [prompt], options, f"what the prompt looks like: {skill.title}")]
    decoding, listing = decode.SECTION.skill, indicators.SECTION.skill
    is_pasted = sample.count("\n") >= MATERIAL_LINES
    has_encoded = decoding.content.search(sample) is not None
    if has_encoded and not is_pasted:
        return [_made(decoding, [prompt], options, "something encoded")]
    if listing.content.search(sample) and (is_pasted or LOOK.search(question)):
        return [_made(listing, [prompt], options, "a text with indicators")]
    return [_made(decoding, [prompt], options, "something encoded")] if has_encoded else []


def _by_files(files: Sequence[TurnFile], options: dict[str, str], skills: Sequence[Skill]) -> list[Ask]:
    """Each file to the skills that are made for it, the rest to the search for indicators."""
    asks = [
        _made(skill, mine, options, f"the kind of file: {skill.title}")
        for skill in skills
        for mine in [[file for file in files if is_for(skill, file)]]
        if mine
    ]
    claimed = {file.name for file in files if any(is_for(skill, file) for skill in skills)}
    listing = indicators.SECTION.skill
    others = [file for file in files if file.name not in claimed and reads(listing, file)]
    return asks + ([_made(listing, others, options, "a text")] if others else [])


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
