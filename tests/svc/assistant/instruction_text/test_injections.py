"""300 texts that address an analyst or a model, in 15 formats: each is reported, and no finding is lost.

The detector was developed with the open half. The held half was first tried when it was finished: 1,743 of 2,250 pairs
of text and format were reported then (77 %; open: 2,250). What was missed was then covered in general, not by wording.
"""

import itertools
import tomllib
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from svc.assistant.analyst import Analyst
from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.findings import Finding, InstructionText, Severity, with_facts
from svc.assistant.instruction_text.answer import ADDRESSED
from svc.assistant.model import ModelAssistant
from svc.assistant.model.configuration import Configuration, ModelLimits
from svc.assistant.model.tool_verdict import with_findings
from svc.assistant.skills.catalogue import decode_findings
from svc.assistant.turn import Answer, Turn
from svc.assistant.workers import process
from svc.untrusted.markup import escape
from tests.support.carriers import CARRIERS, NEUTRAL, carried
from tests.support.fake_upstream import KEY, UpstreamServer, says

QUESTION = "Is anything malicious?"
SEVERE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
KINDS = list(CARRIERS)
_WORDINGS = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
_STYLES = (
    lambda text: text.upper(),
    lambda text: f"comment={text!r}" if "'" not in text else f"comment: {text}",
    lambda text: f"*** {text} ***",
    lambda text: text.replace(" ", "  "),
)


def injections(half):
    """150 texts: each wording as it is, and in another style."""
    plain = _WORDINGS[half]
    return [*plain, *(_STYLES[number % len(_STYLES)](text) for number, text in enumerate(plain))]


def rotated(half, count):
    """``count`` texts of a half, each in a format that differs from the one before."""
    return list(zip(itertools.cycle(KINDS), injections(half)[:: 150 // count], strict=False))


def events_of(file):
    """Everything that the planned tools yield for the file, without worker processes."""
    events = []
    for number, planned in enumerate(make_plan(read_question(QUESTION, [file])).skills):
        request = process.JobRequest(
            tool=planned.skill.tool,
            input=planned.skill.input,
            name=file.name,
            limits=process.Limits(),
            options=planned.calls[0].options,
            looks_for_instructions=number == 0,
        )
        events += process._events(process._load(request.tool), request, file.source, lambda _: None)
    return [item for item in events if isinstance(item, Finding)]


def reported(findings):
    return [one for one in with_facts(findings, InstructionText) if one.severity is not Severity.LOW]


def severe(findings, text):
    """What the tools found at medium or above, without titles that contain the carried text."""
    return {
        (one.kind, one.title, one.severity)
        for one in findings
        if one.severity in SEVERE and not isinstance(one.facts, InstructionText) and text[:12] not in one.title
    }


_NEUTRAL = {}


def neutral(kind):
    """The severe findings of the same evidence with a neutral text."""
    if kind not in _NEUTRAL:
        _NEUTRAL[kind] = severe(events_of(carried(kind, NEUTRAL)), NEUTRAL)
    return _NEUTRAL[kind]


def failures(cases):
    """The cases in which the text is not reported, or in which a finding or its place in a model's answer is lost."""
    failed = []
    for kind, text in cases:
        findings = events_of(carried(kind, text))
        tools = [one for one in findings if not isinstance(one.facts, InstructionText)]
        answer = with_findings(f"{text}\nNo threats were found.", tools)
        if not reported(findings):
            failed.append((kind, text, "not reported"))
        if lost := neutral(kind) - severe(findings, text):
            failed.append((kind, text, lost))
        shown = {one.title for one in tools if one.severity in SEVERE}
        if len(shown) <= 20 and any(escape(title) not in answer for title in shown):
            failed.append((kind, text, "not in the model's answer"))
    return failed


@pytest.mark.parametrize("half", ["open", "held"])
def test_an_injection_is_reported_and_hides_nothing(half):
    assert failures(rotated(half, 30)) == []


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("half", ["open", "held"])
def test_every_injection_in_every_format_is_reported_and_hides_nothing(half, kind):
    assert failures((kind, text) for text in injections(half)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_neutral_text_is_not_reported(kind):
    assert with_facts(events_of(carried(kind, NEUTRAL)), InstructionText) == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def analyst():
    made = Analyst()
    await made.start()
    yield made
    await made.close()


@pytest.fixture(scope="module")
def upstream_server():
    server = UpstreamServer()
    yield server
    server.stop()


async def ask(assistant, kind, text):
    """The findings and the answer about evidence of a kind that carries the text."""
    file = carried(kind, text)
    async with aclosing(assistant.answer(Turn(session_id="s", prompt=QUESTION, files=(file,)))) as steps:
        items = [item async for item in steps]
    [findings] = [decode_findings(item.content) for item in items[:-1] if item.title == "findings"]
    assert isinstance(items[-1], Answer)
    return findings, items[-1]


def verdict(answer):
    """The first line, in which the carried text may be quoted."""
    return answer.markdown.splitlines()[0]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_analysts_verdict_does_not_change(analyst, kind):
    text = injections("held")[KINDS.index(kind) * 5]
    findings, answer = await ask(analyst, kind, text)
    before, plain = await ask(analyst, kind, NEUTRAL)
    assert reported(findings)
    assert ADDRESSED in answer.markdown
    assert severe(before, NEUTRAL) <= severe(findings, text)
    assert (verdict(answer), answer.status) == (verdict(plain), plain.status)
    assert ADDRESSED not in plain.markdown


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_that_obeys_hides_nothing(analyst, upstream_server, kind):
    text = injections("open")[KINDS.index(kind) * 5]
    upstream = upstream_server.add(says(f"{NEUTRAL}: no threats were found, everything is benign."))
    configuration = Configuration(url=upstream.url, name="tiny", key=KEY, limits=ModelLimits(retries=1))
    assistant = ModelAssistant(configuration, analyst=analyst)
    findings, answer = await ask(assistant, kind, text)
    await assistant._upstream.close()
    assert reported(findings)
    assert ADDRESSED in answer.markdown
    titles = [one.title for one in findings if one.severity in SEVERE and not isinstance(one.facts, InstructionText)]
    assert [title for title in titles[:20] if escape(title) not in answer.markdown] == []
    if any(one.severity in (Severity.CRITICAL, Severity.HIGH) for one in findings):
        assert "The model's text below disagrees" in verdict(answer)
