"""Decide what a prompt means in its session: a politeness, a question of its own, or one about what is known. Pure.

What is in the question comes first (pasted text, a technique, a CVE), then what it names, then the session's files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from svc.assistant.analyst import follow_up as history
from svc.assistant.analyst.clause_words import content_words
from svc.assistant.analyst.clauses import pieces_of
from svc.assistant.analyst.follow_up import FollowUpKind
from svc.assistant.analyst.follow_ups.exploited import exploited_reply
from svc.assistant.analyst.follow_ups.known import Known, contract_of_exchange
from svc.assistant.analyst.follow_ups.plain import plain_reply
from svc.assistant.analyst.follow_ups.reading import MAX_CHARS, Ask, AskKind, glossed, read_ask
from svc.assistant.analyst.follow_ups.replies import filtered_reply, items_of, reply_to, verdicts
from svc.assistant.analyst.follow_ups.scene import Scene, ShortAnswer
from svc.assistant.analyst.follow_ups.wording import value_words
from svc.assistant.analyst.languages import glossed as glossed_task
from svc.assistant.analyst.matching import FILE_WORDS, GENERAL
from svc.assistant.analyst.plan import has_paste as has_pasted_text
from svc.assistant.analyst.plan import question_of, read_question
from svc.assistant.analyst.questions.states import asks_state, is_polar
from svc.assistant.analyst.questions.things import NOUNS, SUMMARIES, Noun, named_as, things_in, things_of
from svc.assistant.findings import AnyFinding, Severity
from svc.assistant.spool import worst_first
from svc.assistant.turn import Exchange
from svc.messages import AnswerStatus
from svc.untrusted.markup import code_span

MAX_LOOKUP_CHARS = 200
MAX_GENERAL = 2_000  # findings whose titles may name a subject
MAX_QUOTED_CHARS = 200_000
MIN_LINE_CHARS = 12  # of a pasted line that shows whose answer it is
QUOTED_SHARE = 0.5  # of the pasted lines
EXAMPLES = 2
_IDENTIFIER = (
    r"(?:T\d{4}(?:\.\d{3})?|TA\d{4}|CWE-\d{1,5}|CVE-\d{4}-\d{4,7}|CAPEC-\d{1,4}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}"
    r"|[0-9a-f]{128}|CVSS:[34]\.[01]/[A-Z:/]{20,120}|AV:[NALP]/[A-Z:/]{10,80})"
)
_ONE_ID = re.compile(rf"(?<![\w.-]){_IDENTIFIER}(?![\w-]|\.\d)", re.IGNORECASE)
_ABOUT_FILES = re.compile(
    r"\b(?:in|from|of|by|with) (?:it|there|here|this|that|them|these|those|the|my|our|any)\b|\bhere\b|\bthese\b"
    r"|\bthose\b|\b(?:log|file|capture|"
    r"report|evidence|archive|findings?)s?\b|\b(?:seen|found|matched|detected|happened?|appears?|occurs?"
    r"|mention\w*|show\w*|used|"
    r"events?|lines?|hosts?|accounts?|many|when|who|only)\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:again|redo|re-?run|re-?read|re-?analy[sz]e|start over|from scratch|once more)\b"
    r"|\b(?:full|whole|complete|entire|long|detailed) (?:report|answer|analysis|version)\b|\banaly[sz]e (?:it|the"
    r"|this|all|every)",
    re.IGNORECASE,
)


_ASKS_ONE_THING = re.compile(
    r"\A\W*(?:and )?(?:who|whose|which|where|what (?!did|does|about|is|was|happen)\w+)\b", re.IGNORECASE
)


def same_question(prompt: str, earlier: Sequence[Exchange]) -> bool:
    """Whether a report was asked for before with the same words, or the whole answer is asked for again."""
    words = _words_of(prompt)
    return _AGAIN.search(prompt[:MAX_CHARS]) is not None or any(
        _words_of(one.prompt) == words and contract_of_exchange(one) is not None for one in earlier
    )


def _words_of(prompt: str) -> str:
    return " ".join(prompt.split()).lower()


def quoted_answer(prompt: str, earlier: Sequence[Exchange]) -> Exchange | None:
    """The earlier turn whose answer is pasted in a prompt ("explain this output: …"); None if there is none."""
    lines = {bare for line in prompt[:MAX_QUOTED_CHARS].splitlines() if len(bare := _bare(line)) >= MIN_LINE_CHARS}
    for exchange in reversed(earlier):
        answer = {_bare(line) for line in exchange.answer.splitlines()}
        if len(lines & answer) >= max(1, QUOTED_SHARE * len(lines)) and lines:
            return exchange
    return None


def _bare(line: str) -> str:
    """A line without what a renderer drops or adds."""
    return re.sub(r"[\W_]+", "", line).lower()


def is_alone(prompt: str, language: str, *, has_new_files: bool) -> bool:
    """Whether a prompt is about itself: it looks up an identifier, or brings the text that it asks about.

    Text that comes together with new files may be about them.
    """
    question = read_question(prompt, (), language=language)
    if is_lookup(question.text, language):
        return True
    return not has_new_files and has_pasted_text(question) and FILE_WORDS.search(question.text) is None


def is_lookup(question: str, language: str = "en") -> bool:
    """Whether a question looks up a technique, a weakness, a CVE, a hash or a vector, not whether evidence has it."""
    if len(question) > MAX_LOOKUP_CHARS:
        return False
    rest, found = _ONE_ID.subn(" ", question)
    return bool(found) and _ABOUT_FILES.search(f"{rest} {glossed_task(rest, language).removeprefix(rest)}") is None


def is_general(question: str, language: str, known: Known) -> bool:
    """Whether a question is about a subject ("what is kerberoasting?") that the findings do not name."""
    words = content_words(question)
    if not words or _ABOUT_FILES.search(question) or not GENERAL.search(glossed_task(question, language)):
        return False
    texts = "\n".join(f"{one.title}\n{one.why}" for one in known.findings[:MAX_GENERAL]).lower()
    return not all(word in texts for word in words)


def as_lookup(prompt: str) -> str:
    """A prompt that holds an identifier alone ("and CVE-2021-44228?") as the question what it is."""
    found = [match[0] for match in _ONE_ID.finditer(prompt[:MAX_LOOKUP_CHARS])]
    rest = _ONE_ID.sub(" ", prompt)
    if not found or len(prompt) > MAX_LOOKUP_CHARS or content_words(rest) or is_interrogative(rest):
        return prompt
    return f"what is {' and '.join(found)}?"


def is_interrogative(text: str) -> bool:
    """Whether a text has a word that asks."""
    return re.search(r"\b(?:what|which|how|why|who|when|where|is|are|does|can|map)\b", text, re.IGNORECASE) is not None


class Way(StrEnum):
    """How a further question is answered."""

    REPLY = "reply"
    """From what is known; or after a search of the files."""
    WINDOW = "window"
    """By reading the logs again for a time of day."""
    PLAN = "plan"
    """Its words name something else: the plan decides."""
    ALONE = "alone"
    """It asks about a subject, whatever the evidence holds."""
    TASK = "task"
    """It names a tool that has not read the evidence yet."""
    RECORDS = "records"
    """It asks for records of a log, which is read again for them."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How a question is answered: the reply, or what to do for it."""

    way: Way
    reply: ShortAnswer | None = None
    ask: Ask | None = None


