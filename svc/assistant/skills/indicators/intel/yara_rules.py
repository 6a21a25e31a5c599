"""List YARA rules from their text, and try whether they compile if yara-x is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.skills.indicators.intel.findings import DetectionRule

MISSING = "install svc-jupyter[yara] to compile and run YARA rules"
MAX_STRINGS = 200
MAX_CHARS = 400
_RULE = re.compile(
    r"^(?P<flags>(?:private |global )*)rule[ \t]+(?P<name>\w{1,128})[ \t]*(?::(?P<tags>[\w \t]{1,200}))?\s{0,20}\{",
    re.MULTILINE,
)
_SECTION = re.compile(r"^[ \t]*(?P<name>meta|strings|condition)[ \t]*:[ \t]*", re.MULTILINE)
_META = re.compile(r"^[ \t]*(?P<name>\w{1,60})[ \t]*=[ \t]*\"?(?P<value>[^\"\n]{0,400})", re.MULTILINE)
_STRING = re.compile(r"^[ \t]*(?P<name>\$\w{0,128})[ \t]*=[ \t]*(?P<value>[^\n]{1,2000})", re.MULTILINE)
_TECHNIQUE = re.compile(r"\bT\d{4}(?:\.\d{3})?\b")


def explained(text: str) -> Iterator[DetectionRule]:
    """Yield each rule of a text."""
    problem = _problem(text)
    starts = list(_RULE.finditer(text))
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        yield _rule(match, text[match.end() : end], problem)


def _problem(text: str) -> str:
    """Why the file does not compile; "" if it does."""
    try:
        import yara_x
    except ImportError:
        return MISSING
    compiler = yara_x.Compiler()
    compiler.enable_includes(yes=False)
    try:
        compiler.add_source(text)
    except yara_x.CompileError as error:
        return " ".join(str(error).split())[:MAX_CHARS]
    return ""


def _rule(match: re.Match[str], body: str, problem: str) -> DetectionRule:
    parts = _sections(body)
    meta = {one["name"].lower(): one["value"].strip() for one in _META.finditer(parts.get("meta", ""))}
    strings = [
        f"{one['name']} = {one['value'].strip()[:MAX_CHARS]}" for one in _STRING.finditer(parts.get("strings", ""))
    ][:MAX_STRINGS]
    condition = parts.get("condition", "").rpartition("}")[0] or parts.get("condition", "")
    return DetectionRule(
        language="YARA",
        name=match["name"],
        rule_id=meta.get("id", meta.get("uuid", "")),
        level=meta.get("severity", meta.get("score", "not stated")),
        author=meta.get("author", ""),
        description=meta.get("description", meta.get("desc", "")),
        log_source="files",
        must_match=strings,
        condition=" ".join(condition.split())[:MAX_CHARS],
        meaning="",
        false_positives=[],
        techniques=list(dict.fromkeys(_TECHNIQUE.findall(" ".join(meta.values())))),
        tactics=[],
        compiles=not problem,
        reason=problem,
    )


def _sections(body: str) -> dict[str, str]:
    marks = list(_SECTION.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    return {mark["name"]: body[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
