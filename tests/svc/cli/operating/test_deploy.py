"""What ``svc deploy`` prints: every path is a route, every variable is known, every command line is one of ``svc``."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml
from click.testing import CliRunner

import svc
from svc.cli.main import main
from svc.service.app import OPERATIONS, WORKER_PATHS
from svc.service.settings import Settings, describe, settings_from

KINDS = ["compose", "containerfile", "kubernetes", "balancer", "compose --cluster", "kubernetes --cluster"]
ALONE, CLUSTER = ["compose", "kubernetes"], ["compose --cluster", "kubernetes --cluster"]
VARIABLES = Path(__file__).parents[4] / "docs" / "_extensions" / "reference_pages" / "environment.toml"
SPREAD_SECONDS = 2  # over which a service that stops closes its streams
PROBE = re.compile(r"http://127\.0\.0\.1:(\d+)(/\w+)'")


def printed(what: str) -> str:
    done = CliRunner().invoke(main, ["deploy", *what.split()])
    assert done.exit_code == 0, done.output
    return done.output


class Container(NamedTuple):
    """A container of our image, whichever file says so. ``command`` is what follows ``svc``."""

    name: str
    command: list[str]
    environment: dict[str, str]
    probes: dict[str, str]  # path and port
    grace_seconds: int | None
    security: dict[str, object]
    mounts: list[str]


def of_compose(what: str) -> list[Container]:
    found = []
    for name, one in yaml.safe_load(printed(what))["services"].items():
        if not one["image"].startswith("svc:"):
            continue
        probes = {path: port for port, path in PROBE.findall(str(one.get("healthcheck", "")))}
        grace = one.get("stop_grace_period")
        security = {"read_only": one["read_only"], "dropped": one["cap_drop"], "options": one["security_opt"]}
        mounts = [str(mount).split(":")[-1] for mount in [*one.get("volumes", []), *one.get("tmpfs", [])]]
        command = one.get("command") or default_command()
        found.append(
            Container(name, command, one["environment"], probes, int(grace[:-1]) if grace else None, security, mounts)
        )
    return found


def documents(what: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(printed(what)))


def of_kubernetes(what: str) -> list[Container]:
    found, maps = [], {one["metadata"]["name"]: one["data"] for one in documents(what) if one["kind"] == "ConfigMap"}
    for pod in (one["spec"]["template"]["spec"] for one in documents(what) if one["kind"] == "Deployment"):
        for one in [*pod.get("initContainers", []), *pod["containers"]]:
            ports = {port["name"]: str(port["containerPort"]) for port in one.get("ports", [])}
            tries = [one[f"{probe}Probe"]["httpGet"] for probe in ("startup", "liveness", "readiness")
                     if f"{probe}Probe" in one]  # fmt: skip
            environment = {name: value for source in one.get("envFrom", [])
                           for name, value in maps[source["configMapRef"]["name"]].items()}  # fmt: skip
            environment |= {
                variable["name"]: variable["value"] for variable in one.get("env", []) if "value" in variable
            }
            found.append(
                Container(
                    one["name"], one.get("args") or default_command(), environment,
                    {probe["path"]: ports[probe["port"]] for probe in tries}, pod["terminationGracePeriodSeconds"],
                    one["securityContext"] | pod["securityContext"],
                    [mount["mountPath"] for mount in one["volumeMounts"]],
                )
            )  # fmt: skip
    return found


def default_command() -> list[str]:
    [line] = [line for line in printed("containerfile").splitlines() if line.startswith("CMD ")]
    return yaml.safe_load(line.removeprefix("CMD "))


def containers(what: str) -> list[Container]:
    return of_compose(what) if what.startswith("compose") else of_kubernetes(what)


def parsed(command: list[str], **environment: str) -> click.Context:
    """The command line as ``svc`` reads it, without running it."""
    found = main.get_command(click.Context(main), command[0])
    assert found is not None, command
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return found.make_context(command[0], command[1:])


def option_of(one: Container, name: str) -> str | None:
    return dict(zip(one.command, one.command[1:], strict=False)).get(name)


@pytest.mark.parametrize("what", KINDS)
def test_the_version_is_that_of_the_program(what: str):
    assert "@VERSION" not in printed(what)
    assert what == "balancer" or svc.__version__ in printed(what)


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_every_variable_is_known_and_every_setting_has_a_valid_value(what: str):
    documented = {
        name for section in tomllib.loads(VARIABLES.read_text("utf-8"))["section"] for name in section["variables"]
    }
    settings = {row.variable for row in describe(Settings())}
    for one in containers(what):
        assert set(one.environment) <= settings | documented
        found = settings_from(one.environment)
        assert found.metrics
        assert (found.drain_seconds == 0) == (what in ALONE)  # no other process takes new requests meanwhile


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_every_path_that_is_probed_is_a_route_without_a_key_of_that_process(what: str):
    public = {one.path for one in OPERATIONS if one.is_public and one.method == "GET"}
    for one in containers(what):
        assert set(one.probes) <= (public & WORKER_PATHS if one.command[0] == "work" else public)
        assert set(one.probes.values()) <= {option_of(one, "--port")}
        assert bool(one.probes) == (one.command[0] != "migrate")


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_every_command_line_is_accepted(what: str, tmp_path: Path):
    secret = tmp_path / "password"
    secret.write_text("secret\n")
    commands = [one.command[0] for one in containers(what)]
    for one in containers(what):
        variables = one.environment | {"SVC_DATABASE_PASSWORD_FILE": str(secret)}
        context = parsed(one.command, **variables)
        if what in CLUSTER:
            assert context.params["database"].password == "secret"
    expected = {"compose --cluster": ["migrate", "serve", "serve", "work"],
                "kubernetes --cluster": ["migrate", "serve", "migrate", "work"]}  # fmt: skip
    assert commands == expected.get(what, ["serve"])


@pytest.mark.parametrize("what", KINDS)
def test_the_commands_in_comments_are_accepted(what: str):
    found = re.findall(r"[ `](svc (?:keys|deploy) [^>`\n]*)", printed(what))

    assert found
    for command in found:
        parsed_main(shlex.split(command)[1:])


def parsed_main(arguments: list[str]) -> None:
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    command.make_context(command.name or "", arguments)


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_the_platforms_wait_longer_than_the_processes_take_to_stop(what: str):
    for one in containers(what):
        if one.command[0] == "migrate":
            continue
        settings = settings_from(one.environment)
        connections = max(1, int(settings.stop_seconds))  # uvicorn waits as long again for the last responses
        seconds = settings.drain_seconds + settings.stop_seconds + SPREAD_SECONDS + settings.close_seconds + connections
        assert one.grace_seconds is not None
        assert one.grace_seconds > seconds


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_nothing_runs_as_root_or_writes_outside_its_volumes(what: str):
    for one in containers(what):
        if what.startswith("compose"):
            assert one.security == {"read_only": True, "dropped": ["ALL"], "options": ["no-new-privileges:true"]}
        else:
            assert one.security["runAsNonRoot"] is True
            assert one.security["readOnlyRootFilesystem"] is True
            assert one.security["allowPrivilegeEscalation"] is False
            assert one.security["capabilities"] == {"drop": ["ALL"]}
        assert "/tmp" in one.mounts
        folder = option_of(one, "--files")
        assert folder is None or any(folder.startswith(f"file://{mount}/") for mount in one.mounts)
    assert "USER 10001:10001" in printed("containerfile")
    others = yaml.safe_load(printed("compose --cluster"))["services"]
    for name in ("database", "balancer"):
        one = others[name]
        assert (one["read_only"], one["cap_drop"], one["user"] not in ("0", "0:0", "root")) == (True, ["ALL"], True)


@pytest.mark.parametrize("what", CLUSTER)
def test_a_cluster_has_two_services_and_a_worker_with_the_same_settings(what: str):
    processes = [one for one in containers(what) if one.command[0] in ("serve", "work")]
    for one in processes:
        settings = settings_from(one.environment)
        assert (settings.shared_database, settings.turns_at_once > 0) == (True, True)
        assert one.environment == processes[0].environment
        assert option_of(one, "--files") == option_of(processes[0], "--files")
    services = [one for one in processes if one.command[0] == "serve"]
    addresses = [option_of(one, "--advertise") for one in services]
    if what.startswith("compose"):
        assert addresses == [f"http://{one.name}:8460" for one in services]
        assert len(services) == 2
    else:
        counts = {
            one["metadata"]["name"]: one["spec"]["replicas"] for one in documents(what) if one["kind"] == "Deployment"
        }
        assert counts == {"svc": 2, "svc-worker": 1}
        assert addresses == ["http://$(POD_IP):8460"]


@pytest.mark.parametrize("what", [*ALONE, *CLUSTER])
def test_secrets_are_files_or_references(what: str):
    text = printed(what)
    for one in containers(what):
        assert not re.search(r"://[^@/]*:[^@/]*@", str(one.environment))
        assert not {name for name in one.environment if "PASSWORD" in name and not name.endswith("_FILE")}
    assert "kind: Secret" not in text
    if what == "compose --cluster":
        loaded = yaml.safe_load(text)
        assert all(secret["file"].startswith("./secrets/") for secret in loaded["secrets"].values())
        assert {name for one in loaded["services"].values() for name in one.get("secrets", [])} == set(
            loaded["secrets"]
        )
        assert (
            loaded["services"]["database"]["environment"]["POSTGRES_PASSWORD_FILE"] == "/run/secrets/database_password"
        )


def test_the_balancer_asks_whether_the_services_of_the_compose_file_are_ready():
    text, services = printed("balancer"), yaml.safe_load(printed("compose --cluster"))["services"]
    found = re.search(r"reverse_proxy ((?:\S+:8460 ?)+)\{", text)
    assert found is not None
    assert [host.partition(":")[0] for host in found[1].split()] == [
        name for name in services if name.startswith("svc-")
    ]
    assert re.findall(r"health_uri (\S+)", text) == ["/ready"]
    assert {f"/run/secrets/{name}" for name in services["balancer"]["secrets"]} == set(
        re.findall(r"/run/secrets/\w+", text)
    )
    assert services["balancer"]["ports"] == ["443:8443"]
    assert re.search(r"^:8443 \{$", text, re.MULTILINE)


def test_the_services_of_a_compose_cluster_start_after_the_migration():
    services = yaml.safe_load(printed("compose --cluster"))["services"]
    assert services["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    for name in ("svc-1", "svc-2", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def test_the_objects_of_a_kubernetes_cluster_select_its_pods():
    found = documents("kubernetes --cluster")
    labels = {one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"] for one in found
              if one["kind"] == "Deployment"}  # fmt: skip
    budgets = {one["metadata"]["name"]: one["spec"] for one in found if one["kind"] == "PodDisruptionBudget"}
    [service] = [one for one in found if one["kind"] == "Service"]
    [claim] = [one for one in found if one["kind"] == "PersistentVolumeClaim"]
    assert {name: budget["selector"]["matchLabels"] for name, budget in budgets.items()} == labels
    assert budgets["svc"]["minAvailable"] == 1
    assert budgets["svc-worker"]["maxUnavailable"] == 1  # a minimum would forbid to empty the node of the only one
    assert service["spec"]["selector"] == labels["svc"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    [strategy] = [one["spec"]["strategy"]["rollingUpdate"] for one in found if one["metadata"]["name"] == "svc"
                  and one["kind"] == "Deployment"]  # fmt: skip
    assert strategy == {"maxUnavailable": 0, "maxSurge": 1}


def test_one_process_uses_a_sqlite_database():
    [deployment] = [one for one in documents("kubernetes") if one["kind"] == "Deployment"]
    [service] = [one for one in documents("kubernetes") if one["kind"] == "Service"]

    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (1, "Recreate")
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_cluster_is_refused_where_it_means_nothing():
    done = CliRunner().invoke(main, ["deploy", "balancer", "--cluster"])
    assert done.exit_code == 2
    assert "--cluster goes with compose and kubernetes" in done.output
