"""Write the run requirements of .conda/recipe.yaml from pyproject.toml: python -m tests.packaging.conda_recipe"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / ".conda" / "recipe.yaml"
NAMES = {
    "brotli": "brotli-python",
    "jupyter-core": "jupyter_core",
    "msgspec": "msgspec-python",
    "prometheus-client": "prometheus_client",
}
_RUN = re.compile(r"(?<=    - python >=\$\{\{ python_min \}\}\n)(?:    - .*\n)*")


def run_requirements() -> list[str]:
    """Of each package: its name in conda-forge and its bounds. A noarch package cannot have markers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = map(Requirement, project["dependencies"])
    return [f"{NAMES.get(one.name, one.name)} {bounds(one)}".rstrip() for one in found]


def bounds(requirement: Requirement) -> str:
    """The lower one first."""
    return ",".join(sorted(map(str, requirement.specifier), key=lambda text: (text[0] != ">", text)))


def recipe() -> str:
    """The recipe as it should be."""
    lines = "".join(f"    - {line}\n" for line in run_requirements())
    return _RUN.sub(lambda _: lines, RECIPE.read_text("utf-8"), count=1)


if __name__ == "__main__":
    RECIPE.write_text(recipe(), "utf-8")
