"""Lists of indicators and rules beside other files: the first line answers, and says what was not searched."""

from __future__ import annotations

import json

from tests.support.inline_analyst import ask

IOCS = b"# vendor report\n192[.]0[.]2[.]7\nevil[.]example[.]com\nhxxp://bad[.]example[.]org/gate\n203.0.113.77\nloader.exe\n"
AUTH = b"".join(
    b"Nov 20 03:12:%02d web1 sshd[9]: Failed password for root from 192.0.2.7 port 22 ssh2\n" % n for n in range(9)
)
TRAIL = json.dumps(
    {
        "Records": [
            {
                "eventVersion": "1.08",
                "eventTime": "2026-11-20T03:12:45Z",
                "eventSource": "iam.amazonaws.com",
                "eventName": "CreateUser",
                "awsRegion": "us-east-1",
                "sourceIPAddress": "203.0.113.77",
                "userIdentity": {"type": "IAMUser", "userName": "mara"},
            }
        ]
    }
).encode()
QUIET = b'198.51.100.9 - - [20/Nov/2026:03:12:09 +0100] "GET / HTTP/1.1" 200 512 "-" "curl/8"\n' * 3
BUNDLE = json.dumps(
    {
        "type": "bundle",
        "id": "bundle--1",
        "objects": [{"type": "indicator", "pattern_type": "stix", "pattern": "[ipv4-addr:value = '192.0.2.7']"}],
    }
).encode()
RULES = b'rule evil {\n strings:\n  $a = "Failed password"\n condition:\n  $a\n}\n'


def first_line(markdown: str) -> str:
    return markdown.partition("\n")[0]


async def test_indicators_are_looked_for_in_all_other_files() -> None:
    asked = await ask(
        "Are any of these indicators in the logs?",
        ("iocs.txt", IOCS),
        ("auth.log", AUTH),
        ("trail.json", TRAIL),
        ("access.log", QUIET),
        ("empty.log", b""),
    )
    line = first_line(asked.markdown)
    assert line.startswith("**Yes: 2 of 5 indicators are in `auth.log`, `trail.json`.**")
    assert "None in `access.log` (3 lines)" in line
    assert "Not searched: empty.log (the file is empty)" in line
    assert {one.kind for one in asked.findings} >= {"indicator_match", "indicator_search", "listed_indicator"}


async def test_none_is_never_said_without_what_was_not_read() -> None:
    asked = await ask("Do any of these IOCs match?", ("iocs.txt", IOCS), ("access.log", QUIET), ("a.log", b""))
    line = first_line(asked.markdown)
    assert line.startswith("**None of the 5 indicators is in the 1 input searched: `access.log` (3 lines).**")
    assert "Not searched: a.log" in line


async def test_a_pasted_list_is_looked_for() -> None:
    prompt = "Are any of these in the logs?\n\n192[.]0[.]2[.]7\nfoo[.]example[.]net\n"
    asked = await ask(prompt, ("auth.log", AUTH))
    assert first_line(asked.markdown).startswith("**Yes: 1 of 2 indicators is in `auth.log`.**")


async def test_an_open_question_with_a_bundle_searches_it_as_well() -> None:
    asked = await ask("Is anything suspicious here?", ("b.json", BUNDLE), ("auth.log", AUTH))
    assert "**Yes: 1 of 1 indicator is in `auth.log`.**" in asked.markdown
    assert "30 failures" in asked.markdown or "failures" in asked.markdown


async def test_a_bundle_alone_is_no_evidence() -> None:
    asked = await ask("Is this malicious?", ("b.json", BUNDLE))
    assert "is a STIX bundle with 1 indicator" in asked.markdown
    assert "not evidence from your systems" in asked.markdown
    alone = await ask("Are any of these in the logs?", ("b.json", BUNDLE))
    assert "**Cannot tell**" in alone.markdown


async def test_rules_are_run_over_the_other_files() -> None:
    asked = await ask("Do these rules match?", ("r.yar", RULES), ("auth.log", AUTH))
    assert first_line(asked.markdown).startswith("**Yes: 1 of 1 YARA rule matches in `auth.log`.**")


WEB = b"".join(
    b"192.0.2.7 - - [20/Nov/2026:03:1%d:09 +0000] " % n
    + b'"GET /?id=1%27%20UNION%20SELECT%20password HTTP/1.1" 200 512 "-" "sqlmap/1.7"\n'
    for n in range(9)
)


async def test_the_same_address_in_several_inputs_is_one_story() -> None:
    login = b"Nov 20 03:20:00 web1 sshd[9]: Accepted password for root from 192.0.2.7 port 22 ssh2\n"
    asked = await ask("What happened here?", ("auth.log", AUTH + login), ("access.log", WEB))
    [line] = [line for line in asked.markdown.split("\n") if line.startswith("**The same in several inputs**")]
    assert "address `192[.]0[.]2[.]7`" in line
    assert "`auth.log`" in line
    assert "`access.log`" in line
    assert "zone not stated" in asked.markdown


async def test_inputs_with_nothing_in_common_are_not_connected() -> None:
    asked = await ask("What happened here?", ("auth.log", AUTH), ("access.log", QUIET))
    assert "The same in several inputs" not in asked.markdown


async def test_files_that_could_not_be_read_are_not_counted_as_searched():
    listed = ("iocs.txt", b"203.0.113.7\nevil.example.net\n44d88612fea8a8f36de82e1278abb02f\n")
    archive, log = ("broken.zip", b"PK\x03\x04" + bytes(30)), ("Security.evtx", b"ElfFile\x00" + bytes(5_000))
    asked = await ask("Are any of these indicators in the logs?", listed, archive, log)
    assert "None of the" not in asked.markdown
    assert asked.markdown.count("**Not examined:**") >= 2
    assert asked.state_of["Security.evtx"] == "not examined"
    matched = await ask("Are any of these indicators in the logs?", listed, ("a.txt", b"203.0.113.7 came\n"), log)
    assert "Not searched: `Security.evtx`." in first_line(matched.markdown)


async def test_a_yara_rule_on_one_line_is_a_rule():
    rule = ("r.yar", b'rule a { strings: $a = "evil" condition: $a }')
    asked = await ask("Did any of these rules match?", rule, ("f.bin", b"an evil file"))
    assert "only searched for indicators" not in asked.markdown.partition("\n")[0]
