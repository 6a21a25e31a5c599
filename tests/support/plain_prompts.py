"""Plain prompts of eight sorts, half of them held out while the analyst was developed, and what a right answer has."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from tests.support.follow_up_evidence import EVIDENCE as PLANTED

NOT_YES = r"\A\W*(?:yes|possibly)\b"
UNKNOWN = r"\A\W*(?:cannot tell|not understood|not answered|no sign)"
HONEST = r"no general knowledge"
MISLEADING = r"no entry of|was attached or pasted: |could be decoded|nothing found"


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, the evidence it is about (the first question was asked before if ``is_further``), its judgement.

    Every pattern of ``has`` is in the answer, and none of ``never``.
    """

    text: str
    has: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    evidence: str = ""
    is_further: bool = True
    instructions: str = ""


def wrong_in(prompt: Prompt, markdown: str) -> list[str]:
    """What is missing in an answer, or should not be in it."""
    text = re.sub(r"\\?\[([.@])\\?\]", r"\1", markdown)
    missing = [f"no {one}" for one in prompt.has if not re.search(one, text, re.IGNORECASE)]
    return missing + [f"has {one}" for one in prompt.never if re.search(one, text, re.IGNORECASE)]


def break_in() -> bytes:
    """Root's password is guessed on a Friday night; ordinary logins by day, on a Saturday and a Sunday."""
    said: list[tuple[datetime, str]] = [
        (
            datetime(2026, 11, 20, 10, 15, 4, tzinfo=UTC),
            "Accepted publickey for ann from 198.51.100.11 port 40022 ssh2",
        ),
        (
            datetime(2026, 11, 20, 23, 41, 9, tzinfo=UTC),
            "Accepted password for mara from 198.51.100.23 port 40100 ssh2",
        ),
        (datetime(2026, 11, 21, 3, 12, 7, tzinfo=UTC), "Accepted password for root from 203.0.113.77 port 50044 ssh2"),
        (
            datetime(2026, 11, 21, 15, 30, 0, tzinfo=UTC),
            "Accepted publickey for bob from 198.51.100.40 port 40300 ssh2",
        ),
        (datetime(2026, 11, 22, 7, 20, 0, tzinfo=UTC), "Accepted publickey for eve from 198.51.100.50 port 40400 ssh2"),
        (
            datetime(2026, 11, 23, 18, 45, 0, tzinfo=UTC),
            "Accepted publickey for dan from 198.51.100.60 port 40500 ssh2",
        ),
    ]
    for number in range(40):
        at = datetime(2026, 11, 21, 3, 2 + number // 6, 10 * (number % 6), tzinfo=UTC)
        said.append((at, f"Failed password for root from 203.0.113.77 port {50_000 + number} ssh2"))
    lines = [f"{at:%Y-%m-%dT%H:%M:%S+00:00} web-3 sshd[{100 + n}]: {text}" for n, (at, text) in enumerate(sorted(said))]
    return ("\n".join(lines) + "\n").encode()


FILES: dict[str, tuple[tuple[str, bytes], str]] = {
    "logins": (("auth.log", break_in()), "Did anyone get in?"),
    "mail": (PLANTED["mail"].file, PLANTED["mail"].first),
    "yearless": (PLANTED["auth"].file, PLANTED["auth"].first),
}
"""A file, and the question that was asked about it first."""


def _settings(*texts: str) -> tuple[Prompt, ...]:
    """Each as a first and as a further question: a log does not show a state or a setting."""
    return tuple(
        Prompt(text=text, evidence="logins", is_further=later, has=(UNKNOWN + r"|\A\W*no\b",), never=(NOT_YES,))
        for text in texts
        for later in (False, True)
    )


def _window(text: str, *, has: tuple[str, ...], never: tuple[str, ...] = ()) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(text=text, evidence="logins", is_further=later, has=has, never=never) for later in (False, True)
    )


NIGHT = (r"22:00", r"0?6:00", "root", "mara")
NOT_NIGHT = (r"\bann\b", r"\bbob\b", r"\beve\b", r"\bdan\b")
OFFICE = (r"0?9:00|0?8:00", r"1[78]:00", "root", "mara", "eve", "dan")
WEEKEND = ("Saturday|Sunday|weekend", "bob", "eve")
NOT_WEEKEND = (r"\bann\b", r"\bmara\b", r"\bdan\b")


