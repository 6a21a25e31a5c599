// The chat panel below a cell: what anywidget calls in JupyterLab, Notebook and wherever else widgets are shown.
// `svc_jupyter/panel.py` is the other end.
import { ChannelTransport } from "./channel.js";
import type { Channel } from "./channel.js";
import "./index.js";
import type { SvcChat } from "./element.js";
import css from "./widget.css?inline";

/** What of a widget's model is used here: https://anywidget.dev/en/afm/ */
interface Model {
  get(name: string): unknown;
  on(name: string, listener: (...parts: unknown[]) => void): void;
  off(name: string, listener: (...parts: unknown[]) => void): void;
  send(content: object, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}

const GONE =
  "This panel's kernel has ended. Run its cell again, or %svc panel in another one: the session goes on where it was.";

/** Shows a chat in `el` until it is taken away. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const style = document.createElement("style");
  style.textContent = css.replaceAll("PANEL", String(model.get("transcript_class")));
  const chat = document.createElement("svc-chat") as SvcChat;
  const transport = new ChannelTransport(channelOf(model));
  chat.transport = transport;
  const themes = followTheme(chat);
  const life = () => {
    transport.fail(GONE);
  };
  model.on("comm_live_update", life);
  el.classList.add("svc-panel");
  el.dataset["lmSuppressShortcuts"] = "true"; // what is typed here is no command to the notebook
  el.append(style, chat);
  return () => {
    themes.disconnect();
    model.off("comm_live_update", life);
    el.replaceChildren();
  };
}

function channelOf(model: Model): Channel {
  let stop: (() => void) | undefined;
  return {
    send(message, buffers = []) {
      model.send(message, undefined, buffers);
    },
    onMessage(listener) {
      const heard = (message: unknown, buffers: unknown) => {
        listener(message, ((buffers ?? []) as (ArrayBuffer | DataView)[]).map(bytesOf));
      };
      model.on("msg:custom", heard);
      stop = () => {
        model.off("msg:custom", heard);
      };
    },
    close() {
      stop?.();
    },
  };
}

function bytesOf(part: ArrayBuffer | DataView): ArrayBuffer {
  if (part instanceof ArrayBuffer) return part;
  return part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength) as ArrayBuffer;
}

/** Light or dark, as what surrounds the panel is, now and whenever that changes. */
function followTheme(chat: HTMLElement): MutationObserver {
  const show = () => {
    chat.setAttribute("theme", isDark(document.body) ? "dark" : "light");
  };
  const observer = new MutationObserver(show);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  show();
  return observer;
}

/** JupyterLab and Notebook say it themselves, so does VS Code; elsewhere the browser's wish counts. */
function isDark({ dataset, classList }: HTMLElement): boolean {
  if (dataset["jpThemeLight"] !== undefined) return dataset["jpThemeLight"] === "false";
  if (classList.contains("vscode-light")) return false;
  return classList.contains("vscode-dark") || matchMedia("(prefers-color-scheme: dark)").matches;
}

export default { render };