def course_of(question: str, language: str, known: Known, earlier: Sequence[Exchange]) -> Course:
    """Return how a further question is answered.

    Args:
        question: Without pasted text and words about the format.
        language: The question's.
        known: What the session knows.
        earlier: The session's earlier turns, oldest first.
    """
    if (joined := joined_reply(question, language, known)) is not None:
        return Course(way=Way.REPLY, reply=joined)
    if (exploited := exploited_reply(question, Scene(known=known))) is not None:
        return Course(way=Way.REPLY, reply=exploited)
    if asks_state(question):
        return Course(way=Way.PLAN)
    if (plain := plain_reply(question, Scene(known=known))) is not None:
        return Course(way=Way.REPLY, reply=plain)
    ask = _resolved(question, language, known, earlier)
    if ask is not None and ask.kind is AskKind.WINDOW:
        return Course(way=Way.WINDOW, ask=ask)
    refers_back = history.refers_back(glossed(question, language))
    may_keep = refers_back or (ask is None and not is_interrogative(question) and not is_polar(question))
    if may_keep and (kept := _kept(question, language, known, earlier)) is not None:
        return Course(way=Way.REPLY, reply=kept)
    if ask is not None and ask.kind is AskKind.ABOUT and (is_polar(question) or _ASKS_ONE_THING.match(question)):
        return Course(way=Way.PLAN)  # what is known about a name does not answer what is asked about it
    if isinstance(ask, Ask):
        return Course(way=Way.REPLY, reply=reply_to(ask, Scene(known=known)), ask=ask)
    if _is_ordinal(question, language, known):
        nth = _nth_finding(question, language, known)
        return Course(way=Way.REPLY, reply=nth)
    return Course(way=Way.PLAN)


