// The status bar: the current kernel's session, its time left, the model and the activity. A click opens the chat.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IStatusBar } from "@jupyterlab/statusbar";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";
import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";
import { statusText } from "./status-text.js";
import type { StatusStrings } from "./status-text.js";
import { KernelChatToken } from "./kernel-chat.js";
import type { KernelChat } from "./kernel-chat.js";

const TICK_MS = 30_000; // the time left is shown in minutes

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: "svc-jupyterlab:status",
  description: "Shows the session of the current kernel in the status bar.",
  autoStart: true,
  requires: [KernelChatToken],
  optional: [IStatusBar, ITranslator],
  activate: (_: JupyterFrontEnd, chat: KernelChat, bar: IStatusBar | null, translator: ITranslator | null) => {
    if (!bar) return; // Notebook 7 has none
    const trans = (translator ?? nullTranslator).load("svc_jupyterlab");
    const strings: StatusStrings = {
      idle: trans.__("idle"),
      asking: trans.__("asking"),
      waiting: trans.__("waiting"),
      left: trans.__("{} left"),
      expired: trans.__("expired"),
      none: trans.__("no session yet"),
    };
    const item = new StatusItem(trans.__("The kernel's svc session. Click to show the chat."), () => void chat.open());
    const activeChanged = new Signal<StatusItem, void>(item);
    const show = () => {
      const view = chat.follower.view;
      item.text = view?.isOpen ? `svc: ${statusText(view.activity, Date.now() / 1000, strings)}` : "";
      item.node.dataset.state = view?.isOpen ? view.activity.state : "";
      activeChanged.emit();
    };
    chat.follower.changed.connect(show);
    setInterval(show, TICK_MS);
    bar.registerStatusItem("svc-jupyterlab:status", {
      item,
      align: "left",
      rank: 900,
      isActive: () => item.text !== "",
      activeStateChanged: activeChanged,
    });
    show();
  },
};

class StatusItem extends Widget {
  readonly #button = document.createElement("button");

  constructor(title: string, act: () => void) {
    super();
    this.addClass("svc-Status");
    this.#button.title = title;
    this.#button.addEventListener("click", act);
    this.node.append(this.#button);
  }

  get text(): string {
    return this.#button.textContent;
  }
  set text(text: string) {
    if (text !== this.text) this.#button.textContent = text;
  }
}
