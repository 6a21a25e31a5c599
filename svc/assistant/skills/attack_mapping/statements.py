"""What a sentence does with the behaviour that it names: report it, deny it, or advise against it. Pure.

Common forms only: a clause with a denial is denied as a whole, and advice is recognised by how it begins or by whom it
addresses.
"""

from __future__ import annotations

import re

from svc.assistant.skills.attack.phrases import words_of

_CLAUSE_END = re.compile(r";|\u2014|\s-\s|,?\s\b(?:but|however|instead|although|though|whereas|yet)\b", re.IGNORECASE)
_ACTIONS = "|".join(
    (
        r"observ\w*|seen?|found|find|identif\w+|attempt\w*|us(?:e|ed|ing)|show\w*|occur\w*|detect(?:ed)?|reveal\w*",
        r"contain\w*",
        r"includ\w*|involv\w*|perform\w*|dump\w*|steal|stolen|exfiltrat\w*|encrypt\w*|execut\w*|run|creat\w*|modif\w+|access\w*",
        r"inject\w*|download\w*|upload\w*|install\w*|delet\w*|disabl\w*|mov(?:e|ed)|escalat\w*|spread|deploy\w*|establish\w*",
        r"collect\w*|exploit\w*|compromis\w*|communicat\w*|obtain\w*|gain\w*|harvest\w*|send|sent|clear\w*|persist\w*",
    )
)
_DENIAL = re.compile(
    "|".join(
        (
            r"\bno (?:(?:further|other|clear|direct) )?(?:evidence|signs?|indications?|traces?) (?:of|that|for)\b",
            r"\bwithout (?:any )?(?:evidence|signs?|traces?) of\b",
            rf"\bnever (?:been )?(?:saw|{_ACTIONS})\b",
            (
                r"\b(?:did|do|does|was|were|is|are|has|have|had)(?: not|n['\u2019]t)(?! only\b) "
                rf"(?:been |be |appear to |seem to |\w{{2,20}}ly )?(?:{_ACTIONS})\b"
            ),
            r"\bthere (?:is|are|was|were) no\b|\bturned out to be (?:an? )?(?:benign|harmless|legitimate|false)\b",
            r"\bno \w{2,20}(?: \w{2,20}){0,2} (?:was|were|(?:has|have|had) been) (?:\w{2,20}ly )?\w{2,18}(?:ed|en)\b",
            r"\bruled out\b|\bfalse positives?\b",
            r"\bno \w{2,20}(?: \w{2,20})? (?:was|were) (?:observed|seen|found|detected|identified|used)\b",
        )
    ),
    re.IGNORECASE,
)
_ADVICE = re.compile(
    "|".join(
        (
            r"(?:Monitor|Block|Restrict|Ensure|Require|Implement|Enforce|Audit|Limit|Consider|Avoid)\b",
            r"(?:Train|Educate|Prevent|Mitigate)\b",
            r"(?:Protect|Harden|Segment|Do not|Don['\u2019]t|Never|Always|Make sure|Hunt|Look for|Alert|Please)\b",
            r"Patch (?:all|your|systems|software|servers|known|vulnerab\w+)\b",
            r"Keep (?:your|all|the|software|systems)\b",
            r"Use (?:strong|unique|multi|two|a password|an? (?:antivirus|EDR)|least|long)\b",
            r"Enable (?:MFA|multi|two|logging|audit|LSA|credential|PowerShell|script|attack surface|tamper)\b",
            r"(?:Disable|Turn off) (?:unused|unneeded|macros|SMBv1|legacy|RDP)\b",
            r"(?:It is|We) (?:strongly )?recommend",
            r"You (?:can|should|must|may|need)\b",
        )
    ),
    re.IGNORECASE,
)
_DEFENCE = re.compile(
    "|".join(
        (
            (
                r"\b(?:defenders|administrators|organi[sz]ations|users|companies|employees|analysts|teams?|you|we) "
                r"(?:should|must|need to|are advised|are encouraged|are urged)\b"
            ),
            r"\b(?:should|must) (?:be )?(?:monitor|block|restrict|disabl|enabl|patch|limit|enforc)",
            r"\b(?:should|must) (?:be )?(?:review|train|protect|avoid|rotat)",
            r"\b(?:should|must) (?:be )?(?:requir|ensur)",
            r"\bshall\b|\bmust not\b|\b(?:is|are) (?:not )?(?:permitted|prohibited|forbidden|mandatory)\b",
            (
                r"\b(?:allows?|lets?|enables?|helps?) (?:you|users|administrators|admins|developers|analysts|"
                r"customers|teams|companies|organi[sz]ations|investigators|defenders|responders)\b"
            ),
            r"\b(?:is|are) (?:strongly )?(?:recommended|advised)\b|\bwe (?:strongly )?recommend\b|\bbest practices?\b",
            r"\b(?:helps?|used|designed|able|required) (?:to )?(?:prevent|protect|mitigate|defend|detect)\b",
            r"\bprotects? (?:\w{2,20} ){1,4}(?:from|against)\b",
            (
                r"\b(?:prevents?|protects?(?: against)?|mitigates?|defends? against|blocks?|stops?) "
                r"(?:an? |the |known |unknown |most )?"
                r"(?:attack|adversar|malware|malicious|threat|intruder|ransomware|hacker|phishing|unauthori[sz]ed|"
                r"credential (?:theft|dump))"
            ),
        )
    ),
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^[^:\n]{0,120}?\b(?:ATT&?CK|MITRE|TTPs?|(?:sub-?)?techniques?|tactics?|behaviou?rs?)\b[^:\n]{0,80}:\s+",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"the|of|to|and|an|in|is|was|were|are|be|been|it|its|this|that|these|those|with|for|on|at|by|from|as|has|have|had|he|"
    r"she|they|we|you|not|or|but|which|who|when|there|their|his|her|our|your|will|can|may"
)
_AROUND_WORD = "\"'()[]*_.,;:!?\u201c\u201d\u2018\u2019"
_LEAST_WORDS = 3  # of a sentence whose language is clear


def without_request(sentence: str) -> str:
    """Return a sentence without what it asks first: of "Map to ATT&CK: they dumped LSASS" the words after the colon."""
    return _REQUEST.sub("", sentence, count=1) or sentence


def denied_words(sentence: str) -> frozenset[int]:
    """Return the numbers of the words in clauses that deny what they name."""
    denied = [span for span in _clauses(sentence) if _DENIAL.search(sentence, *span)]
    if not denied:
        return frozenset()
    return frozenset(
        number
        for number, (_, start, _) in enumerate(words_of(sentence))
        if any(first <= start < last for first, last in denied)
    )


def _clauses(sentence: str) -> list[tuple[int, int]]:
    ends = [match.start() for match in _CLAUSE_END.finditer(sentence)]
    return list(zip([0, *ends], [*ends, len(sentence)], strict=True))


def is_advice(sentence: str) -> bool:
    """Whether a sentence says what to do, or what a defence does, not what an attacker did."""
    return _ADVICE.match(sentence) is not None or _DEFENCE.search(sentence) is not None


def is_english(sentence: str) -> bool:
    """Whether a sentence has a word that only English sentences have in common."""
    tokens = [token.strip(_AROUND_WORD) for token in sentence.split()]
    return len(tokens) >= _LEAST_WORDS and any(
        _ENGLISH.fullmatch(token.lower()) for token in tokens if not token.isupper()
    )
