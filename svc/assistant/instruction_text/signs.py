"""The wordings by which text addresses an analyst or a model, as signs with points, and the passages that have enough.

One sign alone is often ordinary ("this rule is benign"), so most count one point and a passage needs two from different
signs. Every pattern is linear-time: words (``[^\\W_]``) and separators (``[\\W_]``) have no character in common.
Separators include ``_``, ``-``, ``.`` and ``+``, so that file names, host names and URLs match. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.knowledge.prefilter import needed_words

OVERRIDE = "instruction override"
ROLE = "role claim"
ADDRESS = "addressed to an analyst or a model"
TASK = "instruction to the reader"
BENIGN = "benign claim"
AUTHORITY = "authority claim"
SUPPRESSION = "request not to report"
VERDICT = "dictated verdict"
TOKEN = "chat-template token"  # noqa: S105  # a name of a sign
CHAT_MESSAGE = "chat message"
TOOL_CALL = "tool call"
EXTRACTION = "request for the instructions"
HIDDEN_UNICODE = "hidden Unicode"
HIDDEN_HTML = "hidden HTML text"

ENOUGH_POINTS = 2
STEERING = frozenset({OVERRIDE, BENIGN, SUPPRESSION, VERDICT, EXTRACTION, TOKEN, AUTHORITY, HIDDEN_UNICODE})
"""Signs that try to change what is reported. A passage without one is written for a model, but asks nothing of it."""


class Sign(msgspec.Struct, frozen=True):
    """One wording. ``points`` are what it counts in a passage; the rest says without which a text need not be tried:

    one of ``needed`` (if there are any), a word for a model, a character that is not ASCII.
    """

    name: str
    points: int
    pattern: re.Pattern[str]
    needed: tuple[str, ...]
    names_model: bool
    is_ascii: bool


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a text with enough signs; ``start`` and ``end`` span the signs themselves."""

    start: int
    end: int
    methods: tuple[str, ...]
    is_steering: bool
    is_quoted: bool = False


_S = r"[\W_]{1,6}"
_FILL = {
    "Q": r"\\{0,3}[\"']{1,2}",  # also doubled in CSV, and escaped in JSON
    "S": _S,
    "W": r"[^\W_]{1,24}",
    "ANY2": rf"(?:[^\W_]{{1,24}}{_S}){{0,2}}",
    "ANY4": rf"(?:[^\W_]{{1,24}}{_S}){{0,4}}",
    "ANY6": rf"(?:[^\W_]{{1,24}}{_S}){{0,6}}",
    "B": r"(?<![^\W_])",
    "E": r"(?![^\W_])",
    "MODEL": (
        r"(?:ai|a\.i\.|llms?|gpt(?:-?\d)?|chatgpt|claude|gemini|copilot|language[\W_]models?|assistants?|chatbots?"
        r"|ai[\W_](?:agents?|analysts?|models?|systems?|assistants?|reviewers?|tools?)"
        r"|automated[\W_](?:analysis|review(?:er)?s?|triage|systems?|assistants?|scanners?|agents?|analysts?)"
        r"(?:[\W_]systems?)?)"
    ),
    "PERSON": (
        r"(?:(?:soc|security|threat|malware|incident)[\W_](?:analysts?|responders?|reviewers?|team)|analysts?"
        r"|incident[\W_]responders?)"
    ),
    "BAD": (
        r"(?:benign|harmless|innocuous|non[\W_]?malicious|not[\W_](?:malicious|suspicious|harmful|dangerous|a[\W_]threat)"
        r"|unsuspicious|false[\W_]positives?(?![\"']?\s{0,3}:))"
    ),
    "SOFT": (
        r"(?:safe|clean|legit(?:imate)?|trust(?:ed|worthy)|normal|routine|informational|resolved|authori[sz]ed|approved|expected|known[\W_]good"
        r"|low[\W_](?:risk|severity|priority)|severity[\W_](?:none|low|info\w*))"
    ),
    "THING": (
        r"(?:this|these|it|that|everything|all|them|(?:(?:the|any|following|above|failed)[\W_]{1,3}){0,3}(?:activit(?:y|ies)"
        r"|events?|alerts?|findings?|incidents?|log(?:in|on)s?|sessions?|connections?|traffic|indicators?|detections?"
        r"|threats?|malware|attacks?|files?|documents?|messages?|mails?|e-?mails?|senders?|hosts?|users?|accounts?"
        r"|process(?:es)?|entr(?:y|ies)|lines?|logs?|samples?|binar(?:y|ies)|programs?|attachments?|address(?:es)?"
        r"|sources?|requests?|verdict|behaviou?r|archive|capture|macros?|scripts?))"
    ),
    "TEST": (
        r"(?:evaluations?|penetration[\W_]test(?:s|ing)?|pen[\W_]?test(?:s|ing)?|(?:red|purple|blue)[\W_]?team(?:ing)?"
        r"|security[\W_](?:tests?|exercises?|assessments?|audits?|drills?|scans?)|adversary[\W_](?:simulation|emulation)"
        r"|(?:attack|breach)[\W_]simulations?|exercises?|drills?|engagements?|assessments?|vulnerability[\W_]scan(?:s|ner)?)"
    ),
}


