"""What the tests in a browser share: Chromium, pages that are watched, and screenshots of those that failed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from npm_workspace import install
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from watched import OpenPage, Watched

ROOT = Path(__file__).parents[2]
SHOTS = Path(__file__).parent / "shots"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def built() -> None:
    """What the service serves was built from the sources that are here."""
    spec = spec_from_file_location("hatch_build", ROOT / "labextension" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    if not hook.is_built(ROOT):
        hook.build(ROOT)


@pytest.fixture(scope="session")
def installed() -> None:
    """What the workspace's lock names: React, esbuild and axe-core among it."""
    install()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Closed with the module: while it is open this thread has a running loop, and no other test can have one."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield found
        found.close()


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
