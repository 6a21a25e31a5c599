"""What a session knows already, and which question means it."""

import msgspec
import pytest

from svc.assistant.analyst import follow_up as history
from svc.assistant.analyst.follow_up import FollowUpKind
from svc.assistant.findings import Evidence, Finding, Severity
from svc.assistant.skills.events.findings import EventTactics, RuleHit, TacticIndicator
from svc.assistant.turn import Exchange, TurnFile
from tests.support import facts


def source(address, *, let_in=False, severity=Severity.HIGH):
    return Finding(
        title=address,
        severity=severity,
        evidence=(Evidence(source="auth.log", excerpt="x", line=1),),
        facts=msgspec.structs.replace(
            facts.SOURCE, source=address, successes=int(let_in), success_accounts=["root"] if let_in else []
        ),
    )


def indicator(kind, value, scope=""):
    return Finding(title=value, facts=facts.indicator(kind, value, scope=scope))


def rule_hit(title, severity, *techniques):
    hit = RuleHit(
        rule="1", level="high", author="", license="", tactics=[], false_positives=[], count=1, first=None, last=None,
        hosts=[], event_ids=[],
    )  # fmt: skip
    return Finding(title=title, severity=severity, techniques=techniques, facts=hit)


def event_tactics(title, severity, *techniques):
    seen = TacticIndicator("discovery", list(techniques), "x", 1, "", severity, 1, "")
    tactics = EventTactics(named=["discovery"], by_tactic=[], indicators=[seen], attack_version="17.0")
    return Finding(title=title, severity=severity, techniques=techniques, facts=tactics)


LOGINS = [source("8.8.8.8", let_in=True), source("10.0.0.7", severity=Severity.MEDIUM), source("2606:4700::1111")]
REPORT = [indicator("ipv4", "8.8.4.4", "public"), indicator("ipv4", "10.1.1.1", "private"), indicator("md5", "0" * 32)]
HOST = [
    event_tactics("tactics", Severity.CRITICAL, "T1003.001", "T1033"),
    rule_hit("lsass read", Severity.CRITICAL, "T1003.001"),
    rule_hit("rights listed", Severity.LOW, "T1033"),
]


def session(findings, prompt="an earlier question"):
    return (Exchange(prompt=prompt, answer="**An answer**", sources=(msgspec.json.encode(findings).decode(),)),)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("what did I ask before?", FollowUpKind.QUESTIONS),
        ("What was my last question?", FollowUpKind.QUESTIONS),
        ("what did you find?", FollowUpKind.FINDINGS),
        ("which of these are external?", FollowUpKind.FILTER),
        ("only the failures after 03:00", FollowUpKind.FILTER),
        ("and only those from 8.8.8.8", FollowUpKind.FILTER),
        ("which accounts were brute-forced?", None),
        ("decode this: aGVsbG8gd29ybGQ=", None),
        ("how many sources?", FollowUpKind.COUNT),
        ("critical ones", FollowUpKind.FILTER),
        ("and if the root were another?", None),
        ("what is CWE-79", None),
    ],
)
def test_which_question_refers_back(question, kind):
    back = history.follow_up(question, session(LOGINS))
    assert (back.kind if back else None) == kind


def test_words_that_ask_for_no_tool_are_about_files_that_came_with_them():
    assert history.follow_up("critical ones", session(LOGINS), has_new_files=True) is None


@pytest.mark.parametrize("address", ["203.0.113.9", "2001:db8::7"])
def test_an_address_of_examples_stands_for_one_of_the_internet(address):
    assert history.scope_of(source(address)) == "external"
    assert history.scope_of(indicator("ipv4", address, "documentation")) == "external"


def test_a_reference_to_nothing_is_a_question_of_its_own():
    assert history.follow_up("which of these are external?", ()) is None


