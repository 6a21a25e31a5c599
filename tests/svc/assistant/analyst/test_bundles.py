"""Bundles of inputs of different kinds: what they have in common is one story; what every network has is not."""

from __future__ import annotations

import asyncio
import base64

import pytest

from svc.messages import MimeType
from tests.support.bundles import (
    BUNDLES,
    DUMP,
    Bundle,
    failures,
    hunting,
    leases,
    logon,
    lookups,
    phish,
    process,
    sign_ins,
    vpn,
    windows,
)
from tests.support.inline_analyst import Asked, ask

STORY = "**What happened, across"
SAME = "**The same in several inputs**"
ALIKE = "**The same name, which no record shows to be the same account or host**"
PICTURE = "What the inputs share"


def asked_about(files: dict[str, bytes] | Bundle) -> Asked:
    given = files.files if isinstance(files, Bundle) else files
    return asyncio.run(ask("What happened here?", *given.items()))


def same(asked: Asked) -> str:
    """The line that names what the inputs share; "" without."""
    return next((line for line in asked.markdown.split("\n") if line.startswith(SAME)), "")


def picture(asked: Asked, title: str = PICTURE) -> str:
    found = [step for step in asked.steps if step.mime_type is MimeType.SVG and step.title == title]
    return base64.b64decode(found[0].content).decode() if found else ""


def entered(account: str, address: str, host: str) -> bytes:
    """A guessed password."""
    return windows(*failures(account, address), (4624, "09:40:00", logon(account, address)), host=host)


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda one: one.name)
def test_only_what_matters_in_several_inputs_is_a_story(bundle: Bundle) -> None:
    asked = asked_about(bundle)
    shared = same(asked)
    assert set(asked.state_of.values()) == {"read"}
    assert bool(shared) == bool(bundle.same) == (STORY in asked.markdown)
    assert [value for value in bundle.same if value.lower() not in shared.lower()] == []
    assert [value for value in bundle.never if value.lower() in shared.lower()] == []
    drawn = picture(asked)
    assert bool(drawn) == (bool(shared) or ALIKE in asked.markdown)
    if shared:
        assert all(name in drawn for name in bundle.files if f"`{name}`" in shared)


def test_a_namesake_is_said_to_have_the_same_name_only() -> None:
    dump = hunting([process("09:06:41", "ws-17.north.test", DUMP, user="bobby")])
    accepted = vpn([(f"07:{number:02}:00", "bobby", "203.0.113.8", "failure") for number in range(25)])
    asked = asked_about({"edr.csv": dump, "vpn.csv": accepted})
    assert "bobby" not in same(asked)
    [line] = [line for line in asked.markdown.split("\n") if line.startswith(ALIKE)]
    assert "`bobby`" in line
    assert 'class="axis"' not in picture(asked)  # no line joins its dots


def test_a_record_that_has_both_names_makes_them_one_account() -> None:
    logged_on = logon("carla", "10.0.0.90", sid="S-1-5-21-1-2-3-1133")
    by_sid = hunting([process("09:06:41", "ws-40", DUMP, user="S-1-5-21-1-2-3-1133") | {"AccountDomain": ""}])
    asked = asked_about({"dc.evtx": windows((4624, "09:01:00", logged_on), host="dc1.corp.test"), "edr.csv": by_sid})
    assert r"CORP\carla" in same(asked)
    assert "S-1-5-21-1-2-3-1133" in same(asked)
    assert "`dc.evtx` record 1" in same(asked)


def test_an_address_that_two_hosts_had_is_neither() -> None:
    moved = leases([("08:00:00", "10.0.0.23", "pc-5"), ("12:00:00", "10.0.0.23", "pc-6")])
    attacked = windows(
        *failures("dora", "10.0.0.23"), (4624, "09:40:00", logon("dora", "10.0.0.23")), host="fs1.corp.test"
    )
    asked = asked_about({"dhcp.log": moved, "security.evtx": attacked})
    assert "pc-5" not in same(asked)
    assert "pc-6" not in same(asked)


def test_two_hosts_of_one_name_are_not_joined_by_a_short_name() -> None:
    north = hunting([process("09:06:41", "app-1.north.test", DUMP, user="u1")])
    south = windows(
        *failures("erik", "10.0.0.77"), (4624, "09:40:00", logon("erik", "10.0.0.77")), host="app-1.south.test"
    )
    asked = asked_about({"edr.csv": north, "security.evtx": south})
    assert "app-1" not in same(asked)


def test_an_office_behind_one_address_is_not_an_attacker() -> None:
    staff = [(f"08:{number:02}:00", f"staff{number}@corp.test", "198.51.100.1", True) for number in range(9)]
    guessed = [(f"05:{number:02}:10", "hugo@corp.test", "198.51.100.1", False) for number in range(30)]
    refused = [(f"09:{number:02}:00", "ines", "198.51.100.1", "failure") for number in range(25)]
    asked = asked_about({"signins.json": sign_ins([*staff, *guessed]), "vpn.csv": vpn(refused)})
    assert "198[.]51[.]100[.]1`" not in same(asked)


def test_the_story_has_one_timeline_and_says_how_times_without_a_zone_were_taken() -> None:
    bundle = next(one for one in BUNDLES if one.name.startswith("a listed domain"))
    asked = asked_about(bundle)
    [line] = [line for line in asked.markdown.split("\n") if line.startswith("Times are in UTC")]
    assert "`queries.log`" in line
    assert "no zone" in line
    timeline = picture(asked, "Timeline across the inputs")
    assert "UTC" in timeline
    assert "queries.log" in timeline
    assert "edr.csv" in timeline


def test_what_the_evidence_says_stays_text_in_the_pictures() -> None:
    name = "c2.<script>alert(1)</script>.example"
    hostile = 'a"><img src=x onerror=alert(1)>.log'
    bundle = next(one for one in BUNDLES if one.name.startswith("who guesses"))
    files = {hostile if one == "access.log" else one: content for one, content in bundle.files.items()}
    asked = asked_about(files | {"queries.log": lookups([("10:00:00", "203.0.113.77", name)])})
    for drawn in (picture(asked), picture(asked, "Timeline across the inputs")):
        assert drawn
        assert "<img" not in drawn
        assert "<script" not in drawn


def test_a_command_line_of_two_hosts_is_not_one_process() -> None:
    one = hunting([process("09:06:41", "ws-1", DUMP, user="ana")])
    other = hunting([process("09:06:41", "ws-2", DUMP, user="tim")])
    line = same(asked_about({"a.csv": one, "b.csv": other}))
    assert "command line `rundll32.exe" in line
    assert "process 4188" not in line
    ordinary = hunting([process("09:06:41", "ws-2", "whoami.exe /groups /fo csv /nh", user="tim")])
    assert same(asked_about({"a.csv": one, "b.csv": ordinary})) == ""


def test_the_recipient_of_two_mails_connects_nothing() -> None:
    first = phish(link="http://a.example/x", to="bob@corp.test", domain="one.example")
    second = phish(link="http://b.example/x", to="bob@corp.test", domain="two.example", sender="203.0.113.46")
    asked = asked_about({"one.eml": first, "two.eml": second})
    assert same(asked) == ""
    assert ALIKE not in asked.markdown


def test_a_machine_account_is_its_host() -> None:
    logged_on = windows((4624, "09:00:00", logon("WS-17$", "10.0.0.17")), host="dc1.corp.test")
    line = same(asked_about({"dc.evtx": logged_on, "edr.csv": hunting([process("09:06:41", "ws-17", DUMP)])}))
    assert "host `ws-17`" in line
    assert r"`CORP\WS-17$`" in line
