// The chat of one kernel: its link, the state of its session, and the element that shows it.
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import { ChannelTransport } from "@svc-jupyter/chat/src/channel.js";
import type { Strings, SvcChat } from "@svc-jupyter/chat";
import { examplesFor } from "@svc-jupyter/chat/src/examples.js";
import { Activity } from "./activity.js";
import type { TurnSummary } from "./activity.js";
import { KernelLink } from "./kernel-link.js";

/** The user's defaults for new sessions; "" means the kernel's own default. Never contains a key. */
export interface Defaults {
  readonly model: string;
  readonly language: string;
  readonly log_session: boolean;
  readonly base_url: string;
}

export interface Appearance {
  readonly strings: Partial<Strings>;
  readonly theme: "light" | "dark";
  readonly isForced: boolean;
}

export class KernelView {
  /** The link, the session or its activity changed. */
  readonly changed = new Signal<this, void>(this);
  readonly ended = new Signal<this, TurnSummary>(this);
  readonly link: KernelLink;
  readonly element: SvcChat;
  activity: Activity;
  #transport: ChannelTransport | null = null;
  #defaults: Defaults;

  constructor(kernel: Kernel.IKernelConnection, appearance: Appearance, defaults: Defaults) {
    this.#defaults = defaults;
    this.activity = this.#newActivity();
    this.element = document.createElement("svc-chat");
    this.element.hidden = true;
    this.element.strings = appearance.strings;
    this.element.suggest = examplesFor;
    this.element.canInsert = true;
    this.setAppearance(appearance);
    this.link = new KernelLink(kernel);
    this.link.changed.connect(this.#linkChanged, this);
  }

  get isOpen(): boolean {
    return this.#transport !== null;
  }

  setAppearance({ theme, isForced }: Appearance): void {
    this.element.setAttribute("theme", theme);
    this.element.classList.toggle("svc-ForcedTheme", isForced);
  }

  setDefaults(defaults: Defaults): void {
    this.#defaults = defaults;
    this.#transport?.request("settings", defaults).catch(() => undefined); // sent again when the kernel is back
  }

  /** Sends a request of the panel protocol. Rejects if there is no channel. */
  async request(operation: string, fields: object = {}, buffers: ArrayBuffer[] = []): Promise<unknown> {
    if (!this.#transport) throw new Error("the chat is not connected to the kernel");
    return await this.#transport.request(operation, fields, { buffers });
  }

  dispose(): void {
    this.link.dispose();
    this.#transport = null;
    this.element.remove();
    Signal.clearData(this);
  }

  #newActivity(): Activity {
    const activity: Activity = new Activity(
      () => {
        if (activity === this.activity) this.changed.emit();
      },
      (turn) => {
        if (activity === this.activity) this.ended.emit(turn);
      },
    );
    return activity;
  }

  #linkChanged(): void {
    const { state } = this.link;
    this.#transport = null;
    this.activity = this.#newActivity();
    if (state.kind === "open") {
      this.#transport = new ChannelTransport(state.channel, this.activity);
      this.#transport.request("settings", this.#defaults).catch(() => undefined);
      this.element.transport = this.#transport;
    }
    this.changed.emit();
  }
}
