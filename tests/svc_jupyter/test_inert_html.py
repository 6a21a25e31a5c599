"""The HTML that the notebook side writes holds hostile text as text, and the HTML of others is cleaned."""

from __future__ import annotations

import nbformat
import pytest
from bs4 import BeautifulSoup

from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.listing import Listing
from svc_jupyter.answers.picture import Picture
from svc_jupyter.magics.live_output import Steps
from svc_jupyter.report.page import build
from svc_jupyter.report.prepare import clean
from tests.support.hostile_text import HELD, OPEN, live_parts

PAYLOADS = [
    pytest.param(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), id=name)
    for name, text in (OPEN | HELD).items()
]
LINKER = (  # CVE-2026-42557: JupyterLab runs the command of a clicked element in an output
    '<p data-commandlinker-command="notebook:run-all-cells" data-commandlinker-args="{}">x</p>'
    '<a href="#x" data-commandlinker-command="terminal:create-new">x</a>'
)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_is_displayed_as_html_holds_text_alone(payload: str):
    steps = Steps()
    steps.add(payload, 1.0)
    listing = Listing(payload, (payload,), [(payload, payload)])
    picture = Picture(title=payload, mime_type="image/png", content=payload.encode("utf-8", "replace"))
    area = {"elements": ("details", "summary"), "attributes": ("open",)}

    assert live_parts(steps.running(2.0, max_lines=5)["text/html"], **area) == []
    assert live_parts(steps.finished(payload, 2.0)["text/html"], **area) == []
    assert live_parts(listing._repr_html_()) == []
    shown = picture._repr_mimebundle_()["text/html"]
    assert live_parts(shown, elements=("img",), attributes=("alt", "src", "width")) == []
    assert ' src="data:image/png;base64,' in shown


@pytest.mark.parametrize("payload", [*PAYLOADS, pytest.param(LINKER, id="CVE-2026-42557")])
def test_html_of_others_in_a_report_runs_loads_and_commands_nothing(payload: str):
    cleaned = clean(payload)

    own = ("a", "b", "i", "img", "section", "details", "summary")
    assert live_parts(cleaned, elements=own, attributes=("alt", "href", "open", "src")) == []
    images = BeautifulSoup(cleaned, "html.parser")("img", src=True)
    assert all(str(image["src"]).startswith("data:") for image in images)
    links = BeautifulSoup(cleaned, "html.parser")("a", href=True)
    assert all(str(link["href"]).startswith(("#", "http://", "https://")) for link in links)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_hostile_question_is_a_heading_without_links(payload: str):
    answer = {
        MIME_TYPE: {"key": "k", "model": "m", "text": "x", "findings": []},
        "text/markdown": "x",
        "text/plain": "x",
    }
    output = nbformat.v4.new_output("display_data", answer, metadata={MIME_TYPE: {"question": payload}})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%%svc", outputs=[output])])

    page = build(notebook, title="t", template="brief")
    body = page[page.index("<body") :]

    elements = ("main", "nav", "details", "summary", "body", "a")
    found = live_parts(body, elements=elements, attributes=("aria-label", "data-mime-type", "open"))
    found = [one for one in found if one != "<a href>"]
    assert found == []
    assert body.count("<a ") == body.count('<a class="anchor-link" href="#')
