"""One table of what the skills get right on the project's own sets, both halves, beside a baseline and the aim.

    python -m tests.benchmarks.analyst --own [--peers FOLDER]

Each row uses a set of the tests and what reads it there; its last column runs those tests. The open halves were looked
at while the rules were made, the held ones were not.

Baselines: a constant guess (the answer that is right most often in the open half), ``never``, ``always`` (flag
everything, which is as bad for ordinary inputs as it is good for others), a decoder that repeats base64, hex and
percent-decoding, and ioc-finder from ``peers/analyst.txt``, in an environment of its own. Not here: Hayabusa and
CyberChef's "magic", which are no Python packages, and the public Sigma rules, which are no package at all.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import unquote

from svc.assistant.findings import Severity
from svc.assistant.skills.mail.tool import judge_mail
from tests.benchmarks.analyst_speed import peer_python
from tests.benchmarks.mail import FLAGGED
from tests.support import chains
from tests.support.attack_sentences import (
    Half,
    dense,
    docstrings,
    everyday,
    fields,
    generated_harmless,
    generated_reports,
    harmless,
    incident_reported,
    manual,
    notes,
    prose_reported,
    registers,
    reported,
    varied_harmless,
    varied_reported,
)
from tests.support.attack_sentences.machine import documented
from tests.support.mail_variety.build import hard_ham, lures
from tests.support.mail_variety.messy import messy_ham, messy_lures
from tests.support.mail_variety.structures import structured
from tests.support.plain_texts import plain_texts
from tests.support.script_variety import obfuscated
from tests.support.windows_hosts.measuring import Named, findings_of, named, severe, verdict_of
from tests.support.windows_hosts.reading import scenarios
from tests.svc.assistant.skills.attack_mapping.test_gates import named as named_of_sentence
from tests.svc.assistant.skills.attack_mapping.test_gates import share_named
from tests.svc.assistant.skills.cvss.test_estimate import entries, estimated, score_of
from tests.svc.assistant.skills.decode.test_tool import parts as parts_of_text
from tests.svc.assistant.skills.decode.test_tool import solved
from tests.svc.assistant.skills.indicators import test_defanged
from tests.svc.assistant.skills.pcap.attacks_held import HELD
from tests.svc.assistant.skills.pcap.attacks_open import OPEN
from tests.svc.assistant.skills.pcap.ordinary_traffic import BENIGN_HELD, BENIGN_OPEN
from tests.svc.assistant.skills.pcap.test_attacks import findings as findings_of_capture
from tests.svc.assistant.skills.pcap.test_attacks import techniques as techniques_of_capture
from tests.svc.assistant.skills.script.test_samples import ENDINGS, flagged

HALVES: tuple[Half, ...] = ("open", "held")
CHAINS = 150  # of each half
DOCSTRINGS = 250
MACHINE = 500
GENERATED = 150
MAX_CVSS = 10.0
IOC_FINDER = Path(__file__).parent / "peers" / "ioc_finder_values.py"
SKILLS = "tests/svc/assistant/skills"


@dataclass(frozen=True)
class Measured:
    """A figure, and what the baseline reaches on the same items; None if it cannot be had here."""

    items: int
    figure: float
    baseline: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table for each half: ``is_least``, the aim is the least that the figure should be."""

    name: str
    aim: float
    is_least: bool
    baseline: str
    measure: Callable[[Half], Measured]
    tests: str

    def is_met(self, measured: Measured) -> bool:
        """Whether the figure is as good as aimed at."""
        figure = round(measured.figure, 3)
        return figure >= self.aim if self.is_least else figure <= self.aim


def shares_of(found: Sequence[bool]) -> float:
    """How many are true, from 0 to 1."""
    return sum(found) / max(1, len(found))


def commonest(labels: Sequence[str]) -> str:
    """The constant guess: the label that is right most often."""
    return Counter(labels).most_common(1)[0][0]


# Windows logs


