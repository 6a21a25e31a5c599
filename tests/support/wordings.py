"""Questions in many wordings, and what a good answer to each has. For each case half of them were held out."""

# ruff: noqa: RUF001 - Japanese questions end with a full-width question mark

from __future__ import annotations

from dataclasses import dataclass

YES, SOFT, UNKNOWN = "yes", "soft", "unknown"
"""First words: yes; yes or possibly; no sign, nothing found or cannot tell."""


@dataclass(frozen=True)
class Wording:
    """``lead``: patterns in the headline. ``never``: one that is not in it. ``body``: patterns in the whole answer.

    ``first``: the class of the first words. ``clauses``: how many the question has, 0 if not checked. ``is_open``: the
    question must stay unanswered.
    """

    question: str
    evidence: str = ""
    lead: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    never: str = ""
    first: str = ""
    clauses: int = 0
    language: str = "en"
    is_open: bool = False
    skills: tuple[str, ...] = ()


def _open(question: str, evidence: str, *lead: str) -> Wording:
    return Wording(question, evidence, lead)


def _parts(question: str, evidence: str, clauses: int, *body: str, skills: tuple[str, ...] = ()) -> Wording:
    return Wording(question, evidence, body=body, clauses=clauses, skills=skills)


def _asked(question: str, evidence: str, first: str, *lead: str) -> Wording:
    return Wording(question, evidence, lead, first=first)


def _bare(question: str, evidence: str = "", language: str = "en") -> Wording:
    return Wording(question, evidence, language=language, is_open=True)


def _said(language: str, question: str, evidence: str, *lead: str, first: str = "") -> Wording:
    return Wording(question, evidence, lead, first=first, language=language)


def _about(question: str, evidence: str, *lead: str, never: str = "", first: str = "") -> Wording:
    return Wording(question, evidence, lead, never=never, first=first)


_LSASS = r"lsass|credential|T1003"
ATTACKED = r"203\S+113\S+77"
_WEB = r"203.0.113.50|inject|travers|shell"

OPEN = {
    "open": [
        _open("what happened on this host?", "auth", "mara"),
        _open("is it compromised?", "syslog", "mara"),
        _open("anything suspicious?", "web", _WEB),
        _open("give me the story", "windows", _LSASS),
        _open("triage this", "auth", "mara"),
        _open("should I worry?", "syslog", "mara"),
        _open("summarize for my manager", "windows", _LSASS),
        _open("walk me through it", "web", _WEB),
        _open("what do I need to know?", "auth", "mara"),
        _open("Anything I should look at here?", "windows", _LSASS),
        _open("tl;dr?", "syslog", "mara"),
        _open("Please have a look", "web", _WEB),
        _open("What's going on?", "windows", _LSASS),
        _open("Thoughts?", "auth", "mara"),
        _open("Explain what you see", "syslog", "mara"),
    ],
    "held": [
        _open("Tell me what went wrong here", "auth", "mara"),
        _open("Were we hacked?", "syslog", "mara"),
        _open("Give me an executive summary", "web", _WEB),
        _open("Do we have an incident?", "windows", _LSASS),
        _open("what's the damage", "auth", "mara"),
        _open("Break it down for me", "syslog", "mara"),
        _open("Anything out of the ordinary?", "web", _WEB),
        _open("how bad is it?", "windows", _LSASS),
        _open("what am I looking at?", "auth", "mara"),
        _open("Can you make sense of this?", "syslog", "mara"),
        _open("What stands out?", "web", _WEB),
        _open("reconstruct the attack", "windows", _LSASS),
        _open("Is this machine still trustworthy?", "auth", "mara"),
        _open("Quick overview please", "syslog", "mara"),
        _open("what should I do about this?", "windows", _LSASS),
    ],
}

