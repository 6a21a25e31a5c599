"""Lures that say little, and ordinary mails that say as little."""

from __future__ import annotations

import pytest

from svc.assistant.skills.mail.tool import judge_mail
from tests.support.mails import made

SHOP = "Orders <orders@shop-example.com>"
CHARGE = "Your plan was renewed for $389.00. If you did not authorise this, "


def names(**mail: object) -> set[str]:
    return {signal.name for signal in judge_mail(made(**{"sender": SHOP, "subject": "Hello", **mail})).signals}


@pytest.mark.parametrize(
    ("name", "mail"),
    [
        ("link_bare", {"text": "https://praxis-example.org/a1"}),
        ("ask_call", {"text": CHARGE + "call +1 (808) 555-0142."}),
        ("ask_address", {"text": "You have a grant. Write to fund.office22@gmail.com"}),
        (
            "ask_scan",
            {
                "text": "Scan the code below with your phone to sign the handbook.",
                "files": [("c.png", "image/png", "calendar")],
            },
        ),
        (
            "attachment_alone",
            {
                "text": "See the file.",
                "files": [("letter.pdf", "application/pdf", "pdf")],
                "fields": {"Reply-To": "<a.claims@mail.com>"},
            },
        ),
    ],
)
def test_lures_of_few_words(name: str, mail: dict[str, object]):
    assert name in names(**mail)


@pytest.mark.parametrize(
    "mail",
    [
        {"text": "The manual is now here, please read the second page before Monday: https://praxis-example.org/a1"},
        {"text": "You were charged $389.00. To change your plan, sign in. Our address: 808 Main Street, 555."},
        {"text": "My new work address: lena@choir-example.org"},
        {"text": "Show this code at the entrance.", "files": [("c.png", "image/png", "calendar")]},
        {"text": "See the file.", "files": [("letter.pdf", "application/pdf", "pdf")]},
    ],
)
def test_ordinary_mails_of_few_words(mail: dict[str, object]):
    assert not names(**mail) & {"link_bare", "ask_call", "ask_address", "ask_scan", "attachment_alone"}
