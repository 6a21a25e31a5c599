"""Separate a prompt's instructions about the answer from its question and its evidence. Pure.

Instructions are role prompts, output requirements, examples of the format, and the options of a multiple choice. They
are found in the user's own words only: from the start of the prompt up to the evidence, and in whole paragraphs at its
end. A text that looks like an instruction inside the evidence stays evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.payloads import payload_length
from svc.assistant.skills.catalogue import SKILLS

MAX_OWN_CHARS = 40_000  # at each end of a prompt; longer prompts are mostly evidence
MAX_SENTENCE_CHARS = 8_000  # a longer one is evidence
_READ_CHARS = 1_500  # of a sentence


class Separated(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt without its instructions, and the instructions, one per line or block in their order."""

    prompt: str
    instructions: str


_LEAD = (
    r"\A[\s>*#_(-]{0,8}(?:\d{1,2}[.)] )?(?:\*\*)?(?:(?:and|then|now|also|so|but|finally|first|important|note|remember|"
    r"task|output|instructions?|please|kindly|make sure|ensure|be sure|that|to|strictly|always|simply|you|must|should|"
    r"have|need|can|may|i|we|want|would|like|you'?re|is|the|it)\b[:,]?(?:\*\*)? ){0,6}"
)
_VERB = (
    r"(?:reply|respond|answer|output|return|provide|give|print|report|write|say|end|finish|conclude|present|format|"
    r"structure|wrap|surround|enclose|put|place|use|follow|produce|generate|limit|keep|list|summari[sz]e|"
    r"explain|choose|"
    r"select|pick|tabulate|number|begin|start|state|express|show|include|emit|supply|deliver|restrict|classify|label|"
    r"make|convert|encode|display|fill|complete|write|expect|require|stick|adhere|conform|think in)"
)
_FORM = (
    r"(?:json|csv|xml|yaml|markdown|table|bullet\w*|(?:numbered|ordered|enumerated|comma[- ]\w+|bulleted) (?:list|\w+)|"
    r"sentences?|paragraphs?|(?:one|a|single|last|final|separate|own) lines?|one-liner|(?:one|single) \w{0,12} ?words?|"
    r"\d+ words|tags?|</?[a-z_]\w{0,30}>|\\?boxed|nothing (?:else|but|more)|no (?:other|additional|extra|further) \w+|"
    r"(?:separated|delimited) by \w+|(?:single |uppercase |capital |correct )?letters?\b|yes or no|'?\"?yes\"?'? or|"
    r"format|template|schema|headers?|columns?|code (?:fences?|blocks?)|plain text|step[- ]by[- ]step|final answer|"
    r"your (?:final )?answer|correct (?:option|answer|choice)|best (?:option|answer|choice)|the options?|one of|"
    r"only|just|solely|exactly|single|reasoning|justification|your (?:work|conclusion|findings|points|verdict)|"
    r"prose|preamble|commentary|\blists?\b|without (?:any )?(?:explanation|other text|comment)\w*|"
    r"no (?:explanation|prose|text)|"
    r"structure|shape|number only|numeric|manager|executives|answer:|answer =)"
)
_REPLY = re.compile(rf"{_LEAD}{_VERB}\b[^\n]{{0,400}}?{_FORM}", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:\d{1,2}[.)] )?(?:please )?(?:make sure |ensure |note )?(?:that )?(?:your|the|each|every|this)"
    r" (?:\w+ ){0,2}(?:answer|response|output|reply|results?|verdict|summary|conclusion|explanation|"
    r"(?:last|final|first)"
    r" (?:line|row)|json|csv|xml|table|header|root)\b[^\n]{0,30}?\b(?:must|should|shall|has to|have to|needs? to|is to|"
    r"will|may look|looks? like|is expected|consists?|contains?|be\b|ends?)\b",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:please )?(?:let'?s (?:think|work|reason)|think (?:step|carefully|aloud|through|"
    r"about|in)|reason "
    r"(?:step|carefully|through)|take a deep breath|work (?:step|through)|(?:first )?(?:discuss|explain|show|describe) "
    r"(?:the evidence|your|how you)|be (?:concise|precise|brief|short|thorough|accurate|as|specific|"
    r"objective|factual)\b"
    r"|(?:do not|don'?t|never|avoid|refrain)\b[^\n]{0,60}\b(?:explain|explanations?|add|include|wrap|write|output|use|"
    r"repeat|provide|break character|text|fences?|commentary|invent|guess|hallucinate|make up|markdown|apologi[sz]e|"
    r"preamble|prose|mention)|no (?:explanations?|prose|preamble|commentary|markdown|other text|additional text|"
    r"introduction|more (?:text )?than)|without (?:any )?(?:explanation|commentary|other text)|keep (?:it|"
    r"your|the|this)\b"
    r"|(?:output|answer|reply|json|csv|xml|numbers?|ids?) only\b|stay in character|cite |use a professional)",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:a|an|one|two|three|four|five|\d{1,2}|single|exactly|at most|no more than|up to|json|csv|xml|"
    r"markdown|table|comma\S*|in|as|just|only|yes|strictly|i (?:only |just )?(?:want|need|expect|would like)|number)\b"
    rf"[^?\n]{{0,90}}?{_FORM}[^?\n]{{0,90}}\Z"
    r"|\A\W{0,8}yes or no\W{0,6}\Z|\A[\s*-]{0,8}(?:one|a single) (?:line|number|word|sentence|letter)\b[^?\n]{0,60}\Z"
    r"|\A\W{0,8}number your (?:points|answers?|items|findings)\b[^\n]{0,60}\Z"
    r"|\A\W{0,8}i (?:only|just) (?:want|need|expect)\b[^\n]{0,60}\Z",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:(?:here (?:is|are)|this is|see|consider|below is) )?(?:an? |the |one |some )?"
    r"(?:(?:valid|good|complete|short|final|last|expected|desired|required|correct|sample|example|output|"
    r"answer|response|"
    r"reply|return|json|csv|xml|line) ){0,4}"
    r"(?:output|answer|response|reply|return|format|example|examples|sample|template|schema|structure|line example|"
    r"e\.g\.|for example|for instance|such as|example (?:of|row|line|output|answer)|sample (?:of|row|line|"
    r"output|answer)|"
    r"row|rows)\b[^\n:]{0,60}(?::|\bis\b|\blooks? like\b|\bmay look\b|\bends? like\b|,)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:\w+ ){0,3}(?:requirements?|constraints?|rules?|guidelines?|instructions?|notes?|rubric|"
    r"criteria|important|scoring|grading|valid (?:options|values)[^:\n]{0,40}|(?:possible|allowed|permitted) "
    r"(?:options|values|answers)[^:\n]{0,40}|reference(?: list)?|output|answer choices|choices|options)"
    r"\*{0,4}:?\*{0,4}:?\s*+\Z",
    re.IGNORECASE,
)
_CHOICES = re.compile(
    r"\A\W{0,6}(?:(?:the )?(?:possible|valid|allowed|permitted|available) (?:labels?|answers?|values?|categories|"
    r"classes|verdicts|options)|labels|categories|which of these is|select the best|choose the|choose one|pick one)\b",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\A[\s>*#_(-]{0,8}(?:system: ?|role: ?)?(?:you are|you'?re|act as|behave as|imagine (?:that )?you are|pretend "
    r"(?:that )?(?:to be|you are)|assume the role of|take (?:on )?the role of|as|your role is)(?: \S+){0,8}? ?"
    r"(?:\b(?:analysts?|experts?|assistant|engineer|professional|specialist|researcher|hunter|responder|consultant|bot|"
    r"model|chatbot|system|investigator|reviewer|architect|officer|teacher|evaluator|grader|agent|LLM|AI|team)\b"
    r"|\b\w*GPT\b)",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"\A\W{0,4}you (?:are|will be) (?:given|presented with|provided with|shown)\b", re.IGNORECASE)
_EVIDENCE = re.compile(
    r"\A[\s>*#_]{0,6}(?:the )?(?:[\w/()&.-]+ ){0,3}(?:descriptions?|texts?|sentences?|reports?|logs?|mails?|e-?mails?|"
    r"messages?|strings?|vectors?|summary|observations?|incidents?|vulnerabilit(?:y|ies)|inputs?|code|scripts?|data|"
    r"evidence|contents?|articles?|snippets?|payloads?|alerts?|events?|passages?|excerpts?|advisory|context|material|"
    r"command|headers?|capture|subject|from|to|received|date|return-path)\**:",
    re.IGNORECASE,
)
_OPTION = re.compile(r"\A\s{0,4}(?:[-*] )?\(?([A-H])[).:]\)? +\S")
_ITEM = re.compile(r"\A\s{0,6}(?:[-*•]|\d{1,2}[.)])\s+\S")
_REFERENCE = re.compile(r"\A\W{0,4}(?:ID: ?)?T\d{4}(?:\.\d{3})?\b[ ,:\u2013-]{1,4}\S")
_QUESTION = re.compile(r"\?[\s*_]{0,4}\Z")
_SENTENCE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<=[.!?])[\"'”)*`]{0,3}(?:\s++)(?=[A-Z\"'“(\\<`$*0-9-])"
    r"|,?(?<!\s)\s++(?=and (?:then )?(?:answer|reply|respond|return|output|put|wrap|finish|end|conclude)\b)"
)
_FENCE = re.compile(r"\A\s{0,3}(?:```|~~~)")
_OPENS = re.compile(r"(?::|\b(?:form|format|like|reads|below|follows|schema|structure))[\s*_`]{0,6}\Z", re.IGNORECASE)