def ordinary_logs(half: Half) -> Measured:
    """Logs of ordinary computers with anything high or critical, or with a verdict that begins with Likely."""
    logs = [*scenarios(f"ordinary_{half}"), *(scenarios("ordinary_late") if half == "held" else ())]
    found = [findings_of(one.as_json_lines(), "events.json") for one in logs]
    return Measured(len(logs), sum(bool(severe(one)) or verdict_of(one).startswith("**Likely") for one in found), 0)


@cache
def attacks(half: Half) -> tuple[Named, ...]:
    """What is named of each attack."""
    return tuple(named(one) for one in scenarios(f"attacks_{half}"))


def log_techniques(half: Half) -> Measured:
    """Attacks whose exact technique is named at all."""
    guess = commonest([one.technique for one in scenarios("attacks_open")])
    return Measured(
        len(attacks(half)),
        shares_of([one.scenario.technique in one.techniques for one in attacks(half)]),
        shares_of([one.scenario.technique == guess for one in attacks(half)]),
    )


def log_tactics(half: Half) -> Measured:
    """Attacks whose tactic is named first."""
    guess = commonest([one.tactic for one in scenarios("attacks_open")])
    return Measured(
        len(attacks(half)),
        shares_of([one.is_tactic_first for one in attacks(half)]),
        shares_of([one.scenario.tactic == guess for one in attacks(half)]),
    )


# Sentences


def harmless_sentences(half: Half) -> Measured:
    """Sentences without an attack that get a technique."""
    sentences = [*harmless(half), *generated_harmless(half, GENERATED)]
    return Measured(len(sentences), share_named(sentences), 0)


def hard_sentences(half: Half) -> Measured:
    """Sentences of manuals, chosen for words that attacks have too, that get a technique."""
    return Measured(len(manual(half)), share_named(manual(half)), 0)


def note_sentences(half: Half) -> Measured:
    """Notes of daily work that get a technique."""
    return Measured(len(notes(half)), share_named(notes(half)), 0)


def register_sentences(half: Half) -> Measured:
    """Sentences of many trades and registers, chosen for the words of techniques, that get one."""
    sentences = [*fields(half), *registers(half), *(dense() if half == "held" else ())]
    return Measured(len(sentences), share_named(sentences), 0)


def everyday_sentences(half: Half) -> Measured:
    """Sentences of many registers, written without regard to the words of techniques, that get one."""
    return Measured(len(everyday(half)), share_named(everyday(half)), 0)


def varied_harmless_sentences(half: Half) -> Measured:
    """Sentences of further registers, with definitions and descriptions of defences, that get a technique."""
    return Measured(len(varied_harmless(half)), share_named(varied_harmless(half)), 0)


def incident_sentences(half: Half) -> Measured:
    """Sentences of incident reports, with their technique among the first five."""
    told = incident_reported(half)
    return Measured(
        len(told), shares_of([technique in named_of_sentence(sentence)[:5] for technique, sentence in told])
    )


def varied_sentences(half: Half) -> Measured:
    """Sentences of reports in varied wording, with their technique among the first five."""
    told = varied_reported(half)
    return Measured(
        len(told), shares_of([technique in named_of_sentence(sentence)[:5] for technique, sentence in told])
    )


def machine_documentation(half: Half) -> Measured:
    """Sentences of this machine's manual pages, read-me files and changelogs that get a technique."""
    sentences = documented(half, MACHINE)
    return Measured(len(sentences), share_named(sentences) if sentences else 0, 0)


def documentation(half: Half) -> Measured:
    """Sentences of Python's own documentation that get a technique."""
    sentences = docstrings(2 * DOCSTRINGS)[HALVES.index(half) :: 2]
    return Measured(len(sentences), share_named(sentences), 0)


def reported_sentences(half: Half) -> Measured:
    """Sentences that report an attack, with their technique among the first five."""
    told = [*reported(half), *prose_reported(half), *generated_reports(half, GENERATED)]
    counted = Counter(technique for technique, _ in (*reported("open"), *generated_reports("open", GENERATED)))
    guesses = [technique for technique, _ in counted.most_common(5)]
    return Measured(
        len(told),
        shares_of([technique in named_of_sentence(sentence)[:5] for technique, sentence in told]),
        shares_of([technique in guesses for technique, _ in told]),
    )


