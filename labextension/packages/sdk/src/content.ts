/** How text and bytes are encoded on the wire: base64, hex, UTF-8, and which MIME types count as text. Pure functions. */

const TEXT_FORMAT =
  /^(?:text\/.*|application\/(?:json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|javascript|sql)|[^/]*\/.*\+(?:json|xml|yaml))$/;

/** Decode padded base64, ignoring whitespace. Returns null if it is not valid. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const packed = text.replace(/[\t\n\f\r ]/g, "");
  const padding = packed.endsWith("==") ? 2 : packed.endsWith("=") ? 1 : 0;
  if (packed.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(packed.slice(0, packed.length - padding))) return null;
  const binary = atob(packed);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The text as UTF-8; lone surrogates become U+FFFD. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** The bytes as lower-case hex digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether files of this type are text, so that a string passed for one is its content rather than base64. */
export function isTextFormat(mimeType: string): boolean {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return TEXT_FORMAT.test(type.trim());
}

/** Replace lone surrogates, which UTF-8 cannot encode. */
export function wellFormed(text: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(utf8(text));
}
