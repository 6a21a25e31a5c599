// The sidebar: the chat of the current notebook's kernel, or a word on why there is none. The others' chats stay as they
// are, out of sight.
import type { TranslationBundle } from "@jupyterlab/translation";
import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";
import type { Message } from "@lumino/messaging";
import "svc-chat";
import type { Follower } from "./follower.js";
import { analystIcon } from "./icon.js";
import type { KernelView } from "./kernel-view.js";
import { noticeOf } from "./notices.js";
import type { Action } from "./notices.js";

export class ChatPanel extends Widget {
  /** Whether one can see it. */
  readonly seen = new Signal<this, boolean>(this);
  readonly #notice = document.createElement("div");

  constructor(
    private readonly follower: Follower,
    private readonly trans: TranslationBundle,
    private readonly act: (action: Action) => void,
  ) {
    super();
    this.id = "svc-panel";
    this.addClass("svc-Panel");
    this.node.style.minWidth = "340px"; // Lumino reads it before style sheets count
    this.title.icon = analystIcon;
    this.title.caption = trans.__("Svc: ask the security analyst");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", trans.__("Security analyst"));
    this.#notice.className = "svc-Notice";
    this.#notice.setAttribute("role", "status");
    this.node.append(this.#notice);
    follower.changed.connect(this.#show, this);
    this.#show();
  }

  /** The current chat where it can be asked; shown already. */
  get chat(): KernelView | null {
    const { view } = this.follower;
    return view?.isOpen ? view : null;
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.#sight(true);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.#sight(false);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.#sight(this.isVisible);
  }

  protected override onBeforeDetach(message: Message): void {
    this.#sight(false);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.chat?.element.focus();
  }

  #sight(isSeen: boolean): void {
    this.follower.isWanted = isSeen;
    this.seen.emit(isSeen);
  }

  #show(): void {
    const shown = this.chat;
    for (const view of this.follower.views) view.element.hidden = view !== shown;
    if (shown && shown.element.parentNode !== this.node) this.node.append(shown.element);
    this.#notice.hidden = shown !== null;
    if (!shown) this.#drawNotice();
  }

  #drawNotice(): void {
    const { panel, view } = this.follower;
    const { title, text, code, action } = noticeOf(panel !== null, view?.link.state ?? null, this.trans);
    const parts: HTMLElement[] = [make("h3", title), make("p", text)];
    if (code) parts.push(make("code", code));
    if (action) {
      const button = make("button", this.#label(action));
      button.className = "jp-mod-styled jp-mod-accept";
      button.addEventListener("click", () => this.act(action));
      parts.push(button);
    }
    this.#notice.replaceChildren(...parts.filter((part) => part.textContent));
  }

  #label(action: Action): string {
    switch (action) {
      case "open-notebook":
        return this.trans.__("New notebook");
      case "choose-kernel":
        return this.trans.__("Choose a kernel");
      case "restart-kernel":
        return this.trans.__("Restart the kernel");
      case "try-again":
        return this.trans.__("Try again");
    }
  }
}

function make(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
