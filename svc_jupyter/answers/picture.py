"""A picture of a turn, displayed as an image and never as markup of the page.

The bytes become a ``data:`` URL of an ``img``, in which a browser does not run an SVG's scripts or load its references.
A chart fills the width of its place and keeps its height, so that its text stays readable; other images keep their
shape. JupyterLab with our extension draws a chart into the page instead, by the mark that the output has.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from dataclasses import dataclass, field

KINDS = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp")
MARK = "application/vnd.svc.picture+json"
"""The extension renders outputs with this type; the picture itself is in ``text/html``, once."""
FULL_WIDTH = "100%"
_CHART = re.compile(rb'<svg xmlns="http://www\.w3\.org/2000/svg" class="svc-chart" width="100%" height="(\d{1,4})"')


@dataclass(frozen=True)
class Picture:
    """A picture. ``title`` is its alternative text; ``content`` are the untrusted bytes from the service."""

    title: str
    mime_type: str
    content: bytes = field(repr=False)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        encoded = b64encode(self.content).decode()
        title = html.escape(self.title, quote=True)
        chart = _CHART.match(self.content)
        size = f'width="{FULL_WIDTH}" height="{chart[1].decode()}"' if chart else 'width="900"'
        image = f'<img alt="{title}" title="{title}" src="data:{self.mime_type};base64,{encoded}" {size}>'
        return {MARK: {}, "text/html": image, "text/plain": f"[picture: {self.title}]"}
