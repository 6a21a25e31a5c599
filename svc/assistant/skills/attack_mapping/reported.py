"""Decide whether a sentence reports what an attacker did, or only shares words with such sentences.

"Downloads the file" is in a malware report and in a manual. What decides is the rest of the sentence: an attacker, a
victim, malware or its means on one side; the reader, options, libraries, courts or football on the other
(``knowledge/reported_behaviour.toml``), the form (a note is terse, prose is not), and how specific the technique's own
words are. The weights are added, so that an answer can name what led to it. This module does not know what happened:
a novel about an intrusion is a report to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.reported_behaviour import FILE_NAME, ReportedBehaviour
from svc.assistant.skills.attack.phrases import Phrase, PhraseIndex, words_of
from svc.assistant.skills.attack_mapping.actors import least_weight, main_clause
from svc.assistant.skills.attack_mapping.vocabulary import unfamiliar

TOP_TECHNIQUE_SCORE = 14.0  # more specific words than these add nothing
_COUNTED = 3  # matches of one class
_NOTE_WORDS, _SHORT_WORDS, _LONG_WORDS = 4, 8, 25
_ATTACK_CLASSES = frozenset({"attacker", "malware", "part", "attack", "tool", "dual_use"})

_STOPS = re.compile(r"[.!?:][\"')\]\u201d\u2019]{0,3}\s*\Z")
_CODE = re.compile(r"(?<![\w-])--?[a-z][\w-]{1,40}\b|::|`|\w\(\)|\$\w|https?://")
_API_CALL = re.compile(
    r"\b(?:Nt|Zw|Rtl|Get|Set|Create|Open|Reg|Virtual|Write|Read|Find|Load|Ldr|Enum|Query|Internet|Http|Crypt|Shell|Win|Is|"
    r"Process32|Sleep|Wait|Delete|Copy|Move|Net|Heap|Map|Duplicate|Adjust|Send|Call|Post|Msi|Amsi|Etw)[A-Z]\w{3,40}"
)
_PROGRAM = re.compile(r"\w\.(?:exe|dll|bat|ps1|vbs|sys|lnk|hta|docm|xlsm|scr|iso)\b", re.IGNORECASE)
_WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\|\\\w{1,60}\\|%\w{1,40}%")
_GROUP_NAME = re.compile(
    r"\b(?:APT|UNC|FIN|TA|DEV|Storm|TEMP)[-_. ]?\d{1,5}\b|"
    r"\b(?!(?:Bit|App)Locker\b)[A-Z]\w{1,30}(?:RAT|Bot|Loader|Stealer|Locker|Spy|Door|Dropper)\b|"
    r"\b[A-Z][a-z]{2,20} (?:Panda|Kitten|Bear|Spider|Blizzard|Typhoon|Sleet|Tempest|Sandstorm|Chollima|Jackal)\b"
)
_OPTION = re.compile(
    r"(?:(?<![\w-])--?[A-Za-z][\w-]{0,30}(?:[ =,]|$)|(?<!\w)\$ |:\w{2,12} |@\w{2,12} |\.\. )|"
    r"\(defaults?\b|\bthen exit\b|<[a-z][\w -]{1,20}>|"
    r"(?<![\w./\\])(?:FILES?|DIR|DIRECTORY|NAME|USER|USERNAME|HOST|HOSTNAME|PORT|ADDRESS|PATH|NUM|NUMBER|LIST|STRING|COMMAND|"
    r"PATTERN|SIZE|SECS|SECONDS|AGENT|KEYFILE|LEVEL|TYPE|WORD|TEXT|VALUE|FORMAT|METHOD|PREFIX|SUFFIX|TIME|DATE|BYTES|USER-ID)"
    r"(?![\w.\\])"
)
"""A line of a list of options, or a name in capitals for what the reader puts in."""
_INSTRUCTION = re.compile(
    r"(?:Use|Install|Configure|See|Note|Ensure|Make|Avoid|Specify|Pass|Set|Enable|Choose|Select|Click|Type|Consider|Read|Add|"
    r"Run|Keep|Please|To \w{2,20}|If|When|Print|Allow|Be|For|You|Change|Start|Do|Don|Let)\b"
)
_PRODUCT = re.compile(
    r"(?:(?:If|When|While|Unless|Once) )?(?:(?:The|This|These|Our|An?|Each|Every|All|Most|Some|Any|Its|Your) )?"
    r"(?:[\w-]{2,20} ){0,2}?"
    r"(?:librar(?:y|ies)|commands?|plug-?ins?|extensions?|functions?|methods?|daemons?|utilit(?:y|ies)|packages?|applications?|"
    r"apps?|class|classes|modules?|frameworks?|options?|flags?|parameters?|settings?|clients?|servers?|browsers?|users?|"
    r"editors?|compilers?|schedulers?|workers?|widgets?|callbacks?|hooks?|drivers?|terminals?|shells?|kernels?|databases?|"
    r"fields?|values?|modes?|jobs?|passwords?|messages?|projects?|releases?|versions?|interfaces?|api|wrappers?|wizards?|"
    r"installers?|cookies|endpoints?|nodes?|agents?|objects?|queries|archives?|backups?|administrators?) "
    r"(?:\w{2,20}ly |now |then |also |no longer |that |which |who )?"
    r"(?:is|are|was|were|can|may|will|must|should|has|have|does|do|\w{2,20}s|run|use|list|open|send|store|upload|download|"
    r"copy|execute|create|delete|read|write|share)\b"
)
_PRONOUN = re.compile(
    r"(?:It|They) (?:also |then |first |next )?"
    r"(?!(?:is|are|was|were|can|may|will|has|have|should|does|do|implements?|returns?|raises?|accepts?|inherits?)\b)\w"
)
_COMMIT = re.compile(
    r"(?:\w{2,12}(?:\([\w ./-]{1,30}\))?!?: [a-z])|"
    r"(?:add|added|adds|bump|fix|fixed|fixes|avoid|allow|support|improve|rename|revert|merge|move|make|document|handle|drop|"
    r"prefer|pin|prepare|refactor|replace|remove|removed|return|simplify|skip|split|switch|test|tidy|update|updated|upgrade|"
    r"use|warn)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:back|bring|build|capture|change|check|clear|click|close|collect|connect|copy|create|decode|delete|develop|disable|"
    r"download|edit|enable|encrypt|enter|execute|export|extract|give|go|import|install|join|kill|list|listen|load|log|look|"
    r"map|mount|open|parse|plan|press|print|pull|push|query|read|reboot|rename|reset|restart|rotate|run|save|scan|search|select|send|"
    r"set|show|shut|spawn|start|stop|store|take|turn|type|uninstall|unmount|unplug|unzip|upload|verify|wipe|write|zip) "
    r"(?!(?:was|were|is|has|of)\b)"
)
_SUBJECT = re.compile(
    r"(?:(?:The|A|An|Each|Every|All|Most|Some|Any|Its|Your|Our|This|These) )?"
    r"(?P<who>\w[\w-]{1,20}(?: [\w-]{2,20}){0,3}?) "
    r"(?:(?:can|may|will|must|should|are|is|do|does|lets?|has|have) |(?:\w{3,18}[a-z]s) (?:\w|\()|"
    r"(?:run|use|list|open|send|store|copy|execute|read|write|share|replicate|keep|expire|match) )"
)
_DONE = re.compile(
    r"\b(?:was|were|(?:had|has|have) been) (?:\w{2,20}ly |then |also )?"
    r"(?:\w{2,18}(?:ed|en|wn|ound|ught|ept)|run|sent|made|hid|read|put|set|sold)\b"
)
_CONDITION = re.compile(r"\b(?:if|when|unless|could|might|may|can|should|must)\b")
_ARTICLE = re.compile(r"\b(?:the|my|our|their|her|his|all)\b")
"""Reports leave these out of notes; people who write about their own day do not."""
_PAST_VERB = re.compile(r"[a-z]{2,20}ed\b|(?:ran|sent|took|put|set|got|made|wrote) ")
_PAST_AUXILIARY = re.compile(r"\b(?:was|were|had|been)\b")
_NUMBER = re.compile(r"\b\d+\b")
_FIRST_VERB = re.compile(r"(?:\w+:|[A-Z][a-z]{2,14}ed|Ran|Sent|Took|Put|Set|Got|Made|Wrote) ")
_NO_ACCOUNT = frozenset({"prose", "first_person", "reader", "advice", "chat", "legal", "development", "defence"})
_NAMING_CLASSES = _ATTACK_CLASSES | {"windows"}
_EVIDENCE_CLASSES = _NAMING_CLASSES | {"analysis", "account"}
_EVIDENCE_FORMS = frozenset({"has_api_call", "has_program", "has_windows_path", "has_group_name"})
_AGENT_CLASSES = _NAMING_CLASSES | {"analysis"}
_ACTOR_CLASSES = _ATTACK_CLASSES | {"account"}
_ACTOR_FORMS = frozenset({"has_group_name", "is_about_it"})
HAS_NO_ACTOR = "is_whole_sentence_without_actor"
SHOWS_NOTHING = "is_without_sign_of_attack"
NAMED_BY_PRODUCT = "is_about_another_subject"
NAMES_NOTHING = "is_sentence_that_names_no_attack"
IS_ACCOUNT = "is_account_of_what_was_done"
Form = Callable[[str, int], bool]
"""Whether a sentence, of so many words, has the form."""
FORMS: Mapping[str, Form] = {
    "begins_small": lambda text, words: text[:1].islower(),
    "has_no_stop": lambda text, words: _STOPS.search(text[-8:]) is None,
    "is_note": lambda text, words: words <= _NOTE_WORDS,
    "is_short": lambda text, words: words <= _SHORT_WORDS,
    "is_long": lambda text, words: words > _LONG_WORDS,
    "has_code": lambda text, words: _CODE.search(text) is not None,
    "has_api_call": lambda text, words: _API_CALL.search(text) is not None,
    "has_program": lambda text, words: _PROGRAM.search(text) is not None,
    "has_windows_path": lambda text, words: _WINDOWS_PATH.search(text) is not None,
    "has_group_name": lambda text, words: _GROUP_NAME.search(text) is not None,
    "is_about_it": lambda text, words: _PRONOUN.match(text) is not None,
    "is_about_product": lambda text, words: _PRODUCT.match(text) is not None,
    "is_commit": lambda text, words: _COMMIT.match(text) is not None,
    "is_command": lambda text, words: _COMMAND.match(text.lower()) is not None,
    "is_question": lambda text, words: text.rstrip().endswith("?"),
    "is_option": lambda text, words: _OPTION.search(text) is not None and not text.isupper(),
    "is_instruction": lambda text, words: _INSTRUCTION.match(text) is not None,
    "says_if_or_may": lambda text, words: _CONDITION.search(text) is not None,
    "is_note_with_articles": lambda text, words: (
        text[:1].islower() and _ARTICLE.search(text) is not None and not has_trace(text)
    ),
    "is_note_of_past": lambda text, words: _PAST_VERB.match(text) is not None,
    "is_in_passive_past": lambda text, words: not text[:1].islower() and _PAST_AUXILIARY.search(text) is not None,
    "has_number": lambda text, words: _NUMBER.search(text) is not None,
}

FORM_NAMES = (*FORMS, HAS_NO_ACTOR, SHOWS_NOTHING, NAMED_BY_PRODUCT, NAMES_NOTHING, IS_ACCOUNT)


class Weighed(msgspec.Struct, frozen=True):
    """How much in a sentence shows a report of an attack: above 0 more than not."""

    weight: float
    """The logarithm of the odds, by the sentence alone."""
    attack_weight: float
    """The part of it that names an attacker, malware, an attack or its tools, which also counts for neighbours."""
    shows: tuple[str, ...]
    """What it shows that reports show, for people."""
    least: float
    """The weight that it needs on its own to count as a report."""

    @property
    def is_report(self) -> bool:
        """Whether the sentence reports an attack on its own."""
        return self.weight >= self.least


def weigh(sentence: str, technique_score: float) -> Weighed:
    """Weigh a sentence whose likeliest technique has ``technique_score``."""
    table = _table()
    counts, words = class_counts(sentence)
    weight = table.start + word_weight(sentence) + table.technique * min(technique_score, TOP_TECHNIQUE_SCORE)
    forms = forms_of(sentence, words, counts)
    weight += sum(table.forms[name] for name in forms)
    weight += table.unfamiliar * unfamiliar(sentence)
    attack, shows = 0.0, []
    for one in table.classes:
        if count := counts.get(one.name, 0):
            added = one.weight + one.more * (count - 1)
            weight += added
            if added > 0:
                shows.append(one.shows)
            if one.name in _ATTACK_CLASSES:
                attack += added
    main_classes = _class_names(main_clause(sentence))
    return Weighed(weight, attack, tuple(shows), least_weight(sentence, counts, forms, main_classes))


def has_trace(text: str) -> bool:
    """Whether a text has a Windows program, a call of Windows, or a path of Windows."""
    return any(pattern.search(text) for pattern in (_API_CALL, _PROGRAM, _WINDOWS_PATH))


def word_weight(sentence: str) -> float:
    """What the different words of a sentence add, whatever classes they are in."""
    weights = _word_weights()
    return sum(weights.get(word, 0.0) for word in {word for word, _, _ in words_of(sentence)})


def forms_of(sentence: str, words: int, counts: Mapping[str, int]) -> list[str]:
    """Return the names of the forms that a sentence of so many words with these classes has."""
    forms = [name for name, has_form in FORMS.items() if has_form(sentence, words)]
    if (subject := _SUBJECT.match(sentence)) and not _class_names(subject["who"]) & _AGENT_CLASSES:
        forms.append(NAMED_BY_PRODUCT)
    is_whole = sentence[:1].isupper() and sentence.rstrip().endswith(".")
    if is_whole and not counts.keys() & _ACTOR_CLASSES and not _ACTOR_FORMS.intersection(forms):
        forms.append(HAS_NO_ACTOR)
        if _is_account(sentence, counts):
            forms.append(IS_ACCOUNT)
    if not counts.keys() & _EVIDENCE_CLASSES and not _EVIDENCE_FORMS.intersection(forms):
        forms.append(SHOWS_NOTHING)
    is_note = "has_no_stop" in forms and ("begins_small" in forms or "is_short" in forms)
    return forms if is_note or not _NAMING_CLASSES.isdisjoint(counts) else [*forms, NAMES_NOTHING]


def _is_account(sentence: str, counts: Mapping[str, int]) -> bool:
    """Whether a whole sentence says what was done to something on a computer: of accounts, the passive past is typical.

    One that begins with its verb is a note of its writer's own work ("Moved the backup, which was slow.").
    """
    if "computing" not in counts or not _NO_ACCOUNT.isdisjoint(counts):
        return False
    return _DONE.search(sentence) is not None and _FIRST_VERB.match(sentence) is None


def class_counts(sentence: str) -> tuple[dict[str, int], int]:
    """Return how often each class of words is in a sentence, at most ``_COUNTED`` times, and its number of words."""
    words = [word for word, _, _ in words_of(sentence)]
    used: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for match in sorted(_classes().matches(words), key=lambda match: (-len(match.words), match.words)):
        mine = used.setdefault(match.technique, set())
        if not mine.issuperset(match.words):
            mine.update(match.words)
            counts[match.technique] = min(counts.get(match.technique, 0) + 1, _COUNTED)
    return counts, len(words)


@cache
def _word_weights() -> dict[str, float]:
    return {word: int(tenths) / 10 for tenths, words in _table().words.items() for word in words.split()}


def _class_names(text: str) -> set[str]:
    return {match.technique for match in _classes().matches([word for word, _, _ in words_of(text)])}


@cache
def _table() -> ReportedBehaviour:
    return load(FILE_NAME, ReportedBehaviour)


@cache
def _classes() -> PhraseIndex:
    table = _table()
    phrases = (Phrase(technique=one.name, text=text, factor=1.0) for one in table.classes for text in one.phrases)
    return PhraseIndex(phrases, table.groups)
