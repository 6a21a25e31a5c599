"""README keeps its word: its two commands stand where they are promised, and its examples run."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_two_sh_blocks_are_the_two_commands():
    assert [block.strip() for block in blocks("sh")] == [
        "pip install . && svc report run notebooks/01_ask.ipynb",
        'pip install ".[test]" && pytest -n 2',
    ]


def test_python_examples_run_one_after_the_other(local_state: Path):
    program = "\n".join(blocks("python"))

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert "9.8" in done.stdout
    assert "203[.]0[.]113[.]9" in done.stdout


RULE = """title: Root logs in
id: 3f1c9a52-6d2e-4b7e-9b0a-5d1f6f0c2a11
status: experimental
author: A team
level: low
logsource: {product: linux, service: sshd}
detection:
  login:
    - 'Accepted password for root'
  condition: login
"""
CATALOGUE = '{"catalogVersion": "1", "dateReleased": "2026-11-20", "vulnerabilities": []}'


@pytest.fixture
def examples_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path / "knowledge"))
    (tmp_path / "auth.log").write_text(
        "Nov 20 03:12:45 web1 sshd[1]: Accepted password for root from 192.0.2.7 port 2 ssh2\n"
    )
    (tmp_path / "my-rules").mkdir()
    (tmp_path / "my-rules" / "root.yml").write_text(RULE)
    (tmp_path / "known_exploited_vulnerabilities.json").write_text(CATALOGUE)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.splitlines()[0].removeprefix("$ "))
def test_console_examples_run_one_after_the_other(block: str, local_state: Path, examples_folder: Path):
    for line in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        command = [str(Path(sys.executable).with_name("svc")), *shlex.split(line)[1:]]

        done = subprocess.run(command, cwd=examples_folder, env=os.environ, capture_output=True, text=True, timeout=60)

        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_pictures_and_files_that_readme_names_are_there():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


NIGHTLY = ["svc", "report", "run", "nightly.ipynb", "--sweep", "hosts.csv", "--resume", "--out"]


def commands_of_schedulers() -> dict[str, str]:
    """What each recipe gives to a shell, by the recipe."""
    (cron,), (manifest,), (flow,) = blocks("cron"), blocks("yaml"), blocks("py")
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
    (manifest,) = blocks("yaml")
    job = yaml.safe_load(manifest)
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]

    assert (job["apiVersion"], job["kind"], job["spec"]["schedule"]) == ("batch/v1", "CronJob", "15 4 * * *")
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert [e["name"] for e in pod["containers"][0]["env"] if "valueFrom" in e] == ["SVC_API_KEY"]
    assert pod["restartPolicy"] == "Never"
