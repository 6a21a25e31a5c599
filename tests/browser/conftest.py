"""Shared fixtures of the browser tests: monitored pages, and screenshots of failed tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.support.npm_workspace import install
from tests.support.watched import OpenPage, Watched

SHOTS = Path(__file__).parent / "shots"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first of those that want npm's packages may have to wait for them."""
    for item in items:
        if "installed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def installed() -> None:
    """What the workspace's lock names: React, esbuild and axe-core among it."""
    install()


@pytest.fixture
def open_page(browser: Browser, built: None, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Open a watched page of a fresh profile: no request may leave the machine, and none may break the policy."""
    contexts: list[BrowserContext] = []
    pages: list[Watched] = []

    def start(*, width: int = 1_280, height: int = 860, **options: object) -> Watched:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        pages.append(Watched(context.new_page()))
        return pages[-1]

    yield start
    for number, watched in enumerate(pages):
        SHOTS.mkdir(exist_ok=True)
        watched.page.screenshot(path=SHOTS / f"{request.node.name[:80]}-{number}.png")
    for context in contexts:
        context.close()
    for watched in pages:
        assert watched.strangers == []
        assert [line for line in watched.said if "Content Security Policy" in line] == []
