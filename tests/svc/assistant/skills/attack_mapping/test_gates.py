"""How many harmless sentences get a technique, and how many reported ones theirs: gates for the build."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from svc.assistant.findings import Finding, with_facts
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique
from svc.assistant.skills.attack_mapping.tool import inspect
from tests.support.attack_sentences import (
    Half,
    dense,
    docstrings,
    everyday,
    fields,
    generated_harmless,
    generated_reports,
    harmless,
    incident_reported,
    manual,
    notes,
    prose_reported,
    registers,
    reported,
    varied_harmless,
    varied_reported,
)

HALVES: tuple[Half, ...] = ("open", "held")


def named(sentence: str) -> list[str]:
    """The techniques of an answer, as candidates or as findings, best first, without those that the sentence denies."""
    found = [one for one in inspect(sentence, source="prompt") if isinstance(one, Finding)]
    told = [finding.facts for finding in with_facts(found, BehaviourSentence) if not finding.facts.is_denied]
    ranked = [one.id for facts in told for one in facts.candidates]
    return list(dict.fromkeys(ranked + [finding.facts.id for finding in with_facts(found, BehaviourTechnique)]))


def share_named(sentences: Sequence[str]) -> float:
    return sum(bool(named(one)) for one in sentences) / len(sentences)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(
    ("sentences", "most"),
    [
        pytest.param(harmless, 0.03, id="prose"),
        pytest.param(lambda half: generated_harmless(half, 150), 0.03, id="generated"),
        pytest.param(manual, 0.07, id="manuals chosen for their words"),
        pytest.param(notes, 0.05, id="notes in lower case"),
        pytest.param(fields, 0.05, id="notes and manuals of many trades"),
        pytest.param(registers, 0.05, id="many registers"),
        pytest.param(everyday, 0.05, id="everyday texts"),
        pytest.param(varied_harmless, 0.1, id="further registers"),
    ],
)
def test_harmless_sentences_get_no_technique(sentences: Callable[[Half], list[str]], most: float, half: Half) -> None:
    assert share_named(sentences(half)) <= most


def test_manuals_dense_with_words_of_security_get_fewer_techniques() -> None:
    assert share_named(dense()) <= 0.15


def test_documentation_gets_no_technique() -> None:
    assert share_named(docstrings(400)) <= 0.05


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(
    ("sentences", "least"),
    [
        pytest.param(reported, 0.95, id="written"),
        pytest.param(prose_reported, 0.8, id="written in prose"),
        pytest.param(varied_reported, 0.65, id="written in varied words"),
        pytest.param(incident_reported, 0.7, id="written as of an incident"),
        pytest.param(lambda half: generated_reports(half, 100), 0.97, id="generated"),
    ],
)
def test_reported_sentences_keep_their_technique(
    sentences: Callable[[Half], list[tuple[str, str]]], least: float, half: Half
) -> None:
    found = [technique in named(sentence)[:5] for technique, sentence in sentences(half)]
    assert sum(found) / len(found) >= least
