// Shows Markdown that grows. Only the last blocks can change when text is added; what stands before them keeps its
// nodes. The end of the stream reads the whole once more, so that what is shown never depends on how it was cut.
import type { Token } from "marked";
import { blocks, render } from "./markdown.js";
import { printable } from "./untrusted.js";

const UNSETTLED = 3; // blocks at the end that more text may change: a paragraph before a list, a blank line, the list

interface Shown {
  readonly raw: string;
  readonly isFinal: boolean;
  readonly node: HTMLElement;
}

export class MarkdownView {
  #shown: Shown[] = [];
  #text = "";
  #isFinal = false;

  /** `finish` may add to a block's nodes what a reader can do with them. */
  constructor(
    readonly container: HTMLElement,
    private readonly finish: (node: HTMLElement) => void = () => undefined,
  ) {}

  update(markdown: string, isFinal: boolean): void {
    const text = printable(markdown);
    if (text === this.#text && isFinal === this.#isFinal) return;
    const kept = !isFinal && text.startsWith(this.#text) ? Math.max(0, this.#shown.length - UNSETTLED) : 0;
    const start = this.#shown.slice(0, kept).reduce((length, block) => length + block.raw.length, 0);
    this.#text = text;
    this.#isFinal = isFinal;
    this.#show(blocks(text.slice(start)), kept, isFinal);
  }

  #show(tokens: readonly Token[], kept: number, isFinal: boolean): void {
    tokens.forEach((token, index) => {
      const at = kept + index;
      const old = this.#shown[at];
      if (old?.raw === token.raw && old.isFinal === isFinal) return;
      const node = document.createElement("div");
      node.append(render(token, isFinal));
      this.finish(node);
      if (old) old.node.replaceWith(node);
      else this.container.append(node);
      this.#shown[at] = { raw: token.raw, isFinal, node };
    });
    for (const block of this.#shown.splice(kept + tokens.length)) block.node.remove();
  }
}
