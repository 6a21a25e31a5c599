"""Complete a further question that leaves out what the question before it said: "and on the other host?". Pure.

Only what can be meant in one way is completed: a value takes the place of the only value of its sort in the question
before, or is added to a question that has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from svc.assistant.analyst.follow_ups.known import Known
from svc.assistant.analyst.follow_ups.pronouns import asks_for_deeds
from svc.assistant.analyst.plan import question_of
from svc.assistant.analyst.questions.things import things_in
from svc.assistant.turn import Exchange

MAX_CHARS = 200
MAX_FINDINGS = 5_000
_AND = re.compile(
    r"\A\W*(?:and|ok and|what about|how about|and what about|same (?:question )?(?:for|on)|also)\b,?\s*+"
    r"(?:(?P<prep>on|to|from|for|by|in|with|at|of)\s++)?(?:the |that )?"
    r"(?P<what>[\w.@:\\-]{1,80}(?: [\w.-]{1,40})?)\W*\Z",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\A(?:other|second|remaining) (?:one|(?P<host>hosts?|machines?|box|computers?|servers?)"
    r"|(?P<account>users?|accounts?)"
    r"|(?P<address>ips?|address(?:es)?|sources?))\Z",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:what|which|who|whom|where|when|how|did|was|were|is|are|does|do|any|list|show)\b", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}\Z")
_TOKEN = re.compile(r"[\w.@:\\-]++")
_FIELDS = {
    "host": frozenset({"host", "hosts", "computer", "device"}),
    "account": frozenset({"account", "accounts", "identity", "user", "users", "by_account.account", "by_user.user"}),
    "address": frozenset(
        {"source", "sources", "address", "client", "clients", "by_source.source", "destination", "addresses"}
    ),
}


def completed(question: str, known: Known, earlier: Sequence[Exchange]) -> str:
    """The question in full; unchanged if it leaves out nothing, or if what it leaves out is not clear."""
    if len(question) <= MAX_CHARS and (meant := _THAT.search(question)) is not None and earlier:
        return _with_meant(question, meant, known, earlier[-1])
    is_deed = asks_for_deeds(question)
    if len(question) <= MAX_CHARS and not is_deed and (meant := _pronoun(question, earlier)) is not None:
        return _with_meant(question, meant, known, earlier[-1])
    if earlier and _BARE.match(question):
        return _of_named(question, dict(_values(known)), earlier[-1])
    match = _AND.match(question)
    before = _question_before(earlier)
    if match is None or not before or len(question) > MAX_CHARS:
        return question
    values = dict(_values(known))
    what = match["what"].lower()
    if (other := _OTHER.match(what)) is not None:
        sort = next((name for name, held in other.groupdict().items() if held), "")
        return _with_other(question, before, values, sort)
    if " " in what:
        return question
    sort = _sort_of(what, values)
    if not sort:
        return question
    named = [word for word in _words(before) if _sort_of(word.lower(), values) == sort]
    if len(named) == 1:
        return re.sub(rf"(?<![\w.-]){re.escape(named[0])}(?![\w-])", lambda _: match["what"], before, count=1)
    if not named and match["prep"]:
        return f"{before.rstrip(' ?.!')} {match['prep']} {match['what']}?"
    return question


_THAT = re.compile(
    r"\b(?:that|this|the same) (?:(?P<address>ip(?: address)?|address|source)|(?P<account>user|account|person)"
    r"|(?P<host>host|machine|computer|server|box))\b(?! (?:is|was) )",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\A\W*(?:and )?(?:which|what) (?:users?|accounts?|hosts?|machines?|ips?|address(?:es)?|process(?:es)?|commands?"
    r"|files?|countr(?:y|ies)|ports?)\W*\Z|\A\W*(?:and )?(?:who|by whom)\W*\Z",
    re.IGNORECASE,
)
"""A question for a column alone: of the records that the question before it is about."""


def _of_named(question: str, values: dict[str, str], before: Exchange) -> str:
    """The question about the only value that the question before it names."""
    words = _words(question_of(before.prompt)[:MAX_CHARS])
    named = {word.lower(): word for word in words if _sort_of(word.lower(), values) or re.search(r"\w\d|\d\w", word)}
    return f"{question.rstrip(' ?.!')} on {next(iter(named.values()))}?" if len(named) == 1 else question


_PERSON = re.compile(
    r"\b(?P<owner>his|their|her(?= (?!and\b|or\b|in\b|on\b|at\b|to\b|from\b|with\b|by\b)[a-z]))\b"
    r"|\b(?P<account>he|she|him|her|they|them)\b",
    re.IGNORECASE,
)
_IT = re.compile(r"\b(?P<any>it)\b(?! (?:is|was|happen\w*|begin|start) (?!and\b))", re.IGNORECASE)
_NAMED_ALONE = re.compile(r"\A\W*(?:and |what about |how about )?(?P<name>[\w.@:\\-]{1,80})\W*\Z", re.IGNORECASE)


def _pronoun(question: str, earlier: Sequence[Exchange]) -> re.Match[str] | None:
    """The pronoun of a question for what the question before it names; "it" only if that names nothing else."""
    if not earlier:
        return None
    is_alone = _NAMED_ALONE.match(question_of(earlier[-1].prompt)[:MAX_CHARS]) is not None
    return _PERSON.search(question) or (_IT.search(question) if is_alone else None)


_BOLD = re.compile(r"\*\*(?P<text>[^*]{1,600})\*\*")


def _with_meant(question: str, match: re.Match[str], known: Known, before: Exchange) -> str:
    """The question with the only value of its sort that the question before, or else its answer, names."""
    group = next(name for name, held in match.groupdict().items() if held)
    sort, ending = ("account", "'s") if group == "owner" else (group, "")
    values = dict(_values(known))
    bold = _BOLD.search(before.answer)
    told = re.sub(r"\\?\[\\?\.\\?\]", ".", bold["text"] if bold is not None else "")
    for text in (question_of(before.prompt)[:MAX_CHARS], told):
        sorts = ((word, _sort_of(word.lower(), values)) for word in _words(text))
        named = {word.lower(): word for word, of in sorts if of == sort or (sort == "any" and of)}
        if len(named) == 1:
            return f"{question[: match.start()]}{next(iter(named.values()))}{ending}{question[match.end() :]}"
        if named:
            return question
    alone = _NAMED_ALONE.match(question_of(before.prompt)[:MAX_CHARS])
    if alone is not None and sort in ("any", "account"):
        return f"{question[: match.start()]}{alone['name']}{ending}{question[match.end() :]}"
    return question


def _question_before(earlier: Sequence[Exchange]) -> str:
    """The last question that is complete by itself."""
    for exchange in reversed(earlier):
        question = " ".join(question_of(exchange.prompt).split())
        if len(question) > MAX_CHARS:
            return ""
        if _AND.match(question) is None:
            return question if _ASKS.search(question) else ""
    return ""


def _words(text: str) -> list[str]:
    """The words of a text, without the marks at their ends."""
    return [word for token in _TOKEN.findall(text) if (word := token.rstrip(".@:\\-"))]


def _with_other(question: str, before: str, values: dict[str, str], sort: str) -> str:
    """The question before about the only other thing of a sort, if it named one of two."""
    words = [(word, _sort_of(word.lower(), values)) for word in _words(before)]
    named = [(word, of) for word, of in words if of and (not sort or of == sort)]
    if len(named) != 1:
        return question
    word, of = named[0]
    others = {value for value, kind in values.items() if kind == of and not _is_same(value, word.lower())}
    whole = {value for value in others if not any(value != one and one.startswith(f"{value}.") for one in others)}
    if len(whole) != 1:
        return question
    return re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", lambda _: whole.pop(), before, count=1)


def _is_same(value: str, word: str) -> bool:
    """Whether a word is a value, or the first part of the name of a host or an account."""
    return value == word or value.startswith((f"{word}.", f"{word}@")) or word.startswith(f"{value}.")


def _sort_of(word: str, values: dict[str, str]) -> str:
    if _ADDRESS.match(word):
        return "address"
    return values.get(word) or next((sort for value, sort in values.items() if _is_same(value, word)), "")


def _values(known: Known) -> Iterator[tuple[str, str]]:
    """The hosts, accounts and addresses of the findings in lower case, with their sort."""
    for finding in known.findings[:MAX_FINDINGS]:
        for thing in things_in(finding):
            sort = next((name for name, fields in _FIELDS.items() if thing.field in fields), "")
            if sort and " " not in thing.value:
                yield thing.value.lower(), "address" if _ADDRESS.match(thing.value) else sort
