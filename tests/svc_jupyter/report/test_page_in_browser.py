"""A report's page and index in Chromium, offline: nothing is asked for, nothing runs, axe is content; and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page
from pypdf import PdfReader

from svc_jupyter.report.export import Format, export
from svc_jupyter.report.page import build
from tests.support.npm_workspace import WORKSPACE, install
from tests.support.reports import run_report

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
AXE = WORKSPACE / "node_modules" / "axe-core" / "axe.min.js"
NIGHTLY = "03_nightly_host_report.ipynb"
PAGES = ("triage.html", "brief.html", "out/index.html", "out/cases/WS-17.html")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a sweep, and of the triage notebook in both templates."""
    folder = tmp_path_factory.mktemp("pages")
    fixed = ("--sweep", "evidence/hosts.csv", "--answers", "pin", "--out", str(folder / "out"))
    assert run_report("run", NIGHTLY, *fixed, folder=NOTEBOOKS).returncode == 0
    triage = nbformat.read(NOTEBOOKS / "02_triage.ipynb", as_version=4)
    (folder / "triage.html").write_text(build(triage, title="Triage"))
    (folder / "tables.html").write_text(build(tables(), title="Tables"))
    (folder / "brief.html").write_text(build(triage, title="Triage", template="brief"))
    return folder


def table_of(columns: int) -> str:
    """A table with long headings and values, as DataFrames are."""
    heads = "".join(f"<th>a_long_heading_{n:02}</th>" for n in range(columns - 1))
    cells = "".join(f"<td>C:\\Windows\\System32\\value{n}.exe and more</td>" for n in range(columns - 1))
    return (
        f"<table><thead><tr>{heads}<th>LAST{columns}</th></tr></thead>"
        f"<tbody><tr>{cells}<td>end{columns}</td></tr></tbody></table>"
    )


COLUMNS = (3, 6, 7, 12, 13, 18, 19, 30)


def tables() -> nbformat.NotebookNode:
    """A report with tables of many widths, text without spaces, and a fold."""
    outputs = [nbformat.v4.new_output("display_data", data={"text/html": table_of(n)}) for n in COLUMNS]
    outputs.append(nbformat.v4.new_output("display_data", data={"text/markdown": "x" * 500}))
    outputs.append(nbformat.v4.new_output("stream", text="y" * 500))
    folded = "**V.**\n\n<details>\n<summary>64 accounts</summary>\n\n| Account |\n|---|\n| unfolded |\n\n</details>"
    outputs.append(nbformat.v4.new_output("display_data", data={"text/markdown": folded}))
    cells = [nbformat.v4.new_markdown_cell("# Tables"), nbformat.v4.new_code_cell("tables()", outputs=outputs)]
    values = {"host": "web-3", "log": "auth.log"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"svc": {"case": "web-3", "parameters": values}})


@pytest.fixture(scope="module")
def browser(pages: Path, browser: Browser) -> Browser:
    """Open after the pages were made: while it is, this thread has a running loop."""
    return browser


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(offline=True, **getattr(request, "param", {}))
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_it_asks_for_nothing_and_breaks_no_policy(name: str, page: Page, pages: Path):
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    address = (pages / name).as_uri()

    page.goto(address)

    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert said == []
    assert page.locator("script").count() == 0
    assert all(page.locator("img").evaluate_all("images => images.map(i => i.complete && i.naturalWidth > 0)"))


LIGHT = {"color_scheme": "light", "bypass_csp": True}  # to run axe in a page that runs nothing
DARK = {"color_scheme": "dark", "bypass_csp": True}
NARROW = {**LIGHT, "viewport": {"width": 320, "height": 900}}


@pytest.mark.parametrize(
    ("name", "page"),
    [
        pytest.param("triage.html", LIGHT, id="light"),
        pytest.param("brief.html", NARROW, id="brief, narrow"),
        pytest.param("out/cases/WS-17.html", DARK, id="dark"),
        pytest.param("out/index.html", DARK, id="index, dark"),
        pytest.param("out/index.html", NARROW, id="index, narrow"),
    ],
    indirect=["page"],
)
def test_axe_has_nothing_to_complain_about(name: str, page: Page, pages: Path):
    install()
    page.goto((pages / name).as_uri())
    page.evaluate(AXE.read_text("utf-8"))

    found = page.evaluate("() => axe.run()")

    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found["violations"]] == []


