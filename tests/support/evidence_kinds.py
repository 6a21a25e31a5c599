"""Generators for the kinds of logs and exports that analysts attach, each with a planted story.

``KINDS`` maps a kind's name to its generator, file name and what was planted: the kind of finding that the events
tool must yield, and words that its findings must contain. Half of the kinds are ``held``: they were written before
the readers and looked at only afterwards. Formats follow each product's documentation; all names are invented.
"""

from __future__ import annotations

from tests.support import evidence_endpoints, evidence_network
from tests.support.evidence_base import ATTACKER, KINDS, EvidenceKind, at, iso, lines, logins, plain, table

__all__ = ["ATTACKER", "KINDS", "EvidenceKind", "at", "iso", "lines", "logins", "plain", "table"]
REGISTERED = (evidence_endpoints, evidence_network)
"""The modules whose generators are in ``KINDS``."""
