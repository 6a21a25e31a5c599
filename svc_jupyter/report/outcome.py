"""How the run of a notebook ended, and its exit code.

Codes: 124 is what ``timeout`` of coreutils exits with, 128 and a signal's number what a shell says of a killed child;
138 for a dead kernel, 4 to 7 are ours (docs/reports.md, "Status and exit codes").
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode


class Status(StrEnum):
    """The status of a case."""

    OK = "ok"
    NOT_ANSWERED = "not answered"
    NOT_EXAMINED = "not examined"
    NOT_VERIFIED = "not verified"
    FAILED = "failed"
    PIN_MISSED = "pin missed"
    UNREACHABLE = "service unreachable"
    TIMEOUT = "timeout"
    KERNEL_DIED = "kernel died"
    NOT_WRITTEN = "not written"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not run"

    @property
    def is_complete(self) -> bool:
        """Whether every cell ran and the case was written, whatever the answers say."""
        return self in (Status.OK, Status.NOT_ANSWERED, Status.NOT_EXAMINED, Status.NOT_VERIFIED)


UNANSWERED_EXIT_CODE = 6  # not 3 as in `svc ask`: a scheduler must be able to tell it from changed answers
UNVERIFIED_EXIT_CODE = 7
EXIT_CODES = {
    Status.OK: 0,
    Status.NOT_ANSWERED: UNANSWERED_EXIT_CODE,
    Status.NOT_EXAMINED: UNANSWERED_EXIT_CODE,
    Status.NOT_VERIFIED: UNVERIFIED_EXIT_CODE,
    Status.FAILED: 1,
    Status.PIN_MISSED: 4,
    Status.UNREACHABLE: 5,
    Status.TIMEOUT: 124,
    Status.KERNEL_DIED: 138,
    Status.NOT_WRITTEN: 1,
    Status.INTERRUPTED: 130,
    Status.NOT_RUN: 1,
}
_AGAIN = "then run the report again; --resume runs only what is missing"
ADVICE = {
    Status.FAILED: f"Correct the cause, {_AGAIN}.",
    Status.PIN_MISSED: "Run with --answers replay to ask what is not stored, or restore the evidence of the recording.",
    Status.UNREACHABLE: f"Check the service with `svc doctor`, {_AGAIN}.",
    Status.TIMEOUT: f"Raise --cell-timeout or --notebook-timeout, or attach less evidence, {_AGAIN}.",
    Status.KERNEL_DIED: f"Check the memory of the machine and the code of the cell, {_AGAIN}.",
    Status.NOT_WRITTEN: f"Check the space and the permissions of the output folder, {_AGAIN}.",
    Status.INTERRUPTED: "Run the report again; --resume runs only what is missing.",
    Status.NOT_RUN: "Run the report again with --resume.",
}
"""What to do about a case that is not complete."""
CHANGED_EXIT_CODE = 3  # answers changed, with --fail-on-change


@dataclass(frozen=True)
class CellRun:
    """A code cell that has run. ``number`` counts code cells from 1; ``title`` is its first line."""

    number: int
    total: int
    title: str
    seconds: float
    is_ok: bool


@dataclass(frozen=True)
class Run:
    """An executed notebook. ``failure`` is a line about what went wrong, after which no cell ran; empty where none."""

    notebook: NotebookNode
    seconds: float
    status: Status
    failure: str = ""


def status_of(error_name: str) -> Status:
    """Return the status that a failed cell means; the names are those of ``svc_jupyter.errors``."""
    match error_name:
        case "AnswerMissingError":
            return Status.PIN_MISSED
        case "ServiceUnreachableError":
            return Status.UNREACHABLE
        case _:
            return Status.FAILED
