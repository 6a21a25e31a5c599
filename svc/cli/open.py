"""The command ``svc open``: opens the service's web page in the browser, signed in.

No key is part of a URL, a command line or a cookie: a file of mode 0600 has a form that submits a one-time code.
Facts: docs/wire.md, "The service's page".
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
from svc.process_safety.private_files import make_private_folder
from svc.untrusted.terminal import echo

_OLD_SECONDS = 60  # a code is valid for that long, so older files are of no use
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
    """Open the service's web page, signed in.

    The page has the chat and your API keys. The sign-in lasts for 12 hours.

    The service is the one in SVC_API_KEY and SVC_BASE_URL, else the local one, which is started if it is not running.
    The browser is the default one or that in BROWSER; without a browser, the path of a file to open is printed.
    """
    from svc.client import Svc  # the network's libraries load when a command needs them

    folder = state_folder()
    with Svc() as client:
        code = client.make_page_code()
        file = write_form(folder, f"{client.base_url}/", code)
    if webbrowser.open(file.as_uri()):
        echo(f"Opened {client.base_url} in the browser. Confirm the sign-in there.")
    else:
        echo(f"No browser found. Open this file within a minute (it works once): {file}")


def write_form(folder: Path, address: str, code: str) -> Path:
    """Write a file that submits the code to ``address`` when it is opened, readable by this user only.

    Older files of the kind are removed.
    """
    make_private_folder(folder)
    for old in folder.glob(f"{_NAME}*.html"):
        if time.time() - old.stat().st_mtime > _OLD_SECONDS:
            old.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=_NAME, suffix=".html", dir=folder)  # with mode 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
        sink.write(_FILE.format(address=html.escape(address), code=html.escape(code)))
    return Path(name)
