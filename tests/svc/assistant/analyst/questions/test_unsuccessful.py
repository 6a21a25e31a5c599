"""Accounts whose logins failed, and those that never succeeded: two questions."""

from __future__ import annotations

import pytest

from tests.support.inline_analyst import ask

LOG = b"""\
Nov 20 03:12:01 web1 sshd[811]: Failed password for root from 192.0.2.7 port 40122 ssh2
Nov 20 03:12:03 web1 sshd[811]: Failed password for root from 192.0.2.7 port 40123 ssh2
Nov 20 03:12:05 web1 sshd[815]: Failed password for mara from 198.51.100.23 port 50209 ssh2
Nov 20 03:12:07 web1 sshd[815]: Accepted password for mara from 198.51.100.23 port 50210 ssh2
"""
BOTH = (
    "**2 accounts with failed logins: `root` (2 from `192[.]0[.]2[.]7`); "
    "`mara` (1 from `198[.]51[.]100[.]23`; it also has an accepted login).**"
)
NEVER = "**1 account with failed logins and no accepted one: `root` (2).**"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Which accounts failed, and from which address?", BOTH),
        ("Who failed to log in?", BOTH),
        ("Quels comptes ont \u00e9chou\u00e9 \u00e0 se connecter ?", BOTH),
        ("\u00bfQu\u00e9 cuentas fallaron al iniciar sesi\u00f3n?", BOTH),
        ("Welche Konten hatten fehlgeschlagene Anmeldungen, und von welcher Adresse?", BOTH),
        ("Which accounts did not log in?", NEVER),
        ("which users never logged in successfully", NEVER),
    ],
)
async def test_who_failed_is_not_who_never_succeeded(question: str, says: str):
    assert says in (await ask(question, ("auth.log", LOG))).markdown


@pytest.mark.parametrize("question", ["Which user failed to log in from 192.0.2.7?", "which services failed?"])
async def test_a_narrower_question_is_not_answered_with_all_accounts(question: str):
    assert BOTH not in (await ask(question, ("auth.log", LOG))).markdown