def test_the_contents_lead_to_what_they_name(page: Page, pages: Path):
    page.goto((pages / "triage.html").as_uri())

    page.get_by_role("navigation", name="Contents").get_by_role("link", name="5. The network").click()

    assert page.get_by_role("heading", name="5. The network").evaluate("h => h.getBoundingClientRect().top") < 200


def test_on_paper_no_column_is_squeezed_and_nothing_is_wider_than_the_page(page: Page, pages: Path):
    page.set_viewport_size({"width": 680, "height": 960})  # what A4 leaves between its margins
    page.emulate_media(media="print")
    page.goto((pages / "triage.html").as_uri())

    widths = page.locator("td:has(code)").evaluate_all("cells => cells.map(c => c.getBoundingClientRect().width)")
    wide = page.locator("table").evaluate_all("tables => tables.map(t => t.getBoundingClientRect().right)")

    assert min(widths) > 45
    assert max(wide) <= 680


@pytest.mark.parametrize("width", [1440, 1024, 320])
def test_no_table_makes_the_page_wider_than_the_window(width: int, page: Page, pages: Path):
    page.set_viewport_size({"width": width, "height": 900})
    for name in ("tables.html", "triage.html", "out/index.html", "out/cases/WS-17.html"):
        page.goto((pages / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize(("size", "width", "height"), [("a4", 595, 842), ("letter", 612, 792)])
def test_paper_cuts_no_column_and_names_the_host_on_each_page(size: str, width: int, height: int, chromium: str):
    made = export(tables(), "t", Format(names=("pdf",), template="svc", secrets=(), paper=size))

    paper = PdfReader(BytesIO(made[".pdf"]))
    upright, across = (width, height), (height, width)
    assert {tuple(round(float(side)) for side in sheet.mediabox[2:]) for sheet in paper.pages} == {upright, across}
    places: dict[str, float] = {}
    for sheet in paper.pages:
        right = float(sheet.mediabox[2])

        def visit(text: str, cm: list[float], tm: list[float], *_: object, right: float = right) -> None:
            x = cm[0] * tm[4] + cm[4]
            for word in text.split():
                places[word] = max(places.get(word, 0.0), x / right)

        sheet.extract_text(visitor_text=visit)
    texts = ["".join(sheet.extract_text().split()) for sheet in paper.pages]
    for columns in COLUMNS:
        assert any(f"LAST{columns}" in text and f"end{columns}" in text for text in texts), columns
    assert max(places.values()) < 1
    assert [text.startswith("web-3·log=auth.log") for text in texts] == [True] * len(texts)
    assert [f"{n}/{len(texts)}" in text for n, text in enumerate(texts, 1)] == [True] * len(texts)
    assert sum(text.count("x") for text in texts) >= 500
    assert sum(text.count("y") for text in texts) >= 500
    assert any("unfolded" in text for text in texts)


@pytest.mark.slow
def test_a_printed_report_has_its_title_its_pages_numbered_and_links_to_its_parts(chromium: str):
    notebook = nbformat.read(NOTEBOOKS / NIGHTLY, as_version=4)

    made = export(notebook, "nightly", Format(names=("pdf",), template="svc", secrets=("svcmon",)))

    paper = PdfReader(BytesIO(made[".pdf"]))
    texts = [sheet.extract_text() for sheet in paper.pages]
    assert texts[0].index("The night on a host") < texts[0].index("What to look for on other hosts")
    assert [f"{n} / {len(texts)}" in text for n, text in enumerate(texts, 1)] == [True] * len(texts)
    assert "svcmon" not in "".join(texts)
    assert len([link for link in paper.pages[0].get("/Annots", ()) if "/Dest" in link.get_object()]) >= 4
    assert "load_ext" not in "".join(texts)
