"""Progress of a run: a bar per case in a terminal, lines elsewhere, JSON Lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo, visible_json
from svc_jupyter.answers.redaction import redact
from svc_jupyter.report.outcome import CellRun, Status
from svc_jupyter.report.record import CaseRecord

TITLE_CHARACTERS = 70
LINE_CHARACTERS = 200


class CellLines:
    """For a single notebook: a line per cell."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def begin(self, case: CaseRecord) -> None:
        """Do nothing: the first line is the first cell's."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Print the cell's number, duration and first line."""
        mark = "" if cell.is_ok else "  FAILED"
        title = one_line(redact(cell.title, self._secrets), limit=TITLE_CHARACTERS)
        echo(f"cell {cell.number}/{cell.total}  {cell.seconds:5.1f} s  {title}{mark}", err=True)

    def end(self, case: CaseRecord) -> None:
        """Do nothing: the command prints the outcome."""


class CaseLines:
    """For a sweep without a terminal: a line per finished case."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._ended = 0

    def begin(self, case: CaseRecord) -> None:
        """Do nothing."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Do nothing: it would be too many lines."""

    def end(self, case: CaseRecord) -> None:
        """Print the case's status and verdict."""
        self._ended += 1
        text = one_line(case.verdict if case.status.is_complete else case.failure, limit=LINE_CHARACTERS)
        echo(f"{self._ended}/{self._total}  {case.seconds:6.1f} s  {case.status}  {case.name}  {text}", err=True)


class JsonLines:
    """JSON Lines on standard output."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def begin(self, case: CaseRecord) -> None:
        """Print ``{"event": "begin"}``."""
        self._print({"event": "begin", "case": case.name, "parameters": case.parameters})

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Print ``{"event": "cell"}``."""
        fields = {"event": "cell", "case": case.name, "cell": cell.number, "cells": cell.total}
        self._print({**fields, "seconds": round(cell.seconds, 3), "is_ok": cell.is_ok})

    def end(self, case: CaseRecord) -> None:
        """Print ``{"event": "end"}`` with the status."""
        fields = {"event": "end", "case": case.name, "status": str(case.status), "failure": case.failure}
        self._print({**fields, "verdict": case.verdict, "seconds": case.seconds, "files": list(case.written)})

    def _print(self, event: dict[str, object]) -> None:
        echo(visible_json(redact(json.dumps(event, ensure_ascii=False, default=str), self._secrets)))
        sys.stdout.flush()


class Bars:
    """For a sweep in a terminal: a bar per running case, and one for all."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
        )
        self._bars = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
        self._all = self._bars.add_task("cases", total=total)
        self._running: dict[str, Callable[[int, int], None]] = {}
        self._end: dict[str, Callable[[], None]] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, case: CaseRecord) -> None:
        """Add the case's bar."""
        task = self._bars.add_task(case.name, total=None)
        self._running[case.name] = lambda done, total: self._bars.update(task, completed=done, total=total)
        self._end[case.name] = lambda: self._bars.remove_task(task)

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Advance the case's bar."""
        self._running[case.name](cell.number, cell.total)

    def end(self, case: CaseRecord) -> None:
        """Remove the case's bar; print a line if it failed, or if not every question was answered."""
        self._running.pop(case.name)
        self._end.pop(case.name)()
        self._bars.advance(self._all)
        if case.status != Status.OK:
            reason, style = (case.verdict, "yellow") if case.status.is_complete else (case.failure, "red")
            text = f"{case.status}  {case.name}  {one_line(reason, limit=LINE_CHARACTERS)}"
            self._bars.console.print(text, markup=False, highlight=False, style=style)
