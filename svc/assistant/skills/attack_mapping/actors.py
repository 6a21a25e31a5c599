"""Decide how much a sentence must show on its own to count as a report of an attack.

A report says who acted, or what was done. Four forms of ordinary text say neither: a description of what a product
does ("The vault rotates passwords."), an account of daily work ("copied the scans to the server"), a note that
begins with a thing instead of an action ("proxy settings for the branch"), and what only talks about attacks: what one
could do, what a defence is against, what a course teaches. If no attacker, malware or tool of theirs acts, these need
more than other sentences. What the sentences around it lend is not weighed here.

A word of both worlds names nobody: a request has a payload, a sensor a beacon, and administrators use PsExec, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from svc.assistant.skills.attack_mapping.vocabulary import is_kind

LEAST_NAMED_WEIGHT = -2.4  # of a sentence that names an attacker, or goes on about one
LEAST_WEIGHT = -0.4
LEAST_NOTE_WEIGHT = 1.2
LEAST_DESCRIPTION_WEIGHT = 1.2
LEAST_OTHER_SUBJECT_WEIGHT = 5.0  # of a description of a thing that is no part of malware
LEAST_TOPIC_WEIGHT = 4.0  # of a sentence that talks about attacks; from this weight on no neighbour lends any
LEAST_HYPOTHESIS_WEIGHT = 12.0  # of what an attacker could do, and of a definition: hardly any sentence has it
_NAMED_CLASSES = frozenset({"attacker", "malware", "tool"})
_COMPUTING_CLASSES = _NAMED_CLASSES | {"computing", "windows", "dual_use", "analysis"}
_PROGRAMS = frozenset({"tool", "dual_use"})  # named ones, which are no kinds of things
_NAMED_FORMS = frozenset({"has_group_name", "is_about_it"})
_TRACE_FORMS = frozenset({"has_group_name", "has_api_call", "has_windows_path", "has_program"})

_SUBORDINATE = re.compile(r",? ?\b(?:which|that|who|whose|where|so|because|until|when|if|while|before|after)\b.*")
_EVIDENCE_SAYS = re.compile(
    r"\b(?:shows?|indicates?|suggests?|reveals?|confirms?|proves?|demonstrates?|describes?|reports?|says?|states?|"
    r"believes?|assess(?:es)?|notes?|means?|implies) (?:that|how|where|which)\b"
)
"""The report is what follows: "The log shows that the attacker …"."""
_PARTICIPLE = re.compile(r"\b(?:is|are|be|a|an|the) (?:\w{2,20}ly )?[a-z]{2,20}ed\b")
_PAST = re.compile(r"\b(?:was|were|had|been|did|ran|used|sent|stole|took|made|wrote|began|[a-z]{3,14}ed)\b")
_DESCRIBED = re.compile(
    r"(?:(?:The|An?|Each|Every|Its|Our|This) )?(?:[\w.'-]{1,30} ){0,3}?[\w.'-]{1,30} "
    r"(?:(?:can|may|will|must|also|then|never|only|is|are|does|do|has|have) |[a-z]{2,18}s (?!of\b)|"
    r"(?:open|list|lose|run|use|read|keep|send|let|query|covers?|match|store|copy|leave|need|expire) )"
)
_SUBJECT = re.compile(
    r"(?P<determiner>(?:The|An?|Each|Every|Its|Our|This|That|These|Your|Some|Most|All) )?(?:[\w.'-]{1,30} ){0,3}?"
    r"(?P<head>[\w.'-]{1,30}) (?:also |then |never |only |\w{2,20}ly )?"
    r"(?:(?:can|may|will|must|is|are|does|do|has|have|lets?) |[a-z]{2,18}s (?!of\b)|"
    r"(?:open|list|lose|run|use|read|keep|send|query|cover|match|store|copy|leave|need|scan|create|install|collect) )"
)
_PARTS = re.compile(
    r"(?:codes?|files?|scripts?|strings?|macros?|dlls?|binar(?:y|ies)|executables?|functions?|routines?|threads?|"
    r"process(?:es)?|modules?|components?|loaders?|documents?|attachments?|archives?|shellcode|payloads?|variants?|versions?|"
    r"famil(?:y|ies)|threats?|tools?|commands?|requests?|responses?|data|traffic|configurations?|keys?|methods?|techniques?|"
    r"campaigns?|operations?|calls?|resources?|sections?|services?|tasks?|shortcuts?|lnk|iso|pages?|links?|messages?|e-?mails?|"
    r"communications?|types?|kinds?|connections?|servers?|domains?|urls?|hosts?|samples?|groups?|teams?|stages?|beacons?|blobs?|registry|"
    r"entr(?:y|ies)|values?|names?|malware|droppers?|packers?|installers?|drivers?|algorithms?|capabilit(?:y|ies)|ones?|it|"
    r"they|he|she|this|these|information|exploits?|injection|attacks?|chains?|infections?|mechanisms?|persistence)",
    re.IGNORECASE,
)
"""Nouns for parts of malware and of an attack, as the head of a subject."""
_TOPIC = re.compile(
    r"(?:Suppose|Imagine|Chapter|(?:Section|Article|Paragraph|Clause) \d{1,4}|Lesson) |"
    r"(?:In this (?:paper|work|article|chapter|exercise|lesson),? )?[Ww]e (?:also )?"
    r"(?:propose|present|introduce|evaluate|compare|train|survey) |"
    r"(?:[\w'-]{1,20} ){0,3}?(?:courses?|articles?|books?|chapters?|videos?|lessons?|"
    r"exercises?|workshops?|webinars?|talks?|labs?|"
    r"students?|museum|training|tutorials?|guides?|drills?|polic(?:y|ies)) |"
    r"(?:The |Our |Most |Many |Some )?(?:[\w-]{1,20} )?(?:[Aa]nti-?\w{2,12}|[Mm]alware|[Ss]ecurity|"
    r"[Tt]hreat|[Rr]ansomware|[Ff]orensic|[Pp]hishing) "
    r"(?:analysts?|teams?|products?|software|scanners?|solutions?|insurance|protection|training|awareness|engines?|filters?|"
    r"simulations?|tests?|solutions?) "
)
_DEFINED = re.compile(
    r"(?:An? )?(?P<subject>(?!The\b|This\b|It\b)[\w-]{2,30}(?: [\w-]{2,30}){0,3}?) (?:is|are|means) "
    r"(?:an? |the |any |one )?(?:[\w-]{2,20} ){0,4}?"
    r"(?:software|programs?|techniques?|methods?|attacks?|ways?|types?|kinds?|forms?|tools?|protocols?|terms?|process|"
    r"practices?|features?|services?|malware|code|activit(?:y|ies)|acts?|attempts?)\b(?! (?:of|from|on) th)"
)
"""A definition of a kind of thing: "Ransomware is malicious software that …"."""
_PAST_REPORT = re.compile(
    r"\b(?:observed|found|discovered|identified|saw|detected|noticed|uncovered|attributed|was|were|had|used|analy[sz]ed)\b"
)
_COULD = re.compile(
    r"\b(?:attackers?|adversar(?:y|ies)|intruders?|hackers?) (?:who |that |"
    r"with )?(?:[\w']{1,20} ){0,6}?(?:could|might) "
    r"(?!not\b|have\b)"
)
_HYPOTHESIS = re.compile(
    r"\b(?:attackers?|adversar\w{1,5}|intruders?|hackers?|malware|ransomware|(?:user|"
    r"program|app|process)s?) (?:who |that |with )?"
    r"(?:[\w']{1,20} ){0,6}?(?:could|would|might|cannot|may not|(?:is|are) not able)\b|"
    r"\b(?:prevents?|stops?|keeps?|blocks?|hinders?) (?:an? |the |any )?(?:attackers?|"
    r"adversar\w{1,5}|intruders?|hackers?|malware)\b"
)
_MALICIOUS_COULD = re.compile(r"\b[Mm]alicious (?:\w{2,20} ){1,3}(?:could|might|may|would)\b(?! (?:not |have )?been\b)")
_GUARD = re.compile(
    r"(?:The |An? |Our |Your |Each |Every |This |Its )?(?:[\w-]{1,20} ){0,3}?"
    r"(?:gateways?|sensors?|platforms?|agents?|appliances?|engines?|filters?|scanners?|add-ons?|solutions?|products?|"
    r"modules?|releases?|editions?|firewalls?|proxy|proxies|consoles?|dashboards?|services?|suites?) "
    r"(?:also |now |then |\w{2,20}ly )?(?:\w{2,20}s|can \w{2,20}|will \w{2,20}) "
)
_GUARDS = re.compile(
    r"\b(?:blocks?|detects?|stops?|prevents?|quarantines?|alerts?|flags?|recogni[sz]es?|protects?|removes?|isolates?|"
    r"rolls? back|raises?|intercepts?|warns?|neutrali[sz]es?|shields?|spots?|maps?)\b"
)
_ALARM = re.compile(
    r"\b(?:alerts?|warns?|notif(?:y|ies)|(?:raises?|triggers?|sends?|shows?|creates?) (?:an? |the )?"
    r"(?:alert|alarm|warning|notification|incident)s?) (?:[\w-]{1,20} ){0,4}?"
    r"(?:when|whenever|if|as soon as|once|on|about|for)\b"
)
_LOG_LINE = re.compile(
    r"(?:\S{1,40} ){0,4}?(?:(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[:\]]? "
    r"(?:[\w.-]{1,40}: )?[\w(\"\[]|"
    r"[\w./-]{1,40}\[\d{1,7}\]: )"
)
_PROGRAM = re.compile(r"[\w-]{1,30}\.(?:exe|dll|sys) |[a-z]{3,12}(?:32|64) ", re.IGNORECASE)
_DETERMINER = r"(?:the|an?|two|three|\d{1,4}|all|our|my|her|his|some|it|them|him|their|old|new)"
_DAILY = re.compile(
    r"(?:the|our|my|her|his|we|i|she|he) |"
    r"(?:[a-z]{3,16}ed|ran|sent|took|put|set|got|made|wrote|moved|hid|stole|gave|found) "
    rf"(?:{_DETERMINER} |\w{{1,30}} (?:the|an?|and|from|on|to|for|with) \w)"
)
_ACTION = re.compile(
    r"(?:(?:and|also|then|can|will|may|has|have|is|was|are|were|it|they|this|to|by|not only) )?(?:\w{2,20}ly )?"
    r"(?:[a-z]{2,20}(?:[tdnlpkrgymwb]s|es|ed|ing)|ran|sent|steal|stole|use|took|dump|collect|gather|download|upload|execute|"
    r"inject|capture|encrypt|decrypt|obtain|exfiltrate|enumerate|get|create|delete|set|modify|disable) ",
)


def main_clause(sentence: str) -> str:
    """Return the words before the first clause that explains them; all of them if what follows is what was found."""
    return sentence if _EVIDENCE_SAYS.search(sentence) else _SUBORDINATE.sub("", sentence)


def least_weight(
    sentence: str, classes: Collection[str], forms: Collection[str], main_classes: Collection[str]
) -> float:
    """Return the weight that a sentence needs if nothing around it reports an attack.

    Args:
        sentence: The sentence.
        classes: The names of the classes of words in it.
        forms: The names of its forms.
        main_classes: The names of the classes of words in its ``main_clause``.
    """
    if _COULD.search(sentence):
        return LEAST_HYPOTHESIS_WEIGHT
    if _PROGRAMS.isdisjoint(main_classes) and _is_definition(sentence):
        return LEAST_HYPOTHESIS_WEIGHT
    if _is_about_attacks(sentence):
        return LEAST_TOPIC_WEIGHT
    if _is_elsewhere(classes, forms):
        return LEAST_OTHER_SUBJECT_WEIGHT
    has_stop = sentence.rstrip().endswith(".")
    is_named = not _NAMED_CLASSES.isdisjoint(classes)
    if is_named and _NAMED_CLASSES.isdisjoint(main_classes):  # "The insurance covers what attackers encrypt."
        is_named = not (has_stop and _is_description(sentence) and _has_other_subject(sentence))
    if is_named or not _NAMED_FORMS.isdisjoint(forms):
        return LEAST_NAMED_WEIGHT
    if has_stop and (sentence[:1].isupper() or _PROGRAM.match(sentence)):
        if not _is_description(sentence):
            return LEAST_WEIGHT
        return LEAST_OTHER_SUBJECT_WEIGHT if _has_other_subject(sentence) else LEAST_DESCRIPTION_WEIGHT
    if not sentence[:1].islower() or has_stop:
        return LEAST_WEIGHT
    is_thing = _TRACE_FORMS.isdisjoint(forms) and _ACTION.match(sentence) is None
    return LEAST_NOTE_WEIGHT if is_thing or _DAILY.match(sentence) else LEAST_WEIGHT


def _is_elsewhere(classes: Collection[str], forms: Collection[str]) -> bool:
    """Whether nothing in a sentence is on a computer and nobody in it is an attacker: "The virus hijacks the cell."."""
    return _COMPUTING_CLASSES.isdisjoint(classes) and _TRACE_FORMS.isdisjoint(forms)


def _is_about_attacks(sentence: str) -> bool:
    """Whether a sentence says what attackers could do, what a defence does, or what a course teaches."""
    if _HYPOTHESIS.search(sentence) or _MALICIOUS_COULD.search(sentence) or _LOG_LINE.match(sentence):
        return True
    if _ALARM.search(sentence) and _PAST_REPORT.search(sentence) is None:
        return True
    if _GUARD.match(sentence) and _GUARDS.search(sentence) and _PAST_REPORT.search(sentence) is None:
        return True
    return _TOPIC.match(sentence) is not None and _PAST_REPORT.search(sentence) is None


def _is_definition(sentence: str) -> bool:
    defined = _DEFINED.match(sentence)
    return defined is not None and is_kind(defined["subject"]) and _PAST_REPORT.search(sentence) is None


def _has_other_subject(sentence: str) -> bool:
    """Whether the subject of a description is a thing with an article, or several things, and no part of malware."""
    subject = _SUBJECT.match(sentence)
    if subject is None or _PARTS.fullmatch(subject["head"]):
        return False
    return subject["determiner"] is not None or subject["head"].endswith("s")


def _is_description(sentence: str) -> bool:
    """Whether a sentence says in the present tense what something does or is."""
    if not _DESCRIBED.match(sentence):
        return False
    main = _PARTICIPLE.sub(" ", _SUBORDINATE.sub("", sentence)).lower()
    return _PAST.search(main) is None
