// The properties of `<svc-chat>` that set its attributes. The API key is an exception: set as a property, it stays out of
// the document.
import { originOf } from "./page.js";
import { ATTRIBUTES, OBSERVED_ATTRIBUTES, readSettings } from "./settings.js";
import type { Example, Settings } from "./settings.js";

/** The origin of this script, which is the service's if it serves the element. Known only while the script is loading. */
const SCRIPT_ORIGIN = originOf(typeof document === "undefined" ? null : document.currentScript);

const keys = new WeakMap<Element, string>();

// A server has no HTMLElement: the class can be imported there, but not created.
const Base = typeof HTMLElement === "undefined" ? (Object as unknown as typeof HTMLElement) : HTMLElement;

/** An element with a property for each attribute. Strings are accepted, too, and mean what they mean in the attribute. */
export abstract class Configured extends Base {
  static readonly observedAttributes = OBSERVED_ATTRIBUTES;

  /** Unlike the attribute, the property keeps the key out of the document. It is never a key that the user typed. */
  declare apiKey: string;
  declare baseUrl: string;
  declare examples: readonly Example[];
  declare incognito: boolean;
  declare isFullscreen: boolean;
  declare launcher: boolean;
  declare model: string;
  declare sessionDescription: string;
  declare sessionName: string;
  declare sessionPrompt: string;
  declare theme: "light" | "dark";
  declare wsUrl: string;
  /** The ID of the session on screen. */
  abstract sessionId: string;

  abstract attributeChangedCallback(attribute: string, before: string | null, after: string | null): void;
}

/** The name of the property of an attribute: `sessionName` of `session-name`. */
function propertyOf(attribute: string): keyof Settings {
  return attribute.replace(/-./g, ([, letter = ""]) => letter.toUpperCase()) as keyof Settings;
}

export function settingsOf(element: HTMLElement): Settings {
  const settings = readSettings((name) => element.getAttribute(name), SCRIPT_ORIGIN);
  return { ...settings, apiKey: keys.get(element) ?? settings.apiKey };
}

/** An attribute that is set later replaces the key of the property. */
export function forgetKey(element: HTMLElement): void {
  keys.delete(element);
}

for (const attribute of ATTRIBUTES) {
  const name = propertyOf(attribute);
  Object.defineProperty(Configured.prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: Configured) {
      return settingsOf(this)[name];
    },
    set(this: Configured, value: unknown) {
      set(this, attribute, value);
    },
  });
}

function set(element: Configured, attribute: string, value: unknown): void {
  const text = typeof value === "string" ? value : ((JSON.stringify(value ?? "") as string | undefined) ?? "");
  const isSecret = attribute === "api-key";
  if (isSecret || value === null || value === undefined) {
    element.removeAttribute(attribute);
    element.removeAttribute(attribute.replaceAll("-", ""));
  } else element.setAttribute(attribute, text);
  if (!isSecret) return;
  keys.set(element, text.trim());
  element.attributeChangedCallback(attribute, "", null);
}

/** Applies properties that were set before the element was defined: they hide those of the class. */
export function upgradeProperties(element: HTMLElement): void {
  for (const name of [...ATTRIBUTES.map(propertyOf), "strings", "transport"]) {
    if (!Object.hasOwn(element, name)) continue;
    const value: unknown = Reflect.get(element, name);
    Reflect.deleteProperty(element, name);
    Reflect.set(element, name, value);
  }
}
