"""Conversations: questions that lean on the ones before, on what is in them, or on a file that is gone."""

from __future__ import annotations

import re

import pytest

from svc.assistant.analyst.follow_ups.reading import polite_kind
from svc.messages import AnswerStatus
from tests.support.follow_up_cases import is_repeated, plain
from tests.support.follow_up_evidence import EVIDENCE
from tests.support.inline_analyst import Asked, ask
from tests.svc.assistant.analyst.test_follow_up_cases import asked_in_session, exchange_of, session_of


async def last_of(name: str, *prompts: str, language: str = "en") -> Asked:
    asked, _ = await asked_in_session(prompts, EVIDENCE[name], await session_of(name), language)
    return asked


@pytest.mark.parametrize(
    "words",
    [
        "thanks",
        "Thank you!",
        "ok",
        "hello",
        "Danke schön",
        "merci beaucoup",
        "¡gracias!",
        "ありがとうございます",
        "great, thx",
    ],
)
async def test_a_politeness_gets_one_short_line(words):
    for history_of in ("auth", "mail"):
        asked = await last_of(history_of, words)
        assert len(asked.markdown.splitlines()) == 1, asked.markdown
        assert len(asked.markdown) < 80
    assert (await ask(words, EVIDENCE["auth"].file)).markdown == asked.markdown  # with a new file, too


HASHES = b"md5 44d88612fea8a8f36de82e1278abb02f\nsha1 3395856ce81f2b7382dee72602f798b642f14140\n" + b"".join(
    b"sha256 %064x\n" % (0xABCDEF << 200 | number) for number in range(1, 4)
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how many MD5s?", "**1 MD5 hash**"),
        ("how many SHA-256 hashes are there?", "**3 SHA-256 hashes**"),
        ("how many of these are SHA-256 hashes?", "**3 of 5 findings** (SHA-256 hashes)"),
        ("only the MD5 hashes", "**1 of 5 findings** (MD5 hashes)"),
        ("how many hashes?", "**5 hashes**"),
        ("how many sha-512 hashes?", "**Cannot tell**"),
    ],
)
async def test_a_kind_of_hash_is_not_every_hash(question, answer):
    report = await ask("Extract all indicators", ("list.txt", HASHES))
    history = [exchange_of("Extract all indicators", report)]
    asked = await ask(question, ("list.txt", HASHES, False), history=history)
    assert asked.markdown.startswith(answer)


@pytest.mark.parametrize(
    ("name", "question", "wrong"),
    [
        ("auth", "how many IPv6 addresses?", "4 addresses"),
        ("auth", "how many unique IPs failed?", "failed logins"),
        ("auth", "which usernames don\u2019t exist?", "accounts** in"),
        ("archive", "how many files were not read?", "3 files"),
    ],
)
async def test_no_easier_question_is_answered(name, question, wrong):
    asked = await last_of(name, question)
    assert wrong not in asked.markdown
    assert asked.answer.status is not AnswerStatus.ANSWERED


@pytest.mark.parametrize("words", ["help", "ok, and who got in?", "no logins?", "thanks for nothing, what about bob"])
def test_a_question_is_no_politeness(words):
    assert polite_kind(words) == ""


@pytest.mark.parametrize(
    ("prompts", "part"),
    [
        (("how many failures for root?", "and bob?"), r"12 failed logins.*bob"),
        (("how many failures for root?", "what about admin?"), r"10 failed logins.*admin"),
        (("list the sources", "and the last one?"), r"local user mara|198\.51\.100\.11"),
        (("only after 03:00", "which of these are critical?"), r"mara logged in"),
        (("who got in and when did it start?",), r"(?s)mara.*02:10:00"),
        (("which accounts did 203.0.113.7 try?",), r"(?s)2 accounts.*root.*admin"),
        (("did bob get in?",), r"No accepted login of bob"),
        (("was the attack successful?",), r"Yes: .*mara"),
        (("how long did the attack last?",), r"1 h 2 min 7 s"),
        (("show me line 2",), r"line 2 of auth\.log.*backup-job-77"),
        (("who is the attacker?",), r"198\.51\.100\.23"),
        (("is 203.0.113.70 in it?",), r"No: none of 65 lines"),
        (("is 203.0.113 in it?",), r"Only within longer words"),
    ],
)
async def test_an_answer_leans_on_the_one_before(prompts, part):
    asked = await last_of("auth", *prompts)
    text = plain(asked.markdown).replace("**", "")
    assert re.search(part, text), text
    assert len(text) < 1_500


async def test_the_exact_times_of_a_name_are_its_own():
    text = (await last_of("auth", "how many failures for root?")).markdown
    assert "02:10:05" in text
    assert "line 4 " in text
    listed = (await last_of("auth", "list the accounts")).markdown
    assert re.search(r"`admin`: 10 failed logins, Nov 20 02:10:00 to 02:13:00, line 3", listed)


async def test_a_look_up_leaves_the_files_alone():
    for question in ("What is CWE-79?", "explain T1110.003", "T1059.001", "and CVE-2021-44228?"):
        asked = await ask(question, EVIDENCE["auth"].file)  # though the file is new
        assert "auth.log" not in asked.markdown, asked.markdown


async def test_the_log_may_be_asked_for_a_technique():
    assert "auth.log" in (await last_of("auth", "is T1110 in it?")).markdown


