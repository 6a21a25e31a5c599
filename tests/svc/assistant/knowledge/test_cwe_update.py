"""The official CWE list becomes our table, from each of its forms; another file is refused with words."""

import io
import zipfile

import pytest

from svc.assistant.knowledge.cwe_update import read

XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<Weakness_Catalog xmlns="http://cwe.mitre.org/cwe-7" Name="CWE" Version="9.9" Date="2031-02-03">
 <Weaknesses>
  <Weakness ID="79" Name="Cross-site Scripting" Abstraction="Base" Structure="Simple" Status="Stable">
   <Related_Weaknesses>
    <Related_Weakness Nature="ChildOf" CWE_ID="74" View_ID="1000" Ordinal="Primary"/>
    <Related_Weakness Nature="ChildOf" CWE_ID="20" View_ID="1003"/>
    <Related_Weakness Nature="CanPrecede" CWE_ID="494" View_ID="1000"/>
   </Related_Weaknesses>
  </Weakness>
 </Weaknesses>
</Weakness_Catalog>"""
CSV = b"""CWE-ID,Name,Weakness Abstraction,Status,Description,Related Weaknesses
79,Cross-site Scripting,Base,Stable,x,::NATURE:ChildOf:CWE ID:74:VIEW ID:1000:ORDINAL:Primary::
"""
BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><Weakness_Catalog>&b;</Weakness_Catalog>'


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("cwec_v9.9.xml", content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "version", "dated"),
    [
        pytest.param(XML, "9.9", "2031-02-03", id="XML"),
        pytest.param(zipped(XML), "9.9", "2031-02-03", id="XML in a ZIP"),
        pytest.param(CSV, "not stated (CSV)", None, id="CSV"),
    ],
)
def test_every_form_gives_the_same_weaknesses(data, version, dated):
    table = read(data)
    assert [(one.id, one.name, one.level, one.parents) for one in table.weaknesses] == [
        (79, "Cross-site Scripting", "base", [74])
    ]
    assert (table.version, table.date.isoformat() if table.date else None) == (version, dated)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html></html>",
        b"<Weakness_Catalog/>",
        b"<Weakness",
        b"a,b\n1,2\n",
        b"PK\x03\x04junk",
        pytest.param(zipped(b"x")[:40], id="half a zip"),  # its bytes name the time, and workers must agree on the name
        pytest.param(BOMB, id="bomb"),
    ],
)
def test_a_file_of_another_kind_is_rejected(data):
    with pytest.raises(ValueError, match=r"\w+ .*\."):
        read(data)
