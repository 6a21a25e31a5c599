"""How far a run is: a bar for each case at a terminal, lines elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

import click

from svc.untrusted.characters import one_line
from svc_jupyter.answers.redaction import redact
from svc_jupyter.report.outcome import CellRun, Status
from svc_jupyter.report.record import CaseRecord

TITLE_CHARACTERS = 70
LINE_CHARACTERS = 200


class CellLines:
    """One notebook, nobody at a terminal or one notebook only: a line for each cell."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def begin(self, case: CaseRecord) -> None:
        """The first line comes with the first cell."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Its number, time and first line."""
        mark = "" if cell.is_ok else "  FAILED"
        title = one_line(redact(cell.title, self._secrets), limit=TITLE_CHARACTERS)
        click.echo(f"cell {cell.number}/{cell.total}  {cell.seconds:5.1f} s  {title}{mark}", err=True)

    def end(self, case: CaseRecord) -> None:
        """The command says how it ended."""


class CaseLines:
    """A sweep, nobody at a terminal: a line for each case that has ended."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._ended = 0

    def begin(self, case: CaseRecord) -> None:
        """Nothing to say yet."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """Too many lines."""

    def end(self, case: CaseRecord) -> None:
        """Its status, and what it says."""
        self._ended += 1
        text = one_line(case.verdict if case.status == Status.OK else case.failure, limit=LINE_CHARACTERS)
        click.echo(f"{self._ended}/{self._total}  {case.seconds:6.1f} s  {case.status}  {case.name}  {text}", err=True)


class JsonLines:
    """One JSON object a line, on standard output."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def begin(self, case: CaseRecord) -> None:
        """``{"event": "begin"}``."""
        self._tell({"event": "begin", "case": case.name, "parameters": case.parameters})

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """``{"event": "cell"}``."""
        told = {"event": "cell", "case": case.name, "cell": cell.number, "cells": cell.total}
        self._tell({**told, "seconds": round(cell.seconds, 3), "is_ok": cell.is_ok})

    def end(self, case: CaseRecord) -> None:
        """``{"event": "end"}``, with the status."""
        told = {"event": "end", "case": case.name, "status": str(case.status), "failure": case.failure}
        self._tell({**told, "verdict": case.verdict, "seconds": case.seconds, "files": list(case.files)})

    def _tell(self, event: dict[str, object]) -> None:
        click.echo(redact(json.dumps(event, ensure_ascii=False, default=str), self._secrets))
        sys.stdout.flush()


class Bars:
    """A bar for each case that runs, and one for all."""

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
        """Its bar."""
        task = self._bars.add_task(case.name, total=None)
        self._running[case.name] = lambda done, total: self._bars.update(task, completed=done, total=total)
        self._end[case.name] = lambda: self._bars.remove_task(task)

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """One cell further."""
        self._running[case.name](cell.number, cell.total)

    def end(self, case: CaseRecord) -> None:
        """Its bar goes; a case that did not end well leaves a line."""
        self._running.pop(case.name)
        self._end.pop(case.name)()
        self._bars.advance(self._all)
        if case.status != Status.OK:
            text = f"{case.status}  {case.name}  {one_line(case.failure, limit=LINE_CHARACTERS)}"
            self._bars.console.print(text, markup=False, highlight=False, style="red")
