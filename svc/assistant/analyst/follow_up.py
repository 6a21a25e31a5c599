"""What a session already knows: which question refers back, and which earlier findings it means. Pure.

A follow-up never asks a tool for what is known; only a limit on the time of day needs the log again, since findings
hold sums. What the earlier findings cannot answer is said, not guessed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from svc.assistant.analyst.plan import PROMPT, Call, question_of, window_of
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.catalogue import SKILLS, decode_findings, skill_of_kind
from svc.assistant.skills.events.findings import LogonAccount, LogonSource, LogonSuccess, WebClient
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.logins.findings import AuthAccount, AuthSource, AuthSuccess
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import Exchange, TurnFile

MAX_FOLLOW_UP_CHARS = 400  # a longer question brings its own material
MAX_BARE_CHARS = 60  # of a question that says only what to keep: "how many domains?", "critical ones"
_NO_WORD = re.compile(r"[\d.@_\\$]")  # an address, a name of a file or an account, and no word of a sentence
_EXAMPLES = tuple(map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")))
"""RFC 5737 and RFC 3849: in a text they stand for addresses of the internet."""


class FollowUpKind(StrEnum):
    """What a question wants from the history: the questions, all findings, some of them, or how many these are."""

    ASKED = "asked"
    FOUND = "found"
    FILTER = "filter"
    COUNT = "count"


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    """A question about earlier ones. ``conditions`` are ours, in words; ``options`` limit the time of day.

    ``limit``: only so many, the worst first.
    """

    kind: FollowUpKind
    conditions: tuple[str, ...] = ()
    options: dict[str, str] = {}
    limit: int | None = None


_ASKED = re.compile(
    r"\bwhat (?:did|have|had|was|were) (?:i|we)\b[^.?!]{0,20}\bask\w*"
    r"|\b(?:my|our|the) (?:last|first|previous|earlier|past) (?:questions?|prompts?)"
    r"|\bwhat (?:was|were) my\b[^.?!]{0,20}\bquestions?"
    r"|\bquestions?\b[^.?!]{0,30}\b(?:so far|before|earlier)\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\bwhat (?:did|have|had) (?:you|we) (?:already )?(?:find|found|tell|told|say|said|answer\w*|see|seen)\b"
    r"|\b(?:show|repeat|list|give)\b[^.?!]{0,20}\b(?:earlier|previous|last|old)\b[^.?!]{0,20}\b(?:findings?|answers?|results?)"
    r"|\b(?:findings?|answers?|results?) again\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:these|those|them|of (?:the )?(?:above|earlier|previous)"
    r"|(?:earlier|previous|last) (?:findings?|answer|results?))\b"
    r"|^\s*(?:(?:and|now|ok|okay|please|so|show|list|give)\s+(?:me\s+)?)*(?:only|just)\b",
    re.IGNORECASE,
)

_HOW_MANY = re.compile(r"\bhow many\b|\bcount\b|\bnumber of\b", re.IGNORECASE)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOP = re.compile(
    rf"^\s*(?:(?:and|now|ok|okay|please|so|show|list|give|only|just|what|which|are|is|me)\s+)*(?:the\s+)?"
    rf"(?:top|first|worst|most (?:severe|serious|important))(?:\s+(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}))?"
    r"(?:\s+(?:of (?:these|those|them)|findings?|ones?|results?|hits?|rows?))?\s*[.?!]?\s*$",
    re.IGNORECASE,
)
_NOTHING_ELSE = re.compile(
    r"\s*(?:(?:and|now|ok|okay|please|so|again|show|list|give|put|print|me|it|them|that|this|all|the|these|those|same|earlier|"
    r"previous|last|findings?|answers?|results?)[\s,.!?]*)+",
    re.IGNORECASE,
)
_TECHNIQUE = re.compile(r"\bT\d{4}(?:\.\d{3})?\b")
_SCOPES = {
    "external": re.compile(r"\b(?:external|public|(?:from )?outside|internet|routable)\b", re.IGNORECASE),
    "internal": re.compile(r"\b(?:internal|private|inside|local|rfc ?1918)\b", re.IGNORECASE),
}
_SUCCESS = re.compile(
    r"\b(?:got|get|let|broke|broken|logged) in(?:to)?\b|\bsucce\w+\b|\bworked\b|\bcompromised\b|\btaken over\b",
    re.IGNORECASE,
)
_OUR_WORD = re.compile(
    r"all|and|are|any|for|from|that|the|these|those|them|this|which|what|who|how|many|only|just|with|show|list|not|yes|no"
    r"|finding|findings|result|results|type|kind|name|value|time|first|last|high|none|unknown|count|file|files",
    re.IGNORECASE,
)
_SEVERITY = re.compile(r"\b(critical|high|medium|low)\b", re.IGNORECASE)
_SUMS = frozenset({"event_tactics", "process_tree"})
"""Kinds that sum up many findings: as severe as the worst, and so no answer to which of them are."""
_TYPES = (
    (
        "IP addresses",
        ("ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr"),
        re.compile(r"\bip(?:v[46])?s?\b|\baddresses\b", re.IGNORECASE),
    ),
    ("domains", ("domain",), re.compile(r"\b(?:domains?|host ?names?)\b", re.IGNORECASE)),
    ("URLs", ("url",), re.compile(r"\b(?:urls?|links)\b", re.IGNORECASE)),
    (
        "hashes",
        ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "ssdeep", "tlsh", "imphash", "authentihash"),
        re.compile(r"\b(?:hash(?:es)?|md5s?|sha-?(?:1|256|512)s?)\b", re.IGNORECASE),
    ),
    ("mail addresses", ("email",), re.compile(r"\be?-?mails?\b", re.IGNORECASE)),
    ("CVEs", ("cve",), re.compile(r"\bcves?\b", re.IGNORECASE)),
    ("files", ("file_path", "file_name"), re.compile(r"\b(?:files?|paths?)\b", re.IGNORECASE)),
    ("registry keys", ("registry_key",), re.compile(r"\bregistry\b", re.IGNORECASE)),
)
_KINDS = (
    ("sources", "auth_source", re.compile(r"\bsources?\b", re.IGNORECASE)),
    ("accounts", "auth_account", re.compile(r"\b(?:accounts?|users?)\b", re.IGNORECASE)),
)


def findings_of(exchange: Exchange) -> list[AnyFinding]:
    """The findings that an earlier turn told; a source message of another form has none."""
    found: list[AnyFinding] = []
    for content in exchange.sources:
        try:
            found += decode_findings(content)
        except msgspec.DecodeError:  # another assistant's source message
            continue
    return found


def latest(history: Sequence[Exchange]) -> tuple[Exchange, list[AnyFinding]] | None:
    """The last turn that found something, with its findings."""
    for exchange in reversed(history):
        if found := findings_of(exchange):
            return exchange, found
    return None


def follow_up(
    prompt: str, history: Sequence[Exchange], *, is_form_given: bool = False, has_new_files: bool = False
) -> FollowUp | None:
    """What the prompt wants from the history, or None where it is a question of its own.

    ``is_form_given``: words about the form ("as CSV") were taken out of the prompt; alone they mean what is known.
    ``has_new_files``: files came with the question, so that words which ask for no tool are about them.
    """
    question = question_of(prompt)
    if len(prompt) > MAX_FOLLOW_UP_CHARS:
        return None
    if _ASKED.search(question):
        return FollowUp(kind=FollowUpKind.ASKED)
    known = latest(history)
    if _FOUND.search(question):
        return FollowUp(kind=FollowUpKind.FOUND)
    if known is None:
        return None
    if is_form_given and (not question.strip() or _NOTHING_ELSE.fullmatch(question)):
        return FollowUp(kind=FollowUpKind.FOUND)
    limit = _limit(question)
    is_bare = not has_new_files and _is_bare(prompt, question, known[1])
    if not _BACK.search(question) and limit is None and not is_bare:
        return None
    return FollowUp(
        kind=FollowUpKind.COUNT if _HOW_MANY.search(question) else FollowUpKind.FILTER,
        conditions=tuple(label for label, _ in _conditions(question, known[1])),
        options=window_of(question),
        limit=limit,
    )


def _is_bare(prompt: str, question: str, findings: Sequence[AnyFinding]) -> bool:
    """Whether a question asks for no tool, brings nothing to read, and names what to keep of the findings."""
    if len(prompt.strip()) > MAX_BARE_CHARS or any(
        pattern.search(prompt) for skill in SKILLS for pattern in (skill.strong, skill.weak, skill.content, skill.looks)
    ):
        return False
    named = _named_values(question, findings)
    return len(_conditions(question, findings)) > len(named) or any(_NO_WORD.search(label) for label, _ in named)


def _limit(question: str) -> int | None:
    """``top 5``, ``the first three``, ``the worst``: how many of the known are wanted."""
    match = _TOP.search(question)
    if match is None:
        return None
    number = match["number"]
    if number is None:
        return 1
    return int(number) if number.isdigit() else _NUMBERS.index(number.lower()) + 1


def filtered(prompt: str, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The findings that meet every condition of the question."""
    tests = [test for _, test in _conditions(question_of(prompt), findings)]
    return [finding for finding in findings if all(test(finding) for test in tests)]


