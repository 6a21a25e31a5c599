"""Scripts inside markup are read in their own language, with escapes and CDATA sections resolved."""

from __future__ import annotations

import pytest

from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.markup import MAX_SCRIPTS, scripts_in


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        pytest.param("<p><script>a()</script>", [(Language.JAVASCRIPT, "a()")], id="page"),
        pytest.param('<job><script language="VBScript">x = 1</script></job>', [(Language.VBA, "x = 1")], id="wsf"),
        pytest.param("<svg><script>a(&quot;b&quot;)</script></svg>", [(Language.JAVASCRIPT, 'a("b")')], id="escaped"),
        pytest.param("<svg><script><![CDATA[a<b]]></script></svg>", [(Language.JAVASCRIPT, "a<b")], id="cdata"),
        pytest.param(
            "<svg><script>//<![CDATA[\na()\n//]]></script></svg>", [(Language.JAVASCRIPT, "\na()\n")], id="//"
        ),
        pytest.param("<p><script>a('&amp;')</script>", [(Language.JAVASCRIPT, "a('&amp;')")], id="not escaped in HTML"),
        pytest.param('<svg onload="go(1)"></svg>', [(Language.JAVASCRIPT, "go(1)")], id="handler"),
        pytest.param('<p><script type="application/ld+json">{"a":1}</script>', [], id="data"),
        pytest.param("var a = '<script>b()</script>';", [], id="a script that writes one"),
        pytest.param("<p><script>never closed", [], id="open"),
    ],
)
def test_scripts_in_markup(text: str, scripts: list[tuple[Language, str]]) -> None:
    assert list(scripts_in(text)) == scripts


def test_a_page_of_many_scripts_is_read_up_to_a_limit() -> None:
    assert len(list(scripts_in("<p>" + "<script>a()</script>" * 1_000))) == MAX_SCRIPTS
    assert not list(scripts_in("<p>" + "<script>" * 50_000))
