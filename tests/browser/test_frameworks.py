"""docs/typescript.md, each of its snippets: bundled with the packages that a service serves, and used in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.docs import pages
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService
from tests.support.npm_packages import add_tools, make_project, run, served_addresses
from tests.support.watched import Host, OpenPage, host

SNIPPET = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {title: BLOCK.findall(text) for title, text in SNIPPET.findall(pages.text("typescript.md"))}

GIVEN = "const { apiKey, baseUrl } = window.given; window.results = []; const onResult = (r) => window.results.push(r);"
PLACE = 'document.getElementById("place")'
REACT = f"""import {{ createElement }} from "react"; import {{ createRoot }} from "react-dom/client";
import Triage from "./triage.jsx"; {GIVEN}
createRoot({PLACE}).render(createElement(Triage, {{ apiKey, baseUrl, onResult }}));"""
STARTS = {
    "React": ("triage.jsx", "jsx", REACT),
    "Next.js": ("triage.jsx", "jsx", REACT),
    "Vue": (
        "triage.vue", "vue",
        f"""import {{ createApp, h }} from "vue"; import Triage from "./triage.vue"; {GIVEN}
        createApp(() => h(Triage, {{ apiKey, baseUrl, onResult }})).mount({PLACE});""",
    ),
    "Svelte": (
        "triage.svelte", "svelte",
        f"""import {{ mount }} from "svelte"; import Triage from "./triage.svelte"; {GIVEN}
        mount(Triage, {{ target: {PLACE}, props: {{ apiKey, baseUrl, onResult }} }});""",
    ),
    "The SDK": (
        "ask.js", "js",
        f"""import {{ ask }} from "./ask.js"; {GIVEN}
        ask("what is new?", apiKey, baseUrl).then((text) => {{ {PLACE}.textContent = text; }});""",
    ),
}  # fmt: skip
PLUGINS = {
    "Svelte": 'import { svelte } from "@sveltejs/vite-plugin-svelte";\nexport default { plugins: [svelte()] };',
    "React": "export default {};",
    "Next.js": "export default {};",
    "The SDK": "export default {};",
}
VITE = (
    "import { build } from 'vite'; await build({ logLevel: 'error', "
    "build: { outDir: 'out', minify: false, lib: { entry: 'start.js', formats: ['es'], fileName: () => 'app.js' } }, "
    "define: { 'process.env.NODE_ENV': JSON.stringify('production') } });"
)
ESBUILD = (
    "import { build } from 'esbuild'; await build({ entryPoints: ['start.js'], bundle: true, format: 'esm', "
    "outfile: 'out/app.js', jsx: 'automatic', define: { 'process.env.NODE_ENV': '\"production\"' } });"
)


def block(title: str, language: str) -> str:
    return next(text for kind, text in BLOCKS[title] if kind == language)


@pytest.fixture
def site() -> Iterator[Host]:
    with host() as found:
        yield found


@pytest.fixture
def service(start_service: StartService, site: Host) -> ThreadService:
    """A service that the site's pages may use."""
    return start_service(Echo, allowed_origins=(site.origin,))


def bundled(folder: Path, service: ThreadService, title: str, build: str) -> str:
    """The script of a project with this snippet."""
    project = make_project(folder / "project", *served_addresses(service.base_url))
    add_tools(project)
    name, language, start = STARTS[title]
    (project / name).write_text(block(title, language))
    (project / "start.js").write_text(start)
    (project / "vite.config.mjs").write_text(block("Vue", "js") if title == "Vue" else PLUGINS[title])
    run("node", "--input-type=module", "-e", build, cwd=project)
    return (project / "out" / "app.js").read_text("utf-8")


def show(open_page: OpenPage, site: Host, service: ThreadService, script: str) -> Page:
    given = json.dumps({"apiKey": service.key, "baseUrl": service.base_url})
    site.pages["/app.js"] = script
    site.pages["/"] = (
        '<!doctype html><meta charset="utf-8"><title>app</title><link rel="icon" href="data:,"><div id="place"></div>'
        f'<script>window.given = {given}</script><script type="module" src="/app.js"></script>'
    )
    page = open_page().page
    page.goto(site.origin)
    return page


def ask_in(page: Page) -> None:
    box = page.get_by_label("Question")
    expect(box).to_be_enabled()
    box.fill("echo hello")
    box.press("Enter")
    page.wait_for_function("() => window.results.length === 1", timeout=20_000)
    assert page.evaluate("() => [window.results[0].state, window.results[0].answer.includes('hello')]") == [
        "answered", True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "build"),
    [
        pytest.param("React", ESBUILD, id="React-esbuild"),
        pytest.param("React", VITE, id="React-Vite", marks=pytest.mark.slow),
        pytest.param("Next.js", VITE, id="Next.js-component-Vite", marks=pytest.mark.slow),
        pytest.param("Vue", VITE, id="Vue-Vite", marks=pytest.mark.slow),
        pytest.param("Svelte", VITE, id="Svelte-Vite", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_element_answers_in_a_component(
    installed: None, open_page: OpenPage, site: Host, service: ThreadService, tmp_path: Path, title: str, build: str
):
    ask_in(show(open_page, site, service, bundled(tmp_path, service, title, build)))


@pytest.mark.parametrize(
    "build", [pytest.param(ESBUILD, id="esbuild"), pytest.param(VITE, id="Vite", marks=pytest.mark.slow)]
)
def test_the_sdk_asks_from_a_page(
    installed: None, open_page: OpenPage, site: Host, service: ThreadService, tmp_path: Path, build: str
):
    page = show(open_page, site, service, bundled(tmp_path, service, "The SDK", build))
    expect(page.locator("#place")).to_contain_text("what is new?", timeout=20_000)


def test_every_framework_of_the_page_is_tried():
    frameworks = {title for title, blocks in BLOCKS.items() if {kind for kind, _ in blocks} & {"jsx", "vue", "svelte"}}
    assert frameworks <= set(STARTS)
