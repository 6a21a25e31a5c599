"""What the code that a file contains or starts does: its decoded stages and their behaviour.

A macro or a command is examined like a script. With ``is_judged`` the inspector of the format has examined the outer
code already, so only decoded stages count.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from svc.assistant.findings import Confidence, Finding
from svc.assistant.skills.file_traits import DAMAGE, FilePart, FileTrait, Inspection
from svc.assistant.skills.script.behaviours import behaviours_in
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.stages import stages_of

MAX_CODE_CHARS = 200_000  # of one piece of code that is decoded
MAX_STAGES = 12


def code_traits(
    inspection: Inspection, code: str, language: Language, *, is_judged: bool
) -> Iterator[Finding[FilePart] | Finding[FileTrait]]:
    """Yield the decoded stages as parts with their text, and their behaviour as traits."""
    try:
        stages = list(islice(stages_of(code[:MAX_CODE_CHARS], language), MAX_STAGES))
    except DAMAGE as error:
        yield from inspection.damaged("code", error)
        return
    for stage in stages:
        is_inner = stage.depth > 1 and stage.form == "text"
        if is_inner:
            note = f"{stage.language.value}, by {stage.how}"
            yield inspection.part("decoded code", stage.how, size=len(stage.text), text=stage.text, note=note)
        for seen in behaviours_in(stage.text, stage.language) if is_inner or not is_judged else ():
            yield from inspection.trait(
                f"code_{seen.behaviour.name}",
                f"Code behaviour: {seen.behaviour.does}",
                severity=seen.behaviour.severity,
                why=seen.behaviour.why,
                value=seen.excerpt,
                techniques=tuple(seen.behaviour.techniques),
                confidence=Confidence.MEDIUM,
            )
