"""Class names are unique within a package, so that a name in a traceback or a search identifies one class."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["svc/service", "svc/assistant", "svc_jupyter"])
def test_class_names_are_unique_within_a_package(package: str):
    modules = sorted((ROOT / package).rglob("*.py"))
    places = defaultdict(list)
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{module.relative_to(ROOT)}:{node.lineno}")

    assert places
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