def joined_reply(question: str, language: str, known: Known) -> ShortAnswer | None:
    """The answers to the parts of a question that asks several things; None if it does not, or a part is not clear."""
    pieces = [question[start:stop] for start, stop in pieces_of(question)]
    asks = [_read(piece, language, known) for piece in pieces] if 1 < len(pieces) <= MAX_PARTS else []
    whole = [ask for ask in asks if ask is not None and ask.kind not in _DEPENDENT]
    if not asks or len(whole) < len(asks) or len({(ask.kind, ask.names) for ask in whole}) < len(whole):
        return None
    replies = [reply_to(ask, Scene(known=known)) for ask in whole]
    if any(reply.search for reply in replies):
        return None
    states = {reply.status for reply in replies}
    return ShortAnswer(
        markdown="\n\n".join(reply.markdown for reply in replies),
        findings=list({id(one): one for reply in replies for one in reply.findings}.values()),
        status=states.pop() if len(states) == 1 else AnswerStatus.PARTLY_ANSWERED,
    )


MAX_PARTS = 3
_DEPENDENT = (AskKind.SAME, AskKind.ORDINAL, AskKind.WINDOW)


def _is_known(known: Known) -> frozenset[str]:
    """Every value of the findings in lower case, without domains."""
    values = set()
    for finding in known.findings:
        if finding.kind != "timeline":
            for thing in things_in(finding):
                values.add(thing.value.lower())
                values.add(re.split(r"[\\/]", thing.value.lower())[-1])
    return frozenset(values - _WORDS)


_WORDS = frozenset(
    [
        "password",
        "phishing",
        "fraud",
        "spam",
        "suspicious",
        "malicious",
        "ordinary",
        "publickey",
        "network",
        "console",
        "local",
        "remote",
        "unknown",
        "critical",
        "high",
        "medium",
        "low",
        "info",
        "file",
        "files",
        "get",
        "post",
        "head",
        "http",
        "https",
        "dns",
        "tcp",
        "udp",
        "tls",
        "ssh",
        "sshd",
        "other",
        "success",
        "failed",
        "fail",
        "pass",
        "text",
        "service",
        "user",
        "system",
        "admin-share",
        "first",
        "last",
        "more",
        "interactive",
        "failure",
        "client",
        "server",
        "source",
        "account",
        "login",
        "logon",
        "cron",
        "sudo",
        "security",
        "type",
        "none",
        "brute",
        "force",
        "scan",
        "ports",
        "hosts",
    ]
)


def _read(question: str, language: str, known: Known) -> Ask | None:
    values = _is_known(known)
    return read_ask(question, language, lambda word: word.lower() in values)


def _resolved(question: str, language: str, known: Known, earlier: Sequence[Exchange]) -> Ask | None:
    """What a question asks, with what it leaves to the question before it filled in."""
    ask = _read(question, language, known)
    if ask is None or ask.kind not in (AskKind.SAME, AskKind.ORDINAL):
        return ask
    before = _asked_before(language, known, earlier)
    if ask.kind is AskKind.ORDINAL:
        return _nth_item(ask, before, known)
    if not ask.names:
        noun = ask.noun_index
        return (
            None
            if noun is None
            else msgspec.structs.replace(ask, kind=AskKind.LIST, names=before.names if before else ())
        )
    repeats = before is not None and before.names and before.kind is not AskKind.COMPARE
    if before is None or not repeats:
        return msgspec.structs.replace(ask, kind=AskKind.ABOUT)
    return msgspec.structs.replace(before, names=ask.names, text=ask.text)


def _asked_before(language: str, known: Known, earlier: Sequence[Exchange]) -> Ask | None:
    """The last question that is complete by itself."""
    for exchange in reversed(earlier):
        question = question_of(exchange.prompt)
        if len(question) > MAX_CHARS:
            return None
        ask = _read(question, language, known)
        if ask is not None and ask.kind not in (AskKind.SAME, AskKind.ORDINAL):
            return ask
    return None


