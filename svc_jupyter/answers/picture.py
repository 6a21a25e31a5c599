"""A picture of a turn as a display of its own: an image in every front end, never markup in the page.

The bytes go into a ``data:`` address of an ``img``: there a browser runs no script of an SVG and loads nothing for it.
"""

from __future__ import annotations

import html
from base64 import b64encode
from dataclasses import dataclass, field

KINDS = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True)
class Picture:
    """One drawing. ``title`` is shown where no image can be; ``content`` are the bytes as they came: untrusted."""

    title: str
    mime_type: str
    content: bytes = field(repr=False)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        encoded = b64encode(self.content).decode()
        title = html.escape(self.title, quote=True)
        image = f'<img alt="{title}" title="{title}" src="data:{self.mime_type};base64,{encoded}" width="900">'
        return {"text/html": image, "text/plain": f"[picture: {self.title}]"}
