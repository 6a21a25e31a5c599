"""Captures of attacks: each names its technique in a finding of at least medium severity; ordinary traffic nothing."""

from __future__ import annotations

import io
import struct

import dpkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Finding, Severity
from svc.assistant.skills.pcap.findings import PcapActivity, PcapRemote
from svc.assistant.skills.pcap.tool import inspect
from tests.support.captures import START, Frame, capture, capture_ng, conversation, ethernet, question, udp
from tests.support.protocol_messages import (
    LOGON_FAILURE,
    create,
    kdc_reply,
    kdc_request,
    name_answer,
    rdp_request,
    rpc_bind,
    rpc_call,
    search,
    tree,
)
from tests.svc.assistant.skills.pcap import attack_frames as made
from tests.svc.assistant.skills.pcap.attack_frames import tagged
from tests.svc.assistant.skills.pcap.attacks_held import HELD
from tests.svc.assistant.skills.pcap.attacks_open import OPEN
from tests.svc.assistant.skills.pcap.ordinary_traffic import BENIGN_HELD, BENIGN_OPEN, replication

_NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
ATTACKS = {**OPEN, **HELD}
BENIGN = {**BENIGN_OPEN, **BENIGN_HELD}


def findings(frames: list[Frame], make=capture) -> list[Finding]:
    ordered = sorted(frames, key=lambda frame: frame[0])
    return [item for item in inspect(io.BytesIO(make(ordered)), source="x.pcap") if isinstance(item, Finding)]


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_named_with_its_technique(name: str):
    wanted, build = ATTACKS[name]
    notable = [one for one in findings(build()) if one.severity in _NOTABLE]
    assert wanted & {technique for one in notable for technique in one.techniques}
    assert all(one.evidence and one.evidence[0].record for one in notable)


@pytest.mark.parametrize("name", BENIGN)
def test_ordinary_traffic_has_nothing_of_medium_or_high_severity(name: str):
    assert [(one.title, one.severity) for one in findings(BENIGN[name]()) if one.severity in _NOTABLE] == []


def techniques(frames: list[Frame], make=capture) -> set[str]:
    return {one for found in findings(frames, make) if found.severity in _NOTABLE for one in found.techniques}


def fragmented(frames: list[Frame], size: int) -> list[Frame]:
    """Each IPv4 packet in pieces of ``size`` bytes of data."""
    found: list[Frame] = []
    for at, frame in frames:
        packet = dpkt.ip.IP(frame[14:])
        data = bytes(packet)[20:]
        for start in range(0, len(data), size):
            piece = dpkt.ip.IP(src=packet.src, dst=packet.dst, p=packet.p, id=int(at * 100) & 0xFFFF)
            piece.offset, piece.mf = start // 8, int(start + size < len(data))
            piece.data = data[start : start + size]
            piece.len = 20 + len(piece.data)
            found.append((at, frame[:14] + bytes(piece)))
    return found


FORMS = ["DCSync", "AS-REP roasting", "Kerberoasting with RC4 first", "LDAP search for SPNs", "Empire", "Zerologon"]


@pytest.mark.parametrize("name", FORMS)
def test_an_attack_is_found_in_fragments_vlans_and_pcapng(name: str):
    wanted, build = ATTACKS[name]
    for frames, make in ((fragmented(build(), 24), capture), (tagged(build()), capture_ng)):
        assert wanted & techniques(frames, make)


@pytest.mark.parametrize("name", ["AS-REP roasting", "Kerberos user enumeration", "Kerberos spraying"])
def test_tickets_are_read_in_a_capture_that_kept_the_first_bytes_only(name: str):
    wanted, build = ATTACKS[name]
    cut = [(at, frame[:400]) for at, frame in build()]
    assert wanted & techniques(cut)


def test_fragments_that_wait_for_ever_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc.assistant.skills.pcap.fragments.MAX_WAITING", 5)
    frames = [frame for frame in fragmented(ATTACKS["DNS tunnel"][1](), 24) if dpkt.ip.IP(frame[1][14:]).mf]
    assert findings(frames)


def test_a_controller_that_replicates_is_no_attack_and_another_host_is():
    assert "T1003.006" not in techniques(replication())
    assert "T1003.006" in techniques(made.over_tcp(made.DRSUAPI, [(3, bytes(40))], server=made.DC))


def test_encrypted_arguments_are_not_read_and_the_call_still_counts():
    call = bytearray(rpc_call(12, b"\x00" * 32 + struct.pack("<BBBBI", 9, 6, 0, 0, 0) + b"S" * 16))
    call[10:12] = (16).to_bytes(2, "little")
    frames = conversation([(">", rpc_bind(made.SVCCTL) + bytes(call))], server=made.HOST, ports=(50_000, 49_700))
    [done] = [one for one in findings(frames) if isinstance(one.facts, PcapRemote) and one.severity is Severity.HIGH]
    assert (done.facts.operation, done.facts.words) == ("created a service (svcctl)", "")


