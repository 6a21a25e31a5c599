"""A page other than a notebook: one file that loads and runs nothing, with styles for print and dark mode."""

from __future__ import annotations

import html

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
html { background: light-dark(#ffffff, #16181c); color: light-dark(#1a1c1e, #e6e6e6); }
a { color: light-dark(#0b57d0, #8ab4f8); }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
caption { text-align: start; padding: 0 0 .5rem; }
th, td { border-bottom: 1px solid #8888; padding: .4rem .6rem; text-align: start; vertical-align: top; }
td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.status { white-space: nowrap; font-weight: 600; }
td.text, li { overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } }
"""


def build(title: str, body: str, style: str = "") -> str:
    """Build the page. ``title`` is text; ``body`` is markup in which the caller has escaped all text."""
    title = html.escape(title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
