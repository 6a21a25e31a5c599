"""Read the answers of an earlier run, from an executed notebook or a folder of ``--out``."""

from __future__ import annotations

from pathlib import Path

from svc_jupyter.report import folder, options
from svc_jupyter.report.diff import Answers
from svc_jupyter.report.options import UsageError
from svc_jupyter.report.record import FILE_NAME, answers_of


def load(path: Path) -> Answers:
    """Return the answers by the name of the case. Raises UsageError if the path has no run."""
    if not path.is_dir():
        return {"": answers_of(options.read(path))}
    record = folder.load(path)
    if record is None:
        raise UsageError(f"{path} has no readable {FILE_NAME}; it is not a folder of `svc report run --out`.")
    return {case.name: case.answers for case in record.cases}
