"""Read instructions about the answer, already separated from question and evidence, as a requested format. Pure.

The most specific reading counts: a schema before a shape, a shape before a list of columns, these before a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from svc.assistant.analyst.format_types import (
    PLACEHOLDER,
    AnswerFormat,
    Choice,
    RequestedFormat,
    is_template,
)
from svc.assistant.analyst.questions.things import NOUNS
from svc.assistant.analyst.templates import parse_shape
from svc.assistant.response_format import REQUIRED_OBJECT, required_schema, split_required

MAX_CHARS = 20_000  # of instructions that are read
MAX_TEMPLATE_CHARS = 8_000
MAX_COUNT = 30
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<number>\d{{1,2}}|an?|single|{'|'.join(_NUMBERS[1:])})"
_VERB = r"(?:reply|respond|answer|output|return|write|format|give|print|report|provide|present|use|say|state|emit)"
_ALONE = r"(?:only|just|nothing but|solely|strictly)"
_THING = r"(?:the |its |your |an? |one )?(?P<thing>(?!must |should |has |have |be )[A-Za-z][\w &/-]{1,40}?)"
_AFTER_THING = (
    r"(?=[ \t]*(?:[.!,;(:\n]|\Z| (?:and )?(?:nothing|no|without|e\.g\.|for example|such as|separated|in |"
    r"as |of ))|[ \t]+only\b)"
)


def read_format(words: str, *, is_system: bool = False) -> RequestedFormat:
    """Return the format that the instructions request, with an empty prompt.

    Args:
        words: The instructions.
        is_system: Whether a chat client sent them as system messages: its program reads data, so it is not fenced.
    """
    if (required := _required(words)) is not None:
        return required
    words = words[-MAX_CHARS:]
    for read in _READERS:
        if (found := read(words)) is not None:
            is_bare = bool(_BARE.search(words)) or is_system
            return RequestedFormat(
                prompt="",
                is_bare=is_bare,
                is_fenced=not is_bare and bool(_FENCE.search(words)),
                is_parent_technique=bool(_PARENTS.search(words)),
                **found,  # type: ignore[arg-type]
            )
    return RequestedFormat(prompt="")


_BARE = re.compile(
    r"\b(?:no|not|without|avoid|never|don't|do not)\b[^.\n]{0,60}(?:code ?(?:fences?|blocks?)|fences?|backticks|"
    r"markdown formatting|```)|\braw (?:json|xml|csv|text|output)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(
    r"\b(?:in|into|inside|within|with|as|using|by) (?:an? |one |the )?(?:single |markdown |json |```)?"
    r"(?:json |```(?:json)? ?)?(?:code ?)?(?:fences?|blocks?|codeblock|```)",
    re.IGNORECASE,
)
_PARENTS = re.compile(r"\b(?:exclud\w+|without|no|not)\b[^.\n]{0,20}\bsub-?\s?techniques?", re.IGNORECASE)
_Found = dict[str, object] | None


def _required(words: str) -> RequestedFormat | None:
    if (schema := required_schema(words)) is not None:
        return RequestedFormat(prompt="", format=AnswerFormat.SCHEMA, template=schema, is_bare=True, is_required=True)
    own, required = split_required(words)
    if required == REQUIRED_OBJECT:
        inner = read_format(own)
        template = inner.template if inner.template.lstrip().startswith("{") else ""
        kind = inner.format if template else AnswerFormat.JSON
        return RequestedFormat(prompt="", format=kind, template=template, is_bare=True, is_required=True)
    return None


def brackets(words: str) -> Iterator[str]:
    """The texts in balanced curly or square brackets, the outermost of each place."""
    at = 0
    while (start := _next_bracket(words, at)) >= 0:
        depth = 0
        for end in range(start, min(len(words), start + MAX_TEMPLATE_CHARS)):
            depth += (words[end] in "{[") - (words[end] in "}]")
            if depth == 0:
                yield words[start : end + 1]
                at = end + 1
                break
        else:
            return


def _next_bracket(words: str, at: int) -> int:
    places = [place for place in (words.find("{", at), words.find("[", at)) if place >= 0]
    return min(places, default=-1)


def _json_shape(words: str) -> _Found:
    shapes = [(text, shape) for text in brackets(words) if _has_keys(shape := parse_shape(text))]
    for text, shape in shapes:
        if isinstance(shape, dict) and ("$schema" in shape or ("properties" in shape and "type" in shape)):
            return {"format": AnswerFormat.SCHEMA, "template": text}
    if shapes:
        return {"format": AnswerFormat.TEMPLATE, "template": shapes[0][0]}
    if re.search(r"\bjson\b", words, re.IGNORECASE) and (names := _names(words, _KEYS)):
        return {"format": AnswerFormat.TEMPLATE, "template": json.dumps(dict.fromkeys(names))}
    return None


def _has_keys(shape: object) -> bool:
    match shape:
        case dict():
            return bool(shape)
        case [first, *_]:
            return isinstance(first, dict) and bool(first)
        case _:
            return False


_KEYS = re.compile(r"\b(?:keys?|fields?|properties|attributes|members?)\b(?! separated)", re.IGNORECASE)
_COLUMNS = re.compile(r"\b(?:columns?|header(?: row| line)?|fields?|first (?:row|line))\b(?!-)", re.IGNORECASE)
_CHILDREN = re.compile(r"\b(?:children|child(?:ren)? elements?|elements?|tags)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`“]([A-Za-z][\w .-]{0,39})[\"'`”]")
_LIST_LEAD = re.compile(
    r"\A(?:[\s:,(=]|\b(?:is|are|must|should|be|shall|with|the|named|called|exactly|these|following|as|line|row|names?|"
    r"whose|in|this|order)\b)*",
    re.IGNORECASE,
)
_LIST_END = re.compile(
    r"[.!](?=\s|\Z)|\n|\)|[(](?=in|with)|[;,] (?:no|without|do not|nothing)\b|,? (?:and (?:nothing|no|"
    r"include|in|with|do)|in this|in that|with a|as the|include|"
    r"do not|without|for each)\b",
    re.IGNORECASE,
)


def _names(words: str, lead: re.Pattern[str]) -> tuple[str, ...]:
    """The names that follow a word such as "columns": quoted, or separated by commas, bars, semicolons or "and"."""
    for match in lead.finditer(words):
        rest = words[match.end() : match.end() + 600]
        rest = rest[_LIST_LEAD.match(rest).end() :]  # type: ignore[union-attr]
        end = _LIST_END.search(rest)
        rest = rest[: end.start()] if end else rest
        quoted = _QUOTED.findall(rest) if rest[:1] in "\"'`“" else []
        if len(quoted) > 1 or (quoted and not re.search("[,|;]", quoted[0])):
            return tuple(quoted)
        names = [one.strip(" \t\"'`“”*:;").removeprefix("and ") for one in re.split(r"[,|;]| and ", rest)]
        names = [name for name in names if name]
        if len(names) > 1 and all(re.fullmatch(r"[A-Za-z_#][\w .()/#%-]{0,39}", name) for name in names):
            return tuple(names[:50])
    return ()


_TAG = re.compile(r"</([A-Za-z_][\w.-]{0,40})>")
_NAMED_TAG = re.compile(
    r"<([A-Za-z_][\w.-]{0,40})>(?=[^<\n]{0,40}\btags?\b)|\btags? (?:named )?[\"'`]?<?(\w+)>?", re.IGNORECASE
)
_ROOT = re.compile(r"\broot(?: element| tag)?(?: is| named| called)? <?([A-Za-z_][\w.-]{0,40})>?", re.IGNORECASE)
_THOUGHT_TAGS = frozenset({"thinking", "think", "reasoning", "scratchpad", "thought", "thoughts", "schema"})


def _xml(words: str) -> _Found:
    if (root := _ROOT.search(words)) is not None and re.search(r"\bxml\b", words, re.IGNORECASE):
        children = re.findall(r"<([A-Za-z_][\w.-]{0,40})>", words[root.end() :])
        names = [name for name in dict.fromkeys(children) if name != root[1]] or list(_names(words, _CHILDREN))
        if names:
            inner = "".join(f"<{name}>...</{name}>" for name in names)
            return {"format": AnswerFormat.XML, "template": f"<{root[1]}>{inner}</{root[1]}>"}
    closed = [name for name in dict.fromkeys(_TAG.findall(words)) if name.lower() not in _THOUGHT_TAGS]
    skeleton = _skeleton(words, closed)
    if skeleton:
        return {"format": AnswerFormat.XML, "template": skeleton}
    if not closed:
        closed = [
            name
            for match in _NAMED_TAG.finditer(words)
            if (name := match[1] or match[2]).lower() not in _THOUGHT_TAGS and f"<{name}>" in words
        ]
    if not closed:
        return None
    form = f"<{closed[-1]}>{{}}</{closed[-1]}>"
    examples = re.findall(rf"<{re.escape(closed[-1])}>([^<>\n]{{1,80}})</", words)
    thing = _thing(words) or _thing_of_example((examples or [""])[-1])
    return {"last_line": thing or "answer", "last_line_form": form} | _choice_fields(words)


_EXAMPLES = (
    ("CWE ID", re.compile(r"CWE-\d+")),
    ("technique ID", re.compile(r"T\d{4}(?:\.\d{3})?")),
    ("CVE", re.compile(r"CVE-\d{4}-\d+")),
    ("vector", re.compile(r"CVSS:\S+|AV:[NALP]/\S+")),
    ("verdict", re.compile(r"(?i)phishing|spam|ham|benign|legitimate|malicious|suspicious|safe|clean")),
    ("number", re.compile(r"\d+(?:\.\d+)?")),
)


def _thing_of_example(value: str) -> str:
    """What kind of value an example shows; its value itself is never used."""
    return next((thing for thing, looks in _EXAMPLES if looks.fullmatch(value.strip(" .'\"`"))), "")


def _skeleton(words: str, closed: list[str]) -> str:
    """The text from the first opening tag to its end, if it has tags inside or others next to it."""
    names = [name for name in closed if f"<{name}>" in words]
    if len(names) < 2:
        return ""
    first = min(names, key=lambda name: words.index(f"<{name}>"))
    start = words.index(f"<{first}>")
    end = max(words.rindex(f"</{name}>") + len(name) + 3 for name in names)
    return words[start:end] if end - start <= MAX_TEMPLATE_CHARS else ""


def _rows(words: str) -> _Found:
    header = re.search(r"^[ \t]*\|(.+)\|[ \t]*$", words, re.MULTILINE)
    is_csv = re.search(r"\bcsv\b|comma[- ]separated values\b(?= with| \()", words, re.IGNORECASE)
    is_table = re.search(r"\btable\b|\btabulate\b", words, re.IGNORECASE)
    if header and not is_csv:
        return {"format": AnswerFormat.TABLE, "columns": tuple(cell.strip() for cell in header[1].split("|"))}
    if not (is_csv or is_table):
        return None
    inline = re.search(r"\|((?:[^|\n]{1,40}\|){1,30})", words) if is_table else None
    columns = _names(words, _COLUMNS)
    if inline and not columns:
        columns = tuple(cell.strip() for cell in inline[1].split("|")[:-1])
    return {"format": AnswerFormat.CSV if is_csv else AnswerFormat.TABLE, "columns": columns} if columns else None


_BOXED = re.compile(r"(\$?)\\?\\boxed\s*\{([^{}\n]{0,80})\}(\$?)|\bboxed\b", re.IGNORECASE)
_LAST = re.compile(
    r"\b(?:last|final|separate) line\b|\b(?:end|finish|conclude|close)s?\b|\bat the end\b|\bexplain\b|\breasoning\b|"
    r"\bstep by step\b|\bjustif\w+|\bshow your work\b|\bdiscuss\b|\bsummari[sz]e each\b|\banaly[sz]e\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"(?:^[ \t]*|[\"'`“(]|: |\bas |\bwith |\breads? |\bform |\bbe )[\"'`“]?(?P<label>(?:the )?(?:final |"
    r"last )?(?:answer|"
    r"verdict|result|conclusion|prediction|classification|decision|label|technique|cwe|score|vector|severity|id|rating)"
    r"(?: is)?\s{0,2}[:=]\s{0,2})(?:[\"'`”] )?(?P<value>[^\n\"'`”)]{0,120})",
    re.IGNORECASE | re.MULTILINE,
)
_LAST_ONLY = re.compile(
    rf"\b(?:last|final) line\b[^.?!\n]{{0,60}}\b{_ALONE}\b(?: contains?| with| be| of)? {_THING}{_AFTER_THING}"
    rf"|\b{_ALONE} {_THING.replace('thing', 'other')} (?:alone )?(?:on|in|as) the (?:last|final) line"
    r"|\bwrite the (?P<third>[\w ]{2,40}?) alone on the (?:last|final) line",
    re.IGNORECASE,
)


def _boxed(words: str) -> _Found:
    match = _BOXED.search(words)
    if match is None:
        return None
    dollar = "$" if match[1] else ""
    form = f"{dollar}\\boxed{{{{{{}}}}}}{dollar}"
    inside = (match[2] or "").strip(" .<>[]")
    examples = [text for one in _BOXED.finditer(words) if (text := (one[2] or "").strip(" .<>[]"))]
    is_name = re.fullmatch(r"[A-Za-z][A-Za-z _-]{1,40}", inside) and not _thing_of_example(inside)
    thing = inside if is_name else _thing(words) or _thing_of_example((examples or [""])[-1])
    return {"last_line": thing or "answer", "last_line_form": form} | _choice_fields(words)


def _labelled(words: str) -> _Found:
    found = [match for match in _LABELLED.finditer(words) if not re.match(r"\s*(?:json|xml|csv)\b", match["value"])]
    if not found:
        return None
    match = max(
        found, key=lambda one: (PLACEHOLDER.search(one["value"]) is not None or "$" in one["value"], -one.start())
    )
    label, value = match["label"], match["value"].strip()
    place = PLACEHOLDER.search(value)
    if place is not None:
        thing = next((group for group in place.groups()[:3] if group), "") or _label_thing(label)
    else:
        named = re.search(r"\$\w+ is (?:the |an? )?([\w ]{2,40}?)[.,;\n]", words) or re.search(
            r"[\"'”`]? ?followed by (?:the |your |an? )?([\w ]{2,40}?)(?: only)?[.,;(\n]", words
        )
        shown = _thing_of_example(value)
        by_label = _label_thing(label) or shown
        thing = named[1] if named else (by_label if shown or _is_value(value) else value)
    if _SAMPLE.search(words[max(0, match.start() - 40) : match.start() + 1]) and place is None and not thing:
        return None
    thing = re.sub(r"(?<!\s)\s*+\bonly\s*+\Z", "", thing)
    form = label.rstrip() + (" " if label[-1:] == " " or not value else "") + "{}"
    choices = _choice_fields(words)
    if _LAST.search(words):
        return {"last_line": thing or "answer", "last_line_form": form} | choices
    if len(value.splitlines()) > 1 or len(PLACEHOLDER.findall(value)) > 1:
        return None
    return {"format": AnswerFormat.TEMPLATE, "template": form.format(f"<{thing or 'answer'}>")} | choices


_SAMPLE = re.compile(r"\b(?:e\.g\.|example|sample|instance|such as)\b", re.IGNORECASE)


def _is_value(value: str) -> bool:
    """Whether a text looks like an example's value, not like the name of a value."""
    return (
        not value or bool(re.search(r"\d|[A-Z]{3,}|\$|^[A-H]$|^(?:yes|no|unknown)$", value)) or len(value.split()) > 4
    )


