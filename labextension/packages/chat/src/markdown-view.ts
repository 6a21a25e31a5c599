// Shows Markdown while it streams. Only the last blocks can change when text is added; earlier ones keep their nodes.
// At the end all of it is parsed again, so that the result does not depend on how the text was split.
import type { Token } from "marked";
import { blocks, render } from "./markdown.js";
import { printable } from "./untrusted.js";

const UNSETTLED = 3; // blocks at the end that more text can change: a paragraph, a blank line and a list

interface RenderedBlock {
  readonly raw: string;
  readonly isFinal: boolean;
  readonly node: HTMLElement;
}

export class MarkdownView {
  #rendered: RenderedBlock[] = [];
  #text = "";
  #isFinal = false;

  /** `decorate` adds controls to the nodes of a block. */
  constructor(
    readonly container: HTMLElement,
    private readonly decorate: (node: HTMLElement) => void = () => undefined,
  ) {}

  update(markdown: string, isFinal: boolean): void {
    const text = printable(markdown);
    if (text === this.#text && isFinal === this.#isFinal) return;
    const kept = !isFinal && text.startsWith(this.#text) ? Math.max(0, this.#rendered.length - UNSETTLED) : 0;
    const start = this.#rendered.slice(0, kept).reduce((length, block) => length + block.raw.length, 0);
    this.#text = text;
    this.#isFinal = isFinal;
    this.#show(blocks(text.slice(start)), kept, isFinal);
  }

  #show(tokens: readonly Token[], kept: number, isFinal: boolean): void {
    tokens.forEach((token, index) => {
      const at = kept + index;
      const old = this.#rendered[at];
      if (old?.raw === token.raw && old.isFinal === isFinal) return;
      const node = document.createElement("div");
      node.append(render(token, isFinal));
      this.decorate(node);
      if (old) old.node.replaceWith(node);
      else this.container.append(node);
      this.#rendered[at] = { raw: token.raw, isFinal, node };
    });
    for (const block of this.#rendered.splice(kept + tokens.length)) block.node.remove();
  }
}
