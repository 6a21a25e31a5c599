"""Answer a clause that asks for something in particular, from the findings; or say that it cannot be told. Pure.

The words of the clause are compared with the findings and with the titles of the detection rules. "No" is never
answered: that no rule matched is only said together with the rules that look for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

import msgspec

from svc.assistant.analyst.clauses import CLAUSE_CHARS, Clause, ClauseState, particular_names
from svc.assistant.findings import AnyFinding, Severity, columns, kind_of, with_facts
from svc.assistant.knowledge.attack_names import attack_name
from svc.assistant.sigma.engine import LogSource, Rule
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.events.findings import EventsSummary
from svc.assistant.spool import collected, of_kind, worst_first
from svc.untrusted.markup import code_span, escape, plural

NAMED = 3  # findings or rules in one sentence
MIN_SHARE = 0.75  # of the words of a clause that a finding or a rule must contain
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
_COMMON_WORDS = """
about after all also and any anybody anyone anything are attached been before being but can computer could data did does
done during each else entries ever every event events evidence file files find following for from get give had happen
happened has have her here him his host how into its know list log logs look machine made make me more most network not
now off our out over place please question ran record records run say see seen server she show sign signs some someone
something such system take taken tell than that the their them then there these they thing things this those through
time times use used user using via was way were what when where whether which while who whose why will with within
without would you your answer check
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDINGS = re.compile(r"(?:ations?|ings?|ied|ies|ed|es|s|ion|ions|e|y)$")


class Particular(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one clause: a sentence in Markdown, how far it answers the clause, and if not, why."""

    clause: Clause
    sentence: str
    state: ClauseState
    reason: str = ""


def matchable_rules(findings: Sequence[AnyFinding]) -> tuple[list[Rule], str]:
    """The detection rules that could have matched, because the logs have the events that they need; and on what."""
    summaries = [one.facts for one in with_facts(of_kind(findings, kind_of(EventsSummary)), EventsSummary)]
    sources = {
        LogSource(one.product, one.service, one.category) for summary in summaries for one in summary.by_log_source
    }
    if not sources:
        return [], ""
    rules = [rule for rule in load_rules().rules if any(rule.source.covers(source) for source in sources)]
    return rules, plural(sum(summary.events for summary in summaries), "event")


def answered(clause: Clause, findings: Sequence[AnyFinding], rules: Sequence[Rule], *, events: str) -> Particular:
    """Answer a PARTICULAR clause.

    Args:
        clause: What is asked.
        findings: Everything that was found in what was examined.
        rules: The detection rules that could have matched: the log has the events that they need.
        events: What the rules ran on: "530 events".
    """
    names, stems = particular_names(clause.text), _stems(clause.text)
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    matching = collected(finding for finding in findings if _concerns(finding, names, stems))
    if matching and names:
        return _mentioned(clause, matching, names, quoted)
    if matching:
        sentence = f"{_lead(clause, matching)} {plural(len(matching), 'finding')} about {quoted}: {_listed(matching)}."
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    about = [] if names else [rule.title for rule in rules if _is_about(f"{rule.title} {rule.description}", stems)]
    if about:
        return Particular(clause=clause, sentence=_unmatched(about, quoted, events), state=ClauseState.ANSWERED)
    reason = "nothing that the tools look for in this evidence is about it"
    if names:
        reason = f"no finding mentions {', '.join(names[:NAMED])}"
    return Particular(
        clause=clause,
        sentence=f"**Cannot tell** {quoted}: {escape(reason)}.",
        state=ClauseState.CANNOT_TELL,
        reason=reason,
    )


def general(findings: Sequence[AnyFinding]) -> str:
    """The sentence that answers whether anything is wrong, by the worst finding; "" if there is nothing to name."""
    for severities, lead in (
        ((Severity.CRITICAL, Severity.HIGH), "**Yes:**"),
        ((Severity.MEDIUM,), "**Possibly:**"),
    ):
        worst = [*takewhile(lambda finding: finding.severity in severities, worst_first(findings))]  # noqa: B023
        if worst:
            return f"{lead} {_listed(worst)}."
    return ""


def _mentioned(clause: Clause, matching: Sequence[AnyFinding], names: Sequence[str], quoted: str) -> Particular:
    """That a finding mentions an address does not say what was asked about it."""
    listed = ", ".join(code_span(name, limit=80) for name in names[:NAMED])
    return Particular(
        clause=clause,
        sentence=f"**{plural(len(matching), 'finding')}** for {quoted} about {listed}: {_listed(matching)}.",
        state=ClauseState.PARTLY_ANSWERED if clause.is_yes_no else ClauseState.ANSWERED,
        reason="the findings mention it; whether they answer the question is for the reader"
        if clause.is_yes_no
        else "",
    )


def _unmatched(rules: Sequence[str], quoted: str, events: str) -> str:
    """What was looked for and not found; never "no", because a log may not record it."""
    listed = ", ".join(code_span(title, limit=80) for title in rules[:NAMED]) + (", …" if len(rules) > NAMED else "")
    looking = f"{plural(len(rules), 'rule')} {'looks' if len(rules) == 1 else 'look'}"
    return (
        f"**No sign found of** {quoted}: {looking} for it ({listed}) and matched nothing in {events}. "
        "This holds only for what the log records."
    )


def _lead(clause: Clause, matching: Sequence[AnyFinding]) -> str:
    if not clause.is_yes_no:
        return "**Found:**"
    return "**Mentioned:**" if all(finding.severity is Severity.INFO for finding in matching) else "**Yes:**"


def _listed(findings: Sequence[AnyFinding]) -> str:
    """The worst findings by title and severity."""
    ranked = worst_first(findings)
    titles = dict.fromkeys(f"{code_span(finding.title, limit=120)} ({finding.severity.value})" for finding in ranked)
    more = f"; {len(titles) - NAMED:,} more" if len(titles) > NAMED else ""
    return "; ".join(list(titles)[:NAMED]) + more


def _stems(text: str) -> frozenset[str]:
    words = [word.lower() for whole in _WORD.findall(text) for word in whole.split("-")]
    return frozenset(
        stem for word in words if word not in _COMMON for stem in [_ENDINGS.sub("", word)] if len(stem) > 2
    )


def _concerns(finding: AnyFinding, names: Sequence[str], stems: frozenset[str]) -> bool:
    """Whether a finding mentions what the clause names, or most of its words."""
    if names:
        values = [str(value).lower() for value in columns(finding).values()]
        texts = [finding.title.lower(), *values, *(evidence.excerpt.lower() for evidence in finding.evidence)]
        return any(_mentions(text, name.lower()) for name in names for text in texts)
    techniques = " ".join(map(attack_name, finding.techniques))
    return _is_about(f"{finding.title} {finding.why} {techniques}", stems)


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _is_about(text: str, stems: frozenset[str]) -> bool:
    return bool(stems) and len(stems & _stems(text)) >= MIN_SHARE * len(stems)
