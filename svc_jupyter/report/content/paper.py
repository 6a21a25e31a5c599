"""Paper of a printed page: its size, and the running header and page numbers in its margins.

The text in the margins is written into a style sheet, in which every unusual character is an escape: CSS Syntax 3,
"Consume an escaped code point".
"""

from __future__ import annotations

import os
import re

from svc.untrusted.characters import one_line

SIZES = ("a4", "letter")
RUNNING_CHARACTERS = 110  # what one line of the margin holds
_LETTER_COUNTRIES = ("US", "CA", "MX", "PH", "CL", "CO", "VE", "GT", "CR", "DO", "PA", "PR", "SV")
_LOCALE_VARIABLES = ("LC_ALL", "LC_PAPER", "LANG")
_UNUSUAL = re.compile(r"[^A-Za-z0-9 .,:/=_-]")


def default() -> str:
    """Return letter if the locale is of a country that uses it, otherwise A4."""
    name = next((os.environ[variable] for variable in _LOCALE_VARIABLES if os.environ.get(variable)), "")
    country = re.fullmatch(r"[A-Za-z]{2,3}_([A-Z]{2})(?:[.@].*)?", name)
    return "letter" if country and country[1] in _LETTER_COUNTRIES else "a4"


def style(size: str, header: str, footer: str) -> str:
    """Return the rules of the pages; ``header`` and ``footer`` are any text."""
    font = "font: 8pt system-ui, sans-serif; color: #555;"
    return (
        f"@page {{ size: {size if size in SIZES else SIZES[0]}; margin: 2cm 1.6cm 1.8cm;\n"
        f"  @top-left {{ content: {_string(header)}; {font} }}\n"
        f"  @bottom-left {{ content: {_string(footer)}; {font} }}\n"
        f'  @bottom-right {{ content: counter(page) " / " counter(pages); {font} }} }}\n'
        f"@page svc-wide {{ size: {size if size in SIZES else SIZES[0]} landscape; }}\n"
    )


def _string(text: str) -> str:
    line = one_line(text, limit=RUNNING_CHARACTERS)
    return '"' + _UNUSUAL.sub(lambda match: f"\\{ord(match[0]):x} ", line) + '"'
