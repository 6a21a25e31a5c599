"""A picture of a turn, displayed as an image and never as markup of the page.

The bytes become a ``data:`` URL of an ``img``, in which a browser does not run an SVG's scripts or load its references.
"""

from __future__ import annotations

import html
from base64 import b64encode
from dataclasses import dataclass, field

KINDS = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True)
class Picture:
    """A picture. ``title`` is its alternative text; ``content`` are the untrusted bytes from the service."""

    title: str
    mime_type: str
    content: bytes = field(repr=False)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        encoded = b64encode(self.content).decode()
        title = html.escape(self.title, quote=True)
        image = f'<img alt="{title}" title="{title}" src="data:{self.mime_type};base64,{encoded}" width="900">'
        return {"text/html": image, "text/plain": f"[picture: {self.title}]"}
