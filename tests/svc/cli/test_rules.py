"""``svc rules`` as people run it: what is stored, what is reported on broken rules; a failure changes nothing."""

from __future__ import annotations

import builtins
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from svc.assistant.findings import Gap
from svc.assistant.skills.events.tool import inspect
from svc.cli.main import main

RULE = """\
title: "Tried \\e[31m"
id: 0b2a1f56-7d53-4f0e-9a50-2f5d0f1f8f11
author: Somebody
license: MIT
level: critical
logsource: {product: windows, service: security}
detection:
  a: {EventID: 4720}
  condition: a
"""
REFUSED = RULE.replace("EventID: 4720", "EventID|expand: '%ids%'")
KEV = {
    "catalogVersion": "2026.11.20",
    "dateReleased": "2026-11-20T12:00:00.000Z",
    "vulnerabilities": [
        {
            "cveID": "CVE-2026-0001",
            "vendorProject": "V",
            "product": "P",
            "vulnerabilityName": "N",
            "dateAdded": "2026-11-19",
        }
    ],
}


@pytest.fixture(autouse=True)
def knowledge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "knowledge"
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(folder))
    return folder


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "team rules"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "good.yml").write_text(RULE)
    (folder / "bad.yaml").write_text(REFUSED)
    (folder / "notes.txt").write_text("no rule")
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "events.json"
    event = {
        "Channel": "Security", "EventID": 4720, "Hostname": "PC", "TimeCreated": "2026-11-20T03:00:00.000Z",
        "ProviderName": "Microsoft-Windows-Security-Auditing", "TargetUserName": "eve\x1b[2J",
    }  # fmt: skip
    file.write_text("".join(json.dumps(event | {"EventRecordID": number}) + "\n" for number in (1, 2)))
    return file


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, words)])


def test_a_folder_is_added_and_what_cannot_run_is_named_with_its_reason(rules: Path, knowledge: Path):
    done = run("add", rules)

    assert done.exit_code == 0
    assert "team-rules: 1 rules enabled, 1 unsupported" in done.stdout
    assert done.stderr.startswith("bad.yaml (Tried")
    assert "the placeholder %ids% has no values" in done.stderr
    assert [file.name for file in (knowledge / "rules").iterdir()] == ["team-rules.json"]


def test_the_list_shows_ours_and_theirs_with_authors_and_licences(rules: Path):
    run("add", rules, "--name", "mine")

    said = run("list").stdout

    assert said.index("built-in: ") < said.index("mine: 1 rules")
    assert "authors:  Somebody 1" in said
    assert "licences: MIT 1" in said
    assert "levels:   critical 1" in said


def test_an_added_rule_runs_beside_ours_and_its_author_is_shown(rules: Path, log: Path):
    run("add", rules)

    said = run("test", log).stdout

    assert "critical           2 x  Tried" in said
    assert "[Somebody, MIT]" in said
    assert "User account created (event 4720)" in said
    assert "\x1b" not in said


def test_one_rule_is_tried_without_being_added(rules: Path, log: Path, knowledge: Path):
    said = run("test", log, "--rule", rules / "deep" / "good.yml").stdout

    assert "1 of 1 rules match" in said
    assert not knowledge.exists()


EXPLAINED = """\
title: Admins changed
logsource: {product: windows, service: security}
detection:
  a: {EventID: 4720, TargetUserName|startswith: [eve, mallory]}
  b: {SubjectUserName: root}
  condition: a and b
---
title: Many
correlation: {type: event_count, rules: [Created], group-by: [TargetUserName], timespan: 10m, condition: {gte: 2}}
---
title: More
correlation: {type: event_count, rules: [Created], group-by: [TargetUserName], timespan: 90s, condition: {gt: 2}}
---
title: Created
logsource: {product: windows, service: security}
detection: {a: {EventID: 4720}, condition: a}
---
title: Elsewhere
logsource: {product: linux}
detection: {a: {EventID: 4720}, condition: a}
"""


