"""Parse the JSON of a template or an example, however loosely it is written. Pure."""

from __future__ import annotations

import json
import re


def parse_shape(template: str) -> object | None:
    """A template parsed as JSON, with bare placeholders quoted first; None if it is not JSON."""
    text = template.strip()
    if text[:1] not in ("{", "["):
        return None
    quoted = re.sub(r'(?<![\w"])(<[^<>"\n]{1,60}>|\.\.\.|…)(?!")', r'"\1"', text)
    quoted = re.sub(
        r"(?<=[:\[,])\s{0,80}+(?!true\b|false\b|null\b)([A-Za-z][\w |/-]{0,120}?)\s{0,80}(?=[,}\]])", r' "\1"', quoted
    )
    loose = re.sub(r",\s{0,80}(?=[}\]])", "", re.sub(r"(?m)(?<![\s/])\s*+//[^\n\"]{0,400}+$", "", quoted))
    for candidate in (text, quoted, loose, loose.replace("'", '"')):
        try:
            parsed: object = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return parsed
    return None
