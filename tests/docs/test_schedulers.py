"""The recipes for schedulers in docs/how_to/schedulers.md: all of them run the same command, and it works."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

from tests.docs import examples

PAGE = "how_to/schedulers.md"
NIGHTLY = ["svc", "report", "run", "nightly.ipynb", "--sweep", "hosts.csv", "--resume", "--out"]


def commands_of_schedulers() -> dict[str, str]:
    """What each recipe gives to a shell, by the recipe."""
    (cron,), (manifest,), (flow,) = (examples.texts(PAGE, language) for language in ("cron", "yaml", "py"))
    timed = cron.splitlines()[-1].split(maxsplit=5)[5].replace("\\%", "%")
    (container,) = yaml.safe_load(manifest)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    words = next(node.value for node in ast.walk(ast.parse(flow)) if isinstance(node, ast.Assign))
    assert isinstance(words, ast.List)
    flowing = [part.value for part in words.elts if isinstance(part, ast.Constant)]
    return {
        "cron": timed.partition(" && ")[2],
        "Kubernetes": container["command"][2],
        "Prefect": f'{shlex.join(flowing)} "$(date +%F)"',
    }


def test_every_scheduler_runs_the_same_command():
    assert {name: shlex.split(text)[:-1] for name, text in commands_of_schedulers().items()} == dict.fromkeys(
        ("cron", "Kubernetes", "Prefect"), NIGHTLY
    )


def test_what_schedulers_run_makes_a_folder_of_the_day(tmp_path: Path):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("host = ''", metadata={"tags": ["parameters"]})]
    nbformat.write(notebook, tmp_path / "nightly.ipynb")
    (tmp_path / "hosts.csv").write_text("host\nweb-3\n")
    command = ["sh", "-c", commands_of_schedulers()["cron"]]
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])

    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", folder.name)
    assert (folder / "cases" / "web-3.html").exists()


def test_the_manifest_is_a_cron_job_with_its_key_from_a_secret():
    (manifest,) = examples.texts(PAGE, "yaml")
    job = yaml.safe_load(manifest)
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]

    assert (job["apiVersion"], job["kind"], job["spec"]["schedule"]) == ("batch/v1", "CronJob", "15 4 * * *")
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert [e["name"] for e in pod["containers"][0]["env"] if "valueFrom" in e] == ["SVC_API_KEY"]
    assert pod["restartPolicy"] == "Never"
