"""The bills of materials that the wheel carries (PEP 770), as CycloneDX 1.6.

One lists the npm packages whose code the built scripts contain: ``third_party.json``, which ship.mjs wrote. The other
lists the Python packages that are installed with the wheel, at the versions it was tested with:
``.ci/locks/runtime.txt``. The same inputs give the same bytes, so neither has a time or a random number.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

NPM = "npm.cdx.json"
PYTHON = "python.cdx.json"
_LOCKED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>.+?))?(?: \\)?$")
_VIA = re.compile(r"^    # via (?P<name>[\w.-]+)|^    #   (?P<other>[\w.-]+)")
Component = dict[str, object]


def write(folder: Path, *, bundled: Path | None, lock: Path, name: str, version: str) -> list[Path]:
    """Write both files; ``bundled`` is the list of npm packages (None: no scripts), ``lock`` of Python packages."""
    product: Component = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    written = []
    for file, components, edges in (
        (NPM, *_npm(json.loads(bundled.read_text("utf-8"))["packages"] if bundled else [])),
        (PYTHON, *_python(lock.read_text("utf-8"), name)),
    ):
        path = folder / file
        path.write_text(_document(product, components, edges), "utf-8")
        written.append(path)
    return written


def _document(product: Component, components: list[Component], edges: dict[str, list[str]]) -> str:
    """``edges``: of each component's reference, what it depends on; "" is the product."""
    root = str(product["bom-ref"])
    dependencies = [{"ref": ref or root, "dependsOn": sorted(needs)} for ref, needs in sorted(edges.items())]
    body: dict[str, object] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": dependencies,
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    whole = {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", **body, "serialNumber": f"urn:uuid:{serial}"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _npm(packages: list[dict[str, object]]) -> tuple[list[Component], dict[str, list[str]]]:
    components = []
    for package in packages:
        purl = f"pkg:npm/{str(package['name']).replace('@', '%40')}@{package['version']}"
        algorithm, _, digest = str(package["integrity"]).partition("-")
        components.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": package["name"],
                "version": package["version"],
                "purl": purl,
                "licenses": [{"expression": str(package["license"])}],
                "hashes": [{"alg": f"SHA-{algorithm[3:]}", "content": base64.b64decode(digest).hex()}],
                "externalReferences": [{"type": "vcs", "url": package["source"]}],
                "properties": [{"name": "svc-jupyter:file", "value": file} for file in _texts(package["files"])],
            }
        )
    return components, {"": [str(component["bom-ref"]) for component in components]}


def _python(lock: str, root: str) -> tuple[list[Component], dict[str, list[str]]]:
    components: list[Component] = []
    edges: dict[str, list[str]] = {}
    refs: dict[str, list[str]] = {}
    for name, version, marker, users in _locked(lock):
        purl = f"pkg:pypi/{name}@{version}"
        component: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        if marker:
            component["properties"] = [{"name": "svc-jupyter:marker", "value": marker}]
        components.append(component)
        refs.setdefault(name, []).append(purl)
        for user in users:
            edges.setdefault(user, []).append(purl)
    return components, {ref: edges.get(user, []) for user in [root, *refs] for ref in refs.get(user, [""])}


def _locked(lock: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Of each package: its name, version, marker, and the packages that need it."""
    blocks = re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE)
    for block in filter(None, blocks):
        first, *rest = block.splitlines()
        locked = _LOCKED.match(first)
        if locked is None:
            raise ValueError(f"the lock has a line that is not understood: {first[:200]!r}")
        users = [found["name"] or found["other"] for line in rest if (found := _VIA.match(line))]
        yield locked["name"], locked["version"], locked["marker"] or "", [user for user in users if user != "-c"]


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []
