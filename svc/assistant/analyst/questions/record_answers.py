"""Answer a question about the records of a log from those that it is about: values, counts, times, outcomes. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from svc.assistant.analyst.questions.record_questions import (
    AMOUNT,
    AT_HOST,
    COMES_IN,
    COUNT,
    DURATION,
    EXTERNAL,
    LISTS,
    OUTCOME_LET,
    OUTCOME_STOPPED,
    WHEN,
    asks_outcome,
    asks_success,
    columns_of,
    measured_by,
    record_question,
    without_tail,
)
from svc.assistant.analyst.questions.states import asks_to_whom, is_polar
from svc.assistant.findings import AnyFinding, Finding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import AskedRecords, LargestRecord, RecordValue
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.skills.indicators.patterns import scope_of
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

SHOWN = 6
EXCERPT_CHARS = 200
_WHO_IS = re.compile(r"\W*who(?:'s| is| was)\b", re.IGNORECASE)
_NAME = re.compile(r"[\d.@\\/:_$-]")
_RUN_COUNT = re.compile(r"run[ _]?count", re.IGNORECASE)
_SECONDS = re.compile(r"(?:duration|elapsed)", re.IGNORECASE)
_INTERNAL = re.compile(r"\b(?:internal|private)\b", re.IGNORECASE)


def record_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence that answers a clause from the records that it is about, and whether all its words are in them.

    None if no log has such records, or if they do not tell what is asked.
    """
    held = list(with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords))
    mine = [one for one in held if one.facts.clause == clause and one.facts.count]
    if not mine:
        return _no_such_outcome(clause, [one.facts for one in held if one.facts.clause == clause])
    if both := _no_record_has_both(clause, mine):
        return both, True
    most = max(len(one.facts.words) for one in mine)
    told = [(one, _told(clause, one)) for one in mine if len(one.facts.words) == most]
    told = [(one, text) for one, text in told if text]
    if not told:
        return None
    missing = [word for word in told[0][0].facts.absent if word]
    is_whole = not missing
    if any(_NAME.search(word) for word in missing):
        return None  # a value that is in none of the records: the others do not answer the question
    if missing and is_polar(clause) and asks_outcome(clause) and told[0][0].facts.words:
        return _in_part(clause, told[0][0], missing)
    if not told[0][0].facts.words and missing:
        return _without_words(clause, told[0][0], missing)
    return " ".join(text for _, text in told[:3]), is_whole


def absent_columns(clause: str, findings: Sequence[AnyFinding]) -> str:
    """That no record has a column with what a clause asks for; "" if one has, or if it asks for no column."""
    asked = record_question(clause)
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one.facts for one in held if one.facts.clause == clause]
    if asked is None or not asked.columns or asked.is_mention or is_polar(clause) or not LISTS.search(clause):
        return ""
    if asked.outcome:
        return ""  # of the records themselves, whatever columns they have
    if not mine or any(value.what != AT_HOST for one in mine for value in one.values):
        return ""
    if any(asks.search(clause) for asks in (COUNT, AMOUNT, DURATION, WHEN)) or measured_by(clause):
        return ""
    wanted = " or ".join(list(asked.columns)[:2])
    count = sum(one.count for one in mine)
    if any(_says_in_text(one, list(asked.columns)) for one in held if one.facts.clause == clause):
        return ""
    words = [word for one in mine for word in one.words]
    hosts = dict.fromkeys(_value(value.value) for one in mine for value in one.values if value.what == AT_HOST)
    host = f" They name the host {', '.join(list(hosts)[:3])}." if hosts else ""
    those = f" with {', '.join(map(_value, dict.fromkeys(words)))}" if words else ""
    which = f"none of the {count:,} records{those} states" if count != 1 else f"the only record{those} does not state"
    return f"**Cannot tell** {code_span(clause, limit=160)}: {which} a value for {escape(wanted)}.{host}"


def _says_in_text(found: Finding[AskedRecords], wanted: Sequence[str]) -> bool:
    """Whether the text of a record has the word for a column that it lacks: a message may state what no column does."""
    texts = " ".join(one.excerpt for one in found.evidence).lower()
    return any(re.search(rf"\b{re.escape(what)}\b", texts) for what in wanted if what not in _PLAIN_COLUMNS)


