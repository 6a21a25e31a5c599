"""From words, files and content to the right tools, in order."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.analyst.plan import PROMPT, candidates, make_plan, question_of, read_question, window_of
from svc.assistant.turn import TurnFile

LOGIN = "Nov 20 03:12:45 web1 sshd[1]: Failed password for root from 192.0.2.7 port 22 ssh2"
BLOB = "SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAKQA="
VECTOR = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"
REPORT = "The actors used brute force and encoded commands.\nThey called evil[.]example.\nThen 192.0.2.9.\nThe end."


WORDS = [
    "decode",
    "don't",
    "indicators",
    "and",
    "brute",
    "force",
    "auth.log",
    "cvss",
    "only",
    ":",
    "?",
    "\n",
    "```",
    BLOB,
    VECTOR,
]


def file(name, label):
    mime_type = "application/octet-stream" if label in ("pcap", "iso") else "text/plain"
    return TurnFile(name=name, size=10, sha256="", mime_type=mime_type, label=label, source=b"x")


AUTH = file("auth.log", "authlog")
SYSLOG = file("messages", "syslog")
TEXT = file("report.txt", "txt")
PCAP = file("capture.pcap", "pcap")
DISK = file("disk.iso", "iso")
EVTX = file("Security.evtx", "evtx")
EVENTS = file("host.json", "winevents")


def earlier(one):
    return msgspec.structs.replace(one, is_new=False)


def calls(prompt, *files):
    return [
        (planned.skill.name, [call.name for call in planned.calls])
        for planned in make_plan(read_question(prompt, files)).skills
    ]


@pytest.mark.parametrize(
    ("prompt", "files", "expected"),
    [
        pytest.param("which accounts were brute-forced?", [AUTH], [("auth_log", ["auth.log"])], id="kind 8"),
        pytest.param("Who logged in after failed attempts?", [AUTH], [("auth_log", ["auth.log"])], id="who got in"),
        pytest.param(f"who was brute forced?\n{LOGIN}", [], [("auth_log", [PROMPT])], id="pasted log"),
        pytest.param("extract the indicators", [TEXT], [("indicators", ["report.txt"])], id="kind 4"),
        pytest.param("does this evtx show lateral movement?", [EVTX], [("events", ["Security.evtx"])], id="kind 9"),
        pytest.param("what happened on this host?", [EVENTS], [("events", ["host.json"])], id="kind 10"),
        pytest.param("which accounts were brute-forced?", [EVTX], [("events", ["Security.evtx"])], id="kind 8, EVTX"),
        pytest.param("which accounts were brute-forced?", [EVENTS], [("events", ["host.json"])], id="kind 8, JSON"),
        pytest.param(
            "which accounts were brute-forced?",
            [AUTH, EVTX],
            [("auth_log", ["auth.log"]), ("events", ["Security.evtx"])],
            id="kind 8, two kinds of log",
        ),
        pytest.param(
            "does this evtx show lateral movement, and which accounts were brute-forced?",
            [EVTX],
            [("events", ["Security.evtx"])],
            id="kinds 8 and 9 of one log",
        ),
        pytest.param("look at this", [EVTX], [("events", ["Security.evtx"])], id="a log and no words for it"),
        pytest.param("is there a gap in the evtx?", [], [], id="the words of a question are no evidence"),
        pytest.param(
            "list all domains and IPs in it", [TEXT], [("indicators", ["report.txt"])], id="types of indicators"
        ),
        pytest.param(
            f"Extract the IOCs from this report:\n\n{REPORT}", [], [("indicators", [PROMPT])], id="pasted report"
        ),
        pytest.param(f"decode {BLOB}", [], [("decode", [PROMPT])], id="kind 5"),
        pytest.param(f"explain powershell -enc {BLOB}", [], [("script", [PROMPT])], id="encoded command"),
        pytest.param(BLOB, [], [("decode", [PROMPT])], id="blob alone"),
        pytest.param(f"score {VECTOR}", [], [("cvss", [PROMPT])], id="kind 1"),
        pytest.param("AV:N/AC:L/Au:N/C:P/I:P/A:P", [], [("cvss", [PROMPT])], id="vector alone"),
        pytest.param(
            "which IP addresses brute-forced us?", [AUTH], [("auth_log", ["auth.log"])], id="addresses of a brute force"
        ),
        pytest.param(
            "Extract the indicators from report.txt and tell me who was brute-forced in auth.log",
            [AUTH, TEXT],
            [("indicators", ["report.txt"]), ("auth_log", ["auth.log"])],
            id="two asks, each its file",
        ),
        pytest.param(
            f"Score {VECTOR}, then decode {BLOB}",
            [],
            [("cvss", [PROMPT]), ("decode", [PROMPT])],
            id="two asks, one text",
        ),
        pytest.param(
            "extract indicators, don't decode anything", [TEXT], [("indicators", ["report.txt"])], id="taken back"
        ),
        pytest.param(
            "what happened here?",
            [AUTH],
            [("auth_log", ["auth.log"]), ("events", ["auth.log"])],
            id="everything that can read a log reads it",
        ),
        pytest.param(
            "look at these",
            [AUTH, TEXT],
            [("auth_log", ["auth.log"]), ("events", ["auth.log"]), ("indicators", ["report.txt"])],
            id="two files",
        ),
        pytest.param(
            "Is this host compromised?",
            [SYSLOG],
            [("auth_log", ["messages"]), ("events", ["messages"])],
            id="a syslog is searched for logins, too",
        ),
        pytest.param("Did anyone get in?", [SYSLOG], [("auth_log", ["messages"])], id="logins in a syslog"),
        pytest.param(
            "What happened on web-3, and did anyone get in?",
            [AUTH],
            [("auth_log", ["auth.log"]), ("events", ["auth.log"])],
            id="two clauses",
        ),
        pytest.param(
            "Were any shadow copies deleted?", [EVENTS], [("events", ["host.json"])], id="something in particular"
        ),
        pytest.param("Is anything malicious?", [EVENTS], [("events", ["host.json"])], id="anything"),
        pytest.param("Who got in?", [], [], id="who, without a log"),
        pytest.param(
            "who was brute-forced?",
            [AUTH, TEXT],
            [("auth_log", ["auth.log"])],
            id="a report beside the log is not searched",
        ),
        pytest.param(
            f"decode this: {BLOB}", [AUTH, TEXT], [("decode", [PROMPT])], id="own material, not earlier files"
        ),
        pytest.param(f"score {VECTOR}", [TEXT], [("cvss", [PROMPT])], id="own vector, not an earlier file"),
        pytest.param("decode the file", [TEXT], [("decode", ["report.txt"])], id="the file is meant"),
        pytest.param("hello", [], [], id="nothing asked"),
        pytest.param("what talks in this capture?", [PCAP], [("pcap", ["capture.pcap"])], id="a capture"),
    ],
)
def test_plan(prompt, files, expected):
    assert calls(prompt, *files) == expected


@pytest.mark.parametrize(
    ("prompt", "files", "without"),
    [
        ("Extract the indicators and also inspect the PE file", [TEXT], ["Program"]),
        ("who was brute-forced in auth.log, and also what talks in this capture?", [AUTH], ["capture"]),
        ("who was brute-forced in auth.log, and also what talks in this capture?", [AUTH, PCAP], []),
        ("Extract the indicators and map them to ATT&CK", [TEXT], []),
        ("which accounts were brute-forced?", [AUTH], []),
    ],
)
def test_an_ask_that_came_with_nothing_to_read_is_told(prompt, files, without):
    unanswered = make_plan(read_question(prompt, files)).unanswered
    assert len(unanswered) == len(without)
    assert all(word in one for word, one in zip(without, unanswered, strict=True))


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        ("is 192.0.2.7 malicious?", "malicious"),
        ("whois evil.example", "owns"),
    ],
)
def test_what_it_cannot_do_is_named(prompt, what):
    assert any(what in text for text in make_plan(read_question(prompt, ())).unsupported)


def test_a_file_that_nothing_reads_still_belongs_to_the_question():
    assert make_plan(read_question("extract the indicators", (TEXT, DISK))).files == (TEXT, DISK)


def test_the_words_that_led_there_are_told():
    assert make_plan(read_question("which accounts were brute-forced?", (AUTH,))).skills[0].reason == "“brute-forced”"


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        pytest.param("what is this?\n\n" + REPORT, "what is this?", id="paragraph"),
        pytest.param("extract the IOCs:\n" + REPORT, "extract the IOCs:", id="colon"),
        pytest.param("decode this\n```\nwho was brute-forced\n```", "decode this", id="fence"),
        pytest.param(REPORT + "\n\nwhich IOCs are in there?", "which IOCs are in there?", id="question last"),
    ],
)
def test_the_question_is_told_from_what_was_pasted(prompt, question):
    assert question in question_of(prompt)
    assert "The end" not in question_of(prompt)


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("only the failures after 03:00", {"after": "03:00:00"}),
        ("failures since 3pm", {"after": "15:00:00"}),
        ("before 06:30:15", {"before": "06:30:15"}),
        ("between 22:00 and 06:00", {"after": "22:00:00", "before": "06:00:00"}),
        ("who got in after 5 failures", {}),
        ("traffic from 192.0.2.7", {}),
        ("after 99:99", {}),
    ],
)
def test_time_of_day_in_words(question, window):
    assert window_of(question) == window


@given(st.text(max_size=300) | st.lists(st.sampled_from(WORDS)).map(" ".join), st.booleans())
def test_any_prompt_has_a_plan(prompt, has_file):
    plan = make_plan(read_question(prompt, (AUTH, TEXT, PCAP) if has_file else ()))
    assert all(planned.calls for planned in plan.skills)
    assert len({planned.skill.name for planned in plan.skills}) == len(plan.skills)


@pytest.mark.parametrize(
    ("prompt", "files", "expected"),
    [
        pytest.param("extract the indicators", [earlier(AUTH), TEXT], ["report.txt"], id="what came with the question"),
        pytest.param(
            "extract the indicators from all files", [earlier(AUTH), TEXT], ["auth.log", "report.txt"], id="all"
        ),
        pytest.param(
            "extract the indicators", [earlier(AUTH), earlier(TEXT)], ["auth.log", "report.txt"], id="none new"
        ),
        pytest.param("who was brute-forced?", [earlier(AUTH), TEXT], ["auth.log"], id="the only log is an earlier one"),
        pytest.param("indicators in auth.log", [earlier(AUTH), TEXT], ["auth.log"], id="an earlier one by its name"),
        pytest.param(
            "which accounts were brute-forced?", [earlier(EVTX), AUTH], ["auth.log"], id="not what another tool reads"
        ),
    ],
)
def test_files_that_came_with_the_question_are_meant_before_earlier_ones(prompt, files, expected):
    [planned] = make_plan(read_question(prompt, files)).skills
    assert [call.name for call in planned.calls] == expected


def test_the_experimental_model_has_tools_that_the_stable_one_names_but_does_not_use():
    shortcut = msgspec.structs.replace(file("invoice.lnk", "lnk"), mime_type="application/x-ms-shortcut")

    stable, experimental = (
        make_plan(read_question("", [shortcut])),
        make_plan(read_question("", [shortcut], use_experimental=True)),
    )

    assert [planned.skill.name for planned in experimental.skills] == ["shortcut"]
    assert not stable.skills
    assert "experimental model" in stable.unsupported[0]


def test_the_table_of_candidates_says_which_words_name_a_skill_and_where():
    question = read_question("Which accounts were brute-forced? Then decode aGVsbG8gd29ybGQ=", [AUTH])
    table = [(one.skill.name, one.word, one.clause.strip(), one.is_strong) for one in candidates(question)]
    assert table == [
        ("auth_log", "brute-forced", "Which accounts were brute-forced", True),
        ("events", "brute-forced", "Which accounts were brute-forced", True),
        ("decode", "decode", "decode aGVsbG8gd29ybGQ=", True),
    ]
