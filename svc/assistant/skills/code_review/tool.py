"""Review code, a configuration or the headers of an HTTP response: each weakness with its CWE, line, reason and fix.

Decides by single statements, and by following names that were set from user input within one text. It does not follow
values through calls, and does not know other files. Facts: ``weaknesses.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from datetime import date
from functools import cache

import msgspec

from svc.assistant.file_types.text_shape import data_form, is_prose, readable_lines
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.knowledge.prefilter import needed_words
from svc.assistant.skills.code_review.findings import CodeReview, CodeWeakness
from svc.assistant.skills.code_review.http_headers import OWN_HEADER_RULES, HeaderTable, header_findings
from svc.assistant.skills.code_review.languages import LANGUAGE_NAMES, detect_language, has_code_ending, statements_of

PROMPT = "prompt"  # the source of evidence from the prompt
MAX_CHARS = 2_000_000
MAX_FINDINGS = 1_000_000
MAX_NAMES = 100  # that are set from user input
PROGRESS_LINES = 20_000
EXCERPT_CHARS = 240
MAX_SECRETS = 5  # masked in one line by each rule
INPUT = "\ue000"  # replaces user input in a statement; a private-use character, so that no code contains it
_STRING = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)")
_INTERPOLATION = re.compile(r"[$#]?\{[^{}]*\}|\$\w+(?:\[[^\]]*\]|->\w+)?")
_WORD = re.compile(r"[$@]?[A-Za-z_]\w*")
_SANITISED = re.compile(
    r"\b(?:int|float|intval|parseInt|Number|bool|secure_filename|escape\w*|quote|htmlspecialchars|htmlentities|basename|Atoi)\s*\("
)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ASSIGNED = re.compile(
    r"\s*+(?:(?:export|final|static|public|private|const|let|var|my|auto|int|char\s{0,20}\*"
    r"|[A-Z]\w{0,100}(?:<[^>=]{0,60}>)?(?:\[\])?)\s{1,20}){0,3}"
    r"([$@]?[A-Za-z_]\w{0,100})(?:\s{0,20},\s{0,20}\w{1,100}){0,16}\s{0,20}"
    r"(?::\s{0,20}[\w\[\]., |]{1,100}?)?\s{0,20}:?=(?![=>])"
)
_QUESTION = re.compile(
    r"\s*(?:please |can you |could you )?(?:review|check|audit|look|is|are|what|find|analy[sz]e|inspect|any)\b",
    re.IGNORECASE,
)
_MAIL_FIELD = re.compile(r"^(?:From|To|Subject|Received|Return-Path|Delivered-To|Message-ID): ", re.IGNORECASE | re.M)
_CONDITION = re.compile(r"\s*(?:if|while|elif|assert|return)\b")


class WeaknessRule(msgspec.Struct, frozen=True):
    """One weakness: the patterns that show it, the pattern that cancels a hit, and the texts of the finding."""

    rule: str
    cwe: int
    severity: Severity
    title: str
    why: str
    fix: str
    languages: list[str]
    patterns: list[str]
    unless: str = ""
    secret: bool = False
    depends_on_input: bool = False
    """Whether it is harmless with the program's own data."""


class CodeRules(msgspec.Struct, frozen=True):
    """``weaknesses.toml``; ``sources`` are patterns of user input, by language."""

    source: str
    version: str
    date: date
    sources: dict[str, str]
    weaknesses: list[WeaknessRule]
    headers: HeaderTable


