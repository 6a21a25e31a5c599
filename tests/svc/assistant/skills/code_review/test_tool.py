"""Code, configurations and headers reviewed: the right CWE and line, nothing on sound code, no secret shown."""

# ruff: noqa: E501 - code under test stands as it would be written

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, with_facts
from svc.assistant.skills.code_review.findings import CodeWeakness
from svc.assistant.skills.code_review.languages import detect_language
from svc.assistant.skills.code_review.tool import MAX_FINDINGS, inspect


def found(text: str, source: str = "a.txt") -> list[Finding[Facts]]:
    return [item for item in inspect(text, source=source) if isinstance(item, Finding)]


def hits(text: str, source: str) -> set[tuple[int | None, str]]:
    return {(one.evidence[0].line, one.facts.cwe) for one in with_facts(found(text, source), CodeWeakness)}


WEAK = {
    "a.py": (
        ("from flask import request\n"
        "name = request.args['name']\n"
        "db.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n"
        "os.system('ping ' + name)\n"
        "subprocess.run(\n    f'ls {name}',\n    shell=True)\n"
        "pickle.loads(blob)\n"
        "open('/data/' + name)\n"
        "requests.get(name)\n"
        "hashlib.md5(x)\n"
        "requests.get('https://a.test', verify=False)\n"
        "eval(name)\n"
        "yaml.load(handle)\n"
        "reset_token = random.randint(0, 9)\n"),
        {(3, "CWE-89"), (4, "CWE-78"), (5, "CWE-78"), (8, "CWE-502"), (9, "CWE-22"), (10, "CWE-918"), (11, "CWE-328"),
         (12, "CWE-295"), (13, "CWE-95"), (14, "CWE-502"), (15, "CWE-338")},
    ),
    "names.py": (
        ("import subprocess as sp\nfrom os import system as go, popen\nfrom Crypto.PublicKey import RSA as keys\n"
        "sp.call(command, shell=True)\n"
        "go('ls ' + x)\n"
        "popen('ls ' + x)\n"
        "keys.generate(1024)\n"),
        {(4, "CWE-78"), (5, "CWE-78"), (6, "CWE-78"), (7, "CWE-326")},
    ),
    "rules.py": (
        ("rsa.generate_private_key(65537, 1024)\n"
        "client.exec_command('ls ' + x)\n"
        "CommunityData('public', mpModel=0)\n"
        "AutoModel.from_pretrained(name, trust_remote_code=True)\n"
        "logging.config.listen(9999)\n"
        "os.system('/bin/chown root: *')\n"
        "User.objects.annotate(v=RawSQL('%s' % x, []))\n"
        "def connect(host, *, password='hunter2hunter2'):\n    pass\n"),
        {(1, "CWE-326"), (2, "CWE-78"), (3, "CWE-319"), (4, "CWE-94"), (5, "CWE-94"), (6, "CWE-155"), (7, "CWE-89"),
         (8, "CWE-798")},
    ),
    "a.js": (
        ("const { exec } = require('child_process');\n"
        "app.get('/', (req, res) => {\n"
        "  const f = req.query.f;\n"
        "  exec(`ls ${f}`);\n"
        "  db.query('SELECT * FROM a WHERE b = ' + f);\n"
        "  el.innerHTML = f;\n"
        "  res.redirect(f);\n"
        "});\n"),
        {(4, "CWE-78"), (5, "CWE-89"), (6, "CWE-79"), (7, "CWE-601")},
    ),
    "a.php": (
        ("<?php\n$q = mysqli_query($c, \"SELECT * FROM u WHERE id = \" . $_GET['id']);\n"
        "echo $_GET['n'];\ninclude($_GET['p']);\n$x = unserialize($_COOKIE['c']);\nsystem('ls ' . $_GET['d']);\n"),
        {(2, "CWE-89"), (3, "CWE-79"), (4, "CWE-22"), (5, "CWE-502"), (6, "CWE-78")},
    ),
    "A.java": (
        ('String id = request.getParameter("id");\n'
        'ResultSet r = st.executeQuery("SELECT * FROM u WHERE id = " + id);\n'
        'Runtime.getRuntime().exec("ping " + id);\n'
        'Cipher c = Cipher.getInstance("DES");\n'
        'MessageDigest m = MessageDigest.getInstance("MD5");\n'),
        {(2, "CWE-89"), (3, "CWE-78"), (4, "CWE-327"), (5, "CWE-328")},
    ),
    "a.c": (
        '#include <stdio.h>\nint main(int argc, char **argv) {\n  char b[8];\n  strcpy(b, argv[1]);\n  gets(b);\n  printf(b);\n  printf("%s", b);\n}\n',
        {(4, "CWE-120"), (5, "CWE-120"), (6, "CWE-134")},
    ),
    "a.go": (
        ('package main\nfunc h(w http.ResponseWriter, r *http.Request) {\n  id := r.URL.Query().Get("id")\n'
        '  db.Query(fmt.Sprintf("SELECT * FROM u WHERE id = %s", id))\n  t := tls.Config{InsecureSkipVerify: true}\n}\n'),
        {(4, "CWE-89"), (5, "CWE-295")},
    ),
    "a.sh": ("#!/bin/bash\neval $1\nchmod 777 /srv\n", {(2, "CWE-78"), (3, "CWE-732")}),
    "sshd_config": ("PermitRootLogin yes\nPermitEmptyPasswords yes\n#Protocol 1\n", {(1, "CWE-250"), (2, "CWE-258")}),
    "nginx.conf": ("server {\n  autoindex on;\n  ssl_protocols TLSv1 TLSv1.2;\n}\n", {(2, "CWE-548"), (3, "CWE-326")}),
    "httpd.conf": ("<VirtualHost *:80>\nOptions Indexes FollowSymLinks\nServerTokens Full\n", {(2, "CWE-548"), (3, "CWE-200")}),
    "Dockerfile": ("FROM alpine\nUSER root\nADD http://a.test/x /x\n", {(1, "CWE-1357"), (2, "CWE-250"), (3, "CWE-494")}),
    "compose.yaml": ("services:\n  a:\n    image: a/b:1\n    privileged: true\n    volumes:\n      - /:/host\n", {(4, "CWE-250"), (6, "CWE-668")}),
    "pod.yaml": ("apiVersion: v1\nkind: Pod\nspec:\n  hostNetwork: true\n  containers:\n  - securityContext:\n      runAsUser: 0\n", {(4, "CWE-668"), (7, "CWE-250")}),
    "main.tf": ('resource "aws_x" "y" {\n  cidr_blocks = ["0.0.0.0/0"]\n  storage_encrypted = false\n}\n', {(2, "CWE-668"), (3, "CWE-311")}),
    ".env": ("DB_HOST=db\nDB_PASSWORD=s3cr3tpw\n", {(2, "CWE-798")}),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAK)