def _label_thing(label: str) -> str:
    thing = re.sub(r"(?i)^(?:the )?(?:final |last )?|(?<![:=\s])[:=\s]++$|\bis\b", "", label).strip()
    return "" if thing.lower() in ("answer", "result", "conclusion", "prediction", "decision", "id") else thing


def _last_only(words: str) -> _Found:
    match = _LAST_ONLY.search(words)
    if match is None:
        return None
    thing = (match["thing"] or match["other"] or match["third"]).strip()
    is_list = bool(re.search(r"separated by|comma", words, re.IGNORECASE))
    return {"last_line": thing, "is_list": is_list} | _choice_fields(words)


_OPTION = re.compile(r"^\s{0,4}(?:[-*] )?\(?([A-H])[).:]\)? +(\S[^\n]{0,300})$", re.MULTILINE)
_WORD_CHOICE = re.compile(
    r"(?:\bone of(?: these| the following| the)?(?: words?| labels?| options?| categories| values| classes)?(?: only)?|"
    r"\b(?:labels?|categories|classes|verdicts|values|answers|words?|options)(?: are| is)?(?=:)|\beither(?= )|"
    r"\bas(?= \w+(?:, \w+){0,8},? or ))[\s:]{0,3}(?:please: )?(?:either "
    r")?[\[({\"“'`]{0,2}(?P<list>[A-Za-z][^.\n\])}]{2,200})",
    re.IGNORECASE,
)


