// The floating button and its dialog: the form of the element with the attribute `launcher`. The browser's modal dialog
// keeps the focus, returns it to the button, and closes on Escape.
import { html } from "lit/html.js";
import type { TemplateResult } from "lit/html.js";
import { icon } from "./icons.js";
import type { Settings } from "./settings.js";
import type { Strings } from "./strings.js";

export class Launcher {
  isOpen = false;

  /** `find` searches the element; `render` renders it. */
  constructor(
    private readonly find: (selector: string) => HTMLElement | null | undefined,
    private readonly render: () => void,
  ) {}

  open = (): void => {
    this.isOpen = true;
    this.render();
  };

  close = (): void => {
    this.#dialog?.close();
  };

  template(content: TemplateResult, settings: Settings, strings: Strings): TemplateResult {
    return html`<button
        type="button"
        class="launch primary"
        data-theme=${settings.theme}
        title=${strings.launch}
        aria-label=${strings.launch}
        aria-haspopup="dialog"
        aria-expanded=${String(this.isOpen)}
        @click=${this.open}
      >
        ${icon("chat")}
      </button>
      <dialog
        class="window"
        data-theme=${settings.theme}
        aria-label=${strings.conversation}
        ?data-full=${settings.isFullscreen}
        @close=${this.#closed}
      >
        ${content}
      </dialog>`;
  }

  /** Shows the dialog, also after the element was moved, which takes it from the top layer. */
  updated(): void {
    const dialog = this.#dialog;
    if (!dialog || !this.isOpen || dialog.matches(":modal")) return;
    dialog.open = false;
    dialog.showModal();
    this.find(".composer textarea:enabled, .key input")?.focus();
  }

  #closed = (): void => {
    this.isOpen = false;
    this.render();
  };

  get #dialog(): HTMLDialogElement | null | undefined {
    return this.find(".window") as HTMLDialogElement | null | undefined;
  }
}
