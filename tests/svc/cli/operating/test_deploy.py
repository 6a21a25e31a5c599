"""What ``svc deploy`` prints: every path is a route, every variable a setting, every option one of the command's."""

from __future__ import annotations

import re

import pytest
import yaml
from click.testing import CliRunner

import svc
from svc.cli.main import main
from svc.cli.serve import serve
from svc.service.app import OPERATIONS
from svc.service.settings import Settings, describe, settings_from

KINDS = ["compose", "containerfile", "kubernetes"]


def printed(what: str) -> str:
    done = CliRunner().invoke(main, ["deploy", what])
    assert done.exit_code == 0, done.output
    return done.output


def environment_of(what: str) -> dict[str, str]:
    if what == "compose":
        return dict(yaml.safe_load(printed(what))["services"]["svc"]["environment"])
    return {one["name"]: one["value"] for one in container()["env"]}


def container() -> dict:
    [deployment] = [one for one in yaml.safe_load_all(printed("kubernetes")) if one["kind"] == "Deployment"]
    [only] = deployment["spec"]["template"]["spec"]["containers"]
    return only


@pytest.mark.parametrize("what", KINDS)
def test_the_version_is_that_of_the_program(what: str):
    assert "@" not in re.sub(r"\w+@example\.org", "", printed(what))
    assert svc.__version__ in printed(what)


@pytest.mark.parametrize("what", ["compose", "kubernetes"])
def test_every_variable_is_a_setting_with_a_valid_value(what: str):
    environment = environment_of(what)

    assert set(environment) <= {row.variable for row in describe(Settings())}
    settings = settings_from(environment)
    assert settings.metrics
    assert settings.drain_seconds == 0  # a single process


@pytest.mark.parametrize("what", ["compose", "kubernetes"])
def test_every_path_that_is_probed_is_a_route_without_a_key(what: str):
    text = printed(what)
    paths = set(re.findall(r"path: (/\w+), port", text)) | set(re.findall(r"127\.0\.0\.1:8460(/\w+)", text))

    assert paths
    assert paths <= {one.path for one in OPERATIONS if one.is_public and one.method == "GET"}


@pytest.mark.parametrize("what", KINDS)
def test_every_option_exists(what: str):
    known = {option for parameter in serve.params for option in parameter.opts}
    commands = re.findall(r'"svc", "serve", (.*)\]|CMD \[(.*)\]', printed(what))
    options = re.findall(r'"(--[\w-]+)"', str(commands))

    assert set(options) <= known
    assert what != "containerfile" or {"--host", "--behind-proxy", "--database"} <= set(options)


def test_the_platforms_wait_longer_than_the_service_takes_to_stop():
    compose = yaml.safe_load(printed("compose"))["services"]["svc"]
    for seconds, what in (
        (int(compose["stop_grace_period"].removesuffix("s")), "compose"),
        (int(re.findall(r"terminationGracePeriodSeconds: (\d+)", printed("kubernetes"))[0]), "kubernetes"),
    ):
        settings = settings_from(environment_of(what))
        spread = 2
        assert seconds > settings.drain_seconds + settings.stop_seconds + spread + settings.close_seconds


def test_one_process_uses_the_database():
    documents = list(yaml.safe_load_all(printed("kubernetes")))
    [deployment] = [one for one in documents if one["kind"] == "Deployment"]
    [service] = [one for one in documents if one["kind"] == "Service"]

    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (1, "Recreate")
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    assert yaml.safe_load(printed("compose"))["services"]["svc"]["read_only"] is True