def _no_such_outcome(clause: str, asked: Sequence[AskedRecords]) -> tuple[str, bool] | None:
    """That no record has the outcome that a clause asks for; None if it asks for none."""
    mine = [one for one in asked if one.outcome]
    if not mine:
        return None
    total = plural(sum(one.total for one in mine), "record")
    stated = ", ".join(f"{value.count:,} {escape(value.what)}" for one in mine for value in one.outcomes)
    if not stated:
        return f"**Cannot tell** {code_span(clause, limit=160)}: none of the {total} states an outcome.", True
    return f"**None** of the {total} is {escape(mine[0].outcome)}; stated are {stated}.", True


def _in_part(clause: str, found: Finding[AskedRecords], missing: Sequence[str]) -> tuple[str, bool]:
    """What the records say of some of the words of a yes/no question: neither yes nor no."""
    words = ", ".join(map(_value, missing[:3]))
    outcomes = f": {_outcomes(found.facts)}" if found.facts.outcomes else ""
    text = f"**Cannot tell** {code_span(clause, limit=160)}: no record contains {words}."
    return f"{text} Found: {plural(found.facts.count, 'record')}{outcomes} ({_about(found)}).", False


def _no_record_has_both(clause: str, found: Sequence[Finding[AskedRecords]]) -> str:
    """That none has two of the values of a yes/no question at once, with how many have each."""
    if not is_polar(clause) or not all(one.facts.is_any for one in found):
        return ""
    words = list(dict.fromkeys(word for one in found for word in one.facts.words))
    absent = {word for one in found for word in one.facts.absent}
    subject = re.match(r"\W*(?:did|does|has|had) ([\w.@\\-]+)", clause, re.IGNORECASE)
    is_of_subject = subject is not None and subject[1].lower() in words
    is_named = any(map(_NAME.search, words)) or asks_outcome(clause) or is_of_subject
    if len(words) != 2 or any(map(_NAME.search, absent)) or not is_named or _SEQUENCE.search(clause):
        return ""
    total = sum(one.facts.total for one in found)
    return (
        f"**No record has both** {_value(words[0])} and {_value(words[1])}, of {plural(total, 'record')} read; "
        f"{sum(one.facts.count for one in found):,} have one of them ({place_words(found[0].evidence[0])})."
    )


_SEQUENCE = re.compile(r"\b(?:before|after|first|last|since|until|then)\b", re.IGNORECASE)
"""Two things one after the other are in two records."""


def targets_of(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The accounts to which something was done, by the records that a clause is about; "" if these name none."""
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one for one in held if one.facts.clause == clause]
    named = [value for one in mine for value in one.facts.values if value.what == "target account"]
    return _listed(named) if named and all(one.facts.words for one in mine) else ""


def mentions_of(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The records with the words of a yes/no question that nothing else answers; "" if too few words are in any."""
    if not is_polar(clause):
        return ""
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one for one in held if one.facts.clause == clause and one.facts.count and one.facts.words]
    told = [one for one in mine if len(one.facts.words) >= MIN_WORDS * (len(one.facts.words) + len(one.facts.absent))]
    return " ".join(map(_mention, told[:3]))


MIN_WORDS = 0.6  # of the words of a clause must be in records that are mentioned as possibly what it asks for


def _mention(found: Finding[AskedRecords]) -> str:
    facts = found.facts
    words = ", ".join(map(_value, facts.words))
    excerpts = "; ".join(code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS) for one in found.evidence[:2])
    outcomes = f" ({_outcomes(facts)})" if facts.outcomes else ""
    place = f", {place_words(found.evidence[0])}" if found.evidence else ""
    return f"{facts.count:,} of {plural(facts.total, 'record')} with {words}{outcomes}{place}: {excerpts}."


_PLAIN_COLUMNS = frozenset({"account", "source", "destination", "signature", "port", "action", "host", "client"})


def _without_words(clause: str, found: Finding[AskedRecords], missing: Sequence[str]) -> tuple[str, bool] | None:
    """All values of a particular column, if no record has the words of the question, which may be verbs."""
    particular = [one for one in found.facts.values if one.what not in _PLAIN_COLUMNS]
    if not particular or WHEN.search(clause) or not (text := _values(clause, found)):
        return None
    words = ", ".join(map(_value, missing[:3]))
    lead = f"**Cannot tell** {code_span(clause, limit=160)}: no record contains {words}"
    return f"{lead}. All records: {text.replace('**', '')}", False


