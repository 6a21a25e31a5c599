// Adds controls to a rendered answer: indicators become inert buttons, tables and code blocks get a copy button, and
// scrolling regions can be focused. Builds nodes only; text never becomes markup here.
import { defang } from "./defang.js";
import { ADDRESS_CLASS } from "./markdown.js";
import type { Strings } from "./strings.js";

const OPENING = /^[([{"'<\u201c\u00ab]*/;
const CLOSING = /[)\]}"'>\u201d\u00bb,;:!?.]*$/;
const MAX_SHOWN = 300; // characters of an address in the text; the dialog that a click opens shows all of it

const indicators = new WeakMap<Element, string>();

/** The full defanged indicator of a button. */
export function indicatorOf(element: Element): string | undefined {
  return indicators.get(element);
}

export function decorate(node: HTMLElement, strings: Strings): void {
  for (const code of node.querySelectorAll("code")) if (!code.closest("pre")) chipCode(code);
  chipTexts(node);
  for (const table of node.querySelectorAll("table")) frame(table, "table", strings.table, strings.copyCsv);
  for (const pre of node.querySelectorAll("pre")) {
    const language = pre.firstElementChild?.className.replace(/^.*language-([\w+#-]+).*$/, "$1") ?? "";
    frame(pre, "code", language || strings.code, strings.copy);
  }
}

/** Replaces the indicators in text outside code. */
function chipTexts(node: HTMLElement): void {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, (text) =>
    text.parentElement?.closest("code, button") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const pieces = splitIndicators(text.data);
    if (pieces) text.replaceWith(...pieces);
  }
}

/** The text with its indicators as buttons; null if it has none. */
function splitIndicators(text: string): (string | HTMLElement)[] | null {
  if (!/[.:@[(]/.test(text)) return null;
  const pieces = text.split(/(\s+)/).flatMap<string | HTMLElement>((word) => {
    const before = OPENING.exec(word)?.[0] ?? "";
    const after = CLOSING.exec(word.slice(before.length))?.[0] ?? "";
    const core = word.slice(before.length, word.length - after.length);
    const safe = core && defang(core);
    if (!safe) return [word];
    return [before, chip(safe), after];
  });
  return pieces.some((piece) => typeof piece !== "string") ? pieces : null;
}

function chipCode(code: HTMLElement): void {
  const text = code.textContent;
  const isAddress = code.className === ADDRESS_CLASS;
  if (!isAddress && /\s/.test(text)) return; // evidence stays unchanged
  const safe = defang(text) ?? (isAddress ? text : null);
  if (safe) code.replaceWith(chip(safe));
}

function chip(indicator: string): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "chip";
  button.dir = "ltr";
  button.setAttribute("aria-haspopup", "dialog");
  button.textContent = indicator.length > MAX_SHOWN ? indicator.slice(0, MAX_SHOWN) + "…" : indicator;
  indicators.set(button, indicator);
  return button;
}

function frame(element: HTMLElement, kind: "table" | "code", name: string, copy: string): void {
  const box = document.createElement("div");
  const scroller = document.createElement("div");
  const button = document.createElement("button");
  box.className = `frame ${kind}`;
  scroller.className = "scroller";
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", name);
  button.type = "button";
  button.className = "copy";
  button.dataset["copy"] = kind;
  button.textContent = copy;
  element.replaceWith(box);
  scroller.append(element);
  box.append(scroller, button);
}
