"""Check a model's answer against the evidence of its session: what the evidence does not show is marked in the answer.

Checked are indicators (as the tool ``indicators`` extracts them, file names and paths included) and CVE, CWE and ATT&CK
ids. Whether a sentence is true is not checked. Evidence is tool findings, the question, file names, and earlier
questions and findings. The model's own text, and arguments it invented for a tool, are not evidence. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, columns
from svc.assistant.skills.indicators import tool as indicators
from svc.untrusted.defang import defang, plain, refang
from svc.untrusted.markup import bullets, code_span, plural
from svc.untrusted.model_markdown import MarkdownPart, PartKind, parts

MARK = "⚠ not found in the evidence"
MAX_EVIDENCE_CHARS = 12_000_000  # the check makes a lower-case copy; the newest evidence is added first
MAX_REFERENCES = 1_000  # looked up per answer
MAX_MARKED = 100  # marked in the text of an answer; the list at its end names all
_CWE = re.compile(r"\bCWE-\d{1,5}\b", re.IGNORECASE)
_UNCHECKED = frozenset({"tlp"})  # a marking of documents, not an indicator
_EXACT = frozenset({"ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
_LISTED = frozenset({"file_path", "registry_key"})
_CUT = "…"
_ESCAPED = re.compile(r"\\([_*~|\[\]!#-])")
_DISPLAY_FORMS = {
    ".": r"[\[({]?(?:\.|dot)[\])}]?",
    ":": r"\[?:\]?",
    "@": r"[\[(]?(?:@|at)[\])]?",
    "\\": r"\\{1,2}",
}
_REST_OF_WORD = r"(?:[^\s`|<>()\"',;*]*[^\s`|<>()\"',;*.:!?])?"


class Reference(msgspec.Struct, frozen=True):
    """Something that an answer names and that can be looked up in the evidence."""

    kind: str
    value: str


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """An answer after the check: how many references were looked up, and how many more were not (``unchecked``)."""

    markdown: str
    reference_count: int
    missing: tuple[Reference, ...]
    unchecked: int = 0

    def summary(self) -> str:
        """The outcome in one line, with figures."""
        if not self.reference_count:
            return "the answer names no indicator or id that could be checked"
        found = f"checked {plural(self.reference_count, 'indicator or id', 'indicators and ids')} of the answer: "
        return found + (f"{len(self.missing):,} not found in the evidence" if self.missing else "all in the evidence")


class EvidenceIndex:
    """What the session shows. Texts are added as they appear; a lookup builds one searchable copy of all."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0
        self._searchable: str | None = None

    def add(self, *texts: str) -> None:
        """Add texts as evidence; what exceeds MAX_EVIDENCE_CHARS is dropped."""
        for text in texts:
            kept = text[: MAX_EVIDENCE_CHARS - self._size]
            self._texts.append(kept)
            self._size += len(kept)
        self._searchable = None

    def add_findings(self, findings: Iterable[AnyFinding]) -> None:
        """Add the texts of findings, evidence included."""
        for finding in findings:
            self.add("\n".join(_finding_texts(finding)))

    def has_text(self, text: str) -> bool:
        """Whether the text occurs in the evidence, regardless of white space."""
        return " ".join(_searchable(text).split()) in " ".join(self._all().split())

    def shows(self, reference: Reference) -> bool:
        """Whether the evidence names exactly this, not just a longer value that starts like it (unless it is cut with
        "…").
        """
        stem, is_cut, _ = reference.value.partition(_CUT)
        names = (
            [stem, stem.partition(";")[0]] if reference.kind in _LISTED else [stem]
        )  # tools separate fields with ";"
        return any(self._contains(_searchable(name), reference.kind, is_cut=bool(is_cut)) for name in names)

    def _contains(self, needle: str, kind: str, *, is_cut: bool) -> bool:
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


