# ruff: noqa: E501  # a payload is on one line
"""Reports in Chromium, with a payload at every place of a notebook, a record and a comparison.

Judged by the DOM and the network: no script runs, nothing is requested, and no link, image or form is live that the
template does not have. A link that a notebook's author wrote in Markdown or HTML stays a link, without a request.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from svc import Message, MessageType
from svc_jupyter.answers.answer import Answer, Origin
from svc_jupyter.report import diff_page, index_page
from svc_jupyter.report.diff import compare
from svc_jupyter.report.page import build
from svc_jupyter.report.record import AnswerRecord, CaseRecord, RunRecord
from svc_jupyter.report.repair import repair
from tests.support.sampling import sampled
from tests.svc_jupyter.report.test_hostile_notebooks import notebook_of

RUN = "window.pwned=1"
ADDRESS = "http://payload.example/x"
PAYLOADS = {
    "open: script": f"<script>{RUN}</script>",
    "open: image": f"<img src={ADDRESS} onerror={RUN}>",
    "open: commandlinker": '<button data-commandlinker-command="x">a</button><a data-commandlinker-command="x" data-commandlinker-args="{}">b</a>',
    "open: section": f"<![CDATA[<img src={ADDRESS}>]]><![foo[x]]>",
    "open: svg": f"<svg onload={RUN}><image href={ADDRESS} /><script>{RUN}</script></svg>",
    "open: frame": f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe><iframe src={ADDRESS}></iframe>",
    "open: javascript link": f"<a id=live href='java\tscript:{RUN}'>x</a>",
    "open: markdown": f"![a]({ADDRESS}) [b](javascript:{RUN})",
    "open: end of the page": f"</pre></details></main></body></html><body onload={RUN}><script>{RUN}</script>",
    "open: end of the head": f"</title></style></head><body><script>{RUN}</script>",
    "open: attribute": f"\"' onmouseover={RUN} style='background:url({ADDRESS})' x=",
    "held: formula": f"$\\href{{javascript:{RUN}}}{{x}}$ $$<script>{RUN}</script>$$ \\(<img src={ADDRESS}>\\)",
    "held: style": f"<style>@import '{ADDRESS}'; body{{background:url({ADDRESS})}}</style><p style='background:url({ADDRESS})'>x",
    "held: links": f"<link rel=stylesheet href={ADDRESS}><link rel=prefetch href={ADDRESS}><base href={ADDRESS}>",
    "held: refresh": f"<meta http-equiv=refresh content='0;url={ADDRESS}'>",
    "held: form": f"<form action={ADDRESS}><input autofocus onfocus={RUN}><button formaction={ADDRESS}>x</button></form>",
    "held: media": f"<video src={ADDRESS} poster={ADDRESS} autoplay></video><audio src={ADDRESS} autoplay></audio>",
    "held: object": f"<object data={ADDRESS}></object><embed src={ADDRESS}><portal src={ADDRESS}></portal>",
    "held: source set": f"<img srcset='{ADDRESS} 1x' src=data:image/png;base64,AA==><picture><source srcset={ADDRESS}></picture>",
    "held: template": f"<template shadowrootmode=open><img src={ADDRESS} onerror={RUN}></template>",
    "held: foreign content": f"<math><mtext><table><mglyph><style><img src={ADDRESS} onerror={RUN}></style></table></mtext></math>",
    "held: noscript": f"<noscript><p title='</noscript><img src={ADDRESS} onerror={RUN}>'></noscript>",
    "held: toggle": f"<details open ontoggle={RUN}><summary>x</summary></details><dialog open onclose={RUN}>x</dialog>",
    "held: page in an image": f"<img src='data:text/html,<script>{RUN}</script>'><a href='data:text/html,<script>{RUN}</script>'>x</a>",
    "held: entities": f"&lt;script&gt;{RUN}&lt;/script&gt; www&period;payload&period;example&lt;img src={ADDRESS} onerror={RUN}&gt;",
    "held: comment": f"<!--><img src={ADDRESS} onerror={RUN}>--><!-- --!><img src={ADDRESS} onerror={RUN}>",
    "held: mermaid": f"```mermaid\nclick a call {RUN}\n```\n<pre class=mermaid>x</pre>",
    "held: NUL in a name": f"<scr\0ipt>{RUN}</script><\0script>{RUN}</script><img\0 src={ADDRESS} onerror={RUN}>",
}  # fmt: skip
LIVE = """() => ({
  scripts: document.querySelectorAll('script').length,
  elements: [...document.querySelectorAll('iframe,object,embed,form,input,button,svg,math,video,audio,base,link,template,dialog')]
    .map(e => e.outerHTML.slice(0, 80)),
  attributes: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes].filter(
    a => a.name.startsWith('on') || a.name.startsWith('data-commandlinker') || a.name === 'srcset'
      || (a.name === 'style' && e.closest('body'))).map(a => a.name)),
  links: [...document.querySelectorAll('a[href]')].map(a => a.protocol).filter(p => !['file:', 'http:', 'https:'].includes(p)),
  images: [...document.querySelectorAll('img[src]')].map(i => i.src).filter(s => !s.startsWith('data:image/')),
  policies: document.head.querySelectorAll('meta[http-equiv=Content-Security-Policy]').length,
  pwned: window.pwned === 1,
})"""
DEAD = {"scripts": 0, "elements": [], "attributes": [], "links": [], "images": [], "policies": 1, "pwned": False}

SHARES = 4  # of the payloads: each run opens every fourth


def answer_with(text: str) -> nbformat.NotebookNode:
    """The text in every field of an answer."""
    message = Message(message_type=MessageType.RESULT, content=text, turn=text)
    data, metadata = Answer((message,), text, text, Origin(key=text, question=text))._repr_mimebundle_()
    return nbformat.v4.new_code_cell(
        text, outputs=[nbformat.v4.new_output("display_data", data=data, metadata=metadata)]
    )


def pages_of(text: str) -> dict[str, str]:
    notebook = notebook_of(text)
    notebook.cells.append(answer_with(text))
    notebook = repair(notebook)
    answer = AnswerRecord(
        text, text, text, text, text, 1.0, False, [dict.fromkeys(("id", "kind", "severity", "title"), text)]
    )
    case = CaseRecord(
        name=text, fingerprint=text, parameters={text: text}, failure=text, verdict=text, files={f"{text}.html": text},
        answers=[answer],
    )  # fmt: skip
    record = RunRecord(
        svc=text, notebook=text, notebook_sha256=text, formats=[text], answers=text, started=1.0, cases=[case]
    )
    return {
        "svc": build(notebook, title=text),
        "brief": build(notebook, title=text, template="brief"),
        "lab": build(notebook, title=text, template="lab"),
        "index": index_page.build(record),
        "diff": diff_page.as_html(compare({}, {text: [answer]}), text, text),
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", sampled(range(SHARES), 1))
def test_no_payload_at_any_place_is_live(browser: Browser, tmp_path: Path, share: int):
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    wrong = []
    for number, (name, payload) in islice(enumerate(PAYLOADS.items()), share, None, SHARES):
        for kind, text in pages_of(payload).items():
            path = tmp_path / f"{number}-{kind}.html"
            path.write_text(text, encoding="utf-8", errors="replace")
            asked.clear()
            page.goto(path.as_uri())
            found = page.evaluate(LIVE)
            requests = [url for url in asked if not url.startswith("data:") and url != path.as_uri()]
            if found != DEAD or requests:
                wrong.append((name, kind, {key: found[key] for key in found if found[key] != DEAD[key]}, requests))
    context.close()

    assert wrong == []
