"""Review code, a configuration or the headers of an HTTP answer: each weakness with its CWE, line, why and fix.

Decides by single statements, and by following names that were set from a user's input within one text. It does not
follow values through calls, and does not know what stands in other files. Facts: ``weaknesses.toml``.

Finding kinds and their attributes:

``code_weakness``: rule (str), cwe (str, "CWE-89"), language (str), fix (str), from_input
(bool: a user's value reaches it).

``code_review``: language (str), lines (int), weaknesses (int), table_version, table_date (str).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge import load
from svc.assistant.knowledge.prefilter import needed_words
from svc.assistant.skills.code_review.http_headers import Headers, header_findings
from svc.assistant.skills.code_review.languages import kind_of, statements_of

PROMPT = "prompt"  # what evidence from the prompt is called
MAX_CHARS = 2_000_000
MAX_FINDINGS = 400
MAX_NAMES = 100  # that hold a user's input
PROGRESS_LINES = 20_000
EXCERPT_CHARS = 240
MAX_SECRETS = 5  # of one line that are masked, by each rule
INPUT = "\ue000"  # stands for what a user controls
_STRING = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)")
_FILLED = re.compile(r"[$#]?\{[^{}]*\}|\$\w+(?:\[[^\]]*\]|->\w+)?")
_WORD = re.compile(r"[$@]?[A-Za-z_]\w*")
_MADE_SAFE = re.compile(
    r"\b(?:int|float|intval|parseInt|Number|bool|secure_filename|escape\w*|quote|htmlspecialchars|htmlentities|basename|Atoi)\s*\("
)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ASSIGNED = re.compile(
    r"\s*(?:(?:export|final|static|public|private|const|let|var|my|auto|int|char\s*\*|[A-Z]\w*(?:<[^>=]{0,60}>)?(?:\[\])?)\s+){0,3}"
    r"([$@]?[A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::\s*[\w\[\]., |]+?)?\s*:?=(?![=>])"
)
_ASKING = re.compile(
    r"\s*(?:please |can you |could you )?(?:review|check|audit|look|is|are|what|find|analy[sz]e|inspect|any)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\s*(?:if|while|elif|assert|return)\b")


class Weakness(msgspec.Struct, frozen=True):
    """One weakness: the patterns that show it, what takes a hit back, and what to say."""

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


class CodeWeaknesses(msgspec.Struct, frozen=True):
    """``weaknesses.toml``; ``sources`` are patterns of a user's input, by language."""

    source: str
    version: str
    date: date
    sources: dict[str, str]
    weaknesses: list[Weakness]
    headers: Headers


@cache
def _table() -> CodeWeaknesses:
    return load("weaknesses.toml", CodeWeaknesses, __package__)


def review(text: str, *, source: str) -> Iterator[ToolEvent]:
    """The weaknesses of ``text`` in the order of its lines, then a summary; a Gap where it is no code."""
    yield Progress(text=f"reading {source}")
    code, first_line = _code_in(text) if source == PROMPT else (text, 1)
    kind = kind_of(code, name="" if source == PROMPT else source)
    if not kind:
        yield Gap(text="no code, configuration or HTTP headers of a known kind are in it")
        return
    if len(code) > MAX_CHARS:
        yield Gap(text=f"only the first {MAX_CHARS:,} characters were looked at")
    code = code[:MAX_CHARS]
    lines = 1 + code.count("\n")
    yield Progress(text=f"{source} is {kind}, {lines:,} lines")
    found = 0
    is_headers = kind == "headers"
    headers = header_findings(code, _table().headers, source, first_line) if is_headers else ()
    for item in headers if is_headers else _in_code(code, kind, source, first_line):
        found += isinstance(item, Finding)
        yield item
        if found >= MAX_FINDINGS:
            yield Gap(text=f"stopped after {MAX_FINDINGS} weaknesses")
            break
    yield _summary(kind, lines, found, source)


def _code_in(prompt: str) -> tuple[str, int]:
    """What is to be reviewed in a prompt and its first line: what is fenced, else what stands under the question."""
    fenced = max(_FENCED.finditer(prompt), key=lambda match: len(match[1]), default=None)
    if fenced is not None and fenced[1].strip():
        return fenced[1], 1 + prompt.count("\n", 0, fenced.start(1))
    head, _, rest = prompt.partition("\n")
    asks = _ASKING.match(head)
    if asks and rest.strip():
        return rest, 2
    inline = re.search(r":\s+(\S.*)\Z", prompt, re.DOTALL)
    if asks and inline:
        return inline[1], 1 + prompt.count("\n", 0, inline.start(1))
    return prompt, 1


def _in_code(code: str, kind: str, source: str, first_line: int) -> Iterator[ToolEvent]:
    rules = [rule for rule in _rules() if kind in rule.weakness.languages or "any" in rule.weakness.languages]
    lines = code.split("\n")
    names: set[str] = set()
    seen: set[tuple[int, int]] = set()
    for done, (line, statement) in enumerate(statements_of(code, kind), start=1):
        marked = _marked(statement, kind, names)
        lower = statement.lower()
        for rule in rules:
            hit = rule.hit(statement, marked, lower)
            if hit is not None and (rule.weakness.cwe, line) not in seen:
                seen.add((rule.weakness.cwe, line))
                excerpt = _excerpt(rule.weakness, hit, statement, lines[line - 1])
                place = Evidence(source=source, excerpt=excerpt, line=first_line + line - 1)
                yield _finding(rule.weakness, kind, place, from_input=INPUT in marked)
        _follow(statement, marked, names)
        if done % PROGRESS_LINES == 0:
            yield Progress(text=f"{done:,} statements of {source} looked at")


