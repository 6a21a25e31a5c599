"""The scripts inside markup: pages, HTML applications, Windows script files and pictures in SVG. Pure.

Each script element has its own language, and in XML its text may be escaped or in a CDATA section. Addresses of scripts
elsewhere are not code, so they are not read here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from svc.assistant.skills.script.language import Language

MAX_SCRIPTS = 30
_START = re.compile(r"<script\b([^<>]{0,500})>", re.IGNORECASE)
_END = re.compile(r"</script\s*>", re.IGNORECASE)
_CDATA = re.compile(r"\A\s{0,40}(?://|<!--)?\s{0,40}<!\[CDATA\[(.*)\]\]>\s{0,40}\Z", re.DOTALL)
_VISUAL_BASIC = re.compile(r"\bvb", re.IGNORECASE)
_DATA = re.compile(r"\btype\s{0,3}=\s{0,3}[\"']?(?:application/(?:ld\+)?json|text/(?:template|html|x-))", re.IGNORECASE)
_XML = re.compile(r"\A\s*(?:<\?xml|<svg\b|<!DOCTYPE svg|<package\b|<job\b)", re.IGNORECASE)
_HANDLER = re.compile(
    r"\son(?:load|begin|click|error|mouseover)\s{0,3}=\s{0,3}(?:\"([^\"]{3,4000})\"|'([^']{3,4000})')", re.I
)


def scripts_in(text: str) -> Iterator[tuple[Language, str]]:
    """Yield the language and the code of each script element, then the handlers of the elements as one script."""
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        return
    is_xml = _XML.match(text) is not None
    at = 0
    for _ in range(MAX_SCRIPTS):
        start = _START.search(text, at)
        end = _END.search(text, start.end()) if start else None
        if start is None or end is None:
            break
        at = end.end()
        code = text[start.end() : end.start()]
        section = _CDATA.match(code)
        plain = _without_comment(section[1]) if section else html.unescape(code) if is_xml else code
        if plain.strip() and not _DATA.search(start[1]):
            yield Language.VBA if _VISUAL_BASIC.search(start[1]) else Language.JAVASCRIPT, plain
    handlers = [html.unescape(match[1] or match[2]) for match in _HANDLER.finditer(text)]
    if handlers:
        yield Language.JAVASCRIPT, ";\n".join(handlers[:MAX_SCRIPTS])


def _without_comment(code: str) -> str:
    """The content of a CDATA section whose end is behind ``//``, so that browsers read it as script as well."""
    stripped = code.rstrip()
    return stripped.removesuffix("//") if stripped.endswith("//") else code
