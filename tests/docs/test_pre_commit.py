"""The hooks of pre-commit are the checks of continuous integration, with versions pinned in one place."""

from __future__ import annotations

import json
import re

import yaml

from tests.docs import pages

CONFIG = yaml.safe_load((pages.ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
HOOKS = {hook["id"]: hook for repo in CONFIG["repos"] for hook in repo["hooks"]}


def test_the_hooks_call_installed_tools_so_that_versions_are_pinned_once():
    assert [repo["repo"] for repo in CONFIG["repos"]] == ["local"]
    assert {hook["language"] for hook in HOOKS.values()} == {"system"}


def test_every_check_of_continuous_integration_is_a_hook():
    script = (pages.ROOT / ".ci" / "run").read_text("utf-8")
    checks = re.search(r"^ruff check.*?(?=\n\n)", script, re.MULTILINE | re.DOTALL)
    assert checks is not None
    commands = [line.replace(" --check", "").removesuffix(" .") for line in checks[0].splitlines()]

    entries = [hook["entry"].removesuffix(" --force-exclude") for hook in HOOKS.values()]
    assert set(commands) <= set(entries)


def test_the_hooks_of_the_workspace_are_its_lint_script():
    scripts = json.loads((pages.ROOT / "labextension" / "package.json").read_text("utf-8"))["scripts"]

    entries = [HOOKS[name]["entry"] for name in ("eslint", "prettier", "structure")]
    commands = [re.sub(r"^bash -c 'cd labextension && (?:npx --no-install )?(.*)'$", r"\1", entry) for entry in entries]
    assert " && ".join(commands) == scripts["lint"]
