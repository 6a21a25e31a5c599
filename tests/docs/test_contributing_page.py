"""Paths and names in docs/contributing.md exist."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.docs import pages

PAGE = "contributing.md"
BUILT = {"svc/service/static/", "svc_jupyter/static/", "svc_jupyter/labextension/"}  # by npm, not in git
TOPS = ("svc/", "svc_jupyter/", "labextension/", "tests/", "docs/", ".ci/")


def paths() -> list[str]:
    spans = {span for span in re.findall(r"`([^`\n]+)`", pages.prose(PAGE)) if span.startswith(TOPS)}
    commands = set(re.findall(r"(?:tests|\.ci)/[\w/.]+", pages.text(PAGE)))
    return sorted(path for path in (spans | commands) - BUILT if "NAME" not in path and " " not in path)


@pytest.mark.parametrize("path", paths())
def test_paths_exist(path: str):
    assert list(pages.ROOT.glob(path.rstrip("/"))) != []


@pytest.mark.parametrize(
    ("module", "names"),
    [
        pytest.param("svc.assistant.findings", ("Facts", "Finding", "Gap", "InputKind", "Progress", "with_facts")),
        pytest.param("svc.assistant.skills.catalogue", ("SECTIONS",)),
        pytest.param("svc.assistant.skills.events.readers", ("LogReader", "READERS")),
        pytest.param("svc.assistant.log_readers.lines", ("Lines",)),
        pytest.param("svc.assistant.sigma.event", ("Event",)),
        pytest.param("svc.assistant.knowledge", ("load",)),
        pytest.param("svc.untrusted.markup", ("code_span", "escape", "table")),
        pytest.param("svc.service.app", ("OPERATIONS",)),
        pytest.param("svc.service.settings", ("Settings",)),
        pytest.param("svc.service.http.openapi", ("_field_rules",)),
        pytest.param("tests.support.damage", ("seeds_for",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_exist_and_are_on_the_page(module: str, names: tuple[str, ...]):
    words = pages.code_words(pages.prose(PAGE))

    for name in names:
        assert hasattr(importlib.import_module(module), name), name
        assert name in words or f"{module}.{name}" in words, name
