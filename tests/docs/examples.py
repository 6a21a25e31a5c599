"""The code blocks of README and of the pages, and which test runs each.

A fence is ```` ```LANGUAGE [REASON] ````. A block without a reason runs as it stands, in a folder with the files that
the pages name. A reason is a word of ``REASONS``; the blocks of ``ELSEWHERE`` have a test of their own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from tests.docs import pages

REASONS = {
    "installs": "changes the installed packages",
    "interactive": "opens a program that waits for its user",
    "long-running": "runs until it is stopped",
    "needs-model": "needs an endpoint of a language model",
    "needs-network": "needs a registry, or a service on the network",
    "needs-npm": "builds the front end",
    "needs-wheelhouse": "needs packages from another machine",
    "slow": "runs notebooks: run with -m slow",
}
RUN = ("console", "ipython", "python")
ELSEWHERE = {
    ("README.md", "sh"): ".ci/run",
    ("how_to/embed_chat.md", "html"): "tests/browser/test_guides.py",
    ("how_to/embed_chat.md", "http"): "tests/browser/test_guides.py",
    ("how_to/embed_chat.md", "js"): "tests/browser/test_guides.py",
    ("how_to/embed_chat.md", "jsx"): "tests/browser/test_guides.py",
    ("how_to/embed_chat.md", "python"): "tests/browser/test_guides.py",
    ("how_to/jupyterhub.md", "python"): "tests/docs/test_examples.py",
    ("how_to/rules.md", "yaml"): "tests/docs/test_rules_page.py",
    ("how_to/schedulers.md", "cron"): "tests/docs/test_schedulers.py",
    ("how_to/schedulers.md", "py"): "tests/docs/test_schedulers.py",
    ("how_to/schedulers.md", "yaml"): "tests/docs/test_schedulers.py",
    **{("how_to/sources.md", name): "tests/svc/cli/test_sources.py" for name in ("console", "json", "toml")},
    **{("typescript.md", name): "tests/browser/test_frameworks.py" for name in ("html", "js", "jsx", "svelte", "vue")},
}
NO_CODE = ("http", "json", "text", "{include}", "{toctree}")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block. ``reason`` is empty if it runs as it stands."""

    page: str
    language: str
    reason: str
    text: str


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """The code blocks of ``README.md`` or of a page of ``docs/``, in order."""
    path = pages.ROOT / page if page == "README.md" else pages.DOCS / page
    found = (match.groupdict() for match in _FENCE.finditer(path.read_text("utf-8")))
    return tuple(Block(page, *_words(block["info"]), block["text"]) for block in found)


def texts(page: str, language: str) -> list[str]:
    """What the page's blocks in this language hold."""
    return [block.text for block in blocks(page) if block.language == language]


def to_run(page: str) -> list[Block]:
    """The blocks that run as they stand, and those that run slowly."""
    return [
        block
        for block in blocks(page)
        if block.language in RUN and block.reason in ("", "slow") and (page, block.language) not in ELSEWHERE
    ]


def _words(info: str) -> tuple[str, str]:
    language, _, reason = info.strip().partition(" ")
    return language, "" if language.startswith("{") else reason
