// The dialog with the sessions: open or closed, what is listed, what is searched for, and what its buttons do.
import { nothing } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import type { Chat } from "./chat.js";
import { save } from "./export.js";
import { sessionsPanel } from "./panels.js";
import { DEFAULT_NAME } from "./settings.js";
import type { Strings } from "./strings.js";
import type { ChatSession } from "./transport.js";

/** What the dialog needs of the element. */
export interface SessionsHost {
  chat(): Chat | null;
  strings(): Strings;
  find(selector: string): HTMLElement | null | undefined;
  render(): void;
  switchTo(id: string): void;
  startNewSession(): void;
}

export class SessionsDialog {
  isOpen = false;
  #sessions: readonly ChatSession[] | null = null;
  #search = "";

  constructor(private readonly host: SessionsHost) {}

  toggle(): void {
    if (this.isOpen) this.close();
    else void this.#open();
  }

  async #open(): Promise<void> {
    this.isOpen = true;
    this.#search = "";
    this.#sessions = null;
    this.host.render();
    this.host.find(".sessions input")?.focus();
    this.#sessions =
      (await this.host
        .chat()
        ?.transport.list?.(AbortSignal.timeout(30_000))
        .catch(() => [])) ?? [];
    this.host.render();
  }

  close(): void {
    this.isOpen = false;
    this.host.render();
    this.host.find("header .name")?.focus();
  }

  template(): TemplateResult | typeof nothing {
    const [chat, strings] = [this.host.chat(), this.host.strings()];
    if (!this.isOpen || !chat) return nothing;
    return sessionsPanel(chat, this.#sessions, this.#search, this.#actions, strings);
  }

  readonly #actions = {
    close: () => {
      this.close();
    },
    search: (text: string) => {
      this.#search = text;
      this.host.render();
    },
    rename: (name: string) => {
      void this.host.chat()?.update({ name });
      this.close();
    },
    switchTo: (id: string) => {
      this.close();
      this.host.switchTo(id);
    },
    startNewSession: () => {
      this.host.startNewSession();
    },
    save: (kind: "md" | "json") => {
      const chat = this.host.chat();
      const about = { id: chat?.session?.id ?? "", name: chat?.name || DEFAULT_NAME };
      if (chat) save(kind, about, chat.conversation, this.host.strings());
    },
  };
}
