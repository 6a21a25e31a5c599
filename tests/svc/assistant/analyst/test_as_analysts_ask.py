"""Short questions as analysts type them at night, about every kind of evidence: each answered, or said why not."""

from __future__ import annotations

import pytest

from tests.svc.assistant.analyst.as_analysts_ask.pairs import Weight, answered, judged, pairs_of, weighed

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


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("half", "most_wrong"), [("open_small_hours", 0.0), ("held_small_hours", 0.25)])
async def test_what_cannot_be_answered_is_said(half: str, most_wrong: float):
    """An answer that cannot tell is no failure here: one that is false, or answers another question, is."""
    pairs = list(pairs_of(half))
    weighed_pairs = [(pair, weighed(pair, await answered(pair))) for pair in pairs]
    wrong = [str(pair) for pair, weight in weighed_pairs if weight is Weight.WRONG]
    counts = {weight.value: sum(one is weight for _, one in weighed_pairs) for weight in Weight}
    print(f"{half}: {counts} of {len(pairs)}")
    shown = "\n".join(wrong) if half.startswith("open") else "only the total of the held half may be looked at"
    assert len(wrong) <= most_wrong * len(pairs), f"{counts}\n{shown}"
