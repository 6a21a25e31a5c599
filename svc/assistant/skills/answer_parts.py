"""What the answers of all skills are made of: facts with the place of their evidence, and parts that are folded. Pure.

An answer opens with a verdict and three to five facts; everything else is in folds of FOLD_ROWS rows, and the rest in
``answer.findings``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, Evidence, Severity
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import bullets, code_span, escape, fold, table

FOLD_ROWS = 5
MAX_FACTS = 5
LEAST_FACTS = 3
CODE_LINES = 12  # of a code block in a fold
EXCERPT_CHARS = 90  # of a fact's evidence
FINDINGS = "answer.findings"
READ = "**Read**: "
"""What the fact about the extent of the evidence begins with."""

_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_TITLE = re.compile(r"\*\*([^*]+)\*\*|#{3,4} (.+)")
_OMITTED = re.compile(r"… and ([\d,]+) more \(all .*")
_MARKUP = re.compile(r"[*`\\]+|&#?\w{1,9};")


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an answer that is shown when the reader opens it.

    ``title`` says what is in it with its exact number and unit: "64 accounts". It is our own words, never evidence.
    ``rows`` are cells of Markdown: rows of a table if there are ``headers``, else the items of a list. ``total`` is the
    number of all rows if ``rows`` are only the first. ``text`` is Markdown above them; ``rest`` is where all rows are.
    ``limit`` is higher only for rows that are nowhere else.
    """

    title: str
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    total: int | None = None
    text: str = ""
    rest: str = FINDINGS
    limit: int = FOLD_ROWS

    @property
    def markdown(self) -> str:
        """The content: the first rows, and how many more there are."""
        total = len(self.rows) if self.total is None else self.total
        shown = self.rows[: self.limit]
        blocks = [self.text]
        if self.headers and shown:
            blocks.append(table(self.headers, shown, limit=len(shown)))
        elif shown:
            blocks.append(bullets([" ".join(row) for row in shown]))
        if total > len(shown):
            blocks.append(more(total - len(shown), rest=self.rest))
        return "\n\n".join(filter(None, blocks))


def more(count: int, unit: str = "", rest: str = FINDINGS) -> str:
    """``59 more in `answer.findings`.``"""
    return f"{count:,} more {unit + ' ' if unit else ''}in `{rest}`."


def folded(parts: Sequence[Fold]) -> str:
    """The folds that have content, one below the other."""
    return "\n\n".join(fold(part.title, content) for part in parts if (content := part.markdown))


def as_sections(parts: Sequence[Fold]) -> str:
    """The parts as sections with a title in bold, for an answer that consists of them."""
    return "\n\n".join(f"**{part.title}**\n\n{content}" for part in parts if (content := part.markdown))


def place_words(evidence: Evidence) -> str:
    """``` `auth.log` line 1,118```, ``` `security.evtx` record 53```."""
    name = code_span(evidence.source, limit=60)
    if evidence.record is not None:
        return f"{name} record {evidence.record:,}"
    if evidence.line is not None:
        return f"{name} line {evidence.line:,}"
    return f"{name} offset {evidence.offset:,}" if evidence.offset is not None else name


def short_place(evidence: Evidence) -> str:
    """The place without the input's name, for an answer about one input: ``line 1,118``."""
    if evidence.record is not None and evidence.line is None:
        return f"record {evidence.record:,}"
    if evidence.line is not None:
        return f"line {evidence.line:,}"
    return f"offset {evidence.offset:,}" if evidence.offset is not None else place_words(evidence)


def worst_findings(findings: Sequence[AnyFinding]) -> list[str]:
    """The most severe findings as facts, each with its place and evidence; of findings without a severity the first."""
    rated = sorted((one for one in findings if one.severity is not Severity.INFO), key=lambda one: _RANK[one.severity])
    chosen = rated or [one for one in findings if one.evidence]
    distinct = list({one.title: one for one in reversed(chosen)}.values())[::-1]
    has_one_source = len({evidence.source for one in distinct for evidence in one.evidence[:1]}) == 1
    return [fact_of(one, names_source=not has_one_source) for one in distinct[: MAX_FACTS if rated else LEAST_FACTS]]


