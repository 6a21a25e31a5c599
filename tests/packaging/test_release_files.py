"""What releases are made with: workflows, images, the conda recipe. None of them runs here, so they are read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import svc
from tests.packaging import conda_recipe
from tests.support.live import free_port, wait_until

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
RELEASED = re.compile(r"[\w.-]+/[\w./-]+@(?:v\d+|release/v\d+|[0-9a-f]{40})")
TRIGGERS = True  # YAML 1.1 reads the key `on` as this


def job(name: str, key: str) -> dict[str, object]:
    return WORKFLOWS[name]["jobs"][key]


def steps(name: str, key: str) -> list[dict[str, object]]:
    return job(name, key)["steps"]


def every_step() -> Iterator[tuple[str, dict[str, object]]]:
    for name, key in JOBS:
        for step in steps(name, key):
            yield f"{name}.{key}", step


@pytest.mark.parametrize(("name", "key"), JOBS, ids="-".join)
def test_a_job_has_a_machine_a_time_limit_and_steps_that_do_one_thing(name: str, key: str):
    assert {"runs-on", "timeout-minutes", "steps"} <= set(job(name, key))
    assert set(job(name, key)) <= {
        "runs-on", "timeout-minutes", "steps", "strategy", "needs", "env", "environment", "permissions",
    }  # fmt: skip
    for step in steps(name, key):
        assert ("uses" in step) != ("run" in step), step
        assert set(step) <= {"uses", "run", "with", "name", "env"}, step


def test_the_workflows_are_the_tests_and_the_release():
    assert set(WORKFLOWS) == {"tests", "release"}
    assert set(WORKFLOWS["tests"][TRIGGERS]) == {"push", "pull_request"}  # not pull_request_target, which has secrets
    assert WORKFLOWS["release"][TRIGGERS] == {"push": {"tags": ["v*"]}}


def test_actions_are_of_a_released_version_and_keep_no_credentials():
    for place, step in every_step():
        if "uses" in step:
            assert RELEASED.fullmatch(step["uses"]), (place, step["uses"])
            if step["uses"].startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False, place


def test_no_script_has_text_of_others_in_it():
    """An expression is inserted before the shell reads the script: a branch's name could be a command."""
    assert [place for place, step in every_step() if "${{" in step.get("run", "")] == []


def test_each_job_has_the_least_permissions():
    assert WORKFLOWS["tests"]["permissions"] == {"contents": "read"}
    assert WORKFLOWS["release"]["permissions"] == {}
    given = {key: one.get("permissions") for key, one in WORKFLOWS["release"]["jobs"].items()}
    assert given == {
        "build": {"contents": "read"},
        "test": {},
        "attest": {"id-token": "write", "attestations": "write"},
        "pypi": {"id-token": "write"},
        "npm": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert not re.search(r"secrets\.|password|_TOKEN: (?!\$\{\{ github\.token \}\})", workflow_text())


def workflow_text() -> str:
    return "".join(path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml"))


def test_the_tests_run_on_each_platform_with_each_python_that_is_named():
    matrix = job("tests", "tests")["strategy"]["matrix"]
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", one)}
    assert named <= set(matrix["python"])
    assert set(matrix["os"]) == {"ubuntu-latest", "macos-latest", "windows-latest"}


def test_what_is_published_was_built_once_tested_and_attested():
    needs = {key: one.get("needs") for key, one in WORKFLOWS["release"]["jobs"].items()}
    assert needs == {
        "build": None, "test": "build", "attest": "test", "pypi": "attest", "npm": "attest", "github": ["pypi", "npm"],
    }  # fmt: skip
    builds = [place for place, step in every_step() if "-m build" in step.get("run", "")]
    assert builds == ["release.build"]
    (published,) = (step for step in steps("release", "pypi") if "pypi-publish" in step.get("uses", ""))
    assert published["with"]["attestations"] is True
    script = "\n".join(step.get("run", "") for step in steps("release", "build"))
    assert "twine check --strict" in script
    assert "sboms" in script
    assert "sha256sum" in script


def test_the_release_checks_that_the_tag_is_the_version():
    (script,) = (step["run"] for step in steps("release", "build") if step.get("name") == "The tag is the version")
    for tag, code in ((f"v{svc.__version__}", 0), (svc.__version__, 1), (f"v{svc.__version__}1", 1)):
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, env={"GITHUB_REF_NAME": tag, "PATH": "/usr/bin:/bin"})
        assert done.returncode == code, tag


def test_files_that_the_workflows_name_exist():
    for path in re.findall(r"(?<![\w./-])(?:\.ci|svc|tests)/[\w./-]+", workflow_text()):
        assert (ROOT / path).exists(), path


INSTRUCTIONS = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)
STAGE = re.compile(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM |\Z)", re.MULTILINE | re.DOTALL)
CONTAINERFILE = (ROOT / ".container" / "Containerfile").read_text("utf-8")
STAGES = {name: (base, INSTRUCTIONS.findall(text)) for base, name, text in STAGE.findall(CONTAINERFILE)}