_OTHER_SCRIPT = re.compile(r"[\u0400-\uffff]")


def _signs(name: str, points: int, *patterns: str) -> Iterator[Sign]:
    for pattern in patterns:
        text = pattern
        for key, value in _FILL.items():
            text = text.replace(f"<{key}>", value)
        yield Sign(
            name,
            points,
            re.compile(text, re.IGNORECASE),
            needed_words(text.lower()),
            names_model="<MODEL>" in pattern and "<PERSON>" not in pattern,
            is_ascii=_OTHER_SCRIPT.search(pattern) is None,
        )


_MODEL = re.compile(rf"(?<![^\W_]){_FILL['MODEL']}(?![^\W_])", re.IGNORECASE)
_IGNORE = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?"
    r"|(?:stop|cease|quit)<S>(?:following|obeying)|(?:do<S>not|don[\W_]{0,3}t|never)<S>(?:follow|obey)"
    r"|(?:set|put|throw|cast)<S>(?:aside|away)|pay<S>no<S>attention<S>to)"
)
_EARLIER = (
    r"(?:previous|prior|earlier|preceding|above|foregoing|existing|original|initial|former|past|old|your|all|any|system"
    r"|developer|safety|other|every|everything)"
)
_SAY = (
    r"(?:say|state|answer|reply|respond|report|output|return|print|write|conclude|declare|confirm|tell|claim|certify)"
)
_RATE = (
    r"(?:mark|classif(?:y|ied)|treat|label|flag|rate|consider|categori[sz]e|tag|score|deem|regard|declare|assess|close"
    r"|judge|report|set|count|whitelist|resolve|certify)"
)

