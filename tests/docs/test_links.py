"""Links between the pages lead to files and headings that exist, and the index has every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import pages

FILES = sorted([*pages.DOCS.glob("*.md"), *(pages.ROOT / ".github").glob("*.md"), pages.ROOT / "README.md"])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


def anchors(path: Path) -> set[str]:
    """As GitHub makes them from headings."""
    found = re.findall(r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(pages.ROOT).as_posix())
def test_links_lead_somewhere(path: Path):
    for target, anchor in LINK.findall(path.read_text("utf-8")):
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


def test_the_index_has_every_page():
    linked = {target for target, _ in LINK.findall(pages.text("README.md"))}

    assert {path.name for path in pages.DOCS.glob("*.md")} - {"README.md"} <= linked
