"""The answer about scripts: what they come to and do, each stage, each command. Kinds: ``tools/script``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.attack_names import attack_name
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tables import search_steps, tables_by_type
from svc.assistant.skills.skill import READABLE_LABELS, Section, Skill, words
from svc.untrusted.markup import code_block, code_span, escape, plural, table

SHOWN_CHARS = 3_000  # of a stage; the whole stands in the findings
SHOWN_STAGES = 8
SHOWN_TECHNIQUES = 5
_LEAD = {
    "malicious": "**Malicious**, by what it does",
    "suspicious": "**Suspicious**",
    "unusual": "**Unusual, not clearly bad**",
    "ordinary": "**Nothing that attackers are known for**",
}
_BAD = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def verdict(findings: Sequence[Finding]) -> str:
    """What the scripts come to and why, the worst first; that nothing was run."""
    scripts = sorted(_of(findings, "script"), key=lambda one: list(_LEAD).index(str(one.attributes["verdict"])))
    if not scripts:
        return "**No command or script was found to explain.**"
    first = scripts[0]
    reasons = [escape(str(reason)) for reason in _list(first, "reasons")]
    lead = _LEAD[str(first.attributes["verdict"])]
    because = f": it {'; it '.join(reasons[:4])}" if reasons else ""
    more = f" and {plural(len(reasons) - 4, 'thing')} more" if len(reasons) > 4 else ""
    hidden = _number(first, "hidden_stages")
    decoded = f" {plural(hidden, 'stage')} had to be decoded or put together." if hidden else ""
    where = f" in {code_span(first.evidence[0].source, limit=60)}" if len(scripts) > 1 else ""
    others = f" {plural(len(scripts) - 1, 'more script')} below." if len(scripts) > 1 else ""
    return (
        f"{lead}{because}{more} ({escape(str(first.attributes['language']))}{where}).{decoded} Read, not run.{others}"
    )


def section(findings: Sequence[Finding]) -> str:
    """Per script: techniques, behaviours, stages, commands; then the indicators."""
    blocks = []
    scripts = _of(findings, "script")
    for script in scripts:
        source = script.evidence[0].source
        own = [one for one in findings if one.evidence and one.evidence[0].source.split(", stage ")[0] == source]
        blocks += [f"**{escape(source)}**"] if len(scripts) > 1 else []
        blocks += [*_behaviours(own), *_techniques(script), *_stages(own), *_parts(own)]
    if found := _of(findings, "indicator"):
        blocks += ["**Indicators in the last stages**", tables_by_type(found)]
    return "\n\n".join(blocks)


def _behaviours(findings: Sequence[Finding]) -> list[str]:
    rows = [
        (
            str(one.severity),
            escape(f"it {one.title}"),
            escape(one.why),
            ", ".join(one.techniques),
            f"{_stage_of(one)}line {one.evidence[0].line:,}: {code_span(one.evidence[0].excerpt, limit=100)}",
        )
        for one in _of(findings, "script_behaviour")
    ]
    return ["**What it does**", table(("Severity", "What", "Why it matters", "ATT&CK", "Where"), rows)] if rows else []


def _stage_of(finding: Finding) -> str:
    number = _number(finding, "stage")
    return "" if number == 1 else f"stage {number}, "


def _techniques(script: Finding) -> list[str]:
    ranked, shown = _list(script, "ranked"), _list(script, "shown_by")
    rows = [
        (str(technique), escape(attack_name(str(technique))), code_span(str(by), limit=80))
        for technique, by in list(zip(ranked, shown, strict=True))[:SHOWN_TECHNIQUES]
    ]
    if not rows:
        return []
    origin = f"Table of commands: version {script.attributes['table_version']} of {script.attributes['table_date']}."
    return ["**Techniques, likeliest first**", table(("ATT&CK", "Name", "Shown by"), rows), origin]


def _stages(findings: Sequence[Finding]) -> list[str]:
    blocks = []
    stages = _of(findings, "script_stage")
    for stage in stages[:SHOWN_STAGES]:
        number, parent = _number(stage, "stage"), _number(stage, "parent")
        how, language = escape(str(stage.attributes["how"])), escape(str(stage.attributes["language"]))
        blocks.append(f"**Stage {number}** (from stage {parent}; {how}; {language})")
        text = str(stage.attributes["text"])
        blocks.append(code_block(text, limit=SHOWN_CHARS) if text else escape(str(stage.attributes["form"])))
    if len(stages) > SHOWN_STAGES:
        blocks.append(f"… and {plural(len(stages) - SHOWN_STAGES, 'more stage')} (all are in the findings).")
    return blocks


def _parts(findings: Sequence[Finding]) -> list[str]:
    rows = [
        (
            f"{_number(part, 'stage')}:{part.evidence[0].line}",
            code_span(part.evidence[0].excerpt, limit=120),
            escape(str(part.attributes["words"])) or "not in the table of programs",
        )
        for part in _of(findings, "script_part")
    ]
    return ["**Its commands and calls, in order**", table(("Stage:line", "Command", "It …"), rows)] if rows else []


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _list(finding: Finding, name: str) -> list[object]:
    value = finding.attributes[name]
    return list(value) if isinstance(value, list) else []


def _number(finding: Finding, name: str) -> int:
    value = finding.attributes[name]
    return value if isinstance(value, int) else 0


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to look for on the host, by the kinds of behaviour that were found."""
    does = {str(one.attributes["does"]) for one in _of(findings, "script_behaviour") if one.severity in _BAD}
    steps = [step for kinds, step in _STEPS if does & kinds]
    return steps + search_steps(_of(findings, "indicator"))