def _told(clause: str, found: Finding[AskedRecords]) -> str:
    if (EXTERNAL.search(clause) or COMES_IN.search(clause)) and not any(
        one.what == "internal address" for one in found.facts.values
    ):
        return _by_side(clause, found)
    for is_asked, answer in (
        (measured_by(clause) or (found.facts.largest and _is_of_one(clause)), _largest),
        (DURATION.search(clause), _duration), (AMOUNT.search(clause), _amount),
        (COUNT.search(clause), _count),
        (asks_outcome(clause) and not _WHICH.match(clause), _outcome), (WHEN.search(clause), _when),
    ):  # fmt: skip
        if is_asked and (text := answer(clause, found)):
            return text + _named_too(clause, found, text)
        if is_asked and answer in (_largest, _duration, _amount, _outcome):
            return ""
    return _values(clause, found)


_TOO = re.compile(
    r"\b(?:and|,) (?:(?:by|on|with|from|to|as|in|via|over|under) )?(?:which|what|who\w*|where)\b(.*)", re.IGNORECASE
)


def _named_too(clause: str, found: Finding[AskedRecords], text: str) -> str:
    """The values that a clause asks for beside a figure: "how many crits and on which box"."""
    if (match := _TOO.search(clause)) is None:
        return ""
    columns = set(columns_of(match[0]))
    if columns and not columns & {one.what for one in found.facts.values} and found.evidence:
        return f" {code_span(defang_text(found.evidence[0].excerpt), limit=EXCERPT_CHARS)}."
    told = [one for one in found.facts.values if one.what in columns and one.what != AT_HOST]
    named = [one for one in told if _value(one.value) not in text]
    parts = [
        f"{what}: {_listed([one for one in named if one.what == what])}"
        for what in dict.fromkeys(one.what for one in named)
    ]
    return f" **{'; '.join(parts)}.**" if parts else ""


def _is_of_one(clause: str) -> bool:
    """Whether a clause with a pronoun asks more about the largest record that the clause before it asked for."""
    return bool(DURATION.search(clause) or WHEN.search(clause) or _WHICH.match(clause))


_WHICH = re.compile(r"\W*(?:(?:and|so) )?(?:which|what|who|whose|list|show)\b", re.IGNORECASE)


def _values(clause: str, found: Finding[AskedRecords]) -> str:
    """The values of the columns that the question asks for."""
    facts = found.facts
    if not is_polar(clause) and all(one.what == AT_HOST for one in facts.values) and facts.outcome:
        return _whole_records(found)
    if is_polar(clause) or all(one.what == AT_HOST for one in facts.values):
        return ""
    parts = []
    is_passive = asks_to_whom(clause)
    names = {one.what for one in facts.values} - ({"account", "source"} if is_passive else set()) - {AT_HOST}
    for what in dict.fromkeys(one.what for one in facts.values):
        mine = [one for one in facts.values if one.what == what]
        if what not in names:
            continue
        parts.append(f"{what}: {_listed(mine)}")
    if not parts:
        return ""
    when = f" {_span(facts)}." if WHEN.search(clause) else ""
    missing = _unstated(clause, facts)
    if missing and (first := _FIRST_ASKED.match(clause)) is not None:
        subject = columns_of(first[0])
        if subject and not {one.what for one in facts.values} & set(subject):
            lead = (
                f"**Cannot tell** {code_span(clause, limit=160)}: {missing.strip()[:1].lower()}{missing.strip()[1:-1]}"
            )
            return f"{lead} ({_about(found)}). What they state: {'; '.join(parts)}.{when}"
    is_named_alone = all(one.value.lower() in facts.words for one in facts.values)
    if missing and is_named_alone and (not _WHO_IS.match(clause) or _WHICH_PERSON.search(clause)):
        reason = f"{missing.strip()[:1].lower()}{missing.strip()[1:-1]}"
        return f"**Cannot tell** {code_span(clause, limit=160)}: {reason} ({_about(found)})."
    text = f"**{'; '.join(parts)}** ({_about(found)}).{when}{missing}{_not_limited(clause)}"
    return text if missing else text + _named_too(clause, found, text)