@cache
def _table() -> CodeRules:
    return load("weaknesses.toml", CodeRules, __package__)


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield a CodeWeakness for each weakness, then a CodeReview; a Gap if ``content`` is not code."""
    yield Progress(text=f"reading {source}")
    code, first_line = _code_in(content) if source == PROMPT else (content, 1)
    language = detect_language(code, file_name="" if source == PROMPT else source)
    if reason := _reason_not_to_read(code, language, "" if source == PROMPT else source):
        yield Gap(text=reason)
        yield _coverage("", 0, readable_lines(code)[1])
        return
    total = readable_lines(code)[1]
    if len(code) > MAX_CHARS:
        yield Gap(text=f"only the first {MAX_CHARS:,} characters were examined")
    code = code[:MAX_CHARS]
    lines = readable_lines(code)[1]
    yield Progress(text=f"{source} is {language}, {lines:,} lines")
    found, last_line = 0, first_line
    if language == "headers":
        events: Iterator[ToolEvent] = header_findings(code, _table().headers, source, first_line)
    else:
        events = _weaknesses_in(code, language, source, first_line)
    for event in events:
        if isinstance(event, Finding):
            found += 1
            last_line = max(last_line, event.evidence[0].line or 0)
        yield event
        if found >= MAX_FINDINGS:
            yield Gap(text=f"stopped after {MAX_FINDINGS} weaknesses", in_headline=True)
            break
    yield _summary(language, lines, found, source)
    read = readable_lines(code)[0] if found < MAX_FINDINGS else min(total, last_line - first_line + 1)
    yield _coverage(language, read, total)


def _reason_not_to_read(code: str, language: str, file_name: str) -> str:
    """Why ``code`` is not reviewed; "" if it is in a language that has rules."""
    if not language or not code.strip():
        return "no code, configuration or HTTP headers of a known type"
    if has_code_ending(file_name):
        return ""
    form = data_form(code)
    is_response = form == "a mail" and language == "headers" and not _MAIL_FIELD.search(code)
    if form and not is_response:  # headers without a status line look like a mail's
        return f"{form}, which has no code or configuration to review"
    return "prose, not code: paste only the code" if is_prose(code) else ""


def _coverage(language: str, understood: int, total: int) -> Coverage:
    return Coverage(
        read_as=LANGUAGE_NAMES[language] if language else "text without code",
        unit="line",
        understood=understood,
        total=total,
        looked_for=(f"{_pattern_count(language)} " if language else "") + "patterns of weaknesses",
        not_covered="logic flaws, other files and values passed through calls are not analyzed",
    )


def _pattern_count(language: str) -> int:
    """How many patterns of weaknesses exist for a language; those of cookies and CORS are not in the table."""
    headers = _table().headers
    if language == "headers":
        return len(headers.required) + len(headers.bad) + OWN_HEADER_RULES
    return sum(not {language, "any"}.isdisjoint(rule.languages) for rule in _table().weaknesses)


def _code_in(prompt: str) -> tuple[str, int]:
    """Return the code in a prompt and its first line: the fenced block, or else what follows the question."""
    fenced = max(_FENCED.finditer(prompt), key=lambda match: len(match[1]), default=None)
    if fenced is not None and fenced[1].strip():
        return fenced[1], 1 + prompt.count("\n", 0, fenced.start(1))
    head, _, rest = prompt.partition("\n")
    is_question = _QUESTION.match(head) is not None
    if is_question and rest.strip():
        return rest, 2
    inline = re.search(r":\s+(\S.*)\Z", prompt, re.DOTALL)
    if is_question and inline:
        return inline[1], 1 + prompt.count("\n", 0, inline.start(1))
    return prompt, 1


def _weaknesses_in(code: str, language: str, source: str, first_line: int) -> Iterator[ToolEvent]:
    rules = [rule for rule in _rules() if not {language, "any"}.isdisjoint(rule.weakness.languages)]
    lines = code.split("\n")
    names: set[str] = set()
    seen: set[tuple[int, int]] = set()
    for done, (line, statement) in enumerate(statements_of(code, language), start=1):
        marked = _marked(statement, language, names)
        lower = statement.lower()
        for rule in rules:
            hit = rule.hit(statement, marked, lower)
            if hit is not None and (rule.weakness.cwe, line) not in seen:
                seen.add((rule.weakness.cwe, line))
                excerpt = _excerpt(rule.weakness, hit, statement, lines[line - 1])
                evidence = Evidence(source=source, excerpt=excerpt, line=first_line + line - 1)
                yield _finding(rule.weakness, language, evidence, from_input=INPUT in marked)
        _track_name(statement, marked, names)
        if done % PROGRESS_LINES == 0:
            yield Progress(text=f"{done:,} statements of {source} examined")


class _CompiledRule(msgspec.Struct, frozen=True):
    """A rule with its patterns compiled, each with the words of which a statement must contain one."""

    weakness: WeaknessRule
    patterns: list[tuple[tuple[str, ...], bool, re.Pattern[str]]]
    unless: re.Pattern[str] | None

    def hit(self, statement: str, marked: str, lower: str) -> re.Match[str] | None:
        """Return the first match, or None; patterns about input search ``marked``, the others ``statement``."""
        for words, is_about_input, pattern in self.patterns:
            if (is_about_input and INPUT not in marked) or (words and not any(word in lower for word in words)):
                continue
            match = pattern.search(marked if is_about_input else statement)
            if match is not None and not (self.unless and self.unless.search(statement)):
                return match
        return None


@cache
def _rules() -> list[_CompiledRule]:
    return [
        _CompiledRule(one, _variants(one), _compiled(one.unless) if one.unless else None) for one in _table().weaknesses
    ]


def _variants(weakness: WeaknessRule) -> list[tuple[tuple[str, ...], bool, re.Pattern[str]]]:
    """Compile the patterns; one about input in two variants, for statements with and without marked input."""
    variants = []
    for pattern in weakness.patterns:
        for is_about_input, text in (
            (True, pattern.replace("<input>", INPUT)),
            (False, pattern.replace("<input>", "(?!)")),
        ):
            if is_about_input and "<input>" not in pattern:
                continue
            words = () if is_about_input else tuple(word.lower() for word in needed_words(text))
            variants.append((words, is_about_input, _compiled(text)))
    return variants


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _marked(statement: str, language: str, names: AbstractSet[str]) -> str:
    """Return ``statement`` with INPUT for all user input; within strings only in interpolations."""
    sources = _table().sources.get(language)
    if sources is None:
        return statement

    def mark(code: str) -> str:
        code = _compiled(sources).sub(INPUT, code)
        return _WORD.sub(lambda word: INPUT if word[0] in names else word[0], code) if names else code

    def mark_interpolations(match: re.Match[str]) -> str:
        return _INTERPOLATION.sub(lambda inner: mark(inner[0]), match[0])

    pieces = _STRING.split(statement.replace(INPUT, ""))
    return "".join(
        _STRING.sub(mark_interpolations, piece) if index % 2 else mark(piece) for index, piece in enumerate(pieces)
    )


def _track_name(statement: str, marked: str, names: set[str]) -> None:
    """Add the name that ``statement`` sets to ``names`` if its value is user input; remove it otherwise."""
    assigned = None if _CONDITION.match(statement) else _ASSIGNED.match(statement)
    if assigned is None:
        return
    value = marked.partition("=")[2]
    if INPUT in value and not _SANITISED.search(value):
        if len(names) < MAX_NAMES:
            names.add(assigned[1])
    else:
        names.discard(assigned[1])


def _excerpt(weakness: WeaknessRule, hit: re.Match[str], statement: str, line: str) -> str:
    """Return the line with secrets masked, or the statement if the secret is on a later line of it."""
    shown = line
    if weakness.secret:
        secret = next((group for group in hit.groups() if group), hit[0])
        shown = _masked(line if secret in line else statement, secret)
    return _without_secrets(shown).strip()[:EXCERPT_CHARS]


def _masked(text: str, secret: str) -> str:
    return text.replace(secret, f"{secret[:2]}…({len(secret)} characters)")


def _without_secrets(text: str) -> str:
    """Return ``text`` with every secret that a rule recognises cut to two characters."""
    for rule in _rules():
        for _ in range(MAX_SECRETS if rule.weakness.secret else 0):
            hit = rule.hit(text, text, text.lower())
            secret = next((group for group in hit.groups() if group), "") if hit else ""
            if not secret or "…" in secret:
                break
            text = _masked(text, secret)
    return text


def _finding(weakness: WeaknessRule, language: str, evidence: Evidence, *, from_input: bool) -> Finding[CodeWeakness]:
    is_sure = from_input or weakness.severity is Severity.CRITICAL
    return Finding(
        title=weakness.title,
        severity=Severity.MEDIUM if weakness.depends_on_input and not from_input else weakness.severity,
        confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM,
        why=weakness.why,
        evidence=(evidence,),
        facts=CodeWeakness(
            rule=weakness.rule,
            cwe=f"CWE-{weakness.cwe}",
            language=language,
            fix=weakness.fix,
            from_input=from_input,
        ),
    )


def _summary(language: str, lines: int, found: int, source: str) -> Finding[CodeReview]:
    return Finding(
        title=f"{language}, {lines:,} lines: {found} weaknesses",
        evidence=(Evidence(source=source, excerpt=language),),
        facts=CodeReview(
            language=language,
            lines=lines,
            weaknesses=found,
            patterns=_pattern_count(language),
            table_version=_table().version,
            table_date=_table().date.isoformat(),
        ),
    )
