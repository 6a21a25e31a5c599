"""Check what a model says against what this session shows: what stands nowhere in it is marked where it is said.

Checked are indicators (as the tool ``indicators`` reads them: file names and paths, too), CVE, CWE and ATT&CK ids.
Not checked is whether a sentence is true. Evidence is what a tool found, the question, the files' names, and earlier
questions and findings; what the model itself says, or gives to a tool out of nowhere, is none. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, Finding, columns
from svc.assistant.skills.indicators import tool as indicators
from svc.untrusted.defang import defang, plain, refang
from svc.untrusted.markup import bullets, code_span, plural
from svc.untrusted.model_markdown import MarkdownPart, PartKind, parts

MARK = "⚠ not found in the evidence"
MAX_EVIDENCE_CHARS = 12_000_000  # a lower-case copy is made for the check; the newest goes first
MAX_CLAIMS = 1_000  # of one answer that are looked up
MAX_MARKED = 100  # of one answer in its text; the list at its end names all
_CWE = re.compile(r"\bCWE-\d{1,5}\b", re.IGNORECASE)
_UNCHECKED = frozenset({"tlp"})  # a marking of documents, not a thing
_EXACT = frozenset({"ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
_LISTED = frozenset({"file_path", "registry_key"})
_CUT = "…"
_ESCAPED = re.compile(r"\\([_*~|\[\]!#-])")
_SHOWN = {
    ".": r"[\[({]?(?:\.|dot)[\])}]?",
    ":": r"\[?:\]?",
    "@": r"[\[(]?(?:@|at)[\])]?",
    "\\": r"\\{1,2}",
}
_REST_OF_WORD = r"(?:[^\s`|<>()\"',;*]*[^\s`|<>()\"',;*.:!?])?"


class Claim(msgspec.Struct, frozen=True):
    """Something that an answer names and that can be looked up."""

    kind: str
    value: str


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """An answer after the check. ``claims`` were looked up, ``unchecked`` more were too many to."""

    markdown: str
    claims: int
    missing: tuple[Claim, ...]
    unchecked: int = 0

    def in_words(self) -> str:
        """The outcome in one line, with figures."""
        if not self.claims:
            return "the answer names no indicator or id that could be checked"
        found = f"checked {plural(self.claims, 'indicator or id', 'indicators and ids')} of the answer: "
        return found + (f"{len(self.missing):,} not found in the evidence" if self.missing else "all in the evidence")


class Ledger:
    """What the session shows. Texts are added as they come up; looking up makes one searchable copy of all."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0
        self._searchable: str | None = None

    def add(self, *texts: str) -> None:
        """Take texts as evidence; what goes beyond MAX_EVIDENCE_CHARS is left out."""
        for text in texts:
            kept = text[: MAX_EVIDENCE_CHARS - self._size]
            self._texts.append(kept)
            self._size += len(kept)
        self._searchable = None

    def add_findings(self, findings: Iterable[AnyFinding]) -> None:
        """Take what findings say, evidence included."""
        for finding in findings:
            self.add("\n".join(_words_of(finding)))

    def has_text(self, text: str) -> bool:
        """Whether the text stands in the evidence, however its white space is set."""
        return " ".join(_searchable(text).split()) in " ".join(self._all().split())

    def has(self, claim: Claim) -> bool:
        """Whether the evidence names this very thing, not a longer one that begins like it, unless it is cut ("…")."""
        stem, is_cut, _ = claim.value.partition(_CUT)
        names = [stem, stem.partition(";")[0]] if claim.kind in _LISTED else [stem]  # a tool sets ";" between fields
        return any(self._has(_searchable(name), claim.kind, is_cut=bool(is_cut)) for name in names)

    def _has(self, needle: str, kind: str, *, is_cut: bool) -> bool:
        needle = needle.rstrip("/") or needle
        text, start = self._all(), 0
        while needle and (at := text.find(needle, start)) >= 0:
            if _begins(text, at, kind) and (is_cut or _ends(text, at + len(needle), kind)):
                return True
            start = at + 1
        return False

    def _all(self) -> str:
        if self._searchable is None:
            self._searchable = _searchable("\n".join(self._texts))
        return self._searchable


