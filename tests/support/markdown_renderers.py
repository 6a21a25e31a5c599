"""The Markdown renderers that people show answers with, each with raw HTML and links allowed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence

import cmarkgfm.cmark
import commonmark
import markdown
import mistune
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from tests.support.npm_workspace import PATH, WORKSPACE

Renderer = Callable[[str], str]
_SECONDS = 900
_UNSAFE = cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE | cmarkgfm.cmark.Options.CMARK_OPT_FOOTNOTES
_EXTRA = ("extra", "sane_lists", "admonition", "toc")


def _cmark_gfm(text: str) -> str:
    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return cmarkgfm.cmark.markdown_to_html_with_extensions(text, options=_UNSAFE, extensions=extensions)


def _nbconvert(text: str) -> str:
    renderer = IPythonRenderer(escape=False, attachments={}, embed_images=False, path="", anchor_link_text="")
    renderer.exclude_anchor_links = True
    return MarkdownWithMath(renderer=renderer).render(text)


PYTHON: dict[str, Renderer] = {
    "cmark-gfm": _cmark_gfm,
    "mistune (nbconvert)": _nbconvert,
    "mistune": mistune.create_markdown(
        escape=False, plugins=["strikethrough", "table", "url", "footnotes", "def_list"]
    ),
    "markdown-it-py": MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render,
    "python-markdown": markdown.markdown,
    "python-markdown (extra)": lambda text: markdown.markdown(text, extensions=_EXTRA),
    "commonmark.py": commonmark.commonmark,
}


def rendered_by_node(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the pages of npm's renderers by their names; one process renders all texts."""
    node = shutil.which("node", path=PATH)
    assert node is not None, "node is missing; `pip install '.[test]'` brings one"
    command = [node, str(WORKSPACE / "markdown-renderers.mjs")]
    readable = [_readable(text) for text in texts]
    done = subprocess.run(
        command, cwd=WORKSPACE, input=json.dumps(readable), capture_output=True, text=True, timeout=_SECONDS
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout)


def _readable(text: str) -> str:
    """The text as a file or a message can hold it: a lone surrogate cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def rendered(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the pages of all renderers by their names, in the order of the texts."""
    pages = {name: [render(_readable(text)) for text in texts] for name, render in PYTHON.items()}
    return pages | rendered_by_node(texts)
