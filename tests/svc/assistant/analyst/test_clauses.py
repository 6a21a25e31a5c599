"""Questions as clauses, and what each clause asks for."""

import pytest

from svc.assistant.analyst.plan import make_plan, read_question


def clauses(question, language="en"):
    return [
        (clause.text, clause.kind.value) for clause in make_plan(read_question(question, (), language=language)).clauses
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What happened on web-3, and did anyone get in?",
            [("What happened on web-3", "open"), ("did anyone get in", "named")],
        ),
        ("Were any shadow copies deleted?", [("Were any shadow copies deleted", "particular")]),
        ("Is anything malicious?", [("Is anything malicious", "open")]),
        ("Is this host compromised?", [("Is this host compromised", "open")]),
        ("Our EDR alerted. What happened?", [("What happened", "open")]),
        ("list all domains and IPs in it", [("list all domains and IPs in it", "named")]),
        ("Who got in? Also whois evil.com", [("Who got in", "named"), ("whois evil.com", "unsupported")]),
        ("is 192.0.2.7 malicious?", [("is 192.0.2.7 malicious", "unsupported")]),
        ("did 10.0.0.5 talk to evil.example?", [("did 10.0.0.5 talk to evil.example", "particular")]),
        (
            "Who was brute-forced; was anything downloaded; and which rules matched?",
            [
                ("Who was brute-forced", "named"),
                ("was anything downloaded", "particular"),
                ("which rules matched", "particular"),
            ],
        ),
        ("root logins", [("root logins", "named")]),
        ("", []),
    ],
)  # fmt: skip
def test_each_clause_that_asks_something_is_kept(question, expected):
    assert clauses(question) == expected


def test_a_question_in_another_language_has_a_clause_for_each_part_that_asks_something():
    assert clauses("Welche Konten wurden per Brute-Force angegriffen, und kam jemand rein?", "de") == [
        ("Welche Konten wurden per Brute-Force angegriffen?", "named"),
        ("kam jemand rein?", "named"),
    ]


@pytest.mark.parametrize("text", ["Was it X?", "check whether it ran", "tell me if anyone got in", "any beacons?"])
def test_a_yes_no_question_is_recognized(text):
    assert make_plan(read_question(text, ())).clauses[0].is_yes_no


@pytest.mark.parametrize("text", ["Who got in?", "What is this?", "Can you list the logins?", "list the logins"])
def test_another_question_is_not_yes_no(text):
    assert not any(clause.is_yes_no for clause in make_plan(read_question(text, ())).clauses)
