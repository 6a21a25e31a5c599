"""The answers of a run of before: from an executed notebook, or from the folder that ``--out`` wrote."""

from __future__ import annotations

from pathlib import Path

from svc_jupyter.report import folder, options
from svc_jupyter.report.diff import Answers
from svc_jupyter.report.options import UsageError
from svc_jupyter.report.record import FILE_NAME, answers_of


def load(path: Path) -> Answers:
    """By the name of the case. Raises UsageError where there is no run."""
    if not path.is_dir():
        return {"": answers_of(options.read(path))}
    record = folder.load(path)
    if record is None:
        raise UsageError(f"{path} has no {FILE_NAME} that can be read: it is no folder of `svc report run --out`.")
    return {case.name: case.answers for case in record.cases}
