"""Measure how high answers are in a notebook, with JupyterLab's styles, at the widths at which they are read.

    python -m tests.benchmarks.answer_heights [--screenshots DIR] [--question TEXT] FILE ...

Each FILE is asked about by itself; the answer is shown as a cell shows it, folds closed, pictures below it. Prints one
line per file and width: height of the answer in CSS pixels, and of what is shown before the first fold. Needs Chromium
and Playwright.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter

from svc.messages import MimeType
from svc.untrusted.markdown import safe_markdown
from svc_jupyter.answers.picture import Picture
from svc_jupyter.browser import find_browser
from tests.support.inline_analyst import Asked, ask

WIDTHS = {1440: "notebook at 1440 x 900", 1024: "notebook at 1024", 320: "sidebar"}
THEMES = ("light", "dark")
_HEIGHT = """() => {
  const area = document.querySelector('.jp-OutputArea');
  const top = area.getBoundingClientRect().top;
  const first = area.querySelector('details');
  const box = area.getBoundingClientRect();
  const opening = (first ? first.getBoundingClientRect().top : box.bottom) - top;
  return [box.height, opening, document.documentElement.scrollWidth > window.innerWidth];
}"""


def page(asked: Asked, theme: str) -> str:
    """The notebook with the answer, as a page with JupyterLab's styles."""
    outputs = [nbformat.v4.new_output("display_data", {"text/markdown": safe_markdown(asked.markdown)})]
    drawn = [
        Picture(title=step.title or "", mime_type=str(step.mime_type), content=base64.b64decode(step.content))
        for step in asked.steps
        if step.mime_type is MimeType.SVG
    ]
    shown = drawn[:1]
    try:
        from svc_jupyter.answers.more_pictures import MorePictures
    except ModuleNotFoundError:  # a version that shows all pictures
        shown = drawn
    else:
        shown += [MorePictures(drawn[1:])] if drawn[1:] else []
    for picture in shown:
        html = picture._repr_mimebundle_()["text/html"]
        outputs.append(nbformat.v4.new_output("display_data", {"text/html": html}))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%%svc", outputs=outputs)])
    exporter = HTMLExporter(template_name="lab", theme=theme, exclude_input=True, exclude_output_prompt=True)
    return exporter.from_notebook_node(notebook)[0]


def measure(pages: dict[str, dict[str, str]], screenshots: Path | None) -> list[dict[str, object]]:
    """Heights of all pages at all widths; screenshots at 1440 in both themes."""
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, object]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for name, by_theme in pages.items():
            for width in WIDTHS:
                tab = browser.new_page(viewport={"width": width, "height": 900})
                tab.route(re.compile("^https?:"), lambda route: route.abort())
                tab.set_content(by_theme["light"], wait_until="load")
                height, opening, is_too_wide = tab.evaluate(_HEIGHT)
                rows.append(
                    {
                        "file": name,
                        "width": width,
                        "height": round(height),
                        "opening": round(opening),
                        "scrolls": is_too_wide,
                    }
                )
                tab.close()
            for theme in THEMES if screenshots is not None else ():
                for width in (1440, 320):
                    tab = browser.new_page(viewport={"width": width, "height": 900})
                    tab.route(re.compile("^https?:"), lambda route: route.abort())
                    tab.set_content(by_theme[theme], wait_until="load")
                    tab.screenshot(path=str(screenshots / f"{name}-{theme}-{width}.png"))
                    tab.close()
        browser.close()
    return rows


async def _answers(files: list[Path], question: str) -> dict[str, Asked]:
    return {file.name: await ask(question, (file.name, file.read_bytes())) for file in files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--question", default="What happened?")
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    answers = asyncio.run(_answers(options.files, options.question))
    themes = THEMES if options.screenshots else THEMES[:1]
    pages = {name: {theme: page(asked, theme) for theme in themes} for name, asked in answers.items()}
    rows = measure(pages, options.screenshots)
    for row in rows:
        print(f"{row['file']:<60.60} {row['width']:>5} {row['height']:>7} px, opening {row['opening']:>5} px")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
