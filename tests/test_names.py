"""Class names are unique within a package, so that a name in a traceback or a search identifies one class."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_CLASS = re.compile(r"\s*class (\w+)[(:]")


@pytest.mark.parametrize("package", ["svc/service", "svc/assistant", "svc_jupyter"])
def test_class_names_are_unique_within_a_package(package: str):
    modules = sorted((ROOT / package).rglob("*.py"))
    places = defaultdict(list)
    for module in modules:
        for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), start=1):
            if (found := _CLASS.match(line)) is not None:
                places[found[1]].append(f"{module.relative_to(ROOT)}:{number}")

    assert places
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
