"""From findings to the answer's Markdown: verdict first, tables, what was not looked at, next steps. Pure.

Each skill's tables are its own (``sections/``); this module puts them together and says the rest. The same findings go
out as JSON, bounded by what one message may hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import AnyFinding, Severity, ToolFailure, kind_of, with_facts
from svc.assistant.skills.catalogue import abilities, section_of
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import Exchange, Turn, TurnFile
from svc.untrusted.markup import bullets, code_span, escape, plural, table

MAX_FINDINGS_BYTES = 900_000  # of the JSON: a message's content may have 1,000,000 (docs/wire.md, "Limits")
PROMPT_CHARS = 200  # of an earlier question
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class SkillResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one ask: what was found, where, and per input what was not looked at."""

    skill: Skill
    findings: tuple[AnyFinding, ...]
    inputs: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...] = ()


def answer(parts: Sequence[SkillResult], plan: Plan, *, left_out: int = 0) -> str:
    """The whole answer to a question that had at least one ask."""
    verdicts = [_verdict(part) for part in parts]
    blocks = verdicts if len(parts) == 1 else [bullets(verdicts)]
    for number, part in enumerate(parts, start=1):
        if len(parts) > 1:
            blocks.append(f"### {number}. {part.skill.title}")
        blocks.append(_body(part))
    gaps = _gaps(parts, plan, left_out)
    if gaps:
        blocks.append("**Not looked at**\n\n" + bullets(gaps))
    steps = _next_steps(parts)
    if steps:
        blocks.append("**Next steps**\n\n" + bullets(steps))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _next_steps(parts: Sequence[SkillResult]) -> list[str]:
    """What each section advises, said once."""
    steps = dict.fromkeys(step for part in parts for step in section_of(part.skill).next_steps(shown(part)))
    if any(with_facts(part.findings, ToolFailure) for part in parts):
        steps["Keep the file that stopped a parser: a file that does so may have been made for it."] = None
    return list(steps)


def shown(part: SkillResult) -> list[AnyFinding]:
    """What the part's section shows: all but the one about a tool that did not finish, which has no section."""
    return [finding for finding in part.findings if finding.kind != kind_of(ToolFailure)]


def _verdict(part: SkillResult) -> str:
    where = ", ".join(code_span(name, limit=80) for name in part.inputs[:4])
    failed = len(part.findings) - len(shown(part))
    if not shown(part):
        if failed:
            return f"**No answer about {where}:** the tool did not finish (see below)."
        return f"**Nothing found** in {where} for this ask: {part.skill.can}."
    note = " *Not finished: see below.*" if failed else ""
    return section_of(part.skill).verdict(shown(part)) + note


def _body(part: SkillResult) -> str:
    broken = with_facts(part.findings, ToolFailure)
    blocks = [section_of(part.skill).body(shown(part))] if shown(part) else []
    if broken:
        rows = [(escape(f.title), code_span(f.facts.reason), code_span(f.facts.where)) for f in broken]
        blocks.append(table(("Did not finish", "Why", "Where"), rows))
    return "\n\n".join(blocks)


def _gaps(parts: Sequence[SkillResult], plan: Plan, left_out: int) -> list[str]:
    seen = dict.fromkeys(f"{code_span(name, limit=80)}: {escape(gap)}" for part in parts for name, gap in part.gaps)
    gaps = [*seen, *(f"{_file(file)}: no tool that was asked reads this kind of file" for file in plan.unread)]
    gaps += [f"it cannot yet {escape(what)}" for what in plan.cannot]
    gaps += [f"asked, and nothing came with it to read: {escape(what)}" for what in plan.without]
    if left_out:
        gaps.append(
            f"{plural(left_out, 'finding')} of the lowest severity left out of the attached findings: too large"
        )
    return gaps


def _file(file: TurnFile) -> str:
    return f"{code_span(file.name, limit=80)} ({code_span(file.label)}, {file.size:,} bytes)"


_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|thanks?(?: you)?|help|good (?:morning|afternoon|evening))\b[^?\n]{0,30}\??\s*"
    r"|.{0,20}\b(?:what can (?:you|i)\b|who are you|what are you\b|how do (?:you|i use)\b).{0,60}",
    re.IGNORECASE,
)


