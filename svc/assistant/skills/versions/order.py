"""Order two versions by the rules of their package ecosystem; the rules are those of the ``univers`` library.

If the ecosystem is unknown, Maven's rules are used, because they order any text. ``others_disagree`` then tells
whether other rules order the two versions differently.
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
ORDER_NAMES = {
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
    GENERIC: "ecosystem unknown, Maven ordering used",
}
"""What an answer calls the ordering rules."""
_UNIVERS_CLASSES = {
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
_ALIAS = re.compile(
    r"(?<![\w.-])(" + "|".join(sorted(map(re.escape, _ALIASES), key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE
)


class _Comparable(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


def ecosystem_named(text: str) -> str | None:
    """Return the ecosystem that ``text`` names (``PyPI``, ``a Debian package``), or None."""
    match = _ALIAS.search(text)
    return _ALIASES[match[1].lower()] if match else None


def ecosystem_of(alias: str) -> str | None:
    """Return the ecosystem for an advisory's or a package URL's name of it (``Debian:12``, ``golang``), or None."""
    return _ALIASES.get(alias.split(":")[0].strip().lower())


def ecosystem_by_format(version: str) -> str | None:
    """Return the only ecosystem that writes versions like this, or None."""
    if re.search(r"(?:ubuntu|\+deb|~deb|\+dfsg|-\d+\+b)\d*", version):
        return "deb"
    if re.search(r"\.(?:el|fc|amzn)\d+", version):
        return "rpm"
    return "alpine" if re.search(r"\d-r\d+$", version) else None


@cache
def _parsed(ecosystem: str, version: str) -> _Comparable | None:
    from univers import versions  # takes 100 ms; only questions about versions need it

    text = version[:MAX_VERSION_CHARS]
    if ecosystem != "golang":
        text = re.sub(r"^[vV](?=\d)", "", text)
    try:
        made: _Comparable = getattr(versions, _UNIVERS_CLASSES[ecosystem])(text)
    except DAMAGE:
        return None
    return made


def compare(ecosystem: str, left: str, right: str) -> int | None:
    """Return -1, 0 or 1; None if the ecosystem's rules cannot parse one of the versions."""
    one, other = _parsed(ecosystem, left), _parsed(ecosystem, right)
    if one is None or other is None:
        return None
    try:
        return -1 if one < other else 1 if other < one else 0
    except DAMAGE:
        return None


def others_disagree(left: str, right: str) -> list[str]:
    """Return the names of the rules that order the two versions differently from GENERIC."""
    own = compare(GENERIC, left, right)
    ecosystems = ["pypi", "semver"] if _SEMANTIC.match(left) and _SEMANTIC.match(right) else ["pypi"]
    return [
        ORDER_NAMES[ecosystem]
        for ecosystem in ecosystems
        if (result := compare(ecosystem, left, right)) is not None and result != own
    ]