def whole(stage: str) -> list[tuple[str, str]]:
    """A stage's instructions, those of the stage before it first."""
    base, own = STAGES[stage]
    return [*(whole(base) if base in STAGES else []), *own]


@pytest.mark.parametrize("image", ["service", "lab"])
def test_an_image_runs_as_a_user_by_number_and_is_checked(image: str):
    names = [name for name, _ in whole(image)]
    values = dict(whole(image))
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", values["USER"])
    assert {"HEALTHCHECK", "ENTRYPOINT", "CMD", "EXPOSE", "VOLUME"} <= set(names)
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "ADD" not in names
    assert not re.search(r"(?i)(?:password|secret|_key|token)\s*=", CONTAINERFILE)
    for part in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(values[part]))


def test_an_image_has_what_was_installed_and_not_what_it_was_built_from():
    for image in ("service", "lab"):
        copies = [value for name, value in whole(image) if name == "COPY"]
        assert len(copies) == 1
        assert re.fullmatch(r"--from=build\S* /opt/svc /opt/svc", copies[0])
    assert "--require-hashes" in CONTAINERFILE


def test_the_image_is_built_from_the_files_that_the_wheel_needs():
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert all((ROOT / path).exists() for path in allowed)
    assert {"svc", "svc_jupyter", "labextension", "pyproject.toml", "README.md", "LICENSE", ".ci/locks"} <= allowed


@pytest.mark.slow
def test_the_command_of_the_service_image_listens_and_its_health_check_tells(tmp_path: Path):
    """As the image has them, but in this folder and on another port."""
    values = dict(whole("service"))
    port = str(free_port())
    words = [word.replace("8460", port).replace("/data", str(tmp_path)) for word in json.loads(values["CMD"])]
    words[words.index("0.0.0.0")] = "127.0.0.1"
    check = json.loads(values["HEALTHCHECK"].partition("CMD ")[2])
    check = [sys.executable, *(word.replace("8460", port) for word in check[1:])]
    assert subprocess.run(check, capture_output=True).returncode != 0
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "svc", *words, "--database", f"sqlite:///{tmp_path}/s.db"], stdout=log, stderr=log
        )
    try:
        wait_until(lambda: subprocess.run(check, capture_output=True).returncode == 0, "the service", 60)
    finally:
        running.terminate()
        running.wait(30)


def test_the_conda_recipe_has_todays_requirements_and_metadata():
    """`python -m tests.packaging.conda_recipe` writes them again."""
    assert conda_recipe.RECIPE.read_text("utf-8") == conda_recipe.recipe()
    recipe = yaml.safe_load(conda_recipe.RECIPE.read_text("utf-8"))
    assert recipe["requirements"]["run"][1:] == conda_recipe.run_requirements()
    assert recipe["context"]["version"] == svc.__version__
    scripts = dict(line.split(" = ") for line in recipe["build"]["python"]["entry_points"])
    assert scripts == PROJECT["scripts"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["license_file"] == PROJECT["license-files"]
    assert recipe["about"]["homepage"] == PROJECT["urls"]["Homepage"]
    assert recipe["about"]["documentation"] == PROJECT["urls"]["Documentation"]
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in conda_recipe.RECIPE.read_text("utf-8")
