"""The list of the analyst's skills, and the look-ups by name and by kind of finding.

How to add a skill: docs/contributing.md, "A skill".
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

import msgspec

from svc.assistant.findings import AnyFinding, Facts, InstructionText, ToolFailure, finding_type, kind_of
from svc.assistant.skills.archive import answer as archive
from svc.assistant.skills.attack import answer as attack
from svc.assistant.skills.attack_mapping import answer as behaviours
from svc.assistant.skills.certificate import answer as certificate
from svc.assistant.skills.code_review import answer as code_review
from svc.assistant.skills.cve import answer as cve
from svc.assistant.skills.cvss import answer as cvss
from svc.assistant.skills.cwe import answer as weakness
from svc.assistant.skills.decode import answer as decode
from svc.assistant.skills.events import answer as events
from svc.assistant.skills.hash_types import answer as hash_kind
from svc.assistant.skills.host_artefacts import answer as host_artefacts
from svc.assistant.skills.indicators import answer as indicators
from svc.assistant.skills.indicators.intel import answer as threat_intel
from svc.assistant.skills.indicators.search import answer as indicator_search
from svc.assistant.skills.indicators.yara import answer as yara
from svc.assistant.skills.logins import answer as auth_log
from svc.assistant.skills.mail import answer as mail
from svc.assistant.skills.office import answer as office
from svc.assistant.skills.pcap import answer as pcap
from svc.assistant.skills.pdf import answer as pdf
from svc.assistant.skills.program import answer as program
from svc.assistant.skills.script import answer as script
from svc.assistant.skills.shortcut import answer as shortcut
from svc.assistant.skills.skill import Section, Skill
from svc.assistant.skills.token import answer as token
from svc.assistant.skills.versions import answer as versions
from svc.messages import Toolset, Vendor

SECTIONS: tuple[Section, ...] = (
    auth_log.SECTION,
    events.SECTION,
    host_artefacts.SECTION,
    pcap.SECTION,
    mail.SECTION,
    threat_intel.SECTION,
    indicator_search.SECTION,
    yara.SECTION,
    indicators.SECTION,
    decode.SECTION,
    cvss.SECTION,
    program.SECTION,
    script.SECTION,
    code_review.SECTION,
    pdf.SECTION,
    office.SECTION,
    shortcut.SECTION,
    archive.SECTION,
    token.SECTION,
    certificate.SECTION,
    versions.SECTION,
    attack.SECTION,
    behaviours.SECTION,
    weakness.SECTION,
    cve.SECTION,
    hash_kind.SECTION,
)
"""In the order in which one prompt's skills are run if the prompt itself gives no order."""

SKILLS: tuple[Skill, ...] = tuple(section.skill for section in SECTIONS)
FACTS: tuple[type[Facts], ...] = tuple(dict.fromkeys(facts for skill in SKILLS for facts in skill.facts))
_FINDINGS: msgspec.json.Decoder[list[AnyFinding]] = msgspec.json.Decoder(list[finding_type(FACTS)])  # type: ignore[misc]
_KNOWN: tuple[type[Facts], ...] = (*FACTS, ToolFailure, InstructionText)
FACTS_OF_KIND: dict[str, type[Facts]] = {kind_of(facts): facts for facts in _KNOWN}
_BY_NAME = {section.skill.name: section for section in SECTIONS}


def skill_named(name: str) -> Skill:
    """Return the skill with this name; KeyError if there is none."""
    return _BY_NAME[name].skill


def _by_name(skill: Skill) -> tuple[Callable[[str], Skill], tuple[str]]:
    return skill_named, (skill.name,)


copyreg.pickle(Skill, _by_name)  # a plan is made in another process; the patterns need not be compiled again for it


def section_of(skill: Skill) -> Section:
    """How the findings of ``skill`` are shown."""
    return _BY_NAME[skill.name]


def decode_findings(content: str | bytes) -> list[AnyFinding]:
    """Return the findings of a ``source`` message of ours.

    Raises:
        msgspec.DecodeError: The content has another form; it is another assistant's.
    """
    return _FINDINGS.decode(content)


def skill_of_kind(kind: str) -> Skill | None:
    """The skill whose section renders findings of ``kind``; None if there is none."""
    return next((skill for skill in SKILLS if kind in skill.kinds), None)


def enabled(*, use_experimental: bool, disabled: frozenset[str] = frozenset()) -> tuple[Skill, ...]:
    """The skills of the stable model, or of the experimental one, without the disabled ones."""
    return tuple(
        skill for skill in SKILLS if (use_experimental or not skill.is_experimental) and skill.name not in disabled
    )


def abilities() -> list[str]:
    """What the analyst can do, as verb phrases ("decode data …")."""
    return [skill.can + (" (the experimental model)" if skill.is_experimental else "") for skill in SKILLS]


def toolsets() -> tuple[Toolset, ...]:
    """The skills as toolsets, as the service lists them with each model."""
    vendor = Vendor(name="svc-jupyter", description="The embedded analyst's own tools.")
    return tuple(
        Toolset(name=skill.name, description=f"Can {skill.can}.", vendor=vendor, is_experimental=skill.is_experimental)
        for skill in SKILLS
    )
