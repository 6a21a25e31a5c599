"""CVSS: every base vector against independent formulas, vectors in running text, and invalid vectors."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Coverage, Finding, Gap, Severity
from svc.assistant.skills.cvss import tool as cvss
from svc.assistant.skills.cvss.findings import CvssBroken, CvssScore

LOG4SHELL = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H"


def findings(text: str) -> list[Finding[CvssScore] | Finding[CvssBroken]]:
    return [item for item in cvss.inspect(text) if isinstance(item, Finding)]


def only(text: str) -> Finding[CvssScore] | Finding[CvssBroken]:
    (finding,) = findings(text)
    return finding


def roundup_31(value: float) -> float:
    """CVSS 3.1, appendix A."""
    number = round(value * 100_000)
    return number / 100_000 if number % 10_000 == 0 else (math.floor(number / 10_000) + 1) / 10


def base_31(av: str, ac: str, pr: str, ui: str, s: str, c: str, i: str, a: str) -> float:
    """CVSS 3.1, section 7.1, written out from the specification and not from the library."""
    impacts = {"H": 0.56, "L": 0.22, "N": 0.0}
    privileges = {"U": {"N": 0.85, "L": 0.62, "H": 0.27}, "C": {"N": 0.85, "L": 0.68, "H": 0.5}}
    iss = 1 - (1 - impacts[c]) * (1 - impacts[i]) * (1 - impacts[a])
    impact = 6.42 * iss if s == "U" else 7.52 * (iss - 0.029) - 3.25 * (iss - 0.02) ** 15
    ease = 8.22 * {"N": 0.85, "A": 0.62, "L": 0.55, "P": 0.2}[av] * {"L": 0.77, "H": 0.44}[ac]
    ease *= privileges[s][pr] * {"N": 0.85, "R": 0.62}[ui]
    if impact <= 0:
        return 0.0
    return roundup_31(min(impact + ease, 10) if s == "U" else min(1.08 * (impact + ease), 10))


def test_every_base_vector_of_31_scores_as_the_specification_says():
    names = ("AV", "AC", "PR", "UI", "S", "C", "I", "A")
    choices = list(itertools.product("NALP", "LH", "NLH", "NR", "UC", "HLN", "HLN", "HLN"))
    vectors = ["CVSS:3.1/" + "/".join(f"{n}:{v}" for n, v in zip(names, values, strict=True)) for values in choices]
    scored = {f.facts.vector: f.facts.score for f in findings("\n".join(vectors))}
    assert len(scored) == 2592
    assert scored == {vector: base_31(*values) for vector, values in zip(vectors, choices, strict=True)}


def base_2(av: str, ac: str, au: str, c: str, i: str, a: str) -> float:
    """CVSS v2 guide, section 3.2.1."""
    impacts = {"N": 0.0, "P": 0.275, "C": 0.660}
    impact = 10.41 * (1 - (1 - impacts[c]) * (1 - impacts[i]) * (1 - impacts[a]))
    ease = 20 * {"L": 0.395, "A": 0.646, "N": 1.0}[av] * {"H": 0.35, "M": 0.61, "L": 0.71}[ac]
    ease *= {"M": 0.45, "S": 0.56, "N": 0.704}[au]
    score = (0.6 * impact + 0.4 * ease - 1.5) * (0 if impact == 0 else 1.176)
    return max(0.0, math.floor(score * 10 + 0.5 + 1e-9) / 10)


def test_every_base_vector_of_2_scores_as_the_guide_says():
    choices = list(itertools.product("LAN", "HML", "MSN", "NPC", "NPC", "NPC"))
    vectors = ["/".join(f"{n}:{v}" for n, v in zip(("AV", "AC", "Au", "C", "I", "A"), c, strict=True)) for c in choices]
    scored = {f.facts.vector: f.facts.score for f in findings("\n".join(vectors))}
    assert scored == {vector: base_2(*values) for vector, values in zip(vectors, choices, strict=True)}


@pytest.mark.parametrize(
    ("vector", "score", "nomenclature"),
    [
        ("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:H/SI:H/SA:H", 10.0, "CVSS-B"),
        ("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", 9.3, "CVSS-B"),
        ("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N", 0.0, "CVSS-B"),
        ("CVSS:4.0/AV:L/AC:L/AT:P/PR:L/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", 7.3, "CVSS-B"),
        ("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/E:U", 8.1, "CVSS-BT"),
        ("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:A/VC:N/VI:N/VA:N/SC:L/SI:L/SA:N", 5.1, "CVSS-B"),
    ],
    ids=["all high", "vulnerable system alone", "no impact", "local", "no exploit known", "cross-site scripting"],
)
def test_vectors_of_4_score_as_the_calculator_of_first_does(vector, score, nomenclature):
    found = only(vector)
    assert (found.facts.score, found.facts.nomenclature) == (score, nomenclature)


@pytest.mark.parametrize(
    ("text", "version", "score"),
    [
        (f"score {LOG4SHELL}, please.", "3.1", 10.0),
        ("(AV:N/AC:L/Au:N/C:P/I:P/A:P)", "2.0", 7.5),
        ("CVSS2#AV:N/AC:L/Au:N/C:P/I:P/A:P", "2.0", 7.5),
        ("AV:N / AC:L / Au:N / C:P / I:P / A:P", "2.0", 7.5),
        ("CVSS v3.0 vector: AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", "3.0", 6.1),
        ("AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", "3.1", 6.1),
        ("9.8/CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "3.0", 9.8),
        ("cvss:3.1/av:n/ac:l/pr:n/ui:n/s:u/c:h/i:h/a:h", "3.1", 9.8),
        ("AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", "4.0", 9.3),
        ("CVSS:4.0/AC:L/AV:N/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", "4.0", 9.3),
        ("Severity `CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H`.", "3.1", 9.8),
    ],
    ids=["in a sentence", "2 in brackets", "2 as scanners write it", "2 with spaces", "version named before", "bare 3",
         "score before", "lower case", "bare 4", "4 out of order", "in backticks"],
)  # fmt: skip
def test_a_vector_is_found_anywhere_in_the_text(text, version, score):
    found = only(text)
    assert (found.facts.version, found.facts.score) == (version, score)


@pytest.mark.parametrize(
    ("vector", "problem", "lowest", "highest"),
    [
        ("CVSS:3.1/AV:N/AC:Q/PR:N/UI:N/S:U/C:H/I:H/A:H", "AC:Q is wrong: AC (attack complexity) is L or H", 8.1, 9.8),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H", "missing: A (availability impact)", 9.1, 9.8),
        ("CVSS:3.1/AV:N/AV:L/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "AV is given twice: as N and as L", 6.8, 9.8),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/ZZ:T", "ZZ is not a metric of 3.1", 9.8, 9.8),
        ("CVSS:3.7/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "there is no CVSS 3.7", 9.8, 9.8),
        ("CVSS:3.1/AV:N/AC:L//PR:N/UI:N/S:U/C:H/I:H/A:H", "an empty field", 9.8, 9.8),
        ("CVSS:3.1/AV-N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "AV-N is not a metric of 3.1", 6.8, 9.8),
        ("CVSS:3.1/AV:N/AC:L/Au:N/C:P/I:P/A:P", "read as 2.0 it scores 7.5", None, None),
    ],
    ids=[
        "value",
        "missing",
        "twice",
        "unknown metric",
        "unknown version",
        "empty field",
        "wrong sign",
        "other version",
    ],
)
def test_an_invalid_vector_is_explained_with_its_possible_scores(vector, problem, lowest, highest):
    found = only(vector)
    assert found.kind == "cvss_broken"
    assert problem in "; ".join(map(str, found.facts.problems))
    assert (found.facts.lowest_score, found.facts.highest_score) == (lowest, highest)


def test_temporal_and_environmental_metrics_decide_the_score_that_counts():
    found = only("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:U/RL:O/RC:C/MAV:L")
    assert found.facts.base_score == 9.8
    assert found.facts.temporal_score == 8.5
    assert found.facts.score == found.facts.environmental_score == 7.3
    assert found.severity == Severity.HIGH


def test_reductions_are_ranked_and_score_as_stated():
    found = only(LOG4SHELL)
    scores = [row.score for row in found.facts.changes]
    assert scores == sorted(scores)
    assert max(scores) < 10.0
    first = found.facts.changes[0].change
    before, _, after = first.partition(" to ")
    assert only(LOG4SHELL.replace(before, after)).facts.score == scores[0]


def test_equal_vectors_are_counted_once_with_their_first_line():
    found = only(f"\n{LOG4SHELL}\nx\n{LOG4SHELL}")
    assert (found.facts.count, found.evidence[0].line) == (2, 2)


@pytest.mark.parametrize(
    "text",
    ["", "a/b:c/d", "http://x/a:b/c:d/e:f", "10:11:12/13:14", "CVSS is a standard", "ratio: A:B, C:D", "CVSS:3.1"],
)
def test_text_without_a_vector_is_a_gap_not_a_finding(text):
    gap, coverage = cvss.inspect(text)
    assert isinstance(gap, Gap)
    assert isinstance(coverage, Coverage)
    assert (coverage.understood, coverage.total) == (0, 0)


METRICS = st.sampled_from(["AV", "AC", "Au", "PR", "UI", "S", "C", "VC", "E", "MAV", "XX", "", "CVSS:3.1", "cvss"])
VALUES = st.sampled_from(["N", "L", "H", "X", "P", "ND", "POC", "", "Clear", "ü", ":"])
FIELDS = st.tuples(METRICS, VALUES).map(":".join)


@given(st.lists(FIELDS, max_size=14).map("/".join) | st.text(alphabet="CVSS:4.0/AHNPLUI \n#(", max_size=120))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_without_an_exception(text):
    for item in cvss.inspect(f"CVSS:3.1/{text}"):
        assert item is not None
