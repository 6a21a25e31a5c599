"""The command ``svc deploy``: prints the files that run the service in containers. They ship with the package."""

from __future__ import annotations

from importlib.resources import files

import click

from svc.untrusted.terminal import echo

_FILES = {"compose": "compose.yaml", "containerfile": "Containerfile", "kubernetes": "kubernetes.yaml"}


@click.command()
@click.argument("what", metavar="compose|containerfile|kubernetes", type=click.Choice(list(_FILES)))
def deploy(what: str) -> None:
    """Print a file that runs the service in a container.

    containerfile is the image of this version, compose and kubernetes run it: one process on a SQLite database, not as
    root, with a read-only file system. A reverse proxy in front of it terminates TLS.

    \b
      svc deploy containerfile > Containerfile
      svc deploy compose > compose.yaml
      docker compose up --detach
    """
    import svc

    text = (files(__package__) / "files" / _FILES[what]).read_text("utf-8")
    echo(text.replace("@VERSION@", svc.__version__).rstrip("\n"))