def separate(prompt: str) -> Separated:
    """Return the prompt without its instructions, and these."""
    scan = _Scan(prompt)
    scan.read_start()
    scan.read_end()
    return scan.result()


def is_instruction(sentence: str) -> bool:
    """Whether a sentence in the user's own words says how to answer or who to be, not what to answer."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return False
    shown = sentence[:_READ_CHARS]
    if _SHORT.search(shown):
        return True
    if _QUESTION.search(shown):
        return _CHOICES.search(shown) is not None
    return any(
        pattern.search(shown) for pattern in (_ROLE, _REPLY, _SUBJECT, _STYLE, _LABEL, _HEADING, _CHOICES)
    ) and not _is_task(shown)


_TASK = re.compile(
    r"\A\W{0,6}(?:please )?(?:list|show|give(?: me)?|explain|report|classify|provide)\b",
    re.IGNORECASE,
)
_STRONG_FORM = re.compile(
    r"\b(?:json|csv|xml|yaml|markdown|bullets?|bulleted|numbered|enumerated|sentences?|one-liner|tags?|boxed|template|"
    r"schema|columns?|comma-?\w*|commas|nothing else|no (?:other|additional|extra|explanation|prose|introduction)|"
    r"(?:last|final|one|single) (?:line|word|letter)|separated|format|one of|answer|number only|letter|reasoning|"
    r"justification|points|without)\b|</?\w+>|\bonly (?:with |the |a |an |one )?\w+(?: \w+)?[.!]?\s*\Z"
    r"|\b(?:just|solely) (?:with |the |a |an |one )\w+(?: \w+){0,2}[.!,]",
    re.IGNORECASE,
)
_FILTER = re.compile(r"\b(?:ones|findings|results|failures|events|entries|lines|those|these|them)\b", re.IGNORECASE)


def _is_task(sentence: str) -> bool:
    """Whether the sentence asks for something by a verb that also begins questions ("list the domains only …")."""
    if not _TASK.search(sentence):
        return False
    strong = _STRONG_FORM.search(sentence)
    return strong is None or (strong[0].lower().startswith(("only", "just")) and _FILTER.search(sentence) is not None)


class _Scan:
    """The lines of a prompt, marked as instructions from both ends."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._lines = prompt.split("\n")
        self._kept: list[str | None] = list(self._lines)  # None: the whole line is an instruction
        self._said: list[tuple[int, str]] = []
        self._stop = 0  # the first line that the start did not read
        self._task: list[str] = []  # instructions that may name the task

    def read_start(self) -> None:
        """Read lines from the start up to the evidence."""
        at, used, has_question = 0, 0, False
        while at < len(self._lines) and used < MAX_OWN_CHARS:
            line = self._lines[at]
            used += len(line) + 1
            if not line.strip():
                at += 1
                continue
            taken = self._block(at)
            if taken:
                at += taken
                continue
            if self._is_evidence(at, has_question=has_question):
                break
            taken = self._sentences(at)
            has_question = has_question or bool((self._kept[at] or "").strip())
            at += taken
            if (self._kept[at - 1] or "").rstrip().endswith(":") and not self._follows_instruction(at):
                break
        self._stop = at

    def _follows_instruction(self, at: int) -> bool:
        """Whether the next line that is not empty is an instruction, so that what a colon introduces comes later."""
        rest = next((line for line in self._lines[at : at + 3] if line.strip()), "")
        return bool(rest) and is_instruction(rest)

    def _is_evidence(self, at: int, *, has_question: bool) -> bool:
        line = self._lines[at]
        if _FENCE.match(line):
            return True
        return _EVIDENCE.search(line) is not None and (has_question or not is_instruction(line))

    def read_end(self) -> None:
        """Read whole paragraphs of instructions from the end back to the evidence."""
        end = len(self._lines)
        while end > self._stop:
            while end > self._stop and not self._lines[end - 1].strip():
                end -= 1
            start = end
            while start > self._stop and self._lines[start - 1].strip():
                start -= 1
            if start == end:
                return
            if self._paragraph(start, end):
                end = start
                continue
            end = self._introduced(start, end)
            if not end:
                return

    def _introduced(self, start: int, end: int) -> int:
        """Take data that the paragraph before introduces ("… in this shape:"); returns where that starts, or 0."""
        lines = self._lines[start:end]
        above = start
        while above > self._stop and not self._lines[above - 1].strip():
            above -= 1
        lead = above
        while lead > self._stop and self._lines[lead - 1].strip():
            lead -= 1
        is_open = lead < above and _OPENS.search(self._lines[above - 1]) is not None
        if not is_open or payload_length(lines, opens=True, is_near=False) != len(lines):
            return 0
        if not self._paragraph(lead, above):
            return 0
        self._take(start, end - start)
        return lead

    def _paragraph(self, start: int, end: int) -> bool:
        """Take a paragraph if all of it is instructions; a question at its end or start is kept."""
        text = "\n".join(self._lines[start:end])
        if len(text) > MAX_OWN_CHARS:
            return False
        inner = _Scan(text)
        inner._read_all()
        left = [line for line in inner._kept if line is not None and line.strip()]
        is_question = len(left) == 1 and start > 0 and bool(_QUESTION.search(left[0]) or _IMPERATIVE.search(left[0]))
        if left and not is_question:
            return False
        self._kept[start:end] = inner._kept
        self._said += [(start + at, said) for at, said in inner._said]
        self._task += inner._task
        return True

    def _read_all(self) -> None:
        at = 0
        while at < len(self._lines):
            at += self._block(at) or self._sentences(at)

    def result(self) -> Separated:
        """The prompt without what was taken; the task stays if only instructions name it."""
        said = "\n".join(text for _, text in sorted(self._said))
        if not said:
            return Separated(prompt=self._prompt, instructions="")
        left = "\n".join(line or "" for line in self._kept).rstrip(
            "\n"
        )  # an empty line each, so that evidence keeps its numbers
        if any((line or "").strip() for line in self._kept[: self._stop]):
            return Separated(prompt=left, instructions=said)
        evidence, _, trailing = left.rstrip().rpartition("\n\n")
        if evidence.strip() and (_QUESTION.search(trailing) or _IMPERATIVE.search(trailing)):
            left = f"{trailing.strip()}\n\n{evidence.strip()}"  # a question after its evidence is read first
        elif not (_QUESTION.search(trailing) or _IMPERATIVE.search(trailing)):
            task = " ".join(self._task)
            is_needed = left.strip() or any(one.search(task) for skill in SKILLS for one in (skill.strong, skill.weak))
            left = "\n\n".join(part for part in (task if is_needed else "", left.strip()) if part)
        return Separated(prompt=left, instructions=said)

    def _take(self, start: int, count: int) -> int:
        self._said.append((start, "\n".join(self._lines[start : start + count])))
        self._kept[start : start + count] = [None] * count
        return count

    def _block(self, at: int) -> int:
        """The number of lines of a block of instructions at this line: a heading with items, options, a reference."""
        option = _OPTION.match(self._lines[at])
        if option is not None and option[1] == "A" and (options := self._run(at, _OPTION)) >= 2:
            return self._take(at, options)
        references = self._run(at, _REFERENCE)
        if references >= 5:
            return self._take(at, references)
        if _HEADING.search(self._lines[at][:200]) is None:
            return 0
        after = at + 1
        while after < len(self._lines) and not self._lines[after].strip() and after < at + 3:
            after += 1
        items = self._run(after, _ITEM) or self._run(after, _OPTION) or self._run(after, _REFERENCE)
        if not items:
            return self._take(at, 1) if not _EVIDENCE.search(self._lines[at]) else 0
        self._task += [_without_example(line) for line in self._lines[after : after + items]]
        return self._take(at, after + items - at)

    def _run(self, at: int, pattern: re.Pattern[str]) -> int:
        """How many lines in a row match, from this one; further lines of an item that are indented count."""
        count = 0
        while at + count < len(self._lines) and (
            pattern.match(self._lines[at + count]) or (count and self._lines[at + count].startswith("   "))
        ):
            count += 1
        return count

    def _sentences(self, at: int) -> int:
        """Take the instructions of one line, with what they introduce; returns the number of lines that were read."""
        line = self._lines[at]
        pieces = _split(line)
        is_taken = [is_instruction(piece) for piece in pieces]
        for number in range(1, len(pieces)):
            if not is_taken[number] and is_taken[number - 1] and _is_continuation(pieces[number]):
                is_taken[number] = True
        if not any(is_taken):
            return 1
        said = " ".join(piece.strip() for piece, taken in zip(pieces, is_taken, strict=True) if taken)
        self._task += [_without_example(piece) for piece, taken in zip(pieces, is_taken, strict=True) if taken]
        left = " ".join(piece.strip() for piece, taken in zip(pieces, is_taken, strict=True) if not taken)
        self._kept[at] = left or None
        self._said.append((at, said))
        if not is_taken[-1]:
            return 1
        return 1 + self._payload(at + 1, opens=_OPENS.search(said) is not None)

    def _payload(self, at: int, *, opens: bool) -> int:
        """Take what the instruction before introduces: a fence, JSON, XML, a table or a template."""
        blank = 0
        while at + blank < len(self._lines) and not self._lines[at + blank].strip() and blank < 2:
            blank += 1
        count = payload_length(self._lines[at + blank :], opens=opens, is_near=not blank)
        if not count:
            return 0
        self._take(at + blank, count)
        return blank + count