def check(markdown: str, evidence_index: EvidenceIndex) -> Checked:
    """Mark what the evidence does not show, and list it at the end of the answer."""
    found_references = references(markdown)
    looked_up = found_references[:MAX_REFERENCES]
    missing = tuple(reference for reference in looked_up if not evidence_index.shows(reference))
    marked = _mark_missing(markdown, missing[:MAX_MARKED]) if missing else markdown
    unchecked = len(found_references) - len(looked_up)
    blocks = [marked.rstrip(), _missing_list(missing)]
    if unchecked:
        blocks.append(f"⚠ {plural(unchecked, 'further indicator or id', 'further indicators and ids')} not checked.")
    whole = "\n\n".join(block for block in blocks if block) + "\n"
    return Checked(markdown=whole, reference_count=len(looked_up), missing=missing, unchecked=unchecked)


def references(markdown: str) -> list[Reference]:
    """What an answer names, each once; the host of a URL is not counted separately."""
    text = html.unescape(_ESCAPED.sub(r"\1", markdown.replace("`", " ")))
    found = [item.facts for item in indicators.indicators_of(text, source="answer")]
    whole = plain(refang(text))
    found_references = [
        Reference(facts.type, _with_ellipsis(facts.value, whole))
        for facts in found
        if not facts.within and facts.type not in _UNCHECKED
    ]
    return list(
        dict.fromkeys([*found_references, *(Reference("cwe", match.group().upper()) for match in _CWE.finditer(text))])
    )


def _searchable(text: str) -> str:
    return re.sub(r"\\+", "/", plain(refang(text))).lower()


def _with_ellipsis(value: str, text: str) -> str:
    """The value with "…" if the text continues with it."""
    return f"{value}{_CUT}" if _CUT not in value and f"{value}{_CUT}" in text else value


def _begins(text: str, start: int, kind: str) -> bool:
    before = text[start - 1 : start]
    return not (before.isalnum() or before in ("_", "-") or (kind in _EXACT and before in (".", ":")))


def _ends(text: str, end: int, kind: str) -> bool:
    after, further = text[end : end + 1], text[end + 1 : end + 2]
    if kind == "attack_technique" and after == ".":
        return True  # evidence of a sub-technique is evidence of its technique
    if after.isalnum() or after in ("_", "-") or (after == "." and further.isalnum()):
        return False
    return not (kind == "url" and (after in ("?", "#", "&", "=", "%") or (after == "/" and _continues(further))))


def _continues(character: str) -> bool:
    return bool(character) and not character.isspace() and character not in "\"'`)]>,;"


def _finding_texts(finding: AnyFinding) -> Iterator[str]:
    yield from (finding.title, finding.why, *finding.techniques)
    for value in columns(finding).values():
        yield from (str(one) for one in (value if isinstance(value, list) else [value]))
    for evidence in finding.evidence:
        yield from (evidence.source, evidence.excerpt)


def _mark_missing(markdown: str, missing: Sequence[Reference]) -> str:
    pattern = re.compile(
        "|".join(
            _display_pattern(reference.value)
            for reference in sorted(missing, key=lambda reference: -len(reference.value))
        ),
        re.IGNORECASE,
    )
    return "".join(_mark_part(part, pattern) for part in parts(markdown))


def _mark_part(part: MarkdownPart, pattern: re.Pattern[str]) -> str:
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


def _display_pattern(value: str) -> str:
    """A pattern for the value as people write it, such as ``hxxp://evil[.]com``, up to the end of its word."""
    scheme = re.match(r"h(tt)ps?(?=://)", value, re.IGNORECASE)
    head = rf"h(?:tt|xx|\*\*)p{'s' if scheme.group().lower() == 'https' else ''}" if scheme else ""
    rest = value[scheme.end() :] if scheme else value
    body = "".join(_DISPLAY_FORMS.get(character, rf"\\?{re.escape(character)}") for character in rest)
    return rf"(?<![\w-]){head}{body}(?![\w-]|\.\w){_REST_OF_WORD}"


def _missing_list(missing: Sequence[Reference]) -> str:
    if not missing:
        return ""
    lead = (
        f"**{plural(len(missing), 'item')} named by the model without evidence.** "
        "No tool result, file or question of this session contains:"
    )
    return f"{lead}\n\n" + bullets(
        [
            f"{code_span(defang(reference.value, reference.kind))} ({reference.kind.replace('_', ' ')})"
            for reference in missing
        ]
    )
