"""Answer a clause that asks for something in particular, from the findings; or say that they do not answer it. Pure.

The words of the clause are compared with the findings and with the titles of the detection rules. "No" is never
answered: that no rule matched is only said together with the rules that look for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

import msgspec

from svc.assistant.analyst.clause_words import GENERAL_WORDS, content_words, objects, stems
from svc.assistant.analyst.clauses import CLAUSE_CHARS, Clause, ClauseKind, ClauseState, input_names, particular_names
from svc.assistant.analyst.questions.behaviours import searched_for
from svc.assistant.analyst.questions.chosen_answers import chosen_answer
from svc.assistant.analyst.questions.comparisons import comparison_answer
from svc.assistant.analyst.questions.conditions import demands_in
from svc.assistant.analyst.questions.demands import asks_for_harmless
from svc.assistant.analyst.questions.event_answers import TARGET_NOT_STATED, event_answer
from svc.assistant.analyst.questions.event_subjects import EventSubject
from svc.assistant.analyst.questions.following import following_answer
from svc.assistant.analyst.questions.indicator_lists import indicator_list
from svc.assistant.analyst.questions.inputs import both_answer, inputs_answer
from svc.assistant.analyst.questions.levels import level_answer
from svc.assistant.analyst.questions.login_sides import login_side_answer
from svc.assistant.analyst.questions.mail_answers import mail_answer
from svc.assistant.analyst.questions.orders import order_answer
from svc.assistant.analyst.questions.places import place_answer
from svc.assistant.analyst.questions.record_answers import (
    absent_columns,
    mentions_of,
    nobody_stated,
    record_answer,
    targets_of,
)
from svc.assistant.analyst.questions.record_questions import refers_back
from svc.assistant.analyst.questions.relations import relation_answer
from svc.assistant.analyst.questions.spans.answers import span_answer
from svc.assistant.analyst.questions.spans.relative import relative_answer
from svc.assistant.analyst.questions.states import is_negated, is_past, recorded, unknown_state
from svc.assistant.analyst.questions.tactics import tactic_answer
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.analyst.questions.time_words import window_of, without_time
from svc.assistant.analyst.questions.traffic import traffic_answer
from svc.assistant.analyst.questions.unread import unread_answer
from svc.assistant.analyst.questions.unsuccessful import unsuccessful_answer
from svc.assistant.analyst.topics import Topic, accounts_in, is_of, topic_of, unknown_person
from svc.assistant.findings import ATTACK_STRINGS, LITTLE, AnyFinding, Severity, columns, kind_of, with_facts
from svc.assistant.knowledge.attack_names import attack_name
from svc.assistant.log_readers.time_window import WITHOUT_DAY, TimeWindow
from svc.assistant.sigma.engine import LogSource, Rule
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.asked.findings import ChosenRecords
from svc.assistant.skills.catalogue import section_of, skill_named
from svc.assistant.skills.events.findings import EventsSummary, RuleHit, Timeline
from svc.assistant.skills.host_artefacts.circumstances import circumstances_of
from svc.assistant.skills.host_artefacts.findings import HostActivity, HostSummary
from svc.assistant.skills.indicators.intel.validity import validity
from svc.assistant.skills.pcap.findings import PcapSummary
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import collected, of_kind, worst_first
from svc.assistant.workers.mentions import DOMAIN
from svc.untrusted.markup import code_span, escape, plural

NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
NAMED = 3  # findings or rules in one sentence
MIN_SHARE = 0.75  # of the words of a clause that a finding or a rule must contain
_OTHER_LOGS = ("auth_summary", "pcap_summary")  # of skills that say themselves what they looked for
_LOG_SKILLS = ("auth_log", "events", "pcap")
_GOOD = re.compile(
    r"(?<!out of the )(?<!not )\b(?:safe|clean|ordinary|normal|trust(?:ed|worthy)?|healthy|benign|legit\w*|harmless)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\b(?:when|first|last|time)\b", re.IGNORECASE)


class Particular(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one clause: a sentence in Markdown, how far it answers the clause, and if not, why."""

    clause: Clause
    sentence: str
    state: ClauseState
    reason: str = ""
    is_mention: bool = False
    """Whether it only says which findings mention a value that the clause names."""

    @property
    def is_open(self) -> bool:
        """Whether the records may answer it better."""
        return self.state is ClauseState.CANNOT_TELL or self.is_mention


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


