"""Find the stages of a script: the code that it builds, decodes or passes to another shell, each as its own script.

No stage is executed: ``literals.py`` and ``shell_words.py`` evaluate strings, the decode skill decodes encoded parts.
Depth, number and size are limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Finding, with_facts
from svc.assistant.skills.decode.declared import declared_parts
from svc.assistant.skills.decode.findings import DecodedPart
from svc.assistant.skills.decode.plausibility import text_of
from svc.assistant.skills.decode.tool import inspect as decode
from svc.assistant.skills.script.commands import syntax_tree
from svc.assistant.skills.script.javascript.evaluation import evaluate
from svc.assistant.skills.script.javascript.hidden import hidden_in, is_hidden_text
from svc.assistant.skills.script.javascript.signs import hides_code
from svc.assistant.skills.script.language import Language, handovers, language_of
from svc.assistant.skills.script.literals import EVALUATED, evaluate_strings, marked, unmarked
from svc.assistant.skills.script.marks import CLOSE, LITERAL, OPEN
from svc.assistant.skills.script.markup import scripts_in
from svc.assistant.skills.script.shell_words import expand_cmd, expand_shell

MAX_DEPTH = 6
MAX_STAGES = 40
MAX_STAGE_CHARS = 1_000_000
MAX_BLOBS = 6  # encoded parts of one stage whose encoding is not stated
MAX_SEARCHES = 12  # for the encoding of such parts, in all stages: one search may take a second
MIN_INNER_CHARS = 6  # of an executed string that is a stage of its own
_ORDINARY = frozenset(
    ["line continuation", "variables", "parentheses around strings", "string concatenation", "single characters",
     "joined arrays", "string member access"]
)  # fmt: skip
"""Constructs that people also write without hiding anything."""


class Stage(msgspec.Struct, frozen=True):
    """One text of code.

    ``how`` it was obtained from the stage with the index ``parent``; ``form`` is "text" or a file type. ``is_hidden``
    if it cannot be read in its parent, because it is encoded or built from parts. ``undone`` names the constructs that
    were evaluated; the stage then replaces its parent. ``is_evaluated`` if a stage comes from the evaluation of a
    script, which has followed its calls already.
    """

    text: str
    language: Language
    depth: int
    how: str
    parent: int | None = None
    is_hidden: bool = False
    form: str = "text"
    undone: tuple[str, ...] = ()
    is_evaluated: bool = False


class EvaluatedScript(msgspec.Struct, frozen=True):
    """A script after its strings were evaluated: as text, with marked strings, and the names of what was evaluated."""

    text: str
    marked: str
    names: list[str]


class _Searches:
    """The encoded parts that were searched for an encoding, each once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def is_new(self, blob: str) -> bool:
        """Whether ``blob`` has still to be searched, and may be."""
        if blob in self._seen or len(self._seen) >= MAX_SEARCHES:
            return False
        self._seen.add(blob)
        return True


def stages_of(text: str, language: Language) -> Iterator[Stage]:
    """Yield the script itself, then every stage in it, breadth first."""
    searches = _Searches()
    queue = [Stage(text[:MAX_STAGE_CHARS], language, 1, "the input")]
    seen = {_key(text)}
    index = 0
    while index < len(queue):
        stage = queue[index]
        yield stage
        for inner in _inside(stage, index, searches) if stage.depth <= MAX_DEPTH and stage.text else ():
            if len(queue) >= MAX_STAGES:
                break
            key = _key(inner.text) or inner.form
            if key not in seen:
                seen.add(key)
                queue.append(inner)
        index += 1


def _key(text: str) -> str:
    return re.sub(r"[\s\"'();]+", "", text).lower()[:20_000]


