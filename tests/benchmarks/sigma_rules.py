"""Cost of the detection rules over 100,000 events: without rules, with rules of single events, and with correlations.

``python -m tests.benchmarks.sigma_rules [DIR]``; DIR is a folder of Sigma rules, such as a copy of a public collection.
Prints events a second and the ratio to the rules of single events, all in one run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from svc.assistant.sigma.engine import Rule, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import load_rules

EVENTS = 100_000
BATCH = 2_000
START = datetime(2026, 11, 20, tzinfo=UTC)
_KINDS: tuple[tuple[str, str, str, Callable[[int], dict[str, str]]], ...] = (
    ("okta", "okta", "authentication", lambda n: {
        "TargetUserName": f"user{n % 500}@example.org", "IpAddress": f"203.0.113.{n % 250}", "Country": "Germany",
        "Outcome": "failure" if n % 9 == 0 else "success", "eventType": "user.session.start",
    }),
    ("", "", "firewall", lambda n: {
        "SourceIp": f"10.0.{n % 50}.{n % 250}", "DestinationIp": f"198.51.100.{n % 250}", "DestinationPort": "443",
        "bytes_out": str(n % 5_000), "Outcome": "success",
    }),
    ("", "", "dns_query", lambda n: {"QueryName": f"host{n % 3_000}.example.org", "SourceIp": f"10.0.0.{n % 250}"}),
    ("windows", "sysmon", "process_creation", lambda n: {
        "Image": rf"C:\Windows\System32\tool{n % 700}.exe", "CommandLine": f"tool{n % 700}.exe --run {n % 9_000}",
        "ParentImage": r"C:\Windows\explorer.exe", "User": f"EXAMPLE\\user{n % 90}",
    }),
    ("aws", "cloudtrail", "", lambda n: {
        "eventName": ("GetObject", "DescribeInstances", "ListBuckets")[n % 3], "eventSource": "s3.amazonaws.com",
        "userIdentity.type": "IAMUser", "userIdentity.arn": f"arn:aws:iam::111122223333:user/u{n % 40}",
    }),
)  # fmt: skip


def made(count: int) -> list[Event]:
    """Return events of five kinds of log, one every half second."""
    events = []
    for number in range(1, count + 1):
        product, service, category, fields = _KINDS[number % len(_KINDS)]
        moment = (START + timedelta(seconds=number / 2)).isoformat(timespec="milliseconds")
        events.append(
            Event(
                number=number, offset=number, time=moment, product=product, service=service, category=category,
                host=f"HOST-{number % 30}", event_id=1 if product == "windows" else None, fields=fields(number),
                excerpt="",
            )
        )  # fmt: skip
    return events


def seconds(rules: Sequence[Rule], events: Sequence[Event]) -> tuple[float, int]:
    """Return the processor time of an engine for the events, and its number of hits."""
    start = time.process_time()
    engine = RuleEngine(rules)
    hits = 0
    for first in range(0, len(events), BATCH):
        hits += sum(1 for _ in engine.feed(events[first : first + BATCH]))
    hits += sum(1 for _ in engine.finish())
    return time.process_time() - start, hits


def main(folder: str | None) -> None:
    """Measure and print."""
    ours = load_rules().rules
    single = [rule for rule in ours if rule.correlation is None and not rule.is_part]
    sets = {"single events": single, "with correlations": list(ours)}
    if folder is not None:
        from svc.assistant.sigma.user_sets import compiled, rule_files

        path = Path(folder)
        results = list(compiled(rule_files(path), path))
        public = [result for result in results if isinstance(result, Rule)]
        print(f"{folder}: {len(public):,} of {len(results):,} documents compile")
        sets["with the folder"] = [*ours, *public]
    events = made(EVENTS)
    base = 0.0
    for name, rules in sets.items():
        taken, hits = min(seconds(rules, events) for _ in range(3))
        base = base or taken
        rate = f"{EVENTS / taken:,.0f} events/s"
        print(f"{name:<18} {len(rules):>6,} rules {rate:>18} {taken / base:>6.2f} x  {hits:,} hits")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
