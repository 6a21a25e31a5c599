"""The command ``svc bundle``: all that a machine without a network needs, in one folder or TAR."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from svc.untrusted.terminal import echo

_PLATFORMS = ("linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64", "windows-amd64")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--python",
    metavar="VERSION",
    type=click.Choice(["3.11", "3.12", "3.13", "3.14"]),
    help="Python of the other machine, such as 3.12. Default: this one's.",
)
@click.option("--platform", type=click.Choice(_PLATFORMS), help="The other machine. Default: like this one.")
@click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="NAME",
    help="Include the packages of this extra, such as lab (repeatable).",
)
@click.option(
    "--source",
    metavar="PATH|REQUIREMENT",
    help="Wheel, sdist or checkout of svc-jupyter. Default: what this installation was made from.",
)
def bundle(out: Path, python: str | None, platform: str | None, extras: tuple[str, ...], source: str | None) -> None:
    """Make OUT, a folder or FILE.tar, that installs svc-jupyter on a machine without a network.

    It has wheels of svc-jupyter and everything that it needs, requirements with hashes, the knowledge tables and rule
    sets of this machine, and an installer that needs Python only.

    \b
    Examples:
      svc bundle svc-jupyter.tar
      svc bundle --python 3.12 --platform windows-amd64 --extra lab for-windows.tar
    """
    from svc.cli.bundle import contents, wheelhouse
    from svc.cli.bundle.targets import THIS, Target, label, this_target

    if out.exists() or out.is_symlink():
        raise click.ClickException(f"{out} exists already. Remove it, or choose another name")
    if not out.absolute().parent.is_dir():
        raise click.ClickException(f"there is no folder {out.absolute().parent}. Create it first")
    target = Target(python or this_target().python, platform or THIS)
    echo(f"Collecting packages for {label(target)} …", err=True)
    with tempfile.TemporaryDirectory(prefix=".svc-bundle-", dir=out.absolute().parent) as name:
        folder = Path(name) / "bundle"
        (folder / "wheelhouse").mkdir(parents=True)
        wheels = wheelhouse.collect(folder / "wheelhouse", source or wheelhouse.installed_from(), extras, target)
        digest = contents.complete(folder, wheels, target, extras)
        if out.suffix == ".tar":
            contents.pack(folder, Path(name) / out.name)
            shutil.move(Path(name) / out.name, out)
        else:
            shutil.move(folder, out)
    echo(f"{out}: {len(wheels)} wheels. On the other machine: python install.py (README.txt says more)")
    echo(f"SHA-256 of its SHA256SUMS: {digest}")
