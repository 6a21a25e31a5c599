"""Ask GitHub's own parser what it makes of Markdown: whether anything in it would run, load or lead away.

GFM's extended autolinks take everything up to a space or ``<`` into a link, escapes included, so that the text behind
them is read differently than CommonMark reads it. Only a parser with that extension sees the outcome. It runs with raw
HTML and every extension on. Facts: GitHub Flavored Markdown 6.9 "Autolinks (extension)" and cmark-gfm's footnotes.
"""

from __future__ import annotations

import re

_EXTENSIONS = ("table", "autolink", "strikethrough", "tasklist")
_TAG = re.compile(r"<[^>]*>?")
_INERT = re.compile(
    r"</?(?:p|h[1-6]|ul|ol|li|blockquote|table|thead|tbody|tr|em|strong|del|code|pre)>|</t[hd]>|<(?:hr|br) />"
    r'|<t[hd](?: align="(?:left|right|center)")?>|<ol start="\d+">|<code class="language-[^"<>]*">'
    r"|</?(?:details|summary)>"
    r'|<input type="checkbox"(?: checked="")? disabled="" />'
)


def is_inert(markdown: str) -> bool:
    """Whether GFM with raw HTML makes only text of it: no HTML of its own but folds, no image, no link."""
    from cmarkgfm import cmark  # loaded with the first answer

    html = cmark.markdown_to_html_with_extensions(
        markdown.encode("utf-8", "replace").decode(),
        options=cmark.Options.CMARK_OPT_UNSAFE | cmark.Options.CMARK_OPT_FOOTNOTES,
        extensions=_EXTENSIONS,
    )
    return all(_INERT.fullmatch(tag) for tag in _TAG.findall(html))  # the parser writes every other "<" as an entity