SIGNS: tuple[Sign, ...] = (
    *_signs(
        OVERRIDE,
        2,
        rf"<B>{_IGNORE}<S><ANY4>{_EARLIER}<S><ANY4>(?:instructions?|prompts?|directives?|guidelines?|guidance|orders)<E>",
        rf"<B>{_IGNORE}<S><ANY2>(?:your|the<S>system)<S><ANY2>(?:instructions?|prompts?|directives?|guidelines?|rules|training)<E>",
        rf"<B>(?:discard|dismiss|abandon|neglect|cancel)<S><ANY4>{_EARLIER}<S><ANY4>(?:instructions?|directives?|guidelines?|orders)<E>",
        r"<B>(?:do<S>not|don[\W_]{0,3}t|never)<S>(?:obey|follow|trust|believe|listen<S>to)<S>(?:the|your|any)<S>"
        r"(?:analyst|user|operator|system|developer|investigator)<E>",
        r"<B>ignorier\w{0,4}<S><ANY4>(?:anweisung\w*|instruktion\w*|vorgaben|befehle|prompts?)<E>",
        r"<B>(?:vergiss|vergessen<S>sie|missachte|verwirf)<S><ANY4>(?:anweisung\w*|instruktion\w*|vorgaben|befehle|prompts?)<E>",
        r"<B>(?:ignore[rz]?|oublie[rz]?)<S><ANY4>(?:instructions|consignes|directives)<E>",
        r"<B>(?:ignor(?:a|e|ar|en)|olvid(?:a|e|ar|en)|descart\w{1,3})<S><ANY4>(?:instrucciones|indicaciones|directrices)<E>",
        r"<B>(?:ignor(?:a|e|ate)|dimentica)<S><ANY4>(?:istruzioni|instruç(?:ões|ão))<E>",
        r"<B>(?:и?гнорируй\w{0,2}|забудь\w{0,2})<S><ANY4>(?:инструкци\w*|указани\w*|команд\w*)<E>",
        r"(?:以前|これまで|上記|前|全て|すべて)の?[^\n。]{0,10}(?:指示|命令|プロンプト|指令)[^\n。]{0,8}(?:無視|忘れ)",
        r"忽略[^\n。]{0,12}(?:指令|指示|提示|命令)",
    ),
    *_signs(
        OVERRIDE,
        1,
        r"<B>(?:ignore|disregard|forget)<S><ANY4>(?:rules?|commands?|everything|policy|restrictions|training|alerts?|warnings?|text|lines?)<E>",
        r"<B>(?:bypass|override)<S>(?:your|all)<S><ANY2>(?:rules?|policy|policies|restrictions|training)<E>",
        r"<B>(?:new|updated|real|actual|next)<S>(?:system<S>)?(?:instructions?|prompt|orders)<E>",
        r"<B>new<S>(?:task|role|conversation)\s?:",
        r"<B>from<S>now<S>on<E>",
        r"<B>(?:instructions|prompt|orders)<S>(?:have|has|are|is)<S>(?:been<S>)?(?:updated|changed|replaced|obsolete)<E>",
        r"<B>obey<S>this<E>|<B>stop<S>here<E>|<B>(?:is|are)<S>not<S>evidence<E>|<B>no<S>restrictions<E>",
        r"<B>(?:ignore|disregard|forget)<S><THING><E>",
        r"<B>you<S>(?:are|re)<S>no<S>longer<S>(?:an?|the)<E>",
    ),
    *_signs(
        ROLE,
        1,
        r"<B>you<S>(?:are|re)<S>(?:now|no<S>longer|<ANY2>)<ANY4>(?:<MODEL>|<PERSON>|bot|agent|translator|summari[sz]er|dan)<E>",
        r"<B>(?:act|behave|respond|answer)<S>(?:as|like)<S>(?:an?|the)<S>",
        r"<B>pretend<S>(?:to<S>be|that<S>you|you)<E>",
        r"<B>as<S>(?:an?|the)<S><MODEL><E>",
        r"<B>(?:du<S>bist|sie<S>sind)<S>(?:jetzt<S>|nun<S>)?eine?<S><ANY2>(?:ki|sprachmodell|assistent)",
        r"<B>(?:vous<S>êtes|tu<S>es)<S>(?:un<S>|une<S>)<ANY2>(?:ia|assistant|modèle)",
        r"<B>(?:eres|usted<S>es)<S>una?<S><ANY2>(?:ia|asistente|modelo)",
        r"(?:あなたは|君は)[^\n。]{0,20}(?:AI|アシスタント|モデル)",
    ),
    *_signs(
        ADDRESS,
        1,
        r"<B>(?:note|notice|message|attention|instructions?|memo|reminder|request|dear|hey|hello|hi|important)<S>"
        r"(?:(?:to|for)<S>)?(?:(?:the|any|all|every|an?|our|whatever)<S>){0,2}(?:<MODEL>|<PERSON>|model)<E>",
        r"<B>to<S>(?:the|any|all|every|whatever)<S>(?:<MODEL>|<PERSON>|model)<E>",
        r"(?:^|[\n\"'(\[{#>;=@*/-]|[.!?:]\s|,\s)\s{0,4}(?:<MODEL>|<PERSON>|reviewers?)(?=\s{0,2}[:,]|<S>(?:reading|processing|please|treat|must|should)<E>)",
        r"<B><MODEL>\s?(?::(?=\s)|,\s{1,3}(?:please|ignore|disregard|forget|skip|treat|mark|do|don|classify|report|say|stop)<E>)",
        r"@(?:<MODEL>)<E>|,\s{1,3}<MODEL>\s?[.!]",
        r"(?:^|[\n\"'>])\s{0,4}model\s{0,2},",
        r"<B>if<S>you(?:<S>are|[\W_]{1,2}re)<S>(?:an?|the)<S><ANY2>(?:<MODEL>)<E>",
        r"<B>if<S>(?:an?|any|the)<S><ANY2>(?:<MODEL>)<S>",
        r"<B>(?:any|every|an?|the)<S>(?:<MODEL>|model)<S><ANY2>(?:that|which|reading|processing|pars\w+|analy\w+|summar\w+|must|should|shall)<E>",
        r"<B>(?:<MODEL>)<S>(?:reviewers?|agents?|reading|must|should)<E>",
        r"<B>(?:<MODEL>)<S>(?:instructions?|notes?|notice|prompt|message)\s?:",
        r"<B>(?:an<S>die|hinweis<S>an|an)<S>(?:die<S>)?(?:ki|sprachmodell\w*)<E>",
        r"(?:AI|LLM|アシスタント)(?:へ|の皆)",
        r"(?:^|[\n\[\"'#=])[\s#*]{0,4}system(?:[\W_]{1,2}(?:message|note|prompt|instructions?|override))?\s{0,2}[\]:]",
        r"(?:^|\n|[.?!]\s)\s{0,4}(?:human|assistant|user)\s?:\s",
    ),
    *_signs(
        TASK,
        1,
        r"<B>your<S>(?:new<S>|only<S>|final<S>|real<S>|next<S>|original<S>|initial<S>)?(?:instructions?|prompt|guidelines|task"
        r"|job|role|answer|response|output|summary|report|verdict|analysis|findings|reply|safety<S>rules)<E>",
        r"<B>you<S>(?:must|should|shall|will|may|need<S>to|have<S>to|are<S>to)<S>(?:only<S>|now<S>|not<S>|never<S>){0,2}"
        r"(?:answer|respond|reply|report|conclude|say|state|rate|classif\w+|mark|treat|ignore|skip|omit|output|return|list|stop)<E>",
        r"<B>when<S>you<S>(?:summari[sz]e|analy[sz]e|review|read|process)<E>",
        r"<B>tell<S>the<S>(?:user|analyst|reader|human)<E>",
    ),
    *_signs(
        BENIGN,
        2,
        rf"<B>{_RATE}<S>(?:<THING>)<S><ANY6>(?:as|to)<S>(?:be<S>)?(?:an?<S>)?<BAD><E>",
        rf"<B>{_RATE}<S>(?:as|it)<S>(?:an?<S>)?<BAD><E>",
        r"<B>(?:mark|classify|flag|rate|assess|label|judge|declare)<S>(?:all<S>of<S>)?(?:this|these|the|that)<S>(?:<THING>)<S>"
        r"<ANY4>as<S>(?:clean|legitimate|safe|normal|trustworthy)<E>",
        r"<B>(?:consider|deem|judge|declare|label)<S>(?:<THING>)<S><ANY4><BAD><E>",
        r"<B>(?:als)<S>(?:harmlos|unbedenklich|gutartig|ungefährlich|fehlalarm|sicher)<S>(?:ein)?(?:zu)?(?:stuf|meld|markier|kennzeichn|bewert|behandel)",
        r"<B>(?:stufe|markiere|melde|behandle|bewerte)<S><ANY4>als<S>(?:harmlos|unbedenklich|gutartig|ungefährlich|fehlalarm|sicher)<E>",
        r"<B>(?:class|marqu|signal|considér|trait)(?:e|ez|er)<S><ANY4>(?:comme<S>)?(?:bénin|inoffensif|sans<S>danger|faux<S>positif|légitime)",
        r"<B>(?:marc|marqu|clasific|clasifiqu|consider|trat)(?:a|e|ar)<S><ANY4>(?:como<S>)?(?:benign|inofensiv|segur|falso<S>positiv|legítim)",
        r"(?:無害|安全|問題なし|誤検知)(?:だ|である)?(?:と|として)(?:報告|判定|分類|回答|答え|マーク|みな)",
        r"标记为(?:安全|无害|良性)",
    ),
    *_signs(
        BENIGN,
        1,
        r"<B><BAD><E>",
        rf"<B>{_RATE}<S><ANY6>(?:as|at|to)<S>(?:be<S>)?(?:an?<S>)?<SOFT><E>",
        rf"<B>{_SAY}<S><ANY6>(?:safe|clean|fine|well|normal|no<S>threats?|nothing|okay|good)<E>",
        r"<B>(?:is|are|was|seems?|looks?)<S>(?:safe|clean|fine|well|routine|normal|trusted|allowed|okay)<E>",
        r"<B>(?:all|everything)<S><ANY4>(?:is<S>)?(?:good|fine|well|clean|safe|normal|routine)<E>",
        r"<B>no<S>(?:further<S>)?(?:threats?|malicious|malware|findings?|detections?|indicators?|compromise|action|analysis|report|review|investigation)<E>",
        r"<B>found<S>nothing<E>|<B>is<S>allowed<S>to<E>",
        r"<B>nothing<S>(?:to<S>(?:see|report|worry)|suspicious|malicious|was<S>found|unusual)<E>",
        r"<B>(?:harmlos|unbedenklich|fehlalarm|keine<S>bedrohung\w*|keine<S>funde)<E>",
        r"<B>(?:bénin|inoffensif|aucune<S>menace)",
        r"<B>(?:benigno|inofensivo|limpio|no<S>hay<S>amenazas|não<S>há<S>ameaças|sicuro)<E>",
        r"(?:無害|脅威はない|問題なし|安全と|没有威胁|无害)",
        r"<B>(?:безопас\w+|угроз<S>нет|вредонос\w+<S>нет)",
    ),
    *_signs(
        AUTHORITY,
        2,
        r"<B>(?:this|these|it|all|the<S>(?:following|above|preceding)|below)<S><ANY6>(?:is|are|was|were|belongs?|comes?|stems?|originates?)<S>"
        r"<ANY4>(?:controlled|authori[sz]ed|sanctioned|approved|simulated|permitted|planned|scheduled)<S><ANY2><TEST><E>",
        r"<B>(?:generated|caused|performed|produced|conducted|run)<S>by<S><ANY2>(?:authori[sz]ed|sanctioned|approved)<S><ANY2><TEST><E>",
        r"<B>dies<S>ist<S>ein<S><ANY2>(?:genehmigt|autorisiert|geplant)\w*<S>\w*(?:test|übung)",
        r"<B>il<S>s<S>agit<S>d<S>une?<S><ANY2>(?:test|exercice)<S><ANY2>autorisé",
    ),
    *_signs(
        AUTHORITY,
        1,
        r"<B>(?:controlled|authori[sz]ed|sanctioned|approved|permitted|planned|scheduled|simulated)<S><ANY2><TEST><E>",
        r"<B>(?:security|blue|red|it)<S>team<S><ANY2>(?:verified|confirmed|approved|cleared|reviewed)<E>",
        r"<B>(?:autorisiert|genehmigt)\w*<S>(?:\w*test|\w*übung)",
        r"<B>test<S>d<S>intrusion<S>autorisé",
        r"<B>prueba<S>de<S>(?:penetración|intrusión|seguridad)<S>autorizada<E>",
        r"<B>for<S>(?:evaluation|testing|demonstration)<S>purposes<S>only<E>",
        r"<B>(?:controlled|part<S>of<S>an?)<S><ANY2>(?:test|exercise)<E>",
    ),
    *_signs(
        SUPPRESSION,
        1,
        r"<B>(?:do<S>not|don[\W_]{0,3}t|never|must<S>not|should<S>not|need<S>not|may<S>not|cannot|no<S>need<S>to|refrain<S>from|not<S>to<S>be)<S>"
        r"(?:be<S>)?(?:report|alert|escalat|flag|raise|notify|investigat|mention|disclos|analy[sz]|open<S>a)\w{0,4}<E>",
        r"<B>(?:do<S>not|don[\W_]{0,3}t|never|must<S>not|should<S>not|may<S>not)<S>(?:list|count|include|record|show)<S><THING><E>",
        r"<B>(?:skip|omit|drop|exclude|suppress|close|dismiss|whitelist|leave<S>out|delete|erase)<S>(?:<THING>|your)<E>",
        r"<B>(?:stop|terminate|end|abort|cease|halt)<S>(?:(?:the|your|its|all|this)<S>)?(?:analysis|analy[sz]ing|investigati(?:on|ng)|triage)<E>",
        r"<B>(?:skip|omit|drop|exclude|delete|erase|leave)<S><ANY4>(?:lines?|entr(?:y|ies)|results|findings?|report|summary|analysis|out)<E>",
        r"<B>you<S>(?:may|must|should|can|shall|will)<S>(?:not|never)<S>(?:report|list|mention|show|name|flag|alert|include)<E>",
        r"<B>never<S>(?:lists|reports|mentions|flags)<E>",
        r"<B>(?:needs?|requires?)<S>no<S>(?:report|review|alert|further)<E>",
        r"name[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']{0,2}(?:close|dismiss|suppress|mark|whitelist|allow|delete|resolve|ignore|approve|stop|end|release"
        r"|disable|clear|skip)[_.-]\w",
        r"<B>(?:closed|ignored)<S>without<S>(?:review|a<S>report)",
        r"<B>nicht<S>(?:melden|eskalieren|berichten|erwähnen)<E>|<B>melde<S>(?:keine|nichts)<E>",
        r"<B>ne<S>(?:signal|rapport|mentionn)(?:e|ez|er)<S>(?:pas|rien)<E>",
        r"<B>no<S>(?:report|inform|alert|mencion)(?:ar|es|e|en)<E>",
        r"報告しないで|报告(?:任何|没有)",
        r"<B>leave<S><ANY4>(?:out<S>of)<E>",
    ),
    *_signs(
        VERDICT,
        2,
        rf"<B>{_SAY}<S>(?:only|exactly|just|verbatim|nothing<S>but)<S><ANY6>(?:<BAD>|<SOFT>|no<S>(?:threats?|findings?|malicious)|nothing)<E>",
        rf"<B>{_SAY}<S>(?:with|as)<S>(?:exactly|only|just|the<S>word|a<S>single<S>word)<S><ANY6>(?:<BAD>|<SOFT>|no<S>(?:threats?|findings?)|nothing)<E>",
        r"<B>your<S>(?:only<S>|final<S>)?(?:answer|response|output|reply|verdict|summary|report)<S>(?:must|shall|should|is|has)<S>(?:to<S>)?(?:be<S>|state<S>|say<S>)?"
        r"<ANY6>(?:<BAD>|<SOFT>|no<S>(?:threats?|findings?|malicious)|nothing|not)<E>",
        r"<B>(?:the<S>)?(?:correct|final|right)<S>(?:verdict|answer|conclusion)<S>(?:is|must<S>be)<S><ANY2>(?:<BAD>|clean|safe)<E>",
        rf"<B>{_SAY}<S><ANY2>(?:no<S>(?:threats?|findings?|malware)|clean|benign|safe)<S><ANY2>(?:and<S>(?:stop|nothing<S>else)|only)<E>",
        rf"<B>{_SAY}<S>verdict<S><ANY2>(?:<BAD>|<SOFT>)<E>",
        r"<B>(?:override|change|set|overwrite)<S>(?:the|your)<S>(?:verdict|severity|classification)<E>",
    ),
    *_signs(
        VERDICT,
        1,
        rf"<B>{_SAY}<S>(?:only|exactly|with<S>only|with<S>exactly)<E>",
        r"<B>(?:antworte|sage|sag)<S>(?:nur|dass)<E>",
        r"<B>(?:répond\w*|dites|dis)<S>(?:qu|que|seulement)<E>",
        r"<B>(?:responde|di|diga|scrivi|answer)<S>(?:que|che|solo)<E>",
        r"と(?:回答|答え)(?:して|る)",
        r"<B>(?:ответь|сообщи|скажи)<E>",
        r"<B>(?:must|should)<S>(?:say|state|conclude|declare|certify)<E>",
        r"<B>verdict<E><S><ANY6>(?:set<S>to|to)<S><BAD>",
        r"<B>(?:return|output|give)<S>(?:an<S>empty<S>list|no<S>(?:results?|findings?))<E>",
        r"<B>and<S>nothing<S>else<E>|<B>do<S>not<S>add<S>anything<E>",
    ),
    *_signs(
        TOKEN,
        2,
        r"<\|im_(?:start|sep)\|>\s{0,3}(?:system|user|assistant|tool)",
        r"<\|(?:system|user|assistant|start_header_id|begin_of_text|eot_id)\|>",
        r"\[INST\][\s\S]{0,500}?\[/INST\]|<<SYS>>|<start_of_turn>",
    ),
    *_signs(
        TOKEN,
        1,
        r"<\|(?:im_start|im_end|endoftext|end|end_of_text|eom_id)\|>",
        r"\[/?INST\]",
        r"<B>(?:begin|end|new)<S>(?:of<S>)?system<S>prompt<E>",
    ),
    *_signs(
        CHAT_MESSAGE,
        1,
        r"</?(?:system|assistant|instructions?)>",
        r"#{2,4}\s{0,3}(?:instruction|response|system|assistant)\s?:",
        r"<Q>role<Q>\s{0,3}:\s{0,3}<Q>(?:system|assistant|user|tool)<Q>",
        r"<Q>content<Q>\s{0,3}:\s{0,3}<Q>",
    ),
    *_signs(
        TOOL_CALL,
        2,
        r"<Q>(?:tool_calls|function_call)<Q>\s{0,3}:\s{0,3}[\[{]",
        r"<Q>name<Q>\s{0,3}:\s{0,3}<Q>[\w.-]{1,60}<Q>\s{0,3},\s{0,3}<Q>arguments<Q>\s{0,3}:",
        r"<Q>function<Q>\s{0,3}:\s{0,3}\{",
        r"<(?:tool_call|function_calls?|invoke\s{1,3}name=)",
    ),
    *_signs(
        EXTRACTION,
        2,
        r"<B>(?:reveal|print|show|repeat|output|tell<S>me|display|leak|disclose|write<S>down)<S><ANY6>"
        r"(?:your|the<S>system)<S>(?:system<S>|initial<S>|original<S>|hidden<S>)?(?:prompt|instructions)<E>",
    ),
)

