"""Questions with two sides: what came first, and which is more."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.questions.comparisons import comparison_of
from svc.assistant.analyst.questions.orders import order_of
from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

PROXY = b"""1795219200.100    900 10.2.1.8 TCP_MISS/200 5242 POST http://paste.drop.example/up rosa HIER_DIRECT/- -
1795219210.100     20 10.2.1.9 TCP_DENIED/403 3900 CONNECT relay.tor.example:443 tom HIER_NONE/- text/html
1795219300.100    100 10.2.1.9 TCP_MISS/200 4120 GET http://news.example/ tom HIER_DIRECT/198.51.100.78 text/html
1795226500.100    100 10.2.1.9 TCP_MISS/404 420 GET http://tools.example/mimikatz.zip tom HIER_DIRECT/198.51.100.9 -
"""


@pytest.mark.parametrize(
    ("question", "sides", "asked"),
    [
        ("was the log cleared before or after the new admin", ("log cleared", "new admin"), "either"),
        ("did the psexec happen after the lsass access", ("psexec", "lsass access"), "after"),
        ("what happened after the login?", None, ""),
        ("did anyone log in after 03:00", None, ""),
    ],
)
def test_an_order_has_two_sides(question: str, sides: tuple[str, str] | None, asked: str):
    found = order_of(question)
    assert (found and (found.first, found.second)) == sides
    assert found is None or found.asked == asked


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("how many requests did tom make vs rosa", ("tom", "rosa")),
        ("did 10.0.0.1 send more than 10.0.0.2?", ("10.0.0.1", "10.0.0.2")),
        ("did anyone send more than 5 MB", None),
        ("how many requests did tom make", None),
    ],
)
def test_a_comparison_has_two_values(question: str, values: tuple[str, str] | None):
    found = comparison_of(question)
    assert (found and (found.first, found.second)) == values


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("how many requests did tom make vs rosa", r"**`tom` 3 records"),
        ("did tom visit news.example after relay.tor.example", "**Yes:** "),
        ("did tom visit news.example before relay.tor.example", "**No:** "),
        ("did tom get mimikatz?", "**No: 1 failed"),
        ("did rosa get mimikatz?", "**No record has both** "),
        ("which requests were not blocked", "paste[.]drop[.]example"),
        ("who went to drop.example sites", "account: `rosa`"),
    ],
)
async def test_each_side_is_looked_for_by_itself(question: str, says: str):
    asked = await ask(question, ("access.log", PROXY))
    assert says in asked.markdown.partition("\n\n")[0], asked.markdown


async def test_a_side_without_a_time_cannot_be_ordered():
    asked = await ask("did tom visit news.example before the fire drill", ("access.log", PROXY))
    assert asked.markdown.startswith("**Cannot tell**"), asked.markdown
    assert asked.answer.status is AnswerStatus.NOT_ANSWERED
