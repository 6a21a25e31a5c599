// Syntax highlighting for the languages most common in answers. Builds nodes, never markup. A table of its own, because
// a library with these languages would be more than a quarter of the whole script. Every pattern extends to the end of
// the text if its own end is missing, so that the time is linear in the length.

const LIMIT = 50_000; // characters; longer blocks are not highlighted, so that no frame is delayed

interface Grammar {
  readonly comment?: string;
  readonly string?: string;
  readonly keyword?: string;
  readonly name?: string;
  readonly ignoreCase?: boolean;
}

const words = (list: string) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;
const END = "(?![^])";
const QUOTED = `"(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?`;
const HASH = "(?:^|(?<=\\s))#.*";
const NUMBER = "\\b(?:0x[\\da-fA-F]+|\\d+(?:\\.\\d+)?)\\b";

const GRAMMARS: Readonly<Record<string, Grammar>> = {
  bash: {
    comment: HASH,
    string: `"(?:[^"\\\\]|\\\\[^])*"?|'[^']*'?`,
    name: "\\$(?:\\w+|[@#?*!$-]|\\{[^}\\n]*\\}?)",
    keyword: words("if then else elif fi for while do done case esac in function return exit export sudo eval exec"),
  },
  powershell: {
    comment: `<#[^]*?(?:#>|${END})|#.*`,
    string: "\"(?:[^\"`]|`[^])*\"?|'[^']*'?",
    name: "\\$[\\w:]+|\\b[a-z]+-[a-z]+\\b|(?<=\\s)-[a-z]\\w*",
    keyword: words(
      "break catch continue do else elseif exit finally foreach function if in param return switch throw try while",
    ),
    ignoreCase: true,
  },
  python: {
    comment: "#.*",
    string: `"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END})|${QUOTED}`,
    name: "(?:^|(?<=\\s))@[\\w.]+|(?<=\\b(?:def|class)\\s)\\w+",
    keyword: words(
      "and as async await break class continue def elif else except False finally for from if import in is lambda None not or raise return True try while with yield",
    ),
  },
  javascript: {
    comment: `/\\*[^]*?(?:\\*/|${END})|//.*`,
    string: `\`(?:[^\`\\\\]|\\\\[^])*\`?|${QUOTED}`,
    keyword: words(
      "async await break case catch class const continue default do else export false finally for from function if import int let new null public private return static string switch this throw true try typeof using var void while",
    ),
  },
  json: { name: '"(?:[^"\\\\\\n]|\\\\.)*"(?=\\s{0,20}:)', string: QUOTED, keyword: words("true false null") },
  yaml: {
    comment: HASH,
    name: "^[ \\t-]*[\\w.\"'/-]+(?=:)",
    string: QUOTED,
    keyword: words("true false null yes no on off"),
  },
  xml: {
    comment: `<!--[^]*?(?:-->|${END})`,
    name: "<[/?!]?[\\w:.-]+|[/?]?>",
    keyword: "[\\w:.-]+(?==[\"'])",
    string: `(?<==)"[^"]*"?|(?<==)'[^']*'?`,
  },
  ini: { comment: "^\\s*[;#].*", name: "^\\s*\\[[^\\]\\n]*\\]", keyword: "^[^=\\n]+(?==)", string: QUOTED },
  http: {
    name: "^[\\w-]+(?=:)",
    keyword: "^(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS|CONNECT|TRACE)\\b|\\bHTTP/[\\d.]+",
    string: QUOTED,
  },
  vbscript: {
    comment: "'.*|\\brem\\b.*",
    string: '"(?:[^"\\n]|"")*"?',
    keyword: words(
      "and as call case const dim do each else elseif end error exit for function if in loop new next not nothing on or private public set sub then to until while with",
    ),
    ignoreCase: true,
  },
};

const ALIASES: Readonly<Record<string, string>> = {
  ...{
    sh: "bash",
    shell: "bash",
    console: "bash",
    ps1: "powershell",
    py: "python",
    html: "xml",
    toml: "ini",
    yml: "yaml",
  },
  ...{
    js: "javascript",
    ts: "javascript",
    c: "javascript",
    go: "javascript",
    csharp: "javascript",
    java: "javascript",
  },
  ...{ php: "javascript", vb: "vbscript", vba: "vbscript" },
};

const compiled = new Map<string, RegExp>();

/** The code as text and spans, which together are exactly the code; null if the language is not supported. */
export function highlight(code: string, language: string): (string | HTMLElement)[] | null {
  const pattern = patternOf(ALIASES[language] ?? language);
  if (!pattern || code.length > LIMIT) return null;
  const pieces: (string | HTMLElement)[] = [];
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text)?.[0];
    if (!kind) continue;
    if (match.index > end) pieces.push(code.slice(end, match.index));
    const span = document.createElement("span");
    span.className = `hl-${kind}`;
    span.textContent = match[0];
    pieces.push(span);
    end = match.index + match[0].length;
  }
  return [...pieces, code.slice(end)];
}

function patternOf(language: string): RegExp | undefined {
  const known = compiled.get(language);
  if (known || !Object.hasOwn(GRAMMARS, language)) return known;
  const { ignoreCase, ...kinds } = GRAMMARS[language] ?? {};
  const groups = Object.entries(kinds).map(([kind, pattern]) => `(?<${kind}>${pattern})`);
  const pattern = new RegExp([...groups, `(?<number>${NUMBER})`].join("|"), ignoreCase ? "gim" : "gm");
  compiled.set(language, pattern);
  return pattern;
}
