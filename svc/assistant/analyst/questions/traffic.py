"""Questions about what was requested or looked up in a capture: "which host was contacted over http?". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.events.findings import EventsSummary
from svc.assistant.skills.pcap.findings import PcapDns, PcapHttp, PcapSummary
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 5
_ASKS = r"\A\W*(?:and )?(?:which|what|who|list|show)\b[^?]{0,60}\b"
_HTTP = re.compile(
    rf"{_ASKS}(?:https?|web|requested|requests?|urls?|uris?|downloaded|user[- ]?agents?|visited|posted|uploaded)\b",
    re.IGNORECASE,
)
_DNS = re.compile(
    rf"{_ASKS}(?:dns|resolved?|look(?:ed)? ?up|lookups?|quer(?:y|ies|ied)|domains?|names?)\b", re.IGNORECASE
)


def traffic_answer(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The requests or the names of a capture that a clause asks for; "" if it asks for none, or no capture was read."""
    if not of_kind(findings, kind_of(PcapSummary)) or of_kind(findings, kind_of(EventsSummary)):
        return ""
    if _HTTP.search(clause):
        return _requests(findings)
    return _names(findings) if _DNS.search(clause) else ""


def _requests(findings: Sequence[AnyFinding]) -> str:
    found = with_facts(findings, PcapHttp)
    if not found:
        return ""
    listed = "; ".join(
        f"{_value(one.facts.client)} to {_value(one.facts.host or one.facts.server)}: {one.facts.method} "
        f"{_value(one.facts.target)}{f' ({place_words(one.evidence[0])})' if one.evidence else ''}"
        for one in found[:SHOWN]
    )
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    count = plural(sum(one.facts.count for one in found), "web request")
    return f"**{count} in the readable part of the traffic:** {listed}{more}. Encrypted requests are not among them."


def _names(findings: Sequence[AnyFinding]) -> str:
    found = with_facts(findings, PcapDns)
    if not found:
        return ""
    flows = [one for one in of_kind(findings, "pcap_flow") if " DNS" in one.title]
    clients = list(dict.fromkeys(one.title.partition(":")[0] for one in flows))
    by = f" by {', '.join(map(_value, clients[:SHOWN]))}" if clients else ""
    listed = "; ".join(
        f"{_value(one.facts.domain)} ({plural(one.facts.queries, 'query', 'queries')}"
        f"{f', {one.facts.failed:,} NXDOMAIN' if one.facts.failed else ''})"
        for one in found[:SHOWN]
    )
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    return f"**{plural(len(found), 'domain')} looked up{by}:** {listed}{more}."


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=120)
