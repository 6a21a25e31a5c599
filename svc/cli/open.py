"""The command ``svc open``: shows the service's page in the browser, signed in.

No key reaches an address, a command line or a cookie: a file of mode 0600 holds a form with a one-time code, and posts
it. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import html
import os
import tempfile
import time
import webbrowser
from pathlib import Path

import click

from svc.config import state_folder

_OLD_SECONDS = 60  # a code serves no longer: what is older was used, or never will be
_NAME = "open-"
_FILE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>svc</title>
<form method="post" action="{address}"><input type="hidden" name="code" value="{code}"><button>Open svc</button></form>
<script>document.forms[0].submit();</script>
"""


@click.command("open")
def open_page() -> None:
    """Open the service's page in the browser, signed in for 12 hours: the chat, and your API keys.

    The service is the one that SVC_API_KEY and SVC_BASE_URL name, else a local one, which starts by itself. The
    browser is this machine's (or the one that BROWSER names); where there is none, the file to open is shown.
    """
    from svc.client import Svc  # the network's libraries load when a command needs them

    folder = state_folder()
    with Svc() as client:
        code = client.make_page_code()
        file = write_form(folder, f"{client.base_url}/", code)
    if webbrowser.open(file.as_uri()):
        click.echo(f"The page of {client.base_url} opens in the browser.")
    else:
        click.echo(f"No browser was found. Open this file within a minute, once: {file}")


def write_form(folder: Path, address: str, code: str) -> Path:
    """A file of this user's alone that brings the code to the address when it is opened; old ones are removed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob(f"{_NAME}*.html"):
        if time.time() - old.stat().st_mtime > _OLD_SECONDS:
            old.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=_NAME, suffix=".html", dir=folder)  # with mode 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
        sink.write(_FILE.format(address=html.escape(address), code=html.escape(code)))
    return Path(name)
