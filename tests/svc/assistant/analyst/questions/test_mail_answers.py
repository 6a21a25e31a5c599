"""One fact of a mail: who sent it, where replies go, its links; who clicked is in no mail."""

from __future__ import annotations

import re

import pytest

from tests.support.bundles import phish
from tests.svc.assistant.analyst.questions.test_conditions import first_of

MAIL = ("mail.eml", phish(link="http://bank-verify.example/login", to="zoe@corp.test"))


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("who is it really from", r"203\.0\.113\.45.*claims to be from `notice@billing-desk\.example`"),
        ("where do replies go", r"\*\*Replies go to `billing\.desk\.7714@mailbox\.example`\*\*"),
        ("just the urls", r"http://bank-verify\.example/login"),
        ("did zoe click it?", r"\*\*Cannot tell\*\*"),
        ("since the spf passed can we trust it?", r"\*\*SPF fail"),
    ],
)
async def test_one_fact_is_told(question: str, says: str):
    assert re.search(says, await first_of(question, MAIL)), await first_of(question, MAIL)
