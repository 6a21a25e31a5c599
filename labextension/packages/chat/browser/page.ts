// Shows the element on a page, connected to a scripted transport.
import { SvcChat } from "../src/index.js";
import hostCss from "../src/host.css?inline";
import { ScriptedTransport } from "../test/scripted-transport.js";

const style = document.createElement("style");
style.textContent = `html, body { block-size: 100%; margin: 0 } main { block-size: 100% } ${hostCss}`;
document.head.append(style);
document.documentElement.lang = "en";
document.title = "Test";

export interface Page {
  readonly element: SvcChat;
  readonly root: ShadowRoot;
  readonly transport: ScriptedTransport;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector has it
  find<T extends HTMLElement>(selector: string): T;
  all(selector: string): HTMLElement[];
}

/** Shows a new element with these attributes; `prepare` sets up its transport first. */
export async function show(
  attributes: Record<string, string> = {},
  prepare: (transport: ScriptedTransport) => void = () => undefined,
): Promise<Page> {
  const element = document.createElement("svc-chat");
  const transport = new ScriptedTransport();
  prepare(transport);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.transport = transport;
  const main = document.querySelector("main") ?? document.createElement("main");
  document.body.append(main);
  main.append(element);
  const root = element.shadowRoot;
  if (!root) throw new Error("the element has no shadow root");
  await frames();
  return {
    element,
    root,
    transport,
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector has it
    find<T extends HTMLElement>(selector: string): T {
      const found = root.querySelector<T>(selector);
      if (!found) throw new Error(`nothing matches ${selector}`);
      return found;
    },
    all: (selector) => [...root.querySelectorAll<HTMLElement>(selector)],
  };
}

export function clear(): void {
  document.querySelector("main")?.remove();
}

/** Waits until changes are on screen. */
export async function frames(count = 3): Promise<void> {
  for (let frame = 0; frame < count; frame += 1) await new Promise(requestAnimationFrame);
}

export async function ask(shown: Page, text: string): Promise<void> {
  const area = shown.find<HTMLTextAreaElement>(".composer textarea");
  area.value = text;
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await frames();
}
