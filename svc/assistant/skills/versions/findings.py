"""What findings about versions hold."""

from __future__ import annotations

from svc.assistant.findings import Facts


class VersionAffected(Facts, frozen=True, kw_only=True, tag="version_affected"):
    """A version compared with one affected range."""

    package: str
    """Empty if neither the question nor the range names one."""
    version: str
    range: str
    """The original wording."""
    read_as: str
    """The range as comparisons: ``>= 2.0, < 2.15``."""
    is_affected: bool | None
    """None if the versions cannot be compared."""
    ecosystem: str
    """Whose ordering rules were used: npm, pypi, deb, …, or "generic"."""
    rules: str
    """The name of these rules."""
    is_ecosystem_guessed: bool
    """Whether nothing in the input names the ecosystem."""
    comparisons: list[str]
    """Each comparison with its result."""
    reading: str
    """How ambiguous wording was understood; "" if the range is exact."""
    doubts: list[str]
    """Why the result may be wrong: other rules order the versions differently, or cannot parse them."""
