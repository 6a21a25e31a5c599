"""Links between the pages lead to files and headings that exist. Sphinx checks those to pages that it writes itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import pages

FILES = [
    *(pages.DOCS / name for name in pages.names()),
    *sorted((pages.ROOT / ".github").glob("*.md")),
    pages.ROOT / "README.md",
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
REPOSITORY = re.compile(
    r"\]\(https://(?:github\.com/svc-jupyter/svc-jupyter/(?:blob|tree)|raw\.githubusercontent\.com/svc-jupyter/svc-jupyter)"
    r"/main/([^)\s#]*)(?:#([^)\s]+))?\)"
)
WRITTEN_BY_SPHINX = re.compile(r"generated/(\w+)\.md$|tutorials/(\w+\.ipynb)$")


def anchors(path: Path) -> set[str]:
    """As GitHub makes them from headings."""
    found = re.findall(r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def is_written_by_sphinx(file: Path) -> bool:
    match = WRITTEN_BY_SPHINX.search(file.as_posix())
    if match is None:
        return False
    page, notebook = match.groups()
    source = pages.ROOT / "notebooks" / notebook if notebook else pages.DOCS / f"_extensions/reference_pages/{page}.py"
    assert source.is_file(), file
    return True


def check(file: Path, anchor: str) -> None:
    if is_written_by_sphinx(file):
        return
    assert file.exists(), file
    assert not anchor or anchor in anchors(file), f"{file}#{anchor}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(pages.ROOT).as_posix())
def test_links_lead_somewhere(path: Path):
    text = path.read_text("utf-8")
    for target, anchor in LINK.findall(text):
        check((path.parent / target).resolve() if target else path, anchor)
    for target, anchor in REPOSITORY.findall(text):
        check(pages.ROOT / target, anchor)