def _choice_fields(words: str) -> dict[str, object]:
    choices = tuple(Choice(letter, text.strip()) for letter, text in _OPTION.findall(words))
    return {"choices": choices} if len(choices) > 1 else {}


def _choice(words: str) -> _Found:
    letters = _choice_fields(words)
    if letters:
        if re.search(r"\b(?:last|final) line\b", words, re.IGNORECASE):
            return {"last_line": "letter"} | letters
        return {"format": AnswerFormat.CHOICE} | letters
    if _YES_NO.search(words):
        return None
    for match in _WORD_CHOICE.finditer(words):
        names = [one.strip(" \t\"'`“”*:;[](){}") for one in re.split(r"[,/|]| or | and ", match["list"])]
        names = [name.removeprefix("or ").strip() for name in names]
        names = [name for name in names if name]
        if len(names) > 1 and all(
            re.fullmatch(r"[A-Za-z][\w -]{0,40}", name) and len(name.split()) < 5 for name in names
        ):
            return {"format": AnswerFormat.CHOICE, "choices": tuple(Choice(name, name) for name in names[:20])}
    return None


_YES_NO = re.compile(r"\b(?P<yes>yes)\b[\"'`”*]{0,2}\s?(?:or|/|\||and|,)\s?[\"'`“*]{0,2}(?P<no>no)\b", re.IGNORECASE)