def fact_of(finding: AnyFinding, *, names_source: bool = True) -> str:
    """One finding as a fact: title, severity, place, evidence."""
    title = escape(finding.title[:200])
    severity = "" if finding.severity is Severity.INFO else f" ({finding.severity.value})"
    lead = f"**{title[:1].upper()}{title[1:]}**{severity}"
    if not finding.evidence:
        return f"{lead}."
    first = finding.evidence[0]
    excerpt = f": {code_span(defang_text(first.excerpt), limit=EXCERPT_CHARS)}" if first.excerpt.strip() else ""
    return f"{lead}, {place_words(first) if names_source else short_place(first)}{excerpt}"


def listed(values: Sequence[str], *, limit: int = 4) -> str:
    """``a, b, c and 3 more``; the values are Markdown."""
    left = len(values) - limit
    return ", ".join(values[:limit]) + (f" and {left:,} more" if left > 0 else "")


def fold_of(title: str, markdown: str) -> Fold:
    """Markdown with tables as one fold, each table cut to FOLD_ROWS rows."""
    return Fold(title=title, text="\n\n".join(_cut(block)[0] for block in _blocks(markdown)))


def as_folds(body: Callable[[Sequence[AnyFinding]], str]) -> Callable[[Sequence[AnyFinding]], list[Fold]]:
    """The blocks of a body as folds: each title in bold begins one, each table and list is cut to FOLD_ROWS rows."""

    def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
        return _split(body(findings))

    return folds


def _split(markdown: str) -> list[Fold]:
    title, blocks, count = "Details", list[str](), 0
    made: list[Fold] = []

    def close() -> None:
        if blocks:
            made.append(Fold(title=f"{title}: {count:,}" if count else title, text="\n\n".join(blocks)))

    for block in _blocks(markdown):
        named = _TITLE.fullmatch(block)
        if named is not None:
            close()
            title, blocks, count = _plain(named[1] or named[2]), [], 0
        elif omitted := _OMITTED.fullmatch(block):
            count = _add_omitted(blocks, count, int(omitted[1].replace(",", "")))
        else:
            shown, rows = _cut(block)
            blocks.append(shown)
            count += rows
    close()
    return made


def _add_omitted(blocks: list[str], count: int, omitted: int) -> int:
    """Count the rows that a table left out before it was cut."""
    last = re.fullmatch(r"([\s\S]*\n\n)?([\d,]+) more in `answer\.findings`\.", blocks[-1]) if blocks else None
    if last is not None:
        blocks[-1] = (last[1] or "") + more(int(last[2].replace(",", "")) + omitted)
    else:
        blocks.append(more(omitted))
    return count + omitted


def _plain(title: str) -> str:
    return " ".join(_MARKUP.sub("", title).split()).strip(" .:") or "Details"


def _blocks(markdown: str) -> list[str]:
    """The blocks between blank lines; a code block is one."""
    found: list[str] = []
    fence = ""
    lines: list[str] = []
    for line in [*markdown.split("\n"), ""]:
        opened = re.match(r"`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif opened:
            fence = opened[0]
        if line.strip() or fence:
            lines.append(line)
        elif lines:
            found.append("\n".join(lines))
            lines = []
    return found


def _cut(block: str) -> tuple[str, int]:
    """The block with its first rows, and how many rows it has."""
    lines = block.split("\n")
    if lines[0].startswith("| ") and len(lines) > 1:
        return _first(lines, 2, FOLD_ROWS), len(lines) - 2
    if all(line.startswith("- ") for line in lines):
        return _first(lines, 0, FOLD_ROWS), len(lines)
    if lines[0].startswith("```") and len(lines) > CODE_LINES + 2:
        kept = "\n".join([*lines[: CODE_LINES + 1], lines[-1]])
        left = len(lines) - 2 - CODE_LINES
        return f"{kept}\n\n{more(left, 'line' if left == 1 else 'lines')}", 0
    return block, 0


def _first(lines: Sequence[str], heads: int, limit: int) -> str:
    left = len(lines) - heads - limit
    shown = "\n".join(lines[: heads + limit])
    return f"{shown}\n\n{more(left)}" if left > 0 else shown