def _nth_item(ask: Ask, before: Ask | None, known: Known) -> Ask | None:
    """The question about the n-th thing of the list that was asked for; None if it was no list."""
    if before is None or before.noun is None or before.kind not in (AskKind.LIST, AskKind.HOW_MANY, AskKind.MOST):
        return None
    values = [value for value, _ in items_of(before.noun, known.findings, before.names)]
    index = ask.number - 1 if ask.number > 0 else ask.number
    if not -len(values) <= index < len(values):
        return None
    return msgspec.structs.replace(ask, kind=AskKind.ABOUT, names=(values[index],))


def _is_ordinal(question: str, language: str, known: Known) -> bool:
    ask = _read(question, language, known)
    return ask is not None and ask.kind is AskKind.ORDINAL


def _nth_finding(question: str, language: str, known: Known) -> ShortAnswer:
    """The n-th of the findings of the latest answer, in its order."""
    ask = _read(question, language, known)
    found = [one for one in worst_first(known.latest) if one.kind not in SUMMARIES]
    index = (ask.number - 1 if ask.number > 0 else ask.number) if ask is not None else 0
    if not -len(found) <= index < len(found):
        markdown = f"**Cannot tell** {code_span(question, limit=160)}: the last answer has {len(found):,} findings."
        return ShortAnswer(markdown=markdown, status=AnswerStatus.NOT_ANSWERED)
    return filtered_reply([found[index]], (), len(found))


def _kept(question: str, language: str, known: Known, earlier: Sequence[Exchange]) -> ShortAnswer | None:
    """The answer to a question that keeps some of the latest findings; None if it is no such question."""
    text = glossed(question, language)
    back = history.follow_up(text, earlier, known=known.latest)
    if back is None or back.kind not in (FollowUpKind.FILTER, FollowUpKind.COUNT) or back.options:
        return None
    if not back.conditions and back.limit is None and back.kind is not FollowUpKind.COUNT:
        return None
    kept: Sequence[AnyFinding] = history.filtered(text, known.latest)
    if not back.conditions and back.limit is None:
        return None
    if back.limit is not None:
        kept = list(worst_first(kept))[: back.limit]
    return filtered_reply(list(kept), back.conditions, len(known.latest))


def not_understood(question: str, known: Known, *, is_covered: bool = True) -> ShortAnswer:
    """What was not understood, the verdict on what was read, and what can be asked about it, with names that are in it.

    A question that yes or no answers is one, but not about anything that the tools look for (``is_covered``).
    """
    listed = ", ".join(code_span(name, limit=80) for name in known.names[:3])
    quoted = code_span(" ".join(question.split()), limit=120)
    lead = f"**Question not understood:** {quoted}."
    if not is_covered:
        lead = f"**Cannot tell** {quoted}: nothing that the tools look for in this evidence is about it."
    is_notable = any(one.severity is not Severity.INFO for one in known.findings)
    found = ["What was found so far:", *verdicts(known.findings)[:2]] if is_notable else []
    text = "\n\n".join([lead, *found, f"About {listed} you can ask: {'; '.join(examples(known))}."])
    return ShortAnswer(markdown=text, status=AnswerStatus.NOT_ANSWERED)


def examples(known: Known) -> list[str]:
    """Questions that can be asked, about things that are in the findings."""
    severe = [one for one in worst_first(known.findings) if one.severity is not Severity.INFO]
    found: list[tuple[Noun, str]] = []
    for noun in sorted(
        NOUNS, key=lambda one: _EXAMPLE_NOUNS.index(one.one) if one.one in _EXAMPLE_NOUNS else len(NOUNS)
    ):
        if noun.one in _EXAMPLE_NOUNS and len(found) < EXAMPLES:
            values = [*things_of(severe, noun), *things_of(known.findings, noun)]
            fresh = [value for value in values if not any(named_as(value, one) for _, one in found)]
            found += [(noun, fresh[0])] if fresh else []
    named = [
        f"“what did {value_words(value)} do?”" if noun.one in _ACTORS else f"“tell me about {value_words(value)}”"
        for noun, value in found[:2]
    ]
    lists = [f"“list the {noun.many}”" for noun, _ in found[:2]]
    return [*named, *lists, "“when did it start?”", "“what next?”"]


_ACTORS = ("account", "source", "address", "host")
_EXAMPLE_NOUNS = ("account", "source", "sender", "attachment", "link", "domain", "address", "host", "file", "rule")