def cannot(plan: Plan, turn: Turn) -> str:
    """The honest answer to a question that no tool here does."""
    if plan.cannot:
        lead = (
            "**Not answered.** This analyst works offline and cannot yet "
            + "; nor ".join(map(escape, plan.cannot))
            + "."
        )
    elif plan.unread and not any(file.size for file in plan.unread):
        names = ", ".join(code_span(file.name, limit=80) for file in plan.unread)
        lead = f"**Nothing to read:** {names} {'is' if len(plan.unread) == 1 else 'are'} empty (0 bytes)."
    elif plan.unread:
        lead = "**Not answered.** No tool here reads " + ", ".join(_file(file) for file in plan.unread) + "."
    elif _GREETING.fullmatch(turn.prompt):
        lead = "**This is an analyst that works offline:** tools that read what you bring, and no model."
    elif turn.files:
        lead = "**Not answered.** Neither the question nor the files say what to look for."
    else:
        lead = "**Not answered.** The question names nothing that this analyst can do, and no file is attached."
    return f"{lead}\n\n{can_do()}\n"


def can_do() -> str:
    """What can be asked."""
    return (
        "It can:\n\n" + bullets(abilities()) + "\n\nAttach the file or paste the text, and say which of these you want."
    )


def asked(history: Sequence[Exchange]) -> str:
    """The session's earlier questions, oldest first, each with the first line of its answer."""
    if not history:
        return "**Nothing was asked before in this session.**\n"
    rows = [
        (str(number), code_span(exchange.prompt, limit=PROMPT_CHARS), _first_line(exchange.answer))
        for number, exchange in enumerate(history, start=1)
    ]
    last = code_span(history[-1].prompt, limit=PROMPT_CHARS)
    lead = f"**{plural(len(history), 'question')} before this one.** The last was {last}."
    return f"{lead}\n\n{table(('', 'Question', 'Answer'), rows[-50:], limit=50)}\n"


def _first_line(markdown: str) -> str:
    """The first line of an earlier answer as evidence: it may hold another assistant's words."""
    line = next((line for line in markdown.splitlines() if line.strip() and not line.startswith("```")), "")
    return code_span(line.replace("**", "").replace("`", "").lstrip("- "), limit=PROMPT_CHARS) if line else "no answer"


def refined(
    question: str, conditions: Sequence[str], kept: Sequence[tuple[Skill, Sequence[AnyFinding]]], total: int
) -> str:
    """The answer to a follow-up that keeps some of the earlier findings."""
    count = sum(len(findings) for _, findings in kept)
    terms = ", ".join(escape(condition) for condition in conditions)
    blocks = [f"**{count:,} of the {plural(total, 'earlier finding')}**" + (f" ({terms})." if terms else ".")]
    blocks += [section_of(skill).body(findings) for skill, findings in kept]
    if not count:
        blocks.append(
            f"None of the earlier findings is {terms}. The question was {code_span(question, limit=PROMPT_CHARS)}."
        )
    return "\n\n".join(blocks) + "\n"


def not_understood(prompt: str, total: int) -> str:
    """A follow-up whose condition is none that the analyst knows."""
    return (
        f"**Not answered.** The question {code_span(prompt, limit=PROMPT_CHARS)} refers to "
        f"{plural(total, 'earlier finding')}, but names no condition that this analyst knows.\n\n"
        "It can keep those that are external or internal; of one severity; of one type (IP addresses, domains, URLs, "
        "hashes, mail addresses, CVEs, files); about a named account or address; that got in; or within a time of day "
        "(“only the failures after 03:00”).\n"
    )


def nothing_known() -> str:
    """A question about findings in a session that has none."""
    return f"**Nothing was found before in this session.**\n\n{can_do()}\n"


def findings_json(findings: Sequence[AnyFinding]) -> tuple[str, int]:
    """The findings as a JSON list, worst first within what a message may hold, and how many are left out."""
    ranked = sorted(findings, key=lambda finding: _RANK[finding.severity])  # stable: a tool's own order within
    encoded: list[bytes] = []
    size = 2
    for finding in ranked:
        piece = msgspec.json.encode(finding)
        if size + len(piece) + 1 > MAX_FINDINGS_BYTES:
            break
        encoded.append(piece)
        size += len(piece) + 1
    return (b"[" + b",".join(encoded) + b"]").decode(), len(ranked) - len(encoded)
