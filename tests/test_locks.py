"""The locks of CI: complete, with digests, without an address, of today's requirements, above known vulnerabilities."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / ".ci" / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ADVISORIES = tomllib.loads((ROOT / ".ci" / "advisories.toml").read_text("utf-8"))
FILES = ["develop.txt", "runtime.txt", "lowest.txt"]


def locked(file: str) -> Iterator[Requirement]:
    for line in (LOCKS / file).read_text("utf-8").splitlines():
        if line[0].isalnum():
            yield Requirement(line.removesuffix(" \\"))


def versions(file: str) -> dict[str, set[Version]]:
    """By name; a package has several where they depend on Python's version."""
    found: dict[str, set[Version]] = {}
    for requirement in locked(file):
        (exact,) = requirement.specifier
        found.setdefault(canonicalize_name(requirement.name), set()).add(Version(exact.version))
    return found


def required(*extras: str) -> list[Requirement]:
    """What we ask for ourselves, without the extras that name others of ours."""
    texts = [*PROJECT["dependencies"], *(text for name in extras for text in PROJECT["optional-dependencies"][name])]
    return [one for text in texts if (one := Requirement(text)).name != PROJECT["name"]]


def tools() -> list[Requirement]:
    return [Requirement(line) for line in (ROOT / ".ci" / "lint.txt").read_text("utf-8").split()]


EVERYTHING = [*required(*PROJECT["optional-dependencies"]), *tools()]


@pytest.mark.parametrize("file", FILES)
def test_every_package_has_one_version_and_its_digests(file: str):
    for block in re.split(r"^(?=\w)", (LOCKS / file).read_text("utf-8"), flags=re.MULTILINE)[1:]:
        first, *rest = block.splitlines()
        assert re.fullmatch(r"[a-z0-9._-]+==[\w.+!]+( ; .+)? \\", first), first
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), first
        assert all(line.startswith(("    --hash=sha256:", "    #")) for line in rest), first


@pytest.mark.parametrize("file", FILES)
def test_no_lock_names_an_address_or_a_folder_of_a_machine(file: str):
    text = (LOCKS / file).read_text("utf-8")
    assert "://" not in text
    assert [line for line in text.splitlines() if line.startswith("-")] == []
    assert " /" not in text


@pytest.mark.parametrize(
    ("file", "requirements"),
    [("develop.txt", EVERYTHING), ("runtime.txt", required()), ("lowest.txt", required("lab", "server"))],
)
def test_a_lock_is_of_the_requirements_of_today(file: str, requirements: list[Requirement]):
    """`bash .ci/lock` writes them again."""
    found = versions(file)
    for requirement in requirements:
        for version in found[canonicalize_name(requirement.name)]:
            assert requirement.specifier.contains(version, prereleases=True), (file, str(requirement), str(version))


def test_what_runs_is_locked_at_the_versions_that_are_tested():
    develop = versions("develop.txt")
    assert {name: found for name, found in versions("runtime.txt").items() if not found <= develop[name]} == {}


def lower_bound(requirement: Requirement) -> Version:
    (bound,) = [one for one in requirement.specifier if one.operator in (">=", "==")]
    return Version(bound.version)


def test_the_lowest_versions_are_the_lower_bounds():
    found = versions("lowest.txt")
    higher = {}
    for requirement in required("lab", "server"):
        least, bound = min(found[canonicalize_name(requirement.name)]), lower_bound(requirement)
        if least.release[: len(bound.release)] != bound.release:
            higher[requirement.name] = str(least)
    assert higher == {}  # a bound that another package's makes superfluous is not needed


def test_no_lower_bound_allows_a_known_vulnerability():
    fixed = {name: Version(row["fixed"]) for name, row in ADVISORIES["pypi"].items()}
    ours = {one.name: lower_bound(one) for one in EVERYTHING if one.specifier}
    assert {name: str(ours[name]) for name in fixed if name in ours and ours[name] < fixed[name]} == {}


@pytest.mark.parametrize("file", FILES)
def test_no_locked_version_has_a_known_vulnerability(file: str):
    fixed = {name: Version(row["fixed"]) for name, row in ADVISORIES["pypi"].items()}
    oldest = {name: min(found) for name, found in versions(file).items() if name in fixed}
    assert {name: str(version) for name, version in oldest.items() if version < fixed[name]} == {}


def test_no_npm_package_has_a_known_vulnerability():
    packages = json.loads((ROOT / "labextension" / "package-lock.json").read_text("utf-8"))["packages"]
    for name, row in ADVISORIES["npm"].items():
        found = [Version(entry["version"]) for path, entry in packages.items() if path.endswith(f"node_modules/{name}")]
        assert found, name
        assert min(found) >= Version(row["fixed"]), name


def test_every_advisory_is_of_something_that_is_locked():
    assert set(ADVISORIES["pypi"]) <= set(versions("develop.txt"))


def test_no_script_of_an_npm_package_runs():
    """`ignore-scripts` in .npmrc would also keep `npm pack` from building our own packages, so each command says it."""
    for path in ("labextension/hatch_build.py", "labextension/prepare.mjs", "tests/support/npm_workspace.py"):
        calls = re.findall(r'"ci",(?:\s*"--[\w=-]+",?)*', (ROOT / path).read_text("utf-8"))
        assert ["--ignore-scripts" in call for call in calls] == [True], path
    shown = [*(ROOT / "docs").glob("*.md"), *(ROOT / ".github").rglob("*.*"), ROOT / "README.md", ROOT / ".ci" / "run"]
    for path in shown:
        calls = re.findall(
            r"npm (?:ci|install)(?! (?:--package-lock-only|http|PATH))[^\n&`|;]*", path.read_text("utf-8")
        )
        assert [call for call in calls if "--ignore-scripts" not in call] == [], path


def test_no_other_npm_package_gets_a_script_that_an_installation_would_run():
    """Without `--ignore-scripts`, only the scripts of these packages would run, which were read."""
    packages = json.loads((ROOT / "labextension" / "package-lock.json").read_text("utf-8"))["packages"]
    found = {path.rpartition("node_modules/")[2] for path, entry in packages.items() if entry.get("hasInstallScript")}
    assert found <= {"@fortawesome/fontawesome-free", "esbuild", "fsevents"}