PARTS = {
    "open": [
        _parts("What happened on web-3, and did anyone get in?", "auth", 2, "mara", ATTACKED),
        _parts("Who attacked us, from where, and which accounts?", "auth", 1, "mara", ATTACKED),
        _parts(
            "Decode c2VjcmV0IG1lc3NhZ2UgZnJvbSBtYXJh and who logged in?", "auth", 2, "secret message", "mara",
            skills=("decode", "auth_log"),
        ),
        _parts("Did anyone get in, and was the log cleared?", "windows", 2, "1102|cleared"),
        _parts("Was LSASS dumped? Was a scheduled task created?", "windows", 2, _LSASS, "schtasks|Scheduled"),
        _parts("Who logged in and was there a port scan?", "syslog", 2, "mara"),
        _parts("What happened, when did it start and which user is affected?", "windows", 3, "mara", "08:31|09:06"),
        _parts("Is anything malicious? Which rules matched?", "windows", 2, "LSASS dump", "Rules that matched"),
        _parts("Was there a brute force and did it succeed?", "auth", 2, "mara", ATTACKED),
        _parts("Who scanned us, and how many ports?", "UFW log", 1, r"203\S+113\S+50", r"\b\d+ ports"),
        _parts("Which client attacked the web server? What did it try?", "web", 2, r"203\S+113\S+50"),
        _parts("Who stopped the logging, and was anything deleted?", "AWS CloudTrail", 2, "StopLogging"),
        _parts("Check for beaconing, then list the domains", "capture", 2, "beacon", "parcel-desk"),
        _parts("Were shadow copies deleted and was LSASS dumped?", "Defender DeviceProcessEvents", 2, "hadow"),
        _parts("What happened here? Who got in? Are there any persistence mechanisms?", "windows", 3, "Run|Persist"),
    ],
    "held": [
        _parts("Summarize the log and tell me whether anyone got in", "auth", 2, "mara", ATTACKED),
        _parts("Which accounts were tried, and which of them were entered?", "syslog", 2, "backup", "mara"),
        _parts(
            "Who logged in? Also decode aGVsbG8gZnJvbSB0aGUgb3RoZXIgc2lkZQ==", "auth", 2, "hello from", "mara",
            skills=("decode", "auth_log"),
        ),
        _parts("Was the event log cleared, and by whom?", "windows", 1, "1102|cleared", "mara"),
        _parts("Did they dump credentials, and did they move laterally?", "windows", 2, _LSASS, "ssh|lateral"),
        _parts("Was there a port scan; who did it; did anyone log in?", "UFW log", 3, r"203\S+113\S+50"),
        _parts("Is this host infected and which process started it?", "windows", 2, "wscript|powershell"),
        _parts("Any SQL injection? Any path traversal?", "web", 2, _WEB),
        _parts("First check the logins. Then tell me if it is compromised.", "auth", 2, "mara"),
        _parts("How many failed logins were there and from how many sources?", "auth", 1, r"\b52 fail", "2 source"),
        _parts("Did mara log in, and from where?", "Okta System Log", 1, "mara", ATTACKED),
        _parts("Was CloudTrail stopped, and is that suspicious?", "AWS CloudTrail", 2, "StopLogging"),
        _parts("Find beacons and say which host is infected", "capture", 2, "beacon", r"192\S+0\S+2\S+17"),
        _parts("Did anyone download a file? Did it run?", "windows", 2, "note.exe|Download|wscript"),
        _parts("What happened, who did it, and what should we do now?", "auth", 3, "mara", ATTACKED),
    ],
}  # fmt: skip

YES_NO = {
    "open": [
        _asked("did anyone get in?", "auth", YES, "mara"),
        _asked("was there a brute force?", "auth", YES, ATTACKED),
        _asked("is there lateral movement?", "windows", UNKNOWN, r"\d+ rules that look for lateral movement ran"),
        _asked("were logs cleared?", "windows", YES, "clear|1102"),
        _asked("was LSASS dumped?", "windows", YES, "LSASS"),
        _asked("any beaconing?", "capture", SOFT, "beacon"),
        _asked("was CloudTrail logging stopped?", "AWS CloudTrail", YES, "StopLogging|CloudTrail"),
        _asked("Is anything malicious?", "AWS CloudTrail", YES, "StopLogging"),
        _asked("Was there a port scan?", "UFW log", YES, "scan"),
        _asked("did anyone get in?", "UFW log", UNKNOWN),
        _asked("was there a brute force?", "quiet", UNKNOWN),
        _asked("was LSASS dumped?", "quiet", UNKNOWN),
        _asked("any beaconing?", "auth", UNKNOWN),
        _asked("Has somebody logged in successfully?", "table of logins", YES, "mara|ann|bob"),
        _asked("Is this host compromised?", "quiet", UNKNOWN),
    ],
    "held": [
        _asked("Did the attack succeed?", "auth", YES, "mara"),
        _asked("Have we been brute-forced?", "syslog", YES, ATTACKED),
        _asked("Was a scheduled task created?", "windows", YES, "task"),
        _asked("Did they wipe the event log?", "windows", YES, "clear|1102"),
        _asked("Were credentials dumped?", "windows", YES, "LSASS|redential"),
        _asked("Is there a beacon in this capture?", "capture", SOFT, "beacon"),
        _asked("Did someone turn off CloudTrail?", "AWS CloudTrail", SOFT, "CloudTrail"),
        _asked("Were any shadow copies deleted?", "Sysmon events as a table", YES, "hadow|vssadmin"),
        _asked("Were ports scanned?", "pfSense filterlog", YES, "scan"),
        _asked("Is there evidence of SQL injection?", "web", SOFT, _WEB),
        _asked("Was there ransomware?", "quiet", UNKNOWN),
        _asked("Are there signs of a port scan?", "quiet", UNKNOWN),
        _asked("were logs cleared?", "web", UNKNOWN),
        _asked("Can we rule out that somebody got in?", "auth", "", "mara"),
        _asked("Is there any sign of data exfiltration?", "auth", UNKNOWN),
    ],
}