def test_an_encrypted_desktop_cannot_tell_what_was_done():
    [found] = [
        one
        for one in findings(BENIGN["an administrator"]())
        if one.kind == "pcap_activity" and one.facts.protocol == "RDP"
    ]
    assert found.severity is Severity.LOW
    assert "not visible" in found.why


def test_one_old_service_is_no_roasting():
    assert "T1558.003" not in techniques(made.roast(["MSSQLSvc/db"], made.ETYPES))


def test_names_of_browsers_calls_are_no_poisoning():
    names = [f"3f2b1c9e-0a4b-4c1d-9e8f-{number:012x}.local" for number in range(6)]
    assert "T1557.001" not in techniques(made.poisoned(names, kind="mdns"))


def test_a_challenge_seen_twice_at_one_server_is_no_relay():
    frames = made.logins(1, 0, ["anna"], made.PC, made.HOST)
    assert "T1557.001" not in techniques(frames + [(at + 5, frame) for at, frame in frames])


def test_the_flow_the_packets_and_the_names_are_in_the_finding():
    frames = made.roast(["HTTP/a.corp.example", "HTTP/b.corp.example"], (23,))
    [found] = [one for one in findings(frames) if isinstance(one.facts, PcapActivity)]
    assert found.facts.names == ["HTTP/a.corp.example", "HTTP/b.corp.example"]
    assert found.facts.packets == [2, 4]
    assert "10.9.1.21:50220 → 10.9.1.2:88 Kerberos" in found.evidence[0].excerpt


@given(st.sampled_from(["tickets", "ldap", "names", "rdp", "rpc"]), st.binary(max_size=300), st.integers(0, 200))
@settings(max_examples=80, deadline=None)
def test_any_bytes_in_the_protocols_are_read(protocol: str, data: bytes, cut: int):
    starts = {
        "tickets": kdc_request("a", ("krbtgt", "A"), stamp=23) + kdc_reply("a", ("krbtgt", "A")),
        "ldap": search("dc=a", made.SPN, ["cn"]),
        "names": name_answer("a.local", "10.9.1.99"),
        "rdp": rdp_request("a"),
        "rpc": rpc_bind(made.DRSUAPI) + rpc_call(3),
    }
    message = starts[protocol][:cut] + data
    findings([(START, ethernet(udp(made.PC, made.DC, (port, 88), message))) for port in (137, 5353, 5355, 50_000)])
    for port in (88, 389, 3389, 445):
        findings(
            conversation([(">", message), ("<", data), (">", data)], server=made.DC, ports=(50_000, port), piece=90)
        )


def test_tickets_for_many_accounts_in_a_row_are_named_whatever_the_controller_answers():
    frames = [frame for one in (25, 6) for frame in made.spray([f"u{one}{n}" for n in range(6)], one, stamp=None)]
    assert "T1110.003" in techniques(sorted(frames, key=lambda frame: frame[0]))


def test_many_logins_as_a_machine_are_named_without_their_arguments():
    calls = [(number, bytes(range(1, 20))) for _ in range(30) for number in (4, 26)]
    assert "T1210" in techniques(made.over_tcp(made.NETLOGON, calls, server=made.DC))
    assert "T1210" not in techniques(made.over_tcp(made.NETLOGON, calls[:4], server=made.DC))


def test_a_program_created_on_an_admin_share_counts_before_it_is_written():
    for disposition, is_new in ((5, True), (1, False)):
        turns = [(">", tree("\\\\h\\ADMIN$", 3)), (">", create("Temp\\x.exe", 4, disposition=disposition))]
        frames = conversation(turns, server=made.HOST, ports=(50_000, 445))
        assert ("T1570" in techniques(frames)) is is_new


def test_questions_for_sig_records_are_named():
    assert "T1210" in techniques(question("a.evil.example", kind=24))


def test_guesses_from_the_internet_without_success_are_at_most_medium():
    for frames in (made.logins(12, LOGON_FAILURE, ["administrator"], made.EVIL, made.HOST),
                   made.ssh_guesses(made.EVIL, made.HOST, 25, 1.0)):  # fmt: skip
        worst = [one.severity for one in findings(frames) if "T1110.001" in one.techniques]
        assert worst == [Severity.MEDIUM]


def test_a_guessed_password_that_was_accepted_is_critical():
    failed = made.logins(8, LOGON_FAILURE, ["anna"], made.PC, made.HOST)
    entered = made.logins(1, 0, ["anna"], made.PC, made.HOST)
    frames = failed + [(at + 60, frame) for at, frame in entered]
    [found] = [one for one in findings(frames) if "T1110.001" in one.techniques]
    assert found.severity is Severity.CRITICAL
    assert "was accepted" in found.title


def test_logs_that_are_forwarded_are_no_flood():
    frames = [
        (START + number * 0.001, ethernet(udp(f"10.9.2.{number % 200 + 1}", made.HOST, (514, 514), bytes(400))))
        for number in range(2_000)
    ]
    assert "T1498.001" not in techniques(frames)


def test_a_template_in_a_request_is_no_attack():
    request = made.get("/i.gif?d=1", extra="Referer: https://a.example/?day=${date}\r\n")
    assert "T1190" not in techniques(made.web([request]))