async def test_a_file_that_is_gone_cannot_be_searched():
    session = await session_of("auth")
    asked = await ask("is backup-job-77 in it?", history=session)
    assert asked.answer.status == AnswerStatus.NOT_ANSWERED
    assert re.search(r"Cannot tell.*no longer attached.*auth\.log", asked.markdown, re.DOTALL)
    known = await ask("how many failures for root?", history=session)
    assert re.search(r"Cannot tell.*no longer attached.*auth\.log", known.markdown, re.DOTALL)
    assert "30 failed logins" not in known.markdown


async def test_pasted_text_is_what_is_asked_about():
    session = await session_of("auth")
    own = f"Explain this output:\n\n```\n{session[0].answer[:2_000]}\n```"
    asked = await last_of("auth", own)
    assert asked.markdown.startswith("**This is the answer to** ")
    assert not is_repeated(asked.markdown, session[0].answer)
    other = "What is in this output?\n\n```\nGET http://evil.example/x\nfrom 192.0.2.77\nthird line\n```"
    text = (await last_of("auth", other)).markdown
    assert "192[.]0[.]2[.]77" in text
    assert "203[.]0[.]113[.]7`" not in text


async def test_a_report_is_given_again_when_it_is_asked_for():
    session = await session_of("auth")
    assert is_repeated((await last_of("auth", EVIDENCE["auth"].first)).markdown, session[0].answer)
    assert not is_repeated((await last_of("auth", "and bob?", "and bob?")).markdown, session[0].answer)


async def test_a_tool_that_has_not_run_yet_reads_the_file():
    asked = await last_of("auth", "extract the indicators")
    assert "**5 indicators:**" in asked.markdown
    assert "By account" not in asked.markdown


@pytest.mark.parametrize(
    ("question", "language", "part"),
    [
        ("wie viele fehlversuche hatte root?", "de", "30 failed logins"),
        ("fasse in zwei Sätzen für meinen Chef zusammen", "de", r"\A\*[^\n]+\*\n\n[^\n]+\n\Z"),
        ("ist 192.0.2.99 im log?", "de", r"\bNo:"),
        ("quels comptes ?", "fr", "(?s)root.*bob"),
        ("et maintenant ?", "fr", "mara"),
        ("compara root y bob", "es", "(?s)30.*12"),
        ("¿cuándo terminó?", "es", "03:12:07"),
        ("203.0.113.7は何をしましたか？", "ja", r"40 failed logins"),  # noqa: RUF001
        ("アカウントの一覧", "ja", "(?s)root.*bob"),
    ],
)
async def test_questions_in_other_languages(question, language, part):
    asked = await last_of("auth", question, language=language)
    assert re.search(part, plain(asked.markdown)), asked.markdown


async def test_two_files_are_both_known():
    auth, web = EVIDENCE["auth"], EVIDENCE["web"]
    session = [exchange_of("What happened?", await ask("What happened?", auth.file, web.file))]
    files = [(*auth.file, False), (*web.file, False)]
    for question, parts in {
        "what did 203.0.113.50 do?": ("6 requests", "access.log"),
        "how many failures for root?": ("30 failed logins", "auth.log"),
        "is InvoiceBot in it?": ("line 1", "access.log"),
    }.items():
        asked = await ask(question, *files, history=session)
        assert all(part in asked.markdown for part in parts), asked.markdown


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which accounts were compromised?", "**1 account** in `auth.log`:\n\n- `mara`"),
        ("how many users got hacked?", "**1 account**"),
        ("how many accounts were attacked?", "**4 accounts**"),
        ("how many accounts got in?", "**2 accounts**"),
        ("how many accounts were locked?", "**Question not understood:**"),
        ("how many addresses were seen?", "**4 addresses**"),
        ("was the root account compromised?", "**Possibly:**"),
        ("is the root user hijacked?", "**Possibly:**"),
        ("was the deploy account compromised?", "**No finding is about `deploy`**"),
        ("has the backup user been taken over?", "**No finding is about `backup`**"),
        ("did the attacker get in?", "**Yes:** `mara logged in"),
    ],
)
async def test_a_question_is_not_replaced_by_an_easier_one(question, answer):
    asked = await last_of("auth", question)
    assert asked.markdown.startswith(answer), asked.markdown


@pytest.mark.parametrize(
    "question",
    [
        "was the deploy account compromised?",
        "did zoe get in?",
        "was user deploy broken into?",
        "has the account of carol been hacked?",
        "is the 'www-data' login compromised?",
    ],
)
async def test_the_compromise_of_another_account_is_no_yes(question):
    asked = await ask(question, EVIDENCE["auth"].file)
    assert asked.markdown.startswith("**Cannot tell**"), asked.markdown
    assert "Yes" not in asked.markdown.partition("<details>")[0]


@pytest.mark.parametrize(
    "question", ["was nobody let in last weekend?", "any logins on the weekend?", "who failed on monday?"]
)
async def test_a_log_without_a_year_has_no_days_of_the_week(question):
    asked = await ask(question, EVIDENCE["auth"].file)
    assert asked.markdown.startswith("**Cannot tell**"), asked.markdown
    assert "states no year" in asked.markdown.splitlines()[0]


@pytest.mark.parametrize(
    "question", ["thanks, what is mimikatz?", "hello, what is kerberoasting", "hi: what is an IDS?"]
)
async def test_a_question_after_a_greeting_is_a_question(question):
    asked = await ask(question)
    assert not asked.markdown.startswith(("Hello", "You're welcome", "**This analyst")), asked.markdown
