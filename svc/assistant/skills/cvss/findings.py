"""What findings about CVSS vectors hold. Terms: FIRST, CVSS 2.0, 3.0, 3.1 and 4.0 specifications."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class MetricRow(msgspec.Struct, frozen=True):
    """A metric of the vector with its value, for example ``AV:N``, "Attack vector", "over a network"."""

    metric: str
    name: str
    meaning: str


class ChangeRow(msgspec.Struct, frozen=True):
    """One metric changed to a value that lowers the score: ``AV:N to AV:P``."""

    change: str
    score: float
    meaning: str


class AllowedRow(msgspec.Struct, frozen=True):
    """A metric that is wrong or missing, with the values it may take; ``values`` is "" for an unknown metric."""

    metric: str
    values: str


class CvssScore(Facts, frozen=True, kw_only=True, tag="cvss_score"):
    """A valid vector and its scores."""

    vector: str
    """As the specification writes it."""
    version: str
    """"2.0", "3.0", "3.1" or "4.0"."""
    score: float
    """The score that counts, with all given metrics."""
    rating: str
    """none, low, medium, high or critical."""
    nomenclature: str
    """Which score counts: base, temporal or environmental; for 4.0 CVSS-B, -BT, -BE or -BTE."""
    base_score: float
    temporal_score: float | None
    environmental_score: float | None
    impact: float | None
    """Impact subscore; 4.0 has none."""
    exploitability: float | None
    """Exploitability subscore; 4.0 has none."""
    metrics: list[MetricRow]
    """In the specification's order."""
    changes: list[ChangeRow]
    """Largest reduction first."""
    notes: list[str]
    count: int
    """How often the vector appears."""


class CvssBroken(Facts, frozen=True, kw_only=True, tag="cvss_broken"):
    """A vector that is not valid."""

    vector: str
    version: str
    problems: list[str]
    at_fault: list[AllowedRow]
    """Wrong metrics first, then missing ones."""
    lowest_score: float | None
    """Lower end of the scores the vector can have once corrected; None if that was not computed."""
    highest_score: float | None
    count: int
    """How often the vector appears."""


class EstimateRow(msgspec.Struct, frozen=True):
    """An estimated metric; ``words`` are those of the description, "" if the value is only usual for such records."""

    metric: str
    name: str
    meaning: str
    reason: str
    words: str


class CvssEstimate(Facts, frozen=True, kw_only=True, tag="cvss_estimate"):
    """The CVSS 3.1 base score that records with such a description usually have. It is not a published score."""

    vector: str
    version: str
    score: float
    rating: str
    """none, low, medium, high or critical."""
    lowest_score: float
    """If one of the metrics that the description does not state is milder than usual."""
    highest_score: float
    """If one of them is worse than usual."""
    vulnerability: str
    """Its class, for example "SQL injection"."""
    words: str
    """The words that show the class."""
    subject: str
    """The CVE that the description is of, or ""."""
    metrics: list[EstimateRow]
    """The eight base metrics, in the specification's order."""
