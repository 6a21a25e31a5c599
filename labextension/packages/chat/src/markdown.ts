// Renders an answer's Markdown as safe nodes. Answers quote attacker-controlled text: raw HTML is shown as text, and no
// image, link, form or style is created; addresses become code, which `chips.ts` turns into inert buttons. The HTML that
// marked renders is sanitized afterwards. Test cases shared with Python: tests/wire/markdown_cases.json.
import DOMPurify from "dompurify";
import { Lexer, Parser, Renderer, Tokenizer } from "marked";
import type { MarkedOptions, Token, Tokens } from "marked";
import { splitFolds } from "./folds.js";
import type { Fold } from "./folds.js";
import { highlight } from "./highlight.js";
import { oneLine } from "./untrusted.js";

/** Class of code that contains the address of a link or an image; answers cannot set classes themselves. */
export const ADDRESS_CLASS = "svc-address";

const MAX_DEPTH = 30; // nested quotes and lists; deeper ones are shown as a code block
const MAX_INLINE = 20_000; // characters of a paragraph or cell parsed for emphasis, which takes quadratic time
const MAX_ADDRESS = 2_000; // characters of an address that are kept

/** Detects deep nesting before parsing, because marked takes time quadratic in the depth. */
const TOO_DEEP = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])(?=[ \t>]|$)){31}|^[ \t]{62,}(?:[>*+-]|\d{1,9}[.)])[ \t]/m;

