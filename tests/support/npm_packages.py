"""A project that uses our npm packages as other people's do: installed by npm, next to the tools of the workspace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.support.npm_workspace import PATH, WORKSPACE

NAMES = {"svc-sdk.tgz": "@svc-jupyter/sdk", "svc-chat.tgz": "@svc-jupyter/chat"}
_CALM = ("--no-audit", "--no-fund", "--no-progress", "--prefer-offline")


def run(*words: object, cwd: Path, **environ: str) -> str:
    """Run a program of Node's; return what it printed."""
    command = [shutil.which(str(words[0]), path=PATH) or str(words[0]), *map(str, words[1:])]
    environment = {**os.environ, "PATH": PATH, "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", **environ}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


def make_project(folder: Path, *packages: object) -> Path:
    """A project of a fresh folder with these packages: addresses, tarballs or folders, as `npm install` takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"name": "project", "version": "1.0.0", "private": True}))
    run("npm", "install", *_CALM, *packages, cwd=folder)
    return folder


def served_addresses(base_url: str) -> list[str]:
    return [f"{base_url}/dist/{name}" for name in NAMES]


def add_tools(project: Path) -> None:
    """Let the project import what the workspace has installed, such as React and Vite."""
    modules = project / "node_modules"
    for path in (WORKSPACE / "node_modules").iterdir():
        if path.name.startswith((".", "svc-")) or path.name == "@svc-jupyter":
            continue
        if not (modules / path.name).exists():
            (modules / path.name).symlink_to(path, target_is_directory=True)


def compile_strictly(project: Path, resolution: str, *files: str) -> None:
    """Check files of the project as strictly as TypeScript can, with the types of its packages."""
    module = {"node16": "node16", "nodenext": "nodenext", "bundler": "esnext"}[resolution]
    options = {
        "module": module,
        "moduleResolution": resolution,
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "noEmit": True,
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "noUncheckedIndexedAccess": True,
    }
    config = project / f"tsconfig.{resolution}.json"
    config.write_text(json.dumps({"compilerOptions": options, "files": files}))
    run("node", WORKSPACE / "node_modules" / "typescript" / "bin" / "tsc", "-p", config.name, cwd=project)