@pytest.mark.parametrize(
    ("question", "findings", "kept"),
    [
        pytest.param("which of these are external?", LOGINS, ["8.8.8.8", "2606:4700::1111"], id="external logins"),
        pytest.param("which of these are internal?", LOGINS, ["10.0.0.7"], id="internal logins"),
        pytest.param("which of these got in?", LOGINS, ["8.8.8.8"], id="got in"),
        pytest.param("only the medium ones", LOGINS, ["10.0.0.7"], id="severity"),
        pytest.param("which of these are critical?", HOST, ["lsass read"], id="severity, without what sums up"),
        pytest.param("which of these are T1003?", HOST, ["lsass read"], id="technique, without what sums up"),
        pytest.param("only those from 10.0.0.7", LOGINS, ["10.0.0.7"], id="named address"),
        pytest.param("only those of root", LOGINS, ["8.8.8.8", "10.0.0.7", "2606:4700::1111"], id="named account"),
        pytest.param("only those from 10[.]0[.]0[.]7", LOGINS, ["10.0.0.7"], id="named address, defanged"),
        pytest.param("which of these are external?", REPORT, ["8.8.4.4"], id="external indicators"),
        pytest.param("only the hashes", REPORT, ["0" * 32], id="type"),
        pytest.param("which of these IPs are private?", REPORT, ["10.1.1.1"], id="two conditions"),
    ],
)
def test_filter_keeps_what_meets_every_condition(question, findings, kept):
    assert [finding.title for finding in history.filtered(question, findings)] == kept


def test_the_time_of_day_needs_the_log_again():
    back = history.follow_up("only the failures after 03:00", session(LOGINS))
    log = TurnFile(name="auth.log", size=1, sha256="", mime_type="", label="authlog", source=b"x")
    other = TurnFile(name="other.log", size=1, sha256="", mime_type="", label="authlog", source=b"x")
    [call] = history.rerun_calls(session(LOGINS)[0], LOGINS, (other, log), back.options)
    assert (call.input, call.options) == (log, {"after": "03:00:00"})


def test_a_source_message_that_is_no_list_of_findings_is_passed_over():
    exchange = Exchange(prompt="x", answer="y", sources=('{"cites": []}', "not json", "[]"))
    assert history.findings_of(exchange) == []


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        pytest.param("", FollowUpKind.FINDINGS, id="the form alone"),
        pytest.param("and now, please", FollowUpKind.FINDINGS, id="the form, politely"),
        pytest.param("which of these are external?", FollowUpKind.FILTER, id="some of them"),
        pytest.param("Extract the indicators.", None, id="a question of its own"),
    ],
)
def test_what_a_form_is_wanted_of(question, kind):
    back = history.follow_up(question, session(LOGINS), is_form_given=True)
    assert (back.kind if back else None) == kind


@pytest.mark.parametrize(
    ("question", "limit"),
    [("top 3", 3), ("show me the worst two", 2), ("the first 10 findings", 10), ("what is the worst of these?", 1)],
)
def test_the_worst_of_the_known(question, limit):
    assert history.follow_up(question, session(LOGINS)).limit == limit


def test_how_many_is_a_count():
    assert history.follow_up("how many of these are external?", session(LOGINS)).kind is FollowUpKind.COUNT


def test_a_technique_keeps_its_subtechniques():
    spray = rule_hit("spray", Severity.HIGH, "T1110.003")
    other = rule_hit("other", Severity.HIGH, "T1059")
    assert history.filtered("which of these are T1110?", [spray, other]) == [spray]


def test_a_technique_is_one_condition_though_findings_name_it_in_their_values():
    impact = rule_hit("impact", Severity.HIGH, "T1490")
    whole = event_tactics("all", Severity.HIGH, "T1110", "T1490")
    assert history.filtered("only T1490", [impact, whole]) == [impact]


def test_a_named_file_keeps_what_stands_in_it():
    there = Finding(facts=facts.FAILURE, title="there", evidence=(Evidence(source="web.log", excerpt=""),))
    elsewhere = Finding(facts=facts.FAILURE, title="elsewhere", evidence=(Evidence(source="db.log", excerpt=""),))
    assert history.filtered("only those in web.log", [there, elsewhere]) == [there]