def _after(kind: str, *texts: str) -> tuple[Prompt, ...]:
    forms = {
        "json": (r"\A\s*[\[{]|```json", "203.0.113.77"),
        "csv": (r"\A(?:```csv\s)?[\w ,]+\n", r",[^\n]*203.0.113.77"),
        "table": (r"\|", "203.0.113.77"),
    }
    return tuple(
        Prompt(text=text, evidence="logins", has=forms[kind], never=(r"\A\s*null", "not understood")) for text in texts
    )


def _of(evidence: str, text: str, *has: str, never: tuple[str, ...] = ()) -> Prompt:
    return Prompt(text=text, evidence=evidence, has=has, never=never)


def _hash(text: str, *has: str, never: tuple[str, ...] = ()) -> Prompt:
    return Prompt(text=text, is_further=False, has=has, never=(*never, MISLEADING, NOT_YES))


def _entry(text: str, *has: str) -> Prompt:
    return Prompt(text=text, is_further=False, has=has, never=(MISLEADING, HONEST))


def _general(*texts: str) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(text=text, is_further=False, has=(r"\A\W*not answered", HONEST), never=(MISLEADING, NOT_YES))
        for text in texts
    )


def _told(instructions: str, has: tuple[str, ...], never: tuple[str, ...] = ()) -> Prompt:
    text = "Did anyone get in?"
    return Prompt(text=text, evidence="logins", is_further=False, instructions=instructions, has=has, never=never)


ADDRESSES_ONLY = ((r"\A(?:[-*] )?`?203\.0\.113\.77",), (r"\bfailed\b", r"\*\*", r"\|"))
SHORT = ((r"\A[^\n]{10,420}\n?\Z", "root"), (r"<details|What was read|Do now",))
BULLETS = ((r"\A[-*] ", "root"), (r"<details|What was read", r"\bDo now\b", r"203\.0\.113\.77"))
PRIVATE = r"offline|cannot tell|no data"
EMPTY_MD5, EICAR_MD5 = "d41d8cd98f00b204e9800998ecf8427e", "44d88612fea8a8f36de82e1278abb02f"
EMPTY_SHA1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
EICAR_SHA256 = "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f"
EICAR_SHA1 = "3395856ce81f2b7382dee72602f798b642f14140"
OTHER = "9e107d9d372bb6826bd81d3542a419d6"