# Mail


def _flagged_mails(mails: Iterator[tuple[str, bytes]]) -> Measured:
    judged = [judge_mail(raw).name in FLAGGED for _, raw in mails]
    return Measured(len(judged), shares_of(judged), 1)


def phishing(half: Half, *, is_marked: bool) -> Measured:
    """Lures that are flagged; ``is_marked``: with the verdicts of filters in the header."""
    return _flagged_mails(lures(half, is_marked=is_marked))


def newsletters(half: Half) -> Measured:
    """Ordinary mails that look like advertising and are flagged."""
    return _flagged_mails(hard_ham(half))


def messy_phishing(half: Half) -> Measured:
    """Lures as collections have them: other languages, odd encodings, senders that pass all checks."""
    return _flagged_mails(messy_lures(half))


def messy_mails(half: Half) -> Measured:
    """Ordinary mails of the same languages and encodings that are flagged."""
    return _flagged_mails(messy_ham(half))


def structured_mails(half: Half, *, kind: str) -> Measured:
    """Lures or ordinary mails of many structures that are flagged."""
    return _flagged_mails(structured(kind, half))


# Encodings and scripts


def decoded(half: Half) -> Measured:
    """Chains of one to six encodings whose plain text is found."""
    first, plains = (20_000, chains.PLAIN) if half == "open" else (30_000, chains.HELD_PLAIN)
    seeds = range(first, first + CHAINS)
    right, _ = solved(seeds, layers=6, plains=plains)
    simple = []
    for seed in seeds:
        draw = random.Random(seed)  # test data
        plain, wrapped, _ = chains.chain(draw, draw.randint(1, 6), plains=plains)
        simple.append(plain in repeatedly_decoded(wrapped))
    return Measured(len(seeds), right / len(seeds), shares_of(simple))


def repeatedly_decoded(text: str) -> str:
    """What hex, base64 and percent-decoding give, whichever fits, until none does."""
    for _ in range(8):
        step = next((plain for decode in _SIMPLE if (plain := _tried(decode, text.strip())) not in ("", text)), None)
        if step is None:
            break
        text = step
    return text


_SIMPLE: tuple[Callable[[str], bytes], ...] = (
    bytes.fromhex,
    lambda text: base64.b64decode(text, validate=True),
    lambda text: unquote(text, errors="strict").encode(),
)


