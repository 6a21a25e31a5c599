"""Check the options of ``svc report run``, and read its parameters, cases and secrets."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from nbformat import NotebookNode

from svc.untrusted.characters import one_line
from svc_jupyter.answers import signing
from svc_jupyter.answers.redaction import MIN_CHARACTERS
from svc_jupyter.report import cases, parameters
from svc_jupyter.report.cases import Case
from svc_jupyter.report.engine import Limits
from svc_jupyter.report.export import FORMATS
from svc_jupyter.report.parameters import ParameterError, Parameters, Value
from svc_jupyter.report.repair import repair, storable

ANSWER_MODES = ("live", "replay", "pin", "refresh")
LOCAL = "local"
STORE_NAME = ".answers"


class UsageError(Exception):
    """An invalid option; the text says which one and what to write instead."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options as written."""

    notebook: Path
    parameter: tuple[str, ...]
    parameter_raw: tuple[str, ...]
    parameters_file: tuple[Path, ...]
    sweep: Path | None
    to: str
    template: str
    paper: str
    executor: str
    jobs: int | None
    answers: str
    answers_store: Path | None
    answers_keep_unlogged: bool
    fail_on_change: bool
    cell_timeout: int | None
    notebook_timeout: float | None
    max_failures: int | None
    resume: bool
    out: Path | None
    redact: tuple[str, ...]
    is_json: bool

    @property
    def is_sweep(self) -> bool:
        """Whether there is one case per row, with an index page."""
        return self.sweep is not None

    @property
    def limits(self) -> Limits:
        """The time limits."""
        return Limits(cell_seconds=self.cell_timeout, notebook_seconds=self.notebook_timeout)

    @property
    def store(self) -> Path:
        """The folder of stored answers."""
        return (self.answers_store or self.notebook.parent / STORE_NAME).resolve()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that configure stored answers in the kernels."""
        key_file = os.environ.get(signing.VARIABLE)
        return {
            "SVC_ANSWERS": self.answers,
            "SVC_ANSWERS_STORE": str(self.store),
            "SVC_ANSWERS_KEEP_UNLOGGED": "1" if self.answers_keep_unlogged else "",
            signing.VARIABLE: str(Path(key_file).absolute()) if key_file else "",
        }

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats, each once. Raises UsageError."""
        names = tuple(dict.fromkeys(name.strip().lower() for name in self.to.split(",") if name.strip()))
        unknown = [name for name in names if name not in FORMATS]
        if unknown or not names:
            raise UsageError(f"--to {self.to}: unknown format {', '.join(unknown)}. Formats: {', '.join(FORMATS)}.")
        return names

    @property
    def scheduler(self) -> str | None:
        """The address of a dask scheduler as dask writes it; None for this machine. Raises UsageError."""
        if self.executor == LOCAL:
            return None
        address = urlsplit(self.executor)
        if address.scheme != "dask" or not address.netloc:
            raise UsageError(f"--executor {self.executor}: write local, or dask://HOST:PORT.")
        return f"tcp://{address.netloc}"

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        if self.is_sweep and self.out is None:
            raise UsageError("--sweep requires --out FOLDER.")
        if self.resume and self.out is None:
            raise UsageError("--resume requires --out FOLDER, the folder of the earlier run.")
        if "ipynb" in self.formats and self.out is None:
            raise UsageError("--to ipynb would overwrite the notebook; it requires --out FOLDER.")
        _ = self.scheduler
        try:
            signing.check()
        except signing.KeyFileError as error:
            raise UsageError(f"{signing.VARIABLE}: {error}") from error


def read(path: Path) -> NotebookNode:
    """Read a notebook. Raises UsageError if it is not one."""
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about IDs of cells, which repair() sets
            notebook = nbformat.reads(text, as_version=4)
            nbformat.validate(notebook)
    except Exception as error:  # nbformat raises what its steps raise: for JSON of other kinds, versions, depths
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [""])[0] or type(error).__name__
        raise UsageError(f"{path} is not a valid notebook: {one_line(reason, limit=200)}") from error
    return repair(notebook)


def read_cases(options: Options, notebook: NotebookNode) -> list[Case]:
    """Return the cases; one without a sweep. Raises UsageError."""
    try:
        known = parameters.known_names(notebook)
        fixed = _fixed(options, known)
        if options.sweep is not None:
            return cases.load(options.sweep, fixed, known, Path.cwd(), options.redact)
        return [Case(options.notebook.stem, parameters.build(fixed, Path.cwd()))]
    except ParameterError as error:
        raise UsageError(str(error)) from error


def defaults(notebook: NotebookNode, options: Options) -> dict[str, Value]:
    """Return the parameters that the notebook itself sets, redacted."""
    found = parameters.defaults(notebook)
    return {name: parameters.HIDDEN if name in options.redact else storable(value) for name, value in found.items()}


def secrets(options: Options, cases: list[Case]) -> tuple[str, ...]:
    """Return all values to redact: the API key, secret parameters, and values named by --redact."""
    found = [os.environ.get("SVC_API_KEY", ""), *(secret for case in cases for secret in case.parameters.secrets)]
    for name in options.redact:
        values = [str(case.parameters.values[name]) for case in cases if name in case.parameters.values]
        values += [os.environ[name]] if os.environ.get(name) else []
        if not values:
            raise UsageError(f"--redact {name}: no parameter or environment variable has this name.")
        short = [value for value in values if len(value) < MIN_CHARACTERS]
        if short:
            raise UsageError(
                f"--redact {name}: its value has fewer than {MIN_CHARACTERS} characters and would match too much text."
            )
        found += values
    return tuple(dict.fromkeys(filter(None, found)))


def digest(notebook: NotebookNode) -> str:
    """Return the SHA-256 of the notebook's cells without outputs, and of its kernel's name."""
    cells = [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in notebook.cells]
    text = json.dumps([cells, notebook.metadata.get("kernelspec", {})], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(case: Case, notebook_digest: str, options: Options) -> str:
    """Identify a case for --resume, by the notebook, its parameters, and the output's format, template and paper."""
    text = "\0".join([notebook_digest, case.fingerprint, ",".join(options.formats), options.template, options.paper])
    return hashlib.sha256(text.encode()).hexdigest()


def _fixed(options: Options, known: list[str]) -> Mapping[str, Value]:
    values: dict[str, Value] = {}
    for path in options.parameters_file:
        read = parameters.load(path)
        parameters.check(list(read), known, str(path))
        values |= read
    for word in options.parameter:
        name, value = _pair("-p", word)
        values[name] = parameters.typed(value)
    for word in options.parameter_raw:
        name, value = _pair("-r", word)
        values[name] = value
    parameters.check(list(values), known, "-p")
    return values


def _pair(option: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"{option} {word}: write name=value.")
    return name.strip(), value


def shown(values: Parameters, named: tuple[str, ...]) -> dict[str, Value]:
    """Return the parameters of a case, redacted."""
    return {name: parameters.HIDDEN if name in named else storable(value) for name, value in values.shown().items()}
