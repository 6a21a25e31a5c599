"""Run YARA rules over a file with yara-x (extra ``yara``), in a worker, with limits of its own for time and matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.indicators.yara.findings import YaraMatch, YaraScan, YaraString
from svc.untrusted.markup import plural

if TYPE_CHECKING:
    import yara_x

MISSING = "install svc-jupyter[yara] to run YARA rules"
TIMEOUT_SECONDS = 30
MAX_BYTES = 256 << 20
MAX_MATCHES = 100  # of one string in one file
KEPT = 20  # places of a rule
MAX_REASON_CHARS = 400
_TECHNIQUE = re.compile(r"\bT\d{4}(?:\.\d{3})?\b")


class RuleFiles(msgspec.Struct, frozen=True):
    """The texts of the rule files, and the inputs that are not scanned."""

    texts: list[str]
    unread: list[str] = []


class _Compiled(msgspec.Struct):
    rules: yara_x.Rules
    count: int
    rejected: list[str]


def inspect(content: BinaryIO, /, *, source: str, rules: str = "") -> Iterator[ToolEvent]:
    """Yield a match for each rule that matches the file, then the outcome of the scan.

    Args:
        content: The file's own bytes.
        source: Its name.
        rules: The rules as JSON (``RuleFiles``).
    """
    yield Progress(text=f"scanning {source}")
    given = msgspec.json.decode(rules, type=RuleFiles) if rules else RuleFiles([])
    compiled = _compiled(given.texts) if given.texts else "no YARA rules were given"
    if isinstance(compiled, str):
        if given.texts:
            yield _outcome(source, given, reason=compiled)
        yield Gap(text=compiled)
        yield _coverage(0, 0)
        return
    data = content.read(MAX_BYTES + 1)
    if not data:
        yield Gap(text="the file is empty")
    is_cut = len(data) > MAX_BYTES
    matches = _scan(compiled.rules, data[:MAX_BYTES])
    reason = matches if isinstance(matches, str) else ""
    found = [] if isinstance(matches, str) else matches
    for match in found:
        yield _finding(match, data, source)
    if is_cut:
        reason = reason or f"only its first {MAX_BYTES >> 20} MiB were scanned"
    if reason:
        yield Gap(text=reason, in_headline=True)
    for problem in compiled.rejected[:3]:
        yield Gap(text=f"a rule does not compile: {problem}", in_headline=True)
    yield _outcome(source, given, compiled, len(found), reason)
    is_scanned = not isinstance(matches, str)
    yield _coverage(min(len(data), MAX_BYTES) if is_scanned else 0, len(data), compiled.count)


def _compiled(texts: list[str]) -> _Compiled | str:
    """The rules that compile; a string if none can run."""
    try:
        import yara_x
    except ImportError:
        return MISSING
    compiler = yara_x.Compiler(relaxed_re_syntax=True)
    compiler.enable_includes(yes=False)
    compiler.ignore_invalid_rules(yes=True)
    rejected: list[str] = []
    for number, text in enumerate(texts):
        compiler.new_namespace(f"file{number}")
        try:
            compiler.add_source(text)
        except yara_x.CompileError as error:
            rejected.append(_one_line(error))
    ignored = compiler.ignored_rules()  # type: ignore[misc]  # the library's stubs name methods that are properties
    rejected += [f"{one.name}: {one.message}"[:MAX_REASON_CHARS] for one in ignored]  # type: ignore[misc]
    rules = compiler.build()
    count = len(list(rules))
    if not count:
        return f"no rule compiles: {rejected[0] if rejected else 'the file has none'}"
    return _Compiled(rules, count, rejected)


def _scan(rules: yara_x.Rules, data: bytes) -> list[yara_x.Rule] | str:
    """The rules that match; a string if the scan did not finish."""
    import yara_x

    scanner = yara_x.Scanner(rules)
    scanner.set_timeout(TIMEOUT_SECONDS)
    scanner.max_matches_per_pattern(MAX_MATCHES)
    try:
        return list(scanner.scan(data).matching_rules)
    except yara_x.TimeoutError:
        return f"the scan did not finish within {TIMEOUT_SECONDS} s"
    except yara_x.ScanError as error:
        return f"the scan failed: {_one_line(error)}"


def _finding(match: yara_x.Rule, data: bytes, source: str) -> Finding[YaraMatch]:
    meta = {str(name).lower(): str(value)[:MAX_REASON_CHARS] for name, value in match.metadata}
    places = [
        YaraString(pattern.identifier, one.offset, one.length, _shown(data[one.offset : one.offset + one.length]))
        for pattern in match.patterns
        for one in list(pattern.matches)[:KEPT]
    ]
    places.sort(key=lambda one: one.offset)
    evidence = [Evidence(source=source, excerpt=one.text, offset=one.offset) for one in places[:KEPT]]
    return Finding(
        title=f"YARA rule {match.identifier}",
        severity=Severity.MEDIUM,
        why="the rule matches; what that means is its author's claim",
        evidence=tuple(evidence) or (Evidence(source=source, excerpt="", offset=0),),
        techniques=tuple(dict.fromkeys(_TECHNIQUE.findall(" ".join(meta.values())))),
        facts=YaraMatch(
            rule=match.identifier,
            input=source,
            tags=[str(tag) for tag in match.tags],
            description=meta.get("description", meta.get("desc", "")),
            author=meta.get("author", ""),
            strings=places[:KEPT],
        ),
    )


def _shown(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[:80])


def _outcome(
    source: str, given: RuleFiles, compiled: _Compiled | None = None, matched: int = 0, reason: str = ""
) -> Finding[YaraScan]:
    count = compiled.count if compiled is not None else 0
    return Finding(
        title=f"{matched:,} of {plural(count, 'YARA rule')} matched" if compiled else "not scanned",
        evidence=(Evidence(source=source, excerpt=""),),
        facts=YaraScan(
            input=source,
            rules=count,
            matched=matched,
            scanned=compiled is not None and not reason.startswith("the scan"),
            reason=reason,
            rejected=len(compiled.rejected) if compiled else 0,
            unread=given.unread,
        ),
    )


def _coverage(understood: int, total: int, rules: int = 0) -> Coverage:
    return Coverage(
        read_as="file",
        unit="byte",
        understood=understood,
        total=total,
        looked_for=plural(rules, "YARA rule"),
        not_covered="YARA rules see the stored bytes; packed or encrypted content is not unpacked for them",
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:MAX_REASON_CHARS]
