"""Facts of findings that tests build by hand, with every field that a test does not care about filled in."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import ToolFailure
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.skills.cvss.findings import CvssScore
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.logins.findings import AccountFailures, AuthSource

FAILURE = ToolFailure(tool="x", reason="", where="", source="")

INDICATOR = IndicatorFacts(
    type="domain", value="", defanged="", count=1, line=1, scope="", note="", ports=[], was_defanged=False, within=""
)

SOURCE = AuthSource(
    source="192.0.2.7", failures=5, attempts=0, accounts=1, by_account=[AccountFailures("root", 5)], first=None,
    last=None, first_line=1, last_line=1, per_minute=None, pattern=LoginPattern.BRUTE_FORCE, successes=0,
    success_accounts=[],
)  # fmt: skip

SCORE = CvssScore(
    vector="CVSS:3.1/AV:N", version="3.1", score=9.8, rating="critical", nomenclature="base", base_score=9.8,
    temporal_score=None, environmental_score=None, impact=None, exploitability=None, metrics=[], changes=[], notes=[],
    count=1,
)  # fmt: skip


def indicator(kind: str, value: str, **fields: object) -> IndicatorFacts:
    """An indicator of this type."""
    return msgspec.structs.replace(INDICATOR, type=kind, value=value, defanged=value, **fields)