def _yes_no(words: str) -> _Found:
    match = _YES_NO.search(words)
    if match is None:
        return None
    return {"format": AnswerFormat.YES_NO, "choices": (Choice("yes", match["yes"]), Choice("no", match["no"]))}


_COMMAS = re.compile(
    r"\bcomma[- ](?:separated|delimited)\b|\b(?:separated|delimited) by (?:a )?commas?\b|\b([a-z]+) ?1, \1 ?2\b",
    re.IGNORECASE,
)


def _comma_list(words: str) -> _Found:
    if _COMMAS.search(words) is None:
        return None
    return {"format": AnswerFormat.LIST, "template": _thing(words), "is_list": True}


_NUMBER_ONLY = re.compile(
    r"\b(?:only|just|single|one|a) (?:an? |the |one )?(?:single )?(?:number|numeric (?:value|answer)|"
    r"numeral|integer|figure)"
    r"\b(?! of)|\bnumeric(?:al)? (?:value|answer)|\bnumber only\b|\ba number\b",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(r"\b(?:one|single|1)[ -](?:single )?word\b", re.IGNORECASE)
_ONLY = (
    re.compile(rf"\b{_VERB}\b[^.?!\n:]{{0,25}}?\b{_ALONE}\b(?: with| of)? {_THING}{_AFTER_THING}", re.IGNORECASE),
    re.compile(rf"\b{_ALONE} (?:{_VERB}|want|need|expect)(?: with)? {_THING}{_AFTER_THING}", re.IGNORECASE),
    re.compile(rf"\b(?:be|is|with|{_VERB}) {_THING} (?:only|alone)\b", re.IGNORECASE),
)
_THING_SOURCES = (
    re.compile(
        r"\b(?:wrap|put|place|enclose|surround|return|provide|write|give|list|output|but) (?:only )?(?:the|your) "
        r"(?P<thing>[A-Za-z][\w -]{1,40}?)(?= (?:in|within|inside|between|with|as|on|enclosed|separated|only|and)\b"
        r"|[,;.(])",
        re.IGNORECASE,
    ),
    re.compile(r"\bthe (?P<thing>[A-Za-z][\w -]{1,40}?) (?:has to|must|should|only\b)", re.IGNORECASE),
)
_NO_THING = re.compile(
    r"\b(?:answer|output|response|reply|result|conclusion|solution|format|json|xml|csv|table|line|list|"
    r"text|options?|them|"
    r"your|evidence|work|reasoning|tags?|number|word|sentence|letter)\b",
    re.IGNORECASE,
)
_WHERE_IT_GOES = re.compile(
    r" (?:(?:has|have|needs?) to|must|should|goes?|belongs?|is|are)\b.*", re.IGNORECASE | re.DOTALL
)
_NOT_A_VALUE = re.compile(
    r"\b(?:ones|findings|results|those|these|them|json|csv|xml|table|format|one line|bullets?|sentences?|markdown)\b",
    re.IGNORECASE,
)


def _thing(words: str) -> str:
    """What the instructions call the value: "CWE ID" in "wrap the CWE ID in <answer> tags"."""
    for pattern in (*_ONLY, *_THING_SOURCES):
        for match in pattern.finditer(words):
            if not _NO_THING.search(match["thing"]) and not _SAMPLE.search(match["thing"]):
                return _WHERE_IT_GOES.sub("", match["thing"]).strip()
    return ""


def _value(words: str) -> _Found:
    if _NUMBER_ONLY.search(words):
        return {"format": AnswerFormat.TEMPLATE, "template": "<number>"}
    if _ONE_WORD.search(words):
        return {"format": AnswerFormat.TEMPLATE, "template": "<answer>", "is_one_word": True}
    for pattern in _ONLY:
        for match in pattern.finditer(words):
            thing = match["thing"].strip()
            if not _NOT_A_VALUE.search(thing):
                return {"format": AnswerFormat.TEMPLATE, "template": f"<{_short(thing)}>"}
    return None


def _short(thing: str) -> str:
    return "answer" if re.fullmatch(r"(?i)(?:label|option|value|answer|result|final answer|word)", thing) else thing


_BULLETS = re.compile(
    rf"\b{_NUMBER}[ -](?:\w+ ){{0,2}}?(?:bullets?|bullet[- ]points?|points|items)\b|\bbullet\w*", re.IGNORECASE
)
_SENTENCES = re.compile(rf"\b{_NUMBER}[ -](?:\w+ ){{0,2}}?sentences?\b", re.IGNORECASE)
_LINE = re.compile(r"\b(?:one|a single|single|1)[ -]?(?:short )?line(?:r)?\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"\b(?:numbered|enumerated|ordered)\b[^.\n]{0,20}\blist\b|\bnumber (?:your|the|each) \w+", re.IGNORECASE
)


def _count(match: re.Match[str]) -> int:
    word = (match["number"] or "").lower()
    if word.isdigit():
        return min(int(word), MAX_COUNT)
    return _NUMBERS.index(word) if word in _NUMBERS else int(word in ("a", "an", "single"))


def _short_prose(words: str) -> _Found:
    if _NUMBERED.search(words):
        return {"format": AnswerFormat.NUMBERED}
    bullets = list(_BULLETS.finditer(words))
    if bullets and re.search(r"\bbullet", words, re.IGNORECASE):
        return {"format": AnswerFormat.BULLETS, "count": max(map(_count, bullets))}
    if (sentences := _SENTENCES.search(words)) is not None:
        return {"format": AnswerFormat.SENTENCES, "count": max(_count(sentences), 1)}
    if _LINE.search(words):
        return {"format": AnswerFormat.SENTENCES, "count": 0}
    return None


_ONLY_OF = re.compile(r"\b(?:only|just|nothing but|solely|exclusively|nothing except)\b", re.IGNORECASE)
_NEAR = 40  # characters between "only" and what to list
_BRIEF = r"(?:brief|short|concise|terse|succinct|laconic|crisp|to the point)"
_IN_BRIEF = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:be|stay|remain|keep|you are)\b[^.;\n]{0,40}?(?<!not )(?<!too )"
    rf"\b{_BRIEF}\b|(?<!no )\b{_BRIEF} (?:answers?|repl(?:y|ies)|responses?)\b"
    r"|\b(?:answer|reply|respond|write)\b[^.;\n]{0,20}\b(?:briefly|concisely|succinctly|tersely)\b",
    re.IGNORECASE,
)
_BRIEF_SENTENCES = 2


