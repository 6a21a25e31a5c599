"""Wordings that a native speaker stumbles over, and the project's texts. For ``tests/docs/test_english.py``.

Each form has an example that it must find and one of correct English that it must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUFFIXES = (".py", ".ts", ".mjs", ".md", ".toml", ".yml", ".yaml", ".json", ".html", ".css")
NOT_OURS = re.compile(
    r"(?:.*/)?package-lock\.json|\.ci/locks/.*|notebooks/.*|LICENSE|.*/knowledge/(?:attack|cwe|kev)\.json"
    r"|svc_jupyter/labextension/.*|.*/compiled\.json|tests/(?:.*/)?(?:golden|data)/.*"
)
"""Generated files, recorded answers, and texts that others wrote."""
FOLDERS = (".ci", ".github", "docs", "labextension", "svc", "svc_jupyter", "tests")
BUILT = {"node_modules", "dist", "lib", "static", "coverage", "_build", "__pycache__", ".vite"}


@dataclass(frozen=True)
class Form:
    """A wording to avoid: its pattern, what to write instead, and an example of each kind."""

    name: str
    keys: tuple[str, ...]
    """In lower case: a text without any of them is not searched."""
    pattern: str
    instead: str
    wrong: str
    right: str


FORMS = (
    Form(
        "where for if",
        ("where ",),
        r"\bwhere (?:there|nothing|none|nobody|no one|no) (?:is|are|was|were|has|have|had)\b"
        r"|\bwhere (?:it|they|that) (?:is|are|was|were|has|have) (?:not|no|none|missing|absent|another|an?|one)\b",
        "if",
        "It is made where there is none.",
        "It is made if it does not exist. This is the line where it was found.",
    ),
    Form(
        "stands",
        (
            "stand",
            "stood",
        ),
        r"\b(?:stands?|stood|standing) (?:in|beside|behind|under|over|at|there|for itself)\b",
        "is, appears",
        "The zone stands beside the time.",
        "The zone is next to the time. A word stands for a file. It stands out.",
    ),
    Form(
        "is told",
        (
            " told",
            " said",
            " heard",
        ),
        r"\b(?:is|are|was|were|be|been|being) (?:told|said|heard)\b",
        "is notified, is reported, says",
        "The model is told so.",
        "The tool says so. I told you. What he said is true.",
    ),
    Form(
        "what is no",
        (" no ",),
        r"\bwhat (?:[\w`'-]+ ){0,4}(?:is|are|was|were) no (?!longer|more)\b",
        "is not a",
        "It ignores what is no log.",
        "It ignores everything but logs. What I do is simple. There is no file.",
    ),
    Form(
        "whoever",
        (
            "whoever",
            "whomever",
            "whosoever",
        ),
        r"\b(?:whoever|whomever|whosoever)\b",
        "anyone who",
        "Whoever asks gets an answer.",
        "Anyone who asks gets an answer.",
    ),
    Form(
        "another than",
        ("another",),
        r"\banother(?: \w+)? than\b",
        "other than, different from",
        "It has another size than before.",
        "It has a different size. Another answer is better.",
    ),
    Form(
        "of one's own",
        (" own",),
        r"\bof (?:one's|(?:the|a|an|each) [\w-]+'s) own(?=\s*(?:[.,;:)!?\]`]|$))",
        "its own",
        "Tools of the user's own.",
        "A part of the user's own tools. A process of its own.",
    ),
    Form(
        "wants",
        ("wants",),
        r"\b(?:it|that|this|server|service|tool|file|client|library|parser|rule|browser|kernel|page|format) wants\b"
        r"",
        "needs, expects",
        "The server wants a key.",
        "The server needs a key. The user wants a table.",
    ),
    Form(
        "life for lifetime",
        ("life",),
        r"\b(?:session|token|key|ticket|file|kernel|process|connection|turn|answer)(?:'s|s')? life\b"
        r"|\blife of (?:a|an|the|its|each|one) (?:session|token|key|ticket|file|kernel|process|connection|turn)\b",
        "lifetime",
        "The session's life ends.",
        "The session's lifetime ends.",
    ),
    Form(
        "goes with",
        (" with ",),
        r"\b(?:goes|go|went) with (?:it|them|a|an|the|each|every|that)\b",
        "follows, belongs to",
        "The panel goes with the notebook.",
        "The panel follows the notebook.",
    ),
    Form(
        "is none",
        (" none",),
        r"(?<!there )\b(?:is|are|was|were) (?-i:none)\b(?! of\b)",
        "is not one",
        "A picture that is none is shown as text.",
        "There is none. It is None. It is none of these.",
    ),
    Form("anew", ("anew",), r"\banew\b", "again", "It is asked anew.", "It is asked again. A new file."),
    Form(
        "beginning for prefix",
        (
            "beginning",
            "start of",
        ),
        r"\b(?:beginning|start) of (?:an|its|the|a) (?:id|ids|name|hash|digest|key)\b"
        r"|\b(?:id|name|hash)(?:'s|s') beginning\b",
        "prefix",
        "The beginning of an id.",
        "The prefix of an ID. The beginning of a line.",
    ),
    Form(
        "inverted",
        (
            " is ",
            " are ",
            " was ",
            " were ",
        ),
        r"(?:^|[.:;(\"#] ?)(?:Allowed|Told|Asked|Meant|Counted|Shown|Listed|Named|Said|Left out) (?:is|are|was|were)"
        r" (?:it|they|the|a|what|only|those)\b",
        "subject before verb",
        "Allowed is it for the session.",
        "It is allowed for the session.",
    ),
    Form(
        "reader for client",
        ("reader",),
        r"\b(?:slow|slower|stream's|late) readers?\b|\breaders? (?:that|who) (?:does|do) not read\b",
        "client, consumer",
        "A slower reader is closed.",
        "A slower client is disconnected. The reader of a log.",
    ),
    Form(
        "makes way",
        (
            " way for",
            "put right",
            "at work",
            "worth a look",
        ),
        r"\bmakes? way for\b|\bput right\b|\bis at work\b|\bworth a look\b",
        "is replaced by; corrected; busy; notable",
        "The old one makes way for it.",
        "The old one is replaced by it.",
    ),
    Form(
        "nothing is",
        (
            "nothing that",
            "no one that",
            "no address of",
        ),
        r"\bis nothing that\b|\bno one that\b|\bis no address of\b",
        "is not",
        "That is nothing that a panel asks for.",
        "A panel asks for nothing else.",
    ),
)


@dataclass(frozen=True)
class Hit:
    """A form found in a file."""

    path: str
    line: int
    form: str
    text: str


def our_files() -> list[str]:
    """The text files that people of this project wrote, as paths in the repository."""
    found = [path for folder in FOLDERS for path in _below(ROOT / folder)]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found if path.suffix in SUFFIXES)
    return [name for name in names if not NOT_OURS.fullmatch(name)]


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and path.name not in BUILT:
            yield from _below(path)
        elif path.is_file():
            yield path


def hits_in(path: str, text: str) -> Iterator[Hit]:
    """Each form that a text has, also across line breaks."""
    starts = [0]
    parts: list[str] = []
    for line in text.splitlines():
        shown = re.sub(r"^\s*(?:#|//|\*|>)?\s*", "", line)
        parts.append(f"{shown} ")
        starts.append(starts[-1] + len(shown) + 1)
    joined = "".join(parts)
    lowered = joined.lower()
    for form in FORMS:
        if not any(key in lowered for key in form.keys):
            continue
        number = 0
        for match in re.finditer(form.pattern, joined, re.IGNORECASE):
            while starts[number + 1] <= match.start():
                number += 1
            around = joined[max(0, match.start() - 60) : match.end() + 60]
            yield Hit(path, number + 1, form.name, around)