def answered(
    clause: Clause,
    findings: Sequence[AnyFinding],
    rules: Sequence[Rule],
    *,
    events: str,
    lines: Mapping[str, str] | None = None,
) -> Particular:
    """Answer a clause that asks for something in particular, or whether something happened.

    Args:
        clause: What is asked.
        findings: Everything that was found in what was examined.
        rules: The detection rules that could have matched: the log has the events that they need.
        events: What the rules ran on: "530 events".
        lines: For each value that is named, in how many lines of the inputs it is.
    """
    names, words = names_in(clause, findings), stems(clause.english)
    if clause.is_state:
        return _of_state(clause, findings, names)
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    topic = topic_of(clause.english) if clause.is_yes_no else None
    mentioning = collected(one for one in findings if _mentions_any(one, names)) if names else []
    if topic is not None and (mentioning or not names):
        decided = _decided(topic, clause, findings, names, mentioning)
        if decided is not None:
            return decided
    if mentioning:
        return _mentioned(clause, mentioning, names, lines or {})
    matching = [] if names else _matching(findings, words, content_words(clause.english))
    if matching:
        sentence = f"{_lead(clause, matching)} {plural(len(matching), 'finding')} about {quoted}: {_listed(matching)}."
        sentence += "" if clause.is_yes_no else _shown(matching)
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    about = [] if names else [rule.title for rule in rules if _looks_for(rule, words, objects(clause.english))]
    if about:
        return Particular(
            clause=clause,
            sentence=_unmatched(about, quoted, events),
            state=ClauseState.PARTLY_ANSWERED,
            reason="the rules that look for it matched nothing; they do not cover every form of it",
        )
    if not names and not (clause.is_understood and (clause.is_foreign or clause.is_yes_no)):
        return Particular(
            clause=clause,
            sentence=f"**Question not understood:** {quoted}. Below is what was found in the evidence as a whole.",
            state=ClauseState.CANNOT_TELL,
            reason="the question was not understood",
        )
    reason = "nothing that the tools look for in this evidence is about it"
    if names:
        counted = "".join(f"; {text}" for name in names[:NAMED] if (text := (lines or {}).get(name)))
        reason = f"no finding mentions {', '.join(names[:NAMED])}{counted}"
    return Particular(
        clause=clause,
        sentence=f"**Cannot tell** {quoted}: {escape(reason)}.",
        state=ClauseState.CANNOT_TELL,
        reason=reason,
    )


def of_events(clause: Clause, findings: Sequence[AnyFinding], rules: Sequence[Rule], events: str) -> Particular | None:
    """The answer to one of the ordinary questions about an event log; None if the clause is none of them.

    Args:
        clause: What is asked.
        findings: Everything that was found in what was examined.
        rules: The detection rules that could have matched.
        events: What the rules ran on: "530 events".
    """
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)

    def unmatched(subject: EventSubject) -> str:
        own = [rule for rule in rules if rule.source != LogSource()]  # the others relate events of many sorts of logs
        titles = [rule.title for rule in own if subject.titles.search(rule.title)]
        return _unmatched(titles, quoted, events) if titles else _unseen(quoted, events)

    said = event_answer(clause.english, findings, unmatched)
    if said is None or (clause.is_foreign and not said[1]):
        return None
    sentence, is_answered = said
    if is_answered:
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    reason = "the rules that look for it matched nothing; they do not cover every form of it"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.PARTLY_ANSWERED, reason=reason)


def of_records(clause: Clause, findings: Sequence[AnyFinding], *, is_whole: bool) -> Particular | None:
    """The answer from the records that a clause is about; None if they do not answer it.

    ``is_whole``: only if the records have all its words; else the rest of them may be words of the question.
    """
    said = record_answer(clause.text, findings)
    if said is None or said[1] < is_whole:
        return None
    is_told = not said[0].startswith("**Cannot tell")
    state = ClauseState.ANSWERED if is_told else ClauseState.CANNOT_TELL
    return Particular(clause=clause, sentence=said[0], state=state, reason="" if is_told else "no record states it")


def of_inputs(
    clause: Clause, unread: Mapping[str, str], findings: Sequence[AnyFinding], read: Sequence[str]
) -> Particular | None:
    """The answer to a clause about the inputs themselves; None for any other clause."""
    names = particular_names(clause.text)
    sentence = inputs_answer(clause.text, unread, read) or both_answer(clause.text, names, findings, read)
    if not sentence:
        return None
    is_told = not sentence.startswith("**Cannot tell")
    state = ClauseState.ANSWERED if is_told else ClauseState.CANNOT_TELL
    return Particular(clause=clause, sentence=sentence, state=state, reason="" if is_told else "no finding tells it")


