"""Read the answers of an earlier run, from an executed notebook or a folder of ``--out``.

Answers without a valid signature are not verified.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from svc_jupyter.report import folder, options
from svc_jupyter.report.diff import Answers
from svc_jupyter.report.options import UsageError
from svc_jupyter.report.record import FILE_NAME, AnswerRecord, CaseRecord, answers_of, distrust_unsigned


def load(path: Path) -> Answers:
    """Return the answers by the name of the case. Raises UsageError if the path has no run."""
    if not path.is_dir():
        notebook = options.read(path)
        distrust_unsigned(notebook)
        return {"": answers_of(notebook)}
    record = folder.load(path)
    if record is None:
        raise UsageError(f"{path} has no readable {FILE_NAME}; it is not a folder of `svc report run --out`.")
    return {case.name: _checked(case) for case in record.cases}


def _checked(case: CaseRecord) -> list[AnswerRecord]:
    if case.is_signed:
        return case.answers
    return [msgspec.structs.replace(answer, is_verified=False) for answer in case.answers]