def evaluated(text: str, language: Language) -> EvaluatedScript:
    """Evaluate the strings of ``text`` as its language would."""
    if language is Language.BATCH:
        plain, names = expand_cmd(text)
        return EvaluatedScript(plain, plain, names)
    if language is Language.SHELL:
        plain, names = expand_shell(text)
        return EvaluatedScript(plain, plain, names)
    if language not in EVALUATED:
        return EvaluatedScript(text, text, [])
    folded, names = evaluate_strings(marked(text, language), language)
    return EvaluatedScript(unmarked(folded), folded, names)


def _inside(stage: Stage, index: int, searches: _Searches) -> Iterator[Stage]:
    if stage.depth == 1 and (found := list(scripts_in(stage.text))):
        for language, code in found:
            yield Stage(code, language, stage.depth + 1, "a script element", index)
        yield from _encoded(stage.text, stage, index, searches)
        return
    if stage.language is Language.JAVASCRIPT and not stage.is_evaluated:
        yield from _followed(stage, index)
    whole = evaluated(stage.text, stage.language)
    is_hidden = any(name not in _ORDINARY for name in whole.names)
    if whole.names and _key(whole.text) != _key(stage.text):
        how = "deobfuscated: " + ", ".join(whole.names)
        undone = tuple(whole.names)
        yield Stage(
            whole.text, stage.language, stage.depth + 1, how, index, is_hidden, undone=undone, is_evaluated=True
        )
        if is_hidden:
            return
    yield from _run_strings(whole, stage, index)
    yield from _encoded(whole.text, stage, index, searches)


def _followed(stage: Stage, index: int) -> Iterator[Stage]:
    """Yield what a script in JavaScript calls and executes, as far as an evaluation without a system can follow it."""
    found = evaluate(stage.text, lambda text: syntax_tree(text, Language.JAVASCRIPT))
    hidden = hidden_in(stage.text, found)
    for one in found.executed:
        is_hidden = one.how == "text executed as code" and is_hidden_text(one.text, stage.text)
        undone = ("code built at run time",) if is_hidden else ()
        yield Stage(
            one.text, Language.JAVASCRIPT, stage.depth + 1, one.how, index, is_hidden, undone=undone, is_evaluated=True
        )
    is_followed = bool(hidden.names or hidden.addresses) or (found.is_complete and bool(found.calls or found.executed))
    signs = [] if is_followed else hides_code(stage.text)
    if found.calls or signs:
        how = "calls, found by evaluating the script's strings"
        undone = ("names built at run time",) if hidden.names else ()
        not_followed = [f"Not followed: {', '.join(signs)}"] if signs else []
        text = "\n".join((*not_followed, *hidden.lines(), *found.calls))
        yield Stage(
            text, Language.JAVASCRIPT, stage.depth + 1, how, index, bool(undone), undone=undone, is_evaluated=True
        )


_RUN_BEFORE = re.compile(
    rf"(?P<how>\b(?:iex|invoke-expression|executeglobal|execute|eval)\b|\[scriptblock\]::create|\bnew\s+function|\bfunction)\s{{0,10}}\(?\s{{0,10}}{LITERAL}"
    rf"|(?P<start>\.(?:run|exec|shellexecute)|\bshell)\s{{0,10}}\(?\s{{0,10}}{LITERAL}"
    rf"|[&.]\s{{0,10}}\(?\s{{0,5}}{OPEN}(?:iex|invoke-expression){CLOSE}\s{{0,5}}\)?\s{{0,10}}\(?\s{{0,10}}{LITERAL}",
    re.IGNORECASE,
)
_RUN_AFTER = re.compile(
    rf"{LITERAL}\s{{0,10}}\)?\s{{0,10}}\|\s{{0,10}}(?:[&.]\s{{0,5}})?\(?\s{{0,5}}{OPEN}?(?:iex|invoke-expression)\b",
    re.IGNORECASE,
)