def of_form(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """The answer to a clause whose form says what can answer it: an order, a comparison, a relation, a rating.

    What mentions the values of such a clause does not answer it. None for any other clause.
    """
    text = clause.text
    if asks_for_harmless(clause.english):
        return _of_harmless(clause, findings)
    if sentence := (
        level_answer(text, findings)
        or unsuccessful_answer(text, findings)
        or login_side_answer(text, findings)
        or traffic_answer(text, findings)
        or indicator_list(text, findings)
    ):
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    told = (
        span_answer(text, findings)
        or relative_answer(text, findings)
        or following_answer(text, findings)
        or chosen_answer(text, findings)
        or mail_answer(text, findings)
        or order_answer(text, findings)
        or comparison_answer(text, findings)
        or relation_answer(text, findings)
    )
    if told is None:
        return None
    sentence, is_known = told
    state = ClauseState.ANSWERED if is_known else ClauseState.CANNOT_TELL
    return Particular(clause=clause, sentence=sentence, state=state, reason="" if is_known else "no record states it")


def of_demands(clause: Clause, particular: Particular | None, findings: Sequence[AnyFinding]) -> Particular | None:
    """The answer, or that there is none, if nothing that was read could apply what a clause demands of records.

    ``particular``: what answers the clause without that; None if the verdicts of the tools do.
    """
    demands = demands_in(clause.english)
    if not demands or any(one.facts.clause == clause.text for one in with_facts(findings, ChosenRecords)):
        return particular
    if particular is not None and (_OPENLY.match(particular.sentence) or particular.state is ClauseState.CANNOT_TELL):
        return particular
    reason = f"{demands} could not be applied to what was read"
    told = " Below is what was found without it."
    if particular is not None:
        told = f" Without it: {particular.sentence.replace('**', '')}"
    sentence = f"**Cannot tell** {code_span(clause.text, limit=CLAUSE_CHARS)}: {escape(reason)}.{told}"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


_OPENLY = re.compile(r"\*\*(?:Cannot tell|Question not understood|No sign found)")


def _of_harmless(clause: Clause, findings: Sequence[AnyFinding]) -> Particular:
    """That evidence can show who was affected, not who was not."""
    severe = collected(takewhile(lambda one: one.severity in NOTABLE, worst_first(findings)))
    reason = "that nothing was found about somebody does not show that nothing happened to them"
    shown = f" Found: {_listed(severe)}." if severe else ""
    sentence = f"**Cannot tell** {code_span(clause.text, limit=CLAUSE_CHARS)}: {reason}.{shown}"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


def of_absent(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """That no record states what a clause asks for.

    None if a record does, or if the clause asks for no column.
    """
    sentence = absent_columns(clause.text, findings)
    if not sentence:
        return None
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason="no record states it")


def with_targets(particular: Particular, findings: Sequence[AnyFinding]) -> Particular:
    """An answer that no finding states to whom something was done, with the accounts that the records name for it."""
    if not particular.sentence.endswith(TARGET_NOT_STATED):
        return particular
    targets = targets_of(particular.clause.text, findings)
    told = f" The records name as the account: {targets}." if targets else TARGET_NOT_STATED
    return msgspec.structs.replace(particular, sentence=particular.sentence.removesuffix(TARGET_NOT_STATED) + told)


_OF_ALL = "This is about all that was read, not only what the question before it asks for."


def of_everything(particular: Particular, findings: Sequence[AnyFinding]) -> Particular:
    """The answer to a clause that refers to the one before it, with the remark that it is about all that was read.

    Not if the records of the clause before it answer it, nor if it is not answered.
    """
    text = particular.clause.text
    if particular.state is not ClauseState.ANSWERED or not refers_back(text):
        return particular
    said = record_answer(text, findings)
    if said is not None and said[0] == particular.sentence:
        return particular
    return msgspec.structs.replace(
        particular,
        sentence=f"{particular.sentence} {_OF_ALL}",
        state=ClauseState.PARTLY_ANSWERED,
        reason="what it refers to was not found in the records",
    )


def without_account(particular: Particular, findings: Sequence[AnyFinding]) -> Particular:
    """An answer from findings to "who ran it", if neither they nor the records state an account."""
    if particular.state is not ClauseState.ANSWERED or " by `" in particular.sentence:
        return particular
    if not particular.sentence.startswith("**Found:**") or not (
        absent := nobody_stated(particular.clause.text, findings)
    ):
        return particular
    return msgspec.structs.replace(
        particular,
        sentence=f"{absent} {particular.sentence}",
        state=ClauseState.PARTLY_ANSWERED,
        reason="no record states an account",
    )


def with_mentions(particular: Particular, findings: Sequence[AnyFinding]) -> Particular:
    """An open answer with the records that have the words of the clause, which no finding is about."""
    mentions = mentions_of(particular.clause.text, findings)
    if not mentions:
        return particular
    return msgspec.structs.replace(
        particular,
        sentence=f"{particular.sentence} Its words are in {mentions}",
    )


def of_name(
    clause: Clause, findings: Sequence[AnyFinding], rules: Sequence[Rule], events: str, searched: str
) -> Particular | None:
    """The answer to a clause that names a country, a tactic or a technique by its usual name, and asks nothing else."""
    said = place_answer(clause.text, findings) or tactic_answer(
        clause.english, findings, rules, events, escape(searched)
    )
    if said is None:
        return None
    sentence, is_found = said
    state = ClauseState.ANSWERED if is_found else ClauseState.PARTLY_ANSWERED
    reason = "" if is_found else "the rules that look for it matched nothing; they do not cover every form of it"
    if sentence.startswith("**Cannot tell"):
        state, reason = ClauseState.CANNOT_TELL, "nothing that was read tells it"
    return Particular(clause=clause, sentence=sentence, state=state, reason=reason)


def of_unread(clause: Clause, read_as: Sequence[str], names: Sequence[str]) -> Particular | None:
    """That a clause asks to look in a kind of evidence that was not read; None for any other clause."""
    sentence = unread_answer(clause.english, read_as, names)
    if not sentence:
        return None
    reason = "what it asks about is not among the inputs"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


def of_host(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """What a host artefact records about a clause; None if the clause asks nothing that it records."""
    if clause.kind is ClauseKind.OPEN and not circumstances_of(clause.english):
        return None
    window = TimeWindow(**window_of(clause.english))
    kept = findings if window.is_whole else collected(_in_window(one, window) for one in findings)
    asked = without_time(clause.english) if not window.is_whole else clause.english
    sentence = section_of(skill_named(_HOST)).told(asked, kept)
    if not sentence:
        return None
    if not window.is_whole:
        sentence += f" Only records {window.words} are counted, in the artefact's own time."
    is_told = not sentence.startswith("**Cannot tell")
    state = ClauseState.ANSWERED if is_told else ClauseState.CANNOT_TELL
    return Particular(clause=clause, sentence=sentence, state=state, reason="" if is_told else "it is not recorded")


def _in_window(finding: AnyFinding, window: TimeWindow) -> AnyFinding:
    """The finding with those of its rows whose time is in a part of the day."""
    facts = finding.facts
    if not isinstance(facts, HostActivity):
        return finding
    rows = [row for row in facts.rows if row.time and window.has(row.time)]
    times = sorted(row.time for row in rows)
    kept = msgspec.structs.replace(
        facts, rows=rows, count=len(rows), first=times[0] if times else None, last=times[-1] if times else None
    )
    return msgspec.structs.replace(finding, facts=kept)


def of_validity(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """How long indicators of threat intelligence are valid; None if that is not asked, or nothing lists indicators."""
    sentence = validity(clause.english, findings)
    if not sentence:
        return None
    is_told = not sentence.startswith("**Cannot tell")
    state = ClauseState.ANSWERED if is_told else ClauseState.CANNOT_TELL
    return Particular(clause=clause, sentence=sentence, state=state, reason="" if is_told else "the file does not say")


def of_behaviour(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """How far event logs were searched for a behaviour of which nothing was found; None for any other clause."""
    is_asked = clause.kind in (ClauseKind.PARTICULAR, ClauseKind.NAMED)
    if not is_asked or of_kind(findings, *_OTHER_LOGS) or names_in(clause, findings):
        return None
    found = searched_for(clause.english, findings)
    if found is None:
        return None
    behaviour, searched = found
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    looked = escape(searched.words)
    if not searched.missing:
        sentence = f"**No sign found of** {quoted}: {looked} and found none. This holds only for what the log records."
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    missing = escape(searched.missing)
    sentence = f"**Cannot tell** {quoted}: {f'{looked}, but {missing}' if looked else missing}."
    reason = f"{behaviour.name} cannot be judged: {searched.missing}"
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


_ASKS_ACCOUNT = re.compile(
    r"\b(?:which|what) (?:users?|accounts?|persons?|employees?)\b|\bwho\b[^?]{0,20}\b(?:logged|signed|account)\b",
    re.IGNORECASE,
)

_ACCOUNT_COLUMNS = (
    "account", "accounts", "user", "users", "identity", "actor", "principal", "owner", "success_accounts",
)  # fmt: skip


def of_account(clause: Clause, findings: Sequence[AnyFinding]) -> Particular | None:
    """That nothing in a log names the account that a clause asks for; None for other clauses, or if anything does."""
    if not _ASKS_ACCOUNT.search(clause.english) or not of_kind(findings, *map(kind_of, (EventsSummary, PcapSummary))):
        return None
    if any(columns(one).get(key) for one in findings for key in _ACCOUNT_COLUMNS):
        return None
    reason = "nothing that was found names an account"
    sentence = f"**Cannot tell** {code_span(clause.text, limit=CLAUSE_CHARS)}: {reason}."
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


def _unseen(quoted: str, events: str) -> str:
    """That no rule for these events looks for it: nothing can be concluded."""
    return f"**Cannot tell** {quoted}: no rule that applies to the {events} read looks for it." if events else ""


def _of_state(clause: Clause, findings: Sequence[AnyFinding], names: Sequence[str]) -> Particular:
    """Only a finding that says that it became so is a "yes", and only for a question about the past."""
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    if found := recorded(clause.text, findings, names):
        lead = "**Yes:**" if is_past(clause.text) else "**Possibly:**"
        later = "" if is_past(clause.text) else " Whether it is still so is not recorded."
        sentence = f"{lead} {plural(len(found), 'finding')} about {quoted}: {_listed(found)}.{later}"
        return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)
    return Particular(
        clause=clause,
        sentence=unknown_state(clause.text, quoted, findings, names),
        state=ClauseState.CANNOT_TELL,
        reason="the evidence records what happened, not how something is set or is now",
    )


_IN_INPUT = r"(?i:\b(?:in|within|inside|according to) (?:the )?)"


def names_in(clause: Clause, findings: Sequence[AnyFinding]) -> list[str]:
    """The values that a clause names: addresses, files, quoted words, and accounts that findings are about."""
    accounts = accounts_in(findings)
    words = [word for word in re.findall(r"[\w.-]+", clause.text) if word.lower() in accounts]
    scope = {name for name in input_names(clause.text) if re.search(rf"{_IN_INPUT}{re.escape(name)}", clause.text)}
    names = list(dict.fromkeys([*(name for name in particular_names(clause.text) if name not in scope), *words]))
    return names or unknown_person(clause.text, content_words(clause.text))


def named_values(clauses: Sequence[Clause], findings: Sequence[AnyFinding]) -> list[str]:
    """The values that any of the clauses names."""
    return list(dict.fromkeys(name for clause in clauses for name in names_in(clause, findings)))


def for_clause(
    clause: Clause, answer_of: Callable[[], Particular], run: Sequence[Skill], findings: Sequence[AnyFinding]
) -> Particular | None:
    """The answer to a clause from the findings, if it needs one beside the verdicts of the tools.

    A clause that names a skill needs one if it names a value or asks for yes or no; if the findings do not decide it,
    the verdict of the skill has the word.

    Args:
        clause: What is asked.
        answer_of: Answers it from the findings.
        run: The skills that examined something.
        findings: Everything that was found.
    """
    if clause.kind is ClauseKind.PARTICULAR:
        return answer_of()
    if clause.kind is not ClauseKind.NAMED:
        return None
    names = names_in(clause, findings)
    is_person = any(name not in particular_names(clause.text) for name in names)
    is_run = any(skill.name in clause.skills or skill.covers.intersection(clause.skills) for skill in run)
    if not is_run:
        answer = answer_of() if names or any(skill.name in _LOG_SKILLS for skill in run) else None
        return None if answer is None or (answer.state is ClauseState.CANNOT_TELL and not names) else answer
    reads_logs = any(skill.name in _LOG_SKILLS and skill.name in clause.skills for skill in run)
    if not (is_person or (reads_logs and (names or clause.is_yes_no))):
        return None
    answer = answer_of()
    is_left = "auth_log" in clause.skills or clause.is_general
    return None if answer.state is ClauseState.CANNOT_TELL and is_left and not names else answer


def without_days(clause: Clause, left_out: Sequence[tuple[str, str]]) -> Particular | None:
    """That a question about days of the week cannot be answered from logs without a year; None if it can be.

    Args:
        clause: What is asked.
        left_out: What the tools did not examine: the name of the input, and why.
    """
    names = [name for name, why in left_out if why == WITHOUT_DAY]
    if not names or "days" not in window_of(clause.english):
        return None
    listed = ", ".join(code_span(name, limit=80) for name in dict.fromkeys(names))
    reason = "the log states no year, so the day of the week is not known"
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    sentence = f"**Cannot tell** {quoted}: {reason} ({listed}). Below is what was found on all days."
    return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)


def general(clause: Clause, findings: Sequence[AnyFinding], searched: str) -> str:
    """The sentence that answers whether anything is wrong, by the worst finding.

    Findings that the clause is about decide, if there are any: "is the scheduled task malicious?".
    """
    words = content_words(GENERAL_WORDS.sub(" ", clause.english))
    severe = collected(takewhile(lambda one: one.severity in NOTABLE, worst_first(findings)))
    if (asked := _asked_of_it(clause)) and not any(_mentions_all(one, asked) for one in severe):
        quoted = code_span(clause.text, limit=CLAUSE_CHARS)
        shown = f" What was found: {_listed(severe)}." if severe else ""
        return f"**Cannot tell** {quoted}: no finding is about {code_span(' '.join(asked), limit=80)}.{shown}"
    people = _people_in(clause, findings)
    if (
        severe
        and people
        and not any(is_of(one, name) or _mentions_all(one, [name]) for one in severe for name in people)
    ):
        return _about_others(clause, severe, people)
    mentioning = collected(one for one in severe if _mentions_all(one, words)) if words else []
    concerned = mentioning or severe
    about = f" {plural(len(mentioning), 'finding')} about {code_span(' '.join(words), limit=80)}:" if mentioning else ""
    asks_good = _GOOD.search(clause.english) is not None
    yes = "**Found:**" if is_negated(clause.text) else "**Yes:**"
    for severities, lead in (
        ((Severity.CRITICAL, Severity.HIGH), "**No:**" if asks_good else yes),
        ((Severity.MEDIUM,), "**Cannot tell:**" if asks_good else "**Possibly:**"),
    ):
        worst = [*takewhile(lambda finding: finding.severity in severities, worst_first(concerned))]  # noqa: B023
        if worst:
            return f"{lead}{about} {_listed(worst)}."
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    if asks_good:
        return f"**Cannot tell** {quoted}: nothing was found against it, but only {escape(searched)} was looked for."
    if all(part.startswith(LITTLE) for part in searched.split("; ")):
        if ATTACK_STRINGS not in searched:
            return f"**Cannot tell** {quoted}: the records were read, but there is no rule or check for such records."
        rest = "what else the messages say was not judged"
        return f"**Cannot tell** {quoted}: looked for {escape(searched)} and found none; {rest}."
    low = [one for one in worst_first(of_kind(findings, kind_of(RuleHit))) if one.severity is Severity.LOW]
    weak = f" Matches of low severity, which are usually ordinary activity: {_listed(low)}." if low else ""
    of_what = f"of** {quoted}:" if words else "of an attack:**"
    return f"**No sign found {of_what} looked for {escape(searched)}.{weak}"


def _people_in(clause: Clause, findings: Sequence[AnyFinding]) -> list[str]:
    """The accounts that a clause asks about, also one that nothing in the evidence names."""
    accounts = accounts_in(findings)
    words = [word for word in re.findall(r"[\w.-]+", clause.text) if word.lower() in accounts]
    return words or unknown_person(clause.text, content_words(clause.text))


def _about_others(clause: Clause, severe: Sequence[AnyFinding], people: Sequence[str]) -> str:
    """That what was found is about others than those whom the clause asks about."""
    listed = ", ".join(code_span(name, limit=80) for name in people[:NAMED])
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    none = f"no finding of medium or higher severity is about {listed}"
    return f"**Cannot tell** {quoted}: {none}. Others: {_listed(severe)}."


def _asked_of_it(clause: Clause) -> list[str]:
    """What is asked of an attack that the question takes for granted: "stolen" of "did the attacker steal data?"."""
    text = clause.text
    match = _OF_ATTACK.search(text)
    rest = text[match.end() :] if match else ""
    return [] if _SUCCEEDED.search(rest) else content_words(GENERAL_WORDS.sub(" ", rest))


_SUCCEEDED = re.compile(r"\bsucce\w+|\bwork(?:ed)?\b|\breal\b", re.IGNORECASE)
_OF_ATTACK = re.compile(
    r"\b(?:the|this|that|our|these|those) (?:attack(?:s|er|ers)?|hackers?|intruders?|incident|breach|malware|threat"
    r"|intrusion|compromise)\b",
    re.IGNORECASE,
)


def _decided(
    topic: Topic,
    clause: Clause,
    findings: Sequence[AnyFinding],
    names: Sequence[str],
    mentioning: Sequence[AnyFinding],
) -> Particular | None:
    """Yes by the findings that prove it, no sign if they would have been seen, else None."""
    proof = collected(
        one
        for one in of_kind(findings, *topic.kinds)
        if topic.proves(one) and (not names or any(is_of(one, name) for name in names))
    )
    hints = [] if proof else [one for one in of_kind(findings, *topic.kinds) if topic.hints(one)]
    hints = [one for one in hints if not names or any(is_of(one, name) for name in names)]
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    if proof:
        yes = "**Found:**" if is_negated(clause.text) else "**Yes:**"
        sentence = f"{yes if topic.is_certain else '**Possibly:**'} {_listed(proof)}."
    elif hints:
        sentence = f"**Possibly:** {_listed(hints)}."
    elif any(map(topic.shows, of_kind(findings, *topic.shown_by))):
        who = f" of {', '.join(code_span(name, limit=80) for name in names[:NAMED])}" if names else ""
        known = f" {plural(len(mentioning), 'finding')}: {_listed(mentioning)}." if mentioning else ""
        sentence = (
            f"**No sign found of** {quoted}: looked for {topic.looked_for}{who} and found none. "
            f"This holds only for what the log records.{known}"
        )
    else:
        return None
    return Particular(clause=clause, sentence=sentence, state=ClauseState.ANSWERED)


def _mentioned(
    clause: Clause, matching: Sequence[AnyFinding], names: Sequence[str], lines: Mapping[str, str]
) -> Particular:
    """That a finding mentions an address does not say what was asked about it."""
    listed = ", ".join(code_span(name, limit=80) for name in names[:NAMED])
    is_nobody = _PERSON.match(clause.english) is not None and not any(
        columns(one).get(key) for one in matching if one.kind not in SUMMARIES for key in _ACCOUNT_COLUMNS
    )
    if (_FIGURE.search(clause.english) or is_nobody) and not clause.is_yes_no:
        reason = "no finding states it"
        quoted, counted = code_span(clause.text, limit=CLAUSE_CHARS), plural(len(matching), "finding")
        return Particular(
            clause=clause,
            sentence=f"**Cannot tell** {quoted}: {reason}. {counted} about {listed}: {_listed(matching)}.",
            state=ClauseState.CANNOT_TELL,
            reason=reason,
            is_mention=True,
        )
    lead = "**Possibly:**" if clause.is_yes_no else "**Found:**"
    if clause.is_yes_no and not any(finding.severity in NOTABLE for finding in matching):
        lead = f"**Cannot tell** {code_span(clause.text, limit=CLAUSE_CHARS)}: no finding says so."
    state = ClauseState.PARTLY_ANSWERED if clause.is_yes_no else ClauseState.ANSWERED
    reason = "the findings mention it, but may not answer the question" if clause.is_yes_no else ""
    sentence = f"{lead} {plural(len(matching), 'finding')} about {listed}: {_listed(matching)}."
    if all(finding.severity is Severity.INFO for finding in matching):
        sentence += "".join(f" Of the text, {escape(lines[name])}." for name in names[:NAMED] if name in lines)
    return Particular(
        clause=clause,
        sentence=sentence + _times(clause, matching),
        state=state,
        reason=reason,
        is_mention=True,
    )


_FIGURE = re.compile(r"\bhow (?:long|many|much|often|big|far)\b|\bwhy\b", re.IGNORECASE)
_PERSON = re.compile(
    r"\A\W*(?:and )?(?:who|whose|whom|(?:which|what) (?:\w+ )?(?:user|account|person|employee|owner)s?)\b",
    re.IGNORECASE,
)
"""Asks for something that a finding which mentions a name does not tell by that."""


def _times(clause: Clause, matching: Sequence[AnyFinding]) -> str:
    """The first and the last moment of findings, if a clause asks when."""
    if not _WHEN.search(clause.english):
        return ""
    held = [columns(finding) for finding in matching]
    moments = [str(one[key]) for one in held for key in ("first", "last", "time") if one.get(key)]
    if not moments:
        return ""
    first, last = (_spoken(moment) for moment in (min(moments), max(moments)))
    return f" First seen {first}, last {last}."


def _spoken(moment: str) -> str:
    return moment.removeprefix("--").replace("T", " ")


def _looks_for(rule: Rule, stemmed: frozenset[str], named: frozenset[str]) -> bool:
    """Whether a rule is about the words and their object: a rule about wiped disks does not find a wiped log."""
    text = f"{rule.title} {rule.description}"
    return _is_about(text, stemmed) and (not named or any(word in text.lower() for word in named))


def _unmatched(rules: Sequence[str], quoted: str, events: str) -> str:
    """What was looked for and not found: no "no", because rules know some forms of it and a log may not record it."""
    listed = ", ".join(code_span(title, limit=80) for title in rules[:NAMED]) + (", …" if len(rules) > NAMED else "")
    looking = f"{plural(len(rules), 'rule')} {'looks' if len(rules) == 1 else 'look'}"
    return (
        f"**Cannot tell** {quoted}: {looking} for it ({listed}) and matched nothing in {events}, but "
        "rules do not cover every form of it, and the log may not record it."
    )


def _lead(clause: Clause, matching: Sequence[AnyFinding]) -> str:
    if not clause.is_yes_no or is_negated(clause.text):
        return "**Found:**"
    return "**Mentioned:**" if all(finding.severity is Severity.INFO for finding in matching) else "**Yes:**"


def _listed(findings: Sequence[AnyFinding]) -> str:
    """The worst findings by title and severity."""
    ranked = list(worst_first(findings))
    single = [one for one in ranked if one.kind not in SUMMARIES]  # the others say the same in sum
    titles = dict.fromkeys(
        f"{code_span(finding.title, limit=120)} ({finding.severity.value})" for finding in single or ranked
    )
    more = f"; {len(titles) - NAMED:,} more" if len(titles) > NAMED else ""
    return "; ".join(list(titles)[:NAMED]) + more


def _shown(findings: Sequence[AnyFinding]) -> str:
    """The evidence of the worst of a few findings: a title alone does not say who, what or from where."""
    single = [one for one in worst_first(findings) if one.kind not in SUMMARIES and one.evidence]
    excerpts = dict.fromkeys(code_span(one.evidence[0].excerpt, limit=EXCERPT_CHARS) for one in single[:NAMED])
    return f" Evidence: {'; '.join(excerpts)}." if excerpts else ""


EXCERPT_CHARS = 400
_SERIES = "activity_by_source"
_HOST = "host_artefacts"
_OF_QUESTION = kind_of(HostSummary)  # holds words of the question, which say nothing about the evidence
_SUMS = SUMMARIES | {_OF_QUESTION, kind_of(Timeline)}
"""Kinds whose texts are names of columns and the like, which answer nothing."""


def _matching(findings: Sequence[AnyFinding], stemmed: frozenset[str], words: Sequence[str]) -> Sequence[AnyFinding]:
    """The findings whose titles and reasons have most of the words; else those whose evidence has all of them."""
    titled = collected(
        finding
        for finding in findings
        for techniques in [" ".join(map(attack_name, finding.techniques))]
        if finding.kind != _OF_QUESTION and _is_about(f"{finding.title} {finding.why} {techniques}", stemmed)
    )
    if titled or not words:
        return titled
    return collected(one for one in findings if one.kind not in _SUMS and _mentions_all(one, words))


def _texts(finding: AnyFinding) -> list[str]:
    """The texts in which a name is looked for; not the series of a chart, which name all sources of a log."""
    values = [str(value).lower() for name, value in columns(finding).items() if name != _SERIES]
    return [finding.title.lower(), *values, *(evidence.excerpt.lower() for evidence in finding.evidence)]


def _mentions_any(finding: AnyFinding, names: Sequence[str]) -> bool:
    texts = _texts(finding) if names else []
    return any(_mentions(text, name.lower()) for name in names for text in texts)


def _mentions_all(finding: AnyFinding, words: Sequence[str]) -> bool:
    texts = _texts(finding)
    return all(any(_mentions(text, word) for text in texts) for word in words)


def _mentions(text: str, name: str) -> bool:
    before = r"\w-" if DOMAIN.fullmatch(name) else r"\w.-"  # the names below a domain are of it, too
    return re.search(rf"(?<![{before}]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _is_about(text: str, stemmed: frozenset[str]) -> bool:
    return bool(stemmed) and len(stemmed & stems(text)) >= MIN_SHARE * len(stemmed)