def test_chosen_rules_are_explained_with_the_values_of_the_events(tmp_path: Path, log: Path):
    (tmp_path / "explained.yml").write_text(EXPLAINED)

    said = run("test", tmp_path / "explained.yml", log).stdout

    assert "1 of 4 rules match" in said
    assert "it needs at least 2 events within 10 min with the same TargetUserName" in said
    assert "TargetUserName=eve: 2; 2 events" in said
    assert "no match: More\n    it needs more than 2 events within 90 s" in said
    assert "2 matches of Created" in said
    assert "NO  all of:" in said
    assert "NO    SubjectUserName is 'root'; the event does not have this field" in said
    assert "no event has the rule's log source linux; this log has: windows/security (2)" in said
    assert "\x1b" not in said


def test_a_matching_rule_is_explained_and_found_by_its_title_or_id(rules: Path, log: Path):
    run("add", rules)

    said = run("test", "0b2a1f56-7d53-4f0e-9a50-2f5d0f1f8f11", log).stdout

    assert "1 of 1 rules match" in said
    assert "yes EventID is '4720'; the event has '4720'" in said
    assert "4 rules" not in said


FILTER = """\
title: Ours
logsource: {product: windows, service: security}
filter:
  rules: [0b2a1f56-7d53-4f0e-9a50-2f5d0f1f8f11]
  ours: {TargetUserName|startswith: eve}
  condition: not ours
"""


def test_a_filter_of_one_set_limits_the_rules_of_another(rules: Path, log: Path, tmp_path: Path):
    run("add", rules)
    (tmp_path / "tuning").mkdir()
    (tmp_path / "tuning" / "ours.yml").write_text(FILTER)

    added = run("add", tmp_path / "tuning")

    assert "tuning: 0 rules enabled, 1 filters, 0 unsupported" in added.stdout
    assert added.stderr == ""
    assert "filters:  1" in run("list").stdout
    assert "[Somebody, MIT]" not in run("test", log).stdout


def test_a_filter_that_limits_nothing_is_named(tmp_path: Path):
    (tmp_path / "ours.yml").write_text(FILTER)

    assert "Ours: the filter applies to no rule of any set" in run("add", tmp_path, "--name", "x").stderr


def test_placeholders_get_their_values_from_a_file_of_the_folder(rules: Path):
    (rules / "values.yml").write_text("placeholders: {ids: [4720, 4726]}")

    assert "team-rules: 2 rules enabled, 0 unsupported" in run("add", rules).stdout


def test_update_reads_the_folders_again(rules: Path):
    run("add", rules)
    (rules / "bad.yaml").write_text(RULE.replace("0b2a", "0b2b"))

    assert "team-rules: 2 rules enabled, 0 unsupported" in run("update").stdout


def test_update_keeps_a_set_whose_folder_is_gone_and_says_so(rules: Path):
    run("add", rules)
    for file in rules.rglob("*.y*ml"):
        file.unlink()

    done = run("update")

    assert done.exit_code == 1
    assert "team-rules is unchanged" in done.stderr
    assert "team-rules: 1 rules" in run("list").stdout


def test_a_set_is_removed_and_its_folder_stays(rules: Path):
    run("add", rules)

    assert run("remove", "team-rules").stdout == "removed team-rules\n"
    assert "team-rules" not in run("list").stdout
    assert (rules / "bad.yaml").exists()


def test_a_damaged_set_is_said_to_be_damaged_and_ours_run(rules: Path, knowledge: Path, log: Path):
    run("add", rules)
    (knowledge / "rules" / "team-rules.json").write_text("{")

    assert "team-rules: unreadable" in run("list").stdout
    assert "User account created (event 4720)" in run("test", log).stdout
    with log.open("rb") as feed:
        gaps = [item.text for item in inspect(feed, source="events.json") if isinstance(item, Gap)]
    assert any("rule set team-rules cannot be read and did not run" in gap for gap in gaps)


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], str]]:
    """Serve these bytes on this computer; the address."""
    servers: list[http.server.HTTPServer] = []

    def start(content: bytes) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response({"/table": 200, "/away": 302}.get(self.path, 404))
                self.send_header("Location", "http://example.org/table")
                self.end_headers()
                self.wfile.write(content if self.path == "/table" else b"")

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("by_address", [False, True], ids=["file", "address"])
def test_an_official_table_replaces_the_one_that_ships(
    by_address: bool, serve: Callable[[bytes], str], tmp_path: Path, knowledge: Path
):
    file = tmp_path / "kev-from-cisa.json"
    file.write_text(json.dumps(KEV))
    source = serve(file.read_bytes()) + "/table" if by_address else file

    done = run("update", "--kev", source)

    assert done.exit_code == 0, done.output
    assert "version 2026.11.20 of 2026-11-20" in done.stdout
    assert json.loads((knowledge / "kev.json").read_bytes())["vulnerabilities"][0]["cve"] == "CVE-2026-0001"
    assert [entry.name for entry in knowledge.iterdir()] == ["kev.json"], "no part of a file stays behind"


