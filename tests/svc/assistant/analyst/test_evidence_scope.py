"""Which earlier findings a question may use."""

from __future__ import annotations

import msgspec
import pytest

from svc.assistant.analyst.evidence_scope import mentioned, remark, usable_history
from svc.assistant.analyst.follow_up import findings_of
from svc.assistant.findings import Evidence, Finding
from svc.assistant.turn import Exchange, Turn, TurnFile
from tests.support import facts


def file(name: str, attached: float) -> TurnFile:
    return TurnFile(
        name=name,
        size=1,
        sha256=name,
        mime_type="text/plain",
        label="txt",
        source=b"x",
        is_new=False,
        attached=attached,
    )


def found_in(*names: str) -> str:
    findings = [
        Finding(
            title=name,
            evidence=(Evidence(source=name, excerpt="x"),),
            facts=msgspec.structs.replace(facts.SOURCE, source="192.0.2.1"),
        )
        for name in names
    ]
    return msgspec.json.encode(findings).decode()


def asked_about(*names: str, at: float) -> Exchange:
    return Exchange(prompt="who?", answer=f"found in {names}", sources=(found_in(*names),), asked=at)


def turn(*files: TurnFile, history: tuple[Exchange, ...], left_out: tuple[TurnFile, ...] = ()) -> Turn:
    return Turn(session_id="s", prompt="?", files=files, history=history, left_out=left_out)


def usable_titles(asked: Turn) -> list[list[str]]:
    return [[finding.title for finding in findings_of(one)] for one in usable_history(asked).turn.history]


@pytest.mark.parametrize(
    ("asked", "titles", "gone"),
    [
        pytest.param(turn(file("a", 1), history=(asked_about("a", at=2),)), [["a"]], (), id="attached"),
        pytest.param(turn(history=(asked_about("a", at=2),)), [[]], ("a",), id="removed"),
        pytest.param(turn(file("a", 3), history=(asked_about("a", at=2),)), [[]], ("a",), id="replaced"),
        pytest.param(
            turn(file("a", 1), file("a", 3), history=(asked_about("a", at=2),)), [["a"]], (), id="both versions"
        ),
        pytest.param(
            turn(file("b", 1), history=(asked_about("a", "b", at=2),)), [["b"]], ("a",), id="one of two removed"
        ),
        pytest.param(
            turn(file("b", 1), left_out=(file("a", 1),), history=(asked_about("a", at=2), asked_about("b", at=3))),
            [[], ["b"]],
            (),
            id="not asked about",
        ),
        pytest.param(
            turn(file("z.zip", 1), history=(asked_about("z.zip/a/b.log", at=2),)), [["z.zip/a/b.log"]], (), id="member"
        ),
        pytest.param(turn(history=(asked_about("z.zip/a/b.log", at=2),)), [[]], ("z.zip",), id="a removed one's"),
        pytest.param(turn(history=(asked_about("prompt", at=2),)), [["prompt"]], (), id="pasted"),
        pytest.param(
            turn(history=(Exchange(prompt="?", answer="a", sources=('{"x": 1}', "[1]")),)), [[]], (), id="another's"
        ),
    ],
)
def test_only_findings_of_current_files_that_are_asked_about_are_used(
    asked: Turn, titles: list[list[str]], gone: tuple[str, ...]
):
    assert usable_titles(asked) == titles
    assert usable_history(asked).gone == gone


def test_an_answer_about_a_removed_file_is_not_in_the_history():
    history = usable_history(turn(file("b", 1), history=(asked_about("a", at=2), asked_about("b", at=3)))).turn.history

    assert [one.answer.startswith("(This answer is not shown:") for one in history] == [True, False]


def test_an_answer_names_what_it_does_not_use():
    assert remark([], []) == ""
    assert remark(["a`b"], []).startswith("``a`b`` was removed or replaced after an earlier question;")
    assert remark([], list("abcdefg")).startswith("Not used: `a`, `b`, `c`, `d`, `e` and 2 more.")
    assert mentioned("what was in A.LOG?", ["a.log", "b.log"]) == ["a.log"]