OPEN: dict[str, tuple[Prompt, ...]] = {
    "settings": _settings(
        "is root login disabled?",
        "is MFA enabled?",
        "is the account root locked?",
        "was the attack stopped?",
        "is the source blocked?",
        "are password logins turned off?",
        "is the server patched?",
        "is port 22 closed?",
        "is the firewall on?",
        "is 203.0.113.77 blocked?",
        "is fail2ban running?",
        "was the attacker blocked?",
        "has the password of root been changed?",
        "are root logins not allowed?",
        "is the system secure now?",
        "is ssh hardened?",
        "are we protected?",
        "is the attacker gone?",
        "has the vulnerability been fixed?",
        "is two-factor authentication on for root?",
    ),
    "times": (
        *_window("were there any logins at night?", has=NIGHT, never=NOT_NIGHT),
        *_window("any logins outside office hours?", has=OFFICE, never=(r"\bann\b",)),
        *_window("who logged in on the weekend?", has=WEEKEND, never=NOT_WEEKEND),
        *_window("logins before 8 am?", has=("root", "eve", "08:00"), never=(r"\bann\b", r"\bmara\b")),
        *_window("were there logins between 2 and 4?", has=("root", "02:00", "04:00"), never=(r"\bann\b", r"\beve\b")),
        *_window("did anyone log in at night?", has=NIGHT, never=NOT_NIGHT),
        *_window("what happened overnight?", has=NIGHT, never=NOT_NIGHT),
        *_window("show the logins outside working hours", has=OFFICE, never=(r"\bann\b",)),
        *_window("were there failed logins during the night?", has=("22:00", "root", r"\b40\b"), never=NOT_NIGHT),
        *_window("anything after midnight?", has=("root", "0?0:00"), never=(r"\bann\b", r"\bmara\b")),
        *_window("logins after hours?", has=OFFICE, never=(r"\bann\b",)),
        *_window("was anyone active on Sunday?", has=("eve", "Sunday"), never=(r"\bann\b", r"\bbob\b")),
        *_window("who logged in in the evening?", has=("dan", "18:00"), never=(r"\bann\b", r"\bbob\b")),
        *_window("any activity during business hours?", has=("ann", "0?9:00|0?8:00"), never=(r"\broot\b", r"\bmara\b")),
        *_window("logins in the morning", has=("ann", "eve", "06:00"), never=(r"\bbob\b", r"\bmara\b")),
    ),
    "formats": (
        *_after(
            "json",
            "as JSON please",
            "in JSON",
            "json",
            "give me that as JSON",
            "now in JSON format",
            "show the findings as json",
            "Can I have this as JSON?",
        ),
        *_after("csv", "as CSV", "same as CSV please", "export as csv", "convert it to CSV"),
        *_after("table", "as a table", "and as a table?", "could you format this as a table?", "put it in a table"),
    ),
    "who": (
        _of("logins", "who was it?", r"203\.0\.113\.77"),
        _of("logins", "who did this?", r"203\.0\.113\.77"),
        _of("logins", "which file has the logins?", r"auth\.log", never=("cannot tell|not understood",)),
        _of("mail", "who sent it?", "note@parcel-desk"),
        _of("mail", "should I click the link?", r"\A\W*no\b"),
        _of("logins", "who is responsible?", r"203\.0\.113\.77"),
        _of("mail", "is it safe to open the link?", r"\A\W*no\b"),
        _of("mail", "who is the sender?", "note@parcel-desk"),
        _of("mail", "can I trust the sender?", r"\A\W*no\b"),
        _of("logins", "who's behind it?", r"203\.0\.113\.77"),
        _of("logins", "where did it come from?", r"203\.0\.113\.77"),
        _of("logins", "who is to blame?", r"203\.0\.113\.77"),
        _of("mail", "what is the link?", "track.parcel-desk"),
        _of("mail", "should I reply?", r"\A\W*no\b"),
        _of("mail", "who got the mail?", "mara@corp"),
    ),
    "hashes": (
        _hash(f"Check this hash: {EICAR_MD5}", "MD5", "EICAR"),
        _hash(f"What is {EMPTY_MD5}?", "empty", "MD5"),
        _hash(f"is {OTHER} malicious?", "MD5", PRIVATE),
        _hash(f"Look up {OTHER}", "MD5", PRIVATE),
        _hash(f"check {EMPTY_SHA1}", "empty", "SHA-1"),
        _hash(f"hash: {OTHER}", "MD5", PRIVATE),
        _hash(f"what kind of hash is {EMPTY_SHA256}?", "empty"),
        _hash(f"Is this hash bad? {EICAR_SHA256}", "EICAR"),
        _hash(f"check these hashes: {EMPTY_MD5} {OTHER}", "2 different hash", "empty", PRIVATE),
        _hash("is 203.0.113.77 malicious?", "203.0.113.77", PRIVATE),
        _hash("check 8.8.8.8", r"8\.8\.8\.8", PRIVATE),
        _hash("is evil-site.example malicious?", "evil-site.example", PRIVATE),
        _hash("check the domain bad.example.com", "bad.example.com", PRIVATE),
        _hash("is http://bad.example.com/x safe?", "bad.example.com", PRIVATE),
        _hash(f"{OTHER}", "MD5"),
    ),
    "entries": (
        _entry("Tell me about csrf", "CWE-352"),
        _entry("tell me about xss", "CWE-79"),
        _entry("explain SQL injection", "CWE-89"),
        _entry("what is SSRF?", "CWE-918"),
        _entry("explain ransomware", "T1486"),
        _entry("what is kerberoasting?", r"T1558\.003"),
        _entry("what is pass the hash?", r"T1550\.002"),
        _entry("what is DCSync?", r"T1003\.006"),
        _entry("what are LOLBins?", "T1218"),
        _entry("what is C2?", "TA0011"),
        _entry("what is lateral movement?", "TA0008"),
        _entry("explain privilege escalation", "TA0004"),
        _entry("what is a path traversal?", "CWE-22"),
        _entry("what is RCE?", "CWE-94|CWE-78"),
        _entry("what is an XXE?", "CWE-611"),
        _entry("explain buffer overflow", "CWE-12[0-9]"),
    ),
    "general": _general(
        "What are the key differences between a firewall and an IDS?",
        "Explain public-key cryptography",
        "What is the capital of France?",
        "What port does RDP use?",
        "who is APT29?",
        "How do I harden SSH?",
        "Write a detection rule for mimikatz",
        "difference between symmetric and asymmetric encryption",
        "Is log4j dangerous?",
        "what is zero trust?",
        "explain TLS",
        "how does DNS work?",
        "what is the best antivirus?",
        "What is a SIEM?",
        "write me a python script that parses logs",
    ),
    "instructions": (
        _told("Only list IP addresses, one per line.", *ADDRESSES_ONLY),
        _told("Be brief.", *SHORT),
        _told("Reply in two sentences", *SHORT),
        _told("List only the accounts as bullets", *BULLETS),
        _told("Answer in one sentence.", *SHORT),
        _told("Keep your answers short.", *SHORT),
        _told("Respond in JSON.", (r"\A\s*[\[{]|```json", "root")),
        _told("You are a SOC assistant. Reply with a table.", (r"\A\s*\|", "root")),
        _told("You are terse.", *SHORT),
        _told("Be concise", *SHORT),
        _told("Answer in at most two sentences.", *SHORT),
        _told("Output only IP addresses.", *ADDRESSES_ONLY),
        _told("Answer as CSV", (r",", "root"), (r"\*\*",)),
        _told("Use bullet points.", (r"\A\s*[-*] ", "root")),
        _told("Please be brief and precise.", *SHORT),
    ),
}

