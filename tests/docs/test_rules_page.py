"""The rules in docs/how_to/rules.md work as the page says."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from svc.assistant.knowledge import FOLDER_VARIABLE
from svc.cli.main import main
from tests.docs import examples

PAGE = "how_to/rules.md"
RULE = """
title: Task created by an unknown administrator
id: 0b2a1f56-7d53-4f0e-9a50-2f5d0f1f8f11
status: test
logsource: {product: windows, service: security}
detection:
  selection: {EventID: 4698}
  known: {SubjectUserName|expand: '%admins%'}
  condition: selection and not known
level: medium
tags: [attack.t1053.005]
"""


def test_the_filter_and_the_placeholders_of_the_page_apply_to_a_rule(tmp_path: Path):
    ours, placeholders = examples.texts(PAGE, "yaml")
    folder = tmp_path / "ours"
    folder.mkdir()
    for name, text in (("rule", RULE), ("filter", ours), ("values", placeholders)):
        (folder / f"{name}.yml").write_text(text)

    added = CliRunner().invoke(
        main, ["rules", "add", str(folder)], env={FOLDER_VARIABLE: str(tmp_path / "knowledge")}, catch_exceptions=False
    )

    assert added.exit_code == 0, added.output
    assert "rejected" not in added.output