_STEPS = (
    (
        {"execution from memory", "reverse shell", "download", "execution"},
        "Find the process that ran it, its parent and its children, and what it connected to at that time.",
    ),
    (
        {"credential access"},
        "Take the credentials of that host for stolen: change them, and look where they were used.",
    ),
    ({"persistence"}, "Look on the host for what it leaves behind (tasks, services, Run keys, accounts, keys)."),
    ({"shadow copy deletion", "impact"}, "Isolate the host now; check whether backups elsewhere are out of its reach."),
    ({"log clearing", "defence evasion"}, "Use logs that left the host before; those on it may be incomplete."),
    ({"lateral movement"}, "Look at the hosts that it names for logons and new services at the same time."),
    ({"exfiltration", "collection"}, "Find out what was sent, and where to, from proxy and firewall logs."),
)

_VERBS = "explain|describe|analy[sz]e|understand|review|check|triage|inspect|break down|deobfuscate|map"
_THINGS = "power ?shell|scripts?|commands?|one-?liners?|macros?|batch|bash|vba|vbs|jscript|command ?lines?"
_PROGRAMS = "schtasks|vssadmin|wmic|certutil|bitsadmin|rundll32|regsvr32|mshta|wevtutil|bcdedit|netsh"
_SHELLS = "powershell|pwsh|cmd|bash|sh|curl|wget|reg|net1?|sc|sudo|chmod|nc|ncat|python3?|perl|iex|osascript"

SECTION = Section(
    skill=Skill(
        name="script",
        tool="svc.assistant.skills.script.tool:explain",
        input=InputKind.TEXT,
        title="Scripts and commands",
        can="explain a script or command (PowerShell, cmd, Unix shell, Visual Basic, JavaScript), mapped to ATT&CK",
        facts=(IndicatorFacts,),
        loose_kinds=("script", "script_behaviour", "script_stage", "script_part"),
        strong=words(
            rf"\b(?:{_VERBS})\b[^.?!\n:]{{0,40}}\b(?:{_THINGS})\b",
            r"\b(?:explain|describe|understand|deobfuscate)\b[^.?!\n:]{0,40}\b(?:javascript|code|shell)\b",
            rf"\bwhat (?:does|do|did|would|is|will)\b[^.?!\n:]{{0,40}}\b(?:{_THINGS})\b",
            rf"\b(?:is|are|was) (?:this|that|the|these)\b[^.?!\n:]{{0,30}}\b(?:{_THINGS})\b",
            rf"\b(?:{_THINGS})\b[^.?!\n:]{{0,40}}\b(?:do|doing|malicious|suspicious|harmful|safe|dangerous|techniques?)\b",
            rf"\bwhich techniques?\b[^.?!\n:]{{0,40}}\b(?:{_THINGS})\b",
            r"\b(?:is|what (?:does|do|did|would)|explain)\b[^`\n]{0,20}`[^`\s]{1,40} [^`\n]{2,400}`[^`\n]{0,30}"
            r"(?:\b(?:malicious|suspicious|safe|dangerous|harmful|bad|do|mean)\b|\Z)",
        ),
        weak=words(
            r"\bwhat (?:does|do|did|will|would) (?:this|that|it) do\b",
            r"\bpower ?shell\b",
            r"\bscripts?\b",
            r"\bone-?liners?\b",
            r"\bcommand ?lines?\b",
            r"\bexplain\b",
        ),
        content=words(
            r"\b(?:powershell|pwsh|cmd)(?:\.exe)?\s+[-/]\w",
            r"\b(?:iex|invoke-expression|invoke-webrequest|new-object|start-process|set-itemproperty|get-\w+)\b",
            r"\b(?:curl|wget)\s[^\n]*\|\s*(?:sudo )?(?:ba|z)?sh\b",
            rf"\b(?:{_PROGRAMS}|reg add|net user|net localgroup)\b",
            r"/dev/tcp/|\bchmod\s|\bcrontab\s|\bsudo\s|#!/|\bnc\s+-|\bbase64\s+-d",
            r"\bCreateObject\s*\(|\bActiveXObject\b|\bSub\s+\w+\s*\(|\beval\s*\(|fromCharCode",
        ),
        looks=words(
            rf"\A\s*(?:\S*[\\/])?(?:{_PROGRAMS}|{_SHELLS})(?:\.exe)?\s+\S",
            r"\A\s*(?:#!/|@echo off|\$\w+\s*=|\[\w[\w.]*\]::|(?:Private |Public )?Sub \w+\()",
            r"\A\s*(?:(?:var|let|const) \w+\s*=|IEX\b|Invoke-\w+|&\s*\()",
        ),
        labels=READABLE_LABELS,
        claims=frozenset({"powershell", "shell", "batch", "vba", "javascript"}),
        covers=frozenset({"decode", "indicators"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
