"""What a question asks of a host artefact: kinds of activity, and words that may be names in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from svc.assistant.log_readers.host.record import TraceKind
from svc.assistant.skills.host_artefacts.circumstances import circumstances_of, is_about_signs

_TOPICS: tuple[tuple[tuple[TraceKind, ...], str], ...] = (
    ((TraceKind.FAILED_LOGIN,), r"\bfail\w*|\bbrut\w*|\bguess\w*|\bspray\w*|\brefused\b|\brejected\b"),
    (
        (TraceKind.LOGIN,),
        (
            r"\blog(?:ged)?[- ]?(?:in|on)s?\b|\bsign(?:ed)?[- ]?(?:in|on)s?\b|\bsessions?\b|\bgot in\b"
            r"|\bconnected\b|\bwho (?:was|were|is|has been|had been) (?:on|in)\b|\b(?:come|came) from\b"
        ),
    ),
    ((TraceKind.LOGOUT,), r"\blog(?:ged)?[- ]?(?:out|off)\b|\bsession(?:s)? end\w*"),
    (
        (TraceKind.PERSISTS,),
        (
            r"\bpersist\w*|\bauto-?(?:start|run)\w*|\bstart(?:s|ed)? (?:automatically|by itself|on its "
            r"own|at|with|on)\b|\brun(?:once)? keys?\b"
            r"|\bservices?\b|\bscheduled?\b|\bcron\w*|\bjobs?\b|\btasks?\b|\bunits?\b|\bstart-?up\b|\bat "
            r"(?:boot|log-?[io]n)\b|\btimers?\b"
            r"|\bwhat (?:does|do|will|would|is|are|gets?)\b[^?]{0,30}\b(?:start|run|launch|execut)\w*"
        ),
    ),
    ((TraceKind.RUNNING,), r"\brunning\b|\bprocess(?:es)?\b|\bpids?\b"),
    (
        (TraceKind.SOCKET,),
        r"\bconnect(?:ed|ions?)\b|\bopen ports?\b|\bports?\b|\blisten\w*|\bsockets?\b|\bremote (?:addresses|hosts?)\b",
    ),
    (
        (TraceKind.RAN,),
        r"\bran\b|\brun\b|\bruns\b|\bexecut\w*|\blaunch\w*|\bstart\b|\bprograms?\b|\bapplications?\b|\bapps?\b|\bstarted\b|\buserassist\b|\bprefetch\b",
    ),
    (
        (TraceKind.PRESENT,),
        r"\bshimcache\b|\bamcache\b|\bappcompat\w*|\bon (?:the )?disk\b|\bpresent\b|\bexist\w*|\binstalled\b",
    ),
    ((TraceKind.DOWNLOAD,), r"\bdownload\w*|\bsaved\b"),
    (
        (TraceKind.VISIT,),
        r"\bvisit\w*|\bsites?\b|\bweb ?sites?\b|\bbrows\w*|\burls?\b|\bpages?\b|\bdomains?\b|\bwebpages?\b",
    ),
    ((TraceKind.COMMAND,), r"\bcommands?\b|\btyped\b|\bhistory\b|\benter(?:ed)?\b|\bcmdlets?\b|\bsudo\b"),
    ((TraceKind.DELETED,), r"\bdelet\w*|\bremoved\b|\bwiped\b|\berased\b"),
    ((TraceKind.RENAMED,), r"\brenam\w*|\bmoved\b"),
    ((TraceKind.CREATED,), r"\bcreat\w*|\bnew files?\b|\bdropped\b|\badded\b|\bwritten\b"),
    ((TraceKind.CHANGED,), r"\bmodified\b|\bchanged\b|\boverwr\w*"),
    ((TraceKind.OPENED,), r"\bopen(?:ed|s)?\b|\brecent\w*|\bdocuments?\b|\baccessed\b"),
    ((TraceKind.SYSTEM,), r"\bboot\w*|\breboot\w*|\brestart\w*|\bshut\w*|\busb\b|\bdevices?\b|\bclock\b"),
    (
        (TraceKind.NETWORK,),
        (
            r"\brdp\b|\bremote desktop\b|\bnetwork\b|\bbytes\b|\bsent\b|\btraffic\b|\bupload\w*|\bexfil\w*"
            r"|\b(?:copied|copy|sent|moved|taken|stolen|transferred)\b[^?]{0,20}\b(?:out|off|away|elsewhere|to where)\b"
        ),
    ),
    (
        (TraceKind.ACCOUNT, TraceKind.SETTING),
        r"\baccounts?\b|\bsettings?\b|\busers?\b|\buid\b|\bshells?\b|\bpasswords?\b|\bhash(?:es)?\b|\broot\b",
    ),
    ((TraceKind.GROUP,), r"\bgroups?\b|\bmembers?(?:hips?)?\b|\badmin\w*"),
    (
        (TraceKind.RIGHT, TraceKind.SETTING),
        r"\bsudo\w*|\bnopasswd\b|\brights?\b|\bprivileges?\b|\bpermi\w+|\ballowed\b|\bmay\b|\bcan\b|\benabled\b",
    ),
    ((TraceKind.KEY,), r"\bkeys?\b|\bfingerprints?\b"),
    (
        (TraceKind.NAME,),
        (
            r"\bhost ?names?\b|\bhosts\b|\bentr(?:y|ies)\b|\bnames?\b|\bdomains?\b|\bredirect\w*|\bresolv\w*|\blead\w*"
            r"|\bpoint\w*"
        ),
    ),
    (
        (TraceKind.RULE,),
        (
            r"\brules?\b|\bfirewall\b|\bports?\b|\baccept\w*|\bdrop\w*|\breject\w*|\bblock\w*|\bpolic(?:y|ies)\b"
            r"|\ballow\w*|\bopen\b"
        ),
    ),
    ((TraceKind.ADDRESS,), r"\baddress(?:es)?\b|\binterfaces?\b|\badapters?\b|\bdns\b|\bips?\b|\bsubnets?\b"),
    ((TraceKind.ROUTE,), r"\broutes?\b|\brouting\b|\bgateways?\b"),
    ((TraceKind.MODULE,), r"\bkernel modules?\b|\blsmod\b|\bmodules? loaded\b"),
    ((TraceKind.NEIGHBOUR,), r"\bneighbou?rs?\b|\barp\b|\bmacs?\b|\bhardware address\w*"),
    (
        (TraceKind.SERVICE,),
        r"\bservices?\b|\bunits?\b|\bstopped\b|\bdisabled\b|\binactive\b|\bmasked\b|\bfailed\b",
    ),
    ((TraceKind.ENTRY,), r"\bentries\b|\bmessages?\b"),
)


class Trait(NamedTuple):
    """A trait of rows that questions ask for: ``asks`` is sought in the question, ``has`` in a row's text.

    ``is_proof``: a row with it answers a yes/no question with yes.
    """

    name: str
    activities: tuple[TraceKind, ...]
    asks: str
    has: str
    is_proof: bool = True


_A = TraceKind
TRAITS = (
    Trait("UID 0", (_A.ACCOUNT,), r"\buid ?0\b|\broot (?:rights|privileges)|\bsuperusers?\b", r"\bUID 0\b"),
    Trait(
        "a login shell",
        (_A.ACCOUNT,),
        r"\bshells?\b|\b(?:can|may|able to) log ?[io]n\b|\binteractive\w*",
        r"(?<!no )login shell",
    ),
    Trait("no password", (_A.ACCOUNT,), r"\b(?:no|empty|without (?:a )?|blank) ?passwords?\b", "no password is needed"),
    Trait("a locked password", (_A.ACCOUNT,), r"\b(?:locked|disabled)\b", r"\blocked\b|not active"),
    Trait("a weak hash", (_A.ACCOUNT,), r"\bweak\b|\bmd5\b", r"\(weak\)"),
    Trait("a password hash", (_A.ACCOUNT,), r"\bhash(?:es)?\b|\bhave (?:a )?passwords?\b", "password hash"),
    Trait("no password asked", (_A.RIGHT,), r"\bwithout (?:a )?passwords?\b|\bnopasswd\b", r"NOPASSWD"),
    Trait(
        "all commands",
        (_A.RIGHT,),
        r"\ball commands\b|\beverything\b|\bany command\b|\b(?:become|as) root\b|\broot (?:rights|access)",
        r"(?:\A|[:)\s,])ALL\s{0,5}\n",
    ),
    Trait("an accepting rule", (_A.RULE,), r"\baccept\w*|\ballow\w*|\bopen\b|\bpermit\w*", r"(?i)\baccept"),
    Trait(
        "a refusing rule", (_A.RULE,), r"\bdrop\w*|\breject\w*|\bblock\w*|\brefus\w*|\bden\w+", r"(?i)\b(?:drop|reject)"
    ),
    Trait("another address", (_A.NAME,), r"\bredirect\w*|\boutside\b|\bother address\w*", "leads to an address"),
    Trait("no address", (_A.NAME,), r"\bblock\w*|\bnowhere\b|\bsinkhol\w*|\bcut off\b", "itself or nowhere"),
    Trait("failed", (_A.SERVICE,), r"\bfail\w*", r"\bfailed\b"),
    Trait(
        "not running",
        (_A.SERVICE,),
        r"\bstopped\b|\binactive\b|\bnot running\b|\bdead\b",
        r"(?i)\b(?:stopped|inactive|dead)\b",
    ),
    Trait("disabled", (_A.SERVICE,), r"\bdisabled\b|\bmasked\b", r"(?i)\b(?:disabled|masked)\b"),
    Trait("running", (_A.SERVICE,), r"\brunning\b|\bactive\b", r"(?i)\brunning\b"),
    Trait("a restriction", (_A.KEY,), r"\brestrict\w*|\bforced\b|\blimited\b", r"command=|\brestrict\b|from="),
    Trait("an enabled privilege", (_A.RIGHT,), r"\benabled\b", r"(?i)\benabled\b"),
    Trait("root", (_A.SETTING,), r"\broot\b", r"(?i)\APermitRootLogin", is_proof=False),
    Trait(
        "passwords",
        (_A.SETTING,),
        r"\bpasswords?\b",
        r"(?i)\A(?:PasswordAuthentication|PermitEmptyPasswords|KbdInteractive|ChallengeResponse|AuthenticationMethods)",
        is_proof=False,
    ),
    Trait("ports", (_A.SETTING,), r"\bports?\b|\blisten\w*", r"(?i)\A(?:Port|ListenAddress)\b", is_proof=False),
    Trait("keys", (_A.SETTING,), r"\bkeys?\b", r"(?i)\A(?:Pubkey|AuthorizedKeys|TrustedUser)", is_proof=False),
    Trait(
        "permitted users",
        (_A.SETTING,),
        r"\bwho (?:can|may|is allowed)\b|\bwhich (?:users|accounts|groups)\b",
        r"(?i)\A(?:Allow|Deny)(?:Users|Groups)",
        is_proof=False,
    ),
)
TRAIT_PATTERNS = {one.name: re.compile(one.has) for one in TRAITS}
"""What shows each trait in the text of a row."""
_TRAITS = tuple((one, re.compile(one.asks, re.IGNORECASE)) for one in TRAITS)
_PATTERNS = tuple((activities, re.compile(pattern, re.IGNORECASE)) for activities, pattern in _TOPICS)
WORDS = tuple(pattern for _, pattern in _TOPICS)
"""Words that ask for any of the kinds of activity."""
_ACCEPTED = re.compile(
    r"\b(?:success\w*|succeed\w*|accepted|and log-?(?:in|on)s?|log-?(?:in|on)s? and|logged)\b", re.IGNORECASE
)
_YES_NO = re.compile(
    r"\s{0,20}(?:(?:and|or|but|so|then|also|please|tell me|check|say|if|whether)[ ,]+){0,4}"
    r"(?:did|do|does|was|were|is|are|has|have|had|can|could|any|whether|if)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w@:/\\.$%+-]{3,200}")
_COMMON = frozenset(
    [
        "the",
        "and",
        "what",
        "when",
        "which",
        "who",
        "how",
        "did",
        "does",
        "was",
        "were",
        "has",
        "have",
        "had",
        "are",
        "from",
        "this",
        "that",
        "there",
        "here",
        "any",
        "anything",
        "anyone",
        "all",
        "for",
        "with",
        "then",
        "last",
        "first",
        "time",
        "times",
        "often",
        "many",
        "much",
        "file",
        "files",
        "log",
        "logs",
        "show",
        "list",
        "tell",
        "ran",
        "run",
        "user",
        "users",
        "host",
        "computer",
        "machine",
        "program",
        "programs",
        "account",
        "accounts",
        "is",
        "it",
        "of",
        "in",
        "on",
        "at",
        "by",
    ]
)
MAX_NAMES = 20
_PORT = re.compile(r"\bports? (\d{1,5})\b", re.IGNORECASE)


def asked_fields(question: str) -> dict[str, object]:
    """What a question asks, as fields of ``HostSummary``."""
    return {
        "topics": topics_of(question),
        "names": names_of(question),
        "is_yes_no": _YES_NO.match(question) is not None,
        "traits": [one.name for one, asks in _TRAITS if asks.search(question)],
        "stated": _stated(question),
        "left_out": [found[1].lower() for found in _LEFT_OUT.finditer(question)],
        "asks": circumstances_of(question),
        "asks_signs": is_about_signs(question),
    }


_NO_NAMES = frozenset(
    [
        "that", "which", "there", "who", "what", "with", "have", "has", "had", "can", "could", "may", "in", "on",
        "is", "are", "was", "were", "and", "or", "the", "a", "an", "of", "for", "to", "from", "exist", "exists",
        "listed", "file", "it", "this", "any", "all", "other", "another", "no", "not", "none", "allowed", "called",
        "named", "belong", "belongs", "do", "does", "did", "log", "logs", "root's", "without", "logged", "someone",
        "somebody", "anybody", "nobody's", "new", "more", "than", "here", "be", "been", "being", "run", "runs",
        "accounts", "users", "groups",
    ]
)  # fmt: skip
_STATED = re.compile(
    r"\b(?:accounts?|users?|groups?|members?|names?|hosts?|services?|units?|called|named)\s{1,5}"
    r"[`'\"\u201c]?([A-Za-z_][\w.@\\$-]{1,63})"
    r"|\b(?:is|was|does|has|can|may)\s{1,5}(?:user\s|account\s)?[`'\"\u201c]?([A-Za-z_][\w.@\\$-]{1,63})[`'\"\u201d]?\s{1,5}"
    r"(?:in|an?|set|have|listed|exist|able|allowed|locked|become|use|run|log|part|member|(?:still )?running)\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\b(?:besides|other than|except(?: for)?|apart from|not counting) ([\w.$-]{2,64})", re.IGNORECASE
)


def _stated(question: str) -> list[str]:
    """Words of a question that must be names: of an account, a group, a host …"""
    names = ((found[1] or found[2]).strip(".").lower() for found in _STATED.finditer(question))
    return [name for name in dict.fromkeys(names) if name not in _NO_NAMES and name not in _COMMON]


def traits_of(names: Sequence[str]) -> list[Trait]:
    """The traits with these names."""
    return [one for one in TRAITS if one.name in names]


def topics_of(question: str) -> list[str]:
    """The kinds of activity that the question asks about, in its order."""
    found = [(match.start(), activities) for activities, pattern in _PATTERNS if (match := pattern.search(question))]
    topics = list(dict.fromkeys(one for _, activities in sorted(found) for one in activities))
    if TraceKind.FAILED_LOGIN in topics and not _ACCEPTED.search(question):
        topics = [one for one in topics if one is not TraceKind.LOGIN]  # "which logins failed?"
    return [one.value for one in topics]


def names_of(question: str) -> list[str]:
    """Words that may be names of accounts, programs, sites or addresses."""
    ports = [f"port {number}" for number in _PORT.findall(question)]
    words = (word.strip(".,:;?!'\"`").lower() for word in _WORD.findall(question))
    return (
        ports
        + [
            word
            for word in dict.fromkeys(words)
            if word not in _COMMON and len(word) > 2 and f"port {word}" not in ports
        ][:MAX_NAMES]
    )
