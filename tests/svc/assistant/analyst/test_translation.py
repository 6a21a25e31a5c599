"""Fixed words stand in the session's language; evidence and code stay as they are; questions are understood."""

import pytest

from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.analyst.translation import gist, glossed, languages, translated
from svc.assistant.findings import Finding, Severity
from svc.assistant.turn import TurnFile
from tests.support.facts import FAILURE

ANSWER = """**Nothing found** in `a.log`. Task: decode.

| Account | Failures | Severity |
| --- | --- | --- |
| `Account` | 7 | high |

```text
| Account | Failures |
| --- | --- |
```

**Do now**: Account for it.

<details>
<summary>1,204 limitations</summary>

- Account

</details>"""

GERMAN = """**Nichts gefunden** in `a.log`. Task: decode.

| Konto | Fehlversuche | Schweregrad |
| --- | --- | --- |
| `Account` | 7 | hoch |

```text
| Account | Failures |
| --- | --- |
```

**Jetzt tun**: Account for it.

<details>
<summary>1,204 Einschränkungen</summary>

- Account

</details>"""

AUTH = TurnFile(name="auth.log", size=1, sha256="", mime_type="text/plain", label="authlog", source=b"")


@pytest.mark.parametrize(
    ("language", "expected"),
    [("de", GERMAN), ("de-CH", GERMAN), ("en", ANSWER), ("en-US", ANSWER), ("tlh", ANSWER)],
)
def test_headings_columns_and_severities_are_translated(language, expected):
    assert translated(ANSWER, language) == expected


def test_the_zone_in_a_column_name_is_translated_apart():
    table = "| First (zone not stated) | Last (UTC) |\n| --- | --- |\n| `First (UTC)` | x |"
    german = "| Zuerst (Zeitzone nicht angegeben) | Zuletzt (UTC) |\n| --- | --- |\n| `First (UTC)` | x |"
    assert translated(table, "de") == german


def test_the_languages_beside_english():
    assert languages() == ["de", "es", "fr", "ja"]


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja"])
def test_every_language_has_the_same_words(language):
    from svc.assistant.analyst.translation import _words

    assert _words().phrases[language].keys() == _words().phrases["de"].keys()


def test_the_gist_counts_by_severity():
    findings = [Finding(title="y", facts=FAILURE, severity=Severity.HIGH)] * 2 + [Finding(title="z", facts=FAILURE)]
    assert gist(findings, "fr") == "*Constats: 3 (élevé: 2, information: 1)*"
    assert gist(findings, "en") == ""


@pytest.mark.parametrize(
    ("question", "language", "skill"),
    [
        pytest.param("Bitte dekodiere das: aGVsbG8gd29ybGQgMTIz", "de", "decode", id="de"),
        pytest.param("Quelles sont les échecs de connexion ?", "fr", "auth_log", id="fr"),
        pytest.param("¿Qué indicadores hay?", "es", "indicators", id="es"),
        pytest.param("ログイン失敗を教えて", "ja", "auth_log", id="ja"),
    ],
)
def test_questions_in_the_sessions_language_find_their_tool(question, language, skill):
    files = () if skill == "decode" else (AUTH,)
    plan = make_plan(read_question(question, files, language=language))
    assert [planned.skill.name for planned in plan.skills] == [skill]


def test_an_english_question_is_left_alone():
    assert glossed("analyze the vector", "en") == "analyze the vector"