def check(markdown: str, ledger: Ledger) -> Checked:
    """The answer with a mark after each thing that the evidence does not show, and a list of these at its end."""
    named = claims(markdown)
    looked_up = named[:MAX_CLAIMS]
    missing = tuple(claim for claim in looked_up if not ledger.has(claim))
    marked = _marked(markdown, missing[:MAX_MARKED]) if missing else markdown
    unchecked = len(named) - len(looked_up)
    blocks = [marked.rstrip(), _list(missing)]
    if unchecked:
        blocks.append(f"⚠ {plural(unchecked, 'further indicator or id', 'further indicators and ids')} not checked.")
    whole = "\n\n".join(block for block in blocks if block) + "\n"
    return Checked(markdown=whole, claims=len(looked_up), missing=missing, unchecked=unchecked)


def claims(markdown: str) -> list[Claim]:
    """What an answer names, each once; a part of a longer one (the host of a URL) is not named by itself."""
    text = _ESCAPED.sub(r"\1", markdown.replace("`", " "))
    found = [item.facts for item in indicators.inspect(text, source="answer") if isinstance(item, Finding)]
    whole = plain(refang(text))
    named = [
        Claim(facts.type, _as_cut(facts.value, whole))
        for facts in found
        if not facts.within and facts.type not in _UNCHECKED
    ]
    return list(dict.fromkeys([*named, *(Claim("cwe", match.group().upper()) for match in _CWE.finditer(text))]))


def _searchable(text: str) -> str:
    return re.sub(r"\\+", "/", plain(refang(text))).lower()


def _as_cut(value: str, text: str) -> str:
    """The value with the sign that it was cut, where the text has that after it."""
    return f"{value}{_CUT}" if _CUT not in value and f"{value}{_CUT}" in text else value


def _begins(text: str, start: int, kind: str) -> bool:
    before = text[start - 1 : start]
    return not (before.isalnum() or before in ("_", "-") or (kind in _EXACT and before in (".", ":")))


def _ends(text: str, end: int, kind: str) -> bool:
    after, further = text[end : end + 1], text[end + 1 : end + 2]
    if kind == "attack_technique" and after == ".":
        return True  # a technique is shown by its sub-technique
    if after.isalnum() or after in ("_", "-") or (after == "." and further.isalnum()):
        return False
    return not (kind == "url" and (after in ("?", "#", "&", "=", "%") or (after == "/" and _goes_on(further))))


def _goes_on(character: str) -> bool:
    return bool(character) and not character.isspace() and character not in "\"'`)]>,;"


def _words_of(finding: AnyFinding) -> Iterator[str]:
    yield from (finding.title, finding.why, *finding.techniques)
    for value in columns(finding).values():
        yield from (str(one) for one in (value if isinstance(value, list) else [value]))
    for evidence in finding.evidence:
        yield from (evidence.source, evidence.excerpt)


def _marked(markdown: str, missing: Sequence[Claim]) -> str:
    pattern = re.compile(
        "|".join(_shown_as(claim.value) for claim in sorted(missing, key=lambda claim: -len(claim.value))),
        re.IGNORECASE,
    )
    return "".join(_marked_part(part, pattern) for part in parts(markdown))


def _marked_part(part: MarkdownPart, pattern: re.Pattern[str]) -> str:
    match part.form:
        case PartKind.TEXT:
            return pattern.sub(lambda found: f"{found.group()} ({MARK})", part.text)
        case PartKind.SPAN:
            return f"{part.text} ({MARK})" if pattern.search(part.text) else part.text
        case PartKind.BLOCK:
            names = list(dict.fromkeys(found.group() for found in pattern.finditer(part.text)))
            if not names:
                return part.text
            return f"{part.text.rstrip()}\n\n({MARK}: {', '.join(map(code_span, names))})\n\n"


def _shown_as(value: str) -> str:
    """A pattern that finds the value as people write it: ``hxxp://evil[.]com``, to the end of its word."""
    scheme = re.match(r"h(tt)ps?(?=://)", value, re.IGNORECASE)
    head = rf"h(?:tt|xx|\*\*)p{'s' if scheme.group().lower() == 'https' else ''}" if scheme else ""
    rest = value[scheme.end() :] if scheme else value
    body = "".join(_SHOWN.get(character, rf"\\?{re.escape(character)}") for character in rest)
    return rf"(?<![\w-]){head}{body}(?![\w-]|\.\w){_REST_OF_WORD}"


def _list(missing: Sequence[Claim]) -> str:
    if not missing:
        return ""
    lead = (
        f"**{plural(len(missing), 'thing')} that the model named and the evidence does not show.** "
        "No tool, file or question of this session holds:"
    )
    return f"{lead}\n\n" + bullets(
        [f"{code_span(defang(claim.value, claim.kind))} ({claim.kind.replace('_', ' ')})" for claim in missing]
    )
