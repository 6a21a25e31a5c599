"""An executed notebook as one HTML page that is safe to open: sanitized, nothing loaded from anywhere, no script.

Runs nothing and writes nothing. Three walls: only known kinds of output and known elements in them (``prepare.py``),
no element of the finished page that acts (``sanitize.py``), and a policy that tells the browser the same. Facts:
docs/reports.md, "Pages"; CSP Level 3.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from traitlets.config import Config

from svc_jupyter.answers.redaction import redact
from svc_jupyter.report.compiled_templates import CompiledTemplates
from svc_jupyter.report.content.paper import SIZES
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.prepare import POLICY, Prepare
from svc_jupyter.report.sanitize import clean, clean_body, open_folds, with_scrolling_tables

TEMPLATES = Path(__file__).parent / "templates"

_BODY_START = re.compile(r"<body[^<>]*>")
_COMPILED = CompiledTemplates()
_NEVER = ("script", "iframe", "object", "embed", "link", "base", "form", "noscript", "template")


def build(
    notebook: NotebookNode,
    *,
    title: str,
    template: str = "svc",
    secrets: tuple[str, ...] = (),
    is_fresh: bool = False,
    size: str = SIZES[0],
) -> str:
    """Build the page; the notebook is not changed.

    Args:
        notebook: An executed notebook.
        title: The page's title, if the notebook has none.
        template: A built-in template, or one of nbconvert's.
        secrets: What is redacted, besides keys.
        is_fresh: The outputs come from a kernel of this run; otherwise answers without a valid signature are marked.
        size: The paper to print on, one of ``paper.SIZES``.

    Raises ExportError if there is no such template.
    """
    settings = {"is_fresh": is_fresh, "paper": size}
    try:
        exporter = HTMLExporter(
            template_name=template,
            extra_template_basedirs=[str(TEMPLATES)],
            sanitize_html=True,
            filters={"clean_html": clean},
            config=Config({"Prepare": settings}),
        )
    except ValueError as error:  # what nbconvert raises where it finds no template
        own = ", ".join(sorted(entry.name for entry in os.scandir(TEMPLATES)))
        raise ExportError(f"--template {template}: unknown template. Built in: {own}.") from error
    exporter.environment.bytecode_cache = _COMPILED
    if not (TEMPLATES / template).is_dir():
        exporter.register_preprocessor(Prepare(**settings), enabled=True)
    page, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    return redact(_closed(page), secrets)


def for_print(page: str) -> str:
    """Return a page with everything open that paper could not open, except code."""
    top, end, body = page.partition("</head>")
    return f"{top}{end}{open_folds(body)}"


def _closed(page: str) -> str:
    """Add the policy, and remove everything that would run or load anything.

    The head is the template's and has no markup of the notebook; the body is cleaned as a whole.
    """
    top, _, rest = page.partition("</head>")
    soup = BeautifulSoup(top, "html.parser")
    opening = _BODY_START.search(rest)
    if soup.head is None or opening is None:
        raise ExportError("the template does not produce an HTML page with a head")
    for element in soup([*_NEVER, _is_directive]):
        element.decompose()
    for element in soup.find_all(_is_open):
        for name in [name for name in element.attrs if _runs_or_loads(name, str(element[name]))]:
            del element[name]
    policy = soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY})
    referrer = soup.new_tag("meta", attrs={"name": "referrer", "content": "no-referrer"})
    soup.head.insert(0, policy)
    soup.head.insert(1, referrer)
    head = str(soup).removesuffix("</html>").rstrip()
    body = with_scrolling_tables(clean_body(rest[opening.end() :]))
    return f"{head}\n{opening[0]}{body}</body>\n</html>\n"


def _is_directive(element: Tag) -> bool:
    """Whether the element instructs the browser: a policy or a redirect."""
    return element.name == "meta" and (element.has_attr("http-equiv") or element.get("name") == "referrer")


def _is_open(element: Tag) -> bool:
    return any(_runs_or_loads(name, str(value)) for name, value in element.attrs.items())


def _runs_or_loads(name: str, value: str) -> bool:
    name = name.lower()
    return name.startswith("on") or name in ("srcset", "srcdoc") or (name == "src" and not value.startswith("data:"))