def _tried(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode(text).decode()
    except (ValueError, binascii.Error):
        return ""


def left_alone(half: Half) -> Measured:
    """Texts of many kinds that nobody has encoded and that are decoded."""
    texts = plain_texts(half)
    return Measured(len(texts), shares_of([bool(parts_of_text(text)) for text in texts]), 0)


def scripts(half: Half, *, language: str, kind: str) -> Measured:
    """Scripts of a kind that are flagged as malicious or suspicious."""
    folder = files("tests.svc.assistant.skills.script")
    texts: dict[str, str] = dict(obfuscated(language, half)) if kind == "malicious" else {}
    sets = ["", "fresh_", "further_"] + ["admin_", "daily_"] * (language == "powershell")
    for name in (f"{language}_{one}{half}.toml" for one in sets):
        texts |= tomllib.loads(folder.joinpath("samples", name).read_text(encoding="utf-8")).get(kind, {})
    return Measured(
        len(texts), shares_of([flagged(text, f"{name}.{ENDINGS[language]}") for name, text in texts.items()])
    )


# Indicators


def indicators(half: Half, *, is_recall: bool, python: Path | None) -> Measured:
    """Precision or recall on texts with indicators that are written so that nothing links to them."""
    cases = test_defanged.OPEN if half == "open" else test_defanged.HELD
    precision, recall, _ = test_defanged.figures(cases)
    theirs = test_defanged.figures_of(cases, ioc_finder_values(python, cases)) if python else None
    figure, baseline = (recall, theirs and theirs[1]) if is_recall else (precision, theirs and theirs[0])
    return Measured(len(cases), figure, baseline)


def ioc_finder_values(python: Path, cases: Sequence[test_defanged.Case]) -> list[set[str]]:
    """What ioc-finder finds in each text, with our names of types."""
    texts = json.dumps([text for text, _ in cases])
    run = subprocess.run([python, IOC_FINDER], input=texts, capture_output=True, text=True, check=True)
    return [set(values) for values in json.loads(run.stdout)]


# Captures


def capture_techniques(half: Half) -> Measured:
    """Captures of an attack in which it is named with its technique, as of medium severity or more."""
    mine = OPEN if half == "open" else HELD
    guess = commonest([technique for wanted, _ in OPEN.values() for technique in wanted])
    return Measured(
        len(mine),
        shares_of([bool(wanted & techniques_of_capture(build())) for wanted, build in mine.values()]),
        shares_of([guess in wanted for wanted, _ in mine.values()]),
    )


def ordinary_captures(half: Half) -> Measured:
    """Ordinary captures with anything of medium severity or more."""
    mine = BENIGN_OPEN if half == "open" else BENIGN_HELD
    quiet = (Severity.LOW, Severity.INFO)
    found = [any(one.severity not in quiet for one in findings_of_capture(build())) for build in mine.values()]
    return Measured(len(mine), shares_of(found), 0)


# CVSS


def cvss_scores(half: Half) -> Measured:
    """1 less a tenth of the mean distance between the estimated and the published base score."""
    mine = entries()[HALVES.index(half) :: 2]
    wanted = [score_of(values) for values, _ in mine]
    found = [estimated(text)[0].facts.score for _, text in mine]
    return Measured(len(mine), _closeness(found, wanted), _closeness([9.8] * len(mine), wanted))


def further_cvss_scores(half: Half) -> Measured:
    """The same for varied weaknesses with our own vectors, as a user asks; no estimate counts as 0.0."""
    mine = entries("further_descriptions.txt")[HALVES.index(half) :: 2]
    wanted = [score_of(values) for values, _ in mine]
    found = [estimated(f"Score this CVE: {text}", question="Score this CVE:") for _, text in mine]
    scores = [one[0].facts.score if one else 0.0 for one in found]
    return Measured(len(mine), _closeness(scores, wanted), _closeness([9.8] * len(mine), wanted))


def _closeness(found: Sequence[float], wanted: Sequence[float]) -> float:
    return 1 - sum(abs(one - other) for one, other in zip(found, wanted, strict=True)) / len(wanted) / MAX_CVSS


def rows(python: Path | None) -> list[Row]:
    """The table's rows; ``python`` has ioc-finder."""
    windows, mapping = f"{SKILLS}/events/test_windows_hosts.py", f"{SKILLS}/attack_mapping/test_gates.py"
    mail, script = f"{SKILLS}/mail", f"{SKILLS}/script/test_samples.py"
    defanged, pcap = f"{SKILLS}/indicators/test_defanged.py", f"{SKILLS}/pcap/test_attacks.py"
    marked, bare = partial(phishing, is_marked=True), partial(phishing, is_marked=False)
    return [
        Row("ordinary Windows logs: high, critical or “Likely …”", 0, False, "never", ordinary_logs, windows),
        Row("harmless sentences given a technique", 0.05, False, "never", harmless_sentences, mapping),
        Row("manuals with an attack's words given a technique", 0.05, False, "never", hard_sentences, mapping),
        Row("notes of daily work given a technique", 0.05, False, "never", note_sentences, mapping),
        Row("many registers with an attack's words", 0.05, False, "never", register_sentences, mapping),
        Row("everyday sentences given a technique", 0.05, False, "never", everyday_sentences, mapping),
        Row("further registers, definitions and defences", 0.05, False, "never", varied_harmless_sentences, mapping),
        Row("sentences of incidents: technique in the first 5", 0.80, True, "none", incident_sentences, mapping),
        Row("varied reported sentences: technique in the first 5", 0.80, True, "none", varied_sentences, mapping),
        Row("this machine's documentation given a technique", 0.05, False, "never", machine_documentation, mapping),
        Row("software documentation given a technique", 0.05, False, "never", documentation, mapping),
        Row("reported sentences: technique in the first 5", 0.88, True, "constant 5", reported_sentences, mapping),
        Row("phishing flagged", 0.90, True, "always", marked, mail),
        Row("phishing flagged, without filters' verdicts", 0.85, True, "always", bare, mail),
        Row("messy phishing flagged, without verdicts", 0.85, True, "always", messy_phishing, mail),
        Row("messy ordinary mails flagged", 0.05, False, "always", messy_mails, mail),
        Row("phishing of many structures flagged, no checks", 0.85, True, "always",
            partial(structured_mails, kind="lures"), mail),
        Row("ordinary mails of many structures flagged", 0.05, False, "always",
            partial(structured_mails, kind="ham"), mail),
        Row("newsletters and marketing flagged", 0.05, False, "always", newsletters, mail),
        Row("chains of 1 to 6 encodings decoded", 0.95, True, "base64, hex, %", decoded, f"{SKILLS}/decode"),
        Row("plain texts decoded", 0.02, False, "never", left_alone, f"{SKILLS}/decode"),
        *(
            Row(f"{kind} {title} flagged", aim, kind == "malicious", "always",
                partial(scripts, language=language, kind=kind), script)
            for language, title, least in (("javascript", "JavaScript", 0.80), ("powershell", "PowerShell", 0.95))
            for kind, aim in (("malicious", least), ("benign", 0.03))
        ),
        Row("indicators: precision", 0.98, True, "ioc-finder",
            partial(indicators, is_recall=False, python=python), defanged),
        Row("indicators: recall", 0.98, True, "ioc-finder",
            partial(indicators, is_recall=True, python=python), defanged),
        Row("attacks in Windows logs: exact technique", 0.55, True, "constant", log_techniques, windows),
        Row("attacks in Windows logs: tactic named first", 0.70, True, "constant", log_tactics, windows),
        Row("captures of attacks: right technique", 0.80, True, "constant", capture_techniques, pcap),
        Row("ordinary captures: medium or worse", 0.0, False, "never", ordinary_captures, pcap),
        Row("CVSS from a description: 1 less mean distance / 10", 0.89, True, "9.8 for all", cvss_scores,
            f"{SKILLS}/cvss/test_estimate.py"),
        Row("CVSS of varied weaknesses, asked as users do", 0.89, True, "9.8 for all", further_cvss_scores,
            f"{SKILLS}/cvss/test_estimate.py"),
    ]  # fmt: skip


def measure_half(number: int, half: Half, python: Path | None) -> Measured:
    """The figure of one row and half, in a process of its own."""
    return rows(python)[number].measure(half)


def measure_own(peers: Path | None) -> list[str]:
    """Measure all rows, several at a time; return the table's lines."""
    with peer_python(peers) as python, ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = rows(python)
        jobs = [(row, half, pool.submit(measure_half, number, half, python))
                for number, row in enumerate(found) for half in HALVES]  # fmt: skip
        return [HEAD, *(line(row, half, job.result()) for row, half, job in jobs)]


HEAD = f"{'own set':52} {'half':4} {'n':>5} {'figure':>7} {'aim':>7} {'':3} {'baseline':>23}  command"


def line(row: Row, half: Half, measured: Measured) -> str:
    """A line of the table."""
    aim = f"{'≥' if row.is_least else '≤'} {row.aim:.2f}"
    baseline = "" if measured.baseline is None else f"{row.baseline} {measured.baseline:.2f}"
    mark = "yes" if row.is_met(measured) else "no"
    figure = f"{row.name:52} {half:4} {measured.items:5,} {measured.figure:7.3f} {aim:>7} {mark:3} {baseline:>23}"
    return f"{figure}  pytest {row.tests}"