_WHICH_PERSON = re.compile(r"\b(?:which|what) (?:\w+ )?(?:user|account|person|employee)s?\b", re.IGNORECASE)
_FIRST_ASKED = re.compile(r"\W*(?:which|what) [\w-]+", re.IGNORECASE)


def _not_limited(clause: str) -> str:
    """That an answer holds for the whole time, if the question is about what came after something."""
    rest = clause[len(without_tail(clause)) :].strip(" ?.!")
    return f" Not limited to what came {escape(rest)}." if rest else ""


_PARTICULAR = ("account", "host", "country", "city", "group", "role", "hash")
_ASKS_WHO = re.compile(r"\bwho\b", re.IGNORECASE)


def _unstated(clause: str, facts: AskedRecords) -> str:
    """The sentence that the records do not state a column that a clause asks for beside others."""
    asked = record_question(clause)
    if asked is None or asks_outcome(clause) or not facts.words:
        return ""
    held = {one.what for one in facts.values}
    missing = [what for what in asked.columns if what in _PARTICULAR and what not in held]
    return f" None of these records states a value for {' or '.join(missing)}." if missing else ""


def _whole_records(found: Finding[AskedRecords]) -> str:
    """The records themselves, where no column that is known says which they are."""
    excerpts = "; ".join(code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS) for one in found.evidence)
    more = f" and {found.facts.count - len(found.evidence):,} more" if found.facts.count > len(found.evidence) else ""
    return f"**{plural(found.facts.count, 'record')}:** {excerpts}{more} ({_about(found)})."


def nobody_stated(clause: str, findings: Sequence[AnyFinding]) -> str:
    """That the records that a clause asks "who" about state no account; "" if one does, or if it does not ask so."""
    if not _ASKS_WHO.search(clause) or asks_to_whom(clause):
        return ""
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one for one in held if one.facts.clause == clause and one.facts.words and one.facts.count]
    if not mine or any(value.what == "account" for one in mine for value in one.facts.values):
        return ""
    return f"**Cannot tell** {code_span(clause, limit=160)}: no account is stated in {_about(mine[0])}."


def _listed(values: Sequence[RecordValue]) -> str:
    shown = "; ".join(
        f"{_value(one.value)}{f' ({one.count:,} times)' if one.count > 1 else ''}" for one in values[:SHOWN]
    )
    return f"{shown}{f' and {len(values) - SHOWN:,} more' if len(values) > SHOWN else ''}"


def _about(found: Finding[AskedRecords]) -> str:
    """Which records these are: ``2 of 4 records, those with `deploy`; line 3 of `cloudtrail.json` ``."""
    facts = found.facts
    between = " or " if facts.is_any else ", "
    which = f", those with {between.join(_value(word) for word in facts.words)}" if facts.words else ""
    place = f"; {place_words(found.evidence[0])}" if found.evidence else ""
    return f"{facts.count:,} of {plural(facts.total, 'record')}{which}{place}"


def _span(facts: AskedRecords) -> str:
    if not facts.first or not facts.last:
        return "No time is stated"
    zone = "UTC" if facts.first.endswith("Z") else "(zone not stated)"
    if facts.first == facts.last:
        return f"{time_words(facts.first)} {zone}"
    return f"First {time_words(facts.first)}, last {time_words(facts.last)} {zone}"


def _when(clause: str, found: Finding[AskedRecords]) -> str:
    facts = found.facts
    if not facts.first and not facts.times:
        return f"**Cannot tell when:** the records state no time ({_about(found)})."
    columns = ", ".join(f"{escape(one.column)} {_value(one.time)}" for one in facts.times)
    more = f" Its columns: {columns}." if columns and facts.count == 1 else ""
    values = _values(clause, found) if facts.values else ""
    if values:
        return values + more
    shown = ""
    if re.match(r"\W*(?:which|what|who)\b", clause, re.IGNORECASE) and found.evidence:
        shown = f" {code_span(defang_text(found.evidence[0].excerpt), limit=EXCERPT_CHARS)}."
    return f"**{_span(facts)}** ({_about(found)}).{more}{shown}"


