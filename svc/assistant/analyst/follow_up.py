"""Recognize questions that refer to earlier ones, and select the earlier findings that they mean. Pure.

A follow-up is answered from earlier findings without running a tool. Only a time of day needs the log again, because
findings hold totals over the whole log. If the earlier findings cannot answer the question, the answer says so.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from svc.assistant.analyst.plan import PROMPT, Call, question_of
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.catalogue import FACTS_OF_KIND, SKILLS, decode_findings, skill_of_kind
from svc.assistant.skills.events.findings import LogonAccount, LogonSource, LogonSuccess, WebClient
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.logins.findings import AuthAccount, AuthSource, AuthSuccess, LoginAccess
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import collected, kinds_of, of_kind, read_file
from svc.assistant.turn import Exchange, TurnFile, open_source
from svc.findings_file import reference

MAX_FOLLOW_UP_CHARS = 400  # a longer question brings its own material
MAX_BARE_CHARS = 60  # of a question that says only what to keep: "how many domains?", "critical ones"
_NAME_CHARS = re.compile(
    r"[\d.@_\\$]"
)  # only in an address or the name of a file or account, not in a word of a sentence
_EXAMPLES = tuple(map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")))
"""RFC 5737 and RFC 3849: documentation addresses; texts use them as examples of public ones."""


class FollowUpKind(StrEnum):
    """What a question asks of the history: the questions, all findings, some of them, or their number."""

    QUESTIONS = "questions"
    FINDINGS = "findings"
    FILTER = "filter"
    COUNT = "count"


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    """A question about earlier ones.

    ``conditions`` are the recognized filters in our own words, never text from the evidence unless it names a value;
    ``options`` limit the time of day; ``limit`` is the number of findings to keep, worst first.
    """

    kind: FollowUpKind
    conditions: tuple[str, ...] = ()
    options: dict[str, str] = {}
    limit: int | None = None


_EARLIER_QUESTIONS = re.compile(
    r"\bwhat (?:did|have|had|was|were) (?:i|we)\b[^.?!]{0,20}\bask\w*"
    r"|\b(?:my|our|the) (?:last|first|previous|earlier|past) (?:questions?|prompts?)"
    r"|\bwhat (?:was|were) my\b[^.?!]{0,20}\bquestions?"
    r"|\bquestions?\b[^.?!]{0,30}\b(?:so far|before|earlier)\b",
    re.IGNORECASE,
)
_EARLIER_FINDINGS = re.compile(
    r"\bwhat (?:did|have|had) (?:you|we) (?:already )?(?:find|found|tell|told|say|said|answer\w*|see|seen)\b"
    r"|\b(?:show|repeat|list|give)\b[^.?!]{0,20}\b(?:earlier|previous|last|old)\b[^.?!]{0,20}\b(?:findings?|answers?|results?)"
    r"|\b(?:findings?|answers?|results?) again\b",
    re.IGNORECASE,
)
_BACK_REFERENCE = re.compile(
    r"\b(?:these|those|them|of (?:the )?(?:above|earlier|previous)"
    r"|(?:earlier|previous|last) (?:findings?|answer|results?))\b"
    r"|^\s*(?:(?:and|now|ok|okay|please|so|show|list|give)\s+(?:me\s+)?)*(?:only|just)\b",
    re.IGNORECASE,
)

_HOW_MANY = re.compile(r"\bhow many\b|\bcount\b|\bnumber of\b", re.IGNORECASE)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOP = re.compile(
    rf"^\s*+(?:(?:and|now|ok|okay|please|so|show|list|give|only|just|what|which|are|is|me)\s++)*+(?:the\s++)?"
    rf"(?:top|first|worst|most (?:severe|serious|important))(?:\s++(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}))?"
    r"(?:\s++(?:of (?:these|those|them)|findings?|ones?|results?|hits?|rows?))?\s*+[.?!]?\s*+$",
    re.IGNORECASE,
)
_NO_FILTER = re.compile(
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
_COMMON_WORD = re.compile(
    r"all|and|are|any|for|from|that|the|these|those|them|this|which|what|who|how|many|only|just|with|show|list|not|yes|no"
    r"|finding|findings|result|results|type|kind|name|value|time|first|last|high|none|unknown|count|file|files",
    re.IGNORECASE,
)
_SEVERITY = re.compile(r"\b(critical|high|medium|low)\b", re.IGNORECASE)
_SUMMARY_KINDS = frozenset({"event_tactics", "process_tree"})
"""Kinds that summarize other findings. They take the worst severity among them, so a filter must leave them out."""
_TYPES = (
    (
        "IP addresses",
        ("ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr"),
        re.compile(r"\bip(?:v[46])?s?\b|\baddresses\b", re.IGNORECASE),
    ),
    ("domains", ("domain",), re.compile(r"\b(?:domains?|host ?names?)\b", re.IGNORECASE)),
    ("URLs", ("url",), re.compile(r"\b(?:urls?|links)\b", re.IGNORECASE)),
    ("MD5 hashes", ("md5",), re.compile(r"\bmd-?5s?\b", re.IGNORECASE)),
    ("SHA-1 hashes", ("sha1",), re.compile(r"\bsha-?1s?\b", re.IGNORECASE)),
    ("SHA-256 hashes", ("sha256",), re.compile(r"\bsha-?256s?\b", re.IGNORECASE)),
    ("SHA-512 hashes", ("sha512",), re.compile(r"\bsha-?512s?\b", re.IGNORECASE)),
    (
        "hashes",
        ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "ssdeep", "tlsh", "imphash", "authentihash"),
        re.compile(r"\bhash(?:es)?\b", re.IGNORECASE),
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


def findings_of(exchange: Exchange, made_files: Sequence[TurnFile] = ()) -> Sequence[AnyFinding]:
    """The findings of an earlier turn; a source message in another form has none.

    Those of a turn with too many for a message are in a file; without it, only those in the message are known.
    """
    found: list[AnyFinding] = []
    for content in exchange.sources:
        if (complete := _in_file(content, made_files)) is not None:
            return complete
        try:
            found += decode_findings(content)
        except msgspec.DecodeError:  # another assistant's source message
            continue
    return found


def unknown_count(exchange: Exchange, known: Sequence[AnyFinding]) -> int:
    """How many findings of an earlier turn are not known any more: their file is gone."""
    references = filter(None, map(reference, exchange.sources))
    return sum(one.findings for one in references) - len(known) if _has_file(exchange) else 0


def latest(
    history: Sequence[Exchange], made_files: Sequence[TurnFile] = ()
) -> tuple[Exchange, Sequence[AnyFinding]] | None:
    """The last turn that found something, with its findings."""
    for exchange in reversed(history):
        if found := findings_of(exchange, made_files):
            return exchange, found
    return None


def _has_file(exchange: Exchange) -> bool:
    return any(reference(content) is not None for content in exchange.sources)


def _in_file(content: str, files: Sequence[TurnFile]) -> Sequence[AnyFinding] | None:
    """The findings in the file that a source message names; None if it names none, or the file cannot be read."""
    named = reference(content)
    file = next((file for file in files if named is not None and file.sha256 == named.sha256), None)
    if file is None:
        return None
    try:
        with open_source(file.source) as stream:
            return read_file(stream.read(), FACTS_OF_KIND)
    except (OSError, ValueError):  # detached meanwhile, or written by another version
        return None


def follow_up(
    prompt: str,
    history: Sequence[Exchange],
    *,
    made_files: Sequence[TurnFile] = (),
    is_form_given: bool = False,
    has_new_files: bool = False,
    known: Sequence[AnyFinding] = (),
) -> FollowUp | None:
    """Return what the prompt asks of the history, or None if it is a new question.

    Args:
        prompt: Without words about the answer's format.
        history: The session's earlier turns, oldest first.
        made_files: The files with the findings of turns that found many.
        is_form_given: Whether such words ("as CSV") were removed; alone they ask for the known findings in that form.
        has_new_files: Whether files came with the question; words that name no tool then refer to these files.
        known: The findings of the last answer that had any, if they were read already.
    """
    if len(prompt) > MAX_FOLLOW_UP_CHARS:
        return None
    question = question_of(prompt)
    if _EARLIER_QUESTIONS.search(question):
        return FollowUp(kind=FollowUpKind.QUESTIONS)
    if _EARLIER_FINDINGS.search(question):
        return FollowUp(kind=FollowUpKind.FINDINGS)
    if not known and latest(history) is None:
        return None
    if is_form_given and (not question.strip() or _NO_FILTER.fullmatch(question)):
        return FollowUp(kind=FollowUpKind.FINDINGS)
    limit = _limit(question)
    is_back = refers_back(question)
    if not is_back and (has_new_files or not _may_be_bare(prompt)):
        return None
    if not known:
        last = latest(history, made_files)
        known = last[1] if last is not None else ()
    if not known or (not is_back and not _is_bare(question, known)):
        return None
    return FollowUp(
        kind=FollowUpKind.COUNT if _HOW_MANY.search(question) else FollowUpKind.FILTER,
        conditions=tuple(label for label, _ in _conditions(question, known)),
        options=window_of(question),
        limit=limit,
    )


def refers_back(question: str) -> bool:
    """Whether a question says that it means earlier findings: "these", "only the …", "top 3"."""
    return _BACK_REFERENCE.search(question) is not None or _limit(question) is not None


def _may_be_bare(prompt: str) -> bool:
    """Whether a question is short, names no tool and contains nothing to read."""
    return len(prompt.strip()) <= MAX_BARE_CHARS and not any(
        pattern.search(prompt) for skill in SKILLS for pattern in (skill.strong, skill.weak, skill.content, skill.looks)
    )


def _is_bare(question: str, findings: Sequence[AnyFinding]) -> bool:
    """Whether a question names a filter of the findings."""
    named = _named_values(question, findings)
    return len(_conditions(question, findings)) > len(named) or any(_NAME_CHARS.search(label) for label, _ in named)


def _limit(question: str) -> int | None:
    """``top 5``, ``the first three``, ``the worst``: how many of the earlier findings to keep."""
    match = _TOP.search(question)
    if match is None:
        return None
    number = match["number"]
    if number is None:
        return 1
    return int(number) if number.isdigit() else _NUMBERS.index(number.lower()) + 1


def filtered(prompt: str, findings: Sequence[AnyFinding]) -> Sequence[AnyFinding]:
    """The findings that meet every condition of the question."""
    tests = [test for _, test in _conditions(question_of(prompt), findings)]
    return collected(finding for finding in findings if all(test(finding) for test in tests))


def rerun_calls(
    prompt: str, findings: Sequence[AnyFinding], files: Sequence[TurnFile], options: dict[str, str]
) -> list[Call]:
    """The calls that read the same logs again for a time of day; a log that is no longer attached is left out.

    ``prompt`` is the one whose pasted text was read.
    """
    read: dict[tuple[str, str], Skill] = {}
    for finding in findings:
        skill = skill_of_kind(finding.kind)
        if skill is not None and "after" in skill.takes:
            read |= {(skill.name, evidence.source): skill for evidence in finding.evidence}
    calls = []
    for (_, source), skill in read.items():
        source_input: TurnFile | str | None = next((file for file in files if file.name == source), None)
        if source_input is None and source == PROMPT:
            source_input = prompt or None
        if source_input is not None:
            supported = {name: value for name, value in options.items() if name in skill.takes}
            calls.append(Call(skill=skill, input=source_input, options=supported))
    return calls


_Test = Callable[[AnyFinding], bool]


def _conditions(question: str, findings: Sequence[AnyFinding]) -> list[tuple[str, _Test]]:
    """Each condition of the question in words, and as a test."""
    found: list[tuple[str, _Test]] = []
    for scope, words in _SCOPES.items():
        if words.search(question):
            found.append((scope, lambda finding, scope=scope: scope_of(finding) == scope))  # type: ignore[misc]
            break
    kinds = kinds_of(findings)
    if "indicator" in kinds:
        found += [(label, _has_type(types)) for label, types, words in _TYPES if words.search(question)][:1]
    if "auth_source" in kinds:
        found += [(label, _has_kind(kind)) for label, kind, words in _KINDS if words.search(question)][:1]
        if _SUCCESS.search(question):
            found.append(("successful login", _has_successful_login))
    if named := {match.group() for match in _TECHNIQUE.finditer(question)}:
        found.append((", ".join(sorted(named)), lambda finding: _has_technique(finding, named)))
    if (severity := _SEVERITY.search(question)) is not None:
        level = Severity(severity[1].lower())
        found.append((f"{level.value} severity", lambda f: f.severity is level and f.kind not in _SUMMARY_KINDS))
    return found + _named_values(question, findings)


def _has_technique(finding: AnyFinding, techniques: set[str]) -> bool:
    """Whether a finding shows one of the techniques, or a sub-technique of one."""
    return finding.kind not in _SUMMARY_KINDS and any(
        shown in techniques or shown.partition(".")[0] in techniques for shown in finding.techniques
    )


def _has_type(types: tuple[str, ...]) -> _Test:
    return lambda finding: isinstance(finding.facts, IndicatorFacts) and finding.facts.type in types


def _has_kind(kind: str) -> _Test:
    return lambda finding: finding.kind == kind


def _has_successful_login(finding: AnyFinding) -> bool:
    match finding.facts:
        case AuthSuccess(access=access):
            return access in (LoginAccess.NETWORK, LoginAccess.CONSOLE)
        case AuthSource(success_accounts=names) | LogonSource(success_accounts=names):
            return bool(names)
        case AuthAccount(success_sources=names) | LogonAccount(success_sources=names):
            return bool(names)
        case _:
            return False


def _named_values(question: str, findings: Sequence[AnyFinding]) -> list[tuple[str, _Test]]:
    """A condition for words of the question that are an account, an address or another value of the findings."""
    words = {word.strip("`'\"?,!()").rstrip(".").replace("[.]", ".").lower() for word in question.split()}
    words = {word for word in words if len(word) > 2 and not _is_common_word(word)}
    words = {word for word in words if not _TECHNIQUE.fullmatch(word.upper())}  # a condition of its own
    if not words:
        return []
    named = {value.lower() for finding in findings for value in _values(finding) if value.lower() in words}
    if not named:
        return []
    return [(", ".join(sorted(named)), lambda finding: any(value.lower() in named for value in _values(finding)))]


def _is_common_word(word: str) -> bool:
    patterns = (
        _COMMON_WORD,
        _BACK_REFERENCE,
        _SUCCESS,
        _SEVERITY,
        *_SCOPES.values(),
        *(entry[2] for entry in (*_TYPES, *_KINDS)),
    )
    return any(pattern.fullmatch(word) for pattern in patterns)


def _values(finding: AnyFinding) -> list[str]:
    """Every text among a finding's facts, including rows of tables, and the names of its inputs."""
    cells: list[object] = []
    for value in columns(finding).values():
        for item in value if isinstance(value, list) else [value]:
            cells += item.values() if isinstance(item, dict) else [item]
    inputs = [evidence.source for evidence in finding.evidence if evidence.source != PROMPT]
    return [cell for cell in cells if isinstance(cell, str)] + inputs