const TAGS = "p h3 ul ol li blockquote table thead tbody tr th td hr em strong del code pre br".split(" ");
const SAFE_CLASS = /^(?:language-[\w+#-]+|svc-address)$/;

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A textarea decodes entities and parses no tags. In a document of its own, because an XHTML page knows few entities. */
let textarea: HTMLTextAreaElement | undefined;

/** Made at the first use: on a server there is no document, or only a part of one. */
function decoder(): HTMLTextAreaElement | undefined {
  if (typeof document === "undefined") return undefined;
  textarea ??= document.implementation.createHTMLDocument("").createElement("textarea");
  return textarea;
}

/** Decodes entities; anything else stays, even if it begins with an entity name. */
function decode(text: string): string {
  return text.replace(/&#?\w{1,31};/g, (entity) => {
    const area = decoder();
    if (!area) return entity;
    area.innerHTML = entity;
    return area.value.endsWith(";") && entity !== "&semi;" ? entity : area.value;
  });
}

function shownAddress(address: string): string {
  const shown = oneLine(address, MAX_ADDRESS);
  return shown ? ` (<code class="${ADDRESS_CLASS}">${escape(shown)}</code>)` : "";
}

class SafeTokenizer extends Tokenizer {
  override def(): undefined {
    return undefined;
  }
  override url(): undefined {
    return undefined;
  }
}

class SafeRenderer extends Renderer {
  override html({ text, block }: Tokens.HTML | Tokens.Tag): string {
    return block ? `<pre><code>${escape(text)}</code></pre>` : `<code>${escape(text)}</code>`;
  }
  override text(token: Tokens.Text | Tokens.Escape): string {
    if (token.type === "text" && token.tokens) return this.parser.parseInline(token.tokens);
    return escape(decode(token.text));
  }
  override image({ text, href }: Tokens.Image): string {
    return `image ${escape(`'${text}'`)}${shownAddress(href)}`;
  }
  override link({ tokens, href, text }: Tokens.Link): string {
    const isAuto = href === text || href === `mailto:${text}`;
    if (isAuto) return `<code class="${ADDRESS_CLASS}">${escape(oneLine(text, MAX_ADDRESS))}</code>`;
    return this.parser.parseInline(tokens) + shownAddress(href);
  }
  override heading({ tokens, depth }: Tokens.Heading): string {
    const text = this.parser.parseInline(tokens);
    return depth > 2 ? `<p><strong>${text}</strong></p>` : `<h3>${text}</h3>`; // heading levels must not be skipped
  }
  override checkbox({ checked }: Tokens.Checkbox): string {
    return checked ? "[x] " : "[ ] ";
  }
  override code({ text, lang }: Tokens.Code): string {
    const language = /^[\w+#-]*/.exec(lang ?? "")?.[0].toLowerCase() ?? "";
    const name = language ? ` class="language-${language}"` : "";
    return `<pre><code${name}>${escape(text)}</code></pre>`;
  }
}

const OPTIONS: MarkedOptions = { gfm: true, tokenizer: new SafeTokenizer(), renderer: new SafeRenderer() };

interface FoldToken extends Fold {
  readonly type: "fold";
  readonly blocks: readonly Token[];
}

/** The top-level blocks of printable Markdown; their `raw` texts joined are the input. Never throws. */
export function blocks(markdown: string): Token[] {
  return splitFolds(markdown).flatMap<Token>((piece) => {
    if (typeof piece === "string") return plainBlocks(piece);
    const fold: FoldToken = { ...piece, type: "fold", blocks: plainBlocks(piece.inside) };
    return [fold];
  });
}

function plainBlocks(markdown: string): Token[] {
  if (TOO_DEEP.test(markdown)) return [codeBlock(markdown)];
  try {
    const lexer = new Lexer(OPTIONS);
    const tokens = lexer.blockTokens(markdown, []);
    if (depth(tokens) > MAX_DEPTH) return [codeBlock(markdown)];
    for (const { src, tokens: inside } of lexer.inlineQueue.splice(0)) {
      if (src.length > MAX_INLINE) inside.push({ type: "text", raw: src, text: src, escaped: false });
      else lexer.inlineTokens(src, inside);
    }
    return tokens;
  } catch (error) {
    if (error instanceof RangeError) return [codeBlock(markdown)]; // stack overflow
    throw error;
  }
}

/** Renders a block as sanitized nodes; `isFinal` highlights its code. */
export function render(block: Token, isFinal: boolean): DocumentFragment {
  const nothing = document.createDocumentFragment();
  if (block.type === "space") return nothing;
  if (block.type === "fold") {
    nothing.append(renderFold(block as FoldToken, isFinal));
    return nothing;
  }
  let html: string;
  try {
    html = new Parser(OPTIONS).parse([block]);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    html = `<pre><code>${escape(block.raw)}</code></pre>`;
  }
  const fragment = purify(html);
  if (isFinal) highlightCode(fragment);
  return fragment;
}

/** Built from nodes: the sanitizer lets no answer make such elements itself. */
function renderFold({ title, blocks }: FoldToken, isFinal: boolean): HTMLElement {
  const fold = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = title;
  fold.append(summary, ...blocks.map((block) => render(block, isFinal)));
  return fold;
}

let purifier: typeof DOMPurify | undefined; // an own instance: the page may configure the same library differently

function purify(html: string): DocumentFragment {
  if (!purifier) {
    purifier = DOMPurify(window);
    purifier.setConfig({
      ALLOWED_TAGS: TAGS,
      ALLOWED_ATTR: ["class", "start", "align"],
      ALLOW_DATA_ATTR: false,
      ALLOW_ARIA_ATTR: false,
      RETURN_DOM_FRAGMENT: true,
    });
    purifier.addHook("uponSanitizeAttribute", (_, attribute) => {
      if (attribute.attrName === "class" && !SAFE_CLASS.test(attribute.attrValue)) attribute.keepAttr = false;
    });
  }
  return purifier.sanitize(html, { RETURN_DOM_FRAGMENT: true }); // repeated for its type only
}

function highlightCode(fragment: DocumentFragment): void {
  for (const code of fragment.querySelectorAll("pre > code[class]")) {
    const pieces = highlight(code.textContent, code.className.replace("language-", ""));
    if (pieces) code.replaceChildren(...pieces);
  }
}

function depth(tokens: readonly Token[], level = 0): number {
  let deepest = level;
  for (const token of tokens) {
    const { items, tokens: children } = token as { items?: Token[]; tokens?: Token[] };
    const isNested = token.type === "list" || token.type === "blockquote" || token.type === "list_item";
    if (isNested && level <= MAX_DEPTH) deepest = Math.max(deepest, depth(items ?? children ?? [], level + 1));
  }
  return deepest;
}

function codeBlock(text: string): Token {
  return { type: "code", raw: text, text, lang: "" };
}
