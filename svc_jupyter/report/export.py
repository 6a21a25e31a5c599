"""Export an executed notebook as HTML, PDF, Markdown or a notebook.

Makes bytes, writes no file that stays. Everything in it is redacted before it becomes a format.
"""

from __future__ import annotations

import copy
import html
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat import NotebookNode

from svc.untrusted.characters import one_line, printable
from svc_jupyter.answers.redaction import redact, redact_all
from svc_jupyter.answers.status_mark import SYMBOL
from svc_jupyter.browser import BROWSER_VARIABLE, find_browser
from svc_jupyter.report import plain_page
from svc_jupyter.report.compiled_templates import CompiledTemplates
from svc_jupyter.report.content.paper import SIZES
from svc_jupyter.report.errors import ExportError

FORMATS = ("html", "ipynb", "md", "pdf")
PDF_SECONDS = 120  # for the browser; it takes about one
_COMPILED = CompiledTemplates()
_MARKDOWN_KINDS = ("text/markdown", "image/png", "image/jpeg", "text/plain")


@dataclass(frozen=True, kw_only=True)
class Format:
    """The output formats, nbconvert's name of the template, what is redacted, and the paper of PDF files."""

    names: tuple[str, ...]
    template: str
    secrets: tuple[str, ...]
    paper: str = SIZES[0]


def check(names: Sequence[str]) -> None:
    """Raise ExportError if a format needs something that is not installed."""
    if "pdf" in names:
        _browser()


def export(notebook: NotebookNode, title: str, output: Format) -> dict[str, bytes]:
    """Export a notebook that this run executed.

    Returns the files by their suffix after the case's name: ``.html`` …; Markdown's pictures in a folder.
    """
    notebook = redact_all(notebook, output.secrets)
    files: dict[str, bytes] = {}
    page = b""
    if {"html", "pdf"} & set(output.names):
        page = _page(notebook, title, output).encode()
    for name in output.names:
        match name:
            case "html":
                files[".html"] = page
            case "pdf":
                files[".pdf"] = _pdf(_for_print(page))
            case "ipynb":
                files[".ipynb"] = (nbformat.writes(notebook) + "\n").encode()
            case _:
                files.update(_markdown(notebook, title))
    return files


def _page(notebook: NotebookNode, title: str, output: Format) -> str:
    """The page; if it cannot be laid out, one with the same text and no layout, so that no answer is lost."""
    from svc_jupyter.report.page import build

    try:
        return build(
            notebook,
            title=title,
            template=output.template,
            secrets=output.secrets,
            is_fresh=True,
            size=output.paper,
        )
    except ExportError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a library raises for an output that it cannot read
        reason = f"This page could not be rendered ({type(error).__name__}). Cells and outputs are shown as text."
        blocks = "\n".join(f"<pre>{html.escape(text)}</pre>" for text in _texts(notebook))
        page = plain_page.build(title, f"<p><strong>{SYMBOL} {html.escape(reason)}</strong></p>\n{blocks}")
        return redact(page, output.secrets)


def _for_print(page: bytes) -> bytes:
    from svc_jupyter.report.page import for_print

    return for_print(page.decode()).encode()


def _texts(notebook: NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        yield printable(cell.source)
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            error = "\n".join(output.get("traceback", ()))
            yield printable(str(data.get("text/plain") or data.get("text/markdown") or output.get("text", "") or error))


def _markdown(notebook: NotebookNode, title: str) -> dict[str, bytes]:
    """Return Markdown without raw HTML, and its pictures as files."""
    from nbconvert import MarkdownExporter

    from svc_jupyter.report.content.questions import arrange
    from svc_jupyter.report.prepare import add_footers, not_shown

    notebook = copy.deepcopy(notebook)
    arrange(notebook, is_markup=False)
    add_footers(notebook)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "data" in output:
                known = {kind: output.data[kind] for kind in _MARKDOWN_KINDS if kind in output.data}
                output.data = NotebookNode(known or {"text/plain": not_shown(output.data)})
    folder = f"{title}_files"
    resources = {"metadata": {"name": title}, "unique_key": title, "output_files_dir": folder}
    exporter = MarkdownExporter()
    exporter.environment.bytecode_cache = _COMPILED
    text, made = exporter.from_notebook_node(notebook, resources=resources)
    pictures = {f"_files/{Path(name).name}": bytes(content) for name, content in made.get("outputs", {}).items()}
    return {".md": text.encode(), **pictures}


def _pdf(page: bytes) -> bytes:
    """Print the page to PDF with Chromium; the page's policy keeps it from loading or running anything."""
    browser = _browser()
    with TemporaryDirectory(prefix="svc-pdf-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_bytes(page)
        command = [
            *(
                browser,
                "--headless=new",
                "--disable-gpu",
                "--no-pdf-header-footer",
                f"--user-data-dir={folder}/profile",
            ),
            *(["--no-sandbox"] if _is_root() else []),  # Chromium refuses its sandbox to root
            *(f"--print-to-pdf={target}", source.as_uri()),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=PDF_SECONDS, check=False)  # noqa: S603  # ours
        except subprocess.TimeoutExpired as error:
            raise ExportError(f"{browser} did not create the PDF within {PDF_SECONDS} s") from error
        if not target.exists():
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no error message"]
            raise ExportError(f"{browser} could not create the PDF: {reason[0][:200]}")
        return target.read_bytes()


def _browser() -> str:
    found = find_browser()
    if found is None:
        named = os.environ.get(BROWSER_VARIABLE)
        missing = f"{BROWSER_VARIABLE} names {one_line(named)}, which was not found" if named else "none was found"
        raise ExportError(
            f"PDF output needs Chromium, Chrome or Edge; {missing}. Install one, or set "
            f"{BROWSER_VARIABLE}=/path/to/chromium"
        )
    return found


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
