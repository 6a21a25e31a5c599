"""Which of two versions comes first, by the rules of the place that they come from. Pure; the rules are univers'.

Where the place is not known, versions are ordered as Maven does, which orders every text; the other rules are asked as
well, and where they disagree the answer says so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

from svc.assistant.skills.file_traits import DAMAGE

GENERIC = "generic"
MAX_VERSION_CHARS = 100
_ALIASES = {
    "npm": "npm",
    "node": "npm",
    "nodejs": "npm",
    "node.js": "npm",
    "yarn": "npm",
    "pypi": "pypi",
    "pip": "pypi",
    "python": "pypi",
    "maven": "maven",
    "java": "maven",
    "gradle": "maven",
    "debian": "deb",
    "deb": "deb",
    "ubuntu": "deb",
    "dpkg": "deb",
    "rubygems": "gem",
    "gem": "gem",
    "ruby": "gem",
    "go": "golang",
    "golang": "golang",
    "crates.io": "cargo",
    "cargo": "cargo",
    "crate": "cargo",
    "rust": "cargo",
    "nuget": "nuget",
    ".net": "nuget",
    "packagist": "composer",
    "composer": "composer",
    "php": "composer",
    "rpm": "rpm",
    "redhat": "rpm",
    "red hat": "rpm",
    "rhel": "rpm",
    "centos": "rpm",
    "fedora": "rpm",
    "rocky linux": "rpm",
    "almalinux": "rpm",
    "alpine": "alpine",
    "apk": "alpine",
    "semver": "semver",
    "hex": "semver",
    "pub": "semver",
    "github actions": "semver",
    "swifturl": "semver",
}
NAMES = {
    "npm": "npm (semantic versions)",
    "pypi": "PyPI (PEP 440)",
    "maven": "Maven",
    "deb": "Debian",
    "gem": "RubyGems",
    "golang": "Go (semantic versions)",
    "cargo": "Cargo (semantic versions)",
    "nuget": "NuGet",
    "composer": "Composer",
    "rpm": "RPM",
    "alpine": "Alpine",
    "semver": "semantic versions",
    GENERIC: "no place named: parts as numbers, words as Maven orders them",
}
"""The rules by their names for people."""
_CLASSES = {
    "npm": "SemverVersion",
    "pypi": "PypiVersion",
    "maven": "MavenVersion",
    "deb": "DebianVersion",
    "gem": "RubygemsVersion",
    "golang": "GolangVersion",
    "cargo": "SemverVersion",
    "nuget": "NugetVersion",
    "composer": "ComposerVersion",
    "rpm": "RpmVersion",
    "alpine": "AlpineLinuxVersion",
    "semver": "SemverVersion",
    GENERIC: "MavenVersion",
}
_SEMANTIC = re.compile(r"v?\d+\.\d+\.\d+(?:[-+]|$)")
_WORD = re.compile(
    r"(?<![\w.-])(" + "|".join(sorted(map(re.escape, _ALIASES), key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE
)


class _Ordered(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


def place_named(text: str) -> str | None:
    """The place that a text names (``PyPI``, ``a Debian package``), or None."""
    match = _WORD.search(text)
    return _ALIASES[match[1].lower()] if match else None


def place_of(alias: str) -> str | None:
    """The place by an advisory's or a package URL's word for it: ``Debian:12``, ``golang``."""
    return _ALIASES.get(alias.split(":")[0].strip().lower())


def place_by_look(version: str) -> str | None:
    """The place that only writes versions so."""
    if re.search(r"(?:ubuntu|\+deb|~deb|\+dfsg|-\d+\+b)\d*", version):
        return "deb"
    if re.search(r"\.(?:el|fc|amzn)\d+", version):
        return "rpm"
    return "alpine" if re.search(r"\d-r\d+$", version) else None


@cache
def _parsed(place: str, version: str) -> _Ordered | None:
    from univers import versions  # 100 ms, for questions about versions alone

    text = version[:MAX_VERSION_CHARS]
    if place != "golang":
        text = re.sub(r"^[vV](?=\d)", "", text)
    try:
        made: _Ordered = getattr(versions, _CLASSES[place])(text)
    except DAMAGE:
        return None
    return made


def compare(place: str, left: str, right: str) -> int | None:
    """-1, 0 or 1; None where the place's rules do not know one of the versions."""
    one, other = _parsed(place, left), _parsed(place, right)
    if one is None or other is None:
        return None
    try:
        return -1 if one < other else 1 if other < one else 0
    except DAMAGE:
        return None


def others_disagree(left: str, right: str) -> list[str]:
    """The places by whose rules the two stand in another order than by the generic ones."""
    own = compare(GENERIC, left, right)
    places = ["pypi", "semver"] if _SEMANTIC.match(left) and _SEMANTIC.match(right) else ["pypi"]
    return [NAMES[place] for place in places if (result := compare(place, left, right)) is not None and result != own]