def _things_only(words: str) -> _Found:
    """A list of things and nothing else: "only list IP addresses, one per line", "only the accounts, as bullets"."""
    for match in _ONLY_OF.finditer(words):
        after, before = words[match.end() : match.end() + _NEAR], words[max(0, match.start() - _NEAR) : match.start()]
        after, before = re.split(r"[.;:!?\n]", after)[0], re.split(r"[.;:!?\n]", before)[-1]
        if (thing := _plural_in(after) or _plural_in(before)) is not None:
            kind = AnswerFormat.BULLETS if re.search(r"\bbullet", words, re.IGNORECASE) else AnswerFormat.LINES
            return {"format": kind, "template": thing}
    return None


def _plural_in(words: str) -> str | None:
    """The first sort of thing that a text names in the plural, in its words; a single one is a value."""
    found = [match for noun in NOUNS for match in noun.words.finditer(words) if match[0].lower().endswith("s")]
    return max(found, key=lambda match: (-match.start(), match.end()))[0] if found else None


def _brief(words: str) -> _Found:
    if _IN_BRIEF.search(words) is None:
        return None
    return {"format": AnswerFormat.SENTENCES, "count": _BRIEF_SENTENCES}


def _template(words: str) -> _Found:
    match = next(reversed([*_TEMPLATE.finditer(words)]), None)
    if match is None:
        return None
    template = words[match.end() :]
    fenced = _FENCED.match(template)
    template = fenced[1] if fenced else template.partition("\n\n")[0].strip()
    if not 0 < len(template) <= MAX_TEMPLATE_CHARS or not is_template(template):
        return None
    return {"format": AnswerFormat.TEMPLATE, "template": template}


