"""Short questions as analysts type them at night, about every kind of evidence: each answered, or said why not."""

from __future__ import annotations

import pytest

from tests.svc.assistant.analyst.as_analysts_ask.pairs import answered, judged, pairs_of

MOST_BAD = {
    "open": 0.04, "held": 0.1, "open_kinds": 0.06, "held_kinds": 0.36, "open_varied": 0.04, "held_varied": 0.2,
    "open_nights": 0.15, "held_nights": 0.3,
}  # fmt: skip
SLOW = {"open_varied", "held_varied", "open_nights", "held_nights"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "half", [pytest.param(half, marks=pytest.mark.slow if half in SLOW else ()) for half in sorted(MOST_BAD)]
)
async def test_few_answers_are_wrong(half: str):
    pairs = list(pairs_of(half))
    bad = [f"{pair}: {wrong}" for pair in pairs if (wrong := judged(pair, await answered(pair)))]
    print(f"{half}: {len(bad)} bad of {len(pairs)}\n" + "\n".join(bad))
    assert len(bad) <= MOST_BAD[half] * len(pairs), "\n".join(bad)
