"""Every regular expression of the product: recorded while it is compiled, evaluated, or loaded from a table.

Run inside a fresh interpreter (``pattern_times``), because a pattern can only be recorded when it is compiled.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from svc.assistant.log_readers.tables.kinds import Kind, shipped_sources

ROOT = Path(__file__).parents[2]
PACKAGES = ("svc", "svc_jupyter")
METHODS = ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
ANCHORED = {"match", "fullmatch"}
_NOT_IMPORTED = re.compile(r"windows_jobs$|\.__main__$")
# Functions that put a pattern together at run time: an expression, in their module, for all of its values or examples.
RUN_TIME = {
    "analyst/asked_values.py:_word": r"[r'(?:^|_)count(?=_|$)']",
    "analyst/choices.py:_has_words": r"[r'(?<!\w)aa(?!\w)']",
    "analyst/follow_ups/reading.py:glossed": "[one for table in _glossary().questions.values() for one in table]",
    "analyst/questions/things.py:mention_pattern": (
        "[mention_pattern(name).pattern for name in ('10.0.0.1', 'aa-7', 'a.example')]"
    ),
    "analyst/compound/one_input.py:of_one_input": (
        r"[r'(?:\b(?:in|of|from|within|inside|about|at) )?(?:the )?a\.log']"
    ),
    "analyst/particulars.py:names_in": r"[r'(?i:\b(?:in|within|inside|according to) (?:the )?)a\.log']",
    "analyst/format_reading.py:_xml": r"[r'<answer>([^<>\n]{1,80})</']",
    "analyst/format_reading.py:_form": r"[r'\bjson\b(?! file| object in)', r'\bjson\b']",
    "analyst/questions/subjects.py:_patterns": (
        "[pattern.pattern for named in _patterns().values() for _, _, pattern in named]"
    ),
    "analyst/questions/time_words.py:_part": "[words.pattern for words, _ in _PARTS]",
    "analyst/questions/unread.py:asked": "[place.asked.pattern for place in _places()]",
    "analyst/questions/unread.py:is_read": "[place.is_read.pattern for place in _places()]",
    "analyst/particulars.py:_mentions": r"[r'(?<![\w.-])aaa(?![\w-]|\.\w)']",
    "analyst/render.py:rated": r"[r'\bcritical\b(?! or higher)']",
    "analyst/structured_answer.py:_short_prose": r"[rf'\b{name}\b' for name in TYPES]",
    "analyst/languages.py:_asks": "list(_words().interrogatives.values())",
    "analyst/questions/inputs.py:both_answer": r"[r'(?<![\w.-])aaa(?![\w-]|\.\w)']",
    "analyst/questions/record_answers.py:_says_in_text": r"[r'\bgroup\b']",
    "analyst/questions/relations.py:_nouns": "[_nouns(what).pattern for what in RELATIONS]",
    "analyst/languages.py:gloss": (
        "[one for table in _words().questions.values() for one in table] + list(_words().interrogatives.values())"
    ),
    "collections/layouts.py:layouts_of": "[one for layout in _table().layouts for one in layout.patterns]",
    "knowledge/network.py:_compiled": (
        "[pattern for kind in ('names', 'phrases', 'agents', 'requests') for pattern, _ in _compiled(kind)]"
    ),
    "knowledge/word_patterns.py:__init__": (
        "[text for _, _, text in module('svc.assistant.skills.mail.wording')._texts()]"
    ),
    "log_readers/tables/bounded_patterns.py:_category": "list(_CATEGORIES.values())",
    "log_readers/tables/bounded_patterns.py:check_pattern": r"[r'^a{0,9}b']",  # only to see whether it compiles
    "log_readers/tables/declared.py:__init__": (
        "[one.pattern for kind in module('tests.support.pattern_sites').shipped_kinds() for one in kind.extract]"
        " + [one.matches for kind in module('tests.support.pattern_sites').shipped_kinds() for one in kind.systems]"
    ),
    "log_readers/tables/kinds.py:__init__": (
        "[pattern for source in shipped_sources() for line in source.lines for pattern in (line.pattern, line.skip)]"
    ),
    "log_readers/tables/row_events.py:__init__": (
        "[rule.matches for kind in module('tests.support.pattern_sites').shipped_kinds() for rule in kind.when]"
    ),
    "log_readers/tables/user_sources.py:_of_kind": r"[r'^a{0,9}b']",  # of the user's definition, which are checked
    "model/evidence.py:_mark_missing": (
        "['|'.join(map(_display_pattern, ('http://aa.example/a', '10.0.0.1', 'a' * 64)))]"
    ),
    "model/local_toolset.py:_without_arguments": "['aaaa']",
    "response_format.py:_pattern": "['a{0,200}b*c*']",
    "skills/indicators/search/matcher.py:_bounded": "[_bounded('a.example').pattern]",
    "skills/indicators/search/matcher.py:_is_in": r"[r'(?<![\w-])a\.example\]?(?::\d{1,5})?/a/b(?![\w%-])']",
    "skills/indicators/search/matcher.py:_phrase_pattern": (
        r"[_phrase_pattern(*pair).pattern for pair in (('HKLM\\Software\\A', 'registry_key'), ('ann', 'account'),"
        r" ('C:\\a\\b.exe', 'file'), ('\\a\\b', 'file'))]"
    ),
    "skills/attack/tool.py:_named_in": r"[r'(?<![\w&])a a(?![\w&])']",
    "skills/attack/tool.py:_tactics_in": r"[r'(?<!\w)a a(?!\w)']",
    "skills/certificate/checks.py:_known_names": "[mark.pattern for mark in _marks().marks]",
    "skills/cvss/estimate.py:_pattern": (
        "[one for known in (*table().kind, *table().rule)"
        " for one in (known.words, getattr(known, 'and_words', ''), known.not_words) if one]"
    ),
    "skills/asked/records.py:word_pattern": "[word_pattern(word).pattern for word in ('loads', 'aa', '443')]",
    "skills/asked/following.py:_may_start": "['|'.join(word_pattern(word).pattern for word in ('ann', '10.0.0.1'))]",
    "analyst/questions/conditions.py:_groups": "[words for words, _ in _GROUPS.values()]",
    "analyst/follow_ups/ellipsis.py:completed": r"[r'(?<![\w.-])aa(?![\w-])']",
    "analyst/follow_ups/ellipsis.py:_with_other": r"[r'(?<![\w.-])aa(?![\w-])']",
    "skills/asked/records.py:__init__": (
        "[f'(?:{_joined(name)})$'"
        " for names in module('svc.assistant.analyst.questions.record_questions')._names().values() for name in names]"
    ),
    "skills/host_artefacts/answer.py:_command_sentences": "list(_SHOWN_BY.values())",
    "skills/host_artefacts/signs.py:__init__": (
        "[one for sign in load('signs.toml', _SignTable, __package__).signs"
        " for one in (sign.pattern, sign.unless, sign.where, sign.source, sign.detail) if one]"
    ),
    "skills/code_review/http_headers.py:header_findings": (
        "[bad.pattern for bad in module('svc.assistant.skills.code_review.tool')._table().headers.bad]"
    ),
    "skills/code_review/languages.py:detect_language": "[known.pattern for known in _table().names]",
    "skills/mail/html_tags.py:_raw": "['a a']",
    "skills/mail/sender.py:_reader_notes": r"[r'(?<![\w@.])aa(?!\w)']",
    "skills/office/ooxml.py:_properties": r"[r'<(?:\w+:)?title\b[^>]*>([^<]{1,300})<']",
    "skills/office/traits.py:_compiled": (
        "[one for which in ('words', 'formulas', 'fields') for _, one in _compiled(which)]"
    ),
    "skills/script/literals.py:_from_text_codes": "['[ab]']",
    "skills/script/literals.py:_known_values": (
        "[f'(?i:(?:{pattern.pattern})(?={_PICKS_KNOWN.pattern}))' for pattern, _ in _KNOWN]"
    ),
    "skills/script/shell_words.py:put_in": "['aa']",
    # only patterns without repeated groups are tried, and each use is charged by the length of the text
    "skills/script/javascript/patterns.py:_compiled": (
        r"[_compiled(one, '').pattern for one in ('[a-z]+', r'\bword\b', '(a)(b)?')]"
    ),
    "skills/script/techniques.py:_compiled": "[_compiled(one.pattern) for one in _patterns()]",
    "workers/mentions.py:_pattern": r"[rb'(?<![\w.-])aa(?![\w-]|\.\w)']",
    "svc/cli/answer_view.py:_ends_early": r"[r'^ {0,3}`{3,}[ \t]*$']",
    "svc_jupyter/magics/commands.py:_can_follow": "[form.pattern for form in FORMS]",
    "svc_jupyter/magics/commands.py:_pattern": "[_pattern(form) for form in FORMS]",
}

USED_BY = {
    "svc_jupyter/magics/commands.py:_can_follow": "fullmatch",
    "svc_jupyter/magics/commands.py:_pattern": "fullmatch",
}
"""The method by which such patterns are used, if it is known."""


@dataclass(frozen=True)
class Site:
    """One place in the source that compiles or uses a pattern by ``re``."""

    path: str
    first: int
    last: int
    method: str
    function: str


@dataclass
class Known:
    """A pattern with the places that compile it and the methods by which it is used."""

    pattern: str | bytes
    flags: int
    places: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)


class Recorder:
    """Notes each pattern that code of the product compiles, with the line that does."""

    def __init__(self) -> None:
        self.known: dict[tuple[str | bytes, int], Known] = {}
        self.lines: set[tuple[str, int]] = set()
        self._compile = re._compile  # type: ignore[attr-defined]

    def install(self) -> None:
        re._compile = self._record  # type: ignore[attr-defined]

    def _record(self, pattern: Any, flags: Any) -> Any:
        compiled = self._compile(pattern, flags)
        frame = sys._getframe(2)
        name = frame.f_code.co_filename
        if name.startswith(f"{ROOT}/") and "/tests/" not in name:
            path = str(Path(name).relative_to(ROOT))
            self.lines.add((path, frame.f_lineno))
            self.add(compiled, f"{path}:{frame.f_lineno}", sys._getframe(1).f_code.co_name)
        return compiled

    def add(self, pattern: re.Pattern[Any], place: str, method: str) -> None:
        known = self.known.setdefault((pattern.pattern, pattern.flags), Known(pattern.pattern, pattern.flags))
        known.places.add(place)
        if method != "compile":
            known.methods.add(method)


def modules() -> Iterator[ModuleType]:
    """Import every module of the product."""
    for package in PACKAGES:
        top = importlib.import_module(package)
        yield top
        for found in pkgutil.walk_packages(top.__path__, f"{package}."):
            if not _NOT_IMPORTED.search(found.name):
                yield importlib.import_module(found.name)


def load_tables(loaded: list[ModuleType]) -> None:
    """Call each cached function without parameters: the tables with patterns are read by such."""
    for module in loaded:
        for value in list(vars(module).values()):
            if getattr(value, "__module__", "") != module.__name__ or not hasattr(value, "cache_info"):
                continue
            code = value.__wrapped__.__code__
            if code.co_argcount == code.co_kwonlyargcount == 0:
                value()


def _is_of_parser(node: ast.ImportFrom) -> bool:
    """Whether only the parser of patterns is imported, which matches nothing: ``from re import _parser``."""
    return all(alias.name in {"_constants", "_parser"} for alias in node.names)


def shipped_kinds() -> list[Kind]:
    """Every kind of export that is defined."""
    return [kind for source in shipped_sources() for kind in source.kinds]


def sites(path: Path) -> Iterator[tuple[Site, ast.Call]]:
    """The calls of ``re`` in a file, by any name that the file gives the module."""
    tree = ast.parse(path.read_text())
    names = {"re"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"re", "regex"} and not _is_of_parser(node):
            raise AssertionError(f"{path}: import the module re, so that its patterns are found")
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name for alias in node.names if alias.name in {"re", "regex"}}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if (
                name in names and method in METHODS
            ):
                around = [one for one in functions if one.lineno <= node.lineno <= (one.end_lineno or 0)]
                function = max(around, key=lambda one: one.lineno).name if around else ""
                yield Site(str(path.relative_to(ROOT)), node.lineno, node.end_lineno or 0, method, function), node


def evaluated(node: ast.Call, module: ModuleType) -> tuple[Any, int] | None:
    """The pattern and flags of a call whose arguments are known when the module is."""
    flags = [one.value for one in node.keywords if one.arg == "flags"] + node.args[
        {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}.get(
            getattr(node.func, "attr", ""), 9
        ) :
    ]
    try:
        pattern = eval(compile(ast.Expression(node.args[0]), "<site>", "eval"), vars(module))
        value = eval(compile(ast.Expression(flags[0]), "<site>", "eval"), vars(module)) if flags else 0
    except NameError:
        return None
    return pattern, value


def method_uses(loaded: list[ModuleType]) -> Iterator[tuple[re.Pattern[Any], set[str]]]:
    """Each pattern that a global name holds, with the methods called on it; other uses count as ``finditer``."""
    for module in loaded:
        held = {name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)}
        if not held or module.__file__ is None:
            continue
        tree = ast.parse(Path(module.__file__).read_text())
        called = {
            id(node.func.value): node.func.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in held:
                method = called.get(id(node), "finditer")
                yield held[node.id], {method} & set(METHODS)


def all_patterns() -> tuple[list[Known], list[str]]:
    """Every pattern of the product, and the places whose patterns are not known."""
    recorder = Recorder()
    recorder.install()
    re.purge()
    loaded = list(modules())
    load_tables(loaded)
    by_path = {str(Path(one.__file__).relative_to(ROOT)): one for one in loaded if one.__file__}
    missed: list[str] = []
    used: set[str] = set()
    for site, node in (found for path in by_path for found in sites(ROOT / path)):
        place = f"{site.path.removeprefix('svc/assistant/')}:{site.function}"
        module = by_path[site.path]
        found: list[Any] = []
        if place in RUN_TIME:
            used.add(place)
            found = eval(RUN_TIME[place], vars(module) | {"module": importlib.import_module})
        elif any((site.path, line) in recorder.lines for line in range(site.first, site.last + 1)):
            continue
        elif (pair := evaluated(node, module)) is not None:
            found = [re.compile(*pair)]
        else:
            missed.append(place)
        for one in found:
            recorder.add(re.compile(one), f"{site.path}:{site.first}", USED_BY.get(place, site.method))
    for pattern, methods in method_uses(loaded):
        if (known := recorder.known.get((pattern.pattern, pattern.flags))) is not None:
            known.methods |= methods
    return list(recorder.known.values()), missed + [f"not in the source: {one}" for one in RUN_TIME.keys() - used]
