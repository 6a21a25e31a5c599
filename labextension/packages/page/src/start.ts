// The data that the service wrote into the page: its own key after `svc open`, or why there is none.

/** All are empty if the page was opened without `svc open`. */
export interface StartData {
  readonly apiKey: string;
  /** With which a reload of the tab stays signed in. */
  readonly ticket: string;
  readonly notice: string;
}

/** Reads the data block `#start` and removes it from the document, so that only this script has the key. */
export function readStart(document: Document): StartData {
  const block = document.getElementById("start");
  block?.remove();
  const found: unknown = JSON.parse(block?.textContent ?? "{}");
  return { apiKey: text(found, "api_key"), ticket: text(found, "ticket"), notice: text(found, "notice") };
}

function text(found: unknown, name: string): string {
  const value = typeof found === "object" && found !== null ? (found as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : "";
}