def scope_of(finding: AnyFinding) -> str:
    """``external`` or ``internal`` for an address or a host; "" for the rest (a hash, an account)."""
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
            return _scope_of_values(finding)


def _scope_of_values(finding: AnyFinding) -> str:
    """``external`` if a finding of another kind has an address from outside, ``internal`` if it has only others."""
    if finding.kind in _SUMMARY_KINDS or finding.kind.endswith("_summary") or finding.kind == "timeline":
        return ""
    facts = columns(finding)
    if isinstance(facts.get("url"), str) and facts["url"]:
        return "external"
    held = [value for name in _ENDS for value in _as_list(facts.get(name))]
    scopes = {_scope_of_address(value) for value in held if isinstance(value, str) and _is_address(value)}
    return next((scope for scope in ("external", "internal") if scope in scopes), "")


_ENDS = ("source", "client", "clients", "server", "address", "addresses", "ip", "target", "value")
"""Fields that name an end of a connection."""


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return False
    return True


def _scope_of_address(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
        is_example = any(parsed in network for network in _EXAMPLES if network.version == parsed.version)
        return "external" if parsed.is_global or is_example else "internal"
    except ValueError:
        return "internal" if address.startswith("local") or "." not in address else "external"


def by_skill(findings: Sequence[AnyFinding]) -> list[tuple[Skill, Sequence[AnyFinding]]]:
    """Group findings by the skill that renders them, in the catalogue's order; others are left out."""
    kinds = kinds_of(findings)
    return [
        (skill, of_kind(findings, *mine))
        for skill in SKILLS
        for mine in [[kind for kind in kinds if skill_of_kind(kind) is skill]]
        if mine
    ]