def _run_strings(whole: EvaluatedScript, stage: Stage, index: int) -> Iterator[Stage]:
    """Yield the strings that the stage executes as code or passes to another shell."""
    for match in (*_RUN_BEFORE.finditer(whole.marked), *_RUN_AFTER.finditer(whole.marked)):
        text = next((group for group in match.groups()[1:] if group and len(group) >= MIN_INNER_CHARS), "") or (
            match[1] or ""
        )
        if len(text) < MIN_INNER_CHARS:
            continue
        is_started = match.re is _RUN_BEFORE and match["start"] is not None
        inner = (
            language_of(text) if is_started or stage.language in (Language.SHELL, Language.BATCH) else stage.language
        )
        yield Stage(
            text, inner, stage.depth + 1, "program that is started" if is_started else "text executed as code", index
        )
    for handover, pattern in handovers():
        for match in pattern.finditer(whole.text):
            text = next((group for group in match.groups() if group and len(group.strip()) >= MIN_INNER_CHARS), "")
            if text:
                yield Stage(text.replace('""', '"').strip(), handover.language, stage.depth + 1, handover.how, index)


_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/=_-])(?:[A-Za-z0-9+/]{60,}={0,2}|[A-Za-z0-9_-]{80,})(?![A-Za-z0-9+/=_-])"
    r"|(?:0x[0-9A-Fa-f]{1,2}\s{0,4},\s{0,4}){20,}0x[0-9A-Fa-f]{1,2}|(?:\b\d{1,3}\s{0,4},\s{0,4}){30,}\d{1,3}\b|(?:\\x[0-9A-Fa-f]{2}){8,}"
)


_MEDIA = re.compile(
    r"(?:data:(?:image|font|audio|video|application/(?:json|x-font|font|wasm))[\w/+.;=-]{0,40},|sha(?:256|384|512)-)\Z",
    re.IGNORECASE,
)
"""What stands before the data of a picture, a font, a source map or a checksum."""


def _encoded(text: str, stage: Stage, index: int, searches: _Searches) -> Iterator[Stage]:
    """Yield the encoded parts: those with a stated encoding, then long runs that can only be encoded data."""
    declared = list(declared_parts(text))
    for part in declared:
        found = text_of(part.reading.data) if not part.encoding else (part.decoded, part.encoding)
        if found and len(found[0].strip()) >= 2 and not _is_binary(found[0]):
            how = f"decoded: {part.reading.name}{' of UTF-16 text' if found[1].startswith('utf-16') else ''}"
            yield Stage(found[0], _language_after(text, found[0], stage), stage.depth + 1, how, index, is_hidden=True)
        elif searches.is_new(part.text):
            yield from _decoded_stages(part.text, stage, index)
    known = {part.text for part in declared}
    runs = {
        match[0] for match in _BLOB.finditer(text) if not _MEDIA.search(text, max(0, match.start() - 60), match.start())
    }
    for blob in sorted(runs - known, key=len, reverse=True)[:MAX_BLOBS]:
        if searches.is_new(blob):
            yield from _decoded_stages(blob, stage, index)


def _is_binary(text: str) -> bool:
    return not text.isprintable() and sum(char.isprintable() or char.isspace() for char in text) < 0.9 * len(text)


def _decoded_stages(blob: str, stage: Stage, index: int) -> Iterator[Stage]:
    """Yield what the decode skill makes of a run: text, or an embedded program."""
    for part in with_facts(
        (event for event in decode(blob, source="script") if isinstance(event, Finding)), DecodedPart
    ):
        text, form = part.facts.text, part.facts.form
        if text or "program" in form or "shellcode" in form:
            language = language_of(text) if text else stage.language
            how = f"decoded: {part.facts.path}"
            yield Stage(text, language, stage.depth + 1, how, index, is_hidden=True, form=form)


def _language_after(outer: str, inner: str, stage: Stage) -> Language:
    """Return the language of a decoded text: that of the shell that receives it, if one is named."""
    if re.search(r"\b(?:powershell|pwsh)\b", outer, re.IGNORECASE) and stage.language is not Language.POWERSHELL:
        return Language.POWERSHELL
    return stage.language if stage.language is Language.POWERSHELL else language_of(inner)