BARE = {
    "open": [
        _bare("did anyone get in?"),
        _bare("who logged in from 10.0.0.5 with sshd?"),
        _bare("was there a brute force from 203.0.113.9 against root?"),
        _bare("what happened on this host?"),
        _bare("Failed password for root from 203.0.113.9 port 22 ssh2 - is that in my log?"),
        _bare("is it compromised?", "empty"),
        _bare("did anyone get in?", "empty"),
        _bare("who logged in from 10.0.0.5 with sshd?", "empty"),
        _bare("what happened?", "white space"),
        _bare("was LSASS dumped?", "white space"),
        _bare("did anyone get in?", "listing"),
        _bare("was there a port scan?", "listing"),
        _bare("what happened?", "picture"),
        _bare("did anyone get in?", "picture"),
        _bare("were shadow copies deleted with vssadmin?"),
    ],
    "held": [
        _bare("Which accounts did 198.51.100.7 try over ssh last night?"),
        _bare("was CloudTrail StopLogging called by arn:aws:iam::123456789012:user/eve?"),
        _bare("any suspicious logins for administrator from 10.1.2.3?"),
        _bare("give me the story"),
        _bare("triage the attached logs"),
        _bare("Event 4625 for bob on DC01: did he get in?"),
        _bare("anything suspicious?", "empty"),
        _bare("who got in, and was there a brute force?", "empty"),
        _bare("which process dumped lsass.exe?", "white space"),
        _bare("is there beaconing to 203.0.113.66?", "white space"),
        _bare("was the host attacked?", "listing"),
        _bare("who logged in as ann?", "listing"),
        _bare("any sign of lateral movement?", "picture"),
        _bare("which IPs attacked us?", "picture"),
        _bare("did evil.example get contacted from 10.0.0.9?"),
    ],
}

