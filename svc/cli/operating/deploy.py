"""The command ``svc deploy``: prints the files that run the service in containers. They ship with the package."""

from __future__ import annotations

from importlib.resources import files

import click

from svc.untrusted.terminal import echo

_FILES = {
    "compose": "compose.yaml", "containerfile": "Containerfile", "kubernetes": "kubernetes.yaml",
    "balancer": "Caddyfile",
}  # fmt: skip
_OF_A_CLUSTER = {"compose": "compose-cluster.yaml", "kubernetes": "kubernetes-cluster.yaml"}


@click.command()
@click.argument("what", metavar="compose|containerfile|kubernetes|balancer", type=click.Choice(list(_FILES)))
@click.option("--cluster", is_flag=True, help="Two equal services and a worker on PostgreSQL (compose, kubernetes).")
def deploy(what: str, *, cluster: bool) -> None:
    """Print a file that runs the service in containers.

    containerfile is the image of this version, compose and kubernetes run it: one process on a SQLite database, or with
    --cluster two services and a worker on PostgreSQL. balancer is the configuration of the balancer that compose
    --cluster has. Nothing runs as root, and file systems are read-only. Each file says at its top what it needs.

    \b
      svc deploy containerfile > Containerfile
      svc deploy compose > compose.yaml
      docker compose up --detach
    """
    import svc

    if cluster and what not in _OF_A_CLUSTER:
        raise click.UsageError(f"--cluster goes with {' and '.join(_OF_A_CLUSTER)}; leave it out for {what}")
    name = _OF_A_CLUSTER[what] if cluster else _FILES[what]
    text = (files(__package__) / "files" / name).read_text("utf-8")
    echo(text.replace("@VERSION@", svc.__version__).rstrip("\n"))
