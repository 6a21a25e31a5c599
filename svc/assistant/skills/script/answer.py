"""The answer about scripts and commands: the verdict with its reasons, each stage, and each command."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, InputKind, Severity, with_facts
from svc.assistant.knowledge.attack_names import attack_name
from svc.assistant.skills.answer_parts import Fold, as_folds, worst_findings
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.indicators.tables import folds_by_type, search_steps
from svc.assistant.skills.script.findings import ScriptBehaviour, ScriptPart, ScriptStage, ScriptSummary
from svc.assistant.skills.skill import READABLE_LABELS, Section, Skill, words
from svc.untrusted.markup import code_block, code_span, escape, plural, table

SHOWN_CHARS = 3_000  # of a stage; the findings have more
MAX_STAGES = 8
MAX_TECHNIQUES = 5
MAX_REASONS = 4  # in the verdict
_LEAD = {
    "malicious": "**Malicious**",
    "suspicious": "**Suspicious**",
    "unusual": "**Unusual, not clearly malicious**",
    "ordinary": "**None of the known malicious behaviours was found**",
}
_BAD = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The verdict on the worst script with its reasons, and that nothing was executed."""
    verdicts = list(_LEAD)
    scripts = sorted(with_facts(findings, ScriptSummary), key=lambda one: verdicts.index(one.facts.verdict))
    if not scripts:
        return "**Not examined:** no script or command in a supported language was found."
    facts = scripts[0].facts
    reasons = f": it {'; it '.join(map(escape, facts.reasons[:MAX_REASONS]))}" if facts.reasons else ""
    rest = len(facts.reasons) - MAX_REASONS
    more = f"; and {plural(rest, 'more reason')}" if rest > 0 else ""
    decoded = ""
    if facts.hidden_stages:
        decoded = f" {plural(facts.hidden_stages, 'stage')} had to be decoded or deobfuscated."
    source = f" in {code_span(scripts[0].evidence[0].source, limit=60)}" if len(scripts) > 1 else ""
    others = f" {plural(len(scripts) - 1, 'more script')} below." if len(scripts) > 1 else ""
    lead = f"{_LEAD[facts.verdict]}{reasons}{more} ({escape(facts.language)}{source})."
    return f"{lead}{decoded} Static analysis: nothing was executed.{others}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The worst behaviours; without one the first commands."""
    return worst_findings(with_facts(findings, ScriptBehaviour)) or worst_findings(with_facts(findings, ScriptPart))


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """For each script its behaviours, techniques, stages and commands; then the indicators of the last stages."""
    return [*as_folds(_scripts)(findings), *folds_by_type(with_facts(findings, IndicatorFacts))]


def _scripts(findings: Sequence[AnyFinding]) -> str:
    blocks = []
    scripts = with_facts(findings, ScriptSummary)
    for number, script in enumerate(scripts, start=1):
        source = script.evidence[0].source
        own = [one for one in findings if one.evidence and one.evidence[0].source.split(", stage ")[0] == source]
        blocks += [f"**Script {number}**", code_span(source, limit=80)] if len(scripts) > 1 else []
        blocks += [*_behaviours(own), *_techniques(script.facts), *_stages(own), *_commands(own)]
    return "\n\n".join(blocks)


def _behaviours(findings: Sequence[AnyFinding]) -> list[str]:
    rows = []
    for finding in with_facts(findings, ScriptBehaviour):
        evidence, stage = finding.evidence[0], finding.facts.stage
        location = f"{'' if stage == 1 else f'stage {stage}, '}line {evidence.line:,}"
        excerpt = code_span(evidence.excerpt, limit=100)
        techniques = ", ".join(finding.techniques)
        behaviour = escape(f"it {finding.title}")
        rows.append((str(finding.severity), behaviour, escape(finding.why), techniques, f"{location}: {excerpt}"))
    headers = ("Severity", "Behaviour", "Why it matters", "ATT&CK", "Location")
    return ["**What it does**", table(headers, rows)] if rows else []


