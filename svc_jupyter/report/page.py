"""An executed notebook as one HTML page that is safe to open: sanitized, nothing loaded from anywhere, no script.

Decides what the page may contain; runs nothing and writes nothing. Three walls: only known kinds of output, only known
elements in them, and a policy that tells the browser the same. Facts: the report page, "Facts"; CSP Level 3.
"""

from __future__ import annotations

import copy
from pathlib import Path

import bleach
from bs4 import BeautifulSoup, Tag
from nbconvert import HTMLExporter
from nbformat import NotebookNode

from svc_jupyter.redaction import redact

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
TEMPLATES = Path(__file__).parent / "templates"

_KINDS = ("text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/latex", "text/plain")
_TAGS = (
    *("a", "abbr", "acronym", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt"),
    *("em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p"),
    *("pre", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul"),
)
_ATTRIBUTES = ("align", "alt", "class", "colspan", "height", "id", "lang", "open", "rowspan", "scope", "start", "title")
_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;", "data:image/svg+xml;")
_NEVER = ("script", "iframe", "object", "embed", "link", "base", "form", "noscript", "template")


def build(notebook: NotebookNode, *, title: str, template: str = "svc", secrets: tuple[str, ...] = ()) -> str:
    """The page. Keys, and whatever stands in ``secrets``, are replaced. The notebook stays as it is."""
    exporter = HTMLExporter(
        template_name=template,
        extra_template_basedirs=[str(TEMPLATES)],
        sanitize_html=True,
        filters={"clean_html": clean},
    )
    page, _ = exporter.from_notebook_node(_known_kinds(notebook), resources={"metadata": {"name": title}})
    return redact(_closed(page), secrets)


def clean(fragment: object) -> str:
    """HTML from a cell with nothing in it but known elements and attributes; others are shown as text."""
    soup = BeautifulSoup(str(fragment), "html.parser")
    for element in soup(["style", "script"]):  # their text is no text for people
        element.decompose()
    cleaned: str = bleach.clean(str(soup), tags=_TAGS, attributes=_is_allowed, protocols=["http", "https", "data"])
    return cleaned


def _known_kinds(notebook: NotebookNode) -> NotebookNode:
    """A copy without widgets, scripts and pictures by address: these need a kernel, or run, or load."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "data" in output:
                known = {kind: output.data[kind] for kind in _KINDS if kind in output.data}
                missing = {"text/plain": f"({', '.join(output.data)}: not shown in a report)"} if output.data else {}
                output.data = NotebookNode(known or missing)
                output.metadata = NotebookNode()
    return notebook


def _is_allowed(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay: an image only where its bytes are in the page."""
    if tag == "img" and name == "src":
        return value.startswith(_IMAGES)
    if tag == "a" and name == "href":
        return value.startswith(("#", "https://", "http://"))
    return name in _ATTRIBUTES


def _closed(page: str) -> str:
    """The page with its policy, without anything that runs or loads, whoever put it there."""
    soup = BeautifulSoup(page, "html.parser")
    for element in soup(_NEVER):
        element.decompose()
    for element in soup.find_all(_is_open):
        for name in [name for name in element.attrs if _runs_or_loads(name, str(element[name]))]:
            del element[name]
    policy = soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY})
    referrer = soup.new_tag("meta", attrs={"name": "referrer", "content": "no-referrer"})
    head = soup.head
    if head is None:
        raise ValueError("nbconvert made a page without a head; its template is not the one that this was made for")
    head.insert(0, policy)
    head.insert(1, referrer)
    return str(soup)


def _is_open(element: Tag) -> bool:
    return any(_runs_or_loads(name, str(value)) for name, value in element.attrs.items())


def _runs_or_loads(name: str, value: str) -> bool:
    name = name.lower()
    return name.startswith("on") or name in ("srcset", "srcdoc") or (name == "src" and not value.startswith("data:"))