def test_a_file_that_is_something_else_changes_nothing(tmp_path: Path, knowledge: Path):
    (tmp_path / "other.json").write_text("{}")

    for option in ("--kev", "--cwe", "--attack"):
        done = run("update", option, tmp_path / "other.json")
        assert done.exit_code == 1
        assert done.stderr.startswith(f"Error: {option} ")
    assert not knowledge.exists()


def test_an_address_that_answers_with_an_error_is_said_to(serve: Callable[[bytes], str]):
    done = run("update", "--kev", serve(b"") + "/elsewhere")

    assert done.exit_code == 1
    assert "404" in done.stderr


def test_an_address_that_leads_to_plain_http_is_not_followed(serve: Callable[[bytes], str]):
    done = run("update", "--kev", serve(b"") + "/away")

    assert done.exit_code == 1
    assert "http://example.org/table: only https URLs are supported." in done.stderr


SAID = {
    "no rule in the folder": (("add", "{empty}"), "contains no .yml or .yaml files. Name the folder with the rules."),
    "no rule that can run": (("add", "{bad}"), "bad.yaml; the set bad.yaml was not stored."),
    "our own name": (("add", "{rules}", "--name", "compiled"), "'compiled' is not a valid set name. Choose another"),
    "a name that is a path": (("add", "{rules}", "--name", "../x"), "'../x' is not a valid set name."),
    "no such set": (("remove", "nothing"), "no such set: 'nothing'. List them with: svc rules list"),
    "no path out of the folder": (("remove", "../../x"), "no such set: '../../x'."),
    "plain http": (("update", "--kev", "http://example.org/x"), "only https URLs are supported. Download the file"),
    "no such file": (("update", "--cwe", "{empty}/none"), "cannot be read: No such file or directory"),
    "no such rule": (("test", "nonsense", "{log}"), "no such file, and no enabled rule has this ID or title."),
    "no log": (("test", "{rules}"), "no log file given. Add one: svc rules test RULE FILE"),
    "none of the given rules": (("test", "{log}", "--rule", "{bad}"), "none of the given rules is supported."),
}


@pytest.mark.parametrize(("words", "text"), SAID.values(), ids=SAID)
def test_a_mistake_is_answered_with_what_to_do(
    words: tuple[str, ...], text: str, rules: Path, log: Path, tmp_path: Path, knowledge: Path
):
    empty = tmp_path / "empty"
    empty.mkdir()
    places = {"empty": empty, "bad": rules / "bad.yaml", "rules": rules, "log": log}

    done = run(*(word.format(**places) for word in words))

    assert done.exit_code == 1
    assert text in done.stderr
    assert not knowledge.exists()


def test_without_the_extra_the_command_says_what_to_install(rules: Path, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] == "sigma":
            raise ModuleNotFoundError("No module named 'sigma'", name="sigma")
        return real(name, *rest, **more)

    for name in ("svc.assistant.sigma.user_sets", "svc.assistant.sigma.compile"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)

    done = run("add", rules)

    assert done.exit_code == 1
    assert "pip install 'svc-jupyter[sigma]'" in done.stderr


def test_a_log_of_no_known_form_is_said_to_be_one(tmp_path: Path):
    (tmp_path / "noise.bin").write_bytes(b"\x00\x01\x02" * 100)

    done = run("test", tmp_path / "noise.bin")

    assert done.exit_code == 0
    assert "not a supported event log" in done.stderr
