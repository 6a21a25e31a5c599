"""Hashes are identified by their format; words are not taken for hashes."""

from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.findings import Finding, Gap
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.hash_types import tool
from svc.assistant.skills.hash_types.answer import SECTION
from svc.assistant.skills.hash_types.findings import HashType
from svc.assistant.skills.hash_types.tool import inspect


def found(text: str) -> list[Finding[HashType]]:
    return [item for item in inspect(text, source="prompt") if isinstance(item, Finding)]


def candidates(text: str) -> list[list[str]]:
    return [[candidate.name for candidate in finding.facts.candidates] for finding in found(text)]


FORMS = {
    "MD5": hashlib.md5(b"x").hexdigest(),
    "SHA-1": hashlib.sha1(b"x").hexdigest().upper(),
    "SHA-256": hashlib.sha256(b"x").hexdigest(),
    "SHA-512": hashlib.sha512(b"x").hexdigest(),
    "bcrypt": "$2b$12$" + "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"[:53],
    "sha512crypt": "$6$rounds=9000$saltsalt$" + "a" * 86,
    "yescrypt": "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7",
    "Argon2": "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaJObG",
    "MySQL 4.1+ password": "*" + hashlib.sha1(b"x").hexdigest().upper(),
    "pwdump line (LM:NTLM)": f"admin:500:{'0' * 32}:{'1' * 32}:::",
    "ssdeep": "96:s4Ud1Lj96tHHlZDrwciQmA+4uy1I0G4HYuL8N3TzS8QsO/wqWXLcMSx:sF1LjEtHHlZDrJzrhuyZvHYm8tKp/RWO",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), FORMS.items(), ids=FORMS)
def test_the_most_likely_type_comes_first(name: str, value: str):
    assert [names[0] for names in candidates(f"what hash is this?\n{value}")] == [name]


def test_other_types_of_the_same_form_are_listed():
    [finding] = found(FORMS["MD5"])
    assert "NTLM" in [candidate.name for candidate in finding.facts.candidates]
    assert finding.confidence == "medium"
    assert "NTLM" in SECTION.verdict([finding])


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (hashlib.md5().hexdigest(), "empty file"),
        (hashlib.sha256().hexdigest().upper(), "empty file"),
        (hashlib.sha512().hexdigest(), "empty file"),
        (hashlib.sha384().hexdigest(), "empty file"),
        (hashlib.sha224().hexdigest(), "empty file"),
        (hashlib.sha1().hexdigest(), "empty file"),
        ("31d6cfe0d16ae931b73c59d7e0c089c0", "empty password"),
    ],
)
def test_hashes_of_empty_input_are_known(value: str, what: str):
    [finding] = found(value)
    assert what in str(finding.facts.known)
    assert what in SECTION.verdict([finding])


@pytest.mark.parametrize("sentence", ["what is {}?", "It is {}.", "({})", "`{}`, he said"])
def test_a_hash_is_found_in_a_sentence(sentence: str):
    assert candidates(sentence.format(FORMS["SHA-256"]))[0][0] == "SHA-256"


@pytest.mark.parametrize("text", ["", "what hash is this?", "deadbeef in a sentence", "the password is hunter2 today"])
def test_words_are_not_hashes(text: str):
    assert candidates(text) == []


def test_every_hash_of_a_table_is_listed():
    text = "\n".join(hashlib.md5(str(n).encode()).hexdigest() for n in range(20_000))
    findings = found(text)
    assert len(findings) == 20_000
    assert "different hashes" in SECTION.verdict(findings)


def test_hashes_over_the_limit_are_counted_for_the_headline(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tool, "MAX_FOUND", 5)
    text = "\n".join(hashlib.md5(str(n).encode()).hexdigest() for n in range(8))
    assert len(found(text)) == 5
    gap = Gap(text="only the first 5 of 8 different hashes were examined", in_headline=True)
    assert gap in list(inspect(text, source="x"))


@given(st.text(max_size=500))
def test_any_text_is_read(text: str):
    findings = found(text)
    assert SECTION.verdict(findings)
    as_sections(SECTION.folds(findings))


def test_many_words_are_examined_quickly():
    started = time.process_time()
    list(inspect("word and another\n" * 60_000, source="a"))
    assert time.process_time() - started < 3
