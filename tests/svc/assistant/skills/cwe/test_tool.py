"""Texts about weaknesses get their CWE, and CWEs are explained; nothing is invented."""

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.findings import Finding, Gap
from svc.assistant.skills.cwe.tool import MAX_BLOCK_CHARS, MAX_BLOCKS, inspect, ranked

KERNEL = "In the Linux kernel, the following vulnerability has been resolved: "


def findings(text, question=""):
    return [item for item in inspect(text, source="prompt", question=question) if isinstance(item, Finding)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("The name field is not escaped, which allows stored XSS in the admin page.", 79, id="79"),
        pytest.param("A crafted id lets remote users run arbitrary SQL commands.", 89, id="89"),
        pytest.param("The form has no nonce check, so a forged request changes settings (CSRF).", 352, id="352"),
        pytest.param("Sending ../../etc/passwd reads any file the server can read.", 22, id="22"),
        pytest.param("The hostname field reaches a shell command without quoting.", 78, id="78"),
        pytest.param("A missing capability check lets subscribers delete posts.", 862, id="862"),
        pytest.param(KERNEL + "net: avoid null-ptr-deref when the route is gone", 476, id="476"),
        pytest.param(KERNEL + "fix slab-use-after-free in the timer", 416, id="416"),
        pytest.param(KERNEL + "fix a memory leak on the error path", 401, id="401"),
        pytest.param("A heap-based buffer overflow in the TIFF reader.", 122, id="122, not 120"),
        pytest.param("An out of bounds read in the font parser discloses memory.", 125, id="125"),
        pytest.param("The server fetches any URL given, including the metadata service (SSRF).", 918, id="918"),
        pytest.param("Objects are rebuilt from a cookie by insecure deserialization.", 502, id="502"),
        pytest.param("Changing the id parameter shows another user's invoice (IDOR).", 639, id="639"),
        pytest.param("Firmware has a hard-coded root password.", 798, id="798"),
        pytest.param("A crafted version string makes the regular expression take exponential time.", 1333, id="1333"),
        pytest.param("Improper Neutralization of Formula Elements in a CSV File", 1236, id="its whole name"),
        pytest.param("Exposed, see CWE-1188.", 1188, id="its id"),
    ],
)
def test_the_weakness_that_a_text_describes_is_first(text, number):
    assert [candidate.weakness.id for candidate in ranked(text)][:1] == [number]


def test_a_text_without_typical_words_has_no_candidate():
    items = list(inspect("The cat sat on the mat.", source="prompt"))
    assert not [item for item in items if isinstance(item, Finding)]
    assert [item.text for item in items if isinstance(item, Gap)] == [
        "the text has no wording typical of a known weakness"
    ]


def test_each_text_of_a_list_gets_its_own_candidates():
    text = "CVE-2024-0001: SQL injection in a\nCVE-2024-0002: open redirect in b\n\nA double free in c"
    first = [f for f in findings(text) if f.facts.rank == 1]
    assert [(f.facts.block, f.facts.id, f.evidence[0].line) for f in first] == [
        (1, "CWE-89", 1),
        (2, "CWE-601", 2),
        (3, "CWE-415", 4),
    ]


def test_the_question_is_not_part_of_the_text():
    question = "Which CWE is this, an SQL injection or not:"
    found = findings(f"{question} a double free in the parser", question)
    assert {f.facts.id for f in found} == {"CWE-415"}


def test_a_cwe_is_explained_with_its_parents_and_children():
    [finding] = findings("What is CWE-79?", "What is CWE-79?")
    assert finding.title.startswith("CWE-79 Improper Neutralization of Input During Web Page Generation")
    assert any("CWE-80 " in child for child in finding.facts.children)
    assert any("CWE-74 " in parent for parent in finding.facts.parents)
    assert finding.facts.table_version


def test_an_unknown_cwe_is_reported():
    items = list(inspect("what is CWE-99999?", source="prompt", question="what is CWE-99999?"))
    assert any(isinstance(item, Gap) and "CWE-99999" in item.text for item in items)


def test_more_texts_than_the_limit_are_reported():
    gaps = [g for g in inspect("xss\n\n" * (MAX_BLOCKS + 5), source="a") if isinstance(g, Gap)]
    assert [gap.text for gap in gaps] == [f"only the first {MAX_BLOCKS} of {MAX_BLOCKS + 5} texts were examined"]


@given(st.text(max_size=400))
def test_any_text_is_examined_without_an_error(text):
    list(inspect(text, source="prompt", question=text[:20]))


TEXTS = tomllib.loads(Path(__file__).with_name("weakness_texts.toml").read_text(encoding="utf-8"))["texts"]


@pytest.mark.parametrize("half", [0, 1], ids=["words tuned on these", "words not tuned on these"])
def test_four_of_five_vendor_descriptions_rank_their_weakness_first(half):
    first = [ranked(text)[:1] for _, text in TEXTS[half::2]]
    right = [bool(top) and top[0].weakness.id == number for top, (number, _) in zip(first, TEXTS[half::2], strict=True)]
    assert len(right) > 60
    assert sum(right) / len(right) >= 0.8


def test_the_result_of_a_weakness_ranks_below_it():
    text = "An integer overflow in calc_size with a resultant heap-based buffer overflow."
    assert [candidate.weakness.id for candidate in ranked(text)][:2] == [190, 122]


@pytest.mark.parametrize("word", ["a ", "not ", "password ", "log ", "read beyond ", "id ", "x"])
def test_a_text_of_one_repeated_word_is_examined_quickly(word):
    started = time.process_time()
    ranked(word * (MAX_BLOCK_CHARS // len(word)))
    assert time.process_time() - started < 3
