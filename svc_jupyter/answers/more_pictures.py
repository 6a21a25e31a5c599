"""The pictures of an answer after the first, folded: an answer shows one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svc.untrusted.markup import plural
from svc_jupyter.answers.picture import Picture


@dataclass(frozen=True)
class MorePictures:
    """Pictures that a viewer shows when the reader opens them."""

    pictures: Sequence[Picture]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = [picture._repr_mimebundle_() for picture in self.pictures]
        title = plural(len(shown), "more picture")
        images = "\n".join(f"<p>{picture['text/html']}</p>" for picture in shown)
        return {
            "text/html": f"<details>\n<summary>{title}</summary>\n{images}\n</details>",
            "text/plain": "\n".join(str(picture["text/plain"]) for picture in shown),
        }