class _Rule(msgspec.Struct, frozen=True):
    """A weakness with its patterns ready: each with words of which a statement must hold one."""

    weakness: Weakness
    patterns: list[tuple[tuple[str, ...], bool, re.Pattern[str]]]
    unless: re.Pattern[str] | None

    def hit(self, statement: str, marked: str, lower: str) -> re.Match[str] | None:
        """The first match; a pattern about input is looked for in ``marked``, the others in ``statement``."""
        for words, is_about_input, pattern in self.patterns:
            if (is_about_input and INPUT not in marked) or (words and not any(word in lower for word in words)):
                continue
            match = pattern.search(marked if is_about_input else statement)
            if match is not None and not (self.unless and self.unless.search(statement)):
                return match
        return None


@cache
def _rules() -> list[_Rule]:
    return [_Rule(one, _ways(one), _compiled(one.unless) if one.unless else None) for one in _table().weaknesses]


def _ways(weakness: Weakness) -> list[tuple[tuple[str, ...], bool, re.Pattern[str]]]:
    """The patterns in two readings where they speak of input: a statement with its input marked, and as it stands."""
    ways = []
    for pattern in weakness.patterns:
        for is_about_input, text in (
            (True, pattern.replace("<input>", INPUT)),
            (False, pattern.replace("<input>", "(?!)")),
        ):
            if is_about_input and "<input>" not in pattern:
                continue
            words = () if is_about_input else tuple(word.lower() for word in needed_words(text))
            ways.append((words, is_about_input, _compiled(text)))
    return ways


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _marked(statement: str, kind: str, names: AbstractSet[str]) -> str:
    """``statement`` with INPUT for everything that a user controls; in strings only where they are filled in."""
    sources = _table().sources.get(kind)
    if sources is None:
        return statement

    def mark(code: str) -> str:
        code = _compiled(sources).sub(INPUT, code)
        return _WORD.sub(lambda word: INPUT if word[0] in names else word[0], code) if names else code

    def fill(match: re.Match[str]) -> str:
        return _FILLED.sub(lambda filled: mark(filled[0]), match[0])

    pieces = _STRING.split(statement.replace(INPUT, ""))
    return "".join(_STRING.sub(fill, piece) if index % 2 else mark(piece) for index, piece in enumerate(pieces))


def _follow(statement: str, marked: str, names: set[str]) -> None:
    """Remember or forget the name that ``statement`` sets."""
    assigned = None if _CONDITION.match(statement) else _ASSIGNED.match(statement)
    if assigned is None:
        return
    value = marked.partition("=")[2]
    if INPUT in value and not _MADE_SAFE.search(value):
        if len(names) < MAX_NAMES:
            names.add(assigned[1])
    else:
        names.discard(assigned[1])


def _excerpt(weakness: Weakness, hit: re.Match[str], statement: str, line: str) -> str:
    """The line as it stands, without secrets; the statement where the secret stands on a later line of it."""
    shown = line
    if weakness.secret:
        secret = next((group for group in hit.groups() if group), hit[0])
        shown = _masked(line if secret in line else statement, secret)
    return _without_secrets(shown).strip()[:EXCERPT_CHARS]


def _masked(text: str, secret: str) -> str:
    return text.replace(secret, f"{secret[:2]}…({len(secret)} characters)")


def _without_secrets(text: str) -> str:
    """``text`` with every secret that is known by its form or its name cut to two characters."""
    for rule in _rules():
        for _ in range(MAX_SECRETS if rule.weakness.secret else 0):
            hit = rule.hit(text, text, text.lower())
            secret = next((group for group in hit.groups() if group), "") if hit else ""
            if not secret or "…" in secret:
                break
            text = _masked(text, secret)
    return text


def _finding(weakness: Weakness, kind: str, place: Evidence, *, from_input: bool) -> Finding:
    is_sure = from_input or weakness.severity is Severity.CRITICAL
    return Finding(
        kind="code_weakness",
        title=weakness.title,
        severity=weakness.severity,
        confidence=Confidence.HIGH if is_sure else Confidence.MEDIUM,
        why=weakness.why,
        evidence=(place,),
        attributes={
            "rule": weakness.rule,
            "cwe": f"CWE-{weakness.cwe}",
            "language": kind,
            "fix": weakness.fix,
            "from_input": from_input,
        },
    )


def _summary(kind: str, lines: int, found: int, source: str) -> Finding:
    return Finding(
        kind="code_review",
        title=f"{kind}, {lines:,} lines: {found} found",
        evidence=(Evidence(source=source, excerpt=kind),),
        attributes={
            "language": kind,
            "lines": lines,
            "weaknesses": found,
            "table_version": _table().version,
            "table_date": _table().date.isoformat(),
        },
    )