HELD: dict[str, tuple[Prompt, ...]] = {
    "settings": _settings(
        "does root login need a key?",
        "is password authentication disabled?",
        "was the intruder kicked out?",
        "did the firewall block the attack?",
        "is access from 203.0.113.77 denied?",
        "are all accounts locked?",
        "did we prevent the break-in?",
        "is logging switched off?",
        "has root been disabled?",
        "is the host still vulnerable?",
        "is SSH closed to the Internet?",
        "were the failed logins rate limited?",
        "is root safe?",
        "is the attack over?",
        "has the incident been contained?",
        "does the server enforce MFA?",
        "can root still log in?",
        "was the account deleted?",
        "is the login of root prohibited?",
        "are brute force attempts being dropped?",
    ),
    "times": (
        *_window("did root log in at night?", has=("22:00", "root"), never=NOT_NIGHT),
        *_window("night-time logins?", has=NIGHT, never=NOT_NIGHT),
        *_window("logins in the small hours?", has=("root", r"0?[0-6]:00"), never=NOT_NIGHT),
        *_window("anything on Saturday?", has=("Saturday", "root", "bob"), never=(r"\bann\b", r"\beve\b")),
        *_window("which accounts logged in after working hours?", has=OFFICE, never=(r"\bann\b",)),
        *_window("any login between 3 and 5 in the morning?", has=("root", "03:00", "05:00"), never=NOT_NIGHT),
        *_window("what happened before 6 am?", has=("root", "06:00"), never=(r"\bann\b", r"\beve\b")),
        *_window("list logins between 22 and 6", has=NIGHT, never=NOT_NIGHT),
        *_window("were there logins during office hours?", has=("ann", "0?9:00|0?8:00"), never=(r"\bmara\b",)),
        *_window("were there any logins around midnight?", has=("mara",), never=(r"\bann\b", r"\bbob\b")),
        *_window("did someone log in on a weekend?", has=WEEKEND, never=NOT_WEEKEND),
        *_window("logins outside business hours please", has=OFFICE, never=(r"\bann\b",)),
        *_window("who was active in the afternoon?", has=("bob", "12:00"), never=(r"\bann\b", r"\beve\b")),
        *_window("were there any sign-ins late at night?", has=("mara",), never=(r"\bann\b", r"\bbob\b")),
        *_window("out-of-hours logins?", has=OFFICE, never=(r"\bann\b",)),
    ),
    "formats": (
        *_after(
            "json",
            "JSON, please",
            "JSON format please",
            "I need that as JSON",
            "the same in JSON",
            "output as JSON",
            "return everything as JSON",
            "as json",
            "please give me your findings as JSON",
        ),
        *_after("csv", "can you give me the results in CSV?", "turn this into a csv", "could I get it in CSV format?"),
        *_after("table", "table please", "make it a table", "present it as a table", "reformat as table"),
    ),
    "who": (
        _of("logins", "who's the culprit?", r"203\.0\.113\.77"),
        _of("logins", "whodunnit?", r"203\.0\.113\.77|not understood"),
        _of("logins", "who attacked us?", r"203\.0\.113\.77"),
        _of("logins", "who caused this?", r"203\.0\.113\.77"),
        _of("mail", "can I open the attachment?", r"\A\W*no\b"),
        _of("mail", "is it ok to click?", r"\A\W*no\b"),
        _of("mail", "who wrote this mail?", "note@parcel-desk"),
        _of("mail", "who is it from?", "note@parcel-desk"),
        _of("mail", "to whom was it sent?", "mara@corp"),
        _of("logins", "which file shows the break-in?", r"auth\.log", never=("cannot tell|not understood",)),
        _of("logins", "in which file is the attack?", r"auth\.log", never=("cannot tell|not understood",)),
        _of("logins", "whose account was it?", r"\broot\b"),
        _of("mail", "should I delete it?", r"phishing|suspicious|malicious|report|delete"),
        _of("mail", "do I need to reset my password?", UNKNOWN + "|password"),
        _of("mail", "where was it sent from?", r"203\.0\.113\.45|parcel-desk"),
    ),
    "hashes": (
        _hash(f"what's {EICAR_SHA1}", "EICAR"),
        _hash(f"Can you look at {OTHER} please", "MD5", PRIVATE),
        _hash(f"Do you know the hash {EMPTY_SHA256}?", "empty"),
        _hash(f"analyze hash {OTHER}", "MD5", PRIVATE),
        _hash(f"is the file with MD5 {OTHER} malware?", "MD5", PRIVATE),
        _hash(f"Any info on {EMPTY_SHA1}?", "empty"),
        _hash(f"sha256 {EICAR_SHA256}", "EICAR"),
        _hash(f"{EMPTY_MD5}\n{OTHER}\n{EMPTY_SHA1}", "3 different hash"),
        _hash(f"reputation of {OTHER}", PRIVATE),
        _hash(f"have you seen {OTHER}?", "MD5", PRIVATE),
        _hash("check IP 198.51.100.7", "198.51.100.7", PRIVATE),
        _hash("is 1.1.1.1 a bad address?", r"1\.1\.1\.1", PRIVATE),
        _hash("is this domain malicious: login-update.example", "login-update.example", PRIVATE),
        _hash("can I visit https://pay.example.net/login ?", "pay.example.net", PRIVATE),
        _hash("check this url https://pay.example.net/login", "pay.example.net", PRIVATE),
    ),
    "entries": (
        _entry("explain XSS", "CWE-79"),
        _entry("what's an IDOR?", "CWE-639"),
        _entry("define SSTI", "CWE-1336|CWE-94"),
        _entry("what is cross-site request forgery?", "CWE-352"),
        _entry("what is command injection?", "CWE-7[78]"),
        _entry("what is a use after free?", "CWE-416"),
        _entry("tell me about phishing", "T1566"),
        _entry("what is pass the ticket?", r"T1550\.003"),
        _entry("what does living off the land mean?", "T1218"),
        _entry("what is command and control?", "TA0011"),
        _entry("what is exfiltration?", "TA0010"),
        _entry("explain persistence", "TA0003"),
        _entry("what is a golden ticket?", r"T1558\.001"),
        _entry("what is credential stuffing?", r"T1110\.004"),
        _entry("explain DLL sideloading", r"T1574"),
        _entry("What is an LFI?", "CWE-98|CWE-22"),
    ),
    "general": _general(
        "What is the difference between TCP and UDP?",
        "Explain how a VPN works",
        "Who won the world cup?",
        "What is the default port of MySQL?",
        "Who are Lazarus Group?",
        "How can I secure my router?",
        "Write a YARA rule for Emotet",
        "What does SOC stand for?",
        "is heartbleed still a risk?",
        "recommend a password manager",
        "what is GDPR?",
        "how do I become a pentester?",
        "tell me a joke",
        "compare EDR and XDR",
        "What is the latest threat news?",
    ),
    "instructions": (
        _told("List just the IPs, one on each line.", *ADDRESSES_ONLY),
        _told("Keep it brief.", *SHORT),
        _told("Answer with two sentences.", *SHORT),
        _told("Only the accounts, as a bulleted list.", *BULLETS),
        _told("You are a helpful assistant. Respond in a single sentence.", *SHORT),
        _told("Give short answers.", *SHORT),
        _told("Always answer in JSON.", (r"\A\s*[\[{]|```json", "root")),
        _told("Format answers as a table.", (r"\A\s*\|", "root")),
        _told("Be terse.", *SHORT),
        _told("Your replies must be concise.", *SHORT),
        _told("No more than two sentences.", *SHORT),
        _told("Return only the IP addresses.", *ADDRESSES_ONLY),
        _told("Reply in CSV.", (r",", "root"), (r"\*\*",)),
        _told("Reply with a bullet list.", (r"\A\s*[-*] ", "root")),
        _told("Short answers only, please.", *SHORT),
    ),
}