ANCHORS: tuple[bytes, ...] = (
    b"instruc", b"prompt", b"directive", b"guidance", b"guideline", b" orders", b"benign", b"harml", b"innocuous",
    b"malicious", b"suspicious", b"e positive", b"e-positive", b"e_positive", b"legitim", b"trustworthy",
    b"assistant", b"llm", b"gpt", b"claude", b"gemini", b"copilot", b"chatbot", b"the model", b"language model",
    b"language-model", b"whatever model", b"model, ", b"automated", b"analyst", b"responder", b"reviewer",
    b"penetra", b"pentest", b"pen test", b"pen-test", b"exercise", b"evaluation", b"drill", b"assessment",
    b"simulat", b"verdict", b"threat", b"findings", b" ai ", b"ai:", b" ai,", b" ai.", b"\"ai", b" ia.", b" ia ",
    b" ki ", b"[inst]", b"<|", b"system:", b"models", b"as clean", b"as safe", b"as legit", b"as normal",
    b"the analysis", b"ai agent", b"lt;|", b"# system", b"single word", b"one word", b"nothing else", b"you are a ",
    b"you are now", b"no restriction", b"compromis", b"pretend", b"safety", b"summari", b"vulnerability scan",
    b"im_start", b"im_end", b"eot_id", b"endoftext", b"lt;sys", b"<<sys", b"_of_turn", b"tool_call",
    b"function_call", b"function\"", b"\"role\"", b"from now on", b"no longer a", b"empty list", b"no results",
    b"top analy", b"weisung", b"unbedenk", b"fehlalarm", b"eskalieren", b"melden", b"sicherheitstest", b"consigne",
    b"inoffen", b"autori", b"struzioni", b"indicaciones", b"amenaza",
)  # fmt: skip
"""Every passage contains one of these (in lower case); they are looked for before any pattern is tried."""

