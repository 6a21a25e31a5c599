"""Every source definition proves itself on samples: recognised, counted, the attack found, questions answered."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec
import pytest

from svc.assistant.findings import AnyFinding, Severity
from svc.assistant.log_readers import tables
from svc.assistant.log_readers.tables.kinds import Kind, Source
from tests.support.inline_analyst import Asked, ask
from tests.support.sampling import sampled
from tests.svc.assistant.sources.expected import PROOFS, WITHOUT_SAMPLE, Proof, Question, Sample

MIN_QUESTIONS = 6  # of a source
_TECHNIQUE = re.compile(r"\bT\d{4}(?:\.\d{3})?\b")
_MAPPED = " (mapped columns)"
_DEFINITIONS = resources.files(tables).joinpath("sources")
_SAMPLES = [(proof, sample) for proof in PROOFS for sample in proof.expected.samples]
_QUESTIONS = [(proof, sample, question) for proof, sample in _SAMPLES for question in sample.questions]


def _id(value: object) -> str:
    if isinstance(value, Proof):
        return value.name
    return value.file if isinstance(value, Sample) else value.ask if isinstance(value, Question) else str(value)


def content_of(proof: Proof, sample: Sample) -> tuple[str, bytes]:
    return sample.file, (proof.folder / sample.file).read_bytes()


def is_worth_a_look(finding: AnyFinding) -> bool:
    return finding.severity in (Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)


def techniques_of(findings: list[AnyFinding]) -> set[str]:
    """The techniques that findings name, with those that their sub-techniques belong to."""
    found = set(_TECHNIQUE.findall(str([[one.techniques, msgspec.to_builtins(one.facts)] for one in findings])))
    return found | {technique.partition(".")[0] for technique in found}


def shown(asked: Asked) -> str:
    """An answer's text without the signs that keep it from acting: defanged addresses, escaped Markdown."""
    return re.sub(r"\[([.:@])\]", r"\1", asked.markdown).replace("\\", "").replace("hxxp", "http").lower()


@pytest.mark.parametrize(("proof", "sample"), _SAMPLES, ids=_id)
async def test_a_sample_is_recognised_counted_and_judged(proof: Proof, sample: Sample):
    asked = await ask("Is anything suspicious here?", content_of(proof, sample))
    [read] = asked.coverage["inputs"]
    counts = (read["read_as"].removesuffix(_MAPPED), read["understood"], read["total"] - read["understood"])
    assert counts == (sample.kind, sample.events, sample.unread)
    notable = [one for one in asked.findings if is_worth_a_look(one)]
    titles = [(one.kind, one.title) for one in notable]
    assert set(sample.techniques) - techniques_of(notable) == set(), titles
    if sample.quiet:
        assert titles == []
    elif sample.events:
        assert titles


@pytest.mark.parametrize(("proof", "sample", "question"), sampled(_QUESTIONS, len(_QUESTIONS) // 7), ids=_id)
async def test_a_question_about_a_sample_is_answered(proof: Proof, sample: Sample, question: Question):
    asked = await ask(question.ask, content_of(proof, sample))
    text = shown(asked)
    assert [words for words in question.says if words.lower() not in text] == [], asked.markdown[:2_000]


@pytest.mark.parametrize("proof", PROOFS, ids=_id)
def test_a_source_has_an_attack_a_quiet_day_and_six_questions(proof: Proof):
    samples = [sample for sample in proof.expected.samples if sample.events]
    assert proof.expected.documentation.startswith("https://")
    assert {sample.quiet for sample in samples} in ({True, False}, set())
    if samples:
        assert sum(len(sample.questions) for sample in samples) >= MIN_QUESTIONS
    files = {file.name for file in proof.folder.iterdir()} - {"expected.toml"}
    assert files == {sample.file for sample in proof.expected.samples}


@cache
def kinds_by_folder() -> dict[str, list[Kind]]:
    return {
        folder.name: [
            kind
            for file in folder.iterdir()
            if file.name.endswith(".toml")
            for kind in msgspec.toml.decode(file.read_bytes(), type=Source).kinds
        ]
        for folder in _DEFINITIONS.iterdir()
        if folder.is_dir() and not folder.name.startswith("__")
    }


@pytest.mark.parametrize("folder", sorted(kinds_by_folder()))
def test_every_kind_has_a_sample_or_is_listed_as_without(folder: str):
    proved = {sample.kind for _, sample in _SAMPLES}
    without = {kind.name for kind in kinds_by_folder()[folder] if kind.name not in proved}
    listed = WITHOUT_SAMPLE.get(folder, frozenset())
    assert without == listed, (
        f"write a sample, or correct tests/svc/assistant/sources/{folder}/without_sample.txt (delete a kind that has a "
        "sample, or is defined no more)"
    )
