// The chat panel below a cell, as an anywidget: JupyterLab, Notebook and other front ends with widgets load it.
// The kernel's side is svc_jupyter/panel/widget.py.
import { ChannelTransport } from "./channel.js";
import type { Channel } from "./channel.js";
import { examplesFor } from "./examples.js";
import "./index.js";
import css from "./widget.css?inline";

/** The parts of a widget's model that are used here: https://anywidget.dev/en/afm/ */
interface Model {
  get(name: string): unknown;
  on(name: string, listener: (...parts: unknown[]) => void): void;
  off(name: string, listener: (...parts: unknown[]) => void): void;
  send(content: object, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}

const GONE =
  "This panel's kernel was shut down. Run the cell again, or %svc panel in another cell: the session continues where it left off.";

/** Shows a chat in `el`; returns the clean-up function. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const style = document.createElement("style");
  style.textContent = css.replaceAll("PANEL", String(model.get("transcript_class")));
  const chat = document.createElement("svc-chat");
  const transport = new ChannelTransport(channelOf(model));
  chat.transport = transport;
  chat.suggest = examplesFor;
  chat.canInsert = document.body.dataset["svcInserts"] !== undefined; // JupyterLab's extension is there
  const themes = followTheme(chat);
  const onCommLiveUpdate = () => {
    transport.fail(GONE);
  };
  model.on("comm_live_update", onCommLiveUpdate);
  el.classList.add("svc-panel");
  el.dataset["lmSuppressShortcuts"] = "true"; // typing here must not trigger the notebook's shortcuts
  el.append(style, chat);
  return () => {
    themes.disconnect();
    model.off("comm_live_update", onCommLiveUpdate);
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
      const onCustomMessage = (message: unknown, buffers: unknown) => {
        listener(message, ((buffers ?? []) as (ArrayBuffer | DataView)[]).map(bytesOf));
      };
      model.on("msg:custom", onCustomMessage);
      stop = () => {
        model.off("msg:custom", onCustomMessage);
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

/** Keeps the chat's theme in step with the page around it. */
function followTheme(chat: HTMLElement): MutationObserver {
  const show = () => {
    chat.setAttribute("theme", isDark(document.body) ? "dark" : "light");
  };
  const observer = new MutationObserver(show);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  show();
  return observer;
}

/** JupyterLab, Notebook and VS Code mark their theme; elsewhere the browser's preference counts. */
function isDark({ dataset, classList }: HTMLElement): boolean {
  if (dataset["jpThemeLight"] !== undefined) return dataset["jpThemeLight"] === "false";
  if (classList.contains("vscode-light")) return false;
  return classList.contains("vscode-dark") || matchMedia("(prefers-color-scheme: dark)").matches;
}

export default { render };