ANCHOR_TEXTS: tuple[str, ...] = (
    "nstruç", "нструкц", "указани", "безопас", "угроз", "指示", "命令", "プロンプト", "指令", "提示", "アシスタント",
    "無害", "報告", "问题", "无害",
)  # fmt: skip
"""Looked for only in text that is not ASCII."""

_MAX_GAP = 240  # characters between two signs of one passage
_QUOTED = re.compile(r"[\"'`\u201c\u201d\u2018\u2019«»]")
_ABOUT = re.compile(
    r"prompt[\W_]{0,2}injection|jailbreak|injection attack|adversarial|for example|\be\.g\.|such as|example of"
    r"|llm01|owasp",
    re.IGNORECASE,
)
_ABOUT_CHARS = 300


def passages(text: str) -> Iterator[Passage]:
    """Yield the parts of ``text`` with enough signs, in its order; signs far from each other form no passage."""
    lower, is_ascii = text.lower(), text.isascii()
    names_model = _MODEL.search(text) is not None
    hits = [
        (match.start(), match.end(), sign)
        for sign in SIGNS
        if (names_model or not sign.names_model)
        and (sign.is_ascii or not is_ascii)
        and (not sign.needed or any(word in lower for word in sign.needed))
        for match in sign.pattern.finditer(text)
    ]
    hits.sort(key=lambda hit: hit[:2])
    group: list[tuple[int, int, Sign]] = []
    for hit in hits:
        if group and hit[0] - max(end for _, end, _ in group[-8:]) > _MAX_GAP:
            yield from _passage(group, text)
            group = []
        group.append(hit)
    yield from _passage(group, text)


def _passage(group: Sequence[tuple[int, int, Sign]], text: str) -> Iterator[Passage]:
    points: dict[str, int] = {}
    for _, _, sign in group:
        points[sign.name] = max(points.get(sign.name, 0), sign.points)
    if sum(points.values()) < ENOUGH_POINTS:
        return
    start, end = group[0][0], max(end for _, end, _ in group)
    yield Passage(
        start=start,
        end=end,
        methods=tuple(points),
        is_steering=not STEERING.isdisjoint(points),
        is_quoted=_is_quoted(text, start, end),
    )


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a text about such wordings quotes one: quotation marks around it, and words like "for example"."""
    before, after = text[max(0, start - 40) : start], text[end : end + 80]
    around = text[max(0, start - _ABOUT_CHARS) : end + _ABOUT_CHARS]
    return bool(_QUOTED.search(before) and _QUOTED.search(after) and _ABOUT.search(around))
