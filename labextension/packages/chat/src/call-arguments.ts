// Reads the tool and the arguments of a `confirmation_request` and shows them exactly as they were sent: every digit of a
// number, and everything invisible as an escape. JSON.parse would round large numbers, turn 1.0 into 1 and drop repeated
// names, so that something else could run than what was shown. The same rules as in Python
// (svc_jupyter/kernel_tools/arguments.py).

const TOKEN =
  /[ \t\r\n]*(?:("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([[\]{}:,]))/y; // eslint-disable-line no-control-regex -- JSON's own rule
const MAX_DEPTH = 50;
const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Mn}\p{Me}\u115f\u1160\u2800\u3164\uffa0]|(?! )\p{Zs}/gu;

/** A call that the model wants to make; `lines` has one line for each argument. */
export interface ToolCall {
  readonly tool: string;
  readonly lines: readonly string[];
}

/** A value: its text, and its members if it is an object. */
interface Value {
  readonly text: string;
  readonly string?: string;
  readonly members?: ReadonlyMap<string, Value>;
}

/** Null if the content is no request, or could be read in more than one way. */
export function toolCallOf(content: string): ToolCall | null {
  const reader = new Reader(content);
  try {
    const request = reader.value(0);
    reader.end();
    const tool = request.members?.get("tool")?.string;
    const given = request.members?.get("arguments")?.members;
    if (tool === undefined || !given) return null;
    const lines = [...given].map(([name, { text }]) => `${PLAIN_NAME.test(name) ? name : exact(name)} = ${text}`);
    return { tool, lines };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The string as JSON, in which only visible characters appear as they are. */
function exact(text: string): string {
  return JSON.stringify(text).replace(HIDDEN, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""),
  );
}

class Reader {
  #at = 0;

  constructor(private readonly content: string) {}

  value(depth: number): Value {
    if (depth > MAX_DEPTH + 1) throw new SyntaxError("nested too deeply");
    const [token, string] = this.#next();
    if (string !== undefined) {
      const parsed = JSON.parse(string) as string;
      return { text: exact(parsed), string: parsed };
    }
    if (token === "{") return this.#object(depth);
    if (token === "[") return this.#list(depth);
    if ("]}:,".includes(token)) throw new SyntaxError(`unexpected ${token}`);
    return { text: token };
  }

  end(): void {
    if (this.content.slice(this.#at).trim()) throw new SyntaxError("more than one value");
  }

  #object(depth: number): Value {
    const members = new Map<string, Value>();
    for (let mark = this.#skip("}") ? "}" : ","; mark === ","; mark = this.#mark(",", "}")) {
      const [, quoted] = this.#next();
      if (quoted === undefined) throw new SyntaxError("a name is missing");
      const name = JSON.parse(quoted) as string;
      this.#mark(":");
      if (members.has(name)) throw new SyntaxError("a name occurs twice");
      members.set(name, this.value(depth + 1));
    }
    const parts = [...members].map(([name, { text }]) => `${exact(name)}: ${text}`);
    return { text: `{${parts.join(", ")}}`, members };
  }

  #list(depth: number): Value {
    const parts: string[] = [];
    for (let mark = this.#skip("]") ? "]" : ","; mark === ","; mark = this.#mark(",", "]")) {
      parts.push(this.value(depth + 1).text);
    }
    return { text: `[${parts.join(", ")}]` };
  }

  #mark(...expected: string[]): string {
    const [token] = this.#next();
    if (!expected.includes(token)) throw new SyntaxError(`expected ${expected.join(" or ")}`);
    return token;
  }

  /** Reads the mark if it is next. */
  #skip(mark: string): boolean {
    const before = this.#at;
    if (this.#next()[0] === mark) return true;
    this.#at = before;
    return false;
  }

  /** The next token; a string also as its second element. */
  #next(): [string, string | undefined] {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.content);
    if (!found) throw new SyntaxError("not JSON");
    this.#at = TOKEN.lastIndex;
    const [, string, number, word, mark] = found;
    return [string ?? number ?? word ?? mark ?? "", string];
  }
}
