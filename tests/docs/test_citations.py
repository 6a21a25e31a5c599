"""Pages and headings that code cites exist. The form is: docs/PAGE.md, "Heading", "Another"."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.docs import pages

FOLDERS = ("svc", "svc_jupyter", "tests", "labextension", ".ci")
KINDS = {".py", ".ts", ".mts", ".cts", ".mjs", ".js", ".css", ".toml", ".yml", ".j2"}
SKIPPED = {"node_modules", "dist", "static", "__pycache__"}
BREAK = re.compile(r"\s*\n\s*(?:#|//|\*(?!/))?\s*")  # the end of a line, with what begins the next line of a comment
CITATION = re.compile(r"docs/([\w-]+\.md)((?:,? (?:and )?\"[^\"]+\"|,(?= ?\"))*)")
OLD_FORM = re.compile(r"\bthe (?:wire|report|reports|notebook|analyst|architecture|panel|skills|design) page\b", re.I)


@cache
def sources() -> dict[str, str]:
    files = [pages.ROOT / "pyproject.toml"]
    for folder in FOLDERS:
        files += [
            path
            for path in (pages.ROOT / folder).rglob("*")
            if path.suffix in KINDS and not SKIPPED & set(path.relative_to(pages.ROOT).parts)
        ]
    others = [path for path in files if path != Path(__file__)]
    return {path.relative_to(pages.ROOT).as_posix(): BREAK.sub(" ", path.read_text("utf-8")) for path in others}


@cache
def headings_of(page: str) -> frozenset[str]:
    return frozenset(pages.headings(page))


def citations() -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (name, page, tuple(re.findall(r'"([^"]+)"', cited)))
        for name, text in sources().items()
        for page, cited in CITATION.findall(text)
    ]


def test_cited_pages_and_headings_exist():
    cited = {(name, page, heading) for name, page, headings in citations() for heading in headings}

    assert {(name, page) for name, page, _ in citations() if not (pages.DOCS / page).is_file()} == set()
    assert {one for one in cited if one[2] not in headings_of(one[1])} == set()


def test_the_citations_are_found():
    found = citations()

    assert len(found) >= 50
    assert ("svc/config.py", "wire.md", ("Addresses and authentication", "Network and deployment")) in found
    assert ("svc/_retry.py", "wire.md", ("Errors", "Close codes")) in found
    assert ("labextension/packages/sdk/src/streamer.ts", "wire.md", ("Websocket",)) in found


def test_nothing_cites_a_page_without_its_name():
    assert {name: found[0] for name, text in sources().items() if (found := OLD_FORM.findall(text))} == {}