def _count(clause: str, found: Finding[AskedRecords]) -> str:
    facts = found.facts
    counts = [one for one in facts.times if _RUN_COUNT.search(one.column)]
    if counts and facts.count == 1:
        return f"**{_value(counts[0].time)} times**, by the column {escape(counts[0].column)} ({_about(found)})."
    if counts:
        return ""
    outcome = f": {_outcomes(facts)}" if facts.outcomes and asks_outcome(clause) else ""
    noun = next((what for what, words in _COUNTED.items() if words.search(clause)), "")
    if _PER.search(clause) and (told := _values(clause, found)):
        return told
    if named := [one for one in facts.values if one.what == noun]:
        many = f"{len(named):,} different {noun}{'s' if len(named) != 1 else ''}"
        return f"**{many}** in {plural(facts.count, 'record')}{outcome}: {_listed(named)} ({_about(found)})."
    if _RUNS.search(clause) and _OF_RUNS.search(clause):
        count = plural(facts.count, "record")
        return f"**Cannot tell how often it ran:** {count} of it, but none states a count ({_about(found)})."
    told = _values(clause, found) if _WHICH.match(clause) and facts.values else ""
    return f"**{plural(facts.count, 'record')}**{outcome} ({_about(found)}).{f' {told}' if told else ''}"


_PER = re.compile(r"\b(?:per|by|for each|each|grouped by)\b", re.IGNORECASE)
_OF_RUNS = re.compile(r"\b(?:run|ran|runs|execut\w*|start\w*|launch\w*|open\w*|used?)\b", re.IGNORECASE)
_RUNS = re.compile(r"\b(?:how (?:many times|often)|run ?count)\b", re.IGNORECASE)
_COUNTED = {
    what: re.compile(rf"\bhow many (?:\w+ )?{words}\b", re.IGNORECASE)
    for what, words in (
        ("domain", r"(?:domains|sites|quer(?:y|ies)|lookups|hostnames)"), ("account", "(?:users|accounts|people|ppl)"),
        ("host", "(?:hosts|machines|computers|devices|boxes)"), ("source", "(?:ips|sources|addresses|attackers)"),
        ("file", "(?:files|documents|objects)"), ("bucket", "buckets"), ("country", "countries"),
    )
}  # fmt: skip


def _largest(clause: str, found: Finding[AskedRecords]) -> str:
    """The record with the most, and who had the most in sum."""
    facts = found.facts
    if not facts.largest:
        return ""
    unit = "seconds" if measured_by(clause) == "seconds" else "bytes"
    first = facts.largest[0]
    ends = f"{_end('from', first.source)}{_end('to', first.destination)}{_end('by', first.account)}"
    when = f", {time_words(first.time)}" if first.time else ""
    place = f"; {place_words(found.evidence[0])}" if found.evidence else ""
    next_ = f" Next: {_amounts(facts.largest[1:])}." if facts.largest[1:] else ""
    lasting = ""
    if first.seconds is not None and unit == "bytes":
        lasting = f", lasting {plural(first.seconds, 'second')}"
    also = "".join(
        f", {one.what} {_value(one.value)}"
        for one in first.values
        if one.what not in ("source", "destination", "account")
    )
    lead = f"**{first.amount:,} {unit}{ends}{also}{lasting}**{when} ({escape(first.columns)}{place})"
    sums = f" In sum by source: {_sums(facts, unit)}." if len(facts.by_source) > 1 or facts.count > 1 else ""
    return f"{lead}, the largest of {plural(facts.count, 'record')}.{next_}{sums}"


def _end(word: str, value: str) -> str:
    return f" {word} {_value(value)}" if value else ""


def _amounts(records: Sequence[LargestRecord]) -> str:
    return "; ".join(f"{one.amount:,}{_end('from', one.source)}{_end('to', one.destination)}" for one in records)


def _sums(facts: AskedRecords, unit: str) -> str:
    return "; ".join(f"{_value(one.value)} {one.count:,} {unit}" for one in facts.by_source[:3])


