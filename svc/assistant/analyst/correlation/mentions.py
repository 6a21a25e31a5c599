"""What each input names: what its tool saw in every record, and what its findings are about. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.correlation.identities import Identity, identity_of
from svc.assistant.analyst.questions.things import (
    ACCOUNT,
    ADDRESS,
    HOST,
    NOUNS,
    SUMMARIES,
    NamedThing,
    facts_of,
    is_noun,
    things_in,
)
from svc.assistant.findings import AnyFinding, Evidence, NameSort, Severity
from svc.assistant.skills.indicators.intel.findings import ListedIndicator
from svc.assistant.skills.indicators.search.findings import IndicatorMatch
from svc.assistant.skills.mail.findings import MailAttachment, MailHop, MailSender, MailUrl, MailVerdict

_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_SEEN_ELSEWHERE = frozenset(["rule_hit", "event_tactics", "timeline", "process_tree", "rare", "instruction_text"])
"""Findings whose records have told their names (``NamesSeen``), or that repeat others."""
_OF_SITES = frozenset(["proxy_summary", "beaconing", "web_summary"])
_HASHES = frozenset(["md5", "sha1", "sha256", "sha512", "hash"])
_BY_TYPE = {
    "ipv4": NameSort.ADDRESS, "ipv6": NameSort.ADDRESS, "address": NameSort.ADDRESS, "domain": NameSort.DOMAIN,
    "host": NameSort.DOMAIN, "url": NameSort.DOMAIN, "md5": NameSort.HASH, "sha1": NameSort.HASH,
    "sha256": NameSort.HASH, "email": NameSort.ACCOUNT, "account": NameSort.ACCOUNT,
}  # fmt: skip
_BY_NOUN = {
    "address": NameSort.ADDRESS, "account": NameSort.ACCOUNT, "host": NameSort.HOST, "domain": NameSort.DOMAIN,
    "hash": NameSort.HASH,
}  # fmt: skip
_WANTED = (ADDRESS, ACCOUNT, HOST, *(noun for noun in NOUNS if noun.one in ("domain", "hash")))
_MAX_RECIPIENTS = 20
_TIMES = ("time", "first", "valid_from")


class Mention(msgspec.Struct, frozen=True, kw_only=True):
    """A name in an input, with a record that has it. ``is_own``: it belongs to the network that the inputs are from."""

    identity: Identity
    value: str
    input: str
    evidence: Evidence
    time: str = ""
    severity: Severity = Severity.INFO
    is_own: bool = False


def mentions_in(results: Sequence[SkillResult], input_of: Callable[[str], str], limit: int) -> Iterator[Mention]:
    """Yield what the inputs name; of findings only the first ``limit``."""
    for result in results:
        for name, seen in result.names_seen:
            for one in seen.names:
                identity = identity_of(one.sort, one.value, name)
                if identity is not None:
                    line, record = (None, one.number) if seen.has_records else (one.number, None)
                    yield Mention(
                        identity=identity,
                        value=one.value,
                        input=name,
                        evidence=Evidence(source=name, excerpt="", line=line, record=record),
                        time=one.time,
                        severity=one.severity,
                        is_own=one.sort is NameSort.HOST,
                    )
    findings = (finding for result in results for finding in result.findings)
    mails = _mail_severities(results)
    for finding in islice(findings, limit):
        yield from _of_finding(finding, input_of, mails)


def _mail_severities(results: Sequence[SkillResult]) -> dict[tuple[str, int], Severity]:
    """How severe each mail is: the links of a phishing mail need a look, however ordinary they are."""
    return {
        (finding.evidence[0].source, finding.facts.mail): finding.severity
        for result in results
        for finding in result.findings
        if isinstance(finding.facts, MailVerdict) and finding.evidence
    }


def _of_finding(
    finding: AnyFinding, input_of: Callable[[str], str], mails: dict[tuple[str, int], Severity]
) -> Iterator[Mention]:
    if not finding.evidence or finding.kind in _SEEN_ELSEWHERE:
        return
    evidence = finding.evidence[0]
    place = input_of(evidence.source)
    facts = finding.facts
    severity = finding.severity
    if isinstance(facts, MailUrl | MailHop | MailAttachment | MailSender):
        severity = min(severity, mails.get((evidence.source, facts.mail), severity), key=_RANK.__getitem__)
    written = facts_of(finding)
    time = next((str(written[name]) for name in _TIMES if written.get(name)), "")
    for sort, value, is_subject in _names(finding):
        identity = identity_of(sort, value, place)
        if identity is not None:
            yield Mention(
                identity=identity,
                value=value,
                input=place,
                evidence=evidence,
                time=time,
                severity=severity if is_subject and finding.kind not in SUMMARIES else Severity.INFO,
                is_own=isinstance(facts, MailVerdict) and value in facts.to and value != facts.sender,
            )


def _names(finding: AnyFinding) -> Iterator[tuple[NameSort, str, bool]]:
    """The names in a finding, and whether the finding is about them rather than about what they were used against."""
    facts = finding.facts
    if isinstance(facts, MailVerdict):
        for recipient in facts.to.replace(";", ",").split(",")[:_MAX_RECIPIENTS]:
            yield NameSort.ACCOUNT, recipient.rpartition("<")[2].strip(" >"), False
        yield NameSort.ACCOUNT, facts.sender, True
    elif isinstance(facts, MailUrl):
        yield NameSort.DOMAIN, facts.host, True
    elif isinstance(facts, MailHop):
        yield NameSort.ADDRESS, facts.ip, True
    elif isinstance(facts, ListedIndicator | IndicatorMatch):
        sort = _BY_TYPE.get(facts.type)
        if sort is not None:
            yield sort, facts.value, True
    else:
        yield from _by_fields(finding)


def _by_fields(finding: AnyFinding) -> Iterator[tuple[NameSort, str, bool]]:
    for thing in things_in(finding):
        if thing.field in _HASHES:
            yield NameSort.HASH, thing.value, True
            continue
        noun = next((noun for noun in _WANTED if is_noun(thing, noun)), None)
        if noun is not None:
            is_site = noun is HOST and finding.kind in _OF_SITES
            yield NameSort.DOMAIN if is_site else _BY_NOUN[noun.one], _plain(thing), thing.row is None


def _plain(thing: NamedThing) -> str:
    return thing.value.partition("\n")[0][:300]