_IMPERATIVE = re.compile(
    r"\A\W{0,6}(?:please )?(?:map|find|extract|identify|determine|analy[sz]e|calculate|compute|score|"
    r"decode|classify|list|"
    r"assign|count|attribute|explain|summari[sz]e|check|triage|review|what|which|who|how|is|are|did|does|was|were|when|"
    r"where|why|tell)\b",
    re.IGNORECASE,
)
_CONTINUATION = re.compile(
    r"\A[\s(\"'`*]{0,4}(?:\\boxed|\$?\\|<|\{|\[|example|sample|e\.g\.|for (?:example|instance)|answer:|final answer|"
    r"\d+\.,|and (?:no|nothing)|no |otherwise|if (?:you|there|nothing|unknown|the answer)|use \"?unknown|"
    r"keep the same)",
    re.IGNORECASE,
)


def _is_continuation(piece: str) -> bool:
    return _CONTINUATION.search(piece) is not None


def _split(line: str) -> Sequence[str]:
    """The sentences of a line; a very long line is one, because it is evidence."""
    return _SENTENCE_END.split(line) if len(line) <= MAX_OWN_CHARS else [line]


_EXAMPLE = re.compile(
    r"(?:\b(?:e\.g\.|for example|for instance|such as|examples?|sample|like this|looks? like|as follows)|[{<\\`\[]).*",
    re.IGNORECASE | re.DOTALL,
)


def _without_example(sentence: str) -> str:
    """A sentence that may name the task, without what it gives as an example."""
    return _EXAMPLE.sub("", sentence).strip(" -*\t(:")
