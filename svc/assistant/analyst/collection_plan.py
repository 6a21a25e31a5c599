"""Plan the members of archives: each goes to the tool for its kind, the important ones first, up to a stated number.

Pure. A question about an archive is a question about everything in it, so members are read by what they are, whatever
the question names; the archive's own structure is always checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.compound.clause_plans import plan_of
from svc.assistant.analyst.follow_ups.listed import with_searches
from svc.assistant.analyst.plan import (
    Plan,
    PlannedSkill,
    Question,
    by_files,
    meant,
    merged,
    read_question,
    without_disabled,
)
from svc.assistant.collections.expanded import ExpandedFiles, NotExamined
from svc.assistant.collections.layouts import rank
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.turn import TurnFile
from svc.untrusted.markup import code_span, escape, plural

MAX_CALLS = 1_000  # members that one tool reads; a run takes some 30 ms, so 30 seconds on one core
MAX_MEMBERS = 5_000  # that are planned at all
MAX_LISTED = 200  # members of no particular kind that are searched for indicators
READABLE_LABELS = frozenset(label for skill in SKILLS for label in skill.labels) - {"unknown"}
"""Labels of members that some tool reads. "unknown" is left out: tools that accept it try what the user named."""


def to_expand(files: Sequence[TurnFile]) -> tuple[list[TurnFile], list[TurnFile]]:
    """Split the files into those whose archives the question is about, and earlier ones that stay closed."""
    current = meant(files) or list(files)
    return current, [file for file in files if file not in current]


def within_limit(expanded: ExpandedFiles) -> ExpandedFiles:
    """Move the least important members beyond ``MAX_MEMBERS`` to what is not examined."""
    if len(expanded.files) <= MAX_MEMBERS:
        return expanded
    archives = {archive.name for archive in expanded.archives}
    names = [file.name for file in expanded.files if file.name.startswith(_prefixes(expanded))]
    late = set(sorted(set(names) - archives, key=rank)[MAX_MEMBERS:])
    reason = f"only the {MAX_MEMBERS:,} most important members of a question's archives are analysed"
    dropped = [
        NotExamined(name=file.name, reason=reason, size=file.size) for file in expanded.files if file.name in late
    ]
    return msgspec.structs.replace(
        expanded,
        files=tuple(file for file in expanded.files if file.name not in late),
        not_examined=(*expanded.not_examined, *dropped),
    )


def _prefixes(expanded: ExpandedFiles) -> tuple[str, ...]:
    """How the names of members begin; those of nested archives begin with that of the attached one."""
    return tuple(f"{archive.name}/" for archive in expanded.archives if archive.depth == 1)


def planned(
    prompt: str,
    files: Sequence[TurnFile],
    *,
    use_experimental: bool,
    disabled: frozenset[str] = frozenset(),
    now: str,
    language: str,
    expanded: ExpandedFiles,
) -> tuple[Question, Plan]:
    """Read a question and decide what to run for it, on every member of the expanded archives too."""
    whole = read_question(prompt, files, use_experimental=use_experimental, now=now, language=language)
    whole_plan = with_searches(plan_members(plan_of(whole), whole, expanded), whole, expanded)
    if not disabled:
        return whole, whole_plan
    question = read_question(
        prompt, files, use_experimental=use_experimental, disabled=disabled, now=now, language=language
    )
    plan = with_searches(plan_members(plan_of(question), question, expanded), question, expanded)
    return question, without_disabled(plan, question, whole_plan)


def plan_members(plan: Plan, question: Question, expanded: ExpandedFiles) -> Plan:
    """Return the plan with every member of the expanded archives, within limits."""
    if not expanded.archives:
        return plan
    prefixes = _prefixes(expanded)
    archives = {archive.name for archive in expanded.archives}
    members = [file for file in question.files if file.name.startswith(prefixes)]
    own = [file for file in question.files if file.name in archives and file not in members]
    skills = merged(plan.skills, by_files([*members, *own], question))
    kept, dropped = _limited(skills, {file.name for file in members})
    read = {call.name for planned in kept for call in planned.calls}
    gone = {name: reason for name, reason in dropped if name not in read}
    files = dict.fromkeys([*plan.files, *own, *members])
    return msgspec.structs.replace(
        plan,
        skills=tuple(kept),
        files=tuple(file for file in files if file.name not in gone),
        unread=(*_unread(expanded), *gone.items()),
        collections=tuple(_described(expanded)),
        notes=(*expanded.notes, *_limit_notes(dropped, [archive.name for archive in expanded.archives])),
    )


def _unread(expanded: ExpandedFiles) -> tuple[tuple[str, str], ...]:
    return tuple((one.name, one.reason) for one in expanded.not_examined)


def _limited(skills: Sequence[PlannedSkill], members: set[str]) -> tuple[list[PlannedSkill], list[tuple[str, str]]]:
    """The plan with no more members for each tool than its limit, and the others, each with the reason."""
    kept, dropped = [], []
    for planned in skills:
        limit = MAX_LISTED if planned.is_fallback else MAX_CALLS
        mine = [call for call in planned.calls if call.name in members]
        late = {call.name for call in mine[limit:]}
        reason = f"{planned.skill.title} reads at most {limit:,} members of a collection, the most important first"
        dropped += [(name, reason) for name in late]
        calls = tuple(call for call in planned.calls if call.name not in late)
        kept.append(msgspec.structs.replace(planned, calls=calls))
    return kept, dropped


def _limit_notes(dropped: Sequence[tuple[str, str]], names: Sequence[str]) -> list[tuple[str, str]]:
    """One sentence for each limit that was reached: what was left out is never left out silently."""
    counts: dict[str, int] = {}
    for _, reason in dropped:
        counts[reason] = counts.get(reason, 0) + 1
    return [(names[0], f"{plural(count, 'member')} not analysed by it: {reason}") for reason, count in counts.items()]


def _described(expanded: ExpandedFiles) -> list[str]:
    """A line for each attached archive: what it is, and how many members it has."""
    lines = []
    for archive in expanded.archives:
        if archive.depth > 1:
            continue
        inside = [one for one in expanded.archives if one.name.startswith(f"{archive.name}/")]
        total = archive.members + sum(one.members for one in inside)
        usable = sum(1 for file in expanded.files if file.name.startswith(f"{archive.name}/"))
        layouts = [layout for name, layout in expanded.layouts if name == archive.name]
        what = f"{' and '.join(layouts)} ({archive.form})" if layouts else f"{archive.form} archive"
        nested = f", {plural(len(inside), 'nested archive')}" if inside else ""
        lines.append(
            f"{code_span(archive.name, limit=80)}: {escape(what)} with {plural(total, 'member')}{nested}; "
            f"{usable:,} of a kind that a tool reads."
        )
    return lines
