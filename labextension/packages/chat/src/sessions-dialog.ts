// The dialog with the sessions: open or closed, what is listed, what is searched for.
import { nothing } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import type { Chat } from "./chat.js";
import { sessionsPanel } from "./panels.js";
import type { SessionsActions } from "./panels.js";
import type { Strings } from "./strings.js";
import type { ChatSession } from "./transport.js";

export class SessionsDialog {
  isOpen = false;
  #sessions: readonly ChatSession[] | null = null;
  #search = "";

  /** `find` searches the element; `render` renders it, and with it this dialog. */
  constructor(
    private readonly find: (selector: string) => HTMLElement | null | undefined,
    private readonly render: () => void,
  ) {}

  async open(chat: Chat | null): Promise<void> {
    this.isOpen = true;
    this.#search = "";
    this.#sessions = null;
    this.render();
    this.find(".sessions input")?.focus();
    this.#sessions = (await chat?.transport.list?.(AbortSignal.timeout(30_000)).catch(() => [])) ?? [];
    this.render();
  }

  close(): void {
    this.isOpen = false;
    this.render();
    this.find("header .name")?.focus();
  }

  search(text: string): void {
    this.#search = text;
    this.render();
  }

  template(chat: Chat | null, actions: SessionsActions, strings: Strings): TemplateResult | typeof nothing {
    if (!this.isOpen || !chat) return nothing;
    return sessionsPanel(chat, this.#sessions, this.#search, actions, strings);
  }
}
