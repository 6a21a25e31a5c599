"""Hostile texts for every place that shows text from outside, and a judge of the page that comes out.

A payload that comes to life sets ``window.svcHit``, asks HOST for something, or leaves an element that could. ``OPEN``
and ``HELD`` are two independent halves: fixes are developed with the first, and measured with the second. ``texts``
composes more of them by a grammar. The judge reads HTML as a tree of tags and names everything that is not inert.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

HOST = "hostile.invalid"
RUN = "Object.assign(window,{svcHit:1})"  # without "=" and quotes: CommonMark takes neither in an attribute
ADDRESS = f"https://{HOST}/x"
_IMAGE = f"<img src=x onerror={RUN}>"

OPEN = {
    "a log line whose address takes the escape": f"GET www&period;zz&lt;img src=x onerror={RUN}&gt;",
    "one letter after www": f"www.z<img src=x onerror={RUN}>",
    "after an underscore": f"_www.zz.example<img src=x onerror={RUN}>",
    "in capitals": f"WWW.Z&lt;script&gt;{RUN}&lt;/script&gt;",
    "www split by emphasis": f"w*w*w.zz&lt;img src=x onerror={RUN}&gt;",
    "www in a number": f"www.1&#60;svg onload={RUN}&#62;",
    "www with a letter of its own": f"www.é\\<img src=x onerror={RUN}\\>",
    "www split by a zero width": f"ww\u200bw.zz&lt;img src=x onerror={RUN}&gt;",
    "full width www": f"\uff57\uff57\uff57\uff0ezz&lt;img src=x onerror={RUN}&gt;",
    "www after a bracket": f"(www.-<img src=x onerror={RUN}>)",
    "http with entities": f"http&colon;&sol;&sol;z&lt;img src=x onerror={RUN}&gt;",
    "ftp": f"ftp://z\\<img src=x onerror={RUN}\\>",
    "mailto": f"mailto:a@{HOST}\\<img src=x onerror={RUN}>",
    "xmpp": f"xmpp:a@{HOST}/z\\<img src=x onerror={RUN}>",
    "mail": f"a.b-c+d@{HOST}&lt;img src=x onerror={RUN}&gt;",
    "mail with an entity": f"a&commat;{HOST}",
    "twice encoded": f"www&amp;period;zz&amp;lt;img src=x onerror={RUN}&amp;gt;",
    "in strong": f"**www.z\\<img src=x onerror={RUN}\\>**",
    "in a link text": f"[www.z&lt;img src=x onerror={RUN}&gt;]({ADDRESS})",
    "in a cell": f"| a |\n|---|\n| www.z&lt;img src=x onerror={RUN}&gt; |",
    "in a head": f'| a"/onclick={RUN}/x="b | "onclick="{RUN} |\n|---|---|\n| x | y |',
    "in a heading": f"# www.z&lt;img src=x onerror={RUN}&gt; #",
    "in a footnote": f"x[^1]\n\n[^1]: www.z&lt;img src=x onerror={RUN}&gt;",
    "in a comment": f"<!-- www.z --><!--> {_IMAGE} -->",
    "in a quote of a list": f"> - www.z&lt;img src=x onerror={RUN}&gt;",
    "script": f"<script>{RUN}</script>",
    "image": f"<img src={ADDRESS}>",
    "image of Markdown": f"![x]({ADDRESS})",
    "image by reference": f"![x][y]\n\n[y]: {ADDRESS}",
    "link of script": f"[x](javascript:{RUN})",
    "link by reference": f"[x][y]\n\n[y]: javascript:{RUN}",
    "autolink": f"<javascript:{RUN}>",
    "fence with a blank line": f"```\nx\n\n{_IMAGE}\n\n[x](javascript:{RUN})\n```",
    "fence in a list": f"- x\n\n  ```html\n  x\n\n  <div onclick={RUN}>x</div>\n  ```",
    "fence after a list": f"- x\n\n```\n<div onclick={RUN}>x</div>\n\n{_IMAGE}\n```",
    "indented code after a list": f"- x\n\n<!-- -->\n\n      {_IMAGE}",
    "definition in a fence": f"```\n\n[x]: javascript:{RUN}\n\n```\n\n`a` [x]",
    "code that ends early": f"`` ` {_IMAGE} ` `` `",
    "cell that ends code": f"| a |\n|---|\n| `x | {_IMAGE}` |",
    "attributes": f"x **y**{{: onclick={RUN} }}\n{{: onmouseover={RUN} }}",
    "command linker": '<button data-commandlinker-command="svc:stop" data-commandlinker-args="{}">x</button>',
    "formula": f"$\\href{{javascript:{RUN}}}{{x}}$ $$</span>{_IMAGE}$$ \\\\[{_IMAGE}\\\\]",
    "diagram": f'```mermaid\ngraph TD; A-->B; click A href "javascript:{RUN}"\n```',
    "tags": "a\U000e0069\U000e0067\U000e006e\U000e006fb www.\U000e0041z<img src=x>",
    "direction": f"\u202e{_IMAGE}\u202c",
    "form": f"<form action={ADDRESS}><button>x</button></form>",
    "style": f"<style>@import '{ADDRESS}'</style><p style='background:url({ADDRESS})'>",
    "markup that was cut": f"<img src=x onerror={RUN} ",
    "emphasis before code with backticks": f"``$$$ (www._{{onclick={RUN}}} $_w__&*__w.zz._<div onclick={RUN}>_",
    "emphasis around code with backticks": f"> ```*\\<img src=x onerror={RUN}\\>*`x_<a href={ADDRESS}>`",
    "a link that ends in code": f"[x``](x)# ![x]({ADDRESS})~~``~~*_x*",
    "declaration": f"<!DOCTYPE x [<!ENTITY y SYSTEM '{ADDRESS}'>]><?x {RUN}?><![CDATA[{_IMAGE}]]>",
}
"""The half that fixes are developed with."""

HELD = {
    "www after a tilde": f"~www.q\\<iframe srcdoc='<script>parent.{RUN}</script>'>",
    "www of hexadecimal entities": f"&#x77;&#x77;&#x77;&#x2e;k&#x3c;img src=x onerror={RUN}&#x3e;",
    "www in mixed case with code": f"wWw.x`y`\\<svg/onload={RUN}>",
    "www at the end of a line": f"see www.\n\\<img src=x onerror={RUN}>",
    "www and an underscore": f"__www.__k\\<img src=x onerror={RUN}>",
    "www in a struck text": f"~~www.k&lt;details open ontoggle={RUN}&gt;~~",
    "www twice": f"www.www.\\[x\\](javascript:{RUN})",
    "www swallows an image": f"www.k!\\[x\\]({ADDRESS}.png)",
    "www swallows a backtick": f"www.k\\` {_IMAGE} \\`",
    "www swallows a pipe": f"| a | b |\n|---|---|\n| www.k\\|{_IMAGE} | c |",
    "scheme with a tabulator": f"java&Tab;script:{RUN} [x](java&#9;script:{RUN})",
    "scheme without slashes": f"https:{HOST}/\\<img src=x onerror={RUN}>",
    "scheme of slashes": f"//{HOST}/a\\<img src=x onerror={RUN}> //localhost/x",
    "mail in angle brackets": f"<a@{HOST}>",
    "mail with quotes": f'"a b"@{HOST} mailto:"x"@{HOST}',
    "mail that ends with a dash": f"a@b-.{HOST}_ x_y@z.w-v.{HOST}-",
    "punycode": "see evil.xn--80asehdb and ööö.xn--p1ai/\\<b>",
    "link over lines": f"[a\nb]( <{ADDRESS}>\n'x' )",
    "link in an image": f"[![x]({ADDRESS}.png)]({ADDRESS})",
    "collapsed reference": f"[y][]\n\n> [y]: <{ADDRESS}> 'x'",
    "inline footnote": f"x^[{_IMAGE} www.k\\<b>] [^a]\n\n[^a]:\n    {_IMAGE}",
    "html block of type 1": f"<pre>\n\n{_IMAGE}\n\n</pre>\n<textarea>\n{_IMAGE}",
    "html block that begins in a cell": f"a | b\n-|-\n<div onclick={RUN}> | <a href={ADDRESS}>x</a>",
    "html over paragraphs": f"<div\n\nonclick={RUN}>\n\n</div\n\n>",
    "closing tags": f"</code></pre></details></div>{_IMAGE}",
    "comment that ends oddly": f"<!--x--!>{_IMAGE} <!---> {_IMAGE} -->",
    "processing instruction": f"<?php {_IMAGE} ?> <!ATTLIST {_IMAGE}>",
    "tilde fence with a backtick fence": f"~~~ html\n```\n{_IMAGE}\n```\n\n{_IMAGE}\n~~~",
    "fence with attributes": f"```{{.python onclick={RUN}}}\n{_IMAGE}\n```",
    "fence that is not closed": f"> ````\n> {_IMAGE}\n\n{_IMAGE}\n",
    "fence in a quote of a list": f"1. > ```\n   > x\n   >\n   > <div onclick={RUN}>\n   > ```\n\n   {_IMAGE}",
    "code in a second list": f"- a\n- b\n\n\n1. c\n\n       <section onclick={RUN}>x</section>\n\n       x",
    "code first": f"    <div onclick={RUN}>x</div>\n\n    {_IMAGE}",
    "code with a tabulator": f"x\n\n\t<div onclick={RUN}>x</div>\n\t\n\t[x](javascript:{RUN})",
    "code over lines": f"`a\n<div onclick={RUN}>\nb` ``x\n\n{_IMAGE}``",
    "code with all ticks": f"` `` ``` {_IMAGE} ```` ` {_IMAGE}",
    "nested emphasis": f"***www.k* **\\<img src=x onerror={RUN}>** _http://k_**",
    "setext": f"www.k\\<img src=x onerror={RUN}>\n===\n{_IMAGE}\n---",
    "definition list": f"www.k\n:   {_IMAGE}\n:   [x](javascript:{RUN})",
    "abbreviation": f"*[x]: {_IMAGE}\n\nx",
    "wiki link": f"[[javascript:{RUN}]] [[x|{ADDRESS}]]",
    "directive": f'::: x\n{_IMAGE}\n:::\n:x[y]{{onclick="{RUN}"}}',
    "task": f"- [ ] www.k\\<img src=x onerror={RUN}>\n- [x] {_IMAGE}",
    "raw template": f"{{{{ '{_IMAGE}' }}}} {{% raw %}} ${{{RUN}}} <%= {RUN} %>",
    "formula without an end": f"\\\\({_IMAGE} $x {_IMAGE}$ \\begin{{a}}{_IMAGE}\\end{{a}}",
    "formula over code": f"$`{_IMAGE}`$ `$` {_IMAGE} `$`",
    "hidden letters": f"\u2060w\u2060w\u2060w.k<\u200bimg src=x onerror={RUN}> \ufe0f\u00adhttp\u00ad://k",
    "tags that spell": "".join(chr(0xE0000 + ord(letter)) for letter in f"![x]({ADDRESS})"),
    "selectors": "x" + "".join(chr(0xE0100 + code) for code in b"<img src=x>") + "www.\ufe0fk",
    "controls": f"www.\x00k\x08<img\x0csrc=x\x0bonerror={RUN}>\x7f\x85\u2028{_IMAGE}",
    "surrogates": f"\ud83dwww.k\udc00<img src=x onerror={RUN}>",
    "a replacement character": f"\ufffdwww.k\\\ufffd<img src=x onerror={RUN}>",
    "command linker in an anchor": f'<a href="#" data-commandlinker-command="x" onclick={RUN}>x</a>',
    "style by attribute": f'<span style="position:fixed" class="jp-mod-x" id="jp-main">{_IMAGE}</span>',
    "base and meta": f"<base href={ADDRESS}><meta http-equiv=refresh content='0;url={ADDRESS}'><link rel=x href=/>",
    "svg use": f"<svg><use href='{ADDRESS}#x'/><a xlink:href='javascript:{RUN}'>x</a></svg>",
    "math": f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;{_IMAGE}'>",
    "an attribute over an entity": f"<a href='java&Tab;script&colon;{RUN}'>x</a>",
    "slash in a tag": f"<img/src=x/onerror={RUN}> <IMG\nSRC=x\nONERROR={RUN}\n>",
    "a tag that is not closed": f"<img src=x onerror={RUN} //\nwww.k\\<b",
}
"""The half that nobody looks at while fixing."""

_STARTS = (
    *("www.", "WWW.", "wWw.", "www&period;", "&#119;ww&#46;", "www\\.", "w**w**w.", "ww\u200bw.", "_www.", "~www."),
    *("(www.", "xwww.", "http://", "hTTps://", "http&colon;//", "https:\\/\\/", "ftp://", "//", "mailto:", "xmpp:"),
    *("javascript:", "data:text/html,", "a@", "a_b&commat;", "<http://", "<a@", "www&amp;period;", "tel:", "ww*w.*"),
)
_HOSTS = ("zz", "x", "1", "é", "-", "_", "a_b.cc", f"{HOST}/p", "hostile.com", "a.xn--p1ai", "", "localhost", "x.y:80/")
_LIVE = (
    _IMAGE, f"&lt;img src=x onerror={RUN}&gt;", f"\\<img src=x onerror={RUN}\\>", f"&#60;svg onload={RUN}&#x3e;",
    f"<script>{RUN}</script>", f"<div onclick={RUN}>", "</div>", f"<a href={ADDRESS}>", f"[x](javascript:{RUN})",
    f"\\[x\\](javascript:{RUN})", f"![x]({ADDRESS})", f"!\\[x]({ADDRESS})", f"&#91;x&#93;(javascript:{RUN})", "[y]",
    "[y][]", "![y]", "[^1]", f"<!-- {_IMAGE} -->", "<!--", "-->", "<?", "<![CDATA[", "<", ">", "<b", "x=y>",
    "&amp;lt;b>",
    '<button data-commandlinker-command=x>', f"{{: onclick={RUN} }}", f"{{onclick={RUN}}}",
)  # fmt: skip
_MARKS = (
    "*", "**", "_", "__", "~~", "`", "``", "```", "[", "](", ")", "!", "|", "\\", "\\\\", "$", "$$", "\\(",
    "\\)", "#", "=",
    "&", ";", ":", "{", "}", "'", '"', " ", " ", " ", "a", "x", "1.", "日", "\u00a0", "\t", "\U000e0041",
    "\u202e", "\x1b[1m",
    "\x00", "\ufeff", "\r",
)  # fmt: skip
_BREAKS = (
    "\n", "\n", "\n\n", "\n\n", "  \n", "\\\n", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n    ", "\n\n    ",
    "\n\n      ", "\n\t",
    "\n# ", "\n===\n", "\n---\n", "\n```\n", "\n```html\n", "\n~~~\n", "\n````\n", "\n| a | b |\n|---|---|\n| ", " | ",
    f'\n| "/onclick={RUN} | "onclick="x |\n|---|---|\n| ',
    f"\n\n[y]: javascript:{RUN}\n\n", f"\n[y]: {ADDRESS} 'x'\n", f"\n\n[^1]: {_IMAGE}\n\n",
    f"\n*[x]: {_IMAGE}\n", "\n:   ",
    "\n***\n", "\n<pre>\n", "\n$$\n", "\n\n\n", "\n> ```\n> ", "\n- ```\n  ", "\n+ [ ] ",
)  # fmt: skip
_WRAPS = (
    "{}", "{}", "*{}*", "**{}**", "_{}_", "~~{}~~", "`{}`", "[{}](x)", "[{}][y]", "![{}](x)", "| {} | b |",
    "> {}", "- {}",
    "# {}", "({})", "<!-- {} -->", "<p>{}</p>", "\n```\n{}\n```\n", "\n\n    {}\n\n", "$ {} $", "x[^1]\n\n[^1]: {}\n\n",
)  # fmt: skip


def texts(seed: int, count: int) -> Iterator[str]:
    """Yield texts of the grammar: addresses, markup, blocks, entities and hidden characters, wrapped and joined."""
    source = random.Random(seed)
    for _ in range(count):
        yield "".join(_piece(source) for _ in range(source.randint(1, 9)))


def _piece(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.3:
        text = source.choice(_STARTS) + source.choice(_HOSTS) + source.choice(("", "", "\\", "&", *_LIVE))
    elif kind < 0.5:
        text = source.choice(_LIVE)
    elif kind < 0.7:
        return source.choice(_BREAKS)
    else:
        text = "".join(source.choice(_MARKS) for _ in range(source.randint(1, 4)))
    return source.choice(_WRAPS).format(text)


_ELEMENTS = frozenset(
    (
        *("html", "head", "body", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table"),
        *(
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "hr",
            "em",
            "strong",
            "del",
            "s",
            "dl",
            "dt",
            "dd",
            "code",
            "pre",
            "br",
            "div",
            "span",
        ),
    )
)
_ATTRIBUTES = frozenset(("align", "class", "id", "start", "dir", "title"))
_BOX_STYLE = "margin:0px0.35em0.25em-1.6em;vertical-align:middle"
_STYLES = frozenset(
    ("text-align:left", "text-align:right", "text-align:center", "list-style-type:none", _BOX_STYLE)
)  # what renderers write of their own
_BOX = frozenset(("type", "disabled", "checked", "class", "style"))


def live_parts(html: str, *, elements: Iterable[str] = (), attributes: Iterable[str] = ()) -> list[str]:
    """Return what is not inert in a page: elements that run, load or lead away, attributes that may, raw markup.

    ``elements`` and ``attributes`` are what the page has of its own besides text.
    """
    page = _Page(_ELEMENTS.union(elements), _ATTRIBUTES.union(attributes))
    page.feed(html)
    page.close()
    return page.found


class _Page(HTMLParser):
    """Everything that is not on the list of what only shows text is found."""

    def __init__(self, elements: frozenset[str], attributes: frozenset[str]) -> None:
        super().__init__()
        self.found: list[str] = []
        self._elements = elements
        self._attributes = attributes

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_box = tag == "input" and ("type", "checkbox") in attrs and "disabled" in dict(attrs)
        if tag not in self._elements and not is_box:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            is_style = name == "style" and (value or "").replace(" ", "").rstrip(";") in _STYLES
            if not is_style and name not in (_BOX - {"style"} if is_box else self._attributes):
                self.found.append(f"<{tag} {name}>")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data[:40]}")

    def handle_decl(self, decl: str) -> None:
        self.found.append(f"<!{decl[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.found.append(f"<![{data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"<?{data[:40]}")