_FORMAT_WORD = r"(?:formats?|forms?|templates?|schema|structure|shape|pattern|like this|as follows|following)"
_TEMPLATE = re.compile(rf"\b{_VERB}\b[^.?!\n:]{{0,60}}?\b{_FORMAT_WORD}\b[^\n:]{{0,40}}:[ \t]*\n*", re.IGNORECASE)
_FENCED = re.compile(r"```[^\n]{0,200}\n(.*?)(?:\n```|\Z)", re.DOTALL)


def _form(words: str) -> _Found:
    for kind, word in ((AnswerFormat.JSON, "json"), (AnswerFormat.CSV, "csv"), (AnswerFormat.TABLE, "table")):
        if re.search(rf"\b{word}\b(?! file| object in)", words, re.IGNORECASE) or re.search(
            rf"\b{word}\b", words, re.IGNORECASE
        ):
            return {"format": kind}
    return None


def _long_template(words: str) -> _Found:
    """A template with several placeholders: more than a labelled last line."""
    found = _template(words)
    if found is None or _LAST.search(words) or len(PLACEHOLDER.findall(str(found["template"]))) < 2:
        return None
    return found


_READERS: tuple[Callable[[str], _Found], ...] = (
    _json_shape,
    _rows,
    _boxed,
    _xml,
    _long_template,
    _last_only,
    _labelled,
    _choice,
    _yes_no,
    _form,
    _comma_list,
    _things_only,
    _value,
    _template,
    _short_prose,
    _brief,
)
