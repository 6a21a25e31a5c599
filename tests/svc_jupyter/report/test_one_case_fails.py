"""Whatever fails in one case of a sweep, at whatever stage, is that case's row; the other cases are all run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat import NotebookNode

from svc_jupyter.report import batch, export, index_page, page, sweep
from svc_jupyter.report.cases import Case
from svc_jupyter.report.command import report
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.executor import Report
from svc_jupyter.report.folder import ReportFolder
from svc_jupyter.report.kernels import KernelMissingError, KernelStartError
from svc_jupyter.report.outcome import Run, Status
from tests.support.reports import cases_in, save_notebook
from tests.support.sampling import sampled

BAD = "1"  # the case that fails


class PanicError(BaseException):
    """What a library in Rust raises when it panics: no Exception."""


ERRORS = {
    "an exception": lambda: RuntimeError("boom\x1b[2J"),
    "out of memory": MemoryError,
    "a recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "a full disk": lambda: OSError(28, "No space left on device"),
    "a file that is no text": lambda: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    "a panic": lambda: PanicError("index out of bounds"),
    "a cancellation inside a library": lambda: asyncio.CancelledError("lost the scheduler"),
    "no usage": lambda: ExportError("no browser"),
}


class Kernels:
    """Runs cases without kernels: the notebook has one output."""

    def __init__(self, *_: object, **__: object) -> None:
        self.jobs = 2
        self.output: Callable[[], NotebookNode] = lambda: nbformat.v4.new_output("stream", text="done")

    async def __aenter__(self) -> Kernels:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def run(self, case: Case, report: Report) -> Run:
        await asyncio.sleep(0)
        cell = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("stream", text=f"n is {case.name}")])
        return Run(nbformat.v4.new_notebook(cells=[cell]), 0.1, Status.OK)


def fails_for(name_of: Callable[..., str], original: Callable[..., object], error: Callable[[], BaseException]):
    def wrapped(*arguments: object, **settings: object) -> object:
        if name_of(*arguments) == BAD:
            raise error()
        return original(*arguments, **settings)

    return wrapped


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cases.csv").write_text("n\n0\n1\n2\n3\n")
    save_notebook(tmp_path / "work.ipynb", "n = 0")
    monkeypatch.setattr(batch, "LocalExecutor", Kernels)
    monkeypatch.chdir(tmp_path)

    def run_it(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(report, ["run", "work.ipynb", "--sweep", "cases.csv", "--out", "out", *options])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return run_it


def stage(name: str, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]) -> None:
    """Let one case fail there."""
    match name:
        case "execute":
            original = Kernels.run

            async def execute(self: Kernels, case: Case, report: Report) -> Run:
                if case.name == BAD:
                    raise error()
                return await original(self, case, report)

            monkeypatch.setattr(Kernels, "run", execute)
        case "read the answers":
            name_of = lambda notebook, *_: notebook.cells[0].outputs[0].text.removeprefix("n is ")  # noqa: E731
            monkeypatch.setattr(sweep, "answers_of", fails_for(name_of, sweep.answers_of, error))
        case "export":
            name_of = lambda notebook, title, output: title  # noqa: E731
            monkeypatch.setattr(export, "export", fails_for(name_of, export.export, error))
        case "write":
            name_of = lambda self, stem, files: stem.rpartition("/")[2]  # noqa: E731
            monkeypatch.setattr(ReportFolder, "write_case", fails_for(name_of, ReportFolder.write_case, error))
        case _:
            name_of = lambda record: record.name  # noqa: E731
            monkeypatch.setattr(sweep, "verdict_of", lambda notebook: "")
            original_cases = sweep._describe

            def describe(notebook: NotebookNode, seconds: float, record: object, status: Status) -> None:
                if record.name == BAD:
                    raise error()
                original_cases(notebook, seconds, record, status)

            monkeypatch.setattr(sweep, "_describe", describe)


@pytest.mark.parametrize("error", sampled(ERRORS, 2))
@pytest.mark.parametrize("where", ["execute", "read the answers", "prepare", "export", "write"])
def test_the_other_cases_run_and_the_row_says_what_failed(
    where: str, error: str, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stage(where, monkeypatch, ERRORS[error])

    code, output = run()

    assert code == 1
    cases = cases_in(tmp_path / "out")
    assert {name: case["status"] for name, case in cases.items() if name != BAD} == dict.fromkeys("023", "ok")
    bad = cases[BAD]
    assert bad["status"] in ("failed", "not written")
    assert bad["failure"]
    index = (tmp_path / "out" / "index.html").read_text()
    assert index.count("<tr>") == 5
    assert bad["status"] in index
    assert "\x1b" not in output
    assert json.loads((tmp_path / "out" / "run.json").read_text())["state"] == "finished"
    monkeypatch.undo()


def test_a_kernel_that_does_not_start_costs_its_case_and_one_that_is_missing_the_run(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stage("execute", monkeypatch, lambda: KernelStartError("the kernel did not start"))
    assert run()[0] == 1
    assert [case["status"] for case in cases_in(tmp_path / "out").values()] == ["ok", "kernel died", "ok", "ok"]

    stage("execute", monkeypatch, lambda: KernelMissingError("kernel 'r' is not installed"))
    code, output = run()

    assert code == 2
    assert "kernel 'r' is not installed" in output


def test_progress_that_cannot_be_printed_does_not_end_the_run(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise BrokenPipeError

    for name in ("begin", "cell", "end"):
        monkeypatch.setattr(batch.CaseLines, name, broken)

    assert run()[0] == 0
    assert {case["status"] for case in cases_in(tmp_path / "out").values()} == {"ok"}


def test_a_record_that_cannot_be_written_is_reported_and_the_pages_are_there(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(index_page, "build", broken)

    code, output = run()

    assert code == 1
    assert "cannot write the record to out: RecursionError" in output
    assert sorted(path.name for path in (tmp_path / "out" / "cases").iterdir()) == [f"{n}.html" for n in range(4)]


def test_a_page_that_cannot_be_laid_out_keeps_its_text(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> str:
        raise RecursionError

    monkeypatch.setattr(page, "build", broken)

    assert run()[0] == 0
    text = (tmp_path / "out" / "cases" / "1.html").read_text()
    assert "could not be rendered (RecursionError)" in text
    assert "n is 1" in text


PARAMETERS = [
    '{"n": 1e400}', '{"n": 99999999999999999999999999}', '{"n": "\\ud800"}', '{"n": {"a": [null, "\\u0000"]}}',
]  # fmt: skip


@pytest.mark.parametrize("row", sampled(PARAMETERS, 4))
def test_values_that_a_record_cannot_hold_do_not_end_the_run(row: str, run, tmp_path: Path):
    (tmp_path / "cases.jsonl").write_text(f'{{"n": 0}}\n{row}\n{{"n": 2}}\n')

    code, _ = run("--sweep", "cases.jsonl")

    assert code == 0
    assert [case["status"] for case in cases_in(tmp_path / "out").values()] == ["ok"] * 3
