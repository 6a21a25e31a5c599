"""Short questions about what was found: who was it, which file, who sent it, should I click the link. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from svc.assistant.analyst.clauses import particular_names
from svc.assistant.analyst.follow_ups.reading import Ask, AskKind
from svc.assistant.analyst.follow_ups.replies import NOTABLE, origin_of, reply_to, things_listed
from svc.assistant.analyst.follow_ups.scene import Scene, ShortAnswer, cannot_tell
from svc.assistant.analyst.follow_ups.wording import line_of, place_of, titled, value_words
from svc.assistant.analyst.questions.things import ACCOUNT, SUMMARIES
from svc.assistant.findings import AnyFinding, Finding, with_facts
from svc.assistant.skills.mail.findings import MailHop, MailVerdict
from svc.assistant.spool import worst_first
from svc.untrusted.markup import code_span, plural

ROWS = 8
_MAX_CHARS = 120
_IT = r"(?:it|this|that|these|them|us|me|the (?:e-?mail|mail|message|attack|break-?in|incident|hack))"
_AGENT = re.compile(
    rf"\bwho(?:m|'s|s)?\b[^?\n]{{0,30}}?\b(?:(?:was|is|did|does|has done|made|caused|started|attacked|hacked|targeted"
    rf"|compromised) {_IT}|responsible|culprit|perpetrator|to blame|behind\b|at fault"
    r"|the (?:attackers?|hackers?|intruders?))"
    r"|\bwho ?d[ou]ne? ?n?it\b|\bwhodunn?it\b|\bwho(?:se)? (?:fault|work|doing)\b",
    re.IGNORECASE,
)
_SENT = re.compile(
    rf"\bwho(?:m|'s|s)?\b[^?\n]{{0,20}}\b(?:sent|sends?|wrote|writes?|mailed|e-?mailed|is (?:it|this|that) from"
    r"|is the sender"
    rf"|the (?:sender|author)|from)\b|\bfrom whom\b|\bwhere (?:was|is|did) {_IT}[^?\n]{{0,20}}\b(?:sent|from)\b"
    rf"|\bwhat (?:is|was) the sender\b|\A\W*sender\W*\Z",
    re.IGNORECASE,
)
_RECEIVED = re.compile(
    r"\bwho(?:m|se)?\b[^?\n]{0,20}\b(?:got|gets?|received?|receives)\b|\bto whom\b"
    r"|\bwhom? (?:was|is|were) [^?\n]{0,30}\bto\b"
    r"|\brecipients?\b",
    re.IGNORECASE,
)
_DO = (
    r"(?:click\w*|open\w*|reply\w*|answer\w*|respond\w*|trust\w*|download\w*|follow\w*|visit\w*|pay\w*|call\w*|believe|run"
    r"|execute|enable|log in|sign in|enter|forward\w*|use)"
)
_SHOULD = re.compile(
    rf"\b(?:should|can|may|could|shall|must|dare|do|is it (?:safe|ok|okay|fine|wise|secure|alright|all right)|safe)\b"
    rf"[^?\n]{{0,40}}\b{_DO}\b",
    re.IGNORECASE,
)
_DELETE = re.compile(
    r"\b(?:should|can|may|shall|must)\b[^?\n]{0,20}\b(?:delete|remove|report|ignore|keep|block)\b", re.IGNORECASE
)
_FILE = re.compile(
    r"\b(?:which|what|in which|in what) (?:log ?)?(?:files?|logs?|inputs?|members?|documents?)\b[^?\n]{0,20}"
    r"\b(?:has|have|shows?|contains?|holds?|is|are|was|were|did|includes?|records?|mentions?)\b",
    re.IGNORECASE,
)
_WHOSE = re.compile(r"\bwhose (?:accounts?|logins?|user|passwords?|credentials?)\b", re.IGNORECASE)
_BAD = {"phishing": "phishing", "fraud": "fraud", "suspicious": "suspicious", "spam": "spam"}


def plain_reply(question: str, scene: Scene) -> ShortAnswer | None:
    """The answer to a short question that names nothing in particular; None if it is none of those known here."""
    if len(question) > _MAX_CHARS or particular_names(question):
        return None
    mails = with_facts(scene.known.findings, MailVerdict)
    tests: tuple[tuple[re.Pattern[str], bool, Callable[[], ShortAnswer]], ...] = (
        (_FILE, True, lambda: _files(question, scene)),
        (_WHOSE, True, lambda: things_listed(ACCOUNT, _severe(scene), scene, Ask(kind=AskKind.LIST, text=question))),
        (_RECEIVED, bool(mails), lambda: _received(mails)),
        (_SENT, bool(mails), lambda: _sent(scene, mails)),
        (_AGENT, bool(mails), lambda: _sent(scene, mails)),
        (_DELETE, bool(mails), lambda: _what_to_do(question, scene, mails)),
        (_SHOULD, bool(mails), lambda: _advice(question, mails)),
        (_AGENT, True, lambda: _agent(question, scene)),
    )
    return next((reply() for words, holds, reply in tests if holds and words.search(question)), None)


def _severe(scene: Scene) -> list[AnyFinding]:
    return [one for one in worst_first(scene.known.findings) if one.severity in NOTABLE and one.kind not in SUMMARIES]


def _agent(question: str, scene: Scene) -> ShortAnswer:
    """The sources of the notable findings: an address is known, a person is not."""
    found = origin_of(question, scene)
    if not found.findings:
        return found
    return ShortAnswer(
        markdown=f"{found.markdown}\n\nThese are addresses; who used them is not recorded.", findings=found.findings
    )


def _files(question: str, scene: Scene) -> ShortAnswer:
    """Each file that was read, with how many findings it has, and its worst."""
    lines = []
    for one in scene.known.read[:ROWS]:
        mine = [found for found in worst_first(scene.known.findings) if _is_in(found, one.name)]
        worst = [found for found in mine if found.kind not in SUMMARIES][:1]
        told = f": {titled(worst[0])} ({worst[0].severity.value}, {place_of(worst[0])})" if worst else ""
        lines.append(f"- {code_span(one.name, limit=120)}, {plural(len(mine), 'finding')}{told}")
    more = len(scene.known.read) - len(lines)
    lines += [f"- … and {plural(more, 'more file')}."] if more > 0 else []
    count = plural(len(scene.known.read), "file")
    return ShortAnswer(markdown=f"**{count} read:**\n\n" + "\n".join(lines))


def _is_in(finding: AnyFinding, name: str) -> bool:
    return any(one.source == name for one in finding.evidence)


def _sent(scene: Scene, mails: Sequence[Finding[MailVerdict]]) -> ShortAnswer:
    """The stated sender, which anyone can write, and the server that handed the mail over."""
    lines = []
    for one in mails[:ROWS]:
        name = f" ({code_span(one.facts.sender_name, limit=80)})" if one.facts.sender_name else ""
        confirmed = "confirmed by a server" if one.facts.is_confirmed else "not confirmed: anyone can write this field"
        lines.append(f"- **{value_words(one.facts.sender)}**{name}: From field of {_source(one)}; {confirmed}.")
    hops = [one for one in with_facts(scene.known.findings, MailHop) if one.facts.number == 1]
    lines += [
        f"- First server: {value_words(one.facts.sender)}, address {value_words(one.facts.ip)} ({place_of(one)})."
        for one in hops[:ROWS]
        if one.facts.ip
    ]
    return ShortAnswer(markdown="**Stated sender:**\n\n" + "\n".join(lines), findings=[*mails, *hops])


def _source(finding: AnyFinding) -> str:
    return code_span(finding.evidence[0].source, limit=120) if finding.evidence else "the mail"


def _received(mails: Sequence[Finding[MailVerdict]]) -> ShortAnswer:
    lines = [f"- {value_words(one.facts.to)} ({_source(one)})" for one in mails[:ROWS] if one.facts.to]
    if not lines:
        return cannot_tell("who received it", "the To field is empty or missing")
    return ShortAnswer(markdown="**Sent to** (To field):\n\n" + "\n".join(lines), findings=list(mails))


def _advice(question: str, mails: Sequence[Finding[MailVerdict]]) -> ShortAnswer:
    """No, if a mail is suspicious; else cannot tell: no tool proves that a link or a sender is safe."""
    bad = [one for one in mails if one.facts.verdict in _BAD]
    if not bad:
        verdict = ", ".join(dict.fromkeys(one.facts.verdict.replace("_", " ") for one in mails))
        return cannot_tell(
            question,
            f"the mail was rated {verdict}, but that does not prove that it is safe; ask the sender by another channel",
        )
    verdicts = " and ".join(dict.fromkeys(_BAD[one.facts.verdict] for one in bad))
    lines = [f"- {line_of(one)}" for one in bad[:ROWS]]
    text = f"**No:** the mail was rated {verdicts}. Do not click, open, reply or pay; report it.\n\n" + "\n".join(lines)
    return ShortAnswer(markdown=text, findings=bad)


def _what_to_do(question: str, scene: Scene, mails: Sequence[Finding[MailVerdict]]) -> ShortAnswer:
    """The verdict, and the next steps of the tool."""
    verdicts = ", ".join(dict.fromkeys(one.facts.verdict.replace("_", " ") for one in mails))
    steps = reply_to(Ask(kind=AskKind.NEXT, text=question), scene)
    return ShortAnswer(markdown=f"**The mail was rated {verdicts}.**\n\n{steps.markdown}", findings=list(mails))