def _amount(_clause: str, found: Finding[AskedRecords]) -> str:
    facts = found.facts
    if facts.largest and (sent := [one for one in facts.by_source if _is_named(one.value, facts.words)]):
        listed = "; ".join(f"{_value(one.value)} {plural(one.count, 'byte')}" for one in sent)
        return f"**Sent: {listed}** ({escape(facts.largest[0].columns)}; {_about(found)})."
    sums = [one for one in found.facts.amounts if not _SECONDS.search(one.value)]
    if not sums:
        return ""
    listed = "; ".join(f"{escape(one.value)} {one.count:,}" for one in sums[:4])
    who = [one for one in found.facts.values if one.what in ("source", "destination", "account")]
    names = f" ({', '.join(f'{one.what} {_value(one.value)}' for one in who[:4])})" if who else ""
    return f"**Bytes: {listed}**{names} ({_about(found)})."


def _is_named(address: str, words: Sequence[str]) -> bool:
    """Whether words name an address, in full or by its last number: ".12"."""
    return any(address.lower() == word or (word.isdigit() and address.endswith(f".{word}")) for word in words)


def _duration(clause: str, found: Finding[AskedRecords]) -> str:
    stated = [one for one in found.facts.amounts if _SECONDS.search(one.value) and one.count]
    if not stated:
        facts = found.facts
        if not facts.first:
            return ""
        lead = f"**Cannot tell** {code_span(clause, limit=160)}: no record states a duration"
        return f"{lead}. Records: {_span(facts)[:1].lower()}{_span(facts)[1:]} ({_about(found)})."
    seconds = stated[0].count
    return f"**{seconds:,} seconds ({seconds / 3_600:.1f} hours)**, by {escape(stated[0].value)} ({_about(found)})."


def _outcome(clause: str, found: Finding[AskedRecords]) -> str:
    """Whether the records say that it was allowed or blocked."""
    facts = found.facts
    states = Counter[str]()
    for one in facts.outcomes:
        states[one.what] += one.count
    if not states:
        return ""
    both = len(states) > 1
    lead = ""
    is_yes_no = is_polar(clause)
    stopped = OUTCOME_STOPPED.search(clause) is not None
    if is_yes_no and not (stopped and (OUTCOME_LET.search(clause) or asks_success(clause))):
        wanted = "blocked" if stopped else "allowed"
        both = both and states.keys() != {"blocked", "failed"}
        lead = ("Yes: " if asks_success(clause) else "In part: ") if both else "Yes: " if wanted in states else "No: "
    ends = [one for one in facts.values if one.what in ("account", "signature", "source", "destination", "port")]
    about = "; ".join(f"{one.what} {_value(one.value)}" for one in ends[:4])
    words = _SUCCESS_WORDS if asks_success(clause) and not stopped else {}
    return f"**{lead}{_outcomes(facts, words)}**{f' ({about})' if about else ''}, {_about(found)}."


_SUCCESS_WORDS = {"allowed": "succeeded", "blocked": "refused or failed", "failed": "failed"}


def _outcomes(facts: AskedRecords, words: Mapping[str, str] = {}) -> str:
    ranked = sorted(facts.outcomes, key=lambda one: one.what) if words else facts.outcomes
    return ", ".join(f"{one.count:,} {words.get(one.what, one.what)} ({_value(one.value)})" for one in ranked[:4])


def _by_side(clause: str, found: Finding[AskedRecords]) -> str:
    """Which of the addresses are of the Internet, or which are not."""
    wants_public = _INTERNAL.search(clause) is None
    comes_in = COMES_IN.search(clause) is not None
    named = [one for one in found.facts.values if one.what in ("source", "destination")]
    if re.search(r"\b(?:dsts?|destinations?|targets?)\b", clause, re.IGNORECASE):
        named = [one for one in named if one.what == "destination"]
    named = [one for one in named if one.what == "source"] if comes_in else named
    addresses = [one for one in named if is_public(one.value) is wants_public]
    kept = [one for one in named if is_public(one.value) is not None]
    if not kept:
        return ""
    sort = "external" if wants_public else "internal"
    if not addresses:
        return f"**None:** all {plural(len(kept), 'address', 'addresses')} are {'in' if wants_public else 'ex'}ternal."
    if comes_in:
        return f"**{'Yes: ' if is_polar(clause) else ''}from {_listed(addresses)}** ({_about(found)})."
    return f"**{plural(len(addresses), f'{sort} address', f'{sort} addresses')}:** {_listed(addresses)}."


def is_public(value: str) -> bool | None:
    """None if it is no address."""
    try:
        return scope_of(value) in ("public", "documentation")
    except ValueError:
        return None


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=120)