def test_each_weakness_is_found_on_its_line(name: str):
    text, expected = WEAK[name]
    assert hits(text, name) >= expected


SOUND = {
    "names.py": "from shlex import quote as q\nfrom mine import system, popen as p\nsystem('ls ' + x)\np('ls ' + x)\n"
    "rsa.generate_private_key(65537, 3072)\nclient.exec_command('uptime')\nos.system('tar cf a.tar -- *')\n"
    "RawSQL('SELECT 1', [])\ndef f(name='x', *, mode='r', password=None):\n    return name\n",
    "a.py": "import subprocess\n# os.system('ping ' + name)\n\"\"\"eval(name)\"\"\"\nsubprocess.run(['ls', '--', name], check=True)\n"
    "db.execute('SELECT * FROM t WHERE id = ?', (name,))\nyaml.safe_load(handle)\ntoken = secrets.token_hex(16)\n"
    "h = hashlib.sha256(x)\npassword = os.environ['PASSWORD']\njson.loads(text)\nn = int(request.args['n'])\nopen(n)\n",
    "a.js": "const a = require('a');\nel.textContent = name;\ndb.query('SELECT * FROM a WHERE b = ?', [name]);\nconst t = crypto.randomBytes(16);\n",
    "a.php": "<?php\necho htmlspecialchars($_GET['n']);\n$s = $db->prepare('SELECT * FROM u WHERE id = ?');\n",
    "A.java": 'PreparedStatement s = con.prepareStatement("SELECT * FROM u WHERE id = ?");\nMessageDigest m = MessageDigest.getInstance("SHA-256");\n',
    "a.c": '#include <stdio.h>\nint main(void) {\n  char b[8];\n  fgets(b, sizeof b, stdin);\n  printf("%s", b);\n}\n',
    "sshd_config": "PermitRootLogin no\nPasswordAuthentication no\n# PermitRootLogin yes\n",
    "Dockerfile": "FROM alpine:3.20\nRUN apk add --no-cache curl\nCOPY app /app\nUSER app\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_sound_code_has_no_findings(name: str):
    assert hits(SOUND[name], name) == set()


def test_a_sanitised_value_is_not_user_input():
    tainted = "from flask import request\nn = request.args['n']\nopen(n)\n"
    assert (3, "CWE-22") in hits(tainted, "a.py")
    assert hits(tainted.replace("request.args['n']", "int(request.args['n'])"), "a.py") == set()


SECRETS = ["AKIAIOSFODNN7ABCDEFG", "hunter2hunter2", "ghp_" + "a1B2" * 10, "correct-horse"]


def test_no_secret_is_shown_in_full():
    text = f'import os\nkey = "{SECRETS[0]}"\ndb_password = "{SECRETS[1]}"; api_key = "{SECRETS[2]}"\nurl = "postgres://u:{SECRETS[3]}@db/x"\n'
    items = found(text, "a.py")
    assert {line for line, cwe in hits(text, "a.py") if cwe == "CWE-798"} == {2, 3, 4}
    shown = " ".join(evidence.excerpt for one in items for evidence in one.evidence)
    assert not [secret for secret in SECRETS if secret in shown]


HEADERS = (
    "HTTP/1.1 200 OK\nServer: nginx/1.18.0\nSet-Cookie: sid=abc; Path=/\nAccess-Control-Allow-Origin: *\n"
    "Access-Control-Allow-Credentials: true\nContent-Type: text/html\n"
)


def test_weak_and_missing_headers_are_found():
    assert hits(HEADERS, "prompt") >= {
        (2, "CWE-200"), (3, "CWE-614"), (3, "CWE-1004"), (3, "CWE-1275"), (4, "CWE-942"), (1, "CWE-319"), (1, "CWE-1021"),
    }  # fmt: skip


def test_good_headers_have_no_findings():
    good = (
        "HTTP/2 200\nContent-Security-Policy: default-src 'self'; frame-ancestors 'none'\nReferrer-Policy: no-referrer\n"
        "Strict-Transport-Security: max-age=31536000\nX-Content-Type-Options: nosniff\nPermissions-Policy: camera=()\n"
        "Set-Cookie: sid=abc; Secure; HttpOnly; SameSite=Lax\n"
    )
    assert hits(good, "prompt") == set()


def test_a_cookies_value_is_not_shown():
    assert all("abc" not in evidence.excerpt for one in found(HEADERS, "prompt") for evidence in one.evidence)


def test_the_question_is_not_code_and_lines_count_from_its_start():
    assert (3, "CWE-95") in hits("review this code:\nimport os\neval(input())\n", "prompt")
    assert (4, "CWE-95") in hits("Is it safe?\n```python\nimport os\neval(input())\n```", "prompt")


@pytest.mark.parametrize("text", ["", "hello there", "\x00\x01\x02"])
def test_text_without_code_is_a_gap(text: str):
    items = list(inspect(text, source="prompt"))
    assert any(isinstance(item, Gap) for item in items)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "x = " + "(" * 5_000 + "1" + ")" * 5_000),
        ("a.py", "eval(input())\n" * 20_000),
        ("a.js", "f(" * 20_000),
        ("a.js", "const a = req.query.b;\n" + "".join(f"let v{n} = a + v{n - 1};\n" for n in range(20_000))),
        ("a.php", "<?php $x = '" + "a" * 500_000),
        ("prompt", "HTTP/1.1 200 OK\n" + "Set-Cookie: a=b\n" * 50_000),
        ("a.c", "strcpy(" + "a," * 100_000),
    ],
    ids=["nesting", "many weaknesses", "open brackets", "many names", "long string", "many cookies", "long line"],
)
def test_hostile_code_is_limited(name: str, text: str):
    started = time.process_time()
    assert len(found(text, name)) <= MAX_FINDINGS + 1
    assert time.process_time() - started < 10


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["a.py", "a.js", "a.php", "a.c", ".env", "nginx.conf", "prompt"]))
def test_any_text_is_read(text: str, name: str):
    found("HTTP/1.1 200 OK\n" + text if name == "prompt" else text, name)


@pytest.mark.parametrize("language", ["python", "javascript", "php", "java", "c", "go", "shell"])
def test_the_language_is_detected_without_a_file_name(language: str):
    names = {
        "python": "a.py",
        "javascript": "a.js",
        "php": "a.php",
        "java": "A.java",
        "c": "a.c",
        "go": "a.go",
        "shell": "a.sh",
    }
    assert detect_language(WEAK[names[language]][0]) == language


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "Please see the attached document. The figures of the quarter are in the second table.\n", id="prose"
        ),
        pytest.param(
            "From: a@b.example\nDate: Tue, 11 Mar 2025 12:00:00\nContent-Type: text/plain\n\nhello\n", id="mail"
        ),
        pytest.param(
            '192.0.2.1 - - [20/Nov/2026:03:12:45 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"\n' * 9, id="web log"
        ),
    ],
)
def test_other_texts_are_not_reviewed_as_code(text: str):
    for source in ("a.txt", "nginx.log", "prompt"):
        assert not found(text, source)
