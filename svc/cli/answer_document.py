"""The JSON of ``svc ask --json``: one object whose names stay as they are.

| field | content |
|---|---|
| ``session_id`` | for ``svc ask --session`` |
| ``question`` | as it was asked |
| ``status`` | ``answered``, ``partly_answered``, ``not_answered`` or ``not_examined``; null if unknown |
| ``answer`` | Markdown, as on the wire |
| ``findings`` | all, the most severe first: ``title severity confidence why evidence techniques facts`` (skills.md) |
| ``indicators`` | each once: ``type``, ``value``, ``defanged``, ``scope``, ``severity``, ``findings`` (their indexes) |
| ``coverage`` | how far each input was read, which parts of the question were answered; null if unknown |
| ``messages`` | the turn's messages as on the wire |

Indicators are those that the analyst extracted, and the IP addresses, URLs and hashes that are facts of findings with a
severity above ``info``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from svc.answer_coverage import AnswerCoverage
from svc.findings_file import FACTS, Reference, members, reference
from svc.findings_file import TITLE as FILE_TITLE
from svc.messages import AnswerStatus, Message, MessageType, MimeType, coverage_of, status_of
from svc.untrusted.defang import defang_word

Finding = dict[str, object]
FINDINGS_TITLE = "findings"
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_EXTRACTED = frozenset(("indicator", "pcap_indicator"))
_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}
_HEX = re.compile(r"[0-9A-Fa-f]+")
_URL = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_MAX_VALUE = 2_000  # characters


class Indicator(msgspec.Struct, kw_only=True):
    """One indicator of an answer. ``scope`` is "" if it is unknown; ``severity`` is the worst of its findings."""

    type: str
    value: str
    defanged: str
    scope: str
    severity: str
    findings: list[int]


class AnswerDocument(msgspec.Struct, kw_only=True):
    """The object that ``svc ask --json`` prints."""

    session_id: str
    question: str
    status: AnswerStatus | None
    answer: str
    findings: list[Finding]
    indicators: list[Indicator]
    coverage: AnswerCoverage | None
    messages: list[Message]


def answer_document(session_id: str, question: str, messages: list[Message], findings: list[Finding]) -> AnswerDocument:
    """Build the object from a turn and its findings."""
    return AnswerDocument(
        session_id=session_id,
        question=question,
        status=status_of(messages),
        answer=answer_text(messages),
        findings=findings,
        indicators=indicators_of(findings),
        coverage=coverage_of(messages),
        messages=messages,
    )


def answer_text(messages: Sequence[Message]) -> str:
    """The turn's answer in Markdown."""
    return "".join(str(m.get_content()) for m in messages if m.message_type == MessageType.RESULT)


def findings_in(messages: Sequence[Message]) -> list[Finding]:
    """The findings in the turn's messages, of the last run of the assistant that sent any."""
    found: list[Finding] = []
    for message in messages:
        if message.message_type == MessageType.SOURCE and message.title == FINDINGS_TITLE:
            found = _decoded(message.content or "")
    return found


def findings_file_of(messages: Sequence[Message]) -> Reference | None:
    """What names the file with all findings of the turn; None if its messages hold them all."""
    named = (
        reference(message.content or "")
        for message in messages
        if message.message_type == MessageType.SOURCE
        and message.mime_type == MimeType.JSON
        and message.title == FILE_TITLE
    )
    return next((one for one in named if one is not None), None)


def findings_in_file(content: bytes) -> list[Finding]:
    """The findings in a findings file, in the form that they have in a message.

    Raises:
        ValueError: The file is damaged, or another version wrote it.
    """
    found: list[Finding] = []
    for _, block in members(content):
        names = block.names
        for values in zip(*(block.column(name) for name in names), strict=True):
            row = dict(zip(names, values, strict=True))
            facts = {name.removeprefix(FACTS): row.pop(name) for name in names if name.startswith(FACTS)}
            found.append({**row, "facts": {"kind": block.kind, **facts}})
    return found


def indicators_of(findings: Sequence[Finding]) -> list[Indicator]:
    """Each indicator of the findings once, the most severe first."""
    found: dict[tuple[str, str], Indicator] = {}
    for index, finding in enumerate(findings):
        severity = str(finding.get("severity", "info"))
        for kind, value, scope in _indicators(finding, severity):
            shown = defang_word(value) or value
            new = Indicator(type=kind, value=value, defanged=shown, scope=scope, severity=severity, findings=[])
            one = found.setdefault((kind, value), new)
            one.severity = min(one.severity, severity, key=_rank)
            if not one.findings or one.findings[-1] != index:
                one.findings.append(index)
    return sorted(found.values(), key=lambda one: _rank(one.severity))


def _indicators(finding: Finding, severity: str) -> Iterator[tuple[str, str, str]]:
    facts = finding.get("facts")
    if not isinstance(facts, Mapping):
        return
    if facts.get("kind") in _EXTRACTED:
        value, kind = facts.get("value"), facts.get("type")
        if isinstance(value, str) and isinstance(kind, str):
            kind, known = _typed(value) or ("", "") if kind == "address" else (kind, "")
            yield kind or "address", value, str(facts.get("scope") or known)
    elif severity != "info":
        for value in _texts(list(facts.values())):
            if (typed := _typed(value)) is not None:
                yield typed[0], value, typed[1]


def _texts(values: object) -> Iterator[str]:
    """The texts in a fact: itself, or those in its rows and lists."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if len(value) <= _MAX_VALUE:
                yield value
        elif isinstance(value, Mapping):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, Sequence):
            waiting.extend(reversed(value))


def _typed(value: str) -> tuple[str, str] | None:
    """The type and the scope of a text that is an IP address, a hash or a URL as a whole."""
    if len(value) in _HASHES and _HEX.fullmatch(value):
        return _HASHES[len(value)], ""
    if _URL.fullmatch(value):
        return "url", ""
    if not value[:1].isalnum() and not value.startswith(":"):
        return None
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return None
    from svc.assistant.skills.indicators.patterns import scope_of  # the tool's own names; loaded with the first address

    return f"ipv{address.version}", scope_of(value)


def _rank(severity: str) -> int:
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)


def _decoded(content: str) -> list[Finding]:
    try:
        return msgspec.json.decode(content, type=list[Finding])
    except msgspec.MsgspecError:
        return []