def _techniques(facts: ScriptSummary) -> list[str]:
    rows = [
        (one.id, escape(attack_name(one.id)), code_span(one.shown_by, limit=80))
        for one in facts.ranked[:MAX_TECHNIQUES]
    ]
    if not rows:
        return []
    origin = f"Table of commands: version {facts.table_version} of {facts.table_date}."
    return ["**Techniques, most likely first**", table(("ATT&CK", "Name", "Shown by"), rows), origin]


def _stages(findings: Sequence[AnyFinding]) -> list[str]:
    blocks = []
    stages = [finding.facts for finding in with_facts(findings, ScriptStage)]
    for stage in stages[:MAX_STAGES]:
        origin = f"from stage {stage.parent}; {escape(stage.how)}; {escape(stage.language)}"
        blocks.append(f"**Stage {stage.stage}** ({origin})")
        blocks.append(code_block(stage.text, limit=SHOWN_CHARS) if stage.text else escape(stage.form))
    if len(stages) > MAX_STAGES:
        blocks.append(f"… and {plural(len(stages) - MAX_STAGES, 'more stage')} (the findings have all of them).")
    return blocks


def _commands(findings: Sequence[AnyFinding]) -> list[str]:
    rows = [
        (
            f"{part.facts.stage}:{part.evidence[0].line}",
            code_span(part.evidence[0].excerpt, limit=120),
            escape(part.facts.words) or "unknown program or call",
        )
        for part in with_facts(findings, ScriptPart)
    ]
    return ["**Commands and calls, in order**", table(("Stage:line", "Command", "It …"), rows)] if rows else []


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to check on the host, by the categories of behaviour, and where to search for the indicators."""
    behaviours = [one for one in with_facts(findings, ScriptBehaviour) if one.severity in _BAD]
    does = {one.facts.does for one in behaviours}
    return [step for categories, step in _STEPS if does & categories] + search_steps(findings)


_STEPS = (
    (
        {"execution from memory", "reverse shell", "download", "execution"},
        "Find the process that ran it, its parent, its children and its network connections at that time.",
    ),
    (
        {"credential access"},
        "Treat all credentials on that host as stolen: change them, and check which systems accepted them.",
    ),
    ({"persistence"}, "Check the host for persistence (scheduled tasks, services, Run keys, accounts, SSH keys)."),
    ({"shadow copy deletion", "impact"}, "Isolate the host now; check that backups elsewhere are out of its reach."),
    ({"log clearing", "defence evasion"}, "Rely on forwarded logs; those on the host may be incomplete."),
    ({"lateral movement"}, "Check the hosts that it names for logons and new services at that time."),
    ({"exfiltration", "collection"}, "Check proxy and firewall logs for what was sent, and where to."),
)

_VERBS = "explain|describe|analy[sz]e|understand|review|check|triage|inspect|break down|deobfuscate|map"
_THINGS = "power ?shell|scripts?|commands?|one-?liners?|macros?|batch|bash|vba|vbs|jscript|command ?lines?"
_PROGRAMS = "schtasks|vssadmin|wmic|certutil|bitsadmin|rundll32|regsvr32|mshta|wevtutil|bcdedit|netsh"
_SHELLS = "powershell|pwsh|cmd|bash|sh|curl|wget|reg|net1?|sc|sudo|chmod|nc|ncat|python3?|perl|iex|osascript"

SECTION = Section(
    skill=Skill(
        name="script",
        tool="svc.assistant.skills.script.tool:inspect",
        input=InputKind.TEXT,
        title="Scripts and commands",
        can="explain a script or command (PowerShell, cmd, Unix shell, Visual Basic, JavaScript), mapped to ATT&CK",
        facts=(ScriptSummary, ScriptBehaviour, ScriptStage, ScriptPart, IndicatorFacts),
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
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