def again(
    exchange: Exchange, findings: Sequence[AnyFinding], files: Sequence[TurnFile], options: dict[str, str]
) -> list[Call]:
    """The calls that read the same logs again for another time of day; a detached log is left out."""
    read: dict[tuple[str, str], Skill] = {}
    for finding in findings:
        skill = skill_of_kind(finding.kind)
        if skill is not None and "after" in skill.takes:
            read |= {(skill.name, evidence.source): skill for evidence in finding.evidence}
    calls = []
    for (_, source), skill in read.items():
        given: TurnFile | str | None = next((file for file in files if file.name == source), None)
        if given is None and source == PROMPT:
            given = exchange.prompt
        if given is not None:
            taken = {name: value for name, value in options.items() if name in skill.takes}
            calls.append(Call(skill=skill, input=given, options=taken))
    return calls


_Test = Callable[[AnyFinding], bool]


def _conditions(question: str, findings: Sequence[AnyFinding]) -> list[tuple[str, _Test]]:
    """Each condition of the question in words, and as a test."""
    found: list[tuple[str, _Test]] = []
    for scope, words in _SCOPES.items():
        if words.search(question):
            found.append((scope, lambda finding, scope=scope: scope_of(finding) == scope))  # type: ignore[misc]
            break
    kinds = {finding.kind for finding in findings}
    if "indicator" in kinds:
        found += [(label, _has_type(types)) for label, types, words in _TYPES if words.search(question)][:1]
    if "auth_source" in kinds:
        found += [(label, _has_kind(kind)) for label, kind, words in _KINDS if words.search(question)][:1]
        if _SUCCESS.search(question):
            found.append(("let in", _was_let_in))
    if named := {match.group() for match in _TECHNIQUE.finditer(question)}:
        found.append((", ".join(sorted(named)), lambda finding: _shows(finding, named)))
    if (severity := _SEVERITY.search(question)) is not None:
        wanted = Severity(severity[1].lower())
        found.append((f"{wanted.value} severity", lambda f: f.severity is wanted and f.kind not in _SUMS))
    return found + _named_values(question, findings)


