/** What the caller's text and bytes are on the wire: base64, UTF-8, and which types a string is text for. Pure. */

const TEXT_FORMAT =
  /^(?:text\/.*|application\/(?:json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|javascript|sql)|[^/]*\/.*\+(?:json|xml|yaml))$/;

/** The bytes of padded base64, line breaks and blanks in it allowed; null where it is none. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const packed = text.replace(/[\t\n\f\r ]/g, "");
  const padding = packed.endsWith("==") ? 2 : packed.endsWith("=") ? 1 : 0;
  if (packed.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(packed.slice(0, packed.length - padding))) return null;
  const binary = atob(packed);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Whether a file of this type is text, so that a string given for it is its content and not base64. */
export function isTextFormat(mimeType: string): boolean {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return TEXT_FORMAT.test(type.trim());
}

/** The text with each half of a surrogate pair, which cannot travel, replaced. */
export function wellFormed(text: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}
