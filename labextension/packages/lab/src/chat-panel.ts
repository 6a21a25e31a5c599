// The sidebar: shows the chat of the current notebook's kernel, or a notice why there is none. The chats of other kernels
// stay in the page, hidden.
import type { TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";
import type { Message } from "@lumino/messaging";
import "@svc-jupyter/chat";
import type { Follower } from "./follower.js";
import { analystIcon } from "./icon.js";
import type { KernelView } from "./kernel-view.js";
import { noticeOf } from "./notices.js";
import type { Action } from "./notices.js";

export class ChatPanel extends Widget {
  readonly #notice = document.createElement("div");

  constructor(
    private readonly follower: Follower,
    private readonly trans: TranslationBundle,
    private readonly act: (action: Action) => void,
  ) {
    super();
    this.id = "svc-panel";
    this.addClass("svc-Panel");
    this.node.style.minWidth = "340px"; // Lumino reads it before the style sheet applies
    this.title.icon = analystIcon;
    this.title.caption = trans.__("Ask the security analyst (svc)");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", trans.__("Security analyst"));
    this.#notice.className = "svc-Notice";
    this.#notice.setAttribute("role", "status");
    this.node.append(this.#notice);
    follower.changed.connect(this.#show, this);
    this.#show();
  }

  /** The current chat if it is connected. */
  get chat(): KernelView | null {
    const { view } = this.follower;
    return view?.isOpen ? view : null;
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.follower.isVisible = true;
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.follower.isVisible = false;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.follower.isVisible = this.isVisible;
  }

  protected override onBeforeDetach(message: Message): void {
    this.follower.isVisible = false;
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (this.chat) this.chat.element.focus();
    else this.#notice.querySelector("button")?.focus();
  }

  #show(): void {
    const shown = this.chat;
    for (const view of this.follower.views) view.element.hidden = view !== shown;
    if (shown && shown.element.parentNode !== this.node) this.node.append(shown.element);
    this.#notice.hidden = shown !== null;
    if (!shown) this.#showNotice();
  }

  #showNotice(): void {
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
    const hadFocus = this.#notice.contains(document.activeElement);
    this.#notice.replaceChildren(...parts.filter((part) => part.textContent));
    if (hadFocus) this.#notice.querySelector("button")?.focus();
  }

  #label(action: Action): string {
    switch (action) {
      case "open-notebook":
        return this.trans.__("New notebook");
      case "choose-kernel":
        return this.trans.__("Choose a kernel");
      case "restart-kernel":
        return this.trans.__("Restart the kernel");
      case "connect":
        return this.trans.__("Connect");
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