def _shows(finding: AnyFinding, techniques: set[str]) -> bool:
    """Whether a finding shows one of the techniques, or a sub-technique of one."""
    return finding.kind not in _SUMS and any(
        shown in techniques or shown.partition(".")[0] in techniques for shown in finding.techniques
    )


def _has_type(types: tuple[str, ...]) -> _Test:
    return lambda finding: isinstance(finding.facts, IndicatorFacts) and finding.facts.type in types


def _has_kind(kind: str) -> _Test:
    return lambda finding: finding.kind == kind


def _was_let_in(finding: AnyFinding) -> bool:
    match finding.facts:
        case AuthSuccess():
            return finding.severity in (Severity.CRITICAL, Severity.HIGH)
        case AuthSource(success_accounts=entered) | LogonSource(success_accounts=entered):
            return bool(entered)
        case AuthAccount(success_sources=entered) | LogonAccount(success_sources=entered):
            return bool(entered)
        case _:
            return False


def _named_values(question: str, findings: Sequence[AnyFinding]) -> list[tuple[str, _Test]]:
    """A word of the question that is an account, an address or a value found: only what is about it."""
    words = {word.strip("`'\"?,!()").rstrip(".").replace("[.]", ".").lower() for word in question.split()}
    known = {value.lower() for finding in findings for value in _values(finding)}
    named = {word for word in words & known if len(word) > 2 and not _is_our_word(word)}
    named = {word for word in named if not _TECHNIQUE.fullmatch(word.upper())}  # a condition of its own
    if not named:
        return []
    return [(", ".join(sorted(named)), lambda finding: any(value.lower() in named for value in _values(finding)))]


def _is_our_word(word: str) -> bool:
    patterns = (_OUR_WORD, _BACK, _SUCCESS, _SEVERITY, *_SCOPES.values(), *(entry[2] for entry in (*_TYPES, *_KINDS)))
    return any(pattern.fullmatch(word) for pattern in patterns)


def _values(finding: AnyFinding) -> list[str]:
    """What a finding is about: every text among its facts, rows of tables included, and the names of its inputs."""
    cells: list[object] = []
    for value in columns(finding).values():
        for item in value if isinstance(value, list) else [value]:
            cells += item.values() if isinstance(item, dict) else [item]
    inputs = [evidence.source for evidence in finding.evidence if evidence.source != PROMPT]
    return [cell for cell in cells if isinstance(cell, str)] + inputs


def scope_of(finding: AnyFinding) -> str:
    """``external`` or ``internal`` for what has a place in a network; "" for the rest (a hash, an account)."""
    match finding.facts:
        case IndicatorFacts(scope="public" | "tor" | "documentation"):
            return "external"
        case IndicatorFacts(scope="", type=kind):
            return "external" if kind in ("url", "domain", "email") else ""
        case IndicatorFacts():
            return "internal"
        case AuthSource(source=address) | AuthSuccess(source=address) | WebClient(client=address):
            return _scope_of_address(address)
        case LogonSource(source=address) | LogonSuccess(source=address):
            return _scope_of_address(address)
        case _:
            return ""


def _scope_of_address(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
        is_example = any(parsed in network for network in _EXAMPLES if network.version == parsed.version)
        return "external" if parsed.is_global or is_example else "internal"
    except ValueError:
        return "internal" if address.startswith("local") or "." not in address else "external"


def by_skill(findings: Sequence[AnyFinding]) -> list[tuple[Skill, list[AnyFinding]]]:
    """Findings with the skill that shows them, in the catalogue's order; those that no section shows are left out."""
    return [
        (skill, mine)
        for skill in SKILLS
        for mine in [[finding for finding in findings if skill_of_kind(finding.kind) is skill]]
        if mine
    ]