LANGUAGES = {
    "open": [
        _said("de", "Was ist auf diesem Rechner passiert?", "auth", "mara"),
        _said("de", "Ist jemand reingekommen?", "auth", "mara", first=YES),
        _said("de", "Gab es einen Portscan?", "UFW log", "scan", first=YES),
        _bare("Hat sich jemand von 10.0.0.5 angemeldet?", "", "de"),
        _said("fr", "Que s'est-il passé sur cette machine ?", "windows", _LSASS),
        _said("fr", "Quelqu'un est-il entré ?", "auth", "mara", first=YES),
        _said("fr", "Y a-t-il eu un balayage de ports ?", "UFW log", "scan", first=YES),
        _bare("Que s'est-il passé ?", "empty", "fr"),
        _said("es", "¿Qué pasó en este equipo?", "syslog", "mara"),
        _said("es", "¿Entró alguien?", "auth", "mara", first=YES),
        _said("es", "¿Hubo un escaneo de puertos?", "UFW log", "scan", first=YES),
        _bare("¿Quién entró desde 10.0.0.5?", "", "es"),
        _said("ja", "このホストで何が起きましたか？", "auth", "mara"),
        _said("ja", "誰かログインに成功しましたか？", "auth", "mara", first=YES),
        _bare("何が起きましたか？", "picture", "ja"),
    ],
    "held": [
        _said("de", "Wurde das System kompromittiert?", "syslog", "mara", first=YES),
        _said("de", "Gibt es etwas Verdächtiges?", "windows", _LSASS, first=YES),
        _said("de", "Gab es einen Brute-Force-Angriff?", "quiet", first=UNKNOWN),
        _bare("Was ist passiert?", "white space", "de"),
        _said("fr", "La machine est-elle compromise ?", "auth", "mara", first=YES),
        _said("fr", "Y a-t-il quelque chose de suspect ?", "web", _WEB),
        _said("fr", "Y a-t-il eu une attaque par force brute ?", "syslog", "mara", first=YES),
        _bare("Quelqu'un s'est-il connecté depuis 10.0.0.5 ?", "", "fr"),
        _said("es", "¿Está comprometido el servidor?", "auth", "mara", first=YES),
        _said("es", "¿Hay algo sospechoso?", "windows", _LSASS, first=YES),
        _said("es", "Resume lo que ocurrió", "auth", "mara"),
        _bare("¿Alguien accedió?", "empty", "es"),
        _said("ja", "侵入されましたか？", "syslog", "mara", first=YES),
        _said("ja", "不審な点はありますか？", "windows", _LSASS, first=YES),
        _said("ja", "ポートスキャンはありましたか？", "UFW log", "scan", first=YES),
    ],
}

_NOTHING = "no finding mentions"
ABOUT = {
    "open": [
        _about("did 203.0.113.77 succeed?", "auth", "mara", first=YES),
        _about("did 203.0.113.5 succeed?", "auth", "12 fail", first=UNKNOWN),
        _about("what did mara do?", "auth", "mara", ATTACKED),
        _about("what did mara do?", "windows", "mara"),
        _about("show me everything about 198.51.100.21", "auth", "jon"),
        _about("show me everything about 10.0.0.5", "auth", _NOTHING, "0 of|none of|no line"),
        _about("which hosts talked to c2.evil.example?", "Zeek dns.log", r"c2\S+evil"),
        _about("which hosts talked to other.example?", "Zeek dns.log", _NOTHING),
        _about("Did jon log in?", "auth", "jon", first=YES),
        _about("Did backup log in?", "auth", "backup", first=UNKNOWN),
        _about("When did 203.0.113.77 first appear?", "auth", "03:12:00"),
        _about("Who is 203.0.113.50?", "UFW log", r"203\S+113\S+50"),
        _about("did 192.0.2.200 succeed?", "auth", _NOTHING, first=UNKNOWN),
        _about("what did sqlmap do?", "web", "sqlmap"),
        _about("Was comsvcs.dll used?", "windows", "comsvcs", first=SOFT),
    ],
    "held": [
        _about("Has 203.0.113.77 ever logged in?", "syslog", "mara", first=YES),
        _about("Was 203.0.113.5 able to log in?", "syslog", "12 fail", first=UNKNOWN),
        _about("everything on jon please", "auth", "jon"),
        _about("tell me about 203.0.113.5", "auth", "backup", never="900"),
        _about("did zoe get in?", "auth", _NOTHING, first=UNKNOWN),
        _about("Which accounts did 203.0.113.77 use?", "auth", "mara"),
        _about("Which ports did 203.0.113.50 scan?", "UFW log", r"203\S+113\S+50", "port"),
        _about("Did anything connect to 203.0.113.66?", "windows", r"203\S+113\S+66", first=SOFT),
        _about("Is DeliveryCheck malicious?", "windows", "DeliveryCheck", first=SOFT),
        _about("Is 198.51.100.250 in here?", "auth", _NOTHING, first=UNKNOWN),
        _about("what did 198.51.100.9 request?", "web", r"198\S+51\S+100\S+9|30 line"),
        _about("Which addresses did root log in from?", "auth", _NOTHING),
        _about("Did deploy stop logging?", "AWS CloudTrail", "deploy", first=SOFT),
        _about("show all lines with svcmon", "auth", _NOTHING),
        _about("How did mara log in?", "auth", "password"),
    ],
}
CASES = {"open": OPEN, "parts": PARTS, "yes or no": YES_NO, "bare": BARE, "languages": LANGUAGES, "about": ABOUT}
