// What the service wrote into the page: a key of the page's own after `svc open`, or why there is none.

/** Both are empty where the page was opened without `svc open`. */
export interface StartData {
  readonly apiKey: string;
  readonly notice: string;
}

/** Reads the data block `#start` and takes it out of the document, so that the key is in this script's memory alone. */
export function readStart(document: Document): StartData {
  const block = document.getElementById("start");
  block?.remove();
  const found: unknown = JSON.parse(block?.textContent ?? "{}");
  return { apiKey: text(found, "api_key"), notice: text(found, "notice") };
}

function text(found: unknown, name: string): string {
  const value = typeof found === "object" && found !== null ? (found as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : "";
}
